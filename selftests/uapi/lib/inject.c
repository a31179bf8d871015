// SPDX-License-Identifier: GPL-2.0
/* The kernel's fault injection: see inject.h. */
#include "inject.h"
#include "ksft.h"

#define DEBUGFS "/sys/kernel/debug/"

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
	/* user copies fail by number only: libc's calls are not to */
	inject_put(DEBUGFS "fail_usercopy/verbose", "0");
}

long inject_high_order(void)
{
	static const char path[] = DEBUGFS "fail_page_alloc/times";
	FILE *times = fopen(path, "r");
	long left = 0;

	if (!times)
		ksft_skip("no %s", path);
	ASSERT_EQ(fscanf(times, "%ld", &left), 1);
	fclose(times);
	if (left < 0) {
		left = 1000000;
		ASSERT(inject_put(path, "1000000"));
		ASSERT(inject_put(DEBUGFS "fail_page_alloc/min-order", "1"));
		ASSERT(inject_put(DEBUGFS "fail_page_alloc/probability", "100"));
	}
	return left;
}

static void put_nth(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	/* the first may be what an earlier number was waiting for */
	if (pwrite(fd, text, len, 0) != len && pwrite(fd, text, len, 0) != len)
		ksft_skip("fail-nth: %s", strerror(errno));
}

bool injector_open(struct injector *in, pid_t tid, bool module)
{
	char path[64] = "/sys/module/kvnet/parameters/fail_nth";

	if (!module)
		snprintf(path, sizeof(path), "/proc/self/task/%d/fail-nth", tid);
	in->tid = tid;
	in->module = module;
	in->again = false;
	in->fd = open(path, O_RDWR | O_CLOEXEC);
	if (in->fd < 0 && !module)
		ksft_skip("no %s", path);
	return in->fd >= 0;
}

void injector_nth(const struct injector *in, unsigned int n)
{
	char text[32];
	int len;

	if (!in->module) {
		put_nth(in->fd, n);
		return;
	}
	len = snprintf(text, sizeof(text), "%d %u", in->tid, n);
	ASSERT_EQ(pwrite(in->fd, text, len, 0), len);
}

unsigned int injector_left(const struct injector *in)
{
	char text[16] = { 0 };

	/* of this thread's own this may be what fails, and had not failed before */
	if (pread(in->fd, text, sizeof(text) - 1, 0) <= 0)
		return 1;
	return atoi(text);
}

bool injector_hit(const struct injector *in)
{
	return !injector_left(in);
}

bool injector_end(struct injector *in, int ret)
{
	bool hit = injector_hit(in);

	injector_nth(in, 0);
	in->again = hit && !ret && !in->module && !in->again;
	return hit;
}

unsigned int injector_next(const struct injector *in, unsigned int n)
{
	return in->again ? n : n + 1;
}

void injector_close(struct injector *in)
{
	close(in->fd);
}

unsigned int inject_count(const char *path, const char *call)
{
	unsigned int n, found = -1u;
	FILE *f = fopen(path, "r");
	char name[64];

	ASSERT(f);
	while (fscanf(f, "%63s %u", name, &n) == 2)
		if (!strcmp(name, call))
			found = n;
	fclose(f);
	ASSERT(found != -1u);
	return found;
}
