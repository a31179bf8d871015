// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_top.c - the busiest devices, live
 */
#include "kvnetctl.h"
#include "event_wait.h"
#include "top.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define FIRST	0.2

struct top {
	struct ctl *c;
	struct kvnet *k;
	struct top_view view;
	struct kvnet_devices then, now;
	struct termios saved;
	bool screen;
};

static void window_size(struct top_view *v)
{
	struct winsize size;

	v->width = 80;
	v->height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return;
	v->width = size.ws_col;
	v->height = size.ws_row;
}

/* a screen of our own, keys as they come, and ^C still a signal */
static void screen_begin(struct top *t)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &t->saved);
	raw = t->saved;
	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	/* stopped, it would leave its screen behind */
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l\033[2J", stdout);
	window_size(&t->view);
	t->screen = true;
}

static void screen_end(struct top *t)
{
	if (!t->screen)
		return;
	fputs("\033[0m\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
	t->screen = false;
}

static void draw(struct top *t)
{
	/* before the second reading: rates of no time */
	const struct kvnet_devices *then = t->then.ns ? &t->then : &t->now;
	unsigned int n;
	struct top_row *rows = top_rows(then, &t->now, &t->view, &n);

	if (t->screen)
		top_draw(&t->c->w, rows, n, &t->view);
	else
		top_write(&t->c->w, rows, n);
	top_free(rows, n);
}

/* false: end */
static bool take_keys(struct top *t)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys) - 1);

	/* the terminal is gone */
	if (n <= 0)
		return false;
	keys[n] = 0;
	return strlen(keys) == (size_t)n && top_key(&t->view, keys, t->now.n);
}

static int look(struct top *t)
{
	struct kvnet_devices now;
	int err = kvnet_get(t->k, 0, &now);

	if (err) {
		screen_end(t);
		return ctl_module_fails(t->k, err);
	}
	kvnet_free(&t->then);
	t->then = t->now;
	t->now = now;
	return STATUS_OK;
}

/* waits for the next reading; the first comes soon; false: end */
static bool pause_for(struct top *t, bool first)
{
	uint64_t start = now_ns(), next;
	int woken;

	do {
		next = start + (first && t->screen ? FIRST : t->view.interval) * 1e9;
		woken = event_wait(t->screen ? STDIN_FILENO : -1, t->view.paused ? 0 : next);
		if (woken & EVENT_WAIT_END)
			return false;
		if (woken & EVENT_WAIT_READ && !take_keys(t))
			return false;
		if (woken & EVENT_WAIT_RESIZE && t->screen)
			window_size(&t->view);
		if (woken && t->screen)
			draw(t);
	} while (t->view.paused || now_ns() < next);
	return true;
}

static int watch(struct top *t)
{
	unsigned long n = 0, count = t->c->opt.count;
	int ret;

	ret = look(t);
	while (!ret && (!count || n < count)) {
		if (!pause_for(t, !n))
			break;
		ret = look(t);
		if (ret)
			break;
		if (n++ && !t->screen && t->c->w.mode == JSON_TEXT)
			fputc('\n', t->c->w.f);
		draw(t);
		if (ferror(stdout))
			break;
	}
	return ret;
}

/**
 * cmd_top() - "kvnetctl top"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_top(struct ctl *c)
{
	struct kvnet k;
	struct top t = { .c = c, .k = &k, .view = { .sort = TOP_CPU } };
	int ret;

	t.view.interval = c->opt.interval ? c->opt.interval : 1;
	if (c->opt.sort && !top_column(c->opt.sort, &t.view.sort))
		return ctl_fail(STATUS_USAGE, "top: no column '%s' to sort by; the heading of kvnetctl top -b names them", c->opt.sort);
	ret = ctl_open(&k);
	if (ret)
		return ret;
	event_wait_begin(false);
	if (!c->opt.batch && c->w.mode == JSON_TEXT && isatty(STDOUT_FILENO) &&
	    isatty(STDIN_FILENO))
		screen_begin(&t);
	ret = watch(&t);
	screen_end(&t);
	kvnet_free(&t.then);
	kvnet_free(&t.now);
	kvnet_close(&k);
	return ret;
}
