/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring_layout.h - the verbs of ring.h in both layouts; included there only
 */
#ifndef _KVNET_RING_LAYOUT_H
#define _KVNET_RING_LAYOUT_H

int kvnet_split_start(struct kvnet_ring *r);
int kvnet_split_next(struct kvnet_ring *r, struct kvnet_chain *chain,
		     const struct kvnet_reader *reader);
int kvnet_split_put(struct kvnet_ring *r, const struct kvnet_used *used,
		    unsigned int n);
int kvnet_split_kick_off(struct kvnet_ring *r);
int kvnet_split_kick_on(struct kvnet_ring *r);
int kvnet_split_should_call(struct kvnet_ring *r);
bool kvnet_split_pending(const struct kvnet_ring *r);
unsigned int kvnet_split_written(struct kvnet_ring *r,
				 struct kvnet_ring_span *span);

int kvnet_packed_start(struct kvnet_ring *r);
int kvnet_packed_next(struct kvnet_ring *r, struct kvnet_chain *chain,
		      const struct kvnet_reader *reader);
int kvnet_packed_put(struct kvnet_ring *r, const struct kvnet_used *used,
		     unsigned int n);
int kvnet_packed_kick_off(struct kvnet_ring *r);
int kvnet_packed_kick_on(struct kvnet_ring *r);
int kvnet_packed_should_call(struct kvnet_ring *r);
bool kvnet_packed_pending(const struct kvnet_ring *r);
unsigned int kvnet_packed_written(struct kvnet_ring *r,
				  struct kvnet_ring_span *span);
void kvnet_packed_rewind(struct kvnet_ring *r, u16 pos);

/* Of an entry read ahead it is known that it is available. */
static inline bool kvnet_split_next_plain(struct kvnet_ring *r,
					  struct kvnet_plain *plain)
{
	u16 at = r->last_avail - r->head_first;
	struct kvnet_desc d;
	u64 addr, rest;
	u16 head;

	if (unlikely(at >= r->head_n || !kvnet_area_mapped(&r->desc)))
		return false;
	head = __virtio16_to_cpu(r->le, r->heads[at &
						 (KVNET_RING_PREFETCH - 1)]);
	if (unlikely(head >= r->num))
		return false;
	kvnet_load_pair(&r->desc, (head & (r->num - 1)) *
			sizeof(struct vring_desc), &addr, &rest);
	d = kvnet_desc_of(addr, rest, r->le);
	if (unlikely(d.flags != VRING_DESC_F_WRITE))
		return false;
	plain->seg.addr = d.addr;
	plain->seg.len = d.len;
	plain->id = head;
	r->last_avail++;
	return true;
}

static inline bool kvnet_packed_next_plain(struct kvnet_ring *r,
					   struct kvnet_plain *plain)
{
	const u16 wrap = BIT(VRING_PACKED_EVENT_F_WRAP_CTR);
	const u16 state = BIT(VRING_PACKED_DESC_F_AVAIL) |
			  BIT(VRING_PACKED_DESC_F_USED);
	u16 place = r->last_avail, i = place & ~wrap, flags;
	u32 at = i * sizeof(struct vring_packed_desc);
	u64 addr, rest;
	__virtio16 val;

	if (unlikely(!kvnet_area_mapped(&r->desc) || r->out >= r->num))
		return false;
	kvnet_load16(&r->desc, at + offsetof(struct vring_packed_desc, flags),
		     &val);
	flags = __virtio16_to_cpu(true, val);
	if ((flags & state) != (place & wrap ?
				BIT(VRING_PACKED_DESC_F_AVAIL) :
				BIT(VRING_PACKED_DESC_F_USED)))
		return false;
	flags &= VRING_DESC_F_NEXT | VRING_DESC_F_WRITE |
		 VRING_DESC_F_INDIRECT;
	if (unlikely(flags != VRING_DESC_F_WRITE))
		return false;
	/* A: the rest is read after the flags; pairs with the driver's wmb. */
	smp_rmb();
	kvnet_load_pair(&r->desc, at, &addr, &rest);
	rest = le64_to_cpu((__force __le64)rest);
	plain->seg.addr = le64_to_cpu((__force __le64)addr);
	plain->seg.len = rest;
	plain->id = rest >> 32;
	i++;
	r->last_avail = i < r->num ? i | (place & wrap) : (place & wrap) ^ wrap;
	r->out++;
	r->ahead -= r->ahead ? 1 : 0;
	return true;
}

#endif /* _KVNET_RING_LAYOUT_H */
