// SPDX-License-Identifier: GPL-2.0
/*
 * json.c - what a command says, see json.h
 */
#include "json.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

static struct json_level *top(struct json *w)
{
	return w->depth ? &w->level[w->depth - 1] : NULL;
}

static void new_line(struct json *w)
{
	if (w->mode == JSON_PRETTY && w->depth)
		fprintf(w->f, "\n%*s", 4 * (int)w->depth, "");
}

/* what stands before a value */
static void lead(struct json *w, const char *key)
{
	struct json_level *l = top(w);

	if (!l)
		return;
	assert(l->list == !key);
	if (l->n++)
		fputc(',', w->f);
	new_line(w);
	if (!key)
		return;
	fputc('"', w->f);
	text_put(w->f, key, TEXT_JSON);
	fputs(w->mode == JSON_PRETTY ? "\": " : "\":", w->f);
}

static void open_level(struct json *w, const char *key, bool list,
		       enum json_style style)
{
	struct json_level l = { .list = list, .style = style };

	assert(w->depth < JSON_DEPTH);
	if (w->mode == JSON_TEXT) {
		plain_open(w, key, &l);
	} else {
		lead(w, key);
		fputc(list ? '[' : '{', w->f);
	}
	w->level[w->depth++] = l;
}

/**
 * json_object() - begin an object
 * @w: the writer
 * @key: its name, or NULL within a list and at the top
 */
void json_object(struct json *w, const char *key)
{
	open_level(w, key, false, JSON_FIELDS);
}

/**
 * json_line() - begin an object at the top that is one line as text
 * @w: the writer
 */
void json_line(struct json *w)
{
	open_level(w, NULL, false, JSON_LINES);
}

/**
 * json_names() - begin an object whose keys are names, the same in text and JSON
 * @w: the writer
 * @key: its name
 */
void json_names(struct json *w, const char *key)
{
	open_level(w, key, false, JSON_NAMES);
}

/**
 * json_list() - begin a list
 * @w: the writer
 * @key: its name, or NULL at the top
 * @style: how it looks as text, if it is one of objects
 */
void json_list(struct json *w, const char *key, enum json_style style)
{
	open_level(w, key, true, style);
}

/**
 * json_end() - end the object or list that was begun last
 * @w: the writer
 *
 * The end of the outermost is the end of a line, and flushed.
 */
void json_end(struct json *w)
{
	struct json_level closed;

	assert(w->depth);
	closed = w->level[--w->depth];
	if (w->mode == JSON_TEXT) {
		plain_close(w, &closed);
	} else {
		if (closed.n && w->mode == JSON_PRETTY)
			fprintf(w->f, "\n%*s", 4 * (int)w->depth, "");
		fputc(closed.list ? ']' : '}', w->f);
		if (!w->depth)
			fputc('\n', w->f);
	}
	if (!w->depth)
		fflush(w->f);
}

/**
 * json_str() - a string
 * @w: the writer
 * @key: its name, or NULL within a list
 * @val: anything, or NULL
 */
void json_str(struct json *w, const char *key, const char *val)
{
	if (!val) {
		json_null(w, key);
		return;
	}
	if (w->mode == JSON_TEXT) {
		plain_value(w, key, val, false);
		return;
	}
	lead(w, key);
	fputc('"', w->f);
	text_put(w->f, val, TEXT_JSON);
	fputc('"', w->f);
}

static void put_number(struct json *w, const char *key, const char *val)
{
	if (w->mode == JSON_TEXT) {
		plain_value(w, key, val, true);
		return;
	}
	lead(w, key);
	fputs(val, w->f);
}

/**
 * json_u64() - a whole number
 * @w: the writer
 * @key: its name, or NULL within a list
 * @val: the number
 */
void json_u64(struct json *w, const char *key, uint64_t val)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%" PRIu64, val);
	put_number(w, key, buf);
}

/**
 * json_s64() - a whole number that may be negative
 * @w: the writer
 * @key: its name, or NULL within a list
 * @val: the number
 */
void json_s64(struct json *w, const char *key, int64_t val)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%" PRId64, val);
	put_number(w, key, buf);
}

/**
 * json_real() - a number with a fraction
 * @w: the writer
 * @key: its name, or NULL within a list
 * @val: the number; what is none is null
 * @digits: of the fraction
 */
void json_real(struct json *w, const char *key, double val, int digits)
{
	char buf[340];

	if (!isfinite(val)) {
		json_null(w, key);
		return;
	}
	snprintf(buf, sizeof(buf), "%.*f", digits, val);
	put_number(w, key, buf);
}

/**
 * json_si() - a rate: as text with k, M or G; in JSON a number in full
 * @w: the writer
 * @key: its name, or NULL within a list
 * @val: the rate; what is none is null
 */
void json_si(struct json *w, const char *key, double val)
{
	char buf[32];

	if (w->mode == JSON_TEXT && isfinite(val))
		plain_value(w, key, text_si(val, buf, sizeof(buf)), true);
	else
		json_real(w, key, val, 1);
}

/**
 * json_bool() - true or false; as text: on or off
 * @w: the writer
 * @key: its name, or NULL within a list
 * @val: which
 */
void json_bool(struct json *w, const char *key, bool val)
{
	if (w->mode == JSON_TEXT) {
		plain_value(w, key, val ? "on" : "off", false);
		return;
	}
	lead(w, key);
	fputs(val ? "true" : "false", w->f);
}

/**
 * json_null() - there is no such value; as text: a dash
 * @w: the writer
 * @key: its name, or NULL within a list
 */
void json_null(struct json *w, const char *key)
{
	if (w->mode == JSON_TEXT) {
		plain_value(w, key, "-", true);
		return;
	}
	lead(w, key);
	fputs("null", w->f);
}

/**
 * json_paint() - the colour of the next value
 * @w: the writer
 * @paint: which
 */
void json_paint(struct json *w, enum json_paint paint)
{
	w->paint = paint;
}

/**
 * json_title() - what stands above the values of an object, as text only
 * @w: the writer, in an object that has no values yet
 * @fmt: as of printf
 */
void json_title(struct json *w, const char *fmt, ...)
{
	va_list ap;
	char *s;

	if (w->mode != JSON_TEXT)
		return;
	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	plain_title(w, need(s));
	free(s);
}
