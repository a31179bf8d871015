// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - rows of cells, see table.h
 */
#include "table.h"
#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS	48

struct cell {
	char *text;
	enum json_paint paint;
};

struct column {
	char *key;
	size_t width;
	bool number;
};

struct table {
	struct column column[MAX_COLUMNS];
	unsigned int columns, rows;
	struct cell (*row)[MAX_COLUMNS];
};

/**
 * table_new() - an empty table
 *
 * Return: the table, for table_free().
 */
struct table *table_new(void)
{
	return need(calloc(1, sizeof(struct table)));
}

/**
 * table_row() - begin a row
 * @t: the table
 */
void table_row(struct table *t)
{
	t->row = need(reallocarray(t->row, t->rows + 1, sizeof(*t->row)));
	memset(t->row[t->rows++], 0, sizeof(*t->row));
}

static struct column *find_column(struct table *t, const char *key)
{
	unsigned int i;

	for (i = 0; i < t->columns; i++)
		if (!strcmp(t->column[i].key, key))
			return &t->column[i];
	if (i == MAX_COLUMNS)
		return NULL;
	t->column[i].key = need(strdup(key));
	t->column[i].width = strlen(key);
	t->columns++;
	return &t->column[i];
}

/**
 * table_cell() - the value of a column in the last row
 * @t: the table
 * @key: the column; one that is new comes after those that there are
 * @val: as text
 * @number: goes to the right
 * @paint: its colour
 */
void table_cell(struct table *t, const char *key, const char *val, bool number,
		enum json_paint paint)
{
	struct column *c = find_column(t, key);
	struct cell *cell;
	size_t width = text_width(val);

	if (!c)
		return;
	cell = &t->row[t->rows - 1][c - t->column];
	free(cell->text);
	*cell = (struct cell) { need(strdup(val)), paint };
	if (width > c->width)
		c->width = width;
	c->number |= number && strcmp(val, "-");
}

static void print_heading(const struct table *t, const struct json *w,
			  unsigned int indent)
{
	unsigned int i;
	const char *p;
	int pad;

	fprintf(w->f, "%*s%s", indent, "", paint_on(w, PAINT_NAME));
	for (i = 0; i < t->columns; i++) {
		pad = t->column[i].width - strlen(t->column[i].key);
		if (t->column[i].number)
			fprintf(w->f, "%*s", pad, "");
		for (p = t->column[i].key; *p; p++)
			fputc(*p == '_' ? '-' : toupper((unsigned char)*p), w->f);
		if (i + 1 < t->columns)
			fprintf(w->f, "%*s", 2 + (t->column[i].number ? 0 : pad), "");
	}
	fprintf(w->f, "%s\n", paint_off(w, PAINT_NAME));
}

static void print_cell(const struct column *c, const struct cell *cell,
		       const struct json *w, bool last)
{
	const char *text = cell->text ? cell->text : "-";
	int pad = c->width - text_width(text);

	if (c->number)
		fprintf(w->f, "%*s", pad, "");
	fputs(paint_on(w, cell->paint), w->f);
	text_put(w->f, text, TEXT_TERMINAL);
	fputs(paint_off(w, cell->paint), w->f);
	if (!last)
		fprintf(w->f, "%*s", 2 + (c->number ? 0 : pad), "");
}

/**
 * table_print() - the heading and all rows; nothing, if there is none
 * @t: the table
 * @w: where to, and with colours?
 * @indent: columns to leave free on the left
 */
void table_print(struct table *t, const struct json *w, unsigned int indent)
{
	unsigned int i, j;

	if (!t->rows)
		return;
	print_heading(t, w, indent);
	for (i = 0; i < t->rows; i++) {
		fprintf(w->f, "%*s", indent, "");
		for (j = 0; j < t->columns; j++)
			print_cell(&t->column[j], &t->row[i][j], w,
				   j + 1 == t->columns);
		fputc('\n', w->f);
	}
}

/**
 * table_free() - the end of a table
 * @t: the table
 */
void table_free(struct table *t)
{
	unsigned int i, j;

	for (j = 0; j < t->columns; j++) {
		free(t->column[j].key);
		for (i = 0; i < t->rows; i++)
			free(t->row[i][j].text);
	}
	free(t->row);
	free(t);
}
