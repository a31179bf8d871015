/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring_rig - a ring in memory of its own, written by hand
 *
 * Each area is an allocation of its own size, and a shim window of the size
 * that the features ask for: one byte beyond is seen. Fields are written in
 * the byte order of the ring. Offsets are those of virtio 1.3, 2.7.
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

struct rig_cfg {
	u32 num;
	bool be;
	bool event_idx;
	bool on_empty;
	unsigned int cap;	/* 0: as much as any test needs */
	u16 base;
	unsigned int pieces;	/* at most, of an area; 0: it is not cut */
};

struct rig {
	struct kvnet_ring ring;
	struct kvnet_chain chain;
	struct kvnet_reader reader;
	struct rig_cfg cfg;
	u8 *desc, *avail, *used;
	struct kvnet_piece piece[3][KVNET_AREA_PIECES];
	u8 table[RIG_TABLE * 16];	/* guest memory at RIG_GPA */
	u16 avail_idx;			/* for rig_offer() */
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
	struct { enum shim_op op; uintptr_t addr; } log[64];
};

void rig_watch(struct rig_watch *w);
/* Place in the log of an access, or of a barrier (NULL); -1 if none. */
int rig_when(const struct rig_watch *w, enum shim_op op, const void *addr);

struct rig *rig_new(const struct rig_cfg *cfg);
void rig_free(struct rig *g);
/* Make the windows of the areas anew, cut elsewhere. */
void rig_map(struct rig *g);
size_t rig_desc_bytes(u32 num);
size_t rig_avail_bytes(u32 num);
size_t rig_used_bytes(u32 num);

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
/* Make the chain at @head available. */
void rig_offer(struct rig *g, u16 head);

int rig_next(struct rig *g);
int rig_put(struct rig *g, u16 id, u32 len);

#endif /* UNIT_RING_RIG_H */
