/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_IF_TUN_H
#define _KVNET_COMPAT_IF_TUN_H

#include_next <linux/if_tun.h>

/* Linux 7.3: the consumer of a tap's ring has to wake stopped senders. */
#ifdef IFF_BACKPRESSURE
#define COMPAT_TUN_STOPS_SENDERS	true
#else
#define COMPAT_TUN_STOPS_SENDERS	false

static inline void tun_wake_queue(struct file *file, int consumed)
{
}
#endif

/*
 * In front of a frame of TUN_MSG_PTR old kernels want tun's own header with the buffer's
 * size, newer ones the packet's header alone. drivers/kvnet/Kbuild detects which.
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

/* A build error if this kernel has the struct: then the detection in Kbuild was wrong. */
struct tun_xdp_hdr {
	char not_in_this_kernel;
};

static inline void *kvnet_tun_frame_init(void *buf, int size)
{
	return buf;
}
#endif

#endif /* _KVNET_COMPAT_IF_TUN_H */
