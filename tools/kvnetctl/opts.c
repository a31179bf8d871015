// SPDX-License-Identifier: GPL-2.0
/*
 * opts.c - options, see opts.h
 */
#include "opts.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { SWITCH, SECONDS, COUNT, WORD };

/* a letter in capitals is only the name that a command knows the option by */
struct row {
	char letter;
	const char *name, *value;
	enum kind kind;
	size_t offset;
	const char *help;
};

#define ROW(l, n, v, k, m, h)	{ l, n, v, k, offsetof(struct opts, m), h }

static const struct row rows[] = {
	ROW('j', "json", NULL, SWITCH, json, "JSON, one line"),
	ROW('p', "pretty", NULL, SWITCH, pretty, "JSON, many lines"),
	ROW('P', "prometheus", NULL, SWITCH, prometheus,
	    "format of node_exporter's textfile collector"),
	ROW('a', "all", NULL, SWITCH, all, "include zero counters"),
	ROW('b', "batch", NULL, SWITCH, batch, "print one table after the other"),
	ROW('D', "dry-run", NULL, SWITCH, dry_run, "only print what would be set"),
	ROW('i', "interval", "SECONDS", SECONDS, interval, "show rates every SECONDS"),
	ROW('n', "count", "N", COUNT, count, "stop after N"),
	ROW('s', "sort", "COLUMN", WORD, sort, "sort by this column"),
	ROW('h', "help", NULL, SWITCH, help, "show this help"),
	ROW('V', "version", NULL, SWITCH, version, "show the version"),
	{ 0 }
};

/* those that a letter on the command line stands for */
static bool has_letter(const struct row *r)
{
	return r->letter == 'V' || islower((unsigned char)r->letter);
}

static const struct row *find_long(const char *name, size_t len)
{
	const struct row *r;

	for (r = rows; r->name; r++)
		if (strlen(r->name) == len && !strncmp(r->name, name, len))
			return r;
	return NULL;
}

static const struct row *find_letter(char letter)
{
	const struct row *r;

	for (r = rows; r->name; r++)
		if (r->letter == letter && has_letter(r))
			return r;
	return NULL;
}

static bool take_seconds(const char *s, double *to)
{
	char *end;

	*to = strtod(s, &end);
	return end != s && !*end && isfinite(*to) && *to >= 0.01 && *to <= 86400;
}

static bool take_value(struct opts *o, const struct row *r, const char *value, char **why)
{
	void *to = (char *)o + r->offset;
	uint64_t n;

	if (r->kind == SWITCH) {
		*(bool *)to = true;
	} else if (r->kind == WORD) {
		*(const char **)to = value;
	} else if (r->kind == SECONDS) {
		if (!take_seconds(value, to)) {
			*why = text_format("--%s '%s': give seconds, from 0.01 to 86400",
					   r->name, value);
			return false;
		}
	} else {
		if (!text_number(value, 1000000000, &n) || !n) {
			*why = text_format("--%s '%s': give a number from 1 on", r->name, value);
			return false;
		}
		*(unsigned long *)to = n;
	}
	return true;
}

/* --name, --name=VALUE, --name VALUE; @next is taken if true is left in @used */
static bool take_long(struct opts *o, const char *arg, const char *next, bool *used,
		      char **why)
{
	size_t len = strcspn(arg + 2, "=");
	const struct row *r = find_long(arg + 2, len);
	const char *value = arg[2 + len] ? arg + 3 + len : NULL;

	if (!r) {
		*why = text_format("unknown option --%.*s", (int)len, arg + 2);
		return false;
	}
	if (r->kind == SWITCH && value) {
		*why = text_format("option --%s takes no value", r->name);
		return false;
	}
	if (r->kind != SWITCH && !value) {
		value = next;
		*used = true;
	}
	if (r->kind != SWITCH && !value) {
		*why = text_format("option --%s needs %s", r->name, r->value);
		return false;
	}
	return take_value(o, r, value, why);
}

/* -jp, -i1, -i 1 */
static bool take_letters(struct opts *o, const char *arg, const char *next, bool *used,
			 char **why)
{
	const struct row *r;

	while (*++arg) {
		r = find_letter(*arg);
		if (!r) {
			*why = text_format("unknown option -%c", *arg);
			return false;
		}
		if (r->kind == SWITCH) {
			take_value(o, r, NULL, why);
			continue;
		}
		*used = !arg[1];
		if (*used && !next) {
			*why = text_format("option -%c needs %s", *arg, r->value);
			return false;
		}
		return take_value(o, r, *used ? next : arg + 1, why);
	}
	return true;
}

/* a negative number is none */
static bool is_option(const char *arg)
{
	return arg[0] == '-' && arg[1] && !isdigit((unsigned char)arg[1]);
}

/**
 * opts_parse() - take the options from among the arguments
 * @o: what was asked for
 * @argc: how many arguments; then, how many are left
 * @argv: the arguments, without the program's name; then, what is left
 * @why: after false, what is wrong; for free()
 *
 * Return: is all well?
 */
bool opts_parse(struct opts *o, int *argc, char **argv, char **why)
{
	int i, left = 0;
	const char *next;
	bool used, ok, ended = false;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < *argc; i++) {
		if (ended || !is_option(argv[i])) {
			argv[left++] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--")) {
			ended = true;
			continue;
		}
		used = false;
		next = i + 1 < *argc ? argv[i + 1] : NULL;
		ok = argv[i][1] == '-' ? take_long(o, argv[i], next, &used, why) :
					 take_letters(o, argv[i], next, &used, why);
		if (!ok)
			return false;
		i += used;
	}
	*argc = left;
	argv[left] = NULL;
	return true;
}

static bool is_given(const struct opts *o, const struct row *r)
{
	const void *at = (const char *)o + r->offset;

	switch (r->kind) {
	case SWITCH:
		return *(const bool *)at;
	case SECONDS:
		return *(const double *)at != 0;
	case COUNT:
		return *(const unsigned long *)at;
	default:
		return *(const char * const *)at;
	}
}

/**
 * opts_allowed() - does a command know all options that were given?
 * @o: these
 * @letters: those that it knows, beside help and version
 * @why: after false, what is wrong; for free()
 *
 * Return: does it?
 */
bool opts_allowed(const struct opts *o, const char *letters, char **why)
{
	const struct row *r;

	for (r = rows; r->name; r++) {
		if (is_given(o, r) && !strchr("hV", r->letter) &&
		    !strchr(letters, r->letter)) {
			*why = text_format("takes no option --%s", r->name);
			return false;
		}
	}
	if ((o->json || o->pretty) && o->prometheus) {
		*why = text_format("--json and --prometheus exclude each other");
		return false;
	}
	return true;
}

/**
 * opts_help() - a line for each option
 * @f: where to
 * @letters: which
 */
void opts_help(FILE *f, const char *letters)
{
	const struct row *r;
	char left[40];

	for (r = rows; r->name; r++) {
		if (!strchr(letters, r->letter))
			continue;
		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", has_letter(r) ? '-' : ' ',
			 has_letter(r) ? r->letter : ' ', has_letter(r) ? "," : " ",
			 r->name, r->value ? " " : "", r->value ? r->value : "");
		fprintf(f, "  %-26s %s\n", left, r->help);
	}
}
