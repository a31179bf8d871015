// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: no kick is lost: if kvnet_ring_kick_on() of a packed ring says 0, the descriptor that it
 *	asked kicks for was not available then (virtio 1.3, 2.8.10); the position is written
 *	before the flags that make it valid
 * @bounds: 1 to 4 entries
 * @sources: vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_packed.c: return check_desc_avail(r, seen, &flags);\n} => return check_desc_avail(r, r->last_avail, &flags);\n}
 * @mutant: vq/ring_packed.c: u16 seen = advance_pos(r, r->last_avail, r->n_avail_seen); => u16 seen = advance_pos(r, r->last_used, r->n_avail_seen);
 * @mutant: vq/ring_packed.c: return write_device_event(r, VRING_PACKED_EVENT_FLAG_ENABLE); => return write_device_event(r, VRING_PACKED_EVENT_FLAG_DISABLE);
 */
#define GUEST_HOOKS
#include "any_ring.h"

static struct kvnet_ring r;
static bool has_flags, has_pos, looked;
static u16 pos, flags, desc_flags;
static uintptr_t desc_at;

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	ASSERT(has_flags && !looked && len == 2);
	desc_at = at;
	desc_flags = *(const u16 *)val;
	looked = true;
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	ASSERT(!looked && len == 2);
	if (at == guest_windows[2].start) {
		ASSERT(!has_flags);
		pos = *(const u16 *)val;
		has_pos = true;
	} else {
		ASSERT(at == guest_windows[2].start + 2);
		flags = *(const u16 *)val;
		has_flags = true;
	}
}

int main(void)
{
	u32 at;
	bool wrap, is_avail;
	struct kvnet_ring old;
	int ret;

	r = any_ring(true);
	/* as the session does before it polls */
	r.kicks_enabled = false;
	old = r;

	ret = kvnet_ring_kick_on(&r);

	ASSERT(ret == 0 || ret == 1 || ret == -EFAULT);
	ASSERT(r.last_avail == old.last_avail && r.last_used == old.last_used);
	if (ret < 0)
		return 0;
	/* the first that has not been seen as available */
	at = (old.last_avail & 0x7fff) + old.n_avail_seen;
	wrap = !!(old.last_avail & 0x8000) ^ (at >= r.num);
	at = at < r.num ? at : at - r.num;
	ASSERT(looked && desc_at == guest_windows[0].start + 16 * at + 14);
	ASSERT(r.kicks_enabled && r.wrote_used);
	if (r.event_idx)
		ASSERT(flags == 2 && has_pos && pos == (at | wrap << 15));
	else
		ASSERT(flags == 0);
	is_avail = !!(desc_flags & 0x80) == wrap && !!(desc_flags & 0x8000) != wrap;
	ASSERT(ret == is_avail);
	return 0;
}
