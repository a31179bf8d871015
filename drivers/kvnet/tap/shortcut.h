/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shortcut.h - frames straight to another tap of the bridge, for direct TX
 */
#ifndef _KVNET_SHORTCUT_H
#define _KVNET_SHORTCUT_H

#include <linux/if_ether.h>
#include <linux/types.h>

/* Other taps that a tap sends to at the same time. */
#define KVNET_SHORTCUT_PATHS	8

struct kvnet_tap;
struct net_device;
struct sk_buff;

/* The way from a tap to another one. @dev is valid in the same batch, without a reference. */
struct kvnet_shortcut_path {
	u8 macs[2 * ETH_ALEN];		/* destination and source, as in a frame */
	bool is_proven;			/* the bridge has sent such a frame to @dev, ... */
	unsigned long probed_at;	/* ... in this jiffy */
	unsigned int batch;
	struct net_device *dev;
};

bool kvnet_shortcut_start(struct kvnet_tap *tap, struct net_device *dev);
unsigned int kvnet_shortcut_send(struct kvnet_tap *tap, unsigned int from);
void kvnet_shortcut_receive(struct kvnet_tap *tap, struct sk_buff *skb);

#endif /* _KVNET_SHORTCUT_H */
