// SPDX-License-Identifier: GPL-2.0
/*
 * A device without traffic drops all cached pages of its owner's memory within a minute.
 *
 * In User-Mode Linux with "time-travel" on its command line, time in which no task runs
 * passes at once; elsewhere this takes minutes, so it runs only where it is named.
 *
 * @tier: all
 * @clock: travels
 */
#include "procfs.h"
#include "rx_inline_rig.h"

#define MINUTE	60

static long pages(void)
{
	return rx_inline_counter("kvnet.pages_cached");
}

static void a_second_passes(void)
{
	poll(NULL, 0, 1000);
}

/* Returns the seconds until no page is cached, at most a minute. */
static unsigned int wait_for_shrink(void)
{
	unsigned int s = 0;

	for (; s < MINUTE && pages(); s++)
		a_second_passes();
	return s;
}

CASE_TIMED(idle_device_drops_pages, 300)
{
	unsigned int s, i;

	rx_inline_begin();
	for (i = 0; i < 2 && !ksft_failed(); i++) {
		rx_inline_warm_up();
		EXPECT_GE(pages(), 1);
		s = wait_for_shrink();
		ksft_note("pages were cached for %u s", s);
		EXPECT_EQ(pages(), 0);
		/* pages used now and then are kept */
		EXPECT_GE(s, 15);
	}
	rx_inline_warm_up();
	rig_close(&rig);
}

CASE_TIMED(used_device_keeps_pages, 300)
{
	unsigned int i, s;
	long n_inline;

	rx_inline_begin();
	rx_inline_warm_up();
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	for (i = 0; i < 2 * MINUTE / 10 && !ksft_failed(); i++) {
		for (s = 0; s < 10; s++)
			a_second_passes();
		rx_inline_one(60, 3000);
		rx_inline_reply();
		EXPECT_GE(pages(), 1);
	}
	EXPECT_EQ(rx_inline_counter("kvnet.rx.polls_inline") - n_inline, i);
	rig_close(&rig);
}

/* The last close waits for the delayed work that drops pages. */
CASE_TIMED(close_before_pages_drop_leaves_no_worker, 300)
{
	unsigned int before = workers(), s;

	rx_inline_begin();
	rx_inline_warm_up();
	rig_close(&rig);
	no_worker_left(before);
	for (s = 0; s < MINUTE; s++)
		a_second_passes();
}

KSFT_MAIN()
