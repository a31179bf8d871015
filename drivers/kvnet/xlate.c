// SPDX-License-Identifier: GPL-2.0
/*
 * xlate.c - segments to iovec, see xlate.h
 */
#include "xlate.h"

#include <linux/errno.h>
#include <linux/kernel.h>

/**
 * kvnet_xlate() - translate segments, splitting them where regions end
 * @mem: the memory table
 * @hint: see kvnet_mem_find()
 * @seg: what to translate
 * @n: entries in @seg
 * @iov: filled in; neighbours in the owner's memory are not joined
 * @cap: entries in @iov
 *
 * The lengths in @iov add up to those in @seg. Segments of no length vanish.
 *
 * Return: entries used in @iov, -EFAULT for an address that no region holds or
 * that wraps around, -EMSGSIZE if @iov is too small. @iov means nothing after an
 * error.
 */
int kvnet_xlate(const struct kvnet_mem *mem, u32 *hint,
		const struct kvnet_seg *seg, unsigned int n,
		struct iovec *iov, unsigned int cap)
{
	unsigned int i, used = 0;
	void __user *base;
	u32 left, part;
	u64 addr;

	for (i = 0; i < n; i++) {
		addr = seg[i].addr;
		if (seg[i].len && addr + (seg[i].len - 1) < addr)
			return -EFAULT;
		for (left = seg[i].len; left; left -= part, addr += part) {
			part = left;
			base = kvnet_mem_span(mem, addr, &part, hint);
			if (!base)
				return -EFAULT;
			if (used >= cap)
				return -EMSGSIZE;
			iov[used].iov_base = base;
			iov[used].iov_len = part;
			used++;
		}
	}
	return used;
}
