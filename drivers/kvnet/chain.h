/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chain.h - descriptor chains, out of what the driver has written
 */
#ifndef _KVNET_CHAIN_H
#define _KVNET_CHAIN_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_ring.h>

/**
 * struct kvnet_seg - a piece of guest memory
 * @addr: guest address of the first byte
 * @len: length in bytes, may be 0
 */
struct kvnet_seg {
	u64 addr;
	u32 len;
};

/**
 * struct kvnet_chain - a descriptor chain, as fetched by kvnet_ring_next()
 * @seg: the caller's array; device-readable segments first, then writable
 * @cap: entries in @seg; a longer chain is -EMSGSIZE
 * @n_out: device-readable segments
 * @n_in: device-writable segments
 * @id: what kvnet_ring_put() gives back to the driver
 * @count: ring descriptors that it occupies; a packed ring's put() must know
 */
struct kvnet_chain {
	struct kvnet_seg *seg;
	unsigned int cap;
	unsigned int n_out;
	unsigned int n_in;
	u16 id;
	u16 count;
};

/**
 * struct kvnet_used - a chain given back to the driver
 * @id: &struct kvnet_chain.id
 * @count: &struct kvnet_chain.count
 * @skippable: used in order, it need not be told of if the next one is
 * @len: bytes written into its device-writable part
 */
struct kvnet_used {
	u16 id;
	u16 count;
	bool skippable;
	u32 len;
};

/**
 * struct kvnet_reader - how a ring reads guest memory (indirect tables)
 * @read: copies @len bytes at guest address @addr to @dst; 0 or -errno
 * @ctx: handed to @read
 */
struct kvnet_reader {
	int (*read)(void *ctx, u64 addr, void *dst, u32 len);
	void *ctx;
};

/* Flags of a split ring's descriptor that mean something. */
#define KVNET_CHAIN_DESC_FLAGS	(VRING_DESC_F_NEXT | VRING_DESC_F_WRITE | \
				 VRING_DESC_F_INDIRECT)

/**
 * struct kvnet_desc - a descriptor, in host byte order
 * @addr: guest address
 * @len: bytes
 * @flags: those that are known: VRING_DESC_F_*
 * @next: of a split ring, the next one, with VRING_DESC_F_NEXT; packed: the id
 */
struct kvnet_desc {
	u64 addr;
	u32 len;
	u16 flags;
	u16 next;
};

/**
 * kvnet_chain_used_batch() - how many buffers can be given back as one?
 * @used: buffers, used in order
 * @n: how many, not 0
 *
 * Return: as many of them as the last one speaks for.
 */
static inline unsigned int kvnet_chain_used_batch(const struct kvnet_used *used,
						  unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n - 1 && used[i].skippable; i++)
		;
	return i + 1;
}

/**
 * kvnet_chain_decode_desc() - a descriptor in host byte order
 * @addr: the first half of a struct vring_desc, in the driver's byte order
 * @rest: the other half: len, flags, next
 * @le: they are little-endian
 *
 * Return: the descriptor.
 */
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

/**
 * kvnet_chain_add() - append a descriptor
 * @chain: the chain
 * @d: a descriptor of a buffer
 *
 * Readable segments come before writable (virtio 1.3, 2.7.4.2).
 *
 * Return: 0, -EINVAL for one that breaks this, -EMSGSIZE for one too many.
 */
static inline int kvnet_chain_add(struct kvnet_chain *chain,
				  const struct kvnet_desc *d)
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

/**
 * kvnet_chain_desc_is_single() - is a descriptor all of its chain?
 * @d: the first one
 *
 * Return: true if so: most are.
 */
static inline bool kvnet_chain_desc_is_single(const struct kvnet_desc *d)
{
	return !(d->flags & (VRING_DESC_F_NEXT | VRING_DESC_F_INDIRECT));
}

/**
 * kvnet_chain_set_single() - a chain of one descriptor
 * @chain: the chain, with room for one
 * @d: the descriptor
 */
static inline void kvnet_chain_set_single(struct kvnet_chain *chain,
					  const struct kvnet_desc *d)
{
	chain->n_in = d->flags & VRING_DESC_F_WRITE ? 1 : 0;
	chain->n_out = 1 - chain->n_in;
	chain->count = 1;
	chain->seg[0].addr = d->addr;
	chain->seg[0].len = d->len;
}

/**
 * kvnet_chain_table_count() - how long is an indirect table?
 * @table: the descriptor that refers to it
 *
 * Those of both layouts have the same size.
 *
 * Return: descriptors in it; 0 for one that is empty, too long, of an odd
 * size, or wraps around.
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

int kvnet_chain_add_table(struct kvnet_chain *chain,
			  const struct kvnet_desc *table, bool le,
			  const struct kvnet_reader *reader);

#endif /* _KVNET_CHAIN_H */
