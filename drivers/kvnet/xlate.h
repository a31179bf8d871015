/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xlate.h - guest addresses to the owner's memory
 *
 * Guest addresses are guest-physical and go by the memory table, or, behind an
 * IOMMU, I/O virtual and go by the IOTLB.
 */
#ifndef _KVNET_XLATE_H
#define _KVNET_XLATE_H

#include <linux/types.h>
#include <linux/uio.h>

#include "area.h"
#include "iotlb.h"
#include "mem.h"
#include "ring.h"

/**
 * struct kvnet_space - what guest addresses mean
 * @mem: the memory table
 * @iotlb: the IOTLB to go by instead, or NULL
 * @hint: where the last address was found
 * @miss: after -EAGAIN, the address that the IOTLB does not know
 * @miss_perm: after -EAGAIN, the access wanted: VHOST_ACCESS_*
 */
struct kvnet_space {
	struct kvnet_mem *mem;
	struct kvnet_iotlb *iotlb;
	u32 hint;
	u64 miss;
	u8 miss_perm;
};

int kvnet_xlate_span(struct kvnet_space *space, u64 addr, u8 perm, u32 *len,
		     void __user **base);
int kvnet_xlate(struct kvnet_space *space, const struct kvnet_chain *chain,
		struct iovec *iov, unsigned int cap);
int kvnet_xlate_area(struct kvnet_space *space, u64 addr, u8 perm, u32 size,
		     struct kvnet_area *area);

#endif /* _KVNET_XLATE_H */
