/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_IF_TUN_H
#define _KVNET_COMPAT_IF_TUN_H

#include_next <linux/if_tun.h>

/* Linux 7.3: whoever consumes a tap's ring lets its senders go on. */
#ifdef IFF_BACKPRESSURE
#define COMPAT_TUN_STOPS_SENDERS	true
#else
#define COMPAT_TUN_STOPS_SENDERS	false

static inline void tun_wake_queue(struct file *file, int consumed)
{
}
#endif

/*
 * What stands in front of a frame that is handed over by TUN_MSG_PTR: a header
 * of tun's own with the buffer's size, or, later, the packet's header alone.
 * The Makefile has looked which one this kernel wants.
 */
#ifdef KVNET_HAVE_TUN_XDP_HDR
#define KVNET_TUN_FRAME_HDR	offsetof(struct tun_xdp_hdr, gso)

static inline void *kvnet_tun_frame_init(void *buf, int size)
{
	struct tun_xdp_hdr *hdr = buf;

	hdr->buflen = size;
	return buf + KVNET_TUN_FRAME_HDR;
}
#else
#define KVNET_TUN_FRAME_HDR	0

/* An error if the kernel has it after all. */
struct tun_xdp_hdr {
	char not_in_this_kernel;
};

static inline void *kvnet_tun_frame_init(void *buf, int size)
{
	return buf;
}
#endif

#endif /* _KVNET_COMPAT_IF_TUN_H */
