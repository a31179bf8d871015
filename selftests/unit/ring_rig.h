/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring_rig - a ring in memory of its own, written by hand
 *
 * Each area is an allocation of its own size, and a shim window of the size
 * that the features ask for: one byte beyond is seen. Fields are written in
 * the byte order of the ring. Offsets are those of virtio 1.3, 2.7 and 2.8.
 *
 * The device may see an area in pieces, each somewhere else and a window of its
 * own; the test sees it in one.
 */
#ifndef UNIT_RING_RIG_H
#define UNIT_RING_RIG_H

#include "ring.h"

#include <linux/errno.h>
#include <linux/kernel.h>

#include "shim.h"

#define RIG_GPA		0x700000000ULL	/* guest address of the tables */
#define RIG_TABLE	128		/* descriptors in the tables */

#define F_NEXT		1
#define F_WRITE		2
#define F_INDIRECT	4
#define F_AVAIL		0x80	/* packed */
#define F_USED		0x8000

#define RIG_PACKED_NEW	0x8000	/* base of a packed ring that is new */

struct rig_cfg {
	u32 num;
	bool be;
	bool packed;
	bool in_order;
	bool event_idx;
	bool on_empty;
	unsigned int cap;	/* 0: as much as any test needs */
	u16 base;		/* packed: an offset, bit 15 the wrap counter */
	bool pinned;		/* by the kernel's own address */
	unsigned int pieces;	/* at most, of an area; 0: it is not cut */
};

struct rig {
	struct kvnet_ring ring;
	struct kvnet_chain chain;
	struct kvnet_reader reader;
	struct rig_cfg cfg;
	u8 *desc, *avail, *used;
	struct kvnet_area_piece piece[3][KVNET_AREA_PIECES];
	u8 table[RIG_TABLE * 16];	/* guest memory at RIG_GPA */
	u16 avail_idx;			/* for rig_offer(); packed: a place */
	unsigned int reads;		/* calls of the reader */
	int read_error;			/* what it answers, if not 0 */
	bool poison;			/* reads destroy what they read */
};

/* What a verb did, as the shim's hook saw it. */
struct rig_watch {
	unsigned int accesses;
	unsigned int fail_at;		/* access to fail, from 1; 0: none */
	bool poison;			/* destroy what has been read */
	unsigned int n;
	struct { enum shim_op op; uintptr_t addr; size_t len; } log[256];
};

/* Run a verb with its first access failing, then its second, and so on. */
#define EACH_FAULT(w, verb, check) do {				\
	unsigned int at_;						\
									\
	for (at_ = 1; at_ < 100; at_++) {				\
		int ret_;						\
									\
		unit_context("%s, access %u", #verb, at_);		\
		rig_watch(&(w));					\
		(w).fail_at = at_;					\
		ret_ = verb;						\
		shim_hook(NULL, NULL);					\
		if ((w).accesses < at_)					\
			break;						\
		EXPECT_EQ(ret_, -EFAULT);				\
		check;							\
	}								\
	EXPECT_TRUE(at_ > 1);						\
} while (0)

void rig_watch(struct rig_watch *w);
/* Place in the log of an access, or of a barrier (NULL); -1 if none. */
int rig_when(const struct rig_watch *w, enum shim_op op, const void *addr);
/* Of the first, or the last, access to any of @len bytes at @addr. */
int rig_first(const struct rig_watch *w, bool write, const void *addr,
	      size_t len);
int rig_last(const struct rig_watch *w, bool write, const void *addr,
	     size_t len);
/* Does a barrier of this kind, or a full one, stand between the two? */
bool rig_barrier(const struct rig_watch *w, enum shim_op op, int from, int to);

struct rig *rig_new(const struct rig_cfg *cfg);
/* Sizes, byte orders, features, bases, whole and in pieces: for i < RIG_WAYS. */
#define RIG_WAYS	32
struct rig_cfg rig_way(unsigned int i, bool packed);
/*
 * Two chains.  Split, at base 0: both descriptors 2, 0 and 3, a table of 40.
 * Packed, at base 0x8004 of 6: one of three, one of a table of 40.
 */
struct rig *rig_good(bool packed, bool event_idx, unsigned int pieces);
void rig_free(struct rig *g);
/* Stopped, and started from there. */
void rig_restart(struct rig *g, u32 base);
/* For base_set(), with avail and used in the same place. */
u32 rig_base(const struct rig_cfg *cfg, u16 place);
/* Make the windows of the areas anew, cut elsewhere. */
void rig_map(struct rig *g);
size_t rig_desc_bytes(const struct rig_cfg *cfg);
size_t rig_avail_bytes(const struct rig_cfg *cfg);
size_t rig_used_bytes(const struct rig_cfg *cfg);

void rig_desc(struct rig *g, u32 i, u64 addr, u32 len, u16 flags, u16 next);
void rig_table(struct rig *g, u32 i, u64 addr, u32 len, u16 flags, u16 next);
void rig_avail(struct rig *g, u16 pos, u16 head);
void rig_avail_idx(struct rig *g, u16 idx);
void rig_avail_flags(struct rig *g, u16 flags);
void rig_used_event(struct rig *g, u16 event);
void rig_set_used_idx(struct rig *g, u16 idx);
u16 rig_used_flags(const struct rig *g);
u16 rig_used_idx(const struct rig *g);
u16 rig_avail_event(const struct rig *g);
struct kvnet_used rig_used(const struct rig *g, u16 pos);
/* Make the chain at @head available; packed: a buffer of that id. */
void rig_offer(struct rig *g, u16 head);

/* Packed: a descriptor, its flags as they are; and what stands there. */
struct rig_packed {
	u64 addr;
	u32 len;
	u16 id;
	u16 flags;
};

void rig_packed(struct rig *g, u32 i, u64 addr, u32 len, u16 id, u16 flags);
/* The next one in the ring, available in its lap. */
void rig_show(struct rig *g, u64 addr, u32 len, u16 id, u16 flags);
/* n places on, in either layout. */
u16 rig_step(const struct rig *g, u16 place, u32 n);
/* Where the device uses next; and what it did use there. */
u16 rig_use_place(const struct rig *g);
bool rig_has_used(const struct rig *g, u16 place, u16 id, u32 len);
/* As the driver sees it. */
bool rig_shows_used(const struct rig *g, u16 place);
/* Has the descriptor there been used? */
bool rig_is_used(const struct rig *g, u16 place);
struct rig_packed rig_packed_at(const struct rig *g, u32 i);
/* F_AVAIL and F_USED of one available, or used, in a lap. */
u16 rig_lap(bool wrap, bool used);
/* What the driver wishes, and the device. */
void rig_driver_event(struct rig *g, u16 where, u16 flags);
u16 rig_device_event(const struct rig *g);
u16 rig_device_event_flags(const struct rig *g);

int rig_next(struct rig *g);
int rig_put(struct rig *g, u16 id, u32 len);
/* The chain fetched last, with @len. */
int rig_put_chain(struct rig *g, u32 len);

#endif /* UNIT_RING_RIG_H */
