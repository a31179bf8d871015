/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_CACHEINFO_H
#define _KVNET_COMPAT_CACHEINFO_H

#include_next <linux/cacheinfo.h>

/*
 * Has a page that is mapped twice two places in a cache? Linux 6.9 has learnt to say so; of
 * the hosts that KVM runs on MIPS may.
 */
#ifndef cpu_dcache_is_aliasing
#define cpu_dcache_is_aliasing()	IS_ENABLED(CONFIG_MIPS)
#endif

#endif /* _KVNET_COMPAT_CACHEINFO_H */
