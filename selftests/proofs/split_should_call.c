// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_should_call() of a split ring says 1 exactly if a used entry since the last
 *	answer has the index used_event (virtio 1.3, 2.7.7.2), or by the flag without the event
 *	index; and 1 if it cannot know. All indices, all distances below 2^16
 * @bounds: 1, 2 and 4 entries
 * @sources: vq/ring_split.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_split.c: return vring_need_event(split_to_cpu16(r, val), r->last_used, old); => return vring_need_event(split_to_cpu16(r, val), r->last_used - 1, old);
 * @mutant: vq/ring_split.c: return vring_need_event(split_to_cpu16(r, val), r->last_used, old); => return split_to_cpu16(r, val) >= old && split_to_cpu16(r, val) < r->last_used;
 * @mutant: vq/ring_split.c: r->signalled_used = r->last_used; => r->signalled_used = old;
 * @mutant: vq/ring_split.c: if (!valid) => if (valid && !r->num)
 */
#define GUEST_HOOKS
#include "any_ring.h"

static u16 value;	/* the setting that the driver has, as it was read */
static uintptr_t value_at;

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	value = *(const u16 *)val;
	value_at = at;
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	ASSERT(false);
}

int main(void)
{
	struct kvnet_ring r = any_ring(false), old = r;
	uintptr_t avail = guest_windows[1].start;
	u32 since = any_u32();	/* used entries since the last answer */
	int ret;

	ASSUME(IMPLIES(r.signalled_used_valid,
		       since <= U16_MAX && (u16)since == (u16)(r.last_used - r.signalled_used)));

	ret = kvnet_ring_should_call(&r);

	ASSERT(ret == 0 || ret == 1 || ret == -EFAULT);
	ASSERT(guest_reads <= 1);
	if (!r.le)
		value = value << 8 | value >> 8;
	if (r.notify_on_empty && r.last_avail == r.avail_idx) {
		ASSERT(ret == 1);
	} else if (!r.event_idx) {
		ASSERT(IMPLIES(ret >= 0, value_at == avail && ret == !(value & 1)));
	} else if (!old.signalled_used_valid) {
		ASSERT(ret == 1);
	} else {
		/* the indices from signalled_used on, @since of them */
		ASSERT(IMPLIES(ret >= 0, value_at == avail + 4 + 2 * r.num));
		ASSERT(IMPLIES(ret >= 0, ret == ((u16)(value - old.signalled_used) < since)));
	}
	if (r.event_idx && !r.notify_on_empty)
		ASSERT(r.signalled_used_valid && r.signalled_used == r.last_used);
	ASSERT(r.last_used == old.last_used && r.last_avail == old.last_avail);
	return 0;
}
