/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_NET_GENETLINK_H
#define _KVNET_COMPAT_NET_GENETLINK_H

#include_next <net/genetlink.h>

/* Linux 6.7, and 6.1.68 */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

#endif /* _KVNET_COMPAT_NET_GENETLINK_H */
