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

/* The accessors read and write, with @len bytes at @buf: writes the area if @to_user. */
int kvnet_area_copy_pieces(const struct kvnet_area *a, u32 off, void *buf, u32 len, bool to_user)
{
	void __user *p;
	u32 part;

	for (; len; len -= part, off += part, buf += part) {
		part = len;
		p = kvnet_area_find(a, off, &part);
		if (!p || (to_user ? copy_to_user(p, buf, part) : copy_from_user(buf, p, part)))
			return -EFAULT;
	}
	return 0;
}
