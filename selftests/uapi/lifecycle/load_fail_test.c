// SPDX-License-Identifier: GPL-2.0
/*
 * Loads that fail before the module has any device node, where failing allocations would make
 * the kernel's tracing warn; and unloads that leave nothing. They take a module whose calls fail,
 * or wait (failing/kvnet_failing.c).
 *
 * @tier: all
 * @module: failing
 */
#include "module.h"
#include "netlink_rig.h"
#include "procfs.h"
#include "tx_inline_rig.h"

#define LOADS	48

static void without_it(void)
{
	if (access("/sys/module/kvnet/parameters/without_queue", R_OK))
		ksft_skip("a module that gets all its queues");
	module_is_unloaded();
}

/* The number of pool_workqueue objects in use, of all workqueues of the kernel. */
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

CASE(load_without_workqueue_fails)
{
	without_it();
	EXPECT_EQ(module_load("without_queue=1"), -ENOMEM);
	EXPECT_EQ(module_load("without_queue=2"), 0);
}

/* The nodes exist by then, and are removed. */
CASE(load_without_netlink_family_fails)
{
	without_it();
	EXPECT_EQ(module_load("without_family=1"), -ENOMEM);
	EXPECT(WAIT_FOR(3000, access("/dev/kvnet", F_OK)));
	EXPECT_EQ(module_load(""), 0);
	EXPECT(WAIT_FOR(3000, !access("/dev/kvnet", F_OK)));
}

CASE_TIMED(refused_loads_leak_no_workqueue, 60)
{
	unsigned int before, i;

	without_it();
	ASSERT_EQ(system("modprobe vhost_net"), 0);
	before = queues();
	for (i = 0; i < LOADS && !ksft_failed(); i++)
		EXPECT_EQ(module_load("replace_vhost_net=1"), -EBUSY);
	/* some are about to be freed, or free but counted */
	EXPECT(WAIT_FOR(5000, queues() < before + LOADS));
	ksft_note("%u before, %u after", before, queues());
	EXPECT_EQ(system("rmmod vhost_net"), 0);
	EXPECT_EQ(module_load(""), 0);
}

CASE_TIMED(loads_leak_no_workqueue, 60)
{
	unsigned int before, i;

	without_it();
	before = queues();
	for (i = 0; i < LOADS && !ksft_failed(); i++) {
		EXPECT_EQ(module_load(""), 0);
		module_is_unloaded();
	}
	EXPECT(WAIT_FOR(5000, queues() < before + LOADS));
	ksft_note("%u before, %u after", before, queues());
	EXPECT_EQ(module_load(""), 0);
}

static void *kicks(void *tx)
{
	vdev_kick_always(tx);
	return NULL;
}

/* The thread has put its reference and still runs code of the module: rmmod waits for it. */
CASE(rmmod_waits_for_vcpu_thread)
{
	struct vdev_queue *tx = &vmm.v.q[VDEV_TX];
	pthread_t thread;
	int status = -1;
	pid_t pid;

	held_begin("task");
	tx_inline_begin(&vmm, 0);
	tx_inline_settle(&vmm);
	ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	gr_publish(&tx->ring);
	hold(HAS_LEFT);
	hold(WAITS_FOR_TASKS);
	ASSERT_EQ(pthread_create(&thread, NULL, kicks, tx), 0);
	ASSERT(WAIT_FOR(3000, held(HAS_LEFT)));
	close(vmm.v.fd);
	EXPECT(WAIT_FOR(5000, !module_users()));
	pid = ASSERT_SYS(fork());
	if (!pid)
		_exit(-module_unload());
	EXPECT(WAIT_FOR(10000, held(WAITS_FOR_TASKS)));
	let_go();
	EXPECT(WAIT_FOR(10000, child_ended(pid, &status)));
	EXPECT_EQ(status, 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	ASSERT_EQ(module_load(""), 0);
}

KSFT_MAIN()
