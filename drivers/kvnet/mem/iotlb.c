// SPDX-License-Identifier: GPL-2.0
/*
 * iotlb.c - the device IOTLB, see iotlb.h
 */
#include "iotlb.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

/* An IOTLB of @max entries, at most KVNET_IOTLB_MAX; NULL without memory. May sleep. */
struct kvnet_iotlb *kvnet_iotlb_alloc(u32 max)
{
	struct kvnet_iotlb *tlb;

	max = min(max, KVNET_IOTLB_MAX);
	tlb = kvzalloc(struct_size(tlb, entry, max), GFP_KERNEL_ACCOUNT);
	if (tlb)
		tlb->max = max;
	return tlb;
}

void kvnet_iotlb_free(struct kvnet_iotlb *tlb)
{
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

/*
 * The locks of all queues. Drops each translation that has an address of @iova to @last,
 * inclusive, as vhost does; cannot fail.
 */
void kvnet_iotlb_invalidate(struct kvnet_iotlb *tlb, u64 iova, u64 last)
{
	u32 at = find_iotlb_lower_bound(tlb, iova), count = 0;

	while (at + count < tlb->n && tlb->entry[at + count].iova <= last)
		count++;
	remove_iotlb_entries(tlb, at, count);
}

/*
 * The locks of all queues. Copies @entry, which replaces each one that it overlaps, and, if there
 * is no room, evicts another, round-robin. Returns 0; -EINVAL for a range that wraps around;
 * -ENOSPC if the maximum is 0.
 */
int kvnet_iotlb_update(struct kvnet_iotlb *tlb, const struct kvnet_iotlb_entry *entry)
{
	struct kvnet_iotlb_entry *e;

	if (entry->last < entry->iova)
		return -EINVAL;
	if (!tlb->max)
		return -ENOSPC;
	kvnet_iotlb_invalidate(tlb, entry->iova, entry->last);
	if (tlb->n == tlb->max)
		remove_iotlb_entries(tlb, tlb->next_victim++ % tlb->n, 1);
	e = tlb->entry + find_iotlb_lower_bound(tlb, entry->iova);
	memmove(e + 1, e, (tlb->entry + tlb->n - e) * sizeof(*e));
	*e = *entry;
	tlb->n++;
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
