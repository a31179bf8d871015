// SPDX-License-Identifier: GPL-2.0
/*
 * Loads that fail before the module has any device node, where failing allocations have the
 * kernel's own tracing warn: it takes a module that fails by itself (failing/kvnet_failing.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "module.h"
#include "vdev.h"

#define QUEUES	2	/* of work */
#define LOADS	60

static void begin(void)
{
	if (access("/sys/module/kvnet/parameters/without_queue", R_OK))
		ksft_skip("a module that gets all its queues");
	module_is_unloaded();
}

/* Of queues of work, of any module, there are at least as many. */
static unsigned int queues(void)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	unsigned int n = 0;
	char line[512];

	ASSERT(f);
	while (!n && fgets(line, sizeof(line), f))
		sscanf(line, "pool_workqueue %u", &n);
	fclose(f);
	ASSERT(n);
	return n;
}

CASE(a_queue_that_cannot_be_had)
{
	char parameter[32];
	unsigned int n;

	begin();
	for (n = 1; n <= QUEUES; n++) {
		snprintf(parameter, sizeof(parameter), "without_queue=%u", n);
		EXPECT_EQ(module_load(parameter), -ENOMEM);
	}
	EXPECT_EQ(module_load("without_queue=3"), 0);
}

/* What such a load had by then goes. */
CASE_TIMED(loads_that_are_refused, 60)
{
	unsigned int before, i;

	begin();
	ASSERT_EQ(system("modprobe vhost_net"), 0);
	before = queues();
	for (i = 0; i < LOADS && !ksft_failed(); i++)
		EXPECT_EQ(module_load("replace_vhost_net=1"), -EBUSY);
	/* with some that are on their way out, or free but counted */
	EXPECT(WAIT_FOR(5000, queues() < before + LOADS));
	ksft_note("%u before, %u after", before, queues());
	EXPECT_EQ(system("rmmod vhost_net"), 0);
	EXPECT_EQ(module_load(""), 0);
}

KSFT_MAIN()
