/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_XDP_H
#define _KVNET_COMPAT_XDP_H

#include_next <net/xdp.h>
#include <linux/version.h>

/* Linux 6.14: the type alone is left of struct xdp_mem_info. */
static inline enum xdp_mem_type compat_xdp_mem_type(const struct xdp_frame *frame)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	return frame->mem_type;
#else
	return frame->mem.type;
#endif
}

#endif /* _KVNET_COMPAT_XDP_H */
