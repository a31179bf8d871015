// SPDX-License-Identifier: GPL-2.0
/*
 * No wake-up without need: a worker that has not asked for an event is not woken
 * by it, and events that come before it has run wake it once.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "procfs.h"
#include "rig.h"

#define MANY	500

static struct rig rig;

static long wakes(const char *of)
{
	char name[32] = "kvnet.";

	strcat(strcat(name, of), ".wakeups");
	return rig_counter(&rig, name);
}

/* Both queues wait for what they have asked for, and have nothing else to do. */
static void ready(uint64_t features)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ .features = features });
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, 0, 60);
	rig_tx_drain(&rig, 3000);
	rig_inject(&rig, 0, 60);
	rig_rx_expect(&rig, 0, 60);
	wait_worker_idle();
}

/* Receive has buffers, so it does not wait for any. */
static void kicks_for_buffers(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	long rx, tx, kicks;
	unsigned int i;

	ready(features);
	rx = wakes("rx");
	tx = wakes("tx");
	kicks = rig_counter(&rig, "kvnet.rx.kicks");
	for (i = 0; i < MANY; i++)
		vdev_kick_always(q);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.kicks") - kicks, MANY);
	EXPECT_EQ(wakes("rx"), rx);
	EXPECT_EQ(wakes("tx"), tx);
	rig_close(&rig);
}

CASE(buffers_that_are_not_waited_for)
{
	kicks_for_buffers(F_V1 | F_MRG);
	kicks_for_buffers(0);
}

/* Each frame to the guest wakes who waits on the tap; transmit does not. */
CASE(frames_to_the_guest_do_not_wake_transmit)
{
	long rx, tx;
	unsigned int i;

	ready(0);
	rx = wakes("rx");
	tx = wakes("tx");
	for (i = 0; i < MANY && !ksft_failed(); i++) {
		rig_inject(&rig, 1 + i, 60);
		rig_rx_expect(&rig, 1 + i, 60);
		if (i % 64 == 63) {
			rig_rx_post(&rig, 64, NULL);
			vdev_kick(&rig.v.q[VDEV_RX]);
		}
	}
	EXPECT_EQ(wakes("tx"), tx);
	/* at most one for a frame, and none for buffers */
	EXPECT_GE(wakes("rx") - rx, 1);
	EXPECT_LE(wakes("rx") - rx, MANY);
	rig_close(&rig);
}

/* Frames from the guest are none of receive's business, full tap or not. */
CASE(frames_from_the_guest_do_not_wake_receive)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	long rx, tx, kicks;
	unsigned int i;

	ready(0);
	rx = wakes("rx");
	tx = wakes("tx");
	kicks = rig_counter(&rig, "kvnet.tx.kicks");
	for (i = 0; i < MANY && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(q);
		rig_expect(&rig, 1 + i, 60);
		rig_tx_drain(&rig, 3000);
	}
	EXPECT_EQ(wakes("rx"), rx);
	/* at most one for a kick */
	EXPECT_LE(wakes("tx") - tx, rig_counter(&rig, "kvnet.tx.kicks") - kicks);
	rig_close(&rig);
}

/*
 * All that come before the worker has had its turn are one wake-up. They are another
 * process's: a thread of the owner's has its turn itself.
 */
CASE(kicks_in_a_row)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	long runs, tx;
	unsigned int i;
	int status;
	pid_t pid;

	ready(0);
	runs = rig_counter(&rig, "kvnet.tx.polls");
	tx = wakes("tx");
	pid = fork();
	if (!pid) {
		for (i = 0; i < MANY; i++)
			vdev_kick_always(q);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	/* the last one's turn may be still to come */
	EXPECT_LE(wakes("tx") - tx, rig_counter(&rig, "kvnet.tx.polls") - runs + 1);
	EXPECT_GE(wakes("tx") - tx, 1);
	rig_close(&rig);
}

KSFT_MAIN()
