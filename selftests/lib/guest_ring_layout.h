/* SPDX-License-Identifier: GPL-2.0 */
/* What the two layouts of guest_ring have in common, and what each brings. */
#ifndef SELFTESTS_GUEST_RING_LAYOUT_H
#define SELFTESTS_GUEST_RING_LAYOUT_H

#include <endian.h>

#include "guest_ring.h"

static inline uint16_t gr_get16(const uint16_t *p)
{
	return le16toh(__atomic_load_n(p, __ATOMIC_RELAXED));
}

static inline uint16_t gr_get16_acquire(const uint16_t *p)
{
	return le16toh(__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

static inline void gr_put16(uint16_t *p, uint16_t v)
{
	__atomic_store_n(p, htole16(v), __ATOMIC_RELAXED);
}

static inline void gr_put16_release(uint16_t *p, uint16_t v)
{
	__atomic_store_n(p, htole16(v), __ATOMIC_RELEASE);
}

/*
 * "idx written" before "suppression read" wants a full barrier (2.7.13.4.1).
 * ThreadSanitizer does not model fences, but it does model a read-modify-write.
 */
static inline void gr_full_barrier(struct guest_ring *r)
{
#if defined(__SANITIZE_THREAD__)
	__atomic_fetch_add(&r->fence, 1, __ATOMIC_SEQ_CST);
#else
	(void)r;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Notes the first rule that the device broke; -EPROTO. */
int gr_rule(struct guest_ring *r, const char *what);

/* The buffer as elements of the ring; *d refers to a table of all of them. */
void gr_fill(struct guest_ring *r, struct gr_desc *d, const struct gr_buf *b);
int gr_fill_table(struct guest_ring *r, const struct gr_buf *buf,
		  unsigned int n, uint64_t *gpa);
/* How many buffers an entry with this id stands for; 0: it was not to come. */
unsigned int gr_batch_of(const struct guest_ring *r, unsigned int from,
			 unsigned int id);

/* Place it in the ring; returns its slot. There is room for it. */
unsigned int gr_split_place(struct guest_ring *r, const struct gr_buf *buf,
			    unsigned int n, unsigned int direct, int *table);
unsigned int gr_packed_place(struct guest_ring *r, const struct gr_buf *buf,
			     unsigned int n, int *table);
void gr_split_publish(struct guest_ring *r);
void gr_packed_publish(struct guest_ring *r);
bool gr_split_kick_needed(struct guest_ring *r);
bool gr_packed_kick_needed(struct guest_ring *r);
/* The entry where the next one is to appear: 1, 0 or -EPROTO */
int gr_split_look(struct guest_ring *r, struct gr_used_elem *e);
int gr_packed_look(struct guest_ring *r, struct gr_used_elem *e);
void gr_split_release(struct guest_ring *r, unsigned int slot);
void gr_packed_release(struct guest_ring *r, unsigned int slot);
uint16_t gr_split_used_idx(const struct guest_ring *r);
/* Packed: counts as far as 'max'. */
unsigned int gr_split_waiting(const struct guest_ring *r);
unsigned int gr_packed_waiting(const struct guest_ring *r, unsigned int max,
			       struct gr_place *end);
bool gr_packed_passed(const struct guest_ring *r, unsigned int after);
void gr_split_call(struct guest_ring *r, bool on, unsigned int after);
void gr_packed_call(struct guest_ring *r, uint16_t mode, unsigned int after);
bool gr_split_watch(const struct guest_ring *r, struct gr_watch *w,
		    struct gr_used_elem *e);
bool gr_packed_watch(const struct guest_ring *r, struct gr_watch *w,
		     struct gr_used_elem *e);
void gr_split_start(struct guest_ring *r, uint16_t n);
void gr_packed_start(struct guest_ring *r, uint16_t n);
struct gr_place gr_packed_place_of(const struct gr_cfg *cfg, uint16_t n);

#endif /* SELFTESTS_GUEST_RING_LAYOUT_H */
