// SPDX-License-Identifier: GPL-2.0
/* The TAP glue, see unit.h. */
#include "unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A case that takes longer hangs; the alarm ends the process. */
#define DEADLINE	360
#define MAX_NOTES	8

static struct unit_case *first, **last = &first;
static char context[256];
static unsigned int n_failed;
static uint64_t state;

void unit_register(struct unit_case *c)
{
	*last = c;
	last = &c->next;
}

/* May be called by any thread of a case. */
void unit_fail(const char *file, int line, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (__atomic_fetch_add(&n_failed, 1, __ATOMIC_RELAXED) >= MAX_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("# %s:%d: %s%s%s\n", file, line, text,
	       context[0] ? " | " : "", context);
}

void unit_context(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
}

bool unit_failed(void)
{
	return __atomic_load_n(&n_failed, __ATOMIC_RELAXED);
}

/* splitmix64 */
uint32_t unit_rand(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 16;
}

uint64_t unit_seed(uint64_t seed)
{
	uint64_t was = state;

	state = seed;
	return was;
}

uint32_t unit_rounds(uint32_t n)
{
	const char *env = getenv("UNIT_LONG");

	return env ? n * strtoul(env, NULL, 0) : n;
}

#ifndef UNIT_LIBFUZZER
static bool wanted(const struct unit_case *c, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strstr(c->name, argv[i]))
			return true;
	return argc < 2;
}

/* AddressSanitizer asks: kselftest runs tests under stdbuf, which is preloaded. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

int main(int argc, char **argv)
{
	const char *file = argv[0] + strlen(argv[0]), *env = getenv("UNIT_SEED");
	unsigned int n = 0, bad = 0, slashes = 0;
	struct unit_case *c;
	uint64_t seed;

	seed = env && *env ? strtoull(env, NULL, 0) : 1;
	/* build variant and program */
	while (file > argv[0] && (file[-1] != '/' || ++slashes < 2))
		file--;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (c = first; c; c = c->next)
		n += wanted(c, argc, argv);
	printf("TAP version 13\n1..%u\n# %s: UNIT_SEED=%llu\n", n, file,
	       (unsigned long long)seed);

	for (n = 0, c = first; c; c = c->next) {
		if (!wanted(c, argc, argv))
			continue;
		state = seed;
		n_failed = 0;
		context[0] = 0;
		alarm(DEADLINE);
		c->fn();
		bad += n_failed != 0;
		printf("%sok %u - %s: %s\n", n_failed ? "not " : "", ++n, file,
		       c->name);
	}
	return bad != 0;
}
#endif
