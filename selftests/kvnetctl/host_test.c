// SPDX-License-Identifier: GPL-2.0
/* Processes that end, or have the reader wait, while they are looked at. */
#include "host.h"
#include "event_wait.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/host_test.XXXXXX";
static bool dies;

/* What it was called with, and then it is not there any more: read() says ESRCH. */
static ssize_t half(void *at, char *buf, size_t len)
{
	bool *begun = at;

	if (*begun)
		return -1;
	*begun = true;
	return snprintf(buf, len, "qemu");
}

/* In the place of the C library's. */
FILE *fopen(const char *path, const char *mode)
{
	static bool begun;
	int fd;

	if (dies && strstr(path, "/cmdline")) {
		begun = false;
		return fopencookie(&begun, mode, (cookie_io_functions_t) { .read = half });
	}
	fd = open(path, *mode == 'r' ? O_RDONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? NULL : fdopen(fd, mode);
}

static void write_file(const char *name, const char *text, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/7/%s", root, name);
	f = fopen(path, "w");
	if (EXPECT_TRUE(f)) {
		fwrite(text, 1, len, f);
		fclose(f);
	}
}

static void begin(void)
{
	char path[128];

	EXPECT_TRUE(mkdtemp(root));
	snprintf(path, sizeof(path), "mkdir -p %s/proc/7", root);
	EXPECT_EQ(system(path), 0);
	host_root = root;
	write_file("comm", "qemu\n", 5);
	write_file("cmdline", "qemu\0-name\0web\0", 15);
}

static void end(void)
{
	char path[128];

	host_root = "";
	snprintf(path, sizeof(path), "rm -r %s", root);
	EXPECT_EQ(system(path), 0);
	memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
}

CASE(a_process)
{
	struct process p;

	begin();
	if (EXPECT_TRUE(process_read(&p, 7))) {
		EXPECT_EQ(p.argc, 3);
		EXPECT_TRUE(p.vm && !strcmp(p.vm, "web"));
		process_free(&p);
	}
	EXPECT_TRUE(!process_read(&p, 8));
	end();
}

CASE(one_that_ends_while_it_is_read)
{
	struct process p;

	begin();
	dies = true;
	if (EXPECT_TRUE(process_read(&p, 7))) {
		EXPECT_EQ(p.argc, 0);
		EXPECT_TRUE(!p.vm);
		process_free(&p);
	}
	dies = false;
	end();
}

#define MANY	30

/* Memory that never comes, as of a pipe: all looks together take little more than one. */
CASE(processes_whose_arguments_never_come)
{
	uint64_t start = now_ns();
	struct process p;
	char path[128];
	unsigned int i;

	begin();
	snprintf(path, sizeof(path), "%s/proc/7/cmdline", root);
	EXPECT_EQ(unlink(path), 0);
	EXPECT_EQ(mkfifo(path, 0600), 0);
	for (i = 0; i < MANY; i++) {
		if (!EXPECT_TRUE(process_read(&p, 7)))
			break;
		EXPECT_TRUE(p.stalled && !p.argc && !p.vm && !strcmp(p.command, "qemu"));
		process_free(&p);
	}
	EXPECT_TRUE(now_ns() - start < UINT64_C(8000000000));
	/* the readers have ended, too */
	while (wait(NULL) > 0)
		;
	EXPECT_EQ(errno, ECHILD);
	end();
}
