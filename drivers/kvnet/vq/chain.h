/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chain.h - descriptor chains, built from the descriptors that the driver writes
 *
 * Shared by both ring layouts and the fast path. No function here reads guest memory but
 * kvnet_chain_add_table(), by its reader.
 */
#ifndef _KVNET_CHAIN_H
#define _KVNET_CHAIN_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_ring.h>

#include "mem/seg.h"

/* A descriptor chain, as fetched by kvnet_ring_next(). */
struct kvnet_chain {
	struct kvnet_seg *seg;	/* the caller's array; readable segments, then writable ones */
	unsigned int cap;	/* entries in @seg; a longer chain is -EMSGSIZE */
	unsigned int n_out;	/* device-readable segments */
	unsigned int n_in;	/* device-writable segments */
	u16 id;			/* returned to the driver by kvnet_ring_put() */
	u16 count;		/* ring descriptors; kvnet_ring_put() of a packed ring needs it */
};

/* A chain to be returned to the driver. */
struct kvnet_used {
	u16 id;
	u16 count;
	bool skippable;	/* with VIRTIO_F_IN_ORDER, the next used element may cover this one */
	u32 len;	/* bytes written into its device-writable part */
};

/* Reads indirect tables: copies @len bytes at guest address @addr; 0 or -errno. */
struct kvnet_reader {
	int (*read)(void *ctx, u64 addr, void *dst, u32 len);
	void *ctx;
};

/*
 * The flags of a chain, in a ring's descriptor of either layout. A split ring defines no others,
 * and they are ignored.
 */
#define KVNET_CHAIN_DESC_FLAGS	(VRING_DESC_F_NEXT | VRING_DESC_F_WRITE | \
				 VRING_DESC_F_INDIRECT)

/* A descriptor, in host byte order. */
struct kvnet_desc {
	u64 addr;
	u32 len;
	u16 flags;	/* VRING_DESC_F_*, of KVNET_CHAIN_DESC_FLAGS */
	u16 next;	/* split: with VRING_DESC_F_NEXT, an index; packed: the buffer id */
};

/*
 * VIRTIO_F_IN_ORDER: how many of @n buffers, in order of use, does one used element cover?
 * @n is at least 1.
 */
static inline unsigned int kvnet_chain_used_batch(const struct kvnet_used *used, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n - 1 && used[i].skippable; i++)
		;
	return i + 1;
}

/* @addr and @rest (len, flags, next) are a struct vring_desc in the driver's byte order. */
static inline struct kvnet_desc kvnet_chain_decode_desc(u64 addr, u64 rest, bool le)
{
	if (likely(le)) {
		rest = le64_to_cpu((__force __le64)rest);
		return (struct kvnet_desc) {
			.addr = le64_to_cpu((__force __le64)addr),
			.len = rest,
			.flags = rest >> 32 & KVNET_CHAIN_DESC_FLAGS,
			.next = rest >> 48,
		};
	}
	rest = be64_to_cpu((__force __be64)rest);
	return (struct kvnet_desc) {
		.addr = be64_to_cpu((__force __be64)addr),
		.len = rest >> 32,
		.flags = rest >> 16 & KVNET_CHAIN_DESC_FLAGS,
		.next = rest,
	};
}

/*
 * Appends a descriptor that is not indirect. Returns 0; -EINVAL for a readable segment after a
 * writable one (virtio 1.3, 2.7.4.2); -EMSGSIZE if the chain has no room.
 */
static inline int kvnet_chain_add(struct kvnet_chain *chain, const struct kvnet_desc *d)
{
	unsigned int n = chain->n_out + chain->n_in;

	if (n >= chain->cap)
		return -EMSGSIZE;
	if (d->flags & VRING_DESC_F_WRITE)
		chain->n_in++;
	else if (chain->n_in)
		return -EINVAL;
	else
		chain->n_out++;
	chain->seg[n].addr = d->addr;
	chain->seg[n].len = d->len;
	return 0;
}

static inline bool kvnet_chain_desc_is_single(const struct kvnet_desc *d)
{
	return !(d->flags & (VRING_DESC_F_NEXT | VRING_DESC_F_INDIRECT));
}

/* The caller has checked that @chain has room for one segment. */
static inline void kvnet_chain_set_single(struct kvnet_chain *chain, const struct kvnet_desc *d)
{
	chain->n_in = d->flags & VRING_DESC_F_WRITE ? 1 : 0;
	chain->n_out = 1 - chain->n_in;
	chain->count = 1;
	chain->seg[0].addr = d->addr;
	chain->seg[0].len = d->len;
}

/* A buffer of one writable descriptor takes up to @len bytes; returns the bytes that remain. */
static inline size_t kvnet_chain_add_single(struct kvnet_seg *seg, struct kvnet_used *used,
					    u64 addr, u32 part, u16 id, size_t len)
{
	seg->addr = addr;
	seg->len = part;
	part = min_t(size_t, part, len);
	*used = (struct kvnet_used) { .id = id, .count = 1, .len = part };
	return len - part;
}

/*
 * The number of descriptors in an indirect table, of either layout. 0 if the table is empty,
 * too long, of odd size, or wraps around.
 */
static inline u32 kvnet_chain_table_count(const struct kvnet_desc *table)
{
	u32 count = table->len / sizeof(struct vring_desc);

	if (table->len % sizeof(struct vring_desc) || count > U16_MAX + 1)
		return 0;
	if (count && table->addr + table->len - 1 < table->addr)
		return 0;
	return count;
}

int kvnet_chain_add_table(struct kvnet_chain *chain, const struct kvnet_desc *table, bool le,
			  bool packed, const struct kvnet_reader *reader);

#endif /* _KVNET_CHAIN_H */
