// SPDX-License-Identifier: GPL-2.0
/*
 * A device with nothing to do knows no pages of its owner's memory after a minute.
 *
 * This takes as long as it says. In User-Mode Linux with the word "time-travel" on its
 * command line time in which nobody has anything to do passes at once; so this test is
 * not run but where it is named, see scripts/vm/uapi.sh.
 *
 * @tier: all
 * @clock: travels
 */
#include <poll.h>

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

/* Seconds till nothing is known, at most a minute. */
static unsigned int forgets(void)
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
		s = forgets();
		ksft_note("pages were known for %u s", s);
		EXPECT_EQ(pages(), 0);
		/* What is used now and then is worth to be kept. */
		EXPECT_GE(s, 15);
	}
	rx_inline_warm_up();
	rig_close(&rig);
}

/* One that is used is not idle. */
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

/* The work that forgets is waited for. */
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
