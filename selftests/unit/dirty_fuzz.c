// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to a memory table, a dirty log, and what the device writes: the log has the bits that a
 * naive model sets, one by one, and no others; a range passes if all of its bits are in user
 * memory.
 */
#include "dirty_log.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <string.h>

#include "fuzz.h"
#include "memtable.h"
#include "shim.h"
#include "unit.h"

#define BYTES		(3 * PAGE_SIZE)
#define MAX_REGIONS	4

typedef unsigned __int128 u128;

const char fuzz_name[] = "dirty";

static u8 bits[BYTES] __attribute__((aligned(PAGE_SIZE))), want[BYTES];
static struct kvnet_dirty_log dirty;
static unsigned int n_new;

static int mark(u64 gpa, u64 len)
{
	u64 nr, at;

	for (nr = gpa / 4096; len && nr <= (gpa + (len - 1)) / 4096; nr++) {
		at = dirty.base + nr / 8 - (uintptr_t)bits;
		if (at >= BYTES)
			return -EFAULT;
		n_new += !(want[at] >> nr % 8 & 1);
		want[at] |= 1 << nr % 8;
	}
	return 0;
}

static bool range_ok(u64 base, u64 gpa, u64 len)
{
	return !len || ((u128)gpa + len - 1 <= U64_MAX &&
			(u128)base + (gpa + (len - 1)) / 4096 / 8 < shim_user_end);
}

/* The same of each part that a region has, of any kind. */
static bool parts_ok(const struct kvnet_memtable *mem, u64 base, u64 hva, u64 len, int *ret)
{
	const struct kvnet_region *r;
	u64 first, last;
	bool ok = true;

	for (*ret = 0, r = mem->region; r < mem->region + mem->n; r++) {
		first = max(hva, r->hva);
		last = min(hva + len, r->hva + (r->last - r->gpa) + 1);
		if (first >= last)
			continue;
		ok &= range_ok(base, r->gpa + (first - r->hva), last - first);
		if (!*ret)
			*ret = mark(r->gpa + (first - r->hva), last - first);
	}
	return ok;
}

static u64 read_addr(struct input *in)
{
	u8 how = take8(in);

	/* near the end of all addresses, or of the log, or anywhere in it */
	return how & 1 ? -(u64)take16(in) : how & 2 ? ((u64)BYTES << 15) - 4 * (u64)take16(in) :
	       (u64)(take32(in) % (BYTES << 3)) << 12 | take16(in) % 4096;
}

static struct kvnet_memtable *table(struct input *in)
{
	struct vhost_memory_region region[MAX_REGIONS];
	u32 n = take8(in) % (MAX_REGIONS + 1), i;

	for (i = 0; i < n; i++)
		region[i] = (struct vhost_memory_region) {
			.guest_phys_addr = read_addr(in), .memory_size = 1 + take16(in) * 8,
			.userspace_addr = 1000 * (u64)take16(in),
		};
	return kvnet_memtable_build(region, n);
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	struct kvnet_memtable *mem;
	u64 at, len, base;
	int ret;
	u8 op;

	shim_reset();
	shim_window(bits, BYTES);
	memset(bits, 0, BYTES);
	memset(want, 0, BYTES);
	n_new = 0;
	dirty = (struct kvnet_dirty_log) { .base = (uintptr_t)bits + take16(&in) % PAGE_SIZE };
	mem = table(&in);
	while (!IS_ERR(mem) && in.left) {
		op = take8(&in);
		len = op & 0x80 ? 0 : op & 0x40 ? (u64)take16(&in) << 12 : take8(&in);
		base = op & 0x20 ? dirty.base : shim_user_end - take32(&in);
		at = op & 1 ? 1000 * (u64)take16(&in) + (op >> 1 & 7) - 4 : read_addr(&in);
		if (op & 1) {
			at = max(at, 1ULL);
			EXPECT_EQ(kvnet_dirty_log_hva_ok(base, mem, at, len),
				  parts_ok(mem, base, at, len, &ret));
			EXPECT_EQ(kvnet_dirty_log_mark_hva(&dirty, mem, at, len), ret);
		} else {
			EXPECT_EQ(kvnet_dirty_log_range_ok(base, at, len), range_ok(base, at, len));
			/* as in a session: what wraps around is not marked */
			if (range_ok(0, at, len))
				EXPECT_EQ(kvnet_dirty_log_mark(&dirty, at, len), mark(at, len));
		}
		EXPECT_TRUE(shim_pin_live <= 1 && !shim_kmap_live);
		if (op & 16) {
			EXPECT_EQ(kvnet_dirty_log_end(&dirty), n_new);
			EXPECT_TRUE(!dirty.page && !dirty.n_marked);
			n_new = 0;
		}
	}
	if (!IS_ERR(mem))
		kvnet_memtable_free(mem);
	kvnet_dirty_log_end(&dirty);
	EXPECT_TRUE(!memcmp(bits, want, BYTES));
	EXPECT_TRUE(!shim_pin_live && !shim_alloc_live && !shim_unpin_clean);
}

#ifndef UNIT_LIBFUZZER
CASE_ROW(fuzz_writes, fuzz_random(20000, 200))
#endif
