// SPDX-License-Identifier: GPL-2.0
/*
 * Counters add up: with each other, with what the tap has counted, and with what the guest and
 * the host have sent. Netlink shows the same as fdinfo.
 *
 * @hosts: newest
 * @seconds: 7
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 */
#include "flow.h"
#include "links.h"
#include "netlink_rig.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "vhost_abi.h"

/* One of so many events that wake a queue is timed: KVNET_WORK_SAMPLE_EVERY. */
#define TIMED		16

static const char * const name_of[] = { "rx", "tx" };

static long count(unsigned int index, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "kvnet.%s.%s", name_of[index], name);
	return rig_counter(&vmm, key);
}

static long drops(unsigned int index)
{
	static const char * const reasons[] = {
		"short", "long", "header", "fault", "oversize", "tap",
	};
	unsigned int i;
	char name[32];
	long sum = 0;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		snprintf(name, sizeof(name), "drop_%s", reasons[i]);
		sum += count(index, name);
	}
	return sum;
}

/* What the tap has sent to the guest, or dropped on the way. */
static long host_sent(void)
{
	struct link_sent c = link_sent(vmm.name);

	return c.packets + c.dropped;
}

/*** histograms ***/

struct hist {
	uint64_t sum, count;
	char text[512];		/* as fdinfo has it */
};

static struct hist hist(unsigned int index, const char *name)
{
	struct attrs q = the_queue(index), one, word;
	struct hist h = { 0 };
	unsigned int i, bucket;
	uint64_t n = 0;
	size_t at = 0;

	for (i = 0; attr_nth(q, KVNET_A_QUEUE_HISTOGRAMS, i, &one); i++)
		if (!strcmp(attr_text(one, KVNET_A_HISTOGRAM_NAME), name))
			break;
	ASSERT(attr_has(one, KVNET_A_HISTOGRAM_SUM));
	h.sum = attr_u64(one, KVNET_A_HISTOGRAM_SUM);
	for (bucket = 0; attr_nth(one, KVNET_A_HISTOGRAM_BUCKETS, bucket, &word); bucket++) {
		memcpy(&n, word.at, 8);
		h.count += n;
		if (n)
			at += snprintf(h.text + at, sizeof(h.text) - at, "%s%llu:%llu", at ? " " : "",
				       bucket ? 1ULL << (bucket - 1) : 0, (unsigned long long)n);
	}
	EXPECT_LE(bucket, 32);
	/* the last bucket is not empty */
	EXPECT(!bucket || n);
	return h;
}

/* The line of fdinfo, without its end. */
static void fdinfo_line(const char *key, char *to, size_t size)
{
	char path[64], line[640];
	size_t len = strlen(key);
	FILE *f;

	*to = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", vmm.v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':')
			snprintf(to, size, "%.*s", (int)strcspn(line + len + 2, "\n"), line + len + 2);
	fclose(f);
}

static void fdinfo_shows(const struct hist *h, unsigned int index, const char *name)
{
	char key[64], line[512];

	snprintf(key, sizeof(key), "kvnet.%s.%s", name_of[index], name);
	fdinfo_line(key, line, sizeof(line));
	if (strcmp(line, h->text))
		FAIL("%s: '%s', fdinfo has '%s'", name, h->text, line);
}

/* Each poll is in the histogram, with the frames that it has handled; fdinfo shows the same. */
static void polls_add_up(unsigned int index)
{
	struct hist h = hist(index, "poll_packets");

	EXPECT_EQ(h.count, count(index, "polls") + count(index, "polls_inline"));
	EXPECT_EQ(h.sum, count(index, "packets") + drops(index));
	fdinfo_shows(&h, index, "poll_packets");
}

/*
 * Each frame is counted once: @sent by the guest, @injected by the host. Bytes do not count
 * headers.
 */
static void all_add_up(long sent, long injected)
{
	struct link_sent from_guest, to_guest;

	wait_worker_idle();
	from_guest = link_received(vmm.name);
	to_guest = link_sent(vmm.name);
	EXPECT_EQ(count(VDEV_TX, "packets") + drops(VDEV_TX), sent);
	EXPECT_EQ(count(VDEV_TX, "packets"), from_guest.packets);
	EXPECT_EQ(count(VDEV_TX, "bytes"), from_guest.bytes);
	EXPECT_EQ(count(VDEV_RX, "packets") + drops(VDEV_RX) + to_guest.dropped, injected);
	/* the tap does not count a frame that was read and dropped */
	EXPECT_EQ(count(VDEV_RX, "packets"), to_guest.packets);
	EXPECT_EQ(count(VDEV_RX, "bytes"), to_guest.bytes);
	polls_add_up(VDEV_RX);
	polls_add_up(VDEV_TX);
	/* counters of a part are not larger than the whole */
	EXPECT_LE(count(VDEV_TX, "packets_inline"), count(VDEV_TX, "packets"));
	EXPECT_LE(count(VDEV_TX, "packets_direct") + count(VDEV_TX, "packets_unbatched"),
		  count(VDEV_TX, "packets"));
	EXPECT_LE(count(VDEV_TX, "packets_gro") + count(VDEV_TX, "packets_shortcut"),
		  count(VDEV_TX, "packets_direct"));
	EXPECT_LE(count(VDEV_RX, "packets_inline"), count(VDEV_RX, "packets"));
	EXPECT_LE(count(VDEV_RX, "packets_recvmsg"), count(VDEV_RX, "packets") + drops(VDEV_RX));
}

static void traffic(unsigned int tap)
{
	struct flow f = { .r = &vmm };
	long before, injected;

	netlink_begin(&(struct rig_cfg){ .tap = tap });
	vdev_no_spin(&vmm.v);
	before = host_sent();
	flow_exact(&f, 50, flow_lens, FLOW_LENS);
	wait_worker_idle();
	/* beside ours the host's own, as IPv6 has it */
	injected = host_sent() - before;
	EXPECT_GE(injected, f.rx_seq);
	all_add_up(vmm.tx_done, injected);
}

CASE(traffic_both_ways_adds_up)
{
	traffic(0);
	EXPECT_EQ(count(VDEV_TX, "packets_unbatched"), 0);
}

CASE(traffic_unbatched_adds_up)
{
	traffic(TAP_SNDBUF);
	EXPECT_EQ(count(VDEV_TX, "packets_unbatched"), count(VDEV_TX, "packets"));
	EXPECT_EQ(count(VDEV_TX, "packets_direct"), 0);
}

/*** drops ***/

CASE(frames_short_or_with_a_bad_header_are_counted)
{
	uint8_t f[64] = { 0 }, hdr[12] = { 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	for (i = 0; i < 14; i++)
		ASSERT_EQ(rig_tx_raw(&vmm, NULL, f, i, NULL), 0);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(rig_tx_raw(&vmm, hdr, f, 60, NULL), 0);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&vmm, 3000));
	wait_worker_idle();
	EXPECT_EQ(count(VDEV_TX, "drop_short"), 14);
	EXPECT_EQ(count(VDEV_TX, "drop_header"), 3);
	all_add_up(vmm.tx_done, host_sent());
}

/*
 * An interface that is down refuses single frames. It accepts a batch, whose frames its stack
 * drops: so they are in rx_packets, and in rx_dropped as well.
 */
CASE(frames_to_an_interface_down_are_counted)
{
	static const unsigned int taps[] = { 0, TAP_SNDBUF };
	unsigned int i, way;
	long refused;

	for (way = 0; way < 2; way++) {
		netlink_begin(&(struct rig_cfg){ .tap = taps[way] });
		vdev_no_spin(&vmm.v);
		for (i = 0; i < 3; i++)
			flow_one(&vmm);
		wait_worker_idle();
		rig_link(&vmm, false);
		for (i = 0; i < 9; i++)
			ASSERT_EQ(rig_tx(&vmm, 100, NULL), 0);
		vdev_kick_always(&vmm.v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(&vmm, 3000));
		wait_worker_idle();
		refused = count(VDEV_TX, "drop_tap");
		EXPECT_EQ(refused, taps[way] ? 9 : 0);
		EXPECT_EQ(link_received(vmm.name).dropped, 9);
		all_add_up(vmm.tx_done, host_sent());
		genl_close(&genl);
		rig_close(&vmm);
	}
}

/* The device does not pass such a frame to the tap. */
CASE(frame_longer_than_any_is_counted)
{
	struct vdev_queue *q = &vmm.v.q[VDEV_TX];
	struct gr_buf b;
	uint8_t *buf;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	buf = vdev_buf_get(q);
	b = (struct gr_buf){ .ptr = q->bufs, .len = vmm.v.hdr_len + (1u << 19) + 1 };
	memset(b.ptr, 0, b.len);
	ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, buf) >= 0);
	vmm.tx_out++;
	vdev_kick_always(q);
	ASSERT(rig_tx_drain(&vmm, 3000));
	EXPECT_EQ(count(VDEV_TX, "drop_long"), 1);
	EXPECT_EQ(count(VDEV_TX, "drop_tap"), 0);
	flow_one(&vmm);
	genl_close(&genl);
	rig_close(&vmm);
}

/* More frames than the tap's ring has room for, while the guest adds no buffers. */
CASE(frames_to_a_full_tap_are_counted)
{
	unsigned int i, n = 1500;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	for (i = 0; i < n; i++)
		rig_inject(&vmm, i, 60);
	EXPECT_GE(link_sent(vmm.name).dropped, 300);
	for (i = 0; host_sent() < n && i < 10 && !ksft_failed(); i++) {
		rig_rx_post(&vmm, 256, NULL);
		vdev_kick_always(&vmm.v.q[VDEV_RX]);
		EXPECT(WAIT_FOR(3000, count(VDEV_RX, "no_buf") > (long)i + 1 ||
				host_sent() >= n));
		while (rig_rx(&vmm, NULL, (uint8_t[FRAME_MAX]){ 0 }, FRAME_MAX, 0) > 0)
			;
	}
	all_add_up(0, n);
}

/* Without mergeable buffers, and with buffers shorter than frames. */
CASE(frames_longer_than_the_buffer_are_counted)
{
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ .features = F_V1, .rx_buf = 512 });
	vdev_no_spin(&vmm.v);
	rig_rx_post(&vmm, 100, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	for (i = 0; i < 20; i++)
		rig_inject(&vmm, i, i % 2 ? 60 : 1400);
	for (i = 1; i < 20; i += 2)
		rig_rx_expect(&vmm, i, 60);
	wait_worker_idle();
	EXPECT_EQ(count(VDEV_RX, "drop_oversize"), 10);
	all_add_up(0, 20);
}

/*** contexts and latencies ***/

/* Some frames with one kick. */
static void frames_begin(unsigned int n)
{
	while (n--)
		ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
}

static void frames_end(unsigned int n)
{
	uint8_t f[FRAME_MAX];
	unsigned int i;

	for (i = 0; i < n && !ksft_failed(); i++)
		EXPECT_EQ(rig_sniff(&vmm, f, sizeof(f), 3000), 60);
	ASSERT(rig_tx_drain(&vmm, 3000));
}

static void frames(unsigned int n)
{
	frames_begin(n);
	frames_end(n);
}

/* So many polls, between which the worker sleeps. */
static void single_frames(unsigned int n)
{
	while (n-- && !ksft_failed()) {
		frames(1);
		wait_worker_idle();
	}
}

CASE(wake_latency_of_a_kick_is_measured)
{
	struct hist h;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(hist(VDEV_TX, "wake_latency_ns").count, 0);
	single_frames(4 * TIMED);
	h = hist(VDEV_TX, "wake_latency_ns");
	/* a driver that need not kick wakes no worker */
	EXPECT_GE(h.count, 1);
	EXPECT_LE(h.count, 5);
	/* more than nothing, and less than the test may take */
	EXPECT_OP(h.sum, >, 0);
	EXPECT_OP(h.sum, <, UINT64_C(20000000000));
	fdinfo_shows(&h, VDEV_TX, "wake_latency_ns");
}

/* The test runs on the first CPU, the worker on @cpu. */
static void put_worker(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ASSERT_SYS(sched_setaffinity(worker_tid(VDEV_TX), sizeof(set), &set));
	run_on_one_cpu();
}

/* One CPU for the worker and the test, which decides when the worker runs. */
static void one_cpu(void)
{
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_INLINE, 0), 0);
	put_worker(0);
}

/* The worker comes late, by so many milliseconds. */
static void kick_before_it_can_run(unsigned int ms)
{
	uint64_t end;

	run_first(true);
	frames_begin(1);
	for (end = ksft_now_ms() + ms; ksft_now_ms() < end;)
		;
	run_first(false);
	frames_end(1);
}

CASE(wake_latency_of_a_late_worker_is_measured)
{
	struct hist h;
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	one_cpu();
	for (i = 0; i < 4 * TIMED && !ksft_failed(); i++) {
		kick_before_it_can_run(3);
		wait_worker_idle();
	}
	h = hist(VDEV_TX, "wake_latency_ns");
	EXPECT_GE(h.count, 1);
	EXPECT_OP(h.sum, >, 1000000 * h.count);
	fdinfo_shows(&h, VDEV_TX, "wake_latency_ns");
}

/* The worker polls again, as the packets of one kick are too many: that it was not woken for. */
CASE(wake_latency_of_further_polls_is_not_measured)
{
	netlink_begin(&(struct rig_cfg){ .num = 1024, .bufs = 1000 });
	vdev_no_spin(&vmm.v);
	frames(1000);
	wait_worker_idle();
	EXPECT_GE(count(VDEV_TX, "budget_exhausted"), 2);
	EXPECT_LE(hist(VDEV_TX, "wake_latency_ns").count, 1);
}

/* A kick before the queue is stopped: the time until it is started again is no latency. */
CASE(wake_latency_without_a_backend_is_not_measured)
{
	struct hist h;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	one_cpu();
	wait_worker_idle();
	run_first(true);
	ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	vdev_backend(&vmm.v, VDEV_TX, -1);
	run_first(false);
	wait_worker_idle();
	h = hist(VDEV_TX, "wake_latency_ns");
	EXPECT_EQ(h.count, 0);
	vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
	ASSERT(rig_tx_drain(&vmm, 3000));
	wait_worker_idle();
	h = hist(VDEV_TX, "wake_latency_ns");
	EXPECT_EQ(h.count, 0);
}

/*
 * Single frames to the guest: each is received by its sender's softirq or by the worker, which gets
 * those that have waited for a CPU: then once more.
 */
CASE(packets_are_counted_by_context)
{
	unsigned int tries = 0;
	long before, n;

	rx_inline_begin();
	do {
		rx_inline_warm_up();
		before = rx_inline_counter("kvnet.rx.packets_inline");
		EXPECT_GE(before, 1);
		EXPECT_LE(before, rx_inline_counter("kvnet.rx.packets"));
		rx_inline_some(TIMED, 60);
		n = rx_inline_counter("kvnet.rx.packets_inline") - before;
	} while (n < TIMED && ++tries < 10 && !ksft_failed());
	EXPECT_EQ(n, TIMED);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), rx_inline_counter("kvnet.rx.polls_inline"));
	rig_close(&rig);
}

CASE(busy_polls_are_counted_by_result)
{
	struct vhost_vring_state s = { .index = VDEV_TX, .num = 100000 };
	long hit, missed;
	unsigned int i;

	/* with one CPU the worker stops spinning as soon as the guest can run */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	netlink_begin(&(struct rig_cfg){ 0 });
	/* on the test's CPU it would stop as soon as the test can run */
	put_worker(1);
	vdev_no_spin(&vmm.v);
	/* the worker may still be spinning */
	single_frames(1);
	hit = count(VDEV_TX, "busy_poll_hits");
	missed = count(VDEV_TX, "busy_poll_misses");
	single_frames(3);
	EXPECT_EQ(count(VDEV_TX, "busy_poll_hits"), hit);
	EXPECT_EQ(count(VDEV_TX, "busy_poll_misses"), missed);
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	for (i = 0; i < 500 && !(count(VDEV_TX, "busy_poll_misses") > missed &&
				 count(VDEV_TX, "busy_poll_hits") > hit); i++)
		/* more than inline TX would send */
		frames(10);
	EXPECT_OP(count(VDEV_TX, "busy_poll_misses"), >, missed);
	EXPECT_OP(count(VDEV_TX, "busy_poll_hits"), >, hit);
}

KSFT_MAIN()
