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

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BAR	10

static const struct {
	const char *head;
	int width;		/* negative: to the left */
} layout[TOP_COLUMNS] = {
	[TOP_ID] = { "ID", 4 }, [TOP_TAP] = { "TAP", -12 }, [TOP_PID] = { "PID", 7 },
	[TOP_NAME] = { "VM", -14 }, [TOP_RX_PPS] = { "RX/s", 6 },
	[TOP_RX_BPS] = { "RXbit", 6 }, [TOP_TX_PPS] = { "TX/s", 6 },
	[TOP_TX_BPS] = { "TXbit", 6 }, [TOP_DROPS] = { "DROP/s", 6 },
	[TOP_BATCH] = { "BATCH", 6 }, [TOP_CPU] = { "CPU%", 2 + BAR + 7 },
	[TOP_STATE] = { "STATE", -8 },
};

/* the string of a cell, in memory of its own */
static char *cell(const struct top_row *r, enum top_column col)
{
	char bar[BAR + 1], buf[32];
	double val = r->val[col];
	int on;

	switch (col) {
	case TOP_ID:
		return text_format("%u", r->dev->id);
	case TOP_TAP:
		return text_format("%s", r->dev->tap ? r->dev->tap : "-");
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
		if (isnan(val))
			return text_format("-");
		on = val >= 100 ? BAR : (int)(val * BAR / 100 + 0.5);
		memset(bar, '|', on);
		memset(bar + on, ' ', BAR - on);
		bar[BAR] = 0;
		return text_format("[%s] %5.1f", bar, val);
	default:
		return text_format("%s", text_si(val, buf, sizeof(buf)));
	}
}

/* what a terminal shows of @s in @width columns, to the left or right, and no more */
static void put_cell(FILE *f, const char *s, int width, unsigned int *left)
{
	unsigned int want = abs(width), has = text_width(s), pad;
	char *cut = need(strdup(s)), *p;

	if (want > *left)
		want = *left;
	pad = has < want ? want - has : 0;
	if (width > 0)
		fprintf(f, "%*s", pad, "");
	/* bytes that go on with a character do not count */
	for (p = cut, has = 0; *p; p++) {
		if (((unsigned char)*p & 0xc0) != 0x80 && ++has > want) {
			*p = 0;
			break;
		}
	}
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

static void end_line(const struct json *w)
{
	fputs("\033[K\r\n", w->f);
}

static void draw_text(const struct json *w, const char *s, unsigned int width)
{
	put_cell(w->f, s, -(int)width, &width);
	end_line(w);
}

static void draw_summary(const struct json *w, const struct top_row *rows, unsigned int n,
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
	fputs(paint_on(w, PAINT_NAME), w->f);
	draw_text(w, s, v->width);
	fputs(paint_off(w, PAINT_NAME), w->f);
	free(s);
	s = text_format("to guests %s/s %sbit/s   from guests %s/s %sbit/s   dropped %.0f/s   CPU %.1f %%",
			text_si(sum[TOP_RX_PPS], rx, sizeof(rx)),
			text_si(sum[TOP_RX_BPS], rxb, sizeof(rxb)),
			text_si(sum[TOP_TX_PPS], tx, sizeof(tx)),
			text_si(sum[TOP_TX_BPS], txb, sizeof(txb)), sum[TOP_DROPS], sum[TOP_CPU]);
	draw_text(w, s, v->width);
	free(s);
	end_line(w);
}

static void draw_heading(const struct json *w, const struct top_view *v)
{
	unsigned int left = v->width, col;
	char *head;

	fputs("\033[7m", w->f);
	for (col = 0; col < TOP_COLUMNS; col++) {
		head = text_format("%s%s", col == v->sort ? (v->reverse ? "^" : "v") : "",
				   layout[col].head);
		put_cell(w->f, head, layout[col].width, &left);
		put_gap(w->f, &left);
		free(head);
	}
	fprintf(w->f, "%*s\033[0m", left, "");
	end_line(w);
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

static void draw_row(const struct json *w, const struct top_row *r, unsigned int left)
{
	unsigned int col;
	char *s;

	for (col = 0; col < TOP_COLUMNS; col++) {
		s = cell(r, col);
		fputs(paint_on(w, colour(r, col)), w->f);
		put_cell(w->f, s, layout[col].width, &left);
		fputs(paint_off(w, colour(r, col)), w->f);
		put_gap(w->f, &left);
		free(s);
	}
	end_line(w);
}

static unsigned int draw_help(const struct json *w, const struct top_view *v)
{
	static const char * const lines[] = {
		"q, Esc, ^C   quit                 space, p   pause",
		"< > Left Right   sort by another column      I   turn the order round",
		"c CPU   r to guests   t from guests   d drops   b batch   n name   i id   s state",
		"Up Down PgUp PgDn Home End   move      + -   longer or shorter interval",
		"BATCH: packets for a turn of the worker; CPU%: of one CPU, by the workers",
		"",
	};
	unsigned int i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		draw_text(w, lines[i], v->width);
	return i;
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
	unsigned int used = 4, i;

	fputs("\033[H", w->f);
	draw_summary(w, rows, n, v);
	if (v->help)
		used += draw_help(w, v);
	draw_heading(w, v);
	/* the last line stays empty: what ends it would scroll */
	for (i = v->first; i < n && used + 1 < v->height; i++, used++)
		draw_row(w, &rows[i], v->width);
	fputs("\033[J", w->f);
	fflush(w->f);
}
