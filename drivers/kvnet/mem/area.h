/* SPDX-License-Identifier: GPL-2.0 */
/*
 * area.h - a ring's areas (descriptor, driver, device) and the accessors to them
 *
 * Rings access their areas only by the accessors here: load16, store16, load_pair, read and
 * write. An area whose pages are pinned (ring_pin.h) is accessed at kernel addresses.
 * Otherwise the accessors are user accesses, by a thread that uses the owner's mm, and may
 * sleep on a page fault. They return 0 or -EFAULT. Offsets are not checked against the
 * area's length, except in an area of several pieces.
 *
 * An area is contiguous in the owner's memory, unless an IOMMU maps it in pieces.
 *
 * The guest and the VMM may change the memory at any time: each value is read once.
 */
#ifndef _KVNET_AREA_H
#define _KVNET_AREA_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/virtio_types.h>

/* Enough for the largest area, 512 KiB of descriptors, in pieces of 4 KiB pages. */
#define KVNET_AREA_PIECES	130

/* A part of an area that is contiguous in the owner's memory, from offset @off on. */
struct kvnet_area_piece {
	void __user *base;
	u32 off;
};

/* One of a ring's areas */
struct kvnet_area {
	void *kaddr;			/* kernel address while pinned: no fault; else NULL */
	/* the owner's address if the area is contiguous there, else NULL */
	void __user *base;
	u32 len;
	u32 n;				/* entries in @piece */
	struct kvnet_area_piece *piece;	/* sorted by offset; room for KVNET_AREA_PIECES, or NULL */
};

void __user *kvnet_area_find(const struct kvnet_area *a, u32 off, u32 *len);
int kvnet_area_copy_pieces(const struct kvnet_area *a, u32 off, void *buf, u32 len, bool to_user);

static inline void __user *kvnet_area_user_ptr16(const struct kvnet_area *a, u32 off)
{
	u32 len = sizeof(__virtio16);
	void __user *p;

	if (likely(a->base))
		return a->base + off;
	p = kvnet_area_find(a, off, &len);
	return len == sizeof(__virtio16) ? p : NULL;
}

static inline int kvnet_area_load16(const struct kvnet_area *a, u32 off, __virtio16 *val)
{
	const __virtio16 __user *p;

	if (likely(a->kaddr)) {
		*val = READ_ONCE(*(const __virtio16 *)(a->kaddr + off));
		return 0;
	}
	p = kvnet_area_user_ptr16(a, off);
	return p ? get_user(*val, p) : -EFAULT;
}

static inline int kvnet_area_store16(const struct kvnet_area *a, u32 off, __virtio16 val)
{
	__virtio16 __user *p;

	if (likely(a->kaddr)) {
		WRITE_ONCE(*(__virtio16 *)(a->kaddr + off), val);
		return 0;
	}
	p = kvnet_area_user_ptr16(a, off);
	return p ? put_user(val, p) : -EFAULT;
}

/*
 * Most copies have a small constant length: by __builtin_memcpy() the compiler turns them
 * into loads and stores on every architecture.
 */
static inline int kvnet_area_read(void *dst, const struct kvnet_area *a, u32 off, u32 len)
{
	if (likely(a->kaddr)) {
		__builtin_memcpy(dst, a->kaddr + off, len);
		/* The caller validates the copy: no second read of guest memory. */
		barrier();
		return 0;
	}
	if (unlikely(!a->base))
		return kvnet_area_copy_pieces(a, off, dst, len, false);
	return copy_from_user(dst, a->base + off, len) ? -EFAULT : 0;
}

/* The two halves of a descriptor, in registers. */
static __always_inline int kvnet_area_load_pair(const struct kvnet_area *a, u32 off,
						u64 *first, u64 *second)
{
	const u64 *p;
	u64 copy[2];

	if (likely(a->kaddr)) {
		p = a->kaddr + off;
		*first = READ_ONCE(p[0]);
		*second = READ_ONCE(p[1]);
		return 0;
	}
	if (kvnet_area_read(copy, a, off, sizeof(copy)))
		return -EFAULT;
	*first = copy[0];
	*second = copy[1];
	return 0;
}

static inline int kvnet_area_write(const struct kvnet_area *a, u32 off, const void *src, u32 len)
{
	if (likely(a->kaddr)) {
		__builtin_memcpy(a->kaddr + off, src, len);
		return 0;
	}
	if (unlikely(!a->base))
		return kvnet_area_copy_pieces(a, off, (void *)src, len, true);
	return copy_to_user(a->base + off, src, len) ? -EFAULT : 0;
}

#endif /* _KVNET_AREA_H */
