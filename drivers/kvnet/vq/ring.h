/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - a virtqueue's ring, device side: state and operations of both layouts
 *
 * A ring uses guest addresses only. It fetches descriptor chains, validates them and
 * expands indirect tables, and it publishes used buffers. It does not translate
 * addresses, log, signal, allocate or lock.
 *
 * The caller holds vq->lock or, in a softirq session, vq->softirq_lock. An access to a ring
 * that is not pinned may sleep on a page fault. Hence vCPU and softirq sessions have
 * pinned rings only.
 *
 * Each layout has a file: virtio 1.3, 2.7 "Split Virtqueues" in ring_split.c, 2.8 "Packed
 * Virtqueues" in ring_packed.c. What an operation does is documented here, how it does it
 * there.
 */
#ifndef _KVNET_RING_H
#define _KVNET_RING_H

#include <linux/types.h>
#include <linux/virtio_ring.h>

#include "mem/area.h"
#include "chain.h"

/* Avail entries that are read from the guest in one copy. */
#define KVNET_RING_PREFETCH	64

/* Entries of the largest ring, of either layout. */
#define KVNET_RING_MAX		32768

/* Spans that kvnet_ring_collect_written() fills in at most. */
#define KVNET_RING_SPANS	4

/* A part of one of the ring's areas; offset and length in bytes. */
struct kvnet_ring_span {
	const struct kvnet_area *area;
	u32 off;
	u32 len;
};

/* A position for kvnet_ring_rewind(); opaque to callers. */
typedef u32 kvnet_ring_pos_t;

/**
 * struct kvnet_ring - the device's side of a ring
 *
 * The session fields belong to the session, or, while there is none, to the holder of
 * vq->lock. The others change only while the queue has no session. A position in a packed
 * ring is a descriptor's index with the wrap counter in bit 15, as in its event suppression
 * areas.
 *
 * @last_avail: session; split: next avail entry to fetch; packed: position of the next
 *	descriptor to fetch
 * @last_used: session; next used entry to write; packed: its position
 * @signalled_used: session; split: @last_used at the last kvnet_ring_should_call()
 * @signalled_used_valid: session; @signalled_used or @used_since_call is valid
 * @kicks_enabled: session; the driver has been asked to kick
 * @wrote_flags: session; split: used flags written since the last
 *	kvnet_ring_collect_written()
 * @wrote_event: session; split: avail_event written since then; packed: device area
 * @unlogged: session; used entries (packed: descriptors) written since then, at most @num
 * @avail_idx: session; split: newest avail index read
 * @head_first: session; split: avail index of the first of @heads
 * @head_n: session; split: valid entries of @heads
 * @n_avail_seen: session; packed: descriptors from @last_avail on that have been observed
 *	as available, and rewound
 * @n_in_flight: session; packed: descriptors fetched and not yet put, at most @num
 * @used_since_call: session; packed: descriptors used since kvnet_ring_should_call(), at
 *	most 2 * @num
 * @heads: session; split: avail entries read ahead, in the driver's byte order
 * @num: entries, at most KVNET_RING_MAX; a power of two in a split ring
 * @packed: VIRTIO_F_RING_PACKED
 * @in_order: VIRTIO_F_IN_ORDER
 * @le: fields are little-endian
 * @event_idx: VIRTIO_F_EVENT_IDX
 * @notify_on_empty: VIRTIO_F_NOTIFY_ON_EMPTY
 * @base_valid: the VMM has set the base, or a packed ring has been started
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

/* The operations below in both layouts: ring_split.c and ring_packed.c. */
int kvnet_ring_split_start(struct kvnet_ring *r);
int kvnet_ring_split_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			  const struct kvnet_reader *reader);
bool kvnet_ring_split_read_ahead(struct kvnet_ring *r);
unsigned int kvnet_ring_split_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					  struct kvnet_used *used, unsigned int max,
					  size_t len);
int kvnet_ring_split_put(struct kvnet_ring *r, const struct kvnet_used *used,
			 unsigned int n);
int kvnet_ring_split_kick_off(struct kvnet_ring *r);
int kvnet_ring_split_kick_on(struct kvnet_ring *r);
int kvnet_ring_split_should_call(struct kvnet_ring *r);
bool kvnet_ring_split_pending(const struct kvnet_ring *r);
unsigned int kvnet_ring_split_collect_written(struct kvnet_ring *r,
					      struct kvnet_ring_span *span);

int kvnet_ring_packed_start(struct kvnet_ring *r);
int kvnet_ring_packed_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			   const struct kvnet_reader *reader);
unsigned int kvnet_ring_packed_next_single(struct kvnet_ring *r,
					   struct kvnet_seg *seg,
					   struct kvnet_used *used, unsigned int max,
					   size_t len);
int kvnet_ring_packed_put(struct kvnet_ring *r, const struct kvnet_used *used,
			  unsigned int n);
int kvnet_ring_packed_kick_off(struct kvnet_ring *r);
int kvnet_ring_packed_kick_on(struct kvnet_ring *r);
int kvnet_ring_packed_should_call(struct kvnet_ring *r);
bool kvnet_ring_packed_pending(const struct kvnet_ring *r);
unsigned int kvnet_ring_packed_collect_written(struct kvnet_ring *r,
					       struct kvnet_ring_span *span);
void kvnet_ring_packed_rewind(struct kvnet_ring *r, u16 pos);

/* All areas are pinned: no access to the ring can fault. */
static inline bool kvnet_ring_is_mapped(const struct kvnet_ring *r)
{
	return kvnet_area_is_mapped(&r->desc) && kvnet_area_is_mapped(&r->avail) &&
	       kvnet_area_is_mapped(&r->used);
}

/*
 * The first access to the areas, before any other operation; num, addresses and features
 * are set. Kicks are disabled. A split ring continues at the used index found in the ring,
 * as with vhost. Returns 0, -EFAULT, or -EINVAL for a packed base outside of the ring.
 */
static inline int kvnet_ring_start(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_start(r) : kvnet_ring_split_start(r);
}

/**
 * kvnet_ring_next() - fetch the next descriptor chain
 * @r: the ring
 * @chain: the caller sets @seg and @cap; the other fields are filled in
 * @reader: reads indirect tables
 *
 * The ring advances by one chain on success, and stays as it is otherwise.
 *
 * Return: 1 with a chain; 0 if there is none; -EFAULT if the ring or a table cannot be
 * read; -EINVAL, -ELOOP or -EMSGSIZE if the driver violated the virtio specification or
 * the chain exceeds @cap; or the error of @reader.
 */
static inline int kvnet_ring_next(struct kvnet_ring *r,
				  struct kvnet_chain *chain,
				  const struct kvnet_reader *reader)
{
	return r->packed ? kvnet_ring_packed_next(r, chain, reader) :
			   kvnet_ring_split_next(r, chain, reader);
}

/**
 * kvnet_ring_next_single() - fetch receive buffers by the single-descriptor fast path
 * @r: the ring
 * @seg: filled in: the buffers
 * @used: filled in: their used elements; @len bytes are distributed over them
 * @max: entries in @seg and @used
 * @len: bytes of the packet; no more buffers are fetched than these need
 *
 * Fetches chains of one writable descriptor, in a pinned ring. It stops at any other chain,
 * which is left to kvnet_ring_next().
 *
 * Return: number of chains fetched.
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
 * kvnet_ring_put() - return buffers to the driver; they become visible together
 * @r: the ring
 * @used: the chains; with VIRTIO_F_IN_ORDER in the order in which they were fetched
 * @n: entries in @used
 *
 * More than num entries occur only if the driver makes a chain available again before
 * the device has used it.
 *
 * Return: 0; -EFAULT; -EINVAL for more than num. Nothing becomes visible on error.
 */
static inline int kvnet_ring_put(struct kvnet_ring *r,
				 const struct kvnet_used *used, unsigned int n)
{
	return r->packed ? kvnet_ring_packed_put(r, used, n) :
			   kvnet_ring_split_put(r, used, n);
}

/*
 * A hint: the driver may still kick (2.7.10). With EVENT_IDX nothing is written: the avail
 * index outruns the event that was set. Returns 0 or -EFAULT.
 */
static inline int kvnet_ring_kick_off(struct kvnet_ring *r)
{
	if (!r->kicks_enabled)
		return 0;
	return r->packed ? kvnet_ring_packed_kick_off(r) : kvnet_ring_split_kick_off(r);
}

/**
 * kvnet_ring_kick_on() - ask the driver to kick for further chains
 * @r: the ring
 *
 * The event is set for the first chain that has not been observed as available, fetched or
 * rewound. An event that is enabled already is not set again: call
 * kvnet_ring_kick_off() first. Includes the full barrier (C) between the request and the
 * check for new chains.
 *
 * Return: 1 if more chains have arrived (the caller polls again), 0 if not, -EFAULT, or
 * -EINVAL for an invalid avail index.
 */
static inline int kvnet_ring_kick_on(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_kick_on(r) : kvnet_ring_split_kick_on(r);
}

/**
 * kvnet_ring_should_call() - does the driver ask for a call for used buffers?
 * @r: the ring
 *
 * Called once after each kvnet_ring_put(), and again after kvnet_ring_call_rewind(): each
 * call moves the start of the driver's event interval. Includes the full barrier (D)
 * between the used index or descriptors and the driver's notification setting.
 *
 * Return: 1 to call, 0 not to call, or -EFAULT.
 */
static inline int kvnet_ring_should_call(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_should_call(r) :
			   kvnet_ring_split_should_call(r);
}

/* The fields of struct kvnet_ring that kvnet_ring_should_call() changes. */
struct kvnet_call_mark {
	u16 signalled_used;
	bool signalled_used_valid;
	u32 used_since_call;
};

static inline struct kvnet_call_mark
kvnet_ring_call_mark(const struct kvnet_ring *r)
{
	return (struct kvnet_call_mark) {
		.signalled_used = r->signalled_used,
		.signalled_used_valid = r->signalled_used_valid,
		.used_since_call = r->used_since_call,
	};
}

/*
 * Undo kvnet_ring_should_call(), to defer the call. The next one returns 0 if the driver
 * has meanwhile consumed the used buffers and updated its notification setting.
 */
static inline void kvnet_ring_call_rewind(struct kvnet_ring *r,
					  struct kvnet_call_mark mark)
{
	r->signalled_used = mark.signalled_used;
	r->signalled_used_valid = mark.signalled_used_valid;
	r->used_since_call = mark.used_since_call;
}

/*
 * Used entries (packed: descriptors) since the last kvnet_ring_should_call() that was not
 * rewound. Only while @signalled_used_valid.
 */
static inline u32 kvnet_ring_count_uncalled(const struct kvnet_ring *r)
{
	return r->packed ? r->used_since_call : (u16)(r->last_used - r->signalled_used);
}

/*
 * Hint: has the driver added chains? Reads one field without a barrier: the result may be
 * stale. True if the field cannot be read.
 */
static inline bool kvnet_ring_pending(const struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_pending(r) : kvnet_ring_split_pending(r);
}

/*
 * For the dirty log: fills in what has been written since the last call, in up to
 * KVNET_RING_SPANS spans, and returns their number.
 */
static inline unsigned int kvnet_ring_collect_written(struct kvnet_ring *r,
						      struct kvnet_ring_span *span)
{
	return r->packed ? kvnet_ring_packed_collect_written(r, span) :
			   kvnet_ring_split_collect_written(r, span);
}

/* Rewind to @pos; none of the chains fetched since then may have been put. */
static inline void kvnet_ring_rewind(struct kvnet_ring *r, kvnet_ring_pos_t pos)
{
	if (r->packed)
		kvnet_ring_packed_rewind(r, pos);
	r->last_avail = pos;
}

static inline kvnet_ring_pos_t kvnet_ring_pos(const struct kvnet_ring *r)
{
	return r->last_avail;
}

/*
 * The value of VHOST_GET_VRING_BASE. Split: the next avail index. Packed: the positions of
 * the next descriptor to fetch (low 16 bits) and to use (high 16 bits). In a new packed
 * ring both wrap counters are 1 (virtio 1.3, 2.8.1).
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

/* @base as from kvnet_ring_base_get(); the ring is not started. */
static inline void kvnet_ring_base_set(struct kvnet_ring *r, u32 base)
{
	r->last_avail = base;
	r->last_used = base >> 16;
	r->base_valid = true;
}

/* Start at index 0; the ring is not started. */
static inline void kvnet_ring_base_reset(struct kvnet_ring *r)
{
	kvnet_ring_base_set(r, 0);
	r->base_valid = false;
}

static inline size_t kvnet_ring_desc_size(const struct kvnet_ring *r)
{
	return sizeof(struct vring_desc) * r->num;
}

/* The driver area, in bytes, with used_event. */
static inline size_t kvnet_ring_avail_size(const struct kvnet_ring *r)
{
	if (r->packed)
		return sizeof(struct vring_packed_desc_event);
	return sizeof(struct vring_avail) + sizeof(__virtio16) * r->num +
	       (r->event_idx ? sizeof(__virtio16) : 0);
}

/* The device area, in bytes, with avail_event. */
static inline size_t kvnet_ring_used_size(const struct kvnet_ring *r)
{
	if (r->packed)
		return sizeof(struct vring_packed_desc_event);
	return sizeof(struct vring_used) +
	       sizeof(struct vring_used_elem) * r->num +
	       (r->event_idx ? sizeof(__virtio16) : 0);
}

#endif /* _KVNET_RING_H */
