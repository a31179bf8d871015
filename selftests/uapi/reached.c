// SPDX-License-Identifier: GPL-2.0
/* What has run: see reached.h. */
#define _GNU_SOURCE
#include "reached.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ksft.h"

#define MAP_FILE	"/sys/kernel/debug/kvnet_reached"
#define BITS		(8 * sizeof(long))
#define STRING(x)	#x
#define NAME(x)		STRING(x)
#define FUNCTIONS	4096

static struct reached_map map;
static int file = -1;

static bool read_map(void)
{
	return pread(file, &map, sizeof(map), 0) == sizeof(map);
}

bool reached_open(void)
{
	file = open(MAP_FILE, O_RDONLY | O_CLOEXEC);
	return file >= 0 && read_map();
}

static unsigned int count(const unsigned long *bits, unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n / BITS; i++)
		sum += __builtin_popcountl(bits[i]);
	return sum;
}

bool reached_more(struct reached *r)
{
	struct reached before = *r;

	if (file < 0 || !EXPECT(read_map()))
		return false;
	r->points = count(map.point, REACHED_POINTS);
	r->called = count(map.called, REACHED_POINTS);
	r->ways = count(map.way, REACHED_WAYS);
	return r->points > before.points || r->ways > before.ways;
}

/*** by name ***/

struct function {
	unsigned long at;
	char name[64];
};

static int by_address(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	return (f->at > g->at) - (f->at < g->at);
}

static unsigned int functions(struct function *f, unsigned long *anchor)
{
	char line[256], type, module[64];
	FILE *symbols = fopen("/proc/kallsyms", "re");
	unsigned int n = 0;

	while (symbols && n < FUNCTIONS && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%lx %c %63s [%63[^]]", &f[n].at, &type, f[n].name,
			   module) != 4 ||
		    strcmp(module, "kvnet") || (type != 't' && type != 'T'))
			continue;
		if (!strcmp(f[n].name, NAME(REACHED_ANCHOR)))
			*anchor = f[n].at;
		n++;
	}
	if (symbols)
		fclose(symbols);
	qsort(f, n, sizeof(*f), by_address);
	return n;
}

static bool any_in(unsigned long from, unsigned long to, unsigned long anchor)
{
	unsigned long at;
	unsigned int i;

	/* the call is in it, and maybe at its very end */
	for (at = from + 1; at <= to; at++) {
		i = (long)(at - anchor) / REACHED_UNIT + REACHED_POINTS / 2;
		if (i < REACHED_POINTS && map.point[i / BITS] >> i % BITS & 1)
			return true;
	}
	return false;
}

/* Neither ours, nor a compiler's, nor for what nobody has switched on. */
static bool is_instrumented(const char *name)
{
	static const char *const others[] = {
		"_sub_", "__pfx_", "trace_", "__traceiter_", "__bpf_trace_", "perf_trace_",
		"__probestub_", "reached_", NAME(REACHED_ANCHOR), "cleanup_module",
		"init_module",
	};
	unsigned int i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return !strstr(name, ".cold");
}

void reached_say_what_is_not(void)
{
	struct function *f = calloc(FUNCTIONS, sizeof(*f));
	unsigned int i, n, all = 0, not = 0;
	unsigned long anchor = 0;

	n = functions(f, &anchor);
	for (i = 0; anchor && i + 1 < n; i++) {
		if (!is_instrumented(f[i].name) || f[i].at == f[i + 1].at)
			continue;
		all++;
		if (any_in(f[i].at, f[i + 1].at, anchor))
			continue;
		ksft_note("  not entered: %s", f[i].name);
		not++;
	}
	ksft_note("%u of %u functions were entered", all - not, all);
	free(f);
}
