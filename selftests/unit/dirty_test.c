// SPDX-License-Identifier: GPL-2.0
/*
 * The dirty log: the bits of what was written, all of them and no others; and
 * each page of the log let go of as often as it was pinned.
 */
#include "dirty_log.h"

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <stdlib.h>
#include <string.h>

#include "memtable.h"
#include "shim.h"
#include "unit.h"

#define PAGES		6	/* of the log that the owner has mapped */
#define BYTES		(PAGES * PAGE_SIZE)

static struct log {
	u8 *mem;		/* the log, page-aligned */
	u8 want[BYTES];		/* what it should be */
	u8 was[BYTES];		/* at the barrier */
	unsigned int barriers;
	struct kvnet_dirty_log d;
} the_log;

/* The barrier comes before the first look at a bit, hence before any change. */
static bool at_barrier(void *ctx, const struct shim_event *ev)
{
	struct log *l = ctx;

	if (ev->op == SHIM_MB) {
		l->barriers++;
		EXPECT_TRUE(!memcmp(l->mem, l->was, BYTES));
	}
	return false;
}

/* A log of which the first page of the guest is at byte @off. */
static struct log *open_log(u64 off)
{
	struct log *l = &the_log;

	shim_reset();
	memset(l, 0, sizeof(*l));
	l->mem = aligned_alloc(PAGE_SIZE, BYTES);
	memset(l->mem, 0, BYTES);
	shim_window(l->mem, BYTES);
	l->d.base = (uintptr_t)l->mem + off;
	return l;
}

static void close_log(struct log *l)
{
	kvnet_dirty_log_end(&l->d);
	EXPECT_EQ(shim_pin_live, 0);
	EXPECT_EQ(shim_kmap_live, 0);
	EXPECT_EQ(shim_unpin_clean, 0);
	free(l->mem);
	shim_reset();
}

/* The bit of page @nr, counted from the log's base; it is in the log. */
static void want_page(struct log *l, u64 nr)
{
	u64 at = l->d.base + nr / 8 - (uintptr_t)l->mem;

	if (EXPECT_TRUE(at < BYTES))
		l->want[at] |= 1 << nr % 8;
}

static void check_log(struct log *l)
{
	EXPECT_TRUE(!memcmp(l->mem, l->want, BYTES));
	EXPECT_TRUE(shim_pin_live <= 1);
	EXPECT_EQ(shim_kmap_live, 0);
}

/* Where the log ends, or what is before it, the model does not go. */
static void mark(struct log *l, u64 gpa, u64 len)
{
	u64 nr, last = (gpa + len - 1) / KVNET_DIRTY_LOG_PAGE;

	memcpy(l->was, l->mem, BYTES);
	l->barriers = 0;
	shim_hook(at_barrier, l);
	for (nr = gpa / KVNET_DIRTY_LOG_PAGE; len && nr <= last; nr++)
		want_page(l, nr);
	EXPECT_EQ(kvnet_dirty_log_mark(&l->d, gpa, len), 0);
	EXPECT_TRUE(!len || l->barriers);
	check_log(l);
}

struct row {
	const char *what;
	u64 gpa, len;
	unsigned int marks, pins;
};

#define GPA(byte, bit)	(((u64)(byte) * 8 + (bit)) * KVNET_DIRTY_LOG_PAGE)

static const struct row rows[] = {
	{ "nothing", 0, 0, 0, 0 },
	{ "nothing, within a page", 77, 0, 0, 0 },
	{ "the first byte", 0, 1, 1, 1 },
	{ "the last byte of a page", 4095, 1, 1, 1 },
	{ "over a border", 4095, 2, 2, 1 },
	{ "a page", 4096, 4096, 1, 1 },
	{ "a page and a byte", 4096, 4097, 2, 1 },
	{ "a byte and a page", 4095, 4097, 2, 1 },
	{ "eight pages", 0, 8 * 4096, 8, 1 },
	{ "eight pages in two bytes", 5 * 4096, 8 * 4096, 8, 1 },
	{ "longs of bits", 63 * 4096, 66 * 4096, 66, 1 },
	{ "a whole page of the log", 0, GPA(PAGE_SIZE, 0), 32768, 1 },
	{ "one bit more", 0, GPA(PAGE_SIZE, 0) + 1, 32769, 2 },
	{ "two bits over a border", GPA(PAGE_SIZE, 0) - 1, 2, 2, 2 },
	{ "three pages of the log, but two bits", 4096,
	  GPA(3 * PAGE_SIZE, 0) - 8192, 3 * 32768 - 2, 3 },
	{ "the last bit that there is", GPA(BYTES, 0) - 1, 1, 1, 1 },
	{ "all that there is", 0, GPA(BYTES, 0), 8 * BYTES, PAGES },
};

CASE(dirty_ranges)
{
	unsigned int i;
	struct log *l;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		unit_context("%s", row->what);
		l = open_log(0);
		mark(l, row->gpa, row->len);
		EXPECT_EQ(l->d.n_marked, row->marks);
		EXPECT_EQ(shim_pins, row->pins);
		/* again: they are set, and what is pinned stays so */
		mark(l, row->gpa, row->len);
		EXPECT_EQ(shim_pins, row->pins < 2 ? row->pins :
			  2 * row->pins);
		EXPECT_EQ(kvnet_dirty_log_end(&l->d), row->marks);
		EXPECT_EQ(shim_pin_live, 0);
		EXPECT_EQ(kvnet_dirty_log_end(&l->d), 0);
		/* after the end it may go on */
		mark(l, row->gpa, row->len);
		EXPECT_EQ(kvnet_dirty_log_end(&l->d), 0);
		/* and what the VMM took is set again */
		memset(l->mem, 0, BYTES);
		mark(l, row->gpa, row->len);
		EXPECT_EQ(kvnet_dirty_log_end(&l->d), row->marks);
		close_log(l);
	}
}

/* Guest memory anywhere up to 2^64, in a log of which that part is mapped. */
CASE(dirty_high_memory)
{
	static const u64 first[] = {
		0, 1ULL << 32, 1ULL << 52, -(u64)GPA(BYTES, 0),
	};
	unsigned int i;
	struct log *l;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		unit_context("from 0x%llx", (unsigned long long)first[i]);
		l = open_log(0);
		l->d.base -= first[i] / KVNET_DIRTY_LOG_PAGE / 8;
		mark(l, first[i], 1);
		mark(l, first[i] + GPA(BYTES, 0) - 1, 1);
		mark(l, first[i] + GPA(PAGE_SIZE, 0) - 1, 2);
		mark(l, first[i] + GPA(2 * PAGE_SIZE, 0),
		     GPA(BYTES - 2 * PAGE_SIZE, 0));
		EXPECT_EQ(kvnet_dirty_log_end(&l->d),
			  3 + 8 * (BYTES - 2 * PAGE_SIZE));
		close_log(l);
	}
}

/* The nth pin fails: what was marked is of the range, and nothing is held. */
CASE(dirty_log_gone)
{
	unsigned int n, k, marks;
	struct log *l;
	int ret = -1;

	for (n = 0; ret; n++) {
		unit_context("pin %u", n);
		l = open_log(100);
		EXPECT_EQ(kvnet_dirty_log_mark(&l->d, 0, 1), 0);
		shim_pin_budget = n;
		ret = kvnet_dirty_log_mark(&l->d, GPA(PAGE_SIZE - 101, 7),
					   GPA(2 * PAGE_SIZE + 3, 0));
		EXPECT_EQ(ret, n < 3 ? -EFAULT : 0);
		EXPECT_EQ(shim_pins, 1 + min_t(u32, n, 3));
		/* as far as it came */
		want_page(l, 0);
		marks = n < 3 ? 1 + 32768 * n : 8 * (2 * PAGE_SIZE + 3);
		for (k = 0; k < marks; k++)
			want_page(l, 8 * (PAGE_SIZE - 101) + 7 + k);
		check_log(l);
		EXPECT_EQ(l->d.n_marked, marks + 1);
		EXPECT_EQ(shim_pin_live, ret ? 0 : 1);
		/* the log comes back */
		shim_pin_budget = -1;
		mark(l, 0, 1);
		EXPECT_EQ(shim_pin_live, 1);
		EXPECT_EQ(kvnet_dirty_log_end(&l->d), marks + 1);
		close_log(l);
	}
	EXPECT_EQ(n, 4);
}

/* Beyond what is mapped, on either side. */
CASE(dirty_outside_the_log)
{
	struct log *l = open_log(0);

	EXPECT_EQ(kvnet_dirty_log_mark(&l->d, GPA(BYTES, 0), 1), -EFAULT);
	EXPECT_EQ(kvnet_dirty_log_mark(&l->d, U64_MAX, 1), -EFAULT);
	l->d.base -= PAGE_SIZE;
	EXPECT_EQ(kvnet_dirty_log_mark(&l->d, 0, 1), -EFAULT);
	check_log(l);
	EXPECT_EQ(shim_pin_live, 0);
	EXPECT_EQ(l->d.n_marked, 0);
	close_log(l);
}

/*
 * Another log, or the same one elsewhere: the page that was pinned for the old
 * address must not be taken for it.
 */
CASE(dirty_base_moves)
{
	struct log *l = open_log(0);

	mark(l, 0, 1);
	l->d.base += PAGE_SIZE;
	mark(l, 0, 1);
	l->d.base += 1;
	mark(l, 0, 1);
	EXPECT_EQ(shim_pins, 2);
	l->d.base -= PAGE_SIZE;
	mark(l, 0, 1);
	EXPECT_EQ(kvnet_dirty_log_end(&l->d), 4);
	close_log(l);
}

#define REGION(gpa, len, hva) \
	{ .guest_phys_addr = (gpa), .memory_size = (len), \
	  .userspace_addr = (hva) }

static const struct vhost_memory_region layout[] = {
	REGION(0x10000, 0x8000, 0x100000),
	/* half of it once more, not aligned alike */
	REGION(0x40800, 0x4000, 0x104000),
	/* the rest goes on where that ends */
	REGION(0x50000, 0x3001, 0x108000),
	/* a hole of 0xfff, and one byte */
	REGION(0x1000, 1, 0x10c000),
	REGION(0x2fff, 2, 0x10d000),
};

static void mark_hva(struct log *l, const struct kvnet_memtable *mem, u64 hva,
		     u64 len)
{
	const struct vhost_memory_region *r;
	u64 at;

	unit_context("hva 0x%llx, len 0x%llx", (unsigned long long)hva,
		     (unsigned long long)len);
	for (r = layout; r < layout + ARRAY_SIZE(layout); r++)
		for (at = hva; at - hva < len; at++)
			if (at - r->userspace_addr < r->memory_size)
				want_page(l, (r->guest_phys_addr + at -
					      r->userspace_addr) /
					  KVNET_DIRTY_LOG_PAGE);
	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, hva, len), 0);
	check_log(l);
}

CASE(dirty_owners_memory)
{
	static const struct { u64 hva, len; unsigned int marks; } known[] = {
		{ 0x100000, 0, 0 }, { 0x100000, 1, 1 }, { 0xfffff, 1, 0 },
		{ 0xfffff, 2, 1 }, { 0x104000, 1, 2 }, { 0x103fff, 2, 3 },
		{ 0x104000, 0x1000, 3 }, { 0x107fff, 2, 3 },
		{ 0x10b000, 1, 1 }, { 0x10b001, 0xfff, 0 },
		{ 0x10b001, 0x1000, 1 }, { 0x10d000, 1, 1 },
		{ 0x10d000, 2, 2 }, { 0x10d002, 0x1000000, 0 },
		{ 0, 0x200000, 20 }, { U64_MAX, 1, 0 }, { U64_MAX - 4095, 4096, 0 },
		{ 0, 1, 0 },
	};
	struct kvnet_memtable *mem = kvnet_memtable_build(layout, ARRAY_SIZE(layout));
	struct log *l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		l = open_log(3);
		mark_hva(l, mem, known[i].hva, known[i].len);
		EXPECT_EQ(l->d.n_marked, known[i].marks);
		close_log(l);
	}
	for (i = 0; i < 1000 && !unit_failed(); i++) {
		l = open_log(3);
		mark_hva(l, mem, 0xff000 + unit_below(0x10000),
			 unit_below(unit_chance(3) ? 3 : 0x3000));
		close_log(l);
	}
	kvnet_memtable_free(mem);
	EXPECT_EQ(shim_alloc_live, 0);
}

/* Both ends of the guest's memory, and both ends of the owner's. */
CASE(dirty_owners_memory_at_the_ends)
{
	const struct vhost_memory_region r[] = {
		REGION(0, 8192, (1ULL << 47) - 8192),
		REGION(U64_MAX - 8191, 8192, 0),
	};
	struct kvnet_memtable *mem = kvnet_memtable_build(r, ARRAY_SIZE(r));
	struct log *l = open_log(0);

	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, 0, 0), 0);
	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, (1ULL << 47) - 1, 1), 0);
	EXPECT_EQ(l->mem[0], 2);
	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, (1ULL << 47) - 8192,
					   U64_MAX - ((1ULL << 47) - 8192)), 0);
	EXPECT_EQ(l->mem[0], 3);
	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, 0, 1), -EFAULT);
	l->d.base = (uintptr_t)l->mem - (1ULL << 49) + 1;
	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, 8191, 1), 0);
	EXPECT_EQ(l->mem[0], 0x83);
	EXPECT_EQ(kvnet_dirty_log_mark_hva(&l->d, mem, 0, 9000), 0);
	EXPECT_EQ(l->mem[0], 0xc3);
	close_log(l);
	kvnet_memtable_free(mem);
}

CASE(dirty_ok_limits)
{
	static const u64 end = 1ULL << 47;
	const struct { u64 base, gpa, len; bool ok; } known[] = {
		{ 0, 0, 0, true }, { U64_MAX, U64_MAX, 0, true },
		{ 0, 0, 1, true }, { end - 1, 0, 8 * 4096, true },
		{ end - 1, 0, 8 * 4096 + 1, false }, { end, 0, 1, false },
		{ end - 1, 8 * 4096 - 1, 1, true },
		{ end - 1, 8 * 4096, 1, false },
		{ end - 2, 8 * 4096, 1, true },
		{ end - 2, 8 * 4096 - 1, 2, true },
		{ 0, GPA(end, 0) - 1, 1, true }, { 0, GPA(end, 0), 1, false },
		{ U64_MAX, 8 * 4096, 1, false },	/* wraps to 0 */
		{ -(1ULL << 48), 1ULL << 63, 1, false },
		{ 0, 0, U64_MAX, false },
		{ 0, 4096, 0ULL - 4096, false },
		{ 0, U64_MAX, 1, false }, { 0, U64_MAX, 2, false },
	};
	unsigned int i;

	shim_reset();
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		unit_context("row %u", i);
		EXPECT_EQ(kvnet_dirty_log_range_ok(known[i].base, known[i].gpa,
						   known[i].len), known[i].ok);
	}
	/* all addresses are a user's: what wraps is still wrong */
	shim_user_end = U64_MAX;
	EXPECT_TRUE(kvnet_dirty_log_range_ok(0, U64_MAX, 1));
	EXPECT_TRUE(kvnet_dirty_log_range_ok(0, 0, U64_MAX));
	EXPECT_TRUE(!kvnet_dirty_log_range_ok(0, U64_MAX, 2));
	EXPECT_TRUE(!kvnet_dirty_log_range_ok(0, 2, U64_MAX));
	EXPECT_TRUE(!kvnet_dirty_log_range_ok(U64_MAX - 100, GPA(200, 0), 1));
	shim_reset();
}

/* How far the log must reach for what is in the owner's memory. */
CASE(dirty_reach_of_owners_memory)
{
	static const u64 end = 1ULL << 47;
	/* This guest address has its bit at the end of the owner's memory, if the log is at 0. */
	const u64 far = GPA(end, 0);
	const struct vhost_memory_region r[] = {
		REGION(0, 0x4000, 0x100000),
		REGION(far - 0x1000, 0x2000, 0x104000),
		/* the first once more, out of reach */
		REGION(far + 0x10000, 0x1000, 0x101000),
	};
	const struct { u64 base, hva, len; bool ok; } known[] = {
		{ 0, 0x100000, 0x1000, true },
		{ 0, 0x100000, 0x1001, false },
		{ 0, 0x102000, 0x3000, true },
		{ 0, 0x102000, 0x3001, false },
		{ 0, 0x105fff, 1, false },
		{ 0, 0x106000, 0x1000, true },	/* not the guest's */
		{ 0, 0x105000, 0, true },
		{ end - 1, 0x100000, 1, true },
		{ end, 0x100000, 1, false },
		{ end - 1, 0x104000, 1, false },
		{ 0, 0, U64_MAX, false },
	};
	struct kvnet_memtable *mem = kvnet_memtable_build(r, ARRAY_SIZE(r));
	unsigned int i;

	shim_reset();
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		unit_context("row %u", i);
		EXPECT_EQ(kvnet_dirty_log_hva_ok(known[i].base, mem, known[i].hva,
						 known[i].len), known[i].ok);
	}
	kvnet_memtable_free(mem);
}
