/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring_pin.h - a ring's areas pinned and mapped into the kernel
 *
 * The second way to reach an area, see area.h: its pages are held, counted as
 * the owner's pinned memory (VmPin), and mapped one after the other for the kernel. It
 * is only ever an advantage in speed. Where it cannot be had (a limit, memory
 * of a file that must not be held, pieces that do not meet at page boundaries,
 * words that are not aligned) the area is reached by user addresses as before.
 *
 * An area is pinned while the queue knows where it is, and let go of with that
 * knowledge: when the VMM sets another address or memory table, or invalidates
 * a translation, and when the queue stops.
 */
#ifndef _KVNET_RING_PIN_H
#define _KVNET_RING_PIN_H

#include <linux/types.h>

#include "area.h"

struct mm_struct;
struct page;
struct task_struct;

/**
 * struct kvnet_memlock - whose pinned memory the pages are
 * @mm: the owner's address space, which outlives the pins; NULL: do not pin
 * @task: the owner, whose limit counts
 * @unlimited: it does not
 */
struct kvnet_memlock {
	struct mm_struct *mm;
	struct task_struct *task;
	bool unlimited;
};

/**
 * struct kvnet_ring_pin - the pages of an area
 * @charged: pages charged to the owner; 0: none is held
 * @n: entries in @page
 * @node_plus_one: the NUMA node of the first page, plus one; 0: none is held
 * @page: pages held
 * @map: where the kernel has mapped them, if it had to
 */
struct kvnet_ring_pin {
	u32 charged;
	u32 n;
	int node_plus_one;
	struct page **page;
	void *map;
};

void kvnet_ring_pin_get_account(struct kvnet_memlock *memlock, struct mm_struct *mm);
void kvnet_ring_pin_put_account(struct kvnet_memlock *memlock);
int kvnet_ring_pin_area(struct kvnet_ring_pin *pin, struct kvnet_area *a, u32 align,
			const struct kvnet_memlock *memlock);
int kvnet_ring_pin_node(const struct kvnet_ring_pin *pin);
void kvnet_ring_pin_release(struct kvnet_ring_pin *pin, struct kvnet_area *a,
			    const struct kvnet_memlock *memlock);

#endif /* _KVNET_RING_PIN_H */
