// SPDX-License-Identifier: GPL-2.0
/* "top": rates, order, keys, and a screen that fits the terminal. */
#include "fake.h"
#include "rate.h"
#include "text.h"
#include "top.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct kvnet_devices then, now;

static void look(void)
{
	struct kvnet k;

	kvnet_open(&k);
	kvnet_get(&k, 0, &then);
	kvnet_get(&k, 0, &now);
	kvnet_close(&k);
	/* half a second went by */
	now.ns = then.ns + 500000000;
}

static void forget(void)
{
	kvnet_free(&then);
	kvnet_free(&now);
}

CASE(rates_are_per_second)
{
	struct rate *r;
	unsigned int n;

	look();
	r = rates(&then, &now, &n);
	EXPECT_EQ(n, 2 * FAKE_DEVICES);
	/* 1000 more packets of 1000 bytes in half a second, ten in a turn */
	EXPECT_EQ(r[0].pps, 2000);
	EXPECT_EQ(r[0].bps, 16000000);
	EXPECT_EQ(r[0].batch, 10);
	EXPECT_EQ(r[0].kicks, 1000);
	/* a millisecond of half a second */
	EXPECT_TRUE(fabs(r[0].cpu - 0.2) < 1e-9);
	/* nothing happened: no batch */
	EXPECT_TRUE(r[4].pps == 0 && isnan(r[4].batch));
	free(r);
	forget();
}

CASE(one_that_is_new_counts_from_nothing)
{
	struct kvnet_devices none = { 0 };
	struct rate *r;
	unsigned int n;

	look();
	none.ns = now.ns - 1000000000;
	r = rates(&none, &now, &n);
	EXPECT_EQ(r[0].pps, kvnet_counter_value(&now.dev[0].queue[0], "packets"));
	EXPECT_TRUE(isnan(r[0].cpu));
	free(r);
	/* counters that fall, of a device that is another */
	r = rates(&now, &then, &n);
	EXPECT_EQ(r[0].pps, 0);
	free(r);
	forget();
}

static unsigned int first_id(enum top_column sort, bool reverse)
{
	struct top_view v = { .sort = sort, .reverse = reverse };
	struct top_row *rows;
	unsigned int n, id;

	rows = top_rows(&then, &now, &v, &n);
	EXPECT_EQ(n, FAKE_DEVICES);
	id = rows[0].dev->id;
	top_free(rows, n);
	return id;
}

CASE(the_busiest_is_first)
{
	look();
	EXPECT_EQ(first_id(TOP_RX_PPS, false), 300);
	EXPECT_EQ(first_id(TOP_RX_PPS, true), 7);
	EXPECT_EQ(first_id(TOP_ID, false), 1);
	EXPECT_EQ(first_id(TOP_ID, true), 300);
	EXPECT_EQ(first_id(TOP_STATE, false), 7);
	EXPECT_EQ(first_id(TOP_TAP, false), 7);
	EXPECT_EQ(first_id(TOP_BATCH, true), 7);
	forget();
}

CASE(columns_have_names)
{
	enum top_column col;

	EXPECT_TRUE(top_column("rx-pps", &col) && col == TOP_RX_PPS);
	EXPECT_TRUE(top_column("rx_pps", &col) && col == TOP_RX_PPS);
	EXPECT_TRUE(top_column("RX-PPS", &col) && col == TOP_RX_PPS);
	EXPECT_TRUE(!top_column("RX", &col) && !top_column("", &col));
}

/* characters of the longest line, and how many lines; sequences of ESC left out */
static void measure(const char *s, unsigned int *width, unsigned int *lines)
{
	char line[4096];
	unsigned int n = 0;

	*width = 0;
	*lines = 1;
	for (; *s; s++) {
		if (*s == '\033') {
			s += strcspn(s, "ABCDEFGHJKm");
		} else if (*s == '\n') {
			line[n] = 0;
			if (text_width(line) > *width)
				*width = text_width(line);
			n = 0;
			++*lines;
		} else if (*s != '\r') {
			line[n++] = *s;
		}
	}
}

/* The last device's owner, by a name of no characters. */
static void call_it(char byte, size_t n)
{
	struct kvnet_device *dev = &now.dev[now.n - 1];

	free(dev->command);
	dev->command = calloc(1, n + 1);
	memset(dev->command, byte, n);
}

CASE(the_screen_fits)
{
	struct top_view v = { .interval = 1 };
	unsigned int n, width, lines;
	struct json w = { 0 };
	struct top_row *rows;
	size_t len;
	char *out;

	look();
	call_it('\x80', 300);
	for (v.width = 1; v.width < 140; v.width += 3) {
		for (v.height = 1; v.height < 20; v.height++) {
			v.help = v.height & 1;
			w.colour = v.height & 2;
			v.first = v.height % 5;
			rows = top_rows(&then, &now, &v, &n);
			w.f = open_memstream(&out, &len);
			top_draw(&w, rows, n, &v);
			fclose(w.f);
			measure(out, &width, &lines);
			unit_context("%ux%u: %ux%u", v.width, v.height, width, lines);
			EXPECT_TRUE(width <= v.width);
			EXPECT_TRUE(lines <= v.height);
			EXPECT_TRUE(!strstr(out, "\033[31me"));
			free(out);
			top_free(rows, n);
		}
	}
	forget();
}

CASE(keys)
{
	struct top_view v = { .interval = 1 };

	EXPECT_TRUE(!top_key(&v, "q", 5) && !top_key(&v, "\033", 5) && !top_key(&v, "\003", 5));
	EXPECT_TRUE(top_key(&v, "c", 5) && v.sort == TOP_CPU);
	EXPECT_TRUE(top_key(&v, "rI", 5) && v.sort == TOP_RX_PPS && v.reverse);
	EXPECT_TRUE(top_key(&v, "<", 5) && v.sort == TOP_NAME);
	EXPECT_TRUE(top_key(&v, "\033[C", 5) && v.sort == TOP_RX_PPS);
	EXPECT_TRUE(top_key(&v, " ", 5) && v.paused && top_key(&v, "p", 5) && !v.paused);
	EXPECT_TRUE(top_key(&v, "\033[B\033[B", 5) && v.first == 2);
	EXPECT_TRUE(top_key(&v, "\033[6~", 5) && v.first == 4);
	EXPECT_TRUE(top_key(&v, "\033[A", 5) && v.first == 3);
	EXPECT_TRUE(top_key(&v, "\033[H", 5) && v.first == 0);
	EXPECT_TRUE(top_key(&v, "\033[B", 0) && v.first == 0);
	/* what nobody knows, or is cut off */
	EXPECT_TRUE(top_key(&v, "\033[15~", 5) && top_key(&v, "\033[", 5) && top_key(&v, "\033[1", 5));
	EXPECT_TRUE(top_key(&v, "++++++", 5) && v.interval == 10);
	EXPECT_TRUE(top_key(&v, "----------", 5) && v.interval == 0.25);
	EXPECT_TRUE(top_key(&v, "xh", 5) && v.help);
}

CASE(random_keys_do_no_harm)
{
	struct top_view v = { .interval = 1 };
	unsigned int i, n;
	char keys[64];

	for (i = 0; i < 20000; i++) {
		n = unit_below(sizeof(keys) - 1);
		keys[n] = 0;
		while (n)
			keys[--n] = unit_chance(3) ? "\033[O~ABC5"[unit_below(8)] : (char)(1 + unit_below(255));
		top_key(&v, keys, 5);
		if (v.sort >= TOP_COLUMNS || v.first > 4)
			EXPECT_TRUE(false);
	}
}
