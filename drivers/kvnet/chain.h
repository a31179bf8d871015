/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chain.h - building a descriptor chain out of what the driver has written
 */
#ifndef _KVNET_CHAIN_H
#define _KVNET_CHAIN_H

#include <linux/types.h>
#include <linux/virtio_ring.h>

#include "ring.h"

/**
 * struct kvnet_desc - a descriptor of a split ring, in host byte order
 * @addr: guest address
 * @len: bytes
 * @flags: those that are known: VRING_DESC_F_*
 * @next: the next one, with VRING_DESC_F_NEXT
 */
struct kvnet_desc {
	u64 addr;
	u32 len;
	u16 flags;
	u16 next;
};

struct kvnet_desc kvnet_desc_to_cpu(const struct vring_desc *raw, bool le);
int kvnet_chain_add(struct kvnet_chain *chain, const struct kvnet_desc *d);
int kvnet_chain_add_table(struct kvnet_chain *chain,
			  const struct kvnet_desc *table, bool le,
			  const struct kvnet_reader *reader);

#endif /* _KVNET_CHAIN_H */
