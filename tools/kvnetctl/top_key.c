// SPDX-License-Identifier: GPL-2.0
/*
 * top_key.c - what a key does in "top", see top.h
 */
#include "top.h"

#include <string.h>

#define PAGE	10

static const struct {
	char key;
	enum top_column column;
} sort_keys[] = {
	{ 'i', TOP_ID }, { 'n', TOP_NAME }, { 'r', TOP_RX_PPS }, { 't', TOP_TX_PPS },
	{ 'd', TOP_DROPS }, { 'b', TOP_BATCH }, { 'c', TOP_CPU }, { 's', TOP_STATE },
};

static void scroll(struct top_view *v, int by, unsigned int rows)
{
	unsigned int last = rows ? rows - 1 : 0;

	if (by < 0)
		v->first = v->first > (unsigned int)-by ? v->first + by : 0;
	else
		v->first = v->first + by < last ? v->first + by : last;
}

/* the sequences that terminals send for arrows, pages, Home and End */
static unsigned int take_sequence(struct top_view *v, const char *s, unsigned int rows)
{
	static const struct {
		const char *seq;
		int by;
	} moves[] = {
		{ "\033[A", -1 }, { "\033[B", 1 }, { "\033OA", -1 }, { "\033OB", 1 },
		{ "\033[5~", -PAGE }, { "\033[6~", PAGE },
		{ "\033[H", -1000000 }, { "\033[F", 1000000 },
		{ "\033[1~", -1000000 }, { "\033[4~", 1000000 },
	};
	static const char * const sort[] = { "\033[D", "\033[C", "\033OD", "\033OC" };
	unsigned int i;

	for (i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (strncmp(s, moves[i].seq, strlen(moves[i].seq)))
			continue;
		scroll(v, moves[i].by, rows);
		return strlen(moves[i].seq);
	}
	for (i = 0; i < sizeof(sort) / sizeof(sort[0]); i++) {
		if (strncmp(s, sort[i], 3))
			continue;
		v->sort = (v->sort + (i & 1 ? 1 : TOP_COLUMNS - 1)) % TOP_COLUMNS;
		return 3;
	}
	/* an unknown one: up to its final character */
	return 2 + strcspn(s + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz~") + 1;
}

static bool take_letter(struct top_view *v, char key, unsigned int rows)
{
	unsigned int i;

	switch (key) {
	case 'q':
	case 'Q':
	case 3:
	case 4:
		return false;
	case 'h':
	case '?':
		v->help = !v->help;
		break;
	case ' ':
	case 'p':
		v->paused = !v->paused;
		break;
	case 'I':
	case 'R':
		v->reverse = !v->reverse;
		break;
	case 'k':
		scroll(v, -1, rows);
		break;
	case 'j':
		scroll(v, 1, rows);
		break;
	case '<':
		v->sort = (v->sort + TOP_COLUMNS - 1) % TOP_COLUMNS;
		break;
	case '>':
		v->sort = (v->sort + 1) % TOP_COLUMNS;
		break;
	case '+':
		v->interval = v->interval > 5 ? 10 : v->interval * 2;
		break;
	case '-':
		v->interval = v->interval < 0.5 ? 0.25 : v->interval / 2;
		break;
	}
	for (i = 0; i < sizeof(sort_keys) / sizeof(sort_keys[0]); i++)
		if (sort_keys[i].key == key)
			v->sort = sort_keys[i].column;
	return true;
}

/**
 * top_key() - do what keys say
 * @v: the view
 * @keys: what the terminal has sent, a string
 * @rows: how many rows there are
 *
 * Return: false: end.
 */
bool top_key(struct top_view *v, const char *keys, unsigned int rows)
{
	size_t len = strlen(keys), step;

	/* Escape alone ends it, too */
	if (!strcmp(keys, "\033"))
		return false;
	for (; len; keys += step, len -= step) {
		step = 1;
		if (keys[0] == '\033' && (keys[1] == '[' || keys[1] == 'O')) {
			step = take_sequence(v, keys, rows);
			if (step > len)
				step = len;
		} else if (!take_letter(v, *keys, rows)) {
			return false;
		}
	}
	return true;
}
