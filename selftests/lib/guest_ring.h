/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest_ring - the driver side of a split virtqueue, for tests.
 *
 * Written from the text of the virtio 1.3 specification, chapter 2.7, and from
 * nothing else: it shares no line and no header with the device side that it
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

#define GR_NUM_MAX		32768u
#define GR_ALL_DIRECT		(~0u)

/* 2.7.5: all fields are little-endian */
struct gr_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t next;
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
	unsigned int num;	/* power of two, 1..32768 */
	bool event_idx;
	bool lax;		/* allow chains longer than num */
	void *desc;		/* 16 * num bytes, aligned to 16 */
	void *avail;		/* 6 + 2 * num, aligned to 2 */
	void *used;		/* 6 + 8 * num, aligned to 4 */
	void *ind;		/* ind_tables tables of ind_max descriptors */
	unsigned int ind_tables;
	unsigned int ind_max;
	uint64_t offset;	/* gpa = pointer + offset, unless to_gpa */
	uint64_t (*to_gpa)(void *ctx, const void *ptr, size_t len);
	void *ctx;
};

/* What gr_get_used() took off the used ring. */
struct gr_done {
	unsigned int head;
	uint32_t len;
	void *token;
};

struct gr_slot {
	void *token;
	uint64_t writable;	/* bytes the device may write */
	int ind;		/* indirect table in use, or -1 */
	bool busy;		/* head of a chain the device may own */
};

struct guest_ring {
	struct gr_cfg cfg;
	struct gr_slot *slot;
	uint16_t *link;		/* private chain and free-list links */
	int *ind_free;
	unsigned int ind_left;
	unsigned int free_head;
	unsigned int num_free;
	uint16_t avail_idx;	/* next entry to fill */
	uint16_t shown_idx;	/* what the device has been told */
	uint16_t kick_idx;	/* shown_idx at the last kick question */
	uint16_t used_idx;	/* next entry to take */
	uint64_t fence;
	const char *broken;	/* first rule that the device broke, or NULL */
};

size_t gr_desc_bytes(unsigned int num);
size_t gr_avail_bytes(unsigned int num);
size_t gr_used_bytes(unsigned int num);
/* One block of memory cut into the three areas, aligned to 'align' for used. */
size_t gr_block_bytes(unsigned int num, size_t align);
void gr_block_cut(struct gr_cfg *cfg, void *block, size_t align);

int gr_init(struct guest_ring *r, const struct gr_cfg *cfg);
void gr_exit(struct guest_ring *r);
/* Start at an index other than 0, as a device with the same base expects. */
void gr_start_at(struct guest_ring *r, uint16_t base);

/*
 * Place a buffer of n elements: the first 'direct' of them in the ring's own
 * descriptors, the rest in one indirect table.  Not visible before gr_publish().
 * Returns the head, or -ENOSPC (ring or tables full), -EINVAL.
 */
int gr_add(struct guest_ring *r, const struct gr_buf *buf, unsigned int n,
	   unsigned int direct, void *token);
void gr_publish(struct guest_ring *r);
/* After gr_publish(): must the device be notified? (2.7.10.1) */
bool gr_kick_needed(struct guest_ring *r);

/* 1: one buffer taken, 0: none, -EPROTO: the device broke a rule (r->broken) */
int gr_get_used(struct guest_ring *r, struct gr_done *done);
bool gr_used_pending(const struct guest_ring *r);
/* How many used entries are waiting. */
unsigned int gr_used_waiting(const struct guest_ring *r);
void gr_call_off(struct guest_ring *r);
/* Ask for a call after 'after' more buffers (0: the next); true: re-check now */
bool gr_call_on(struct guest_ring *r, unsigned int after);

/* For hostile contents: no bookkeeping, no checks. */
struct gr_desc *gr_raw_desc(struct guest_ring *r, unsigned int i);
void gr_raw_set(struct gr_desc *d, uint64_t gpa, uint32_t len, uint16_t flags,
		uint16_t next);
void gr_raw_avail(struct guest_ring *r, uint16_t pos, uint16_t head);
void gr_raw_avail_idx(struct guest_ring *r, uint16_t idx);
void gr_raw_avail_flags(struct guest_ring *r, uint16_t flags);
void gr_raw_used_event(struct guest_ring *r, uint16_t event);
uint16_t gr_raw_used_idx(const struct guest_ring *r);
uint16_t gr_raw_used_flags(const struct guest_ring *r);
uint16_t gr_raw_avail_event(const struct guest_ring *r);
struct gr_used_elem gr_raw_used(const struct guest_ring *r, uint16_t pos);
uint64_t gr_gpa(const struct guest_ring *r, const void *ptr, size_t len);

#endif /* SELFTESTS_GUEST_RING_H */
