// SPDX-License-Identifier: GPL-2.0
/*
 * tap_info.c - what kind of backend a tap is, and its interface, see tap_info.h
 *
 * The kernel exports no function that returns the device of a tap's file.
 */
#include "tap_info.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/if_packet.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <net/sock.h>

/* @sock may be NULL. */
enum kvnet_backend kvnet_tap_info_kind(const struct socket *sock)
{
	if (!sock)
		return KVNET_BACKEND_NONE;
	if (!IS_ERR(tun_get_tx_ring(sock->file)))
		return KVNET_BACKEND_TAP;
	if (!IS_ERR(tap_get_ptr_ring(sock->file)))
		return KVNET_BACKEND_MACVTAP;
	return KVNET_BACKEND_PACKET;
}

/* RCU, or a reference on @dev. A tun device has @tstats, which the caller may use. */
bool kvnet_tap_info_is_tun(const struct net_device *dev)
{
	const struct rtnl_link_ops *ops = READ_ONCE(dev->rtnl_link_ops);

	return ops && !strcmp(ops->kind, "tun") && dev->tstats;
}

/* RCU. Returns the tun device with this interface index, or NULL. */
struct net_device *kvnet_tap_info_find_tun(struct net *net, int ifindex)
{
	struct net_device *dev = dev_get_by_index_rcu(net, ifindex);

	return dev && kvnet_tap_info_is_tun(dev) ? dev : NULL;
}

/*
 * The name is that of the file's /proc/PID/fdinfo/FD, for which tun takes the RTNL. If the
 * device has moved to another namespace, a tun device of this name here is another one: direct
 * TX probes the device before it uses it.
 */
static int get_tun_ifindex(struct socket *sock)
{
	const struct file_operations *fops = sock->file->f_op;
	char fdinfo[32] = "", name[IFNAMSIZ] = "";
	struct seq_file m = { .buf = fdinfo, .size = sizeof(fdinfo) };
	struct net_device *dev;
	int ifindex = 0;

	BUILD_BUG_ON(IFNAMSIZ != 16);
	if (fops->show_fdinfo)
		fops->show_fdinfo(&m, sock->file);
	if (sscanf(fdinfo, "iff: %15s", name) != 1)
		return 0;
	rcu_read_lock();
	dev = dev_get_by_name_rcu(sock_net(sock->sk), name);
	if (dev && kvnet_tap_info_is_tun(dev))
		ifindex = dev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

static int get_packet_ifindex(struct socket *sock)
{
	struct sockaddr_storage addr = {};
	const struct sockaddr_ll *sll = (const struct sockaddr_ll *)&addr;

	return kernel_getsockname(sock, (struct sockaddr *)&addr) < 0 ?
	       0 : sll->sll_ifindex;
}

/*
 * May sleep; takes the RTNL, so not with vq->lock held. @sock may be NULL. Returns the interface
 * index in the socket's network namespace; 0: none there, or unknown, as of each macvtap and
 * ipvtap.
 */
int kvnet_tap_info_ifindex(struct socket *sock)
{
	switch (kvnet_tap_info_kind(sock)) {
	case KVNET_BACKEND_TAP:
		return get_tun_ifindex(sock);
	case KVNET_BACKEND_PACKET:
		return get_packet_ifindex(sock);
	default:
		return 0;
	}
}

/*
 * vq->lock of the queue; may sleep. Records the new backend; no reference on @sock, which may be
 * NULL, is kept. @ifindex is from kvnet_tap_info_ifindex().
 */
void kvnet_tap_info_set(struct kvnet_tap_info *info, struct socket *sock, int ifindex)
{
	struct net *netns = sock ? get_net(sock_net(sock->sk)) : NULL;

	spin_lock(&info->lock);
	swap(info->netns, netns);
	info->ifindex = ifindex;
	WRITE_ONCE(info->kind, kvnet_tap_info_kind(sock));
	spin_unlock(&info->lock);
	if (netns)
		put_net(netns);
}

/*
 * Process context, without vq->lock. Returns the namespace of @ifindex with a reference, for
 * put_net(), or NULL without a backend.
 */
struct net *kvnet_tap_info_get(struct kvnet_tap_info *info, int *ifindex)
{
	struct net *netns;

	spin_lock(&info->lock);
	*ifindex = info->ifindex;
	netns = info->netns ? get_net(info->netns) : NULL;
	spin_unlock(&info->lock);
	return netns;
}
