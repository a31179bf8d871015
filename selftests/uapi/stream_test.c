// SPDX-License-Identifier: GPL-2.0
/*
 * Short frames of a stream may wait for one another, for rx_look_us at most: nobody is
 * woken for each. All arrive, and nothing else waits.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "place_rig.h"
#include "procfs.h"
#include "tracing.h"

#define WAIT		32	/* frames that wake nobody, lone.h */
#define ROOM		4	/* for each of them, of the tap */
#define FEW		8
#define SOON		3
#define BURST		(5 * (WAIT + 1))
#define ROUNDS		12

static uint8_t frame[FRAME_MAX];

static long paced(void)
{
	return place_counter("kvnet.rx.paced");
}

static void begin(const char *us)
{
	place_need_kvnet();
	vdev_parameter_text("rx_look_us", us);
	place_begin();
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

	for (i = 0; i < 50 && !paced() && !ksft_failed(); i++)
		bursts(1, 60);
	EXPECT_GE(paced(), 1);
}

/* Long before the timer, which is for the last ones. */
CASE(one_wakes_for_many)
{
	long waits, wakes;

	begin("10000");
	warm_up();
	waits = paced();
	wakes = place_counter("kvnet.rx.wakes");
	bursts(ROUNDS, 60);
	waits = paced() - waits;
	wakes = place_counter("kvnet.rx.wakes") - wakes;
	ksft_note("%ld waits and %ld wake-ups for %u frames", waits, wakes, ROUNDS * BURST);
	EXPECT_GE(waits, ROUNDS);
	EXPECT_LE(wakes, ROUNDS * BURST / 8);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/* So many at a time: are there some that the timer would have been late for? A busy machine has few. */
CASE(the_last_of_many_wakes)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000), begun;
	unsigned int soon = 0;
	long was, waits = 0;

	begin("10000");
	warm_up();
	while (soon < SOON && ksft_now_ms() < end && !ksft_failed()) {
		was = waits;
		waits = paced();
		begun = ksft_now_ms();
		send_burst(WAIT + 1, 60);
		take_burst(WAIT + 1, 60);
		soon += waits > was && ksft_now_ms() - begun < 4;
	}
	EXPECT_GE(soon, SOON);
	rig_close(&rig);
}

/*
 * Of the rests that either time or frames end time has ended all but the one that goes on, if
 * frames end none. Few have to wait, so that they are there in time on slow machines, too; but
 * on several CPUs, where they are taken as they come, there may be none for long.
 */
CASE(enough_frames_end_a_rest)
{
	unsigned int some = sysconf(_SC_NPROCESSORS_ONLN) < 2 ? 10000 : 1000;
	uint64_t end = ksft_now_ms() + ksft_patience(some);
	long waits, by_time;

	begin("10000");
	warm_up();
	queue_length(FEW * ROOM);
	do {
		if (!tracing_begin() || !tracing_on("kvnet/kvnet_event", ""))
			ksft_skip("no tracing");
		waits = paced();
		send_burst(FEW * ROOM, 60);
		take_burst(FEW * ROOM, 60);
		waits = paced() - waits;
		by_time = tracing_count("vq=0 event=time");
		tracing_end();
	} while (waits - by_time < 2 && ksft_now_ms() < end && !ksft_failed());
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		EXPECT_GE(waits - by_time, 2);
	else
		ksft_note("%ld rests, %ld of them ended by time", waits, by_time);
	rig_close(&rig);
}

/* Of any length that may. */
CASE(frames_of_a_page_wait_too)
{
	begin("10000");
	warm_up();
	bursts(ROUNDS / 2, 1514);
	bursts(ROUNDS / 2, 300);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

CASE(not_if_told_so)
{
	begin("0");
	bursts(ROUNDS, 60);
	EXPECT_EQ(paced(), 0);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/* Frames with answers in between, lone ones, and long ones. */
CASE(nothing_else_waits)
{
	unsigned int i;

	begin("10000");
	for (i = 0; i < ROUNDS * 4 && !ksft_failed(); i++) {
		place_one(60, 3000);
		place_answer();
	}
	EXPECT_EQ(paced(), 0);
	for (i = 0; i < ROUNDS * 4 && !ksft_failed(); i++)
		place_one(4000, 3000);
	EXPECT_EQ(paced(), 0);
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
	worker_rests();
	waits = paced();
	for (i = 0; i < ROUNDS && !ksft_failed(); i++) {
		while (rig_rx(&rig, NULL, frame, sizeof(frame), 0) >= 0)
			;
		rig_rx_post(&rig, BUFS, NULL);
		vdev_kick(rx);
		send_burst(BURST, 60);
	}
	EXPECT_EQ(paced(), waits);
	rig_close(&rig);
}

/* Whatever is changed while frames wait. */
CASE(changes_while_frames_wait)
{
	unsigned int i;
	long waits;

	begin("10000");
	for (i = 0; i < ROUNDS && !ksft_failed(); i++) {
		waits = paced();
		do
			bursts(1, 60);
		while (paced() == waits && !ksft_failed());
		send_burst(3, 60);
		vdev_backend(&rig.v, VDEV_RX, -1);
		vdev_backend(&rig.v, VDEV_RX, rig.tap);
		take_burst(3, 60);
		place_one(60, 3000);
	}
	/* And it is closed so. */
	do {
		waits = paced();
		bursts(1, 60);
	} while (paced() == waits && !ksft_failed());
	send_burst(3, 60);
	rig_close(&rig);
}

KSFT_MAIN()
