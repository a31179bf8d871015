// SPDX-License-Identifier: GPL-2.0
/*
 * memory - what it costs the owner of a device to change its memory.
 *
 * A device that knows pages of its owner's memory is told of each change, of whatever
 * memory it is. So before each call that is timed a few frames come to each device, and
 * then it knows the pages that they went to, elsewhere. Of 64 MiB of private memory, all
 * of it there.
 */
#include "ksft.h"
#include "single.h"
#include "turns.h"

#define REGION		(64ul << 20)
#define PAGE		4096ul
#define PAGES		256u	/* one after the other, as a balloon takes them */
#define FRAMES		5u
#define LEARN		200u	/* frames, after which the device knows some */
#define TIMES		7u

static void forked(uint8_t *at)
{
	if (!fork())
		_exit(0);
}

static void unmapped(uint8_t *at)
{
	munmap(at, REGION);
}

static void dropped(uint8_t *at)
{
	madvise(at, REGION, MADV_DONTNEED);
}

static void protected(uint8_t *at)
{
	mprotect(at, REGION, PROT_READ);
}

static void page_by_page(uint8_t *at)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		madvise(at + i * PAGE, PAGE, MADV_DONTNEED);
}

static const struct {
	const char *metric;
	void (*change)(uint8_t *at);
	unsigned int calls;
} changes[] = {
	{ "munmap", unmapped, 1 },
	{ "dontneed", dropped, 1 },
	{ "mprotect", protected, 1 },
	{ "fork", forked, 1 },
	{ "dontneed_page", page_by_page, PAGES },
};

#define CHANGES	(sizeof(changes) / sizeof(changes[0]))

static struct {
	struct ports p;
	double ns[CHANGES][SLICES];
} sample;

static void frames(unsigned int n)
{
	unsigned int i;

	while (n--)
		for (i = 0; i < sample.p.n; i++)
			single_round_trip(&sample.p, &sample.p.port[i]);
}

static unsigned int memory_open(const struct spec *s)
{
	single_begin(&sample.p, s);
	frames(LEARN);
	return TIMES;
}

static double time_of(unsigned int kind)
{
	uint8_t *at = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	uint64_t begin, end;

	ASSERT(at != MAP_FAILED);
	frames(FRAMES);
	begin = now_ns();
	changes[kind].change(at);
	end = now_ns();
	if (changes[kind].change == forked)
		ASSERT(wait(NULL) > 0);
	munmap(at, REGION);
	return (double)(end - begin) / changes[kind].calls;
}

static void memory_slice(unsigned int i)
{
	unsigned int kind;

	for (kind = 0; kind < CHANGES; kind++)
		sample.ns[kind][i] = time_of(kind);
}

static void memory_close(unsigned int slices)
{
	unsigned int kind, i;
	long pages = 0, known;

	for (i = 0; i < sample.p.n; i++) {
		known = rig_counter(&sample.p.port[i].r, "kvnet.pages_cached");
		pages += known > 0 ? known : 0;
	}
	for (kind = 0; kind < CHANGES; kind++)
		spec_slices(changes[kind].metric, sample.ns[kind], slices, "ns");
	spec_row("pages", pages, "1");
	single_end(&sample.p);
}

TURNS(memory, 240)
