// SPDX-License-Identifier: GPL-2.0
/* Devices that share a thread: see share_rig.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flow.h"
#include "pin_rig.h"
#include "procfs.h"
#include "share_rig.h"

struct rig sharer[SHARERS];

char share(char value)
{
	return vdev_parameter("share_workers", value);
}

void share_open(unsigned int i)
{
	char was = share('Y');

	rig_open(&sharer[i], &(struct rig_cfg){ .here = i, .stopped = true });
	/* memory that a pager may take away */
	if (i < 2)
		pin_rig_move(&sharer[i], -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&sharer[i]);
	share(was);
}

void share_need(const char *kind)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net has no such thing");
	if (!strcmp(kind, "task") && !kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
}

void share_begin(unsigned int n)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net has no such thing");
	for (i = 0; i < n; i++)
		share_open(i);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
}

void share_pass(unsigned int i, unsigned int n)
{
	struct flow f = { .r = &sharer[i], .rx_seq = sharer[i].tx_seq };

	flow_exact(&f, n, flow_lens, FLOW_LENS);
}

void share_end(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(workers_of(getpid(), NULL), 1);
		rig_close(&sharer[i]);
	}
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}
