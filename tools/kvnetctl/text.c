// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - untrusted strings, see text.h
 */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* the length of the UTF-8 sequence at @s that is well-formed, or 0 */
static size_t sequence(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len, i;

	if (*s < 0x80) {
		*code = *s;
		return 1;
	}
	len = *s >= 0xf0 && *s < 0xf5 ? 4 : *s >= 0xe0 && *s < 0xf0 ? 3 :
	      *s >= 0xc2 && *s < 0xe0 ? 2 : 0;
	if (!len)
		return 0;
	*code = *s & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return len;
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
	       /* what turns the writing round, or splits the line */
	       code == 0x061c || (code >= 0x200e && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

static void put_json(FILE *f, uint32_t code, const unsigned char *s, size_t len)
{
	if (code == '"' || code == '\\')
		fprintf(f, "\\%c", (int)code);
	else if (code == '\n')
		fputs("\\n", f);
	else if (code == '\t')
		fputs("\\t", f);
	else if (is_control(code))
		fprintf(f, "\\u%04x", code);
	else
		fwrite(s, 1, len, f);
}

static void put_label(FILE *f, uint32_t code, const unsigned char *s, size_t len)
{
	if (code == '"' || code == '\\')
		fprintf(f, "\\%c", (int)code);
	else if (code == '\n')
		fputs("\\n", f);
	else
		fwrite(s, 1, len, f);
}

static bool is_ascii_only;

/**
 * text_begin() - which characters does the terminal know?
 *
 * Those of its locale. One that is not of UTF-8 may take a part of a character for a control
 * character of eight bits.
 */
void text_begin(void)
{
	setlocale(LC_CTYPE, "");
	is_ascii_only = strcmp(nl_langinfo(CODESET), "UTF-8");
}

/**
 * text_put() - print an untrusted string
 * @f: where to
 * @s: anything that ends in a zero byte; need not be UTF-8
 * @what: what reads it
 */
void text_put(FILE *f, const char *s, enum text_for what)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t code;
	size_t len;

	for (; *p; p += len) {
		len = sequence(p, &code);
		if (!len) {
			fputs(what == TEXT_TERMINAL ? "?" : "\xef\xbf\xbd", f);
			len = 1;
		} else if (what == TEXT_JSON) {
			put_json(f, code, p, len);
		} else if (what == TEXT_LABEL) {
			put_label(f, code, p, len);
		} else if (is_control(code) || (is_ascii_only && code >= 0x80)) {
			fputc('?', f);
		} else {
			fwrite(p, 1, len, f);
		}
	}
}

/* one after @s, as text_put() prints them */
static const char *next_character(const char *s)
{
	uint32_t code;
	size_t len = sequence((const unsigned char *)s, &code);

	return s + (len ? len : 1);
}

/**
 * text_width() - how many characters text_put() prints to a terminal
 * @s: the string
 *
 * Return: a count of characters, each of them taken for one column wide.
 */
size_t text_width(const char *s)
{
	size_t width = 0;

	for (; *s; s = next_character(s))
		width++;
	return width;
}

/**
 * text_cut() - leave no more than some characters of a string
 * @s: the string, changed
 * @width: how many, as text_width() counts
 */
void text_cut(char *s, size_t width)
{
	const char *p = s;

	while (*p && width--)
		p = next_character(p);
	s[p - s] = 0;
}

/**
 * text_si() - a figure in three digits or so, with k, M, G or T
 * @value: the figure, not negative
 * @buf: where to
 * @len: bytes there
 *
 * Return: @buf.
 */
char *text_si(double value, char *buf, size_t len)
{
	static const char unit[] = " kMGT";
	unsigned int i = 0;

	for (; value >= 999.5 && i < 4; i++)
		value /= 1000;
	if (!i)
		snprintf(buf, len, "%.0f", value);
	else
		snprintf(buf, len, "%.*f%c",
			 value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit[i]);
	return buf;
}

/**
 * text_number() - read a whole number, in decimal digits and nothing else
 * @s: the word
 * @max: the largest that will do
 * @value: set if true is returned
 *
 * Return: is it one?
 */
bool text_number(const char *s, uint64_t max, uint64_t *value)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno || *end || n > max)
		return false;
	*value = n;
	return true;
}

/**
 * need() - memory that there has to be
 * @p: what malloc() and the like returned
 *
 * Return: @p, or not at all.
 */
void *need(void *p)
{
	if (!p) {
		fputs("kvnetctl: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/**
 * text_format() - printf into memory of its own
 * @fmt: as of printf
 *
 * Return: a string for free().
 */
char *text_format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return need(s);
}
