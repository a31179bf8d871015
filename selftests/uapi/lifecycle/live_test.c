// SPDX-License-Identifier: GPL-2.0
/*
 * Changes while packets flow: one thread plays the guest and the network, and checks that
 * no frame is missing; the other one plays the VMM.
 *
 * @hosts: newest
 * @again: packed kthread
 * @seconds: 5
 */
#include "exchange.h"

static struct rig rig;
static struct exchange traffic = { .r = &rig };

/* Calls 'change' n times, mostly with packets in between. */
static void under_traffic(unsigned int n, void (*change)(unsigned int i))
{
	unsigned int i;

	exchange_start(&traffic);
	for (i = 0; i < n && !ksft_failed(); i++) {
		change(i);
		if (i % 4)	/* mostly wait for packets, sometimes do not */
			exchange_wait(&traffic);
	}
	exchange_end(&traffic);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[1].err), 0);
}

static void wiggle_backends(unsigned int i)
{
	unsigned int q;
	uint32_t base;

	for (q = 0; q < 2; q++) {
		if (i % 3 == q)	/* the other one alone, or both */
			continue;
		vdev_backend(&rig.v, q, -1);
		base = vdev_get_base(&rig.v, q);
		EXPECT(vdev_settled(&rig.v, q, base));
		vdev_set_base(&rig.v, q, base);
		vdev_backend(&rig.v, q, rig.tap);
	}
}

CASE(backend_off_and_on_loses_nothing)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	under_traffic(ksft_rounds(100), wiggle_backends);
}

static void same_backend_again(unsigned int i)
{
	vdev_backend(&rig.v, i % 2, rig.tap);
}

CASE(backend_set_again_loses_nothing)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	under_traffic(ksft_rounds(40), same_backend_again);
}

static uint8_t *canary;

static void check_canary(void)
{
	size_t i;

	for (i = 0; canary && i < rig.v.host_span; i++)
		if (canary[i] != 0x5c) {
			FAIL("the old table was used: offset %zu", i);
			break;
		}
	if (canary)
		vdev_unmap_host(&rig.v, canary);
	canary = NULL;
}

static void move_memory(unsigned int i)
{
	uint8_t *old = vdev_map_host(&rig.v);

	vdev_set_mem(&rig.v);
	switch (i % 3) {
	case 0:
		vdev_unmap_host(&rig.v, old);
		break;
	case 1:
		ASSERT_SYS(mprotect(old, rig.v.host_span, PROT_NONE));
		break;
	default:	/* other memory in the same place, watched for writes */
		check_canary();
		canary = mmap(old, rig.v.host_span, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		ASSERT(canary == old);
		memset(canary, 0x5c, rig.v.host_span);
	}
}

CASE_TIMED(memory_table_moved_is_followed, 40)
{
	rig_open(&rig, &(struct rig_cfg){ .regions = 4, .bufs = 64,
					  .tx_buf = 2048, .rx_buf = 2048 });
	under_traffic(ksft_rounds(60), move_memory);
	check_canary();
}

static void same_table_again(unsigned int i)
{
	vdev_set_mem(&rig.v);
}

CASE(memory_table_set_again_loses_nothing)
{
	rig_open(&rig, &(struct rig_cfg){ .regions = 8 });
	under_traffic(ksft_rounds(200), same_table_again);
}

static void move_ring_addresses(unsigned int i)
{
	uint8_t *p = mmap(NULL, VDEV_RING_ZONE, PROT_READ | PROT_WRITE,
			  MAP_SHARED, rig.v.memfd, 0), *old = rig.v.ring_host;
	struct vhost_vring_addr a;
	unsigned int q;

	ASSERT(p != MAP_FAILED);
	rig.v.ring_host = p;
	for (q = 0; q < 2; q++) {
		vdev_queue_addr(&rig.v, q, &a);
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	}
	ASSERT_SYS(munmap(old, VDEV_RING_ZONE));
}

/* QEMU sets the addresses of live rings, though to the same values. */
CASE(ring_addresses_moved_are_followed)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	under_traffic(ksft_rounds(60), move_ring_addresses);
}

static int calls[3];
static bool done;
static unsigned long rounds_done;
static uint32_t rx_seq;

static void switch_call(unsigned int i)
{
	ASSERT_EQ(__vdev_vring_fd(&rig.v, VHOST_SET_VRING_CALL, i % 2,
				  calls[ksft_below(3)]), 0);
}

/* Frames both ways, between which the guest sleeps until a call wakes it. */
static void *sleepy_guest(void *arg)
{
	struct guest_ring *tx = &rig.v.q[VDEV_TX].ring;
	struct guest_ring *rx = &rig.v.q[VDEV_RX].ring;
	struct pollfd p[3];
	unsigned int i, turn = 0;

	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE) && !ksft_failed()) {
		struct guest_ring *r = turn++ % 2 ? tx : rx;
		bool more = gr_call_on(r, 0);

		if (r == tx) {
			ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
			vdev_kick(&rig.v.q[VDEV_TX]);
		} else {
			rig_rx_post(&rig, 4, NULL);
			vdev_kick(&rig.v.q[VDEV_RX]);
			rig_inject(&rig, rx_seq++, 100);
		}
		while (!more && !gr_used_pending(r)) {
			for (i = 0; i < 3; i++)
				p[i] = (struct pollfd){ calls[i], POLLIN, 0 };
			if (poll(p, 3, ksft_patience(3000)) <= 0) {
				FAIL("no call came; used pending: %d",
				     gr_used_pending(r));
				break;
			}
			for (i = 0; i < 3; i++)
				vdev_eventfd_take(calls[i]);
		}
		if (r == tx) {
			rig_expect(&rig, rig.tx_seq - 1, 100);
			rig_tx_drain(&rig, 3000);
		} else {
			rig_rx_expect(&rig, rx_seq - 1, 100);
		}
		__atomic_fetch_add(&rounds_done, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void calls_switch(uint64_t features)
{
	unsigned int i;
	pthread_t t;

	rig_open(&rig, &(struct rig_cfg){ .features = features });
	for (i = 0; i < 3; i++)
		calls[i] = vdev_eventfd();
	switch_call(0);
	switch_call(1);
	ASSERT_EQ(pthread_create(&t, NULL, sleepy_guest, NULL), 0);
	for (i = 0; i < ksft_rounds(1000) && !ksft_failed(); i++) {
		switch_call(i);
		if (i % 16 == 0)
			ksft_relax(1000);
	}
	WAIT_FOR(3000, rounds_done > 20);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	done = false;
	EXPECT_GE(rounds_done, 20);
	rig_close(&rig);
}

CASE(call_eventfd_switched_loses_no_call)
{
	calls_switch(0);
	calls_switch(F_V1 | F_MRG);
}

CASE(kick_eventfd_switched_loses_no_kick)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;
	int old;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < ksft_rounds(100) && !ksft_failed(); i++) {
		old = q->kick;
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
		if (i % 3 == 0)		/* kicked on the old one, then switched */
			vdev_kick(q);
		q->kick = vdev_eventfd();
		if (i % 3 == 1)		/* kicked on the new one, too early */
			vdev_kick(q);
		ASSERT_EQ(__vdev_vring_fd(&rig.v, VHOST_SET_VRING_KICK, 1,
					  q->kick), 0);
		close(old);
		if (i % 3 == 2)
			vdev_kick(q);
		rig_expect(&rig, i, 100);
		rig_tx_drain(&rig, 3000);
	}
	/* none at all, then one again: the buffer that waited is seen */
	ASSERT_EQ(__vdev_vring_fd(&rig.v, VHOST_SET_VRING_KICK, 1, -1), 0);
	ASSERT_EQ(rig_tx(&rig, 101, NULL), 0);
	vdev_kick_always(q);
	ASSERT_EQ(__vdev_vring_fd(&rig.v, VHOST_SET_VRING_KICK, 1, q->kick), 0);
	rig_expect(&rig, i, 101);
	rig_tx_drain(&rig, 3000);
}

static void anything(unsigned int i)
{
	static void (*const what[])(unsigned int) = {
		wiggle_backends, same_backend_again, move_memory,
		same_table_again, move_ring_addresses,
	};

	what[ksft_below(sizeof(what) / sizeof(*what))](i);
}

CASE_TIMED(changes_mixed_lose_nothing, 40)
{
	rig_open(&rig, &(struct rig_cfg){ .regions = 2, .bufs = 64,
					  .tx_buf = 2048, .rx_buf = 2048 });
	under_traffic(ksft_rounds(150), anything);
	check_canary();
}

KSFT_MAIN()
