/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_NETDEVICE_H
#define _KVNET_COMPAT_NETDEVICE_H

#include_next <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/version.h>

/* Linux 6.10: a device that is only there to own NAPI instances. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static inline struct net_device *compat_alloc_netdev_dummy(void)
{
	struct net_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (dev)
		init_dummy_netdev(dev);
	return dev;
}

static inline void compat_free_netdev_dummy(struct net_device *dev)
{
	kfree(dev);
}
#else
static inline struct net_device *compat_alloc_netdev_dummy(void)
{
	return alloc_netdev_dummy(0);
}

static inline void compat_free_netdev_dummy(struct net_device *dev)
{
	free_netdev(dev);
}
#endif

/* What napi_gro_receive() writes to skb->napi_id, the place of skb->sender_cpu; Linux 6.15. */
static inline void compat_napi_set_skb_id(struct napi_struct *napi, unsigned int id)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	napi->gro.cached_napi_id = id;
#else
	napi->napi_id = id;
#endif
}

/* Linux 6.6: tcx in the place of miniq. Does a tc or nft hook see what comes from, goes to @dev? */
static inline bool compat_dev_has_ingress(const struct net_device *dev)
{
#ifdef CONFIG_NETFILTER_INGRESS
	if (rcu_access_pointer(dev->nf_hooks_ingress))
		return true;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#ifdef CONFIG_NET_XGRESS
	return rcu_access_pointer(dev->tcx_ingress);
#endif
#elif defined(CONFIG_NET_CLS_ACT)
	return rcu_access_pointer(dev->miniq_ingress);
#endif
	return false;
}

static inline bool compat_dev_has_egress(const struct net_device *dev)
{
#ifdef CONFIG_NETFILTER_EGRESS
	if (rcu_access_pointer(dev->nf_hooks_egress))
		return true;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#ifdef CONFIG_NET_XGRESS
	return rcu_access_pointer(dev->tcx_egress);
#endif
#elif defined(CONFIG_NET_CLS_ACT)
	return rcu_access_pointer(dev->miniq_egress);
#endif
	return false;
}

#endif /* _KVNET_COMPAT_NETDEVICE_H */
