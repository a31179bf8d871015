// SPDX-License-Identifier: GPL-2.0
/*
 * What has run: see reached.h.
 *
 * The kernel writes the address of each part into an area for each thread, and into one for
 * all that is done elsewhere on behalf of who has the handle, which children inherit. These areas
 * are read and emptied while they are written. The kernel does not do that atomically: some
 * may be lost by that, or seen twice.
 */
#define _GNU_SOURCE
#include "reached.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ksft.h"
#include "vdev.h"

#define KCOV_FILE	"/sys/kernel/debug/kcov"
#define AREA		(1ul << 16)	/* parts that have room; of a thread, or of a turn */
#define AREA_REMOTE	(1ul << 18)
#define TEXT		(1u << 21)	/* bytes, more than there are */
#define WAYS		(1u << 18)
#define BITS		(8 * sizeof(long))
#define FUNCTIONS	4096

struct area {
	int fd;
	unsigned long size;
	unsigned long *at;	/* how many, and then these */
	uint32_t before;	/* the last one */
	unsigned long full;	/* times that it was, so that some were lost */
};

struct function {
	unsigned long at;
	char name[64];
};

/* The last one is that of workers and softirqs. */
static struct area areas[REACHED_THREADS + 1];
static struct area *const remote = &areas[REACHED_THREADS];
static bool is_open;

static struct function function[FUNCTIONS];
static unsigned int functions;	/* and the end of the last one */

/* By where the part ends, from the first function on. */
static unsigned long point[TEXT / BITS], called[TEXT / BITS], way[WAYS / BITS];

/*** the module's functions ***/

static int by_address(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	return (f->at > g->at) - (f->at < g->at);
}

static bool read_functions(void)
{
	char line[256], type, module[64];
	FILE *symbols = fopen("/proc/kallsyms", "re");
	struct function *f = function;
	unsigned int n = 0;

	while (symbols && n < FUNCTIONS && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%lx %c %63s [%63[^]]", &f[n].at, &type, f[n].name,
			   module) == 4 &&
		    !strcmp(module, "kvnet") && (type == 't' || type == 'T'))
			n++;
	if (symbols)
		fclose(symbols);
	qsort(f, n, sizeof(*f), by_address);
	functions = n;
	return n && f[n - 1].at - f[0].at < TEXT;
}

static bool any_in(unsigned long from, unsigned long to)
{
	unsigned long i;

	/* an address is that after a call, which may be the last thing in a function */
	for (i = from + 1 - function->at; i <= to - function->at; i++)
		if (i < TEXT && point[i / BITS] >> i % BITS & 1)
			return true;
	return false;
}

/*** what the kernel tells ***/

static bool open_area(struct area *a, unsigned long size)
{
	a->size = size;
	a->fd = open(KCOV_FILE, O_RDWR | O_CLOEXEC);
	if (a->fd < 0)
		return false;
	ASSERT_SYS(ioctl(a->fd, KCOV_INIT_TRACE, size));
	a->at = mmap(NULL, size * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	ASSERT(a->at != MAP_FAILED);
	return true;
}

static void note(unsigned int bit, unsigned long *bits)
{
	bits[bit / BITS] |= 1ul << bit % BITS;
}

/* What follows the end of a turn, or of a call, is one way more, from there to the next one. */
static void note_point(struct area *a, uint32_t at)
{
	uint64_t two = (uint64_t)a->before << 32 | at;

	note(at, point);
	if (a != remote)
		note(at, called);
	note(two * 0x61c8864680b583ebull >> 46, way);	/* of 64 bits 18 */
	a->before = at;
}

static void look_at(struct area *a)
{
	unsigned long i = 1, at, n = __atomic_load_n(a->at, __ATOMIC_ACQUIRE);

	/* until none has come meanwhile */
	do {
		for (; i <= n && i < a->size; i++) {
			at = __atomic_load_n(&a->at[i], __ATOMIC_RELAXED) - function->at;
			if (at < TEXT)
				note_point(a, at);
		}
	} while (n && !__atomic_compare_exchange_n(a->at, &n, 0, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE));
	a->full += n >= a->size - 1;
}

void reached_look(void)
{
	unsigned int i;

	for (i = 0; is_open && i <= REACHED_THREADS; i++)
		look_at(&areas[i]);
}

/* Is the module built for it? */
static bool tells(void)
{
	bool any;
	int fd;

	ASSERT_SYS(ioctl(areas[0].fd, KCOV_ENABLE, KCOV_TRACE_PC));
	fd = open(vdev_path(), O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	ASSERT_SYS(ioctl(areas[0].fd, KCOV_DISABLE, 0));
	look_at(&areas[0]);
	any = any_in(function->at, function->at + TEXT);
	memset(point, 0, sizeof(point));
	memset(called, 0, sizeof(called));
	memset(way, 0, sizeof(way));
	return any;
}

bool reached_open(void)
{
	struct kcov_remote_arg arg = {
		.trace_mode = KCOV_TRACE_PC,
		.area_size = AREA,
		.common_handle = kcov_remote_handle(KCOV_SUBSYSTEM_COMMON, getpid()),
	};
	unsigned int i;

	if (is_open)
		return true;
	if (access(KCOV_FILE, F_OK) || !read_functions())
		return false;
	for (i = 0; i <= REACHED_THREADS; i++)
		if (!open_area(&areas[i], i < REACHED_THREADS ? AREA : AREA_REMOTE))
			return false;
	if (!tells())
		return false;
	ASSERT_SYS(ioctl(remote->fd, KCOV_REMOTE_ENABLE, &arg));
	is_open = true;
	return true;
}

void reached_here(unsigned int nr)
{
	/* one that had the number may still be at its end */
	if (is_open && ioctl(areas[nr].fd, KCOV_ENABLE, KCOV_TRACE_PC))
		EXPECT(errno == EBUSY || errno == EINVAL);
}

/*** what it comes to ***/

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
	unsigned int i;

	reached_look();
	r->points = count(point, TEXT);
	r->called = count(called, TEXT);
	r->ways = count(way, WAYS);
	for (i = 0, r->full = 0; i <= REACHED_THREADS; i++)
		r->full += areas[i].full;
	return r->points > before.points || r->ways > before.ways;
}

bool reached_function(const char *name)
{
	unsigned int i;

	for (i = 0; i + 1 < functions; i++)
		if (!strcmp(function[i].name, name))
			return any_in(function[i].at, function[i + 1].at);
	FAIL("there is no %s", name);
	return false;
}

/* Neither a compiler's, nor for what nobody has switched on. */
static bool is_instrumented(const char *name)
{
	static const char *const others[] = {
		"_sub_", "__pfx_", "trace_", "__traceiter_", "__bpf_trace_", "perf_trace_",
		"__probestub_", "cleanup_module", "init_module",
	};
	unsigned int i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return !strstr(name, ".cold");
}

void reached_say_what_is_not(void)
{
	const struct function *f = function;
	unsigned int i, all = 0, not = 0;

	for (i = 0; i + 1 < functions; i++) {
		if (!is_instrumented(f[i].name) || f[i].at == f[i + 1].at)
			continue;
		all++;
		if (any_in(f[i].at, f[i + 1].at))
			continue;
		ksft_note("  not entered: %s", f[i].name);
		not++;
	}
	ksft_note("%u of %u functions were entered", all - not, all);
}
