// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_should_call() of a packed ring says 1 exactly if the descriptor of the
 *	driver's event offset and wrap counter has been used since the last answer (virtio 1.3,
 *	2.8.10), or by the flags; and 1 if it cannot know. All positions and events
 * @bounds: 1 to 4 entries
 * @sources: vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_packed.c: at -= r->num; => at -= r->num - 1;
 * @mutant: vq/ring_packed.c: return vring_need_event(at, now, now - n_used); => return vring_need_event(at, now, now - n_used + 1);
 * @mutant: vq/ring_packed.c: if ((event ^ r->last_used) & WRAP) => if (event & WRAP)
 * @mutant: vq/ring_packed.c: if (r->event_idx && valid && n_used <= r->num) => if (r->event_idx && n_used <= r->num)
 */
#define GUEST_HOOKS
#include "any_ring.h"

static u16 value[2];	/* off_wrap and flags, as they were read */
static bool was_read[2];

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	unsigned int i = (at - guest_windows[1].start) / 2;

	ASSERT(i < 2 && len == 2 && !was_read[i]);
	/* the flags come first: they say that the position is valid */
	ASSERT(IMPLIES(i == 0, was_read[1]));
	value[i] = *(const u16 *)val;
	was_read[i] = true;
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	ASSERT(false);
}

/* Has the position @event been used, @n descriptors before @end? */
static bool was_used(u16 event, u16 end, u32 n, u32 num)
{
	bool found = false;
	u16 pos = end;
	u32 i;

	for (i = 0; i < n; i++) {
		if (pos & 0x7fff)
			pos--;
		else
			pos = (num - 1) | (~pos & 0x8000);
		found = found || pos == event;
	}
	return found;
}

int main(void)
{
	struct kvnet_ring r = any_ring(true), old = r;
	u32 since = r.used_since_call;
	int ret;

	ret = kvnet_ring_should_call(&r);

	ASSERT(ret == 0 || ret == 1 || ret == -EFAULT);
	ASSERT(r.used_since_call == 0 && r.signalled_used_valid);
	ASSERT(r.last_used == old.last_used && r.last_avail == old.last_avail);
	ASSERT(IMPLIES(!was_read[1], ret == -EFAULT));
	if (ret < 0)
		return 0;
	if ((value[1] & 3) == 1) {
		ASSERT(ret == 0);
	} else if ((value[1] & 3) != 2 || !r.event_idx || !old.signalled_used_valid ||
		   since > r.num) {
		ASSERT(ret == 1);
	} else {
		ASSERT(was_read[0]);
		/* an offset beyond the ring is the driver's fault: any answer will do */
		ASSERT(IMPLIES((value[0] & 0x7fff) < r.num,
			      ret == was_used(value[0], r.last_used, since, r.num)));
	}
	return 0;
}
