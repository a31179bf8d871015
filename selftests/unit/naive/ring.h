/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device side that has nothing in mind but the text of virtio 1.3: the verbs
 * of drivers/kvnet/vq/ring.h, one entry at a time, for tests of the driver side and
 * as a third opinion. Takes the place of that header.
 */
#ifndef _KVNET_RING_H
#define _KVNET_RING_H

#include <linux/types.h>
#include <linux/virtio_ring.h>

#include "area.h"

#define KVNET_RING_MAX		32768
#define KVNET_RING_SPANS	4

struct kvnet_seg {
	u64 addr;
	u32 len;
};

struct kvnet_chain {
	struct kvnet_seg *seg;
	unsigned int cap;
	unsigned int n_out;
	unsigned int n_in;
	u16 id;
	u16 count;
};

struct kvnet_used {
	u32 id;
	u32 len;
	u16 count;
	bool skippable;
};

struct kvnet_reader {
	int (*read)(void *ctx, u64 addr, void *dst, u32 len);
	void *ctx;
};

typedef u32 kvnet_ring_pos_t;

/* Places: an index, or for a packed ring offset and wrap counter (bit 15). */
struct kvnet_ring {
	u16 next;		/* to fetch */
	u16 next_used;
	u16 asked_at;		/* next_used when should_call() was asked last */
	u32 turned;		/* entries or descriptors used since then */
	bool asked;

	u32 num;
	bool le;
	bool event_idx;
	bool notify_on_empty;
	bool packed;
	bool in_order;
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
void kvnet_ring_base_set(struct kvnet_ring *r, u32 base);
u32 kvnet_ring_base_get(const struct kvnet_ring *r);

static inline kvnet_ring_pos_t kvnet_ring_pos(const struct kvnet_ring *r)
{
	return r->next;
}

static inline void kvnet_ring_rewind(struct kvnet_ring *r, kvnet_ring_pos_t pos)
{
	r->next = pos;
}

#endif /* _KVNET_RING_H */
