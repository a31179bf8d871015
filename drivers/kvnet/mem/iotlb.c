// SPDX-License-Identifier: GPL-2.0
/*
 * iotlb.c - the device IOTLB, see iotlb.h
 */
#include "iotlb.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#define IOTLB_CAPACITY_MIN	16

struct kvnet_iotlb *kvnet_iotlb_alloc(u32 max)
{
	struct kvnet_iotlb *tlb = kvzalloc(sizeof(*tlb), GFP_KERNEL_ACCOUNT);

	if (tlb)
		tlb->max = max;
	return tlb;
}

void kvnet_iotlb_free(struct kvnet_iotlb *tlb)
{
	if (!tlb)
		return;
	kvfree(tlb->entry);
	kvfree(tlb);
}

/* Index of the first entry that ends at or after @addr; n if there is none. */
static u32 find_iotlb_lower_bound(const struct kvnet_iotlb *tlb, u64 addr)
{
	u32 lo = 0, hi = tlb->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (tlb->entry[mid].last < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void remove_iotlb_entries(struct kvnet_iotlb *tlb, u32 at, u32 count)
{
	struct kvnet_iotlb_entry *e = tlb->entry + at;

	if (!count)
		return;
	tlb->n -= count;
	memmove(e, e + count, (tlb->n - at) * sizeof(*e));
}

static void insert_iotlb_entry(struct kvnet_iotlb *tlb, u32 at,
			       const struct kvnet_iotlb_entry *entry)
{
	struct kvnet_iotlb_entry *e = tlb->entry + at;

	memmove(e + 1, e, (tlb->n - at) * sizeof(*e));
	*e = *entry;
	tlb->n++;
}

/* Capacity for one more entry; at the maximum an entry is evicted, round-robin. */
static int make_iotlb_room(struct kvnet_iotlb *tlb)
{
	struct kvnet_iotlb_entry *entry;
	u32 capacity;

	if (tlb->n < tlb->capacity)
		return 0;
	if (!tlb->max)
		return -ENOSPC;
	if (tlb->n == tlb->max) {
		tlb->next_victim %= tlb->n;
		remove_iotlb_entries(tlb, tlb->next_victim, 1);
		tlb->next_victim++;
		return 0;
	}
	capacity = min(max(tlb->capacity * 2, (u32)IOTLB_CAPACITY_MIN), tlb->max);
	entry = kvmalloc_array(capacity, sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	memcpy(entry, tlb->entry, tlb->n * sizeof(*entry));
	kvfree(tlb->entry);
	tlb->entry = entry;
	tlb->capacity = capacity;
	return 0;
}

/*
 * The locks of all queues. Drops the translations of @iova to @last, inclusive; cannot fail.
 * The parts of an entry outside of the range are kept. If that takes one more entry than
 * there is capacity for, only the larger part is kept.
 */
void kvnet_iotlb_invalidate(struct kvnet_iotlb *tlb, u64 iova, u64 last)
{
	u32 at = find_iotlb_lower_bound(tlb, iova), count = 0;
	struct kvnet_iotlb_entry *e, rest;

	if (last < iova)
		return;
	e = tlb->entry + at;
	if (at < tlb->n && e->iova < iova) {
		rest = *e;
		e->last = iova - 1;
		at++;
		if (rest.last > last) {
			rest.hva += last + 1 - rest.iova;
			rest.iova = last + 1;
			if (tlb->n < tlb->capacity)
				insert_iotlb_entry(tlb, at, &rest);
			else if (rest.last - rest.iova > e->last - e->iova)
				*e = rest;
			return;
		}
	}
	while (at + count < tlb->n && tlb->entry[at + count].last <= last)
		count++;
	remove_iotlb_entries(tlb, at, count);
	e = tlb->entry + at;
	if (at < tlb->n && e->iova <= last) {
		e->hva += last + 1 - e->iova;
		e->iova = last + 1;
	}
}

/*
 * The locks of all queues; may sleep. Copies @entry, which replaces all others of its range.
 * Returns 0; -EINVAL for a range that wraps around; -ENOMEM; -ENOSPC if the maximum is 0.
 */
int kvnet_iotlb_update(struct kvnet_iotlb *tlb, const struct kvnet_iotlb_entry *entry)
{
	int ret;

	if (entry->last < entry->iova)
		return -EINVAL;
	kvnet_iotlb_invalidate(tlb, entry->iova, entry->last);
	ret = make_iotlb_room(tlb);
	if (ret)
		return ret;
	insert_iotlb_entry(tlb, find_iotlb_lower_bound(tlb, entry->iova), entry);
	return 0;
}

/*
 * The lock of a queue, for as long as the entry is used. Returns the entry that contains
 * @addr, or NULL. @hint: index of the last entry found, updated; any value is valid.
 */
const struct kvnet_iotlb_entry *
kvnet_iotlb_find(const struct kvnet_iotlb *tlb, u64 addr, u32 *hint)
{
	u32 at = *hint;

	if (at >= tlb->n || addr < tlb->entry[at].iova ||
	    addr > tlb->entry[at].last)
		at = find_iotlb_lower_bound(tlb, addr);
	if (at >= tlb->n || addr < tlb->entry[at].iova)
		return NULL;
	*hint = at;
	return &tlb->entry[at];
}
