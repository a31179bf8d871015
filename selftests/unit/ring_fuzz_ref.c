// SPDX-License-Identifier: GPL-2.0
/* A naive second walker, see ring_fuzz_ref.h. */
#include "ring_fuzz_ref.h"

#include <endian.h>
#include <string.h>

static int ref_add(const struct rig *g, struct ref *ref, u64 addr, u32 len,
		   bool write)
{
	u32 n = ref->n_out + ref->n_in;

	if (n == g->chain.cap || (ref->n_in && !write))
		return -1;
	ref->n_out += !write;
	ref->n_in += write;
	ref->seg[n].addr = addr;
	ref->seg[n].len = len;
	return 1;
}

static int ref_next_packed(const struct rig *g, struct ref *ref)
{
	u16 place = kvnet_ring_base_get(&g->ring);
	struct rig_packed d = rig_packed_at(g, place & 0x7fff);
	u32 i, flags;

	memset(ref, 0, sizeof(*ref));
	if ((d.flags & (F_AVAIL | F_USED)) != rig_lap(place & 0x8000, false))
		return 0;
	for (;;) {
		d = rig_packed_at(g, place & 0x7fff);
		ref->id = d.id;
		ref->count++;
		if (d.flags & F_INDIRECT)
			break;
		if (ref_add(g, ref, d.addr, d.len, d.flags & F_WRITE) < 0)
			return -1;
		if (!(d.flags & F_NEXT))
			return 1;
		if (ref->count == g->cfg.num)
			return -1;
		place = rig_step(g, place, 1);
	}
	if (ref->count > 1 || d.flags & F_NEXT || !d.len || d.len % 16)
		return -1;
	d.addr -= RIG_GPA;
	if (d.addr > sizeof(g->table) || d.len > sizeof(g->table) - d.addr)
		return 2;
	for (i = 0; i < d.len / 16; i++) {
		const u8 *p = g->table + d.addr + 16 * i;

		flags = p[14] | p[15] << 8;
		if (ref_add(g, ref, le64toh(*(const u64 *)p),
			    le32toh(*(const u32 *)(p + 8)), flags & F_WRITE) < 0)
			return -1;
	}
	return 1;
}

static int ref_walk(const struct rig *g, const u8 *table, u32 count, u32 i,
		    bool inner, struct ref *ref)
{
	u32 steps, len, n;
	u16 flags, next;
	u64 addr;

	for (steps = 0; steps < count; steps++, i = next) {
		memcpy(&addr, table + 16 * i, 8);
		memcpy(&len, table + 16 * i + 8, 4);
		memcpy(&flags, table + 16 * i + 12, 2);
		memcpy(&next, table + 16 * i + 14, 2);
		addr = g->cfg.be ? be64toh(addr) : le64toh(addr);
		len = g->cfg.be ? be32toh(len) : le32toh(len);
		flags = g->cfg.be ? be16toh(flags) : le16toh(flags);
		next = g->cfg.be ? be16toh(next) : le16toh(next);
		ref->count += !inner;
		if (flags & F_INDIRECT) {
			if (inner || flags & F_NEXT || !len || len % 16)
				return -1;
			addr -= RIG_GPA;
			if (addr > sizeof(g->table) ||
			    len > sizeof(g->table) - addr)
				return 2;
			return ref_walk(g, g->table + addr, len / 16, 0, true,
					ref);
		}
		n = ref->n_out + ref->n_in;
		if (n == g->chain.cap || (ref->n_in && !(flags & F_WRITE)))
			return -1;
		ref->n_out += !(flags & F_WRITE);
		ref->n_in += !!(flags & F_WRITE);
		ref->seg[n].addr = addr;
		ref->seg[n].len = len;
		if (!(flags & F_NEXT))
			return 1;
		if (next >= count)
			return -1;
	}
	return -1;
}

int ref_next(const struct rig *g, struct ref *ref)
{
	u16 pos = kvnet_ring_base_get(&g->ring), idx, head;

	if (g->cfg.packed)
		return ref_next_packed(g, ref);
	memset(ref, 0, sizeof(*ref));
	memcpy(&idx, g->avail + 2, 2);
	memcpy(&head, g->avail + 4 + 2 * (pos % g->cfg.num), 2);
	idx = g->cfg.be ? be16toh(idx) : le16toh(idx);
	head = g->cfg.be ? be16toh(head) : le16toh(head);
	/* what the device has seen to be available is */
	if (g->ring.avail_idx != pos)
		idx = g->ring.avail_idx;
	if (idx == pos)
		return 0;
	if ((u16)(idx - pos) > g->cfg.num || head >= g->cfg.num)
		return -1;
	return ref_walk(g, g->desc, g->cfg.num, head, false, ref);
}
