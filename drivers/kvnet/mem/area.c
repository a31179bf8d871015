// SPDX-License-Identifier: GPL-2.0
/*
 * area.c - user accesses to areas of several pieces (behind an IOMMU), see area.h
 */
#include "area.h"

#include <linux/kernel.h>

/*
 * Returns the owner's address of @off in the area; @len: bytes wanted, not 0, shortened to what is
 * contiguous. NULL, with @len 0, beyond the end of the area.
 */
void __user *kvnet_area_find(const struct kvnet_area *a, u32 off, u32 *len)
{
	u32 lo = 0, hi = a->n, mid, end;

	if (off >= a->len || (!a->base && !a->n)) {
		*len = 0;
		return NULL;
	}
	if (a->base) {
		*len = min(*len, a->len - off);
		return a->base + off;
	}
	/* Find the last piece that begins at or before @off; the first begins at 0. */
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (a->piece[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	end = hi < a->n ? a->piece[hi].off : a->len;
	*len = min(*len, end - off);
	return a->piece[lo].base + (off - a->piece[lo].off);
}

int kvnet_area_read_pieces(void *dst, const struct kvnet_area *a, u32 off, u32 len)
{
	void __user *p;
	u32 part;

	for (; len; len -= part, off += part, dst += part) {
		part = len;
		p = kvnet_area_find(a, off, &part);
		if (!p || copy_from_user(dst, p, part))
			return -EFAULT;
	}
	return 0;
}

int kvnet_area_write_pieces(const struct kvnet_area *a, u32 off, const void *src, u32 len)
{
	void __user *p;
	u32 part;

	for (; len; len -= part, off += part, src += part) {
		part = len;
		p = kvnet_area_find(a, off, &part);
		if (!p || copy_to_user(p, src, part))
			return -EFAULT;
	}
	return 0;
}
