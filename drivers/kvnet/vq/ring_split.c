// SPDX-License-Identifier: GPL-2.0
/*
 * ring_split.c - the split virtqueue, device side (virtio 1.3, 2.7)
 *
 * For any bytes that the driver writes, kvnet_ring_split_next() ends after at most "num"
 * descriptors of the ring and "count" descriptors of an indirect table, with a valid chain
 * or with an error. It reads each field once. Barriers are named as in
 * Documentation/ordering.rst. For contexts and results see ring.h.
 *
 * The CPU may load speculatively before a bounds check has failed (Spectre v1). Therefore
 * an index that the driver can influence is also masked, where it is used.
 */
#include "ring.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/virtio_byteorder.h>

/* Offsets in the driver area and the device area (2.7.6, 2.7.8). */
#define AVAIL_FLAGS	offsetof(struct vring_avail, flags)
#define AVAIL_IDX	offsetof(struct vring_avail, idx)
#define USED_FLAGS	offsetof(struct vring_used, flags)
#define USED_IDX	offsetof(struct vring_used, idx)

static u16 split_to_cpu16(const struct kvnet_ring *r, __virtio16 val)
{
	return __virtio16_to_cpu(r->le, val);
}

static __virtio16 split_from_cpu16(const struct kvnet_ring *r, u16 val)
{
	return __cpu_to_virtio16(r->le, val);
}

static u32 avail_entry_offset(u32 i)
{
	return sizeof(struct vring_avail) + i * sizeof(__virtio16);
}

static u32 used_entry_offset(u32 i)
{
	return sizeof(struct vring_used) + i * sizeof(struct vring_used_elem);
}

static u32 used_event_offset(const struct kvnet_ring *r)
{
	return avail_entry_offset(r->num);
}

static u32 avail_event_offset(const struct kvnet_ring *r)
{
	return used_entry_offset(r->num);
}

/* True: the next fetch has to read the avail index. */
static bool all_seen_is_fetched(const struct kvnet_ring *r)
{
	return r->last_avail == r->avail_idx;
}

/*
 * Returns 1 if there are chains to fetch, 0 if not. An avail index more than "num" ahead
 * is invalid (2.7.6.1).
 */
static int fetch_avail_idx(struct kvnet_ring *r)
{
	__virtio16 val;
	u16 idx;

	if (kvnet_area_load16(&r->avail, AVAIL_IDX, &val))
		return -EFAULT;
	idx = split_to_cpu16(r, val);
	if ((u16)(idx - r->last_avail) > r->num)
		return -EINVAL;
	r->avail_idx = idx;
	if (idx == r->last_avail)
		return 0;

	/* A: entries are read after the index; pairs with the driver's wmb. */
	smp_rmb();
	return 1;
}

/* Read ahead in the avail ring, up to its end or to the newest avail index read. */
static __always_inline int fetch_avail_heads(struct kvnet_ring *r)
{
	u16 at = r->last_avail & (r->num - 1);
	u32 n = (u16)(r->avail_idx - r->last_avail);

	n = min_t(u32, n, KVNET_RING_PREFETCH);
	n = min_t(u32, n, r->num - at);
	r->head_n = 0;
	if (kvnet_area_read(r->heads, &r->avail, avail_entry_offset(at),
			    n * sizeof(r->heads[0])))
		return -EFAULT;
	r->head_first = r->last_avail;
	r->head_n = n;
	return 0;
}

/*
 * For kvnet_ring_next_single(): read further avail entries, once those read ahead have been
 * fetched. Does nothing in a ring that is not pinned. Errors are left to
 * kvnet_ring_split_next(), which finds them again. Returns true with new entries.
 */
bool kvnet_ring_split_read_ahead(struct kvnet_ring *r)
{
	if (!kvnet_ring_is_mapped(r) ||
	    (u16)(r->last_avail - r->head_first) < r->head_n)
		return false;
	if (all_seen_is_fetched(r) && fetch_avail_idx(r) <= 0)
		return false;
	return !fetch_avail_heads(r);
}

/* The head at last_avail, which the avail index covers; or -errno. */
static int get_avail_head(struct kvnet_ring *r)
{
	u16 at = r->last_avail - r->head_first;
	u16 head;
	int ret;

	if (at >= r->head_n) {
		ret = fetch_avail_heads(r);
		if (ret)
			return ret;
		at = 0;
	}
	head = split_to_cpu16(r, r->heads[at & (KVNET_RING_PREFETCH - 1)]);
	return head < r->num ? head : -EINVAL;
}

static __always_inline int load_split_desc(const struct kvnet_ring *r, u32 i, struct kvnet_desc *d)
{
	u64 addr, rest;

	i &= r->num - 1;
	if (kvnet_area_load_pair(&r->desc, i * sizeof(struct vring_desc), &addr, &rest))
		return -EFAULT;
	*d = kvnet_chain_decode_desc(addr, rest, r->le);
	return 0;
}

static noinline int walk_split_chain(const struct kvnet_ring *r, struct kvnet_chain *chain,
				     struct kvnet_desc d, const struct kvnet_reader *reader)
{
	u32 steps;
	int ret;

	for (steps = 1; ; steps++) {
		chain->count = steps;
		if (d.flags & VRING_DESC_F_INDIRECT) {
			/* An indirect descriptor ends its chain (2.7.5.3.1). */
			if (d.flags & VRING_DESC_F_NEXT)
				return -EINVAL;
			return kvnet_chain_add_table(chain, &d, r->le, false, reader);
		}
		ret = kvnet_chain_add(chain, &d);
		if (ret)
			return ret;
		if (!(d.flags & VRING_DESC_F_NEXT))
			return 0;
		if (d.next >= r->num)
			return -EINVAL;
		if (steps == r->num)
			return -ELOOP;
		ret = load_split_desc(r, d.next, &d);
		if (ret)
			return ret;
	}
}

int kvnet_ring_split_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			  const struct kvnet_reader *reader)
{
	struct kvnet_desc d;
	int ret;

	if (all_seen_is_fetched(r)) {
		ret = fetch_avail_idx(r);
		if (ret <= 0)
			return ret;
	}
	ret = get_avail_head(r);
	if (ret < 0)
		return ret;

	chain->id = ret;
	chain->n_out = 0;
	chain->n_in = 0;
	ret = load_split_desc(r, chain->id, &d);
	if (ret)
		return ret;
	if (likely(kvnet_chain_desc_is_single(&d) && chain->cap)) {
		kvnet_chain_set_single(chain, &d);
	} else {
		ret = walk_split_chain(r, chain, d, reader);
		if (ret)
			return ret;
	}
	r->last_avail++;
	return 1;
}

/* Entries read ahead have been observed as available: A is in fetch_avail_idx(). */
unsigned int kvnet_ring_split_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					  struct kvnet_used *used, unsigned int max, size_t len)
{
	u16 first = r->last_avail - r->head_first;
	const bool le = r->le;
	unsigned int n, at;
	struct kvnet_desc d;
	u64 addr, rest;
	u32 head;

	if (!kvnet_ring_is_mapped(r) || first >= r->head_n)
		return 0;
	max = min_t(unsigned int, max, r->head_n - first);
	for (n = 0; n < max && len; n++) {
		at = (first + n) & (KVNET_RING_PREFETCH - 1);
		head = __virtio16_to_cpu(le, r->heads[at]);
		if (head >= r->num)
			break;
		head &= r->num - 1;
		if (kvnet_area_load_pair(&r->desc, head * sizeof(struct vring_desc), &addr, &rest))
			break;
		d = kvnet_chain_decode_desc(addr, rest, le);
		if (d.flags != VRING_DESC_F_WRITE)
			break;
		len = kvnet_chain_add_single(seg++, used++, d.addr, d.len, head, len);
	}
	r->last_avail += n;
	return n;
}

/* A struct vring_used_elem, built in a register: its fields are not stored one by one. */
static u64 make_used_elem(const struct kvnet_used *used, bool le)
{
	if (le)
		return (__force u64)cpu_to_le64(used->id | (u64)used->len << 32);
	return (__force u64)cpu_to_be64((u64)used->id << 32 | used->len);
}

/* For a ring that is not pinned: few user accesses, of many entries each. */
static int write_used_chunks(struct kvnet_ring *r, u16 at, const struct kvnet_used *used,
			     unsigned int n)
{
	u64 elem[32];
	unsigned int i, part;

	for (; n; n -= part, used += part, at += part) {
		part = min_t(unsigned int, n, ARRAY_SIZE(elem));
		for (i = 0; i < part; i++)
			elem[i] = make_used_elem(&used[i], r->le);
		if (kvnet_area_write(&r->used, used_entry_offset(at), elem,
				     part * sizeof(elem[0])))
			return -EFAULT;
	}
	return 0;
}

/* Write @n used entries from slot @at on; they do not wrap. */
static int write_used_elems(struct kvnet_ring *r, u16 at,
			    const struct kvnet_used *used, unsigned int n)
{
	/* A copy for the compiler to keep in registers: the stores below may alias @r. */
	const struct kvnet_area area = r->used;
	const bool le = r->le;
	unsigned int i;
	int ret = 0;
	u64 elem;

	if (!area.kaddr && n > 1)
		return write_used_chunks(r, at, used, n);
	for (i = 0; i < n && !ret; i++) {
		elem = make_used_elem(&used[i], le);
		ret = kvnet_area_write(&area, used_entry_offset(at + i), &elem, sizeof(elem));
	}
	return ret;
}

/* Write @n used entries from @first entries after last_used on; they may wrap. */
static int write_used_wrapped(struct kvnet_ring *r, unsigned int first,
			      const struct kvnet_used *used, unsigned int n)
{
	u16 at = (r->last_used + first) & (r->num - 1);
	unsigned int part = min_t(unsigned int, n, r->num - at);
	int ret = write_used_elems(r, at, used, part);

	return ret || n == part ? ret : write_used_elems(r, 0, used + part, n - part);
}

/*
 * VIRTIO_F_IN_ORDER: the used element of the last buffer of a batch, in the slot of the
 * first, covers all of them (2.7.9).
 */
static int write_used_in_order(struct kvnet_ring *r, const struct kvnet_used *used, unsigned int n)
{
	unsigned int i = 0, last, run;
	int ret;

	while (i < n) {
		for (run = 0; i + run < n && !used[i + run].skippable; run++)
			;
		ret = write_used_wrapped(r, i, used + i, run);
		if (ret)
			return ret;
		i += run;
		if (i == n)
			break;
		last = i + kvnet_chain_used_batch(used + i, n - i) - 1;
		ret = write_used_wrapped(r, i, used + last, 1);
		if (ret)
			return ret;
		i = last + 1;
	}
	return 0;
}

int kvnet_ring_split_put(struct kvnet_ring *r, const struct kvnet_used *used, unsigned int n)
{
	u16 idx = r->last_used + n;
	int ret;

	if (n > r->num)
		return -EINVAL;
	ret = r->in_order ? write_used_in_order(r, used, n) :
				write_used_wrapped(r, 0, used, n);
	if (ret)
		return ret;

	/* B: entries before the index; pairs with the driver's rmb. */
	smp_wmb();
	if (kvnet_area_store16(&r->used, USED_IDX, split_from_cpu16(r, idx)))
		return -EFAULT;
	/* The 16-bit distance to signalled_used has wrapped: it is invalid from here on. */
	if ((u16)(idx - r->signalled_used) < n)
		r->signalled_used_valid = false;
	r->last_used = idx;
	r->wrote_used = true;
	return 0;
}

int kvnet_ring_split_kick_off(struct kvnet_ring *r)
{
	r->kicks_enabled = false;
	if (r->event_idx)
		return 0;
	r->wrote_used = true;
	return kvnet_area_store16(&r->used, USED_FLAGS,
				  split_from_cpu16(r, VRING_USED_F_NO_NOTIFY));
}

int kvnet_ring_split_kick_on(struct kvnet_ring *r)
{
	u16 seen = r->avail_idx;
	int ret;

	if (!r->kicks_enabled) {
		if (r->event_idx)
			ret = kvnet_area_store16(&r->used, avail_event_offset(r),
						 split_from_cpu16(r, seen));
		else
			ret = kvnet_area_store16(&r->used, USED_FLAGS,
						 split_from_cpu16(r, 0));
		if (ret)
			return ret;
		r->wrote_used = true;
		r->kicks_enabled = true;
	}
	/* C: the request before the avail index is read again; pairs with the driver's mb. */
	smp_mb();
	ret = fetch_avail_idx(r);
	if (ret < 0)
		return ret;
	return r->avail_idx != seen;
}

int kvnet_ring_split_should_call(struct kvnet_ring *r)
{
	u16 old = r->signalled_used;
	bool valid = r->signalled_used_valid;
	__virtio16 val;

	/* D: the used index before the driver's setting; pairs with the driver's mb. */
	smp_mb();
	if (r->notify_on_empty && all_seen_is_fetched(r))
		return 1;
	if (!r->event_idx) {
		if (kvnet_area_load16(&r->avail, AVAIL_FLAGS, &val))
			return -EFAULT;
		return !(split_to_cpu16(r, val) & VRING_AVAIL_F_NO_INTERRUPT);
	}

	r->signalled_used = r->last_used;
	r->signalled_used_valid = true;
	if (!valid)
		return 1;
	if (kvnet_area_load16(&r->avail, used_event_offset(r), &val))
		return -EFAULT;
	return vring_need_event(split_to_cpu16(r, val), r->last_used, old);
}

bool kvnet_ring_split_pending(const struct kvnet_ring *r)
{
	__virtio16 val;

	if (kvnet_area_load16(&r->avail, AVAIL_IDX, &val))
		return true;
	return split_to_cpu16(r, val) != r->avail_idx;
}

int kvnet_ring_split_start(struct kvnet_ring *r)
{
	u16 flags = r->event_idx ? 0 : VRING_USED_F_NO_NOTIFY;
	__virtio16 val;

	if (kvnet_area_load16(&r->used, USED_IDX, &val))
		return -EFAULT;
	r->last_used = split_to_cpu16(r, val);
	r->signalled_used_valid = false;
	r->avail_idx = r->last_avail;
	r->head_n = 0;
	r->kicks_enabled = false;
	r->wrote_desc = false;
	r->wrote_used = true;
	if (kvnet_area_store16(&r->used, USED_FLAGS, split_from_cpu16(r, flags)))
		return -EFAULT;
	return kvnet_area_load16(&r->avail, AVAIL_IDX, &val);
}
