// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_put() of a packed ring writes only into the ring, and the flags of the first
 *	descriptor last (virtio 1.3, 2.8.1); on error it leaves the ring as it was
 * @bounds: 1 to 4 entries; up to 4 chains
 * @sources: vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @mutant: vq/ring_packed.c: if (slots > r->num) => if (slots > r->num + 1)
 * @mutant: vq/ring_packed.c: DESC_TAIL_FLAGS - DESC_TAIL); => sizeof(tail));
 * @mutant: vq/ring_packed.c: min(r->used_since_call + slots, 2 * r->num) => r->used_since_call + slots
 */
#define GUEST_HOOKS
#include "any_ring.h"

#define USED_MAX	RING_MAX

static struct kvnet_used used[USED_MAX];
static struct kvnet_ring r;
static uintptr_t first;		/* the first descriptor to be used */
static bool visible;

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	ASSERT(false);
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	ASSERT(!visible);
	ASSERT(at < guest_windows[0].start + 16 * r.num);
	/* length, id and flags of one descriptor */
	ASSERT(at % 16 >= 8 && at % 16 + len <= 16);
	if (at - first < 16 && at + len > first + 14) {
		ASSERT(at == first + 14 && len == 2);
		ASSERT((*(const u16 *)val & 0x8080) == (r.last_used & 0x8000 ? 0x8080 : 0));
		visible = true;
	}
}

int main(void)
{
	u32 n = any_u32(), slots = 0, at, i;
	struct kvnet_ring old;
	int ret;

	r = any_ring(true);
	old = r;
	__CPROVER_havoc_object(used);
	ASSUME(n <= USED_MAX);
	for (i = 0; i < USED_MAX; i++) {
		/* each chain that was fetched has a descriptor */
		ASSUME(used[i].count);
		slots += i < n ? used[i].count : 0;
	}
	first = guest_windows[0].start + 16 * (r.last_used & 0x7fff);

	ret = kvnet_ring_put(&r, used, n);

	ASSERT(ring_is_sound(&r));
	ASSERT(ret == 0 || ret == -EFAULT || (ret == -EINVAL && slots > r.num));
	if (ret || !n) {
		ASSERT(!visible);
		ASSERT(ring_is_unchanged(&r, &old));
		return 0;
	}
	ASSERT(visible);
	at = (old.last_used & 0x7fff) + slots;
	ASSERT((r.last_used & 0x7fff) == (at < r.num ? at : at - r.num));
	ASSERT(((r.last_used ^ old.last_used) & 0x8000) == (at < r.num ? 0 : 0x8000));
	ASSERT(r.last_avail == old.last_avail);
	return 0;
}
