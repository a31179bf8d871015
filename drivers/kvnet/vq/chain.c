// SPDX-License-Identifier: GPL-2.0
/*
 * chain.c - descriptor chains, see chain.h
 */
#include "chain.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>

/* Descriptors of an indirect table that are read in one copy. */
#define INDIRECT_CHUNK	16

/*
 * Appends the indirect table to which @table refers (virtio 1.3, 2.7.5.3; @packed: 2.8.7); @le: it
 * is little-endian. Ends after at most as many descriptors as the table has entries. Returns 0;
 * -EINVAL, -ELOOP or -EMSGSIZE if the driver violated the virtio specification or the chain
 * exceeds its cap; or the error of @reader, which may sleep.
 */
int kvnet_chain_add_table(struct kvnet_chain *chain, const struct kvnet_desc *table, bool le,
			  bool packed, const struct kvnet_reader *reader)
{
	struct {
		u64 addr;
		u64 rest;
	} raw[INDIRECT_CHUNK];
	const u32 count = kvnet_chain_table_count(table);
	const u64 addr = table->addr;
	u32 first = 0, have = 0, steps, i = 0, at;
	struct kvnet_desc d;
	int ret;

	if (!count)
		return -EINVAL;

	for (steps = 0; steps < count; steps++) {
		if (i - first >= have) {
			first = i;
			have = min_t(u32, count - i, INDIRECT_CHUNK);
			ret = reader->read(reader->ctx, addr + (u64)first * sizeof(raw[0]),
					   raw, have * sizeof(raw[0]));
			if (ret)
				return ret;
		}
		/* Spectre v1: the CPU may speculate past the checks of d.next. */
		at = array_index_nospec(i - first, INDIRECT_CHUNK);
		d = kvnet_chain_decode_desc(raw[at].addr, raw[at].rest, le);
		if (packed) {
			/*
			 * Where a split ring has flags and next, there are id and flags. All
			 * descriptors count, in their order; only "write" is valid (2.8.7).
			 */
			d.flags = (d.next & VRING_DESC_F_WRITE) |
				  (i + 1 < count ? VRING_DESC_F_NEXT : 0);
			d.next = i + 1;
		}
		if (d.flags & VRING_DESC_F_INDIRECT)
			return -EINVAL;
		ret = kvnet_chain_add(chain, &d);
		if (ret)
			return ret;
		if (!(d.flags & VRING_DESC_F_NEXT))
			return 0;
		if (d.next >= count)
			return -EINVAL;
		i = d.next;
	}
	return -ELOOP;
}
