// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: no kick is lost: if kvnet_ring_kick_on() of a split ring says 0, the next chain that the
 *	driver adds has the index that avail_event asks for, or the flag asks for kicks (virtio
 *	1.3, 2.7.10); it reads and writes nothing else
 * @bounds: 1, 2 and 4 entries
 * @sources: vq/ring_split.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_split.c: split_from_cpu16(r, seen)); => split_from_cpu16(r, r->last_avail));
 * @mutant: vq/ring_split.c: split_from_cpu16(r, 0)); => split_from_cpu16(r, 1));
 * @mutant: vq/ring_split.c: return r->avail_idx != seen; => return 0;
 */
#define GUEST_HOOKS
#include "any_ring.h"

static struct kvnet_ring r;
static bool asked, looked;
static u16 event, flags, idx;

static u16 host(const void *val)
{
	u16 v = *(const u16 *)val;

	return r.le ? v : (u16)(v << 8 | v >> 8);
}

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	ASSERT(at == guest_windows[1].start + 2 && len == 2);
	idx = host(val);
	looked = true;
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	/* the request comes before the look */
	ASSERT(!looked && len == 2);
	if (at == guest_windows[2].start)
		flags = host(val);
	else if (at == guest_windows[2].start + 4 + 8 * r.num)
		event = host(val);
	else
		ASSERT(false);
	asked = true;
}

int main(void)
{
	struct kvnet_ring old;
	int ret;

	r = any_ring(false);
	/* as the session does before it polls */
	r.kicks_enabled = false;
	old = r;

	ret = kvnet_ring_kick_on(&r);

	ASSERT(ret == 0 || ret == 1 || ret == -EFAULT || ret == -EINVAL);
	ASSERT(r.last_avail == old.last_avail && r.last_used == old.last_used);
	if (ret < 0)
		return 0;
	ASSERT(asked && looked && r.kicks_enabled);
	ASSERT(ret == (idx != old.avail_idx));
	if (ret)
		return 0;
	if (r.event_idx)
		ASSERT(event == idx);
	else
		ASSERT(flags == 0);
	ASSERT(r.wrote_used);
	return 0;
}
