// SPDX-License-Identifier: GPL-2.0
/*
 * Counters add up: with each other, with what the tap has counted, and with what the
 * guest and the host know that they have sent. Netlink tells the same as fdinfo.
 *
 * @hosts: newest
 * @seconds: 7
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow.h"
#include "netlink_rig.h"
#include "policy_rig.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "vhost_abi.h"

/* Of so many that wake a queue one is timed: KVNET_WORK_SAMPLE_EVERY. */
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

/*** what the tap says ***/

struct link_count {
	long rx_bytes, rx_packets, rx_dropped;
	long tx_bytes, tx_packets, tx_dropped;
};

/* Named from the host's side: it receives what the guest sends. */
static struct link_count link_count(const char *name)
{
	struct link_count c = { 0 };
	char line[512], key[32];
	bool found = false;
	FILE *f = fopen("/proc/thread-self/net/dev", "r");

	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %31[^:]: %ld %ld %*d %ld %*d %*d %*d %*d %ld %ld %*d %ld",
			   key, &c.rx_bytes, &c.rx_packets, &c.rx_dropped, &c.tx_bytes,
			   &c.tx_packets, &c.tx_dropped) == 7 && !strcmp(key, name)) {
			found = true;
			break;
		}
	fclose(f);
	ASSERT(found);
	return c;
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
	/* none that is empty at the end */
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

/* Each turn is in the histogram, with what it has done; fdinfo says the same. */
static void turns_add_up(unsigned int index)
{
	struct hist h = hist(index, "poll_packets");
	char key[64], line[512];

	EXPECT_EQ(h.count, count(index, "polls") + count(index, "polls_inline"));
	EXPECT_EQ(h.sum, count(index, "packets") + drops(index));
	snprintf(key, sizeof(key), "kvnet.%s.poll_packets", name_of[index]);
	fdinfo_line(key, line, sizeof(line));
	if (strcmp(line, h.text))
		FAIL("poll_packets: '%s', fdinfo has '%s'", h.text, line);
}

/*
 * All that the guest has sent, and the host, is somewhere: @sent by the guest, @injected
 * by the host. Headers are in nobody's bytes.
 */
static void all_add_up(long sent, long injected)
{
	struct link_count tap;

	wait_worker_idle();
	tap = link_count(vmm.name);
	EXPECT_EQ(count(VDEV_TX, "packets") + drops(VDEV_TX), sent);
	EXPECT_EQ(count(VDEV_TX, "packets"), tap.rx_packets);
	EXPECT_EQ(count(VDEV_TX, "bytes"), tap.rx_bytes);
	EXPECT_EQ(count(VDEV_RX, "packets") + drops(VDEV_RX) + tap.tx_dropped, injected);
	/* the tap counts no frame that was taken from it for nothing */
	EXPECT_EQ(count(VDEV_RX, "packets"), tap.tx_packets);
	EXPECT_EQ(count(VDEV_RX, "bytes"), tap.tx_bytes);
	turns_add_up(VDEV_RX);
	turns_add_up(VDEV_TX);
	/* how, and by whom: parts of the whole */
	EXPECT_LE(count(VDEV_TX, "packets_inline"), count(VDEV_TX, "packets"));
	EXPECT_LE(count(VDEV_TX, "packets_direct") + count(VDEV_TX, "packets_unbatched"),
		  count(VDEV_TX, "packets"));
	EXPECT_LE(count(VDEV_RX, "packets_inline"), count(VDEV_RX, "packets"));
	EXPECT_LE(count(VDEV_RX, "packets_recvmsg"), count(VDEV_RX, "packets") + drops(VDEV_RX));
}

static void traffic(unsigned int tap)
{
	struct flow f = { .r = &vmm };
	long before, injected;

	netlink_begin(&(struct rig_cfg){ .tap = tap });
	vdev_no_spin(&vmm.v);
	before = link_count(vmm.name).tx_packets + link_count(vmm.name).tx_dropped;
	flow_exact(&f, 50, flow_lens, FLOW_LENS);
	wait_worker_idle();
	/* beside ours the host's own, as IPv6 has it */
	injected = link_count(vmm.name).tx_packets + link_count(vmm.name).tx_dropped - before;
	EXPECT_GE(injected, f.rx_seq);
	all_add_up(vmm.tx_done, injected);
}

CASE(traffic_both_ways)
{
	traffic(0);
	EXPECT_EQ(count(VDEV_TX, "packets_unbatched"), 0);
}

CASE(traffic_one_by_one)
{
	traffic(TAP_SNDBUF);
	EXPECT_EQ(count(VDEV_TX, "packets_unbatched"), count(VDEV_TX, "packets"));
	EXPECT_EQ(count(VDEV_TX, "packets_direct"), 0);
}

/*** drops ***/

static long host_sent(void)
{
	struct link_count c = link_count(vmm.name);

	return c.tx_packets + c.tx_dropped;
}

CASE(drops_of_the_guests_frames)
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
 * One by one an interface that is down refuses frames. In a batch it takes them, and its
 * stack has no use for them: so they are in rx_packets, and in rx_dropped as well.
 */
CASE(drops_of_an_interface_that_is_down)
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
		EXPECT_EQ(link_count(vmm.name).rx_dropped, 9);
		all_add_up(vmm.tx_done, host_sent());
		genl_close(&genl);
		rig_close(&vmm);
	}
}

/* What no frame can be as long as does not get to the tap. */
CASE(drops_of_what_is_longer_than_any_frame)
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

/* More frames than the tap's ring has room for, while the guest gives no buffers. */
CASE(drops_of_a_full_tap)
{
	unsigned int i, n = 1500;
	struct link_count tap;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	for (i = 0; i < n; i++)
		rig_inject(&vmm, i, 60);
	tap = link_count(vmm.name);
	EXPECT_GE(tap.tx_dropped, 300);
	for (i = 0; tap.tx_packets + tap.tx_dropped < n && i < 10 && !ksft_failed(); i++) {
		rig_rx_post(&vmm, 256, NULL);
		vdev_kick_always(&vmm.v.q[VDEV_RX]);
		EXPECT(WAIT_FOR(3000, count(VDEV_RX, "no_buf") > (long)i + 1 ||
				link_count(vmm.name).tx_packets + link_count(vmm.name).tx_dropped >= n));
		while (rig_rx(&vmm, NULL, (uint8_t[FRAME_MAX]){ 0 }, FRAME_MAX, 0) > 0)
			;
		tap = link_count(vmm.name);
	}
	all_add_up(0, n);
}

/* Without mergeable buffers, and shorter ones than frames are. */
CASE(drops_of_what_is_too_long)
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

/*** who, and how long ***/

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

/* So many turns, between which the worker sleeps. */
static void single_frames(unsigned int n)
{
	while (n-- && !ksft_failed()) {
		frames(1);
		wait_worker_idle();
	}
}

CASE(time_from_a_kick)
{
	struct hist h;
	char line[512];

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(hist(VDEV_TX, "wake_latency_ns").count, 0);
	single_frames(4 * TIMED);
	h = hist(VDEV_TX, "wake_latency_ns");
	/* when the driver need not kick, it did not wake anybody */
	EXPECT_GE(h.count, 1);
	EXPECT_LE(h.count, 5);
	/* nothing takes no time, and nothing on this machine as long as this */
	EXPECT_OP(h.sum, >, 0);
	EXPECT_OP(h.sum, <, UINT64_C(20000000000));
	fdinfo_line("kvnet.tx.wake_latency_ns", line, sizeof(line));
	if (strcmp(line, h.text))
		FAIL("wake_latency_ns: '%s', fdinfo has '%s'", h.text, line);
}

/* One CPU for the worker and us: it runs when we let it. */
static void one_cpu(void)
{
	cpu_set_t first;

	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_INLINE, 0), 0);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	ASSERT_SYS(sched_setaffinity(worker_tid(VDEV_TX), sizeof(first), &first));
	ASSERT_SYS(sched_setaffinity(0, sizeof(first), &first));
}

static void we_are_first(bool on)
{
	struct sched_param p = { .sched_priority = on };

	ASSERT_SYS(sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &p));
}

/* The worker comes late, by so many milliseconds. */
static void kick_before_it_can_run(unsigned int ms)
{
	uint64_t end;

	we_are_first(true);
	frames_begin(1);
	for (end = ksft_now_ms() + ms; ksft_now_ms() < end;)
		;
	we_are_first(false);
	frames_end(1);
}

CASE(time_of_a_worker_that_comes_late)
{
	struct hist h;
	unsigned int i;
	char line[512];

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
	fdinfo_line("kvnet.tx.wake_latency_ns", line, sizeof(line));
	if (strcmp(line, h.text))
		FAIL("wake_latency_ns: '%s', fdinfo has '%s'", h.text, line);
}

/* A queue that is stopped as it has been kicked stands still: that is nobody's time to come. */
CASE(time_is_not_that_of_a_backend_that_was_away)
{
	struct hist h;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	one_cpu();
	wait_worker_idle();
	we_are_first(true);
	ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	vdev_backend(&vmm.v, VDEV_TX, -1);
	we_are_first(false);
	wait_worker_idle();
	h = hist(VDEV_TX, "wake_latency_ns");
	EXPECT_EQ(h.count, 0);
	vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
	ASSERT(rig_tx_drain(&vmm, 3000));
	wait_worker_idle();
	h = hist(VDEV_TX, "wake_latency_ns");
	EXPECT_EQ(h.count, 0);
}

/* Lone frames to the guest: each is received by who brings it, or by the worker. */
CASE(packets_by_context)
{
	long n_inline;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	rx_inline_begin();
	rx_inline_warm_up();
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	EXPECT_GE(n_inline, 1);
	EXPECT_LE(n_inline, rx_inline_counter("kvnet.rx.packets"));
	rx_inline_some(TIMED, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline") - n_inline,
		  rx_inline_counter("kvnet.rx.packets") - (long)(seq - TIMED));
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), rx_inline_counter("kvnet.rx.polls_inline"));
	rig_close(&rig);
}

CASE(spins_that_were_worth_it_and_not)
{
	struct vhost_vring_state s = { .index = VDEV_TX, .num = 100000 };
	long hit, missed;
	unsigned int i;

	/* the only one is the guest's as soon as it has something to do */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	/* the worker may have been at it */
	single_frames(1);
	hit = count(VDEV_TX, "busy_poll_hits");
	missed = count(VDEV_TX, "busy_poll_misses");
	single_frames(3);
	EXPECT_EQ(count(VDEV_TX, "busy_poll_hits"), hit);
	EXPECT_EQ(count(VDEV_TX, "busy_poll_misses"), missed);
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	for (i = 0; i < 500 && !(count(VDEV_TX, "busy_poll_misses") > missed &&
				 count(VDEV_TX, "busy_poll_hits") > hit); i++)
		/* more than the thread that kicks would send */
		frames(10);
	EXPECT_OP(count(VDEV_TX, "busy_poll_misses"), >, missed);
	EXPECT_OP(count(VDEV_TX, "busy_poll_hits"), >, hit);
}

KSFT_MAIN()
