/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - a virtqueue's ring as the device sees it: its state and eleven verbs
 *
 * A ring speaks guest addresses only. It fetches chains, validated and with
 * indirect tables expanded, and gives used buffers back; it never translates
 * an address, logs, signals, allocates or locks. All verbs but pending() are
 * called by the holder of the queue's session (vq->lock); all may sleep on a
 * page fault.
 *
 * There are two layouts, each in a file of its own: virtio 1.3, 2.7 "Split
 * Virtqueues" and 2.8 "Packed Virtqueues". What a verb does is said here, how
 * it does it there.
 */
#ifndef _KVNET_RING_H
#define _KVNET_RING_H

#include <linux/types.h>
#include <linux/virtio_ring.h>

#include "area.h"
#include "chain.h"

/** Avail entries that are fetched from the guest in one copy. */
#define KVNET_RING_PREFETCH	64

/** The largest ring, of either layout. */
#define KVNET_RING_MAX		32768

/** Parts of the areas that kvnet_ring_collect_written() may name. */
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
 * only while the queue has none. A place in a packed ring is a descriptor's
 * index with the wrap counter in bit 15, as in its event suppression areas.
 *
 * @last_avail: session; split: next avail entry to fetch; packed: place of the
 *	next descriptor to fetch
 * @last_used: session; next used entry to write; packed: its place
 * @signalled_used: session; split: @last_used at the last kvnet_ring_should_call()
 * @signalled_used_valid: session; it is known since when the driver was called last
 * @kicks_enabled: session; the driver has been asked to kick
 * @wrote_flags: session; flags written since then
 * @wrote_event: session; avail_event, or all of a packed ring's device area,
 *	written since then
 * @unlogged: session; newest used entries, or descriptors, not told by
 *	kvnet_ring_collect_written()
 * @avail_idx: session; split: newest avail index seen
 * @head_first: session; split: avail index of the first of @heads
 * @head_n: session; split: valid entries of @heads
 * @n_avail_seen: session; packed: descriptors from @last_avail on that have been seen
 *	to be available
 * @n_in_flight: session; packed: descriptors fetched and not yet put
 * @used_since_call: session; packed: descriptors used since kvnet_ring_should_call()
 * @heads: session; split: avail entries read ahead
 * @num: entries; a power of two in a split ring
 * @packed: VIRTIO_F_RING_PACKED
 * @in_order: VIRTIO_F_IN_ORDER
 * @le: fields are little-endian
 * @event_idx: VIRTIO_F_EVENT_IDX
 * @notify_on_empty: VIRTIO_F_NOTIFY_ON_EMPTY
 * @base_valid: @last_avail and @last_used have been set, or moved
 * @desc: descriptor area
 * @avail: driver area
 * @used: device area
 */
struct kvnet_ring {
	u16 last_avail;
	u16 last_used;
	u16 signalled_used;
	bool signalled_used_valid;
	bool kicks_enabled;
	bool wrote_flags;
	bool wrote_event;
	u32 unlogged;
	u16 avail_idx;
	u16 head_first;
	u16 head_n;
	u16 n_avail_seen;
	u32 n_in_flight;
	u32 used_since_call;
	__virtio16 heads[KVNET_RING_PREFETCH];

	u32 num;
	bool packed;
	bool in_order;
	bool le;
	bool event_idx;
	bool notify_on_empty;
	bool base_valid;
	struct kvnet_area desc;
	struct kvnet_area avail;
	struct kvnet_area used;
};

#include "ring_layout.h"

/**
 * kvnet_ring_is_mapped() - is all of the ring mapped into the kernel?
 * @r: the ring
 *
 * Return: true if no access to it can fault.
 */
static inline bool kvnet_ring_is_mapped(const struct kvnet_ring *r)
{
	return kvnet_area_is_mapped(&r->desc) && kvnet_area_is_mapped(&r->avail) &&
	       kvnet_area_is_mapped(&r->used);
}

/**
 * kvnet_ring_start() - first touch of the areas, before any other verb
 * @r: the ring, with num, addresses and properties set
 *
 * Kicks are off. A split ring goes on from the used index that stands in the
 * ring, as vhost does.
 *
 * Return: 0, -EFAULT, or -EINVAL for a base that is not in the ring.
 */
static inline int kvnet_ring_start(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_start(r) : kvnet_ring_split_start(r);
}

/**
 * kvnet_ring_next() - fetch the next descriptor chain
 * @r: the ring
 * @chain: @seg and @cap set by the caller, the rest filled in
 * @reader: reads indirect tables
 *
 * On success the ring has moved on by one chain; on any other outcome it
 * stays where it was.
 *
 * Return: 1 with a chain, 0 if there is none, -EFAULT if the ring or a table
 * cannot be read, -EINVAL, -ELOOP or -EMSGSIZE if the driver broke the rules,
 * or what @reader returned.
 */
static inline int kvnet_ring_next(struct kvnet_ring *r,
				  struct kvnet_chain *chain,
				  const struct kvnet_reader *reader)
{
	return r->packed ? kvnet_ring_packed_next(r, chain, reader) :
			   kvnet_ring_split_next(r, chain, reader);
}

/**
 * kvnet_ring_next_single() - fetch the next chains, as long as that is no trouble
 * @r: the ring
 * @seg: filled in: what they refer to
 * @used: filled in: how to give them back, with @len bytes written to them
 * @max: entries in @seg and @used
 * @len: bytes that they shall hold together
 *
 * For receive buffers, of which a packet may take many: the short way through
 * kvnet_ring_next(), in a ring that is pinned, to chains of one descriptor that is to
 * be written. What else is there is for kvnet_ring_next() to tell.
 *
 * Return: chains that the ring has moved on by.
 */
static inline unsigned int
kvnet_ring_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
		       struct kvnet_used *used, unsigned int max, size_t len)
{
	unsigned int n;

	if (r->packed)
		return kvnet_ring_packed_next_single(r, seg, used, max, len);
	n = kvnet_ring_split_next_single(r, seg, used, max, len);
	if (likely(n) || !kvnet_ring_split_read_ahead(r))
		return n;
	return kvnet_ring_split_next_single(r, seg, used, max, len);
}

/**
 * kvnet_ring_put() - give buffers back to the driver, all in one step
 * @r: the ring
 * @used: the chains and what was written to them; with in_order, in the order
 *	in which they were fetched
 * @n: how many
 *
 * The chains become visible together. There are never more than num of them,
 * unless the driver made chains available again before it got them back.
 *
 * Return: 0; -EFAULT or, for more than num, -EINVAL with nothing made visible.
 */
static inline int kvnet_ring_put(struct kvnet_ring *r,
				 const struct kvnet_used *used, unsigned int n)
{
	return r->packed ? kvnet_ring_packed_put(r, used, n) :
			   kvnet_ring_split_put(r, used, n);
}

/**
 * kvnet_ring_kick_off() - tell the driver that kicks are not needed
 * @r: the ring
 *
 * A hint: the driver may kick all the same (2.7.10). With EVENT_IDX nothing
 * is written: the event that was asked for falls behind by itself.
 *
 * Return: 0 or -EFAULT.
 */
static inline int kvnet_ring_kick_off(struct kvnet_ring *r)
{
	if (!r->kicks_enabled)
		return 0;
	return r->packed ? kvnet_ring_packed_kick_off(r) : kvnet_ring_split_kick_off(r);
}

/**
 * kvnet_ring_kick_on() - ask the driver to kick when it adds another chain
 * @r: the ring
 *
 * Asks for a kick for chains beyond those already seen, fetched or not. To be
 * used after kick_off(): a wish that stands is not renewed.
 *
 * Return: 1 if more chains arrived meanwhile (the caller looks again and does
 * not wait), 0 if not, -EFAULT, or -EINVAL for a nonsensical avail index.
 */
static inline int kvnet_ring_kick_on(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_kick_on(r) : kvnet_ring_split_kick_on(r);
}

/**
 * kvnet_ring_should_call() - does the driver want to be told of used buffers?
 * @r: the ring
 *
 * To be asked once after each kvnet_ring_put(); includes the full barrier
 * between what was put and the driver's wish.
 *
 * Return: 1 to call, 0 not to, or -EFAULT.
 */
static inline int kvnet_ring_should_call(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_should_call(r) :
			   kvnet_ring_split_should_call(r);
}

/**
 * struct kvnet_call_mark - since when the driver has not been called
 * @signalled_used: as in &struct kvnet_ring
 * @signalled_used_valid: likewise
 * @used_since_call: likewise
 */
struct kvnet_call_mark {
	u16 signalled_used;
	bool signalled_used_valid;
	u32 used_since_call;
};

/**
 * kvnet_ring_call_mark() - a point to come back to by kvnet_ring_call_rewind()
 * @r: the ring
 *
 * Return: the point, before kvnet_ring_should_call().
 */
static inline struct kvnet_call_mark
kvnet_ring_call_mark(const struct kvnet_ring *r)
{
	return (struct kvnet_call_mark) {
		.signalled_used = r->signalled_used,
		.signalled_used_valid = r->signalled_used_valid,
		.used_since_call = r->used_since_call,
	};
}

/**
 * kvnet_ring_call_rewind() - kvnet_ring_should_call() has said so, but not yet
 * @r: the ring
 * @mark: from before
 *
 * To be asked again; a driver that has looked by itself meanwhile says no then.
 */
static inline void kvnet_ring_call_rewind(struct kvnet_ring *r,
					  struct kvnet_call_mark mark)
{
	r->signalled_used = mark.signalled_used;
	r->signalled_used_valid = mark.signalled_used_valid;
	r->used_since_call = mark.used_since_call;
}

/**
 * kvnet_ring_count_uncalled() - how much does the driver not know of?
 * @r: the ring, of which it is known since when
 *
 * Return: descriptors used since kvnet_ring_should_call(), but for those put off.
 */
static inline u32 kvnet_ring_count_uncalled(const struct kvnet_ring *r)
{
	return r->packed ? r->used_since_call : (u16)(r->last_used - r->signalled_used);
}

/**
 * kvnet_ring_pending() - a cheap look: has the driver added chains?
 * @r: the ring
 *
 * Reads one field, and no barrier: the answer may be old.
 *
 * Return: true if so, or if it cannot be told.
 */
static inline bool kvnet_ring_pending(const struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_pending(r) : kvnet_ring_split_pending(r);
}

/**
 * kvnet_ring_collect_written() - what has been written since it was last asked
 * @r: the ring
 * @span: room for KVNET_RING_SPANS
 *
 * For the dirty log.
 *
 * Return: entries filled in at @span.
 */
static inline unsigned int kvnet_ring_collect_written(struct kvnet_ring *r,
						      struct kvnet_ring_span *span)
{
	return r->packed ? kvnet_ring_packed_collect_written(r, span) :
			   kvnet_ring_split_collect_written(r, span);
}

/**
 * kvnet_ring_rewind() - un-fetch all chains fetched since @pos was taken
 * @r: the ring
 * @pos: from kvnet_ring_pos(); none of the chains since may have been put
 */
static inline void kvnet_ring_rewind(struct kvnet_ring *r, kvnet_ring_pos_t pos)
{
	if (r->packed)
		kvnet_ring_packed_rewind(r, pos);
	r->last_avail = pos;
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
 * kvnet_ring_base_get() - the state that moves with a stopped queue
 * @r: the ring
 *
 * Return: for VHOST_GET_VRING_BASE: the avail index to go on from; of a packed
 * ring the places of the next descriptors to fetch (low 16 bits) and to use. Both
 * wrap counters of one that is new are 1 (virtio 1.3, 2.8.1).
 */
static inline u32 kvnet_ring_base_get(const struct kvnet_ring *r)
{
	if (!r->packed)
		return r->last_avail;
	if (!r->base_valid)
		return BIT(VRING_PACKED_EVENT_F_WRAP_CTR) |
		       BIT(VRING_PACKED_EVENT_F_WRAP_CTR + 16);
	return r->last_avail | (u32)r->last_used << 16;
}

/**
 * kvnet_ring_base_set() - go on from a given state
 * @r: the ring, not started
 * @base: as from kvnet_ring_base_get()
 */
static inline void kvnet_ring_base_set(struct kvnet_ring *r, u32 base)
{
	r->last_avail = base;
	r->last_used = base >> 16;
	r->base_valid = true;
}

/**
 * kvnet_ring_base_reset() - begin at the beginning
 * @r: the ring, not started
 */
static inline void kvnet_ring_base_reset(struct kvnet_ring *r)
{
	kvnet_ring_base_set(r, 0);
	r->base_valid = false;
}

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
	if (r->packed)
		return sizeof(struct vring_packed_desc_event);
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
	if (r->packed)
		return sizeof(struct vring_packed_desc_event);
	return sizeof(struct vring_used) +
	       sizeof(struct vring_used_elem) * r->num +
	       (r->event_idx ? sizeof(__virtio16) : 0);
}

#endif /* _KVNET_RING_H */
