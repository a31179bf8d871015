// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_xlate_segs() fills in no more than there is room for, and the lengths add up to
 *	the segment's; where each part lies: xlate_span.c
 * @bounds: up to 3 entries of an IOTLB; a segment of any length, in up to 2 parts
 * @sources: mem/xlate.c mem/memtable.c mem/iotlb.c
 * @unwind: 4
 * @mutant: mem/xlate.c: if (used >= cap) => if (used > cap)
 * @mutant: mem/xlate.c: iov[used].iov_len = part; => iov[used].iov_len = left;
 */
#include "guest.h"
#include "any_table.h"
#include "xlate.h"

#define PARTS	2

int main(void)
{
	struct kvnet_xlate_ctx ctx = { .iotlb = any_iotlb(ENTRIES), .hint = any_u32() };
	unsigned int cap = any_u32();
	struct iovec iov[PARTS];
	struct kvnet_seg seg;
	int ret;

	ASSUME(ctx.iotlb->n <= ENTRIES && cap <= PARTS);
	/* two calls: CBMC then knows the number of iterations */
	if (any_bool())
		ret = kvnet_xlate_segs(&ctx, &seg, 0, 1, iov, cap);
	else
		ret = kvnet_xlate_segs(&ctx, &seg, 1, 0, iov, cap);

	ASSERT(ret >= 0 || ret == -EFAULT || ret == -EAGAIN || ret == -EPERM || ret == -EMSGSIZE);
	if (ret < 0)
		return 0;
	ASSERT(ret <= cap);
	ASSERT(seg.len == (ret > 0 ? iov[0].iov_len : 0) + (ret > 1 ? iov[1].iov_len : 0));
	return 0;
}
