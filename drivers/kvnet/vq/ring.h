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

/* A position for kvnet_ring_rewind(); opaque to callers. */
typedef u32 kvnet_ring_pos_t;

/*
 * The device's side of a ring. The session fields belong to the session, or, while there is
 * none, to the holder of vq->lock. The others change only while the queue has no session. A
 * position in a packed ring is a descriptor's index with the wrap counter in bit 15, as in its
 * event suppression areas.
 */
struct kvnet_ring {
	/* Session */
	u16 last_avail;			/* split: avail index of the next chain; packed: position */
	u16 last_used;			/* next used entry to write; packed: its position */
	u16 signalled_used;		/* split: @last_used at the last should_call() */
	bool signalled_used_valid;	/* of @signalled_used or @used_since_call */
	bool kicks_enabled;		/* the driver has been asked to kick */
	/* For the dirty log: written since the caller set these to false */
	bool wrote_used;		/* device area */
	bool wrote_desc;		/* packed: descriptors */
	u16 avail_idx;			/* split: newest avail index read */
	u16 head_first;			/* split: avail index of the first of @heads */
	u16 head_n;			/* split: valid entries of @heads */
	/* Packed: descriptors from @last_avail on that were observed as available, and rewound */
	u16 n_avail_seen;
	u32 n_in_flight;		/* packed: descriptors fetched and not put, at most @num */
	u32 used_since_call;		/* packed: since the last should_call(), at most 2 * @num */
	__virtio16 heads[KVNET_RING_PREFETCH];	/* split: read ahead, in the driver's byte order */

	u32 num;			/* at most KVNET_RING_MAX; split: a power of two */
	bool packed;
	bool in_order;
	bool le;			/* fields are little-endian */
	bool event_idx;
	bool notify_on_empty;
	bool base_valid;		/* the VMM has set it, or a packed ring has been started */
	struct kvnet_area desc;
	struct kvnet_area avail;	/* driver area */
	struct kvnet_area used;		/* device area */
};

/* The operations below in both layouts: ring_split.c and ring_packed.c. */
int kvnet_ring_split_start(struct kvnet_ring *r);
int kvnet_ring_split_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			  const struct kvnet_reader *reader);
bool kvnet_ring_split_read_ahead(struct kvnet_ring *r);
unsigned int kvnet_ring_split_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					  struct kvnet_used *used, unsigned int max, size_t len);
int kvnet_ring_split_put(struct kvnet_ring *r, const struct kvnet_used *used, unsigned int n);
int kvnet_ring_split_kick_off(struct kvnet_ring *r);
int kvnet_ring_split_kick_on(struct kvnet_ring *r);
int kvnet_ring_split_should_call(struct kvnet_ring *r);
bool kvnet_ring_split_pending(const struct kvnet_ring *r);

int kvnet_ring_packed_start(struct kvnet_ring *r);
int kvnet_ring_packed_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			   const struct kvnet_reader *reader);
unsigned int kvnet_ring_packed_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					   struct kvnet_used *used, unsigned int max, size_t len);
int kvnet_ring_packed_put(struct kvnet_ring *r, const struct kvnet_used *used, unsigned int n);
int kvnet_ring_packed_kick_off(struct kvnet_ring *r);
int kvnet_ring_packed_kick_on(struct kvnet_ring *r);
int kvnet_ring_packed_should_call(struct kvnet_ring *r);
bool kvnet_ring_packed_pending(const struct kvnet_ring *r);
void kvnet_ring_packed_rewind(struct kvnet_ring *r, u16 pos);

/* The areas are pinned, all or none of them: no access to the ring can fault. */
static inline bool kvnet_ring_is_mapped(const struct kvnet_ring *r)
{
	return r->desc.kaddr;
}

/*
 * The first access to the areas after they were resolved; num and features are set. Disables
 * kicks. A split ring continues at the used index found in the ring, as with vhost. Returns 0,
 * -EFAULT, or -EINVAL for a packed base outside of the ring.
 */
static inline int kvnet_ring_start(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_start(r) : kvnet_ring_split_start(r);
}

/**
 * kvnet_ring_next() - fetch the next descriptor chain
 * @r: the ring, advances by one chain on success only
 * @chain: the caller sets @seg and @cap; the other fields are filled in
 * @reader: reads indirect tables
 *
 * Return: 1 with a chain; 0 if there is none; -EFAULT if the ring or a table cannot be
 * read; -EINVAL, -ELOOP or -EMSGSIZE if the driver violated the virtio specification or
 * the chain exceeds @cap; or the error of @reader.
 */
static inline int kvnet_ring_next(struct kvnet_ring *r, struct kvnet_chain *chain,
				  const struct kvnet_reader *reader)
{
	return r->packed ? kvnet_ring_packed_next(r, chain, reader) :
			   kvnet_ring_split_next(r, chain, reader);
}

/*
 * Fast path of a pinned ring: fetches up to @max chains of one writable descriptor, as many as
 * a packet of @len bytes needs. @seg and @used are filled in; the bytes are distributed over
 * @used. Stops at any other chain, which kvnet_ring_next() reads again and validates. Returns
 * the number of chains.
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

/*
 * Returns @n chains to the driver, with VIRTIO_F_IN_ORDER in the order in which they were
 * fetched; they become visible together. Returns 0; -EFAULT; or -EINVAL for more than num,
 * which occur only if the driver makes a chain available again before it is used. Nothing
 * becomes visible on error.
 */
static inline int kvnet_ring_put(struct kvnet_ring *r, const struct kvnet_used *used,
				 unsigned int n)
{
	return r->packed ? kvnet_ring_packed_put(r, used, n) : kvnet_ring_split_put(r, used, n);
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

/*
 * Asks the driver to kick for the first chain that has not been observed as available, fetched
 * or rewound. An event that is enabled already is not set again: call kvnet_ring_kick_off()
 * first. Includes the full barrier (C) between the request and the check for new chains.
 * Returns 1 if more chains have arrived (the caller polls again), 0 if not, -EFAULT, or -EINVAL
 * for an invalid avail index.
 */
static inline int kvnet_ring_kick_on(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_kick_on(r) : kvnet_ring_split_kick_on(r);
}

/*
 * Does the driver ask for a call for used buffers? Once after each kvnet_ring_put(), and again
 * after kvnet_ring_call_rewind(): each time moves the start of the driver's event interval.
 * Includes the full barrier (D) between the used index or descriptors and the driver's
 * notification setting. Returns 1 to call, 0 not to call, or -EFAULT.
 */
static inline int kvnet_ring_should_call(struct kvnet_ring *r)
{
	return r->packed ? kvnet_ring_packed_should_call(r) : kvnet_ring_split_should_call(r);
}

/* The fields of struct kvnet_ring that kvnet_ring_should_call() changes. */
struct kvnet_call_mark {
	u16 signalled_used;
	bool signalled_used_valid;
	u32 used_since_call;
};

static inline struct kvnet_call_mark kvnet_ring_call_mark(const struct kvnet_ring *r)
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
static inline void kvnet_ring_call_rewind(struct kvnet_ring *r, struct kvnet_call_mark mark)
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
		return BIT(VRING_PACKED_EVENT_F_WRAP_CTR) | BIT(VRING_PACKED_EVENT_F_WRAP_CTR + 16);
	return r->last_avail | (u32)r->last_used << 16;
}

/* @base as from kvnet_ring_base_get(); the ring is not started. */
static inline void kvnet_ring_base_set(struct kvnet_ring *r, u32 base)
{
	r->last_avail = base;
	r->last_used = base >> 16;
	r->base_valid = true;
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
	return sizeof(struct vring_used) + sizeof(struct vring_used_elem) * r->num +
	       (r->event_idx ? sizeof(__virtio16) : 0);
}

#endif /* _KVNET_RING_H */
