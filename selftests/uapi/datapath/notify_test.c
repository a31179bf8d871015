// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications, and their suppression, in both directions: a kick that is
 * asked for moves packets, one that is not asked for is not needed; a call that
 * is asked for comes, one that is not does not.  A worker that has not asked for
 * an event is not woken by it, and events that come before it has run wake it once.
 *
 * @hosts: 6.1
 * @first-host: 6.12
 * @debug: kasan kcsan
 * @again: packed
 * @seconds: 4
 */
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rig.h"

static struct rig rig;

static void send_and_kick_always(void)
{
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, rig.tx_seq - 1, 100);
	rig_tx_drain(&rig, 3000);
}

/* An idle queue asks for one kick; a reply to each frame keeps these from being a stream. */
static void kicks_when_idle(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned long before;
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .features = features });
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	send_and_kick_always();
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		wait_worker_idle();
		before = q->kicks;
		rig_send(&rig, 100);
		EXPECT_EQ(q->kicks - before, 1);
		rig_inject(&rig, i, 100);
		rig_rx_expect(&rig, i, 100);
	}
	rig_close(&rig);
}

CASE(idle_queue_needs_one_kick_per_frame)
{
	kicks_when_idle(F_V1 | F_MRG);
	kicks_when_idle(F_V1 | F_MRG | F_EVENT);
}

/* While the worker waits for a page of the first frame of a poll, no other frame needs a kick. */
static void kicks_at_work(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned long before;
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .features = features });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	vdev_no_spin(&rig.v);
	send_and_kick_always();
	wait_worker_idle();
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	pager_open();
	pager.holds = true;
	pager_take_away(q->bufs + (size_t)q->buf_free[q->buf_left] * q->buf_size, PAGE);
	vdev_kick(q);
	ASSERT(pager_asked(1, 3000));
	before = q->kicks;
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
		vdev_kick(q);
	}
	EXPECT_EQ(q->kicks - before, 0);
	pager_go_on();
	for (i = 0; i < 101 && !ksft_failed(); i++)
		rig_expect(&rig, rig.tx_seq - 101 + i, 100);
	EXPECT(rig_tx_drain(&rig, 3000));
	rig_close(&rig);
}

CASE_ROW(polling_worker_needs_no_kick, kicks_at_work(F_V1 | F_MRG))
CASE_ROW(polling_worker_with_event_idx_needs_no_kick, kicks_at_work(F_V1 | F_MRG | F_EVENT))

/* Each kick is a VM exit: the device asks for none for receive buffers that no frame waits for. */
static void refills(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	unsigned long before;
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .features = features });
	rig_rx_post(&rig, 4, NULL);
	vdev_kick_always(q);
	rig_inject(&rig, 0, 100);
	rig_rx_expect(&rig, 0, 100);
	before = q->kicks;
	for (i = 1; i < 100 && !ksft_failed(); i++) {
		rig_offer(&rig, 1);
		rig_inject(&rig, i, 100);
		rig_rx_expect(&rig, i, 100);
	}
	EXPECT_EQ(q->kicks - before, 0);
	rig_close(&rig);
}

CASE(rx_refill_without_waiting_frame_needs_no_kick)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net asks for them");
	refills(F_V1 | F_MRG);
	refills(F_V1 | F_MRG | F_EVENT);
}

static void tx_unseen(struct vdev_queue *q)
{
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	/* without reading what the device has written */
	gr_publish(&q->ring);
}

/*
 * The device finds no buffers, and before it enables notifications the driver adds one, without
 * a kick: the device has to check the ring once more.
 */
CASE(buffer_added_before_notify_enable_is_found)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	/* pinned rings would not fault */
	limit_locked_memory(0);
	/* in a legacy driver's split ring the used ring has a page of its own */
	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .features = F_MRG | F_EVENT });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	vdev_no_spin(&rig.v);
	send_and_kick_always();
	wait_worker_idle();
	pager_open();
	pager.holds = true;
	pager_take_away(q->ring.cfg.used, PAGE);
	tx_unseen(q);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	rig_expect(&rig, rig.tx_seq - 1, 100);
	ASSERT(pager_asked(1, 3000));
	tx_unseen(q);
	pager_go_on();
	rig_expect(&rig, rig.tx_seq - 1, 100);
	EXPECT(rig_tx_drain(&rig, 3000));
	rig_close(&rig);
}

CASE(spurious_kicks_use_no_buffer)
{
	unsigned int i, q;
	uint64_t one = 1;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 500; i++)
		for (q = 0; q < 2; q++)
			ASSERT_EQ(write(rig.v.q[q].kick, &one, 8), 8);
	rig_send(&rig, 100);
	EXPECT_EQ(gr_raw_used_idx(&rig.v.q[VDEV_RX].ring), 0);
	EXPECT_EQ(gr_raw_used_idx(&rig.v.q[VDEV_TX].ring), 1);
}

/* The driver enables calls for each frame, and each frame has a call. */
static void calls_asked_for(uint64_t features, uint16_t base)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX], *rx = &rig.v.q[VDEV_RX];
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .features = features, .base = base });
	for (i = 0; i < 300 && !ksft_failed(); i++) {
		gr_call_on(&tx->ring, 0);
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
		vdev_kick(tx);
		if (!vdev_eventfd_wait(tx->call, 3000))
			FAIL("TX: no call for frame %u", i);
		vdev_eventfd_take(tx->call);
		rig_tx_drain(&rig, 3000);
		rig_expect(&rig, rig.tx_seq - 1, 100);

		gr_call_on(&rx->ring, 0);
		rig_offer(&rig, 4);
		rig_inject(&rig, i, 100);
		if (!vdev_eventfd_wait(rx->call, 3000))
			FAIL("RX: no call for frame %u", i);
		vdev_eventfd_take(rx->call);
		rig_rx_expect(&rig, i, 100);
	}
	rig_close(&rig);
}

CASE(call_enabled_comes_per_frame)
{
	calls_asked_for(F_V1 | F_MRG, 0);
	calls_asked_for(F_V1 | F_MRG | F_EVENT | F_IND, 0);
	calls_asked_for(F_V1 | F_MRG | F_EVENT | F_IND, 65400);
}

/* The driver disables calls, and gets none. */
static void calls_not_asked_for(uint64_t features)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX], *rx = &rig.v.q[VDEV_RX];
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .features = features });
	send_and_kick_always();		/* with EVENT_IDX the first may come */
	rig_offer(&rig, 4);
	rig_inject(&rig, 0, 100);
	rig_rx_expect(&rig, 0, 100);
	gr_call_off(&tx->ring);
	gr_call_off(&rx->ring);
	/* what was on its way is past when one more frame has gone through */
	rig_send(&rig, 100);
	vdev_eventfd_wait(tx->call, 20);
	vdev_eventfd_take(tx->call);
	vdev_eventfd_take(rx->call);
	for (i = 1; i < 200 && !ksft_failed(); i++) {
		rig_send(&rig, 100);
		rig_offer(&rig, 4);
		rig_inject(&rig, i, 100);
		rig_rx_expect(&rig, i, 100);
	}
	EXPECT_EQ(vdev_eventfd_take(tx->call), 0);
	EXPECT_EQ(vdev_eventfd_take(rx->call), 0);
	rig_close(&rig);
}

CASE(call_disabled_does_not_come)
{
	calls_not_asked_for(F_V1 | F_MRG);
	calls_not_asked_for(F_V1 | F_MRG | F_EVENT);
}

/* What the other way of asking would say is that no call is wanted. */
static void calls_in_spite_of(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .features = features });
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		gr_call_on(&q->ring, 0);
		if (rig.v.features & F_PACKED)
			/* valid with EVENT_IDX only; else reserved */
			gr_raw_driver_event(&q->ring, 200, features & F_EVENT ? 3 : GR_EVENT_DESC);
		else if (features & F_EVENT)
			gr_raw_avail_flags(&q->ring, GR_AVAIL_F_NO_INTERRUPT);
		else
			gr_raw_used_event(&q->ring, 30000);
		rig_send(&rig, 100);
		if (!vdev_eventfd_wait(q->call, 3000))
			FAIL("no call for frame %u", i);
		vdev_eventfd_take(q->call);
	}
	rig_close(&rig);
}

CASE(call_setting_not_agreed_on_is_ignored)
{
	calls_in_spite_of(F_V1 | F_MRG);
	calls_in_spite_of(F_V1 | F_MRG | F_EVENT);
}

/* The event index is 30 used buffers away: one call after the 31st, none before. */
CASE(call_comes_at_event_index)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int round, i;

	rig_open(&rig, &(struct rig_cfg){ .base = 65000 });
	send_and_kick_always();
	wait_worker_idle();		/* the call may come after the frame */
	for (round = 0; round < 30 && !ksft_failed(); round++) {
		gr_call_on(&q->ring, 30);
		vdev_eventfd_wait(q->call, 0);
		vdev_eventfd_take(q->call);
		for (i = 0; i < 30; i++)
			rig_send(&rig, 100);
		EXPECT_EQ(vdev_eventfd_take(q->call), 0);
		rig_send(&rig, 100);
		if (!vdev_eventfd_wait(q->call, 3000))
			FAIL("round %u: no call", round);
		EXPECT_EQ(vdev_eventfd_take(q->call), 1);
	}
}

/* A batch that passes the event index in its midst is followed by a call. */
CASE(call_comes_for_event_inside_batch)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int at, i;

	rig_open(&rig, &(struct rig_cfg){ .base = 65400 });
	for (at = 0; at < 100 && !ksft_failed(); at += 7) {
		vdev_eventfd_take(q->call);
		gr_call_on(&q->ring, at);
		for (i = 0; i < 100; i++)
			ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(q);
		if (!vdev_eventfd_wait(q->call, 3000))
			FAIL("no call for %u of 100", at);
		rig_tx_drain(&rig, 3000);
		for (i = 0; i < 100 && !ksft_failed(); i++)
			rig_expect(&rig, rig.tx_seq - 100 + i, 60);
	}
}

/* Reading a kick's eventfd wakes its waiters as well: the device must not take that for a kick. */
CASE(kick_eventfd_read_is_no_kick)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	long kicks;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	send_and_kick_always();
	vdev_kick_always(q);
	wait_worker_idle();
	kicks = rig_counter(&rig, "kvnet.tx.kicks");
	EXPECT_OP(vdev_eventfd_take(q->kick), >, 0);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.kicks"), kicks);
	vdev_kick_always(q);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.kicks"), kicks + 1);
	rig_close(&rig);
}

/* The kernel can overflow the counter of an eventfd (EPOLLERR); a writer cannot. */
CASE(kick_eventfd_overflown_is_accepted)
{
	struct vhost_vring_file both[2] = { { VDEV_RX }, { VDEV_TX } };
	const uint64_t most = -2ull;
	int fd = vdev_eventfd();

	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG });
	send_and_kick_always();
	ASSERT_EQ(write(fd, &most, sizeof(most)), sizeof(most));
	both[0].fd = both[1].fd = fd;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &both[1]);
	gr_call_on(&rig.v.q[VDEV_TX].ring, 0);
	send_and_kick_always();
	wait_worker_idle();
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_VRING_KICK, &both[0]), 0);
	EXPECT_EQ(vdev_eventfd_take(fd), -1ull);
	rig_close(&rig);
}

CASE(queue_without_call_eventfd_sends)
{
	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG });
	ASSERT_EQ(__vdev_vring_fd(&rig.v, VHOST_SET_VRING_CALL, 1, -1), 0);
	send_and_kick_always();
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_TX].call), 0);
}

/*** wake-ups of the workers ***/

#define MANY	500

static long wakeups(const char *of)
{
	char name[32] = "kvnet.";

	strcat(strcat(name, of), ".wakeups");
	return rig_counter(&rig, name);
}

/* Both queues are idle, with notifications enabled. */
static void begin_idle(uint64_t features)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ .features = features });
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	send_and_kick_always();
	rig_inject(&rig, 0, 60);
	rig_rx_expect(&rig, 0, 60);
	wait_worker_idle();
}

/* The receive queue has buffers: kicks for more are counted, and wake no worker. */
static void kicks_for_buffers(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	long rx, tx, kicks;
	unsigned int i;

	begin_idle(features);
	rx = wakeups("rx");
	tx = wakeups("tx");
	kicks = rig_counter(&rig, "kvnet.rx.kicks");
	for (i = 0; i < MANY; i++)
		vdev_kick_always(q);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.kicks") - kicks, MANY);
	EXPECT_EQ(wakeups("rx"), rx);
	EXPECT_EQ(wakeups("tx"), tx);
	rig_close(&rig);
}

CASE(rx_kick_without_need_wakes_no_worker)
{
	kicks_for_buffers(F_V1 | F_MRG);
	kicks_for_buffers(0);
}

/* A frame to the guest wakes the waiters of the tap: the receive queue, not the transmit queue. */
CASE(rx_frames_do_not_wake_tx_worker)
{
	long rx, tx;
	unsigned int i;

	begin_idle(0);
	rx = wakeups("rx");
	tx = wakeups("tx");
	for (i = 0; i < MANY && !ksft_failed(); i++) {
		rig_inject(&rig, 1 + i, 60);
		rig_rx_expect(&rig, 1 + i, 60);
		if (i % 64 == 63)
			rig_offer(&rig, 64);
	}
	EXPECT_EQ(wakeups("tx"), tx);
	/* at most one for a frame, and none for buffers */
	EXPECT_GE(wakeups("rx") - rx, 1);
	EXPECT_LE(wakeups("rx") - rx, MANY);
	rig_close(&rig);
}

/* Frames from the guest do not wake the receive queue. */
CASE(tx_frames_do_not_wake_rx_worker)
{
	long rx, tx, kicks;
	unsigned int i;

	begin_idle(0);
	rx = wakeups("rx");
	tx = wakeups("tx");
	kicks = rig_counter(&rig, "kvnet.tx.kicks");
	for (i = 0; i < MANY && !ksft_failed(); i++)
		rig_send(&rig, 60);
	EXPECT_EQ(wakeups("rx"), rx);
	/* at most one for a kick */
	EXPECT_LE(wakeups("tx") - tx, rig_counter(&rig, "kvnet.tx.kicks") - kicks);
	rig_close(&rig);
}

/*
 * Kicks before the worker runs are one wake-up. Another process kicks: a thread of the
 * owner would send by itself.
 */
CASE(kicks_in_a_row_wake_worker_once)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	long runs, tx;
	unsigned int i;
	int status;
	pid_t pid;

	begin_idle(0);
	runs = rig_counter(&rig, "kvnet.tx.polls");
	tx = wakeups("tx");
	pid = fork();
	if (!pid) {
		for (i = 0; i < MANY; i++)
			vdev_kick_always(q);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	/* the poll after the last kick may be still to come */
	EXPECT_LE(wakeups("tx") - tx, rig_counter(&rig, "kvnet.tx.polls") - runs + 1);
	EXPECT_GE(wakeups("tx") - tx, 1);
	rig_close(&rig);
}

KSFT_MAIN()
