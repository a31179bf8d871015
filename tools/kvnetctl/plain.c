// SPDX-License-Identifier: GPL-2.0
/*
 * plain.c - the text mode of json.h
 */
#include "json.h"
#include "table.h"
#include "text.h"

#include <string.h>

#define KEY_WIDTH	16
#define LINE_WIDTH	88

static const char * const paint_code[] = {
	[PAINT_NONE] = "",
	[PAINT_GOOD] = "\033[32m",
	[PAINT_WARN] = "\033[33m",
	[PAINT_BAD] = "\033[1;31m",
	[PAINT_NAME] = "\033[1m",
};

/**
 * paint_on() - what begins a colour
 * @w: the writer
 * @paint: which
 *
 * Return: a string, empty without colours.
 */
const char *paint_on(const struct json *w, enum json_paint paint)
{
	return w->colour ? paint_code[paint] : "";
}

/**
 * paint_off() - what ends a colour
 * @w: the writer
 * @paint: which
 *
 * Return: a string, empty without colours.
 */
const char *paint_off(const struct json *w, enum json_paint paint)
{
	return w->colour && paint != PAINT_NONE ? "\033[0m" : "";
}

static struct json_level *around(struct json *w)
{
	return w->depth ? &w->level[w->depth - 1] : NULL;
}

/* our own names have '-' for '_', as in options and in "set" */
static unsigned int put_key(struct json *w, const char *key)
{
	struct json_level *l = around(w);
	bool own = !l || l->style != JSON_NAMES;
	unsigned int len = 0;

	for (; key[len]; len++)
		fputc(key[len] == '_' && own ? '-' : key[len], w->f);
	return len;
}

static void put_name(struct json *w, const char *key, unsigned int indent)
{
	unsigned int len;

	fprintf(w->f, "%*s", indent, "");
	len = put_key(w, key);
	fprintf(w->f, "%*s ", len < KEY_WIDTH ? KEY_WIDTH - len : 0, "");
}

static void put_value(struct json *w, const char *val)
{
	fputs(paint_on(w, w->paint), w->f);
	text_put(w->f, val, TEXT_TERMINAL);
	fputs(paint_off(w, w->paint), w->f);
	w->paint = PAINT_NONE;
}

/**
 * plain_open() - an object or list begins
 * @w: the writer
 * @key: its name, or NULL
 * @l: it; not yet on the writer's stack
 */
void plain_open(struct json *w, const char *key, struct json_level *l)
{
	struct json_level *up = around(w);

	l->indent = up ? up->indent : 0;
	if (up && up->list && up->style == JSON_LINES)
		l->style = JSON_LINES;
	if (w->table) {
		if (!l->list && up->list && up->style == JSON_TABLE)
			table_row(w->table);
		return;
	}
	/* an empty line between the objects of a list */
	if (up && up->list && up->style == JSON_FIELDS && up->n++ && !l->list)
		fputc('\n', w->f);
	if (l->list && l->style == JSON_TABLE)
		w->table = table_new();
	if (!key)
		return;
	if (l->list && l->style == JSON_FIELDS) {
		put_name(w, key, l->indent);
		l->column = l->indent + KEY_WIDTH + 1;
	} else {
		fprintf(w->f, "%*s%s", l->indent, "", paint_on(w, PAINT_NAME));
		put_key(w, key);
		fprintf(w->f, "%s\n", paint_off(w, PAINT_NAME));
		l->indent += 2;
	}
}

/**
 * plain_close() - the object or list that was opened last ends
 * @w: the writer, without it
 * @l: it
 */
void plain_close(struct json *w, const struct json_level *l)
{
	struct json_level *up = around(w);

	if (w->table && l->list && l->style == JSON_TABLE) {
		table_print(w->table, w, l->indent);
		table_free(w->table);
		w->table = NULL;
	} else if (w->table) {
		return;
	} else if (l->list && l->style == JSON_FIELDS && up && !up->list) {
		fputs(l->n ? "\n" : "-\n", w->f);
	} else if (!l->list && l->style == JSON_LINES) {
		fputc('\n', w->f);
	}
}

/* one of a list's */
static void put_member(struct json *w, struct json_level *l, const char *val)
{
	unsigned int width = text_width(val);

	if (l->n && l->column + 1 + width > LINE_WIDTH) {
		fprintf(w->f, "\n%*s", l->indent + KEY_WIDTH + 1, "");
		l->column = l->indent + KEY_WIDTH + 1;
	} else if (l->n) {
		fputc(' ', w->f);
		l->column++;
	}
	l->column += width;
	l->n++;
	put_value(w, val);
}

/**
 * plain_value() - a value of an object, or a member of a list
 * @w: the writer
 * @key: its name, or NULL for a member
 * @val: as text
 * @number: is it one?
 */
void plain_value(struct json *w, const char *key, const char *val, bool number)
{
	struct json_level *l = around(w);

	if (w->table) {
		if (key && l)
			table_cell(w->table, key, val, number, w->paint);
		w->paint = PAINT_NONE;
	} else if (!l) {
		put_value(w, val);
		fputc('\n', w->f);
	} else if (!key) {
		put_member(w, l, val);
	} else if (l->style == JSON_LINES) {
		fprintf(w->f, "%s", l->n++ ? " " : "");
		put_key(w, key);
		fputc(' ', w->f);
		put_value(w, val);
	} else {
		put_name(w, key, l->indent);
		put_value(w, val);
		fputc('\n', w->f);
	}
}

/**
 * plain_title() - the line above an object's values
 * @w: the writer, in an object without values
 * @title: as text
 */
void plain_title(struct json *w, const char *title)
{
	struct json_level *l = around(w);

	if (w->table || !l)
		return;
	fprintf(w->f, "%*s%s", l->indent, "", paint_on(w, PAINT_NAME));
	text_put(w->f, title, TEXT_TERMINAL);
	fprintf(w->f, "%s\n", paint_off(w, PAINT_NAME));
	l->indent += 2;
}
