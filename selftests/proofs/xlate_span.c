// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_xlate_span() and kvnet_xlate_seg_in_region(), of which each part of a translation
 *	comes, return addresses and lengths within one region or one IOTLB entry that allows
 *	the access, with any hint
 * @bounds: up to 3 regions or entries
 * @sources: mem/xlate.c mem/memtable.c mem/iotlb.c
 * @unwind: 5
 * @mutant: mem/xlate.c: if ((e->perm & perm) != perm) => if (!(e->perm & ~perm))
 * @mutant: mem/xlate.c: e->last - addr) + 1; => e->last - addr + 1) + 1;
 * @mutant: mem/xlate.c: region->last - addr) + 1; => region->last - addr + 1) + 1;
 * @mutant: mem/xlate.h: seg->len - 1 > region->last - seg->addr => seg->len > region->last + 2 - seg->addr
 * @mutant: mem/iotlb.c: if (at >= tlb->n || addr < tlb->entry[at].iova)\n		return NULL; => if (at >= tlb->n)\n		return NULL;
 */
#include "guest.h"
#include "any_table.h"
#include "xlate.h"

static void claim_in_region(const struct kvnet_region *r, u64 addr, u64 hva, u64 len)
{
	ASSERT(addr >= r->gpa && addr <= r->last && len - 1 <= r->last - addr);
	ASSERT(hva == r->hva + (addr - r->gpa));
}

static void by_memtable(void)
{
	struct kvnet_xlate_ctx ctx = { .mem = any_memtable(), .hint = any_u32() };
	struct kvnet_seg seg;
	u32 len = seg.len;
	struct iovec iov;
	void *base;
	int ret;

	if (kvnet_xlate_seg_in_region(kvnet_xlate_last_region(&ctx), &seg, &iov)) {
		ASSERT(iov.iov_len == seg.len && seg.len);
		claim_in_region(&ctx.mem->region[ctx.hint], seg.addr, (uintptr_t)iov.iov_base,
				iov.iov_len);
	}
	ASSUME(len);
	ret = kvnet_xlate_span(&ctx, seg.addr, any_u8(), &len, &base);
	ASSERT(ret == 0 || ret == -EFAULT);
	if (ret)
		return;
	ASSERT(ctx.hint < ctx.mem->n && len && len <= seg.len);
	claim_in_region(&ctx.mem->region[ctx.hint], seg.addr, (uintptr_t)base, len);
}

static void by_iotlb(void)
{
	struct kvnet_iotlb *tlb = any_iotlb(ENTRIES);
	struct kvnet_xlate_ctx ctx = { .iotlb = tlb, .hint = any_u32() };
	u32 len = any_u32(), wanted = len;
	const struct kvnet_iotlb_entry *e;
	u64 addr = any_u64();
	u8 perm = any_u8();
	void *base;
	int ret;

	ASSUME(len && iotlb_is_sound(tlb));
	ret = kvnet_xlate_span(&ctx, addr, perm, &len, &base);
	ASSERT(ret == 0 || ret == -EAGAIN || ret == -EPERM);
	ASSERT(IMPLIES(ret == -EAGAIN, ctx.miss_addr == addr && ctx.miss_perm == perm));
	if (ret)
		return;
	ASSERT(ctx.hint < tlb->n && len && len <= wanted);
	e = &tlb->entry[ctx.hint];
	ASSERT(addr >= e->iova && addr <= e->last && len - 1 <= e->last - addr);
	ASSERT((uintptr_t)base == e->hva + (addr - e->iova));
	ASSERT((e->perm & perm) == perm);
}

int main(void)
{
	if (any_bool())
		by_memtable();
	else
		by_iotlb();
	return 0;
}
