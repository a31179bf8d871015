// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to an indirect table of a split ring, and to the descriptor that leads to it:
 * the segments are those that a naive second walker finds, or both refuse it; and it is
 * read nowhere else, and not without end.
 */
#include "chain.h"

#include <endian.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <string.h>

#include "fuzz.h"
#include "unit.h"

#define MAX_TABLE	70
#define MAX_CAP		40

const char fuzz_name[] = "table";

static struct {
	u8 bytes[MAX_TABLE * 16];
	u64 addr;
	u32 len;		/* as the driver says; there may be less */
	unsigned int reads;
	int fails;		/* the read that does, from 1 */
} table;

static int read_table(void *ctx, u64 addr, void *dst, u32 len)
{
	u64 off = addr - table.addr;

	EXPECT_TRUE(len && off <= table.len && len <= table.len - off);
	if (++table.reads == table.fails)
		return -EFAULT;
	memset(dst, 0, len);
	if (off < sizeof(table.bytes))
		memcpy(dst, table.bytes + off, min_t(u64, len, sizeof(table.bytes) - off));
	return 0;
}

static void ref_desc(u32 i, bool le, struct kvnet_desc *d)
{
	u8 raw[16] = { 0 };
	u64 addr;
	u32 len;
	u16 flags, next;

	if (i < MAX_TABLE)
		memcpy(raw, table.bytes + 16 * i, 16);
	memcpy(&addr, raw, 8);
	memcpy(&len, raw + 8, 4);
	memcpy(&flags, raw + 12, 2);
	memcpy(&next, raw + 14, 2);
	d->addr = le ? le64toh(addr) : be64toh(addr);
	d->len = le ? le32toh(len) : be32toh(len);
	d->flags = le ? le16toh(flags) : be16toh(flags);
	d->next = le ? le16toh(next) : be16toh(next);
}

/* How many segments, or -1. */
static int ref_walk(bool le, unsigned int n_in, unsigned int cap, struct kvnet_seg *seg)
{
	u64 count = table.len / 16, steps;
	struct kvnet_desc d;
	u32 i = 0, n = 0;

	if (!count || table.len % 16 || count > 65536 ||
	    (unsigned __int128)table.addr + table.len > (unsigned __int128)1 << 64)
		return -1;
	for (steps = 0; steps < count && n < cap; steps++, i = d.next) {
		ref_desc(i, le, &d);
		if (d.flags & 4 || (n_in && !(d.flags & 2)))
			return -1;
		n_in += !!(d.flags & 2);
		seg[n].addr = d.addr;
		seg[n++].len = d.len;
		if (!(d.flags & 1))
			return n;
		if (d.next >= count)
			return -1;
	}
	return -1;
}

static void fill(struct input *in)
{
	u8 tame = take8(in);
	size_t i;

	memset(table.bytes, 0, sizeof(table.bytes));
	for (i = 0; i < sizeof(table.bytes) && in->left; i++) {
		table.bytes[i] = take8(in);
		/* few enough flags, and next ones that are there */
		if (tame & 1 && i % 16 == 12)
			table.bytes[i] &= 3;
		if (tame & 2 && (i % 16 == 15 || i % 16 == 13))
			table.bytes[i] = 0;
	}
}

void fuzz_one(const u8 *data, size_t size)
{
	struct kvnet_seg got[MAX_CAP + 1], want[MAX_CAP];
	struct input in = { .p = data, .left = size };
	const struct kvnet_reader reader = { .read = read_table };
	struct kvnet_chain chain = { .seg = got };
	u8 how = take8(&in);
	struct kvnet_desc d = { .flags = 4 };
	unsigned int i;
	int n, ret;

	chain.cap = 1 + take8(&in) % MAX_CAP;
	chain.n_in = how & 1;
	chain.n_out = how & 1 ? 0 : (how >> 1 & 1);
	table.addr = how & 4 ? take64(&in) : how & 8 ? -(u64)take16(&in) : 0x1000;
	table.len = how & 16 ? take32(&in) : 16 * (take8(&in) % MAX_TABLE);
	table.fails = how & 32 ? take8(&in) : 0;
	table.reads = 0;
	fill(&in);
	d.addr = table.addr;
	d.len = table.len;
	got[chain.cap].len = 12345;

	i = chain.n_in + chain.n_out;
	n = ref_walk(how & 64, chain.n_in, chain.cap - i, want);
	ret = kvnet_chain_add_table(&chain, &d, how & 64, &reader);
	EXPECT_EQ(got[chain.cap].len, 12345);
	EXPECT_TRUE(table.reads <= chain.cap + 1);
	EXPECT_TRUE(ret == 0 || ret == -EINVAL || ret == -ELOOP || ret == -EMSGSIZE ||
		    ret == -EFAULT);
	if (table.fails && table.reads >= table.fails) {
		EXPECT_EQ(ret, -EFAULT);
		return;
	}
	EXPECT_EQ(!ret, n > 0);
	if (ret || n < 0)
		return;
	EXPECT_EQ(chain.n_in + chain.n_out, i + n);
	while (n--) {
		EXPECT_EQ(got[i + n].addr, want[n].addr);
		EXPECT_EQ(got[i + n].len, want[n].len);
	}
}

#ifndef UNIT_LIBFUZZER
CASE(fuzz_indirect_tables)
{
	fuzz_random(100000, 600);
}
#endif
