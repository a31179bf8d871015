// SPDX-License-Identifier: GPL-2.0
/*
 * A device is started, stopped, closed, reset, replaced, and its owner ends, in every
 * state.  RESET_OWNER leaves nothing of the set-up: the next owner finds the device as a
 * new one, and what the one before had set is not used any more.
 *
 * @hosts: 6.1 newest
 * @first-host: 6.12
 * @debug: kasan kcsan kmsan
 * @again: packed kthread
 * @seconds: 11
 * @skip: (uapi|net|test)-.* | base_.*: split | tried in its run with packed rings
 */
#include <net/if.h>
#include <sys/resource.h>

#include "dirtylog.h"
#include "exchange.h"
#include "flow.h"
#include "iommu.h"
#include "links.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vmm.h"

static struct rig rig;

CASE_TIMED(close_in_each_state_leaves_no_worker, 30)
{
	unsigned int before = workers(), last, state, i;
	struct vhost_vring_state s = { .num = 256 };

	for (last = 0; last < 12 && !ksft_failed(); last++) {
		struct vdev *v = &rig.v;

		rig_open(&rig, &(struct rig_cfg){ .stopped = true });
		rig_disown(&rig);
		for (state = 1; state <= last; state++) {
			switch (state) {
			case 1:
				vdev_own(v->fd);
				break;
			case 2:
				vdev_set_features(v, v->features);
				break;
			case 3:
				vdev_set_mem(v);
				break;
			case 4:
				vdev_ioctl(v->fd, VHOST_SET_VRING_NUM, &s);
				break;
			case 5:
				ASSERT_EQ(__vdev_vring_fd(v,
					VHOST_SET_VRING_KICK, 0,
					v->q[0].kick), 0);
				break;
			case 6:
				vdev_queue_tell(v, 0, 0);
				break;
			case 7:
				vdev_backend(v, 0, rig.tap);
				break;
			case 8:
				vdev_queue_tell(v, 1, 0);
				vdev_backend(v, 1, rig.tap);
				break;
			case 9:		/* work for both queues */
				rig_rx_post(&rig, 64, NULL);
				vdev_kick_always(&v->q[0]);
				for (i = 0; i < 64; i++) {
					rig_inject(&rig, i, 1000);
					rig_tx(&rig, 1000, NULL);
				}
				vdev_kick_always(&v->q[1]);
				break;
			case 10:
				vdev_backend(v, 1, -1);
				break;
			case 11:
				vdev_backend(v, 0, -1);
				break;
			}
		}
		rig_close(&rig);
		no_worker_left(before);
	}
}

CASE(stop_and_start_keeps_base)
{
	uint32_t sent = 0, got = 0, rx = 0, rx_got = 0, q, i, base[2];
	unsigned int round;

	rig_open(&rig, &(struct rig_cfg){ .base = 65500, .num = 64 });
	for (round = 0; round < ksft_rounds(60) && !ksft_failed(); round++) {
		for (i = ksft_below(32); i; i--)
			sent += !rig_tx(&rig, 200, NULL);
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_rx_post(&rig, 64, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		for (i = ksft_below(32); i; i--)
			rig_inject(&rig, rx++, 300);
		ksft_relax(round);
		rig_stop(&rig);
		for (q = 0; q < 2; q++) {
			base[q] = vdev_get_base(&rig.v, q);
			EXPECT(vdev_settled(&rig.v, q, base[q]));
			EXPECT_EQ(gr_base(&rig.v.q[q].ring), base[q]);
		}
		/* more of both while the queues are stopped */
		sent += !rig_tx(&rig, 201, NULL);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		rig_inject(&rig, rx++, 300);
		for (q = 0; q < 2; q++)
			vdev_set_base(&rig.v, q, base[q]);
		rig_start(&rig);
		while (got < sent && !ksft_failed()) {
			static uint8_t f[4096];
			ssize_t n = rig_sniff(&rig, f, sizeof(f), 3000);

			if (n < 0)
				FAIL("TX: frame %u is lost", got);
			else
				frame_check(f, n, got++, n);
		}
		rig_tx_drain(&rig, 3000);
		while (rx_got < rx && rig_rx_expect(&rig, rx_got, 300))
			rx_got++;
	}
}

/* Stopping waits for the end of a poll, with all taken buffers given back, work left or not. */
CASE(stop_between_two_polls_gives_all_back)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int round;
	uint32_t base;

	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG, .bufs = 200,
					  .tx_buf = 9100 });
	vdev_no_spin(&rig.v);
	for (round = 0; round < 5 && !ksft_failed(); round++) {
		/* more than the bytes of a poll */
		while (!rig_tx(&rig, 9000, NULL))
			;
		vdev_eventfd_take(q->call);
		gr_call_on(&q->ring, 0);
		run_first(true);
		vdev_kick_always(q);
		EXPECT(vdev_eventfd_wait(q->call, 3000));
		vdev_backend(&rig.v, VDEV_TX, -1);
		run_first(false);
		base = vdev_get_base(&rig.v, VDEV_TX);
		EXPECT(vdev_settled(&rig.v, VDEV_TX, base));
		vdev_set_base(&rig.v, VDEV_TX, base);
		vdev_backend(&rig.v, VDEV_TX, rig.tap);
		EXPECT(rig_tx_drain(&rig, 3000));
	}
	rig_close(&rig);
}

/* DPDK sets the avail half of the base, and leaves the used half zero. */
CASE(base_of_new_packed_ring_is_accepted)
{
	unsigned int q;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	if (!(rig.v.features & F_PACKED))
		ksft_skip("split");
	for (q = 0; q < 2; q++)
		vdev_set_base(&rig.v, q, 0x8000);
	rig_start(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

/* A base beyond the ring is an error when the queue starts, at the latest. */
CASE(base_beyond_packed_ring_is_refused)
{
	static const uint32_t bases[] = {
		0x80408040, 0x80000040, 0x00408000, 0xffffffff, 0x7fff7fff,
	};
	struct vhost_vring_state s = { .index = VDEV_TX };
	unsigned int i;
	int ret;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .num = 64 });
	if (!(rig.v.features & F_PACKED))
		ksft_skip("split");
	for (i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		s.num = bases[i];
		ret = __vdev_ioctl(rig.v.fd, VHOST_SET_VRING_BASE, &s);
		if (!ret)
			ret = __vdev_backend(&rig.v, VDEV_TX, rig.tap);
		if (ret >= 0)
			FAIL("base %x is taken", bases[i]);
		EXPECT_EQ(pinned_kb(), 0);
		__vdev_backend(&rig.v, VDEV_TX, -1);
	}
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

/* The device may have taken frames off the tap before it ran out of buffers. */
CASE(frames_without_buffers_survive_stop)
{
	uint32_t round, i, seq = 0, got = 0, base;

	rig_open(&rig, &(struct rig_cfg){ .num = 64 });
	for (round = 0; round < 20 && !ksft_failed(); round++) {
		rig_rx_post(&rig, 2, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		for (i = 0; i < 50; i++)
			rig_inject(&rig, seq++, 300);
		rig_rx_expect(&rig, got++, 300);
		rig_rx_expect(&rig, got++, 300);
		vdev_backend(&rig.v, VDEV_RX, -1);
		base = vdev_get_base(&rig.v, VDEV_RX);
		EXPECT_EQ(base, gr_base_at(&rig.v.q[VDEV_RX].ring.cfg,
					   50 * round + 2));
		vdev_set_base(&rig.v, VDEV_RX, base);
		vdev_backend(&rig.v, VDEV_RX, rig.tap);
		rig_rx_post(&rig, 48, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		while (got < seq && rig_rx_expect(&rig, got, 300))
			got++;
	}
}

CASE(stopped_queue_is_not_touched)
{
	uint8_t *copy = malloc(VDEV_RING_ZONE);
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	rig_rx_post(&rig, 32, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (i = 0; i < 30; i++)
		rig_inject(&rig, i, 100);
	rig_stop(&rig);
	for (i = 0; i < 30; i++) {
		rig_inject(&rig, i, 100);
		rig_tx(&rig, 100, NULL);
	}
	memcpy(copy, rig.v.mem, VDEV_RING_ZONE);
	vdev_eventfd_take(rig.v.q[0].call);
	vdev_eventfd_take(rig.v.q[1].call);
	for (i = 0; i < 2; i++) {
		uint64_t one = 1;

		ASSERT_EQ(write(rig.v.q[i].kick, &one, 8), 8);
	}
	EXPECT(!vdev_eventfd_wait(rig.v.q[1].call, 100));
	EXPECT(!memcmp(copy, rig.v.mem, VDEV_RING_ZONE));
}

CASE(queue_reset_alone_leaves_other_running)
{
	unsigned int round, q;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (round = 0; round < 20 && !ksft_failed(); round++) {
		flow_one(&rig);
		q = round % 2;
		vdev_backend(&rig.v, q, -1);
		if (q == VDEV_RX) {	/* the other one goes on */
			ASSERT_EQ(rig_tx(&rig, 70, NULL), 0);
			vdev_kick(&rig.v.q[VDEV_TX]);
			rig_expect(&rig, rig.tx_seq - 1, 70);
			rig_tx_drain(&rig, 3000);
		} else {
			rig_inject(&rig, 5000 + round, 70);
			rig_rx_post(&rig, 8, NULL);
			vdev_kick(&rig.v.q[VDEV_RX]);
			rig_rx_expect(&rig, 5000 + round, 70);
		}
		vdev_queue_reset(&rig.v, q);
		vdev_backend(&rig.v, q, rig.tap);
	}
}

static void another_owner(void)
{
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(rig.v.fd);
}

static void expect_released(const struct rig *old)
{
	rig_close_tap(old);
	if (!WAIT_FOR(3000, !if_nametoindex(old->name)))
		FAIL("%s is still in use", old->name);
}

CASE(backend_replaced_is_released)
{
	struct rig old;
	unsigned int i;

	/* replaced */
	rig_open(&rig, &(struct rig_cfg){ 0 });
	rig_another_tap(&rig, &old);
	rig_start(&rig);
	expect_released(&old);
	flow_one(&rig);
	/* the same again, and taken away */
	rig_another_tap(&rig, &old);
	for (i = 0; i < 2; i++)
		vdev_backend(&rig.v, i, old.tap);
	rig_stop(&rig);
	expect_released(&old);
	for (i = 0; i < 2; i++)
		vdev_queue_reset(&rig.v, i);
	rig_start(&rig);
	flow_one(&rig);
	/* by the owner, which gives up the device */
	rig_another_tap(&rig, &old);
	another_owner();
	expect_released(&old);
	rig_set_up_again(&rig);
	rig_start(&rig);
	flow_one(&rig);
	/* a deleted one, which is refused */
	rig_another_tap(&rig, &old);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EINVAL);
	rig_stop(&rig);
	expect_released(&old);
	rig_close(&rig);
}

/* Frames in both directions until the process is killed. */
static void pump_for_ever(int ready)
{
	uint32_t seq = 0;
	uint8_t f[4096];

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (;;) {
		rig_offer(&rig, 64);
		while (!rig_tx(&rig, 1000, NULL))
			rig_inject(&rig, seq++, 1000);
		vdev_kick(&rig.v.q[VDEV_TX]);
		while (rig_rx(&rig, NULL, f, sizeof(f), 1) >= 0)
			;
		rig_tx_reap(&rig);
		while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
			;
		if (seq > 256 && ready >= 0) {
			close(ready);
			ready = -1;
		}
	}
}

CASE_TIMED(owner_killed_under_traffic_leaves_no_worker, 40)
{
	vmm_killed_often(pump_for_ever, ksft_rounds(10), 1000);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
}

CASE(duplicate_closed_elsewhere_keeps_device)
{
	int status, i, fd;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 10; i++) {
		fd = dup(rig.v.fd);
		if (!fork()) {
			/* or by the end of the process */
			if (i % 2)
				_exit(0);
			close(fd);
			close(rig.v.fd);
			_exit(0);
		}
		close(fd);
		ASSERT_SYS(wait(&status));
		flow_one(&rig);
	}
}

/*
 * The owner exits, its child keeps the device. A stopped queue is not broken by that, and signals
 * no error.
 */
CASE(owner_exit_before_start_breaks_no_queue)
{
	unsigned int before = workers(), i;
	int p[2];
	pid_t pid;
	char c;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	ASSERT_SYS(pipe(p));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		rig_open(&rig, &(struct rig_cfg){ .stopped = true });
		if (fork())
			_exit(0);
		no_worker_left(before);
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.broken"), 0);
		EXPECT_EQ(rig_counter(&rig, "kvnet.tx.broken"), 0);
		for (i = 0; i < 2; i++)
			EXPECT_EQ(vdev_eventfd_take(rig.v.q[i].err), 0);
		_exit(0);
	}
	close(p[1]);
	ASSERT_SYS(waitpid(pid, NULL, 0));
	EXPECT_EQ(read(p[0], &c, 1), 0);
}

/* In the midst of traffic. */
static void dump_core(void)
{
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };

	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	rig_rx_post(&rig, 64, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	while (!rig_tx(&rig, 1000, NULL))
		rig_inject(&rig, 1, 1000);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	setrlimit(RLIMIT_CORE, &lim);
	abort();
}

CASE(owner_core_dump_leaves_no_worker)
{
	unsigned int before = workers();
	pid_t pid;

	if (chdir("/tmp"))
		ksft_skip("no place for a core");
	pid = ASSERT_SYS(fork());
	if (!pid)
		dump_core();
	if (!WAIT_FOR(5000, child_ended(pid, NULL)))
		FAIL("the process does not end");
	no_worker_left(before);
	unlink("core");
}

/*** the first call ***/

static void by_ioctl(void)
{
	uint64_t features = 0;

	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_GET_FEATURES, &features), 0);
}

static void by_read(void)
{
	char msg[72];

	EXPECT_EQ(fcntl(rig.v.fd, F_SETFL, O_NONBLOCK), 0);
	EXPECT_EQ(read(rig.v.fd, msg, sizeof(msg)), -1);
	EXPECT_EQ(errno, EAGAIN);
}

static void by_write(void)
{
	EXPECT_EQ(write(rig.v.fd, "", 1), -1);
	EXPECT_EQ(errno, EINVAL);
}

static void by_poll(void)
{
	struct pollfd p = { .fd = rig.v.fd, .events = POLLIN };

	EXPECT_EQ(poll(&p, 1, 0), 0);
}

/* Not open(): a mutex serialises the opens of all misc devices. */
CASE(first_call_creates_device)
{
	void (*const by[])(void) = { by_ioctl, by_read, by_write, by_poll };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net says nothing in fdinfo");
	for (i = 0; i < sizeof(by) / sizeof(*by); i++) {
		rig.v.fd = vdev_open_node();
		EXPECT_EQ(rig_counter(&rig, "kvnet.id"), -1);
		by[i]();
		EXPECT_EQ(rig_counter(&rig, "kvnet.id"), 0);
		vdev_own(rig.v.fd);
		EXPECT_OP(rig_counter(&rig, "kvnet.id"), >, 0);
		close(rig.v.fd);
	}
}

static pthread_barrier_t together;

static void *own_together(void *fd)
{
	pthread_barrier_wait(&together);
	return (void *)(long)__vdev_ioctl(*(int *)fd, VHOST_SET_OWNER, NULL);
}

CASE_TIMED(first_calls_at_once_create_one_device, 60)
{
	enum { THREADS = 3 };
	unsigned int i, n, before = workers();
	pthread_t thread[THREADS];
	void *ret;
	int fd;

	ASSERT_EQ(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (i = 0; i < ksft_rounds(60) && !ksft_failed(); i++) {
		unsigned int owners = 0;

		fd = vdev_open_node();
		for (n = 0; n < THREADS; n++)
			ASSERT_EQ(pthread_create(&thread[n], NULL, own_together, &fd), 0);
		for (n = 0; n < THREADS; n++) {
			ASSERT_EQ(pthread_join(thread[n], &ret), 0);
			owners += !ret;
			if (ret)
				EXPECT_EQ((long)ret, -EBUSY);
		}
		EXPECT_EQ(owners, 1);
		close(fd);
	}
	no_worker_left(before);
}

static void *own(void *fd)
{
	vdev_own(*(int *)fd);
	return fd;
}

/* The process is the owner, not the thread that called SET_OWNER. */
CASE(owner_thread_exit_keeps_device)
{
	pthread_t thread;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	rig_disown(&rig);
	ASSERT_EQ(pthread_create(&thread, NULL, own, &rig.v.fd), 0);
	pthread_join(thread, NULL);
	rig_set_up_again(&rig);
	rig_start(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

CASE(memory_table_set_late_restarts_queue)
{
	const struct vhost_memory none = { .nregions = 0 };
	struct vdev_queue *q;
	struct pollfd err;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	q = &rig.v.q[VDEV_TX];
	vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, &none);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick(q);
	err = (struct pollfd){ .fd = q->err, .events = POLLIN };
	ASSERT_EQ(poll(&err, 1, ksft_patience(3000)), 1);
	vdev_set_mem(&rig.v);
	vdev_kick(q);
	rig_expect(&rig, 0, 100);
	EXPECT_EQ(rig_tx_drain(&rig, 3000), true);
	rig_close(&rig);
}

/*** RESET_OWNER ***/

static uint32_t state_of(unsigned int i, unsigned long req)
{
	struct vhost_vring_state s = { i, 12345 };

	vdev_ioctl(rig.v.fd, req, &s);
	return s.num;
}

static void set_state(unsigned int i, unsigned long req, uint32_t num)
{
	struct vhost_vring_state s = { i, num };

	vdev_ioctl(rig.v.fd, req, &s);
}

static unsigned long long features_shown(void)
{
	return strtoull(ring_is(&rig, "kvnet.features"), NULL, 0);
}

CASE(reset_owner_clears_numbers)
{
	uint32_t busy[2];
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	for (i = 0; i < 2; i++) {
		busy[i] = state_of(i, VHOST_GET_VRING_BUSYLOOP_TIMEOUT);
		set_state(i, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, 4321 + i);
		vdev_set_base(&rig.v, i, 7);
		if (!vdev_is_vhost())
			set_state(i, VHOST_SET_VRING_ENDIAN,
				  VHOST_VRING_BIG_ENDIAN);
	}
	if (!vdev_is_vhost())
		EXPECT(features_shown() & F_V1);
	another_owner();
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(state_of(i, VHOST_GET_VRING_BUSYLOOP_TIMEOUT), busy[i]);
		EXPECT_EQ(vdev_get_base(&rig.v, i), 0);
		if (!vdev_is_vhost())
			EXPECT_EQ(state_of(i, VHOST_GET_VRING_ENDIAN),
				  VHOST_VRING_LITTLE_ENDIAN);
	}
	if (!vdev_is_vhost())
		EXPECT_EQ(features_shown(), 0);
}

static void reset_and_close_often(void)
{
	int i, fd;

	ASSERT_SYS(unshare(CLONE_NEWNET));
	for (i = 0; i < 20; i++) {
		fd = vdev_open_node();
		vdev_own(fd);
		vdev_ioctl(fd, VHOST_RESET_OWNER, NULL);
		close(fd);
	}
}

/* References to the owner and its network namespace are dropped once. */
CASE_ROW(reset_owner_and_close_release_once, in_child(reset_and_close_often))

CASE(reset_owner_clears_addresses)
{
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	rig_stop(&rig);
	another_owner();
	vdev_set_features(&rig.v, rig.v.features);
	vdev_set_mem(&rig.v);
	for (i = 0; i < 2; i++) {
		set_state(i, VHOST_SET_VRING_NUM, rig.v.q[i].num);
		EXPECT_EQ(__vdev_backend(&rig.v, i, rig.tap), -EFAULT);
	}
}

/* The next owner's log does not signal the eventfd of this one, nor is this one's written. */
CASE(reset_owner_clears_dirty_log)
{
	struct exchange x = { .r = &rig, .burst = 8 };
	int fd = vdev_eventfd();
	struct dirtylog dl;
	size_t i;

	rig_open(&rig, &(struct rig_cfg){ .bufs = 32, .stopped = true });
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
	rig_start(&rig);
	exchange_rx(&x);
	EXPECT(vdev_eventfd_wait(fd, 3000));
	rig_stop(&rig);

	another_owner();
	vdev_eventfd_take(fd);
	dirtylog_clear(&dl);
	/* the log is at 0, unmapped: vhost_net starts, and loses received frames */
	rig.v.features |= F_LOG;
	rig_set_up_again(&rig);
	if (!vdev_is_vhost()) {
		EXPECT_EQ(__vdev_backend(&rig.v, VDEV_RX, rig.tap), -EFAULT);
	} else {
		rig_start(&rig);
		rig_rx_post(&rig, 4, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		rig_inject(&rig, 0, 500);
		EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_RX].err, 3000));
		rig_stop(&rig);
	}
	for (i = 0; i < dl.bytes / sizeof(*dl.map); i++)
		if (dl.map[i]) {
			FAIL("the old log has been written");
			break;
		}
	/* and one that works */
	another_owner();
	dirtylog_base(&dl);
	rig_set_up_again(&rig);
	rig_start(&rig);
	exchange_rx(&x);
	rig_stop(&rig);
	EXPECT_EQ(vdev_eventfd_take(fd), 0);
	for (i = 0; i < dl.bytes / sizeof(*dl.map) && !dl.map[i]; i++)
		;
	EXPECT(i < dl.bytes / sizeof(*dl.map));
	dirtylog_close(&dl);
	close(fd);
}

/* RESET_OWNER before the worker has polled cancels the scheduled work. */
CASE(reset_owner_cancels_scheduled_work)
{
	struct exchange x = { .r = &rig, .burst = 8 };
	unsigned int i;
	uint8_t f[256];

	rig_open(&rig, &(struct rig_cfg){ .bufs = 200 });
	exchange_tx(&x);
	wait_worker_idle();
	/* more than the vCPU thread would send by itself */
	for (i = 0; i < 100; i++)
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	run_first(true);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	run_first(false);
	vdev_own(rig.v.fd);
	rig_set_up_again(&rig);
	/* what had been sent may be under way on another CPU */
	while (rig_sniff(&rig, f, sizeof(f), 100) >= 0)
		;
	rig_start(&rig);
	exchange_tx(&x);
	exchange_rx(&x);
	rig_close(&rig);
}

/* The owner before has chosen messages of the second format. */
CASE(reset_owner_clears_message_format)
{
	struct vhost_msg msg;
	struct iommu io;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	another_owner();
	rig_set_up_again(&rig);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT(iommu_readable(&io, 3000));
	ASSERT_EQ(read(rig.v.fd, &msg, sizeof(msg)), sizeof(msg));
	EXPECT_EQ(msg.type, VHOST_IOTLB_MSG);
	EXPECT_EQ(msg.iotlb.type, VHOST_IOTLB_MISS);
	iommu_close(&io);
}

KSFT_MAIN()
