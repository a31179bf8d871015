/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_NET_GENETLINK_H
#define _KVNET_COMPAT_NET_GENETLINK_H

#include_next <net/genetlink.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/version.h>

/* Linux 6.7, and 6.1.68 */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

/*
 * Split operations have an entry for a command's doit, then one for its dumpit. Kernels before
 * Linux 6.2 take one entry with both.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define genl_split_ops	genl_ops
#define split_ops	ops
#define n_split_ops	n_ops

static inline int kvnet_genl_register_family(struct genl_family *family)
{
	static struct genl_ops merged[8];
	const struct genl_ops *op;
	unsigned int n = 0;

	if (WARN_ON(family->n_ops > ARRAY_SIZE(merged)))
		return -EINVAL;
	for (op = family->ops; op < family->ops + family->n_ops; op++) {
		if (n && merged[n - 1].cmd == op->cmd) {
			merged[n - 1].start = op->start;
			merged[n - 1].dumpit = op->dumpit;
		} else {
			merged[n++] = *op;
		}
	}
	family->ops = merged;
	family->n_ops = n;
	return genl_register_family(family);
}

#define genl_register_family	kvnet_genl_register_family
#endif

#endif /* _KVNET_COMPAT_NET_GENETLINK_H */
