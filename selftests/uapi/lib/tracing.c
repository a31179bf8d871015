// SPDX-License-Identifier: GPL-2.0
/* The kernel's tracepoints: see tracing.h. */
#include "tracing.h"

#include "inject.h"
#include "ksft.h"

#define TRACING	"/sys/kernel/tracing/"

static bool put(const char *event, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), TRACING "events/%s/%s", event, file);
	return inject_put(path, text);
}

bool tracing_begin(void)
{
	FILE *f = fopen(TRACING "trace", "we");	/* which empties it */

	return f && !fclose(f);
}

bool tracing_on(const char *event, const char *filter)
{
	return put(event, "filter", *filter ? filter : "0") && put(event, "enable", "1");
}

void tracing_look(void (*each)(const char *text, void *data), void *data)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];

	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		each(line, data);
	fclose(f);
}

struct count {
	const char *what;
	unsigned int n;
};

static void count(const char *text, void *data)
{
	struct count *c = data;

	c->n += text[0] != '#' && strstr(text, c->what);
}

unsigned int tracing_count(const char *what)
{
	struct count c = { what };

	tracing_look(count, &c);
	return c.n;
}

void tracing_end(void)
{
	inject_put(TRACING "events/enable", "0");
}
