/* SPDX-License-Identifier: GPL-2.0 */
/*
 * area.h - a ring's areas, and the four accessors through which it touches them
 *
 * The ring's areas (descriptor, driver, device) are reached by nothing else.
 * There are two ways: by the kernel's own addresses, if the area's pages are
 * pinned (ring_pin.h); or by plain user access, from a thread that has entered the
 * owner's address space. Then each accessor may sleep on a page fault. All
 * return 0 or -EFAULT.
 *
 * An area is one piece of the owner's memory, unless an IOMMU has scattered it.
 *
 * What lies there changes at any time. A value that is read is read once.
 */
#ifndef _KVNET_AREA_H
#define _KVNET_AREA_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/virtio_types.h>

/* Pieces that an area may fall into: the largest one, of 4 KiB pages. */
#define KVNET_AREA_PIECES	130

/**
 * struct kvnet_area_piece - a part of an area, contiguous in the owner's memory
 * @base: the owner's address
 * @off: where it begins in the area
 */
struct kvnet_area_piece {
	void __user *base;
	u32 off;
};

/**
 * struct kvnet_area - one of a ring's areas
 * @kaddr: the kernel's address, if the area is pinned; else NULL
 * @base: the owner's address, if the area is in one piece; else NULL
 * @len: bytes
 * @n: entries in @piece
 * @piece: by their offset; room for KVNET_AREA_PIECES, or NULL
 */
struct kvnet_area {
	void *kaddr;
	void __user *base;
	u32 len;
	u32 n;
	struct kvnet_area_piece *piece;
};

void __user *kvnet_area_find(const struct kvnet_area *a, u32 off, u32 *len);
int kvnet_area_read_pieces(void *dst, const struct kvnet_area *a, u32 off, u32 len);
int kvnet_area_write_pieces(const struct kvnet_area *a, u32 off, const void *src,
			    u32 len);

/**
 * kvnet_area_is_mapped() - is a copy no more than loads and stores?
 * @a: an area
 *
 * Return: true if so: it is pinned, and copies cannot fail.
 */
static inline bool kvnet_area_is_mapped(const struct kvnet_area *a)
{
	return a->kaddr;
}

static inline void __user *kvnet_area_user_ptr16(const struct kvnet_area *a, u32 off)
{
	u32 len = sizeof(__virtio16);
	void __user *p;

	if (likely(a->base))
		return a->base + off;
	p = kvnet_area_find(a, off, &len);
	return len == sizeof(__virtio16) ? p : NULL;
}

static inline int kvnet_area_load16(const struct kvnet_area *a, u32 off,
				    __virtio16 *val)
{
	const __virtio16 __user *p;

	if (likely(a->kaddr)) {
		*val = READ_ONCE(*(const __virtio16 *)(a->kaddr + off));
		return 0;
	}
	p = kvnet_area_user_ptr16(a, off);
	return p ? get_user(*val, p) : -EFAULT;
}

static inline int kvnet_area_store16(const struct kvnet_area *a, u32 off,
				     __virtio16 val)
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
 * Most copies are of a few bytes, a number that the compiler knows: by that name
 * it makes loads and stores of them on every architecture.
 */
static inline int kvnet_area_read(void *dst, const struct kvnet_area *a, u32 off,
				  u32 len)
{
	if (likely(a->kaddr)) {
		__builtin_memcpy(dst, a->kaddr + off, len);
		/* The copy is what counts: do not read there again. */
		barrier();
		return 0;
	}
	if (unlikely(!a->base))
		return kvnet_area_read_pieces(dst, a, off, len);
	return copy_from_user(dst, a->base + off, len) ? -EFAULT : 0;
}

/* A descriptor's two halves, to where the compiler likes them: in registers. */
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

static inline int kvnet_area_write(const struct kvnet_area *a, u32 off,
				   const void *src, u32 len)
{
	if (likely(a->kaddr)) {
		__builtin_memcpy(a->kaddr + off, src, len);
		return 0;
	}
	if (unlikely(!a->base))
		return kvnet_area_write_pieces(a, off, src, len);
	return copy_to_user(a->base + off, src, len) ? -EFAULT : 0;
}

#endif /* _KVNET_AREA_H */
