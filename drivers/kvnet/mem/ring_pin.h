/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring_pin.h - a ring's areas pinned and mapped into the kernel
 *
 * Optional, for speed only: accesses to a mapped area (area.h) are loads and stores that cannot
 * fault. The pages are pinned, charged to the owner (VmPin), and mapped one after the other.
 * If that fails (RLIMIT_MEMLOCK, memory of a file that must not be pinned, pieces that do not
 * meet at page boundaries, words that are not aligned), user accesses are used.
 *
 * An area is pinned from when the queue finds its pieces until it releases them: when the
 * VMM sets other addresses, features or another memory table, or changes a translation of
 * the area, and when the queue stops.
 */
#ifndef _KVNET_RING_PIN_H
#define _KVNET_RING_PIN_H

#include <linux/types.h>

#include "area.h"

struct mm_struct;
struct page;
struct task_struct;

/**
 * struct kvnet_memlock - account that pinned pages are charged to
 * @mm: the owner's mm, whose pinned_vm is charged; the device keeps the mm_struct alive
 *	(mmgrab()) longer than the pins; NULL: do not pin
 * @task: the owner's, whose RLIMIT_MEMLOCK applies; with a reference
 * @unlimited: the owner has CAP_IPC_LOCK: no limit applies
 */
struct kvnet_memlock {
	struct mm_struct *mm;
	struct task_struct *task;
	bool unlimited;
};

/* Pinned pages of an area; written with vq->lock */
struct kvnet_ring_pin {
	u32 charged;		/* pages charged to the memlock account; 0: none is pinned */
	u32 n;			/* entries in @page */
	int node_plus_one;	/* NUMA node of the first page, plus one; 0: none is pinned */
	struct page **page;
	void *map;		/* their mapping by vmap(); NULL if one page needs none */
};

void kvnet_ring_pin_get_account(struct kvnet_memlock *memlock, struct mm_struct *mm);
void kvnet_ring_pin_put_account(struct kvnet_memlock *memlock);
bool kvnet_ring_pin_area(struct kvnet_ring_pin *pin, struct kvnet_area *a, u32 align,
			 const struct kvnet_memlock *memlock);
int kvnet_ring_pin_node(const struct kvnet_ring_pin *pin);
void kvnet_ring_pin_release(struct kvnet_ring_pin *pin, struct kvnet_area *a,
			    const struct kvnet_memlock *memlock);

#endif /* _KVNET_RING_PIN_H */
