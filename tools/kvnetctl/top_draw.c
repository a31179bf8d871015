// SPDX-License-Identifier: GPL-2.0
/*
 * top_draw.c - the screen of "top", see top.h
 *
 * Lines are cut where the terminal ends, so that none is wrapped. Colours are laid
 * on when a line has its final length.
 */
#include "top.h"
#include "names.h"
#include "text.h"
#include "write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BAR_MIN	5
#define BAR_MAX	20

static const struct column {
	const char *head;
	int width;		/* negative: to the left */
} columns[TOP_COLUMNS] = {
	[TOP_ID] = { "ID", 4 }, [TOP_TAP] = { "TAP", -12 }, [TOP_PID] = { "PID", 7 },
	[TOP_NAME] = { "VM", -14 }, [TOP_RX_PPS] = { "RX/s", 6 },
	[TOP_RX_BPS] = { "RXbit", 6 }, [TOP_TX_PPS] = { "TX/s", 6 },
	[TOP_TX_BPS] = { "TXbit", 6 }, [TOP_DROPS] = { "DROP/s", 6 },
	[TOP_BATCH] = { "BATCH", 6 }, [TOP_CPU] = { "CPU%", 5 },
	[TOP_STATE] = { "STATE", -8 },
};

/**
 * struct screen - what is being drawn
 * @w: where to
 * @width: of a line
 * @lines: that may yet be drawn
 * @column: widths, 0 of those that there is no room for
 * @bar: width of a bar of CPU time, 0: none
 */
struct screen {
	const struct json *w;
	unsigned int width, lines;
	int column[TOP_COLUMNS];
	unsigned int bar;
};

static unsigned int total(const struct screen *s)
{
	unsigned int col, sum = 0;

	for (col = 0; col < TOP_COLUMNS; col++)
		sum += s->column[col] ? abs(s->column[col]) + 1 : 0;
	return sum - 1;
}

/* what a narrow terminal goes without, one after the other; a wide one has bars */
static void lay_out(struct screen *s)
{
	static const enum top_column spare[] = {
		TOP_BATCH, TOP_PID, TOP_ID, TOP_NAME, TOP_STATE, TOP_DROPS
	};
	unsigned int i, free;

	for (i = 0; i < TOP_COLUMNS; i++)
		s->column[i] = columns[i].width;
	for (i = 0; i < sizeof(spare) / sizeof(spare[0]) && total(s) > s->width; i++)
		s->column[spare[i]] = 0;
	free = s->width > total(s) ? s->width - total(s) : 0;
	if (free < BAR_MIN + 3)
		return;
	s->bar = free - 3 < BAR_MAX ? free - 3 : BAR_MAX;
	s->column[TOP_CPU] += s->bar + 3;
}

static char *cpu_cell(double val, unsigned int bar)
{
	unsigned int on = val >= 100 ? bar : val * bar / 100 + 0.5;
	char marks[BAR_MAX + 1];

	if (isnan(val))
		return text_format("-");
	if (!bar)
		return text_format("%.1f", val);
	memset(marks, '|', on);
	memset(marks + on, ' ', bar - on);
	marks[bar] = 0;
	return text_format("[%s] %5.1f", marks, val);
}

/* the string of a cell, in memory of its own */
static char *cell(const struct top_row *r, enum top_column col, unsigned int bar)
{
	double val = r->val[col];
	char buf[32];

	switch (col) {
	case TOP_ID:
		return text_format("%u", r->dev->id);
	case TOP_TAP:
		return r->dev->tap ? tap_text(r->dev) : text_format("-");
	case TOP_PID:
		return HAS(r->dev, KVNET_A_DEV_OWNER_PID) ? text_format("%u", r->dev->pid) :
							    text_format("-");
	case TOP_NAME:
		return text_format("%s", r->name);
	case TOP_STATE:
		return text_format("%s", name_state(r->state));
	case TOP_BATCH:
		return isnan(val) ? text_format("-") : text_format("%.1f", val);
	case TOP_CPU:
		return cpu_cell(val, bar);
	default:
		return text_format("%s", text_si(val, buf, sizeof(buf)));
	}
}

/* what a terminal shows of @s in @width columns, to the left or right, and no more */
static void put_cell(FILE *f, const char *s, int width, unsigned int *left)
{
	unsigned int want = abs(width), has = text_width(s), pad;
	char *cut = need(strdup(s));

	if (want > *left)
		want = *left;
	pad = has < want ? want - has : 0;
	if (width > 0)
		fprintf(f, "%*s", pad, "");
	text_cut(cut, want);
	text_put(f, cut, TEXT_TERMINAL);
	if (width < 0)
		fprintf(f, "%*s", pad, "");
	*left -= want;
	free(cut);
}

static void put_gap(FILE *f, unsigned int *left)
{
	if (!*left)
		return;
	fputc(' ', f);
	--*left;
}

/* is there room for one more? */
static bool begin_line(struct screen *s)
{
	if (!s->lines)
		return false;
	s->lines--;
	return true;
}

static void end_line(const struct screen *s)
{
	fputs("\033[K\n", s->w->f);
}

static void draw_text(struct screen *s, const char *text, enum json_paint paint)
{
	unsigned int left = s->width;

	if (!begin_line(s))
		return;
	fputs(paint_on(s->w, paint), s->w->f);
	put_cell(s->w->f, text, -(int)left, &left);
	fputs(paint_off(s->w, paint), s->w->f);
	end_line(s);
}

static void draw_summary(struct screen *screen, const struct top_row *rows, unsigned int n,
			 const struct top_view *v)
{
	char rx[16], tx[16], rxb[16], txb[16], clock[16], *s;
	double sum[TOP_COLUMNS] = { 0 };
	time_t now = time(NULL);
	unsigned int i, col;
	struct tm tm;

	for (i = 0; i < n; i++)
		for (col = 0; col < TOP_COLUMNS; col++)
			if (!isnan(rows[i].val[col]))
				sum[col] += rows[i].val[col];
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	s = text_format("kvnetctl top  %s  %u device%s  every %g s%s  (h: help, q: quit)", clock, n,
			n == 1 ? "" : "s", v->interval, v->paused ? "  PAUSED" : "");
	draw_text(screen, s, PAINT_NAME);
	free(s);
	s = text_format("to guests %s/s %sbit/s   from guests %s/s %sbit/s   dropped %.0f/s   CPU %.1f %%",
			text_si(sum[TOP_RX_PPS], rx, sizeof(rx)),
			text_si(sum[TOP_RX_BPS], rxb, sizeof(rxb)),
			text_si(sum[TOP_TX_PPS], tx, sizeof(tx)),
			text_si(sum[TOP_TX_BPS], txb, sizeof(txb)), sum[TOP_DROPS], sum[TOP_CPU]);
	draw_text(screen, s, PAINT_NONE);
	free(s);
	draw_text(screen, "", PAINT_NONE);
}

static void draw_heading(struct screen *s, const struct top_view *v)
{
	unsigned int left = s->width, col;
	FILE *f = s->w->f;
	char *head;

	if (!begin_line(s))
		return;
	fputs("\033[7m", f);
	for (col = 0; col < TOP_COLUMNS; col++) {
		if (!s->column[col])
			continue;
		head = text_format("%s%s", col == v->sort ? (v->reverse ? "^" : "v") : "",
				   columns[col].head);
		put_cell(f, head, s->column[col], &left);
		put_gap(f, &left);
		free(head);
	}
	fprintf(f, "%*s\033[0m", left, "");
	end_line(s);
}

static enum json_paint colour(const struct top_row *r, enum top_column col)
{
	if (col == TOP_STATE)
		return r->state == KVNET_QUEUE_STATE_RUNNING ? PAINT_GOOD :
		       r->state == KVNET_QUEUE_STATE_BROKEN ? PAINT_BAD : PAINT_WARN;
	if (col == TOP_DROPS && r->val[col] > 0)
		return PAINT_BAD;
	if (col == TOP_CPU && r->val[col] >= 90)
		return PAINT_WARN;
	return col == TOP_TAP ? PAINT_NAME : PAINT_NONE;
}

static void draw_row(struct screen *s, const struct top_row *r)
{
	unsigned int left = s->width, col;
	const struct json *w = s->w;
	char *text;

	if (!begin_line(s))
		return;
	for (col = 0; col < TOP_COLUMNS; col++) {
		if (!s->column[col])
			continue;
		text = cell(r, col, s->bar);
		fputs(paint_on(w, colour(r, col)), w->f);
		put_cell(w->f, text, s->column[col], &left);
		fputs(paint_off(w, colour(r, col)), w->f);
		put_gap(w->f, &left);
		free(text);
	}
	end_line(s);
}

static void draw_help(struct screen *s)
{
	static const char * const lines[] = {
		"q, Esc, ^C   quit                 space, p   pause",
		"< > Left Right   sort by another column      I   reverse the order",
		"c CPU   r to guests   t from guests   d drops   b batch   n name   i id   s state",
		"Up Down PgUp PgDn Home End   move      + -   longer or shorter interval",
		"BATCH: packets per poll; CPU%: of one CPU, by the workers",
		"",
	};
	unsigned int i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		draw_text(s, lines[i], PAINT_NONE);
}

/**
 * top_draw() - the whole screen
 * @w: where to, and with colours?
 * @rows: sorted
 * @n: how many
 * @v: how to look at them
 */
void top_draw(const struct json *w, const struct top_row *rows, unsigned int n,
	      const struct top_view *v)
{
	/* the last line stays empty: what ends it would scroll */
	struct screen s = { w, v->width, v->height ? v->height - 1 : 0, { 0 }, 0 };
	unsigned int i;

	lay_out(&s);
	fputs("\033[H", w->f);
	draw_summary(&s, rows, n, v);
	if (v->help)
		draw_help(&s);
	draw_heading(&s, v);
	for (i = v->first; i < n; i++)
		draw_row(&s, &rows[i]);
	fputs("\033[J", w->f);
	fflush(w->f);
}
