/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xlate.h - segments of guest memory to an I/O vector of the owner's memory
 */
#ifndef _KVNET_XLATE_H
#define _KVNET_XLATE_H

#include <linux/types.h>
#include <linux/uio.h>

#include "mem.h"
#include "ring.h"

int kvnet_xlate(const struct kvnet_mem *mem, u32 *hint,
		const struct kvnet_seg *seg, unsigned int n,
		struct iovec *iov, unsigned int cap);

#endif /* _KVNET_XLATE_H */
