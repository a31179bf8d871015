/* SPDX-License-Identifier: GPL-2.0 */
/*
 * seg.h - a segment of a descriptor chain
 */
#ifndef _KVNET_SEG_H
#define _KVNET_SEG_H

#include <linux/types.h>

/* Guest address, and length in bytes, which may be 0. */
struct kvnet_seg {
	u64 addr;
	u32 len;
};

#endif /* _KVNET_SEG_H */
