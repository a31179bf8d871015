// SPDX-License-Identifier: GPL-2.0
/* Strings of others reach nobody unescaped. */
#include "text.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static bool puts_as(const char *s, enum text_for what, const char *want)
{
	size_t len;
	char *out;
	FILE *f = open_memstream(&out, &len);
	bool same;

	text_put(f, s, what);
	fclose(f);
	same = !strcmp(out, want);
	unit_context("wanted <%s>, have <%s>", want, out);
	free(out);
	return same;
}

CASE(terminal_gets_no_control_characters)
{
	EXPECT_TRUE(puts_as("tap0", TEXT_TERMINAL, "tap0"));
	EXPECT_TRUE(puts_as("a\033[31mb\nc\rd\177", TEXT_TERMINAL, "a?[31mb?c?d?"));
	/* CSI in eight bits, as UTF-8 and as a byte */
	EXPECT_TRUE(puts_as("a\xc2\x9b" "1m\x9b", TEXT_TERMINAL, "a?1m?"));
	/* writing from right to left, and line separators */
	EXPECT_TRUE(puts_as("\xe2\x80\xae" "x\xe2\x80\xa8\xe2\x81\xa6", TEXT_TERMINAL, "?x??"));
	EXPECT_TRUE(puts_as("b\xc3\xb6se \xe2\x82\xac \xf0\x9f\x98\x80", TEXT_TERMINAL,
			    "b\xc3\xb6se \xe2\x82\xac \xf0\x9f\x98\x80"));
}

CASE(what_is_no_utf8_is_replaced)
{
	/* too long, a surrogate, beyond the end, cut off */
	EXPECT_TRUE(puts_as("\xc0\xaf", TEXT_TERMINAL, "??"));
	EXPECT_TRUE(puts_as("\xed\xa0\x80", TEXT_TERMINAL, "???"));
	EXPECT_TRUE(puts_as("\xf4\x90\x80\x80", TEXT_TERMINAL, "????"));
	EXPECT_TRUE(puts_as("x\xe2\x82", TEXT_TERMINAL, "x??"));
	EXPECT_TRUE(puts_as("\xff", TEXT_JSON, "\xef\xbf\xbd"));
}

CASE(json_is_escaped)
{
	EXPECT_TRUE(puts_as("a\"b\\c\nd\te\033", TEXT_JSON, "a\\\"b\\\\c\\nd\\te\\u001b"));
}

CASE(labels_are_escaped)
{
	EXPECT_TRUE(puts_as("a\"b\\c\nd", TEXT_LABEL, "a\\\"b\\\\c\\nd"));
}

CASE(width_counts_characters)
{
	EXPECT_EQ(text_width(""), 0);
	EXPECT_EQ(text_width("b\xc3\xb6se"), 4);
	EXPECT_EQ(text_width("\xff\xff"), 2);
}

CASE(figures_have_three_digits)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 0, "0" }, { 1.4, "1" }, { 999.4, "999" }, { 999.5, "1.00k" }, { 1234, "1.23k" },
		{ 9994, "9.99k" }, { 9996, "10.0k" }, { 99960, "100k" }, { 999499, "999k" },
		{ 999500, "1.00M" }, { 12.3e9, "12.3G" }, { 5e15, "5000T" },
	};
	char buf[32];
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unit_context("%f", rows[i].value);
		EXPECT_TRUE(!strcmp(text_si(rows[i].value, buf, sizeof(buf)), rows[i].text));
	}
}

CASE(numbers_are_digits_only)
{
	static const char * const bad[] = {
		"", " 1", "+1", "-1", "1 ", "0x1", "1e3", "101", "99999999999999999999999",
	};
	uint64_t n;
	unsigned int i;

	EXPECT_TRUE(text_number("0", 100, &n) && n == 0);
	EXPECT_TRUE(text_number("100", 100, &n) && n == 100);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		unit_context("'%s'", bad[i]);
		EXPECT_TRUE(!text_number(bad[i], 100, &n));
	}
}
