/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest_ring - the driver side of a virtqueue, split or packed, for tests.
 *
 * Written from the text of the virtio 1.3 specification, chapters 2.7 and 2.8,
 * and from nothing else: it shares no line and no header with the device side that it
 * tests, so that two independent readings of the text meet in the ring.
 *
 * The ring areas and the buffers are memory of the caller.  The driver works on
 * pointers; what it writes into descriptors are guest-physical addresses, which
 * are never equal to the pointers (gr_cfg.offset or gr_cfg.to_gpa).
 */
#ifndef SELFTESTS_GUEST_RING_H
#define SELFTESTS_GUEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GR_DESC_F_NEXT		1
#define GR_DESC_F_WRITE		2
#define GR_DESC_F_INDIRECT	4
#define GR_AVAIL_F_NO_INTERRUPT	1
#define GR_USED_F_NO_NOTIFY	1

/* 2.8.1, 2.8.10 */
#define GR_PACKED_F_AVAIL	(1 << 7)
#define GR_PACKED_F_USED	(1 << 15)
#define GR_EVENT_ENABLE		0
#define GR_EVENT_DISABLE	1
#define GR_EVENT_DESC		2
#define GR_EVENT_WRAP		0x8000

#define GR_NUM_MAX		32768u
#define GR_ALL_DIRECT		(~0u)

/* 2.7.5: all fields are little-endian */
struct gr_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t next;
};

/* 2.8.13: the same in a packed ring */
struct gr_packed_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t id;
	uint16_t flags;
};

/* 2.8.14 */
struct gr_event {
	uint16_t where;		/* offset, GR_EVENT_WRAP */
	uint16_t flags;
};

/* 2.7.8 */
struct gr_used_elem {
	uint32_t id;
	uint32_t len;
};

/* One element of a buffer, in the driver's own addresses. */
struct gr_buf {
	void *ptr;
	uint32_t len;
	bool write;		/* the device writes it */
};

struct gr_cfg {
	unsigned int num;	/* 1..32768; split: a power of two */
	bool packed;
	bool in_order;		/* used in order, a batch by its last one */
	bool event_idx;
	bool lax;		/* allow tables longer than num */
	void *desc;		/* 16 * num bytes, aligned to 16 */
	void *avail;		/* split: 6 + 2 * num, aligned to 2; else 4 */
	void *used;		/* split: 6 + 8 * num; else 4; aligned to 4 */
	void *ind;		/* ind_tables tables of ind_max descriptors */
	unsigned int ind_tables;
	unsigned int ind_max;
	uint64_t offset;	/* gpa = pointer + offset, unless to_gpa */
	uint64_t (*to_gpa)(void *ctx, const void *ptr, size_t len);
	void *ctx;
};

/* What gr_get_used() took off the ring. */
struct gr_done {
	unsigned int head;	/* what gr_add() returned */
	uint32_t len;
	void *token;
};

/* By the head of a chain (split) or the id of a buffer (packed). */
struct gr_slot {
	void *token;
	uint64_t writable;	/* bytes the device may write */
	unsigned int count;	/* descriptors in the ring; stays when released */
	int ind;		/* indirect table in use, or -1 */
	bool busy;		/* the device may own it */
};

/* A place in a packed ring. */
struct gr_place {
	unsigned int pos;
	bool wrap;
};

/* A chain that is complete but for the flags of its first descriptor. */
struct gr_withheld {
	uint16_t pos;
	uint16_t flags;
};

struct guest_ring {
	struct gr_cfg cfg;
	struct gr_slot *slot;
	uint16_t *link;		/* free slots; split: and chains */
	int *ind_free;
	unsigned int ind_left;
	unsigned int free_head;
	unsigned int num_free;	/* descriptors */
	/* free-running counts of buffers, in both layouts */
	uint16_t avail_idx;	/* placed */
	uint16_t shown_idx;	/* what the device has been told */
	uint16_t kick_idx;	/* shown_idx at the last kick question */
	uint16_t used_idx;	/* taken */
	/* outstanding, in the order made available */
	uint16_t *order;
	unsigned int order_in, order_out;
	/* used by one entry: how many left to take, the last one's length */
	unsigned int batch;
	uint32_t batch_len;
	unsigned long skipped;	/* buffers for which there was no entry */
	struct gr_done *taken;	/* the last num of them */
	unsigned int taken_at;
	/* packed only */
	struct gr_place next_avail, next_used, kick_from;
	unsigned int kick_descs;	/* shown since kick_from */
	struct gr_withheld *withheld;
	unsigned int n_withheld;

	uint64_t fence;
	const char *broken;	/* first rule that the device broke, or NULL */
};

/* Sees used buffers as another driver would, without taking them. */
struct gr_watch {
	struct gr_place at;
	uint16_t idx;
};

size_t gr_desc_bytes(const struct gr_cfg *cfg);
size_t gr_avail_bytes(const struct gr_cfg *cfg);
size_t gr_used_bytes(const struct gr_cfg *cfg);
/* One block of memory cut into the three areas, aligned to 'align' for used. */
size_t gr_block_bytes(const struct gr_cfg *cfg, size_t align);
void gr_block_cut(struct gr_cfg *cfg, void *block, size_t align);

int gr_init(struct guest_ring *r, const struct gr_cfg *cfg);
void gr_exit(struct guest_ring *r);
/*
 * Start as if n buffers of one descriptor each had come and gone.  What a VMM
 * calls the base of such a ring is gr_base_at(): an index, or for a packed one
 * offset and wrap counter of avail (bits 0-15) and of used (bits 16-31).
 */
void gr_start_at(struct guest_ring *r, uint16_t n);
uint32_t gr_base_at(const struct gr_cfg *cfg, uint16_t n);
/* The base of a device that has given back all that it has taken. */
uint32_t gr_base(const struct guest_ring *r);

/*
 * Place a buffer of n elements: the first 'direct' of them in the ring's own
 * descriptors, the rest in one indirect table (packed: all in the table, since
 * 2.8.19 forbids to mix them).  Not visible before gr_publish().
 * Returns the head, or -ENOSPC (ring or tables full), -EINVAL.
 */
int gr_add(struct guest_ring *r, const struct gr_buf *buf, unsigned int n,
	   unsigned int direct, void *token);
void gr_publish(struct guest_ring *r);
/* After gr_publish(): must the device be notified? (2.7.10.1, 2.8.10) */
bool gr_kick_needed(struct guest_ring *r);

/* 1: one buffer taken, 0: none, -EPROTO: the device broke a rule (r->broken) */
int gr_get_used(struct guest_ring *r, struct gr_done *done);
bool gr_used_pending(const struct guest_ring *r);
/* What must change in memory when the next buffer is used. */
const void *gr_used_place(const struct guest_ring *r);
/* How many used buffers are waiting. */
unsigned int gr_used_waiting(const struct guest_ring *r);
/* The k-th last that was taken, k = 1..num. */
const struct gr_done *gr_taken(const struct guest_ring *r, unsigned int k);
void gr_call_off(struct guest_ring *r);
/*
 * Ask for a call after 'after' more buffers (0: the next); true: re-check now.
 * After so many at the latest, if a packed ring has chains.
 */
bool gr_call_on(struct guest_ring *r, unsigned int after);
/* For each one; where there is no such thing, for the next. */
bool gr_call_each(struct guest_ring *r);

/* For another thread than the driver's; not for batches of IN_ORDER. */
void gr_watch_start(const struct guest_ring *r, struct gr_watch *w);
bool gr_watch_next(const struct guest_ring *r, struct gr_watch *w,
		   struct gr_used_elem *e);

/* For hostile contents: no bookkeeping, no checks. */
struct gr_desc *gr_raw_desc(struct guest_ring *r, unsigned int i);
void gr_raw_set(struct gr_desc *d, uint64_t gpa, uint32_t len, uint16_t flags,
		uint16_t next);
void gr_raw_avail(struct guest_ring *r, uint16_t pos, uint16_t head);
void gr_raw_avail_idx(struct guest_ring *r, uint16_t idx);
void gr_raw_avail_flags(struct guest_ring *r, uint16_t flags);
void gr_raw_used_event(struct guest_ring *r, uint16_t event);
/*
 * Buffers used so far, a free-running count; split: the index itself, to be
 * read by any thread.
 */
uint16_t gr_raw_used_idx(const struct guest_ring *r);
uint16_t gr_raw_used_flags(const struct guest_ring *r);
uint16_t gr_raw_avail_event(const struct guest_ring *r);
struct gr_used_elem gr_raw_used(const struct guest_ring *r, uint16_t pos);
/* One descriptor, in a new ring of either layout: shown. */
void gr_raw_offer(struct guest_ring *r, uint64_t gpa, uint32_t len,
		  uint16_t flags);
/* Packed. */
void gr_raw_set_packed(struct gr_desc *d, uint64_t gpa, uint32_t len,
		       uint16_t id, uint16_t flags);
/* The flags alone, after all else: makes it available. */
void gr_raw_show(struct guest_ring *r, unsigned int pos, uint16_t flags);
/* GR_PACKED_F_* of an available or a used one. */
uint16_t gr_raw_lap(bool wrap, bool used);
void gr_raw_driver_event(struct guest_ring *r, uint16_t where, uint16_t flags);
struct gr_event gr_raw_device_event(const struct guest_ring *r);
uint64_t gr_gpa(const struct guest_ring *r, const void *ptr, size_t len);

#endif /* SELFTESTS_GUEST_RING_H */
