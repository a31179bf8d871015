// SPDX-License-Identifier: GPL-2.0
/*
 * Short frames of a stream are coalesced, for rx_usecs at most: the worker is not woken for
 * each. All arrive, and nothing else waits.
 *
 * @seconds: 3
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "procfs.h"
#include "rx_inline_rig.h"
#include "tracing.h"
#include "xdp.h"

#define WAIT		32	/* frames that do not wake the worker, moderation.h */
#define ROOM		4	/* for each of them, of the tap */
#define FEW		8
#define BULK		16	/* frames that XDP redirects at a time */
#define BURST		(5 * (WAIT + 1))
#define ROUNDS		12

static uint8_t frame[FRAME_MAX];

static long moderated(void)
{
	return rx_inline_counter("kvnet.rx.moderated");
}

static void begin(const char *us)
{
	rx_inline_need_kvnet();
	vdev_parameter_text("rx_usecs", us);
	rx_inline_begin();
}

static void send_burst(unsigned int n, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < n && !ksft_failed(); i++)
		rig_inject(&rig, seq + i, len);
}

/* In order, each of its bytes. */
static void take_burst(unsigned int n, uint32_t len)
{
	while (n-- && !ksft_failed())
		rig_rx_expect(&rig, seq++, len);
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick(rx);
}

static void bursts(unsigned int rounds, uint32_t len)
{
	while (rounds-- && !ksft_failed()) {
		send_burst(BURST, len);
		take_burst(BURST, len);
	}
}

/* Of the tap: a fraction of it may wait. */
static void queue_length(int n)
{
	struct ifreq r = { .ifr_qlen = n };

	strcpy(r.ifr_name, rig.name);
	ASSERT_SYS(ioctl(rig.inject, SIOCSIFTXQLEN, &r));
}

/* Until some wait: then it is a stream. */
static void warm_up(void)
{
	unsigned int i;

	for (i = 0; i < 50 && !moderated() && !ksft_failed(); i++)
		bursts(1, 60);
	EXPECT_GE(moderated(), 1);
}

/* Sender and worker share one CPU: neither is ahead of the other for long. */
static void begin_on_one_cpu(const char *us)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	/* the worker is born with it */
	ASSERT_SYS(sched_setaffinity(0, sizeof(one), &one));
	begin(us);
	warm_up();
}

/* Rests, and how many of them time ended, from a look to the next one. */
static struct {
	long waits, by_time;
} seen;

static void look_begins(void)
{
	if (!tracing_begin() || !tracing_on("kvnet/kvnet_work_event", ""))
		ksft_skip("no tracing");
	seen.waits = moderated();
}

static void look_ends(void)
{
	seen.waits = moderated() - seen.waits;
	seen.by_time = tracing_count("vq=0 event=timer");
	tracing_end();
}

/* A rest that frames end, not time, has had as many of them as wake no worker, and the one that woke it. */
CASE(one_wakeup_for_many_frames)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);
	uint32_t first;

	begin_on_one_cpu("10000");
	look_begins();
	first = seq;
	do
		bursts(1, 60);
	while (moderated() - seen.waits < ROUNDS && ksft_now_ms() < end && !ksft_failed());
	look_ends();
	ksft_note("%u frames, %ld rests, of which time ended %ld", seq - first, seen.waits, seen.by_time);
	EXPECT_GE(seen.waits, ROUNDS);
	/* and one that goes on */
	EXPECT_LE(seen.waits - seen.by_time - 1, (seq - first) / (WAIT + 1));
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/*
 * Of the rests that either time or frames end time has ended all but the one that goes on, if
 * frames end none. Few have to wait, so that they are there in time on slow machines, too.
 */
CASE(enough_frames_end_a_wait)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);

	begin_on_one_cpu("10000");
	queue_length(FEW * ROOM);
	do {
		look_begins();
		send_burst(FEW * ROOM, 60);
		take_burst(FEW * ROOM, 60);
		look_ends();
	} while (seen.waits - seen.by_time < 2 && ksft_now_ms() < end && !ksft_failed());
	EXPECT_GE(seen.waits - seen.by_time, 2);
	rig_close(&rig);
}

/* All that comes to it goes into the tap, without being a socket buffer. */
static void redirect_from(const struct rig *other)
{
	const struct bpf_insn code[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_K, 1, .imm = rig.ifindex },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 2, .imm = 0 },
		{ BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ BPF_JMP | BPF_EXIT },
	};
	int fd = xdp_load(code, sizeof(code) / sizeof(code[0])), ret = fd;

	if (fd >= 0)
		ret = xdp_attach(other->ifindex, fd);
	if (ret)
		ksft_skip("no XDP: %s", strerror(-ret));
	close(fd);
}

static void redirect_burst(struct rig *other)
{
	unsigned int i;

	for (i = 0; i < 4 * BULK; i++)
		ASSERT_EQ(rig_tx(other, 60, NULL), 0);
	vdev_kick(&other->v.q[VDEV_TX]);
	for (i = 0; i < 4 * BULK && !ksft_failed(); i++)
		rig_rx_expect(&rig, other->tx_seq - 4 * BULK + i, 60);
	ASSERT(rig_tx_drain(other, 3000));
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick(rx);
}

/* XDP hands over 16 at a time, with one wake-up: it is frames that count. */
CASE_TIMED(redirected_frames_count_each, 60)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);
	struct rig other = { 0 };
	unsigned int i;

	begin_on_one_cpu("10000");
	queue_length(2 * BULK * ROOM);
	rig_open(&other, &(struct rig_cfg){ .here = true });
	redirect_from(&other);
	do {
		look_begins();
		for (i = 0; i < ROUNDS && !ksft_failed(); i++)
			redirect_burst(&other);
		look_ends();
	} while (seen.waits - seen.by_time < 2 && ksft_now_ms() < end && !ksft_failed());
	EXPECT_GE(seen.waits - seen.by_time, 2);
	rig_close(&other);
	rig_close(&rig);
}

/* Of any length that may. */
CASE(frames_of_a_page_wait_too)
{
	begin("10000");
	warm_up();
	bursts(ROUNDS / 2, 1514);
	bursts(ROUNDS / 2, 300);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

CASE(no_wait_with_rx_usecs_0)
{
	begin("0");
	bursts(ROUNDS, 60);
	EXPECT_EQ(moderated(), 0);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/* Frames with answers in between, lone ones, and long ones. */
CASE(nothing_else_waits)
{
	unsigned int i;

	begin("10000");
	for (i = 0; i < ROUNDS * 4 && !ksft_failed(); i++) {
		rx_inline_one(60, 3000);
		rx_inline_reply();
	}
	EXPECT_EQ(moderated(), 0);
	for (i = 0; i < ROUNDS * 4 && !ksft_failed(); i++)
		rx_inline_one(4000, 3000);
	EXPECT_EQ(moderated(), 0);
	rig_close(&rig);
}

/* No more wait than there is room for: the tap drops the others, and tells nobody. */
CASE(a_short_queue_is_not_filled)
{
	unsigned int i;
	long waits;

	begin("10000");
	warm_up();
	queue_length(3);
	/* What waits by now was told of the room that there was. */
	send_burst(BURST, 60);
	wait_worker_idle();
	waits = moderated();
	for (i = 0; i < ROUNDS && !ksft_failed(); i++) {
		while (rig_rx(&rig, NULL, frame, sizeof(frame), 0) >= 0)
			;
		rig_rx_post(&rig, BUFS, NULL);
		vdev_kick(rx);
		send_burst(BURST, 60);
	}
	EXPECT_EQ(moderated(), waits);
	rig_close(&rig);
}

/* Whatever is changed while frames wait. */
CASE(changes_while_frames_wait)
{
	unsigned int i;
	long waits;

	begin("10000");
	for (i = 0; i < ROUNDS && !ksft_failed(); i++) {
		waits = moderated();
		do
			bursts(1, 60);
		while (moderated() == waits && !ksft_failed());
		send_burst(3, 60);
		vdev_backend(&rig.v, VDEV_RX, -1);
		vdev_backend(&rig.v, VDEV_RX, rig.tap);
		take_burst(3, 60);
		rx_inline_one(60, 3000);
	}
	/* And it is closed so. */
	do {
		waits = moderated();
		bursts(1, 60);
	} while (moderated() == waits && !ksft_failed());
	send_burst(3, 60);
	rig_close(&rig);
}

KSFT_MAIN()
