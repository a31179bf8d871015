// SPDX-License-Identifier: GPL-2.0
/* Section by section out of virtio 1.3, and nothing clever: see ring.h. */
#include "ring.h"

#include <asm/barrier.h>
#include <linux/errno.h>
#include <linux/virtio_byteorder.h>
#include <string.h>

#define AVAIL	0x80
#define USED	0x8000
#define WRAP	0x8000
#define OFFSET	0x7fff

struct raw {
	u64 addr;
	u32 len;
	u16 a, b;	/* split: flags, next; packed: id, flags */
};

static int load16(const struct kvnet_ring *r, const struct kvnet_area *a,
		  u32 off)
{
	__virtio16 val;

	if (kvnet_area_load16(a, off, &val))
		return -EFAULT;
	return __virtio16_to_cpu(r->le, val);
}

static int store16(const struct kvnet_ring *r, const struct kvnet_area *a,
		   u32 off, u16 val)
{
	return kvnet_area_store16(a, off, __cpu_to_virtio16(r->le, val));
}

static struct raw to_cpu(const struct kvnet_ring *r, const void *from)
{
	struct raw d;

	memcpy(&d, from, sizeof(d));
	d.addr = __virtio64_to_cpu(r->le, (__virtio64)d.addr);
	d.len = __virtio32_to_cpu(r->le, (__virtio32)d.len);
	d.a = __virtio16_to_cpu(r->le, (__virtio16)d.a);
	d.b = __virtio16_to_cpu(r->le, (__virtio16)d.b);
	return d;
}

static int read_desc(const struct kvnet_ring *r, u32 i, struct raw *d)
{
	u8 bytes[16];

	if (kvnet_area_read(bytes, &r->desc, 16 * i, 16))
		return -EFAULT;
	*d = to_cpu(r, bytes);
	return 0;
}

static u16 step(const struct kvnet_ring *r, u16 place, u32 n)
{
	u32 pos = (place & OFFSET) + n;

	if (!r->packed)
		return place + n;
	return pos < r->num ? (place & WRAP) | pos :
			      ((place & WRAP) ^ WRAP) | (pos - r->num);
}

/* 2.7.4.2, 2.8.17 */
static int add(struct kvnet_chain *c, const struct raw *d, u16 flags)
{
	unsigned int n = c->n_out + c->n_in;

	if (n == c->cap)
		return -EMSGSIZE;
	if (!(flags & VRING_DESC_F_WRITE) && c->n_in)
		return -EINVAL;
	if (flags & VRING_DESC_F_WRITE)
		c->n_in++;
	else
		c->n_out++;
	c->seg[n] = (struct kvnet_seg) { d->addr, d->len };
	return 0;
}

/* 2.7.5.3, 2.8.7 */
static int add_table(const struct kvnet_ring *r, struct kvnet_chain *c,
		     const struct raw *table, const struct kvnet_reader *reader)
{
	u32 n = table->len / 16, i = 0, steps;
	struct raw d;
	u8 bytes[16];
	int ret;

	if (!n || table->len % 16)
		return -EINVAL;
	for (steps = 0; steps < n; steps++) {
		ret = reader->read(reader->ctx, table->addr + 16ull * i, bytes,
				   16);
		if (ret)
			return ret;
		d = to_cpu(r, bytes);
		ret = add(c, &d, r->packed ? d.b : d.a);
		if (ret)
			return ret;
		if (r->packed) {
			i++;
			continue;
		}
		if (!(d.a & VRING_DESC_F_NEXT))
			return 0;
		i = d.b;
		if (i >= n || d.a & VRING_DESC_F_INDIRECT)
			return -EINVAL;
	}
	return r->packed ? 0 : -ELOOP;
}

static int available(const struct kvnet_ring *r)
{
	int flags;

	if (!r->packed) {
		flags = load16(r, &r->avail, 2);
		return flags < 0 ? flags : flags != r->next;
	}
	flags = load16(r, &r->desc, 16 * (r->next & OFFSET) + 14);
	if (flags < 0)
		return flags;
	return !(flags & AVAIL) == !(r->next & WRAP) &&
	       !(flags & USED) != !(r->next & WRAP);
}

static int first_desc(const struct kvnet_ring *r)
{
	if (r->packed)
		return r->next & OFFSET;
	return load16(r, &r->avail, 4 + 2 * (r->next % r->num));
}

int kvnet_ring_next(struct kvnet_ring *r, struct kvnet_chain *c,
		    const struct kvnet_reader *reader)
{
	int ret = available(r), i;
	struct raw d;
	u16 flags;

	if (ret <= 0)
		return ret;
	smp_rmb();
	i = first_desc(r);
	if (i < 0 || i >= r->num)
		return i < 0 ? i : -EINVAL;
	*c = (struct kvnet_chain) { .seg = c->seg, .cap = c->cap, .id = i };
	do {
		if (++c->count > r->num)
			return -ELOOP;
		ret = read_desc(r, i, &d);
		if (ret)
			return ret;
		flags = r->packed ? d.b : d.a;
		if (flags & VRING_DESC_F_INDIRECT)
			ret = add_table(r, c, &d, reader);
		else
			ret = add(c, &d, flags);
		if (ret)
			return ret;
		i = r->packed ? (i + 1) % r->num : d.b;
		if (i >= r->num && flags & VRING_DESC_F_NEXT)
			return -EINVAL;
	} while (flags & VRING_DESC_F_NEXT);
	if (r->packed)
		c->id = d.a;
	r->next = step(r, r->next, r->packed ? c->count : 1);
	return 1;
}

/* 2.8.22: id and length, then the flags */
static int write_packed(struct kvnet_ring *r, u16 at,
			const struct kvnet_used *u, bool flags)
{
	u16 lap = at & WRAP ? AVAIL | USED : 0;
	__virtio32 len = __cpu_to_virtio32(r->le, u->len);
	u32 off = 16 * (at & OFFSET);

	if (flags)
		return store16(r, &r->desc, off + 14,
			       lap | (u->len ? VRING_DESC_F_WRITE : 0));
	if (kvnet_area_write(&r->desc, off + 8, &len, 4))
		return -EFAULT;
	return store16(r, &r->desc, off + 12, u->id);
}

static int write_split(struct kvnet_ring *r, u16 at, const struct kvnet_used *u)
{
	__virtio32 e[2] = { __cpu_to_virtio32(r->le, u->id),
			    __cpu_to_virtio32(r->le, u->len) };

	return kvnet_area_write(&r->used, 4 + 8 * (at % r->num), e, sizeof(e));
}

/* The last one of the batch that begins at i, and where the next begins. */
static unsigned int batch(const struct kvnet_ring *r,
			  const struct kvnet_used *used, unsigned int n,
			  unsigned int i, u32 *count)
{
	*count = r->packed ? used[i].count : 1;
	for (; r->in_order && i + 1 < n && used[i].skippable; i++)
		*count += r->packed ? used[i + 1].count : 1;
	return i;
}

int kvnet_ring_put(struct kvnet_ring *r, const struct kvnet_used *used,
		   unsigned int n)
{
	u16 at = r->next_used, first = at;
	unsigned int i, last, first_last = 0;
	u32 count, all = 0;

	if (!n)
		return 0;
	for (i = 0; i < n; i = last + 1) {
		last = batch(r, used, n, i, &count);
		if (!r->packed) {
			if (write_split(r, at, &used[last]))
				return -EFAULT;
		} else if (write_packed(r, at, &used[last], false)) {
			return -EFAULT;
		}
		if (!i)
			first_last = last;
		smp_wmb();
		/* the first one is shown when all the others are (2.8.9) */
		if (r->packed && i && write_packed(r, at, &used[last], true))
			return -EFAULT;
		at = step(r, at, count);
		all += count;
	}
	smp_wmb();
	if (r->packed ? write_packed(r, first, &used[first_last], true) :
			store16(r, &r->used, 2, at))
		return -EFAULT;
	r->next_used = at;
	r->turned += all;
	return 0;
}

int kvnet_ring_kick_off(struct kvnet_ring *r)
{
	if (r->packed)
		return store16(r, &r->used, 2, 1);
	return r->event_idx ? 0 : store16(r, &r->used, 0, 1);
}

int kvnet_ring_kick_on(struct kvnet_ring *r)
{
	int ret;

	if (r->packed) {
		ret = store16(r, &r->used, 0, r->next);
		smp_wmb();
		ret |= store16(r, &r->used, 2, r->event_idx ? 2 : 0);
	} else if (r->event_idx) {
		ret = store16(r, &r->used, 4 + 8 * r->num, r->next);
	} else {
		ret = store16(r, &r->used, 0, 0);
	}
	smp_mb();
	return ret ? ret : available(r);
}

int kvnet_ring_should_call(struct kvnet_ring *r)
{
	u32 turned = r->turned, circle = 2 * r->num, event, from = r->asked_at;
	int flags, where;
	bool first;

	smp_mb();
	flags = load16(r, &r->avail, r->packed ? 2 : 0);
	where = r->packed ? load16(r, &r->avail, 0) :
		r->event_idx ? load16(r, &r->avail, 4 + 2 * r->num) : 0;
	if (flags < 0 || where < 0)
		return -EFAULT;
	r->asked_at = r->next_used;
	r->turned = 0;
	first = !r->asked;
	r->asked = true;
	if (r->packed ? (flags & 3) != 2 : !r->event_idx)
		return r->packed ? flags != 1 : !(flags & 1);
	if (first)
		return 1;
	if (!r->packed)
		return (u16)(where - from) < turned;
	event = (where & OFFSET) + (where & WRAP ? 0 : r->num);
	from = (from & OFFSET) + (from & WRAP ? 0 : r->num);
	return (event + circle - from) % circle < turned;
}

bool kvnet_ring_pending(const struct kvnet_ring *r)
{
	return available(r) != 0;
}

void kvnet_ring_base_set(struct kvnet_ring *r, u32 base)
{
	r->next = base;
	r->next_used = base >> 16 ? base >> 16 : base;
}

u32 kvnet_ring_base_get(const struct kvnet_ring *r)
{
	return r->packed ? (u32)r->next_used << 16 | r->next : r->next;
}

int kvnet_ring_start(struct kvnet_ring *r)
{
	int idx = r->packed ? 0 : load16(r, &r->used, 2);

	if (idx < 0)
		return idx;
	if (!r->packed)
		r->next_used = idx;
	r->asked = false;
	r->asked_at = r->next_used;
	r->turned = 0;
	return kvnet_ring_kick_off(r);
}
