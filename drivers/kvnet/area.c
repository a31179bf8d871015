// SPDX-License-Identifier: GPL-2.0
/*
 * area.c - areas in pieces, see area.h
 */
#include "area.h"

#include <linux/kernel.h>

/**
 * kvnet_area_find() - where is a part of an area, as far as it is in one piece?
 * @a: an area
 * @off: where the part begins
 * @len: bytes wanted; shortened to what is there in one piece
 *
 * Return: the owner's address, or NULL with @len 0 beyond the area.
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
	/* The last piece that begins at or before @off; the first is at 0. */
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

/**
 * kvnet_area_read_pieces() - kvnet_area_read() for an area in pieces
 * @dst: where to
 * @a: the area
 * @off: where from
 * @len: bytes
 *
 * Return: 0 or -EFAULT.
 */
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

/**
 * kvnet_area_write_pieces() - kvnet_area_write() for an area in pieces
 * @a: the area
 * @off: where to
 * @src: where from
 * @len: bytes
 *
 * Return: 0 or -EFAULT.
 */
int kvnet_area_write_pieces(const struct kvnet_area *a, u32 off, const void *src,
			    u32 len)
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
