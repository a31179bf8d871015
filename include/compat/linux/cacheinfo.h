/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_CACHEINFO_H
#define _KVNET_COMPAT_CACHEINFO_H

#include_next <linux/cacheinfo.h>

/* Linux 6.9. Of the architectures with KVM only MIPS may have an aliasing data cache. */
#ifndef cpu_dcache_is_aliasing
#define cpu_dcache_is_aliasing()	IS_ENABLED(CONFIG_MIPS)
#endif

#endif /* _KVNET_COMPAT_CACHEINFO_H */
