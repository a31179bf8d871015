/* SPDX-License-Identifier: GPL-2.0 */
/*
 * json - what a command says: text, JSON in a line, JSON in many lines
 *
 * A command describes what it has once, as objects, lists and values; the mode
 * decides how that looks. As text, an object is a line for each value; a list of
 * style JSON_TABLE is a table with a heading; one of JSON_LINES is a line for each
 * object. Values without a key are members of a list.
 */
#ifndef KVNETCTL_JSON_H
#define KVNETCTL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum json_mode { JSON_TEXT, JSON_COMPACT, JSON_PRETTY };
enum json_style { JSON_FIELDS, JSON_TABLE, JSON_LINES, JSON_NAMES };
/* how the next value looks on a terminal */
enum json_paint { PAINT_NONE, PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_NAME };

#define JSON_DEPTH	10

struct table;

struct json_level {
	bool list;
	enum json_style style;
	unsigned int n;
	/* as text: where lines begin, and what is on the line of a list */
	unsigned int indent, column;
};

/**
 * struct json - a writer
 * @f: where to
 * @mode: how
 * @colour: as text, with colours
 * @depth: how many objects and lists are open
 * @level: these
 * @paint: for the next value
 * @table: as text, the one that is being filled, or NULL
 */
struct json {
	FILE *f;
	enum json_mode mode;
	bool colour;
	unsigned int depth;
	struct json_level level[JSON_DEPTH];
	enum json_paint paint;
	struct table *table;
};

void json_object(struct json *w, const char *key);
void json_line(struct json *w);
void json_names(struct json *w, const char *key);
void json_list(struct json *w, const char *key, enum json_style style);
void json_end(struct json *w);
void json_str(struct json *w, const char *key, const char *val);
void json_u64(struct json *w, const char *key, uint64_t val);
void json_s64(struct json *w, const char *key, int64_t val);
void json_real(struct json *w, const char *key, double val, int digits);
void json_si(struct json *w, const char *key, double val);
void json_bool(struct json *w, const char *key, bool val);
void json_null(struct json *w, const char *key);
void json_paint(struct json *w, enum json_paint paint);
void json_title(struct json *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* plain.c: the same as text */
void plain_open(struct json *w, const char *key, struct json_level *l);
void plain_close(struct json *w, const struct json_level *closed);
void plain_value(struct json *w, const char *key, const char *val, bool number);
void plain_title(struct json *w, const char *title);
const char *paint_on(const struct json *w, enum json_paint paint);
const char *paint_off(const struct json *w, enum json_paint paint);

#endif /* KVNETCTL_JSON_H */
