// SPDX-License-Identifier: GPL-2.0
/*
 * ring_packed.c - the packed virtqueue, device side (virtio 1.3, 2.8)
 *
 * Whatever bytes the driver writes, next() ends within "num" steps of the
 * ring and "count" steps of an indirect table, with a valid chain or with an
 * error; each field is read once. Barriers are named as in
 * Documentation/ordering.rst. Verbs are described in ring.h.
 *
 * A place is a descriptor's index with the wrap counter in bit 15.
 */
#include "ring.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/virtio_byteorder.h>

#define WRAP		BIT(VRING_PACKED_EVENT_F_WRAP_CTR)
#define F_AVAIL		BIT(VRING_PACKED_DESC_F_AVAIL)
#define F_USED		BIT(VRING_PACKED_DESC_F_USED)

/* Flags that mean something in the descriptor of a chain, or of a table. */
#define FLAGS_RING	(VRING_DESC_F_NEXT | VRING_DESC_F_WRITE | \
			 VRING_DESC_F_INDIRECT)
#define FLAGS_TABLE	VRING_DESC_F_WRITE

/* Descriptors of an indirect table that are read in one copy. */
#define TABLE_CHUNK	16

/* What is written of a used descriptor, length, id and flags, and where. */
#define TAIL		offsetof(struct vring_packed_desc, len)
#define TAIL_FLAGS	offsetof(struct vring_packed_desc, flags)

static u16 to_cpu16(__virtio16 val)
{
	return __virtio16_to_cpu(true, val);
}

static __virtio16 from_cpu16(u16 val)
{
	return __cpu_to_virtio16(true, val);
}

static u16 index_of(u16 place)
{
	return place & ~WRAP;
}

static u32 desc_at(u16 place, size_t field)
{
	return index_of(place) * sizeof(struct vring_packed_desc) + field;
}

/* The place @n descriptors on, @n <= num. */
static u16 move_on(const struct kvnet_ring *r, u16 place, u32 n)
{
	u32 i = index_of(place) + n;

	if (i >= r->num)
		return (i - r->num) | ((place & WRAP) ^ WRAP);
	return i | (place & WRAP);
}

/* Descriptors from place @a on to place @b, at most a whole ring. */
static u32 distance(const struct kvnet_ring *r, u16 a, u16 b)
{
	if ((a ^ b) & WRAP)
		return index_of(b) + r->num - index_of(a);
	return index_of(b) - index_of(a);
}

static bool is_avail(u16 flags, u16 place)
{
	bool wrap = place & WRAP;

	return !!(flags & F_AVAIL) == wrap && !!(flags & F_USED) != wrap;
}

/* The flags of a descriptor that may be available. Returns 1, 0 or -EFAULT. */
static inline int look(const struct kvnet_ring *r, u16 place, u16 *flags)
{
	__virtio16 val;

	if (kvnet_load16(&r->desc, desc_at(place, offsetof(struct
			 vring_packed_desc, flags)), &val))
		return -EFAULT;
	*flags = to_cpu16(val);
	return is_avail(*flags, place);
}

/* @rest: len, id, flags */
static struct kvnet_desc desc_of(u64 addr, u64 rest, u16 known)
{
	rest = le64_to_cpu((__force __le64)rest);
	return (struct kvnet_desc) {
		.addr = le64_to_cpu((__force __le64)addr),
		.len = rest,
		.flags = rest >> 48 & known,
		.next = rest >> 32,	/* its id */
	};
}

/* All of its descriptors count, in order; there is no "next" (2.8.7). */
static int add_table(struct kvnet_chain *chain, const struct kvnet_desc *table,
		     const struct kvnet_reader *reader)
{
	struct {
		u64 addr;
		u64 rest;
	} raw[TABLE_CHUNK];
	u32 count = kvnet_table_count(table), i, have = 0;
	struct kvnet_desc d;
	int ret;

	if (!count)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (i % TABLE_CHUNK == 0) {
			have = min_t(u32, count - i, TABLE_CHUNK);
			ret = reader->read(reader->ctx, table->addr +
					   (u64)i * sizeof(raw[0]), raw,
					   have * sizeof(raw[0]));
			if (ret)
				return ret;
		}
		d = desc_of(raw[i % TABLE_CHUNK].addr,
			    raw[i % TABLE_CHUNK].rest, FLAGS_TABLE);
		ret = kvnet_chain_add(chain, &d);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Read the rest of the chain that starts at last_avail with @d. It was written
 * before that, and flags tell nothing more.
 */
static noinline int read_chain(const struct kvnet_ring *r,
			       struct kvnet_chain *chain, struct kvnet_desc d,
			       const struct kvnet_reader *reader)
{
	u16 place = r->last_avail;
	u64 addr, rest;
	u32 n;
	int ret;

	for (n = 1; ; n++) {
		chain->count = n;
		if (d.flags & VRING_DESC_F_INDIRECT) {
			/* A table is all there is to its chain (2.8.5). */
			if (n > 1 || d.flags & VRING_DESC_F_NEXT)
				return -EINVAL;
			return add_table(chain, &d, reader);
		}
		ret = kvnet_chain_add(chain, &d);
		if (ret || !(d.flags & VRING_DESC_F_NEXT))
			return ret;
		if (n == r->num)
			return -ELOOP;
		place = move_on(r, place, 1);
		if (kvnet_load_pair(&r->desc, desc_at(place, 0), &addr, &rest))
			return -EFAULT;
		d = desc_of(addr, rest, FLAGS_RING);
		chain->id = d.next;
	}
}

int kvnet_packed_next(struct kvnet_ring *r, struct kvnet_chain *chain,
		      const struct kvnet_reader *reader)
{
	struct kvnet_desc d;
	u64 addr, rest;
	u16 flags;
	int ret;

	ret = look(r, r->last_avail, &flags);
	if (ret <= 0)
		return ret;
	/* A: the rest is read after the flags; pairs with the driver's wmb. */
	smp_rmb();
	if (kvnet_load_pair(&r->desc, desc_at(r->last_avail, 0), &addr, &rest))
		return -EFAULT;
	d = desc_of(addr, rest, 0);
	/* What was looked at is what counts, it may be another now. */
	d.flags = flags & FLAGS_RING;
	chain->id = d.next;
	chain->n_out = 0;
	chain->n_in = 0;
	if (likely(kvnet_desc_alone(&d) && chain->cap)) {
		kvnet_chain_set(chain, &d);
	} else {
		ret = read_chain(r, chain, d, reader);
		if (ret)
			return ret;
	}
	/* Available again before it was used (2.8.1). */
	if (r->out + chain->count > r->num)
		return -EINVAL;
	r->out += chain->count;
	r->last_avail = move_on(r, r->last_avail, chain->count);
	r->ahead -= min(r->ahead, chain->count);
	return 1;
}

/* Chains that are un-fetched have been seen to be available. */
void kvnet_packed_rewind(struct kvnet_ring *r, u16 pos)
{
	u32 n = distance(r, pos, r->last_avail);

	r->out -= min(r->out, n);
	r->ahead = min(r->ahead + n, r->num);
}

static u16 used_flags(const struct kvnet_used *used, u16 place)
{
	u16 flags = place & WRAP ? F_AVAIL | F_USED : 0;

	return used->len ? flags | VRING_DESC_F_WRITE : flags;
}

/* Made in a register: its parts are not stored singly. */
static __le64 tail_of(const struct kvnet_used *used, u16 flags)
{
	return cpu_to_le64(used->len | (u64)used->id << 32 | (u64)flags << 48);
}

/* Descriptors that a batch of buffers occupies. */
static u32 sum_counts(const struct kvnet_used *used, unsigned int n)
{
	u32 sum = 0;

	while (n--)
		sum += used++->count;
	return sum;
}

static int put_tail(struct kvnet_ring *r, const struct kvnet_used *used,
		    u16 place)
{
	__le64 tail = tail_of(used, used_flags(used, place));

	return kvnet_copy_out(&r->desc, desc_at(place, TAIL), &tail,
			      sizeof(tail));
}

/* Of the first one all but the flags. */
static int put_head(struct kvnet_ring *r, const struct kvnet_used *used)
{
	__le64 tail = tail_of(used, 0);

	return kvnet_copy_out(&r->desc, desc_at(r->last_used, TAIL), &tail,
			      TAIL_FLAGS - TAIL);
}

/*
 * The first descriptor's flags are written last: the driver looks at no other
 * before it has seen them (2.8.1, and 2.8.9 for the buffers of one packet).
 */
int kvnet_packed_put(struct kvnet_ring *r, const struct kvnet_used *used,
		     unsigned int n)
{
	u32 slots = sum_counts(used, n), step;
	u16 place = r->last_used;
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
			batch = kvnet_used_batch(used + i, n - i);
			step = sum_counts(used + i, batch);
		}
		if (i) {
			ret = put_tail(r, &used[i + batch - 1], place);
		} else {
			flags = used_flags(&used[batch - 1], place);
			ret = put_head(r, &used[batch - 1]);
		}
		if (ret)
			return ret;
		place = move_on(r, place, step);
	}
	/* B: all else before the first flags; pairs with the driver's rmb. */
	smp_wmb();
	if (kvnet_store16(&r->desc, desc_at(r->last_used, TAIL_FLAGS),
			  from_cpu16(flags)))
		return -EFAULT;
	r->last_used = place;
	r->out -= min(r->out, slots);
	r->unlogged = min(r->unlogged + slots, r->num);
	r->since = min(r->since + slots, 2 * r->num);
	return 0;
}

/* What the device asks of the driver (2.8.10). */
static int put_event(struct kvnet_ring *r, u16 flags)
{
	r->wrote_event = true;
	return kvnet_store16(&r->used, offsetof(struct vring_packed_desc_event,
						flags), from_cpu16(flags));
}

int kvnet_packed_kick_off(struct kvnet_ring *r)
{
	r->kicks_on = false;
	if (r->event_idx)
		return 0;
	return put_event(r, VRING_PACKED_EVENT_FLAG_DISABLE);
}

static int ask_for_kicks(struct kvnet_ring *r, u16 seen)
{
	if (!r->event_idx)
		return put_event(r, VRING_PACKED_EVENT_FLAG_ENABLE);
	if (kvnet_store16(&r->used, offsetof(struct vring_packed_desc_event,
					     off_wrap), from_cpu16(seen)))
		return -EFAULT;
	/* H: the place before the flags that make it count. */
	smp_wmb();
	return put_event(r, VRING_PACKED_EVENT_FLAG_DESC);
}

int kvnet_packed_kick_on(struct kvnet_ring *r)
{
	u16 seen = move_on(r, r->last_avail, r->ahead);
	u16 flags;
	int ret;

	if (!r->kicks_on) {
		ret = ask_for_kicks(r, seen);
		if (ret)
			return ret;
		r->kicks_on = true;
	}
	/* C: the request before the second look; pairs with the driver's mb. */
	smp_mb();
	return look(r, seen, &flags);
}

int kvnet_packed_should_call(struct kvnet_ring *r)
{
	u32 since = r->since;
	bool valid = r->signalled_valid;
	__virtio16 val;
	u16 event, now;
	u32 at;

	/* D: the used descriptors before the wish; pairs with the driver's mb. */
	smp_mb();
	r->since = 0;
	r->signalled_valid = true;
	if (kvnet_load16(&r->avail, offsetof(struct vring_packed_desc_event,
					     flags), &val))
		return -EFAULT;
	switch (to_cpu16(val) & 3) {
	case VRING_PACKED_EVENT_FLAG_DISABLE:
		return 0;
	case VRING_PACKED_EVENT_FLAG_DESC:
		if (r->event_idx && valid && since <= r->num)
			break;
		fallthrough;
	default:
		return 1;
	}
	/* I: the flags before the place; pairs with the driver's wmb. */
	smp_rmb();
	if (kvnet_load16(&r->avail, offsetof(struct vring_packed_desc_event,
					     off_wrap), &val))
		return -EFAULT;
	event = to_cpu16(val);
	/* Both as numbers of descriptors, the event's at most a ring behind. */
	now = index_of(r->last_used);
	at = index_of(event);
	if ((event ^ r->last_used) & WRAP)
		at -= r->num;
	return vring_need_event(at, now, now - since);
}

bool kvnet_packed_pending(const struct kvnet_ring *r)
{
	u16 flags;

	return look(r, move_on(r, r->last_avail, r->ahead), &flags);
}

unsigned int kvnet_packed_written(struct kvnet_ring *r,
				  struct kvnet_ring_span *span)
{
	const u32 size = sizeof(struct vring_packed_desc);
	u32 n = r->unlogged, end = index_of(r->last_used), part = min(n, end);
	struct kvnet_ring_span *to = span;

	/* The newest end before last_used, and may begin in the lap before. */
	if (part)
		*to++ = (struct kvnet_ring_span) {
			&r->desc, (end - part) * size, part * size };
	if (n > part)
		*to++ = (struct kvnet_ring_span) {
			&r->desc, (r->num - (n - part)) * size,
			(n - part) * size };
	if (r->wrote_event)
		*to++ = (struct kvnet_ring_span) {
			&r->used, 0, sizeof(struct vring_packed_desc_event) };
	r->unlogged = 0;
	r->wrote_event = false;
	return to - span;
}

/*
 * A VMM that tells nothing, or, as DPDK does, only where to begin to fetch,
 * means the beginning.
 */
static void complete_base(struct kvnet_ring *r)
{
	if (!r->based)
		r->last_avail = WRAP;
	if (r->last_avail == WRAP && !r->last_used)
		r->last_used = WRAP;
	r->based = true;
}

int kvnet_packed_start(struct kvnet_ring *r)
{
	u16 flags;

	complete_base(r);
	if (index_of(r->last_avail) >= r->num ||
	    index_of(r->last_used) >= r->num)
		return -EINVAL;
	r->signalled_valid = false;
	r->since = 0;
	r->ahead = 0;
	r->out = 0;
	r->kicks_on = false;
	r->unlogged = 0;
	/* None for what nobody waits for: who comes to wait asks. */
	if (put_event(r, VRING_PACKED_EVENT_FLAG_DISABLE))
		return -EFAULT;
	return look(r, r->last_avail, &flags) < 0 ? -EFAULT : 0;
}
