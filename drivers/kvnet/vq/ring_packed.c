// SPDX-License-Identifier: GPL-2.0
/*
 * ring_packed.c - the packed virtqueue, device side (virtio 1.3, 2.8)
 *
 * For any bytes that the driver writes, kvnet_ring_packed_next() ends after at most "num"
 * descriptors of the ring and "count" descriptors of an indirect table, with a valid chain
 * or with an error. Only the flags of a chain's first descriptor are loaded twice; the
 * first value counts. Barriers are named as in Documentation/ordering.rst. For contexts,
 * results and positions see ring.h.
 */
#include "ring.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/virtio_byteorder.h>

#define WRAP		BIT(VRING_PACKED_EVENT_F_WRAP_CTR)
#define F_AVAIL		BIT(VRING_PACKED_DESC_F_AVAIL)
#define F_USED		BIT(VRING_PACKED_DESC_F_USED)

/* A used descriptor is written from its length on: length, id and flags. */
#define DESC_TAIL	offsetof(struct vring_packed_desc, len)
#define DESC_TAIL_FLAGS	offsetof(struct vring_packed_desc, flags)

/* Offsets in the driver and the device event suppression area (2.8.10). */
#define EVENT_OFF_WRAP	offsetof(struct vring_packed_desc_event, off_wrap)
#define EVENT_FLAGS	offsetof(struct vring_packed_desc_event, flags)

static u16 packed_to_cpu16(__virtio16 val)
{
	return __virtio16_to_cpu(true, val);
}

static __virtio16 packed_from_cpu16(u16 val)
{
	return __cpu_to_virtio16(true, val);
}

static u16 pos_to_index(u16 pos)
{
	return pos & ~WRAP;
}

static u32 pos_to_desc_offset(u16 pos, size_t field)
{
	return pos_to_index(pos) * sizeof(struct vring_packed_desc) + field;
}

/* The position @n descriptors after @pos, @n <= num. */
static u16 advance_pos(const struct kvnet_ring *r, u16 pos, u32 n)
{
	u32 i = pos_to_index(pos) + n;

	if (i >= r->num)
		return (i - r->num) | ((pos & WRAP) ^ WRAP);
	return i | (pos & WRAP);
}

/* Descriptors from position @a to position @b, at most num. */
static u32 descs_between(const struct kvnet_ring *r, u16 a, u16 b)
{
	if ((a ^ b) & WRAP)
		return pos_to_index(b) + r->num - pos_to_index(a);
	return pos_to_index(b) - pos_to_index(a);
}

static bool desc_is_avail(u16 flags, u16 pos)
{
	bool wrap = pos & WRAP;

	return !!(flags & F_AVAIL) == wrap && !!(flags & F_USED) != wrap;
}

/* Returns 1 if the descriptor at @pos is available, 0 if not, or -EFAULT. */
static inline int check_desc_avail(const struct kvnet_ring *r, u16 pos, u16 *flags)
{
	__virtio16 val;

	if (kvnet_area_load16(&r->desc, pos_to_desc_offset(pos, DESC_TAIL_FLAGS), &val))
		return -EFAULT;
	*flags = packed_to_cpu16(val);
	return desc_is_avail(*flags, pos);
}

/* @rest: len, id, flags */
static struct kvnet_desc decode_packed_desc(u64 addr, u64 rest)
{
	rest = le64_to_cpu((__force __le64)rest);
	return (struct kvnet_desc) {
		.addr = le64_to_cpu((__force __le64)addr),
		.len = rest,
		.flags = rest >> 48 & KVNET_CHAIN_DESC_FLAGS,
		.next = rest >> 32,	/* the buffer id */
	};
}

/*
 * Read the chain that starts at last_avail with @d. The driver has written all of it before
 * the flags of @d (A), so that the other flags need no check of availability.
 */
static noinline int read_packed_chain(const struct kvnet_ring *r, struct kvnet_chain *chain,
				      struct kvnet_desc d, const struct kvnet_reader *reader)
{
	u16 pos = r->last_avail;
	u64 addr, rest;
	u32 n;
	int ret;

	for (n = 1; ; n++) {
		chain->count = n;
		if (d.flags & VRING_DESC_F_INDIRECT) {
			/* An indirect descriptor is the only one of its chain (2.8.5). */
			if (n > 1 || d.flags & VRING_DESC_F_NEXT)
				return -EINVAL;
			return kvnet_chain_add_table(chain, &d, true, true, reader);
		}
		ret = kvnet_chain_add(chain, &d);
		if (ret || !(d.flags & VRING_DESC_F_NEXT))
			return ret;
		if (n == r->num)
			return -ELOOP;
		pos = advance_pos(r, pos, 1);
		if (kvnet_area_load_pair(&r->desc, pos_to_desc_offset(pos, 0), &addr, &rest))
			return -EFAULT;
		d = decode_packed_desc(addr, rest);
		chain->id = d.next;
	}
}

int kvnet_ring_packed_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			   const struct kvnet_reader *reader)
{
	struct kvnet_desc d;
	u64 addr, rest;
	u16 flags;
	int ret;

	ret = check_desc_avail(r, r->last_avail, &flags);
	if (ret <= 0)
		return ret;
	/* A: the rest is read after the flags; pairs with the driver's wmb. */
	smp_rmb();
	if (kvnet_area_load_pair(&r->desc, pos_to_desc_offset(r->last_avail, 0), &addr, &rest))
		return -EFAULT;
	d = decode_packed_desc(addr, rest);
	/* The driver may have changed the flags since they were read: the first value counts. */
	d.flags = flags & KVNET_CHAIN_DESC_FLAGS;
	chain->id = d.next;
	chain->n_out = 0;
	chain->n_in = 0;
	if (likely(kvnet_chain_desc_is_single(&d) && chain->cap)) {
		kvnet_chain_set_single(chain, &d);
	} else {
		ret = read_packed_chain(r, chain, d, reader);
		if (ret)
			return ret;
	}
	/* The driver made a descriptor available again before it was used (2.8.1). */
	if (r->n_in_flight + chain->count > r->num)
		return -EINVAL;
	r->n_in_flight += chain->count;
	r->last_avail = advance_pos(r, r->last_avail, chain->count);
	r->n_avail_seen -= min(r->n_avail_seen, chain->count);
	return 1;
}

unsigned int kvnet_ring_packed_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					   struct kvnet_used *used, unsigned int max, size_t len)
{
	const u16 mask = F_AVAIL | F_USED | KVNET_CHAIN_DESC_FLAGS;
	u16 wrap = r->last_avail & WRAP, flags;
	u32 i = r->last_avail & ~WRAP, at;
	unsigned int n;
	__virtio16 val;
	u64 addr, rest;

	if (!kvnet_ring_is_mapped(r) || r->n_in_flight >= r->num)
		return 0;
	max = min(max, r->num - r->n_in_flight);
	for (n = 0; n < max && len; n++) {
		at = i * sizeof(struct vring_packed_desc);
		if (kvnet_area_load16(&r->desc, at + DESC_TAIL_FLAGS, &val))
			break;
		flags = packed_to_cpu16(val);
		if ((flags & mask) != ((wrap ? F_AVAIL : F_USED) | VRING_DESC_F_WRITE))
			break;
		/* A: as in kvnet_ring_packed_next(). */
		smp_rmb();
		if (kvnet_area_load_pair(&r->desc, at, &addr, &rest))
			break;
		rest = le64_to_cpu((__force __le64)rest);
		len = kvnet_chain_add_single(seg++, used++, le64_to_cpu((__force __le64)addr),
					     rest, rest >> 32, len);
		if (++i == r->num) {
			i = 0;
			wrap ^= WRAP;
		}
	}
	r->last_avail = i | wrap;
	r->n_in_flight += n;
	r->n_avail_seen -= min_t(unsigned int, r->n_avail_seen, n);
	return n;
}

/* Rewound chains have been observed as available: kick_on() is for those after. */
void kvnet_ring_packed_rewind(struct kvnet_ring *r, u16 pos)
{
	u32 n = descs_between(r, pos, r->last_avail);

	r->n_in_flight -= min(r->n_in_flight, n);
	r->n_avail_seen = min(r->n_avail_seen + n, r->num);
}

static u16 make_used_flags(const struct kvnet_used *used, u16 pos)
{
	u16 flags = pos & WRAP ? F_AVAIL | F_USED : 0;

	return used->len ? flags | VRING_DESC_F_WRITE : flags;
}

/* Built in a register: its fields are not stored one by one. */
static __le64 make_used_tail(const struct kvnet_used *used, u16 flags)
{
	return cpu_to_le64(used->len | (u64)used->id << 32 | (u64)flags << 48);
}

/* Number of ring descriptors that these buffers occupy. */
static u32 sum_used_descs(const struct kvnet_used *used, unsigned int n)
{
	u32 sum = 0;

	while (n--)
		sum += used++->count;
	return sum;
}

static int write_used_tail(struct kvnet_ring *r, const struct kvnet_used *used, u16 pos)
{
	__le64 tail = make_used_tail(used, make_used_flags(used, pos));

	return kvnet_area_write(&r->desc, pos_to_desc_offset(pos, DESC_TAIL), &tail,
				sizeof(tail));
}

/* The first used descriptor, without its flags. */
static int write_used_head(struct kvnet_ring *r, const struct kvnet_used *used)
{
	__le64 tail = make_used_tail(used, 0);

	return kvnet_area_write(&r->desc, pos_to_desc_offset(r->last_used, DESC_TAIL), &tail,
				DESC_TAIL_FLAGS - DESC_TAIL);
}

/*
 * The first descriptor's flags are written last: the driver reads no other used descriptor
 * before it has seen these (2.8.1, and 2.8.9 for the buffers of one packet).
 */
int kvnet_ring_packed_put(struct kvnet_ring *r, const struct kvnet_used *used, unsigned int n)
{
	u32 slots = sum_used_descs(used, n), step;
	u16 pos = r->last_used;
	unsigned int i, batch;
	u16 flags = 0;
	int ret;

	if (slots > r->num)
		return -EINVAL;
	if (!n)
		return 0;
	for (i = 0; i < n; i += batch) {
		batch = 1;
		step = used[i].count;
		if (r->in_order) {
			batch = kvnet_chain_used_batch(used + i, n - i);
			step = sum_used_descs(used + i, batch);
		}
		if (i) {
			ret = write_used_tail(r, &used[i + batch - 1], pos);
		} else {
			flags = make_used_flags(&used[batch - 1], pos);
			ret = write_used_head(r, &used[batch - 1]);
		}
		if (ret)
			return ret;
		pos = advance_pos(r, pos, step);
	}
	/* B: all other stores before the first flags; pairs with the driver's rmb. */
	smp_wmb();
	if (kvnet_area_store16(&r->desc, pos_to_desc_offset(r->last_used, DESC_TAIL_FLAGS),
			       packed_from_cpu16(flags)))
		return -EFAULT;
	r->last_used = pos;
	r->n_in_flight -= min(r->n_in_flight, slots);
	r->wrote_desc = true;
	r->used_since_call = min(r->used_since_call + slots, 2 * r->num);
	return 0;
}

static int write_device_event(struct kvnet_ring *r, u16 flags)
{
	r->wrote_used = true;
	return kvnet_area_store16(&r->used, EVENT_FLAGS, packed_from_cpu16(flags));
}

int kvnet_ring_packed_kick_off(struct kvnet_ring *r)
{
	r->kicks_enabled = false;
	if (r->event_idx)
		return 0;
	return write_device_event(r, VRING_PACKED_EVENT_FLAG_DISABLE);
}

static int request_kicks(struct kvnet_ring *r, u16 seen)
{
	if (!r->event_idx)
		return write_device_event(r, VRING_PACKED_EVENT_FLAG_ENABLE);
	if (kvnet_area_store16(&r->used, EVENT_OFF_WRAP, packed_from_cpu16(seen)))
		return -EFAULT;
	/* H: the position before the flags that make it valid. */
	smp_wmb();
	return write_device_event(r, VRING_PACKED_EVENT_FLAG_DESC);
}

int kvnet_ring_packed_kick_on(struct kvnet_ring *r)
{
	u16 seen = advance_pos(r, r->last_avail, r->n_avail_seen);
	u16 flags;
	int ret;

	if (!r->kicks_enabled) {
		ret = request_kicks(r, seen);
		if (ret)
			return ret;
		r->kicks_enabled = true;
	}
	/* C: the request before the flags are read again; pairs with the driver's mb. */
	smp_mb();
	return check_desc_avail(r, seen, &flags);
}

int kvnet_ring_packed_should_call(struct kvnet_ring *r)
{
	u32 n_used = r->used_since_call;
	bool valid = r->signalled_used_valid;
	__virtio16 val;
	u16 event, now;
	u32 at;

	/* D: used descriptors before the driver's setting; pairs with the driver's mb. */
	smp_mb();
	r->used_since_call = 0;
	r->signalled_used_valid = true;
	if (kvnet_area_load16(&r->avail, EVENT_FLAGS, &val))
		return -EFAULT;
	switch (packed_to_cpu16(val) & 3) {
	case VRING_PACKED_EVENT_FLAG_DISABLE:
		return 0;
	case VRING_PACKED_EVENT_FLAG_DESC:
		if (r->event_idx && valid && n_used <= r->num)
			break;
		fallthrough;
	default:
		return 1;
	}
	/* I: the flags before the position; pairs with the driver's wmb. */
	smp_rmb();
	if (kvnet_area_load16(&r->avail, EVENT_OFF_WRAP, &val))
		return -EFAULT;
	event = packed_to_cpu16(val);
	/* As descriptor counts; an event of the other lap is num behind. */
	now = pos_to_index(r->last_used);
	at = pos_to_index(event);
	if ((event ^ r->last_used) & WRAP)
		at -= r->num;
	return vring_need_event(at, now, now - n_used);
}

bool kvnet_ring_packed_pending(const struct kvnet_ring *r)
{
	u16 flags;

	return check_desc_avail(r, advance_pos(r, r->last_avail, r->n_avail_seen), &flags);
}

/*
 * If the VMM has set no base, or only the position to fetch (0x8000, as DPDK does), both
 * positions are those of a new ring: index 0, wrap counter 1 (2.8.1).
 */
static void complete_packed_base(struct kvnet_ring *r)
{
	if (!r->base_valid)
		r->last_avail = WRAP;
	if (r->last_avail == WRAP && !r->last_used)
		r->last_used = WRAP;
	r->base_valid = true;
}

int kvnet_ring_packed_start(struct kvnet_ring *r)
{
	u16 flags;

	complete_packed_base(r);
	if (pos_to_index(r->last_avail) >= r->num || pos_to_index(r->last_used) >= r->num)
		return -EINVAL;
	r->signalled_used_valid = false;
	r->used_since_call = 0;
	r->n_avail_seen = 0;
	r->n_in_flight = 0;
	r->kicks_enabled = false;
	r->wrote_desc = false;
	/* Notifications stay disabled until a poll completes. */
	if (write_device_event(r, VRING_PACKED_EVENT_FLAG_DISABLE))
		return -EFAULT;
	return check_desc_avail(r, r->last_avail, &flags) < 0 ? -EFAULT : 0;
}
