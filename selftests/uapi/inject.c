// SPDX-License-Identifier: GPL-2.0
/* The kernel's fault injection, of its memory allocations. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "inject.h"
#include "ksft.h"

#define DEBUGFS "/sys/kernel/debug/"
#define FAIL_NTH "/proc/thread-self/fail-nth"

bool inject_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

void inject_knobs(const char *probability)
{
	static const char *const dirs[] = { "failslab", "fail_page_alloc" };
	char path[128];
	size_t i;

	for (i = 0; i < 2; i++) {
#define KNOB(name, value) do {						\
		snprintf(path, sizeof(path), DEBUGFS "%s/" name, dirs[i]); \
		if (!inject_put(path, value) && !i)			\
			ksft_skip("no %s", path);			\
	} while (0)
		KNOB("verbose", "0");
		KNOB("ignore-gfp-wait", "N");
		KNOB("task-filter", "Y");
		KNOB("times", "-1");
		KNOB("probability", probability);
	}
	snprintf(path, sizeof(path), DEBUGFS "fail_page_alloc/min-order");
	inject_put(path, "0");
}

void inject_nth(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	/* the first may be what an earlier number was waiting for */
	if (!inject_put(FAIL_NTH, text) && !inject_put(FAIL_NTH, text))
		ksft_skip("no " FAIL_NTH);
}

unsigned int inject_left(void)
{
	char text[16] = { 0 };
	int fd = open(FAIL_NTH, O_RDONLY);

	if (fd < 0)
		fd = open(FAIL_NTH, O_RDONLY);
	ASSERT(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return atoi(text);
}
