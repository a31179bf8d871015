// SPDX-License-Identifier: GPL-2.0
/* One description, three looks. */
#include "json.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void describe(struct json *w)
{
	json_list(w, NULL, JSON_FIELDS);
	json_object(w, NULL);
	json_title(w, "device %d", 3);
	json_u64(w, "id", 3);
	json_str(w, "tap_name", "t\"0");
	json_null(w, "pid");
	json_bool(w, "tx_inline", true);
	json_list(w, "features", JSON_FIELDS);
	json_str(w, NULL, "A");
	json_str(w, NULL, "B");
	json_end(w);
	json_names(w, "counters");
	json_s64(w, "drop_tap", -1);
	json_end(w);
	json_list(w, "queues", JSON_TABLE);
	json_object(w, NULL);
	json_str(w, "queue", "rx");
	json_si(w, "rx_pps", 1234.5);
	json_end(w);
	json_object(w, NULL);
	json_str(w, "queue", "longer");
	json_real(w, "rx_pps", NAN, 1);
	json_end(w);
	json_end(w);
	json_end(w);
	json_end(w);
}

static bool looks(enum json_mode mode, bool colour, void (*how)(struct json *),
		  const char *want)
{
	size_t len;
	char *out;
	struct json w = { .mode = mode, .colour = colour, .f = open_memstream(&out, &len) };
	bool same;

	how(&w);
	fclose(w.f);
	same = !strcmp(out, want) && !w.depth && !w.table;
	if (!same)
		printf("# wanted:\n%s# have:\n%s", want, out);
	free(out);
	return same;
}

CASE(as_text)
{
	EXPECT_TRUE(looks(JSON_TEXT, false, describe,
		"device 3\n"
		"  id               3\n"
		"  tap-name         t\"0\n"
		"  pid              -\n"
		"  tx-inline        on\n"
		"  features         A B\n"
		"  counters\n"
		"    drop_tap         -1\n"
		"  queues\n"
		"    QUEUE   RX-PPS\n"
		"    rx       1.23k\n"
		"    longer       -\n"));
}

CASE(as_a_line_of_json)
{
	EXPECT_TRUE(looks(JSON_COMPACT, true, describe,
		"[{\"id\":3,\"tap_name\":\"t\\\"0\",\"pid\":null,\"tx_inline\":true,"
		"\"features\":[\"A\",\"B\"],\"counters\":{\"drop_tap\":-1},"
		"\"queues\":[{\"queue\":\"rx\",\"rx_pps\":1234.5},"
		"{\"queue\":\"longer\",\"rx_pps\":null}]}]\n"));
}

static void small(struct json *w)
{
	json_object(w, NULL);
	json_u64(w, "a", 1);
	json_list(w, "b", JSON_FIELDS);
	json_end(w);
	json_list(w, "c", JSON_FIELDS);
	json_real(w, NULL, 0.5, 2);
	json_end(w);
	json_end(w);
}

CASE(as_pretty_json)
{
	EXPECT_TRUE(looks(JSON_PRETTY, true, small,
		"{\n    \"a\": 1,\n    \"b\": [],\n    \"c\": [\n        0.50\n    ]\n}\n"));
}

CASE(empty_lists_are_dashes)
{
	EXPECT_TRUE(looks(JSON_TEXT, false, small,
		"a                1\nb                -\nc                0.50\n"));
}

static void line(struct json *w)
{
	json_line(w);
	json_str(w, "event", "queue-broken");
	json_u64(w, "device", 3);
	json_end(w);
}

CASE(lines)
{
	EXPECT_TRUE(looks(JSON_TEXT, false, line, "event queue-broken device 3\n"));
	EXPECT_TRUE(looks(JSON_COMPACT, false, line,
			  "{\"event\":\"queue-broken\",\"device\":3}\n"));
}

static void empty_table(struct json *w)
{
	json_list(w, NULL, JSON_TABLE);
	json_end(w);
}

CASE(empty_tables)
{
	EXPECT_TRUE(looks(JSON_TEXT, false, empty_table, ""));
	EXPECT_TRUE(looks(JSON_COMPACT, false, empty_table, "[]\n"));
}

static void painted(struct json *w)
{
	json_object(w, NULL);
	json_paint(w, PAINT_GOOD);
	json_str(w, "state", "running");
	json_str(w, "next", "plain");
	json_end(w);
}

CASE(colours_are_for_one_value_and_for_text)
{
	EXPECT_TRUE(looks(JSON_TEXT, true, painted,
		"state            \033[32mrunning\033[0m\nnext             plain\n"));
	EXPECT_TRUE(looks(JSON_TEXT, false, painted,
		"state            running\nnext             plain\n"));
	EXPECT_TRUE(looks(JSON_COMPACT, true, painted,
		"{\"state\":\"running\",\"next\":\"plain\"}\n"));
}

static void wide(struct json *w)
{
	json_list(w, NULL, JSON_TABLE);
	json_object(w, NULL);
	json_str(w, "a", "b\xc3\xb6se");
	json_str(w, "b", "x");
	json_end(w);
	json_object(w, NULL);
	json_str(w, "a", "good.");
	json_str(w, "b", "\033");
	json_end(w);
	json_end(w);
}

CASE(columns_are_as_wide_as_their_characters)
{
	EXPECT_TRUE(looks(JSON_TEXT, false, wide, "A      B\nb\xc3\xb6se   x\ngood.  ?\n"));
}
