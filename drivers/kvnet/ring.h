/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - a virtqueue's ring as the device sees it: ten verbs
 *
 * A ring speaks guest addresses only. It fetches chains, validated and with
 * indirect tables expanded, and gives used buffers back; it never translates
 * an address, logs, signals, allocates or locks. All verbs but pending() are
 * called by the holder of the queue's session (vq->lock); all may sleep on a
 * page fault.
 *
 * Virtio 1.3, 2.7 "Split Virtqueues".
 */
#ifndef _KVNET_RING_H
#define _KVNET_RING_H

#include <linux/types.h>
#include <linux/virtio_ring.h>

#include "area.h"

/** Avail entries that are fetched from the guest in one copy. */
#define KVNET_RING_PREFETCH	64

/** The largest ring: 2.7 "Queue Size value is always a power of 2 ... 32768" */
#define KVNET_RING_MAX		32768

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
 */
struct kvnet_chain {
	struct kvnet_seg *seg;
	unsigned int cap;
	unsigned int n_out;
	unsigned int n_in;
	u16 id;
};

/**
 * struct kvnet_used - a chain given back to the driver
 * @id: &struct kvnet_chain.id
 * @len: bytes written into its device-writable part
 */
struct kvnet_used {
	u32 id;
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

/** Parts of the areas that kvnet_ring_written() may name. */
#define KVNET_RING_SPANS	4

/**
 * struct kvnet_ring_span - a part of an area
 * @area: one of the ring's
 * @off: where it begins
 * @len: bytes
 */
struct kvnet_ring_span {
	const struct kvnet_area *area;
	u32 off;
	u32 len;
};

/** An opaque place in a ring, see kvnet_ring_pos(). */
typedef u32 kvnet_ring_pos_t;

/**
 * struct kvnet_ring - the device's side of a ring
 *
 * The session fields belong to the holder of the session; the others change
 * only while the queue has none.
 *
 * @last_avail: session; next avail entry to fetch
 * @avail_idx: session; newest avail index seen
 * @last_used: session; next used entry to write
 * @signalled: session; @last_used at the last kvnet_ring_should_call()
 * @signalled_valid: session; @signalled can be compared with
 * @kicks_on: session; the driver has been asked to kick
 * @wrote_flags: session; flags written since then
 * @wrote_event: session; avail_event written since then
 * @unlogged: session; newest used entries not told by kvnet_ring_written()
 * @head_first: session; avail index of the first of @heads
 * @head_n: session; valid entries of @heads
 * @heads: session; avail entries read ahead
 * @num: entries; a power of two
 * @le: fields are little-endian
 * @event_idx: VIRTIO_F_EVENT_IDX
 * @notify_on_empty: VIRTIO_F_NOTIFY_ON_EMPTY
 * @desc: descriptor area
 * @avail: driver area
 * @used: device area
 */
struct kvnet_ring {
	u16 last_avail;
	u16 avail_idx;
	u16 last_used;
	u16 signalled;
	bool signalled_valid;
	bool kicks_on;
	bool wrote_flags;
	bool wrote_event;
	u32 unlogged;
	u16 head_first;
	u16 head_n;
	__virtio16 heads[KVNET_RING_PREFETCH];

	u32 num;
	bool le;
	bool event_idx;
	bool notify_on_empty;
	struct kvnet_area desc;
	struct kvnet_area avail;
	struct kvnet_area used;
};

int kvnet_ring_start(struct kvnet_ring *r);
int kvnet_ring_next(struct kvnet_ring *r, struct kvnet_chain *chain,
		    const struct kvnet_reader *reader);
int kvnet_ring_put(struct kvnet_ring *r, const struct kvnet_used *used,
		   unsigned int n);
int kvnet_ring_kick_off(struct kvnet_ring *r);
int kvnet_ring_kick_on(struct kvnet_ring *r);
int kvnet_ring_should_call(struct kvnet_ring *r);
bool kvnet_ring_pending(const struct kvnet_ring *r);
unsigned int kvnet_ring_written(struct kvnet_ring *r,
				struct kvnet_ring_span *span);
void kvnet_ring_base_set(struct kvnet_ring *r, u16 base);

/**
 * kvnet_ring_desc_size() - size of the descriptor area
 * @r: the ring, with num set
 *
 * Return: bytes.
 */
static inline size_t kvnet_ring_desc_size(const struct kvnet_ring *r)
{
	return sizeof(struct vring_desc) * r->num;
}

/**
 * kvnet_ring_avail_size() - size of the driver area, used_event included
 * @r: the ring, with num set
 *
 * Return: bytes.
 */
static inline size_t kvnet_ring_avail_size(const struct kvnet_ring *r)
{
	return sizeof(struct vring_avail) + sizeof(__virtio16) * r->num +
	       (r->event_idx ? sizeof(__virtio16) : 0);
}

/**
 * kvnet_ring_used_size() - size of the device area, avail_event included
 * @r: the ring, with num set
 *
 * Return: bytes.
 */
static inline size_t kvnet_ring_used_size(const struct kvnet_ring *r)
{
	return sizeof(struct vring_used) +
	       sizeof(struct vring_used_elem) * r->num +
	       (r->event_idx ? sizeof(__virtio16) : 0);
}

/**
 * kvnet_ring_pos() - where the next chain will be fetched
 * @r: the ring
 *
 * Return: a place for kvnet_ring_rewind().
 */
static inline kvnet_ring_pos_t kvnet_ring_pos(const struct kvnet_ring *r)
{
	return r->last_avail;
}

/**
 * kvnet_ring_rewind() - un-fetch all chains fetched since @pos was taken
 * @r: the ring
 * @pos: from kvnet_ring_pos(); none of the chains since may have been put
 */
static inline void kvnet_ring_rewind(struct kvnet_ring *r, kvnet_ring_pos_t pos)
{
	r->last_avail = pos;
}

/**
 * kvnet_ring_base_get() - the state that moves with a stopped queue
 * @r: the ring
 *
 * Return: the avail index to go on from, for VHOST_GET_VRING_BASE.
 */
static inline u16 kvnet_ring_base_get(const struct kvnet_ring *r)
{
	return r->last_avail;
}

/**
 * kvnet_ring_seen_all() - has every chain seen so far been fetched?
 * @r: the ring
 *
 * Return: true if the next kvnet_ring_next() has to read the avail index.
 */
static inline bool kvnet_ring_seen_all(const struct kvnet_ring *r)
{
	return r->last_avail == r->avail_idx;
}

#endif /* _KVNET_RING_H */
