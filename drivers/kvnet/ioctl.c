// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl.c - /dev/kvnet: decode, copy and validate what the VMM says
 *
 * The ABI is that of <linux/vhost.h>; values and errno are those of vhost_net,
 * see Documentation/uapi.rst. No state of its own.
 */
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vhost.h>

#include "features.h"
#include "net.h"

static long get_features(u64 features, void __user *argp)
{
	return copy_to_user(argp, &features, sizeof(features)) ? -EFAULT : 0;
}

static long set_features(struct kvnet_net *net, void __user *argp)
{
	u64 features;
	int ret;

	if (copy_from_user(&features, argp, sizeof(features)))
		return -EFAULT;
	ret = kvnet_features_check(features);
	return ret ? ret : kvnet_net_set_features(net, features);
}

static long set_backend_features(void __user *argp)
{
	u64 features;

	if (copy_from_user(&features, argp, sizeof(features)))
		return -EFAULT;
	return features & ~KVNET_BACKEND_FEATURES ? -EOPNOTSUPP : 0;
}

static long set_mem_table(struct kvnet_net *net, void __user *argp)
{
	struct vhost_memory_region *region;
	struct vhost_memory head;
	struct kvnet_mem *mem;
	size_t size;

	if (copy_from_user(&head, argp, sizeof(head)))
		return -EFAULT;
	if (head.padding)
		return -EOPNOTSUPP;
	if (head.nregions > kvnet_max_mem_regions)
		return -E2BIG;
	size = head.nregions * sizeof(*region);
	region = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!region)
		return -ENOMEM;
	mem = ERR_PTR(-EFAULT);
	if (!copy_from_user(region, argp + sizeof(head), size))
		mem = kvnet_mem_build(region, head.nregions);
	kvfree(region);
	return IS_ERR(mem) ? PTR_ERR(mem) : kvnet_net_set_mem(net, mem);
}

static long set_addr(struct kvnet_vq *vq, void __user *argp)
{
	struct vhost_vring_addr addr;

	if (copy_from_user(&addr, argp, sizeof(addr)))
		return -EFAULT;
	return kvnet_vq_set_addr(vq, &addr);
}

/* Commands of { index, num }. */
static long vring_state(struct kvnet_net *net, unsigned int index,
			unsigned int cmd, void __user *argp)
{
	struct kvnet_vq *vq = &net->q[index].vq;
	struct vhost_vring_state s;

	if (copy_from_user(&s, argp, sizeof(s)))
		return -EFAULT;
	switch (cmd) {
	case VHOST_SET_VRING_NUM:
		return kvnet_vq_set_num(vq, s.num);
	case VHOST_SET_VRING_BASE:
		return kvnet_vq_set_base(vq, s.num);
	case VHOST_SET_VRING_BUSYLOOP_TIMEOUT:
		kvnet_net_set_busy(net, index, s.num);
		return 0;
	case VHOST_GET_VRING_BASE:
		s.num = kvnet_vq_base(vq);
		break;
	case VHOST_GET_VRING_BUSYLOOP_TIMEOUT:
		s.num = net->q[index].busy_us;
		break;
	}
	s.index = index;
	return copy_to_user(argp, &s, sizeof(s)) ? -EFAULT : 0;
}

/* Commands of { index, fd }. */
static long vring_file(struct kvnet_net *net, unsigned int index,
		       unsigned int cmd, void __user *argp)
{
	struct kvnet_vq *vq = &net->q[index].vq;
	struct vhost_vring_file f;

	if (copy_from_user(&f, argp, sizeof(f)))
		return -EFAULT;
	switch (cmd) {
	case VHOST_SET_VRING_KICK:
		return kvnet_net_set_kick(net, index, f.fd);
	case VHOST_SET_VRING_CALL:
		return kvnet_vq_set_call(vq, f.fd);
	case VHOST_SET_VRING_ERR:
		return kvnet_vq_set_error(vq, f.fd);
	default:
		return kvnet_net_set_backend(net, index, f.fd);
	}
}

/*
 * All of these begin with the queue's index, and so, to vhost and its users,
 * does whatever is unknown.
 */
static long vring_ioctl(struct kvnet_net *net, unsigned int cmd,
			void __user *argp)
{
	u32 index;

	if (get_user(index, (u32 __user *)argp))
		return -EFAULT;
	if (index >= KVNET_QUEUES)
		return -ENOBUFS;
	index = array_index_nospec(index, KVNET_QUEUES);

	switch (cmd) {
	case VHOST_SET_VRING_NUM:
	case VHOST_SET_VRING_BASE:
	case VHOST_GET_VRING_BASE:
	case VHOST_SET_VRING_BUSYLOOP_TIMEOUT:
	case VHOST_GET_VRING_BUSYLOOP_TIMEOUT:
		return vring_state(net, index, cmd, argp);
	case VHOST_SET_VRING_ADDR:
		return set_addr(&net->q[index].vq, argp);
	case VHOST_SET_VRING_KICK:
	case VHOST_SET_VRING_CALL:
	case VHOST_SET_VRING_ERR:
	case VHOST_NET_SET_BACKEND:
		return vring_file(net, index, cmd, argp);
	default:
		return -ENOIOCTLCMD;
	}
}

static long owner_ioctl(struct kvnet_net *net, unsigned int cmd,
			void __user *argp)
{
	long ret;

	mutex_lock(&net->lock);
	ret = kvnet_net_check_owner(net);
	if (!ret && cmd == VHOST_SET_MEM_TABLE)
		ret = set_mem_table(net, argp);
	else if (!ret && cmd == VHOST_RESET_OWNER)
		ret = kvnet_net_reset_owner(net);
	else if (!ret)
		ret = vring_ioctl(net, cmd, argp);
	mutex_unlock(&net->lock);
	return ret;
}

static long chr_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kvnet_net *net = file->private_data;
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case VHOST_GET_FEATURES:
		return get_features(kvnet_features_offered(), argp);
	case VHOST_SET_FEATURES:
		return set_features(net, argp);
	case VHOST_GET_BACKEND_FEATURES:
		return get_features(KVNET_BACKEND_FEATURES, argp);
	case VHOST_SET_BACKEND_FEATURES:
		return set_backend_features(argp);
	case VHOST_SET_OWNER:
		return kvnet_net_set_owner(net);
	default:
		return owner_ioctl(net, cmd, argp);
	}
}

static int chr_open(struct inode *inode, struct file *file)
{
	struct kvnet_net *net = kvnet_net_create();

	if (IS_ERR(net))
		return PTR_ERR(net);
	file->private_data = net;
	return 0;
}

static int chr_release(struct inode *inode, struct file *file)
{
	kvnet_net_destroy(file->private_data);
	return 0;
}

static void chr_show_fdinfo(struct seq_file *m, struct file *file)
{
	kvnet_net_show(file->private_data, m);
}

static const struct file_operations chr_fops = {
	.owner = THIS_MODULE,
	.open = chr_open,
	.release = chr_release,
	.unlocked_ioctl = chr_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = chr_show_fdinfo,
	.llseek = noop_llseek,
};

/* A misc device: DPDK takes no other for a kernel backend. */
static struct miscdevice chr_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kvnet",
	.fops = &chr_fops,
};

/**
 * kvnet_chr_register() - make /dev/kvnet
 *
 * Return: 0 or -errno.
 */
int kvnet_chr_register(void)
{
	return misc_register(&chr_misc);
}

/**
 * kvnet_chr_unregister() - remove /dev/kvnet, which nobody has open
 */
void kvnet_chr_unregister(void)
{
	misc_deregister(&chr_misc);
}
