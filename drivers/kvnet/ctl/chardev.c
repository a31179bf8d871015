// SPDX-License-Identifier: GPL-2.0
/*
 * chardev.c - the character devices /dev/kvnet and, with replace_vhost_net, /dev/vhost-net
 *
 * file->private_data is NULL until the first read(), write(), poll() or ioctl() creates the
 * device. It never changes after that, so readers need no lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "kvnet.h"

/* NULL if no call has created the device yet. */
static struct kvnet_net *chardev_find_net(struct file *file)
{
	/* Pairs with the cmpxchg() of chardev_get_or_create_net(). */
	return smp_load_acquire(&file->private_data);
}

/*
 * Not in open(): misc_open() holds the mutex of all misc devices. A VMM at its memory cgroup
 * limit would make the users of every other misc device wait for its allocation.
 */
static struct kvnet_net *chardev_get_or_create_net(struct file *file)
{
	struct kvnet_net *net = chardev_find_net(file), *first;

	if (likely(net))
		return net;
	net = kvnet_dev_create();
	if (IS_ERR(net))
		return net;
	/* Another thread may have created it first. */
	first = cmpxchg(&file->private_data, NULL, net);
	if (!first)
		return net;
	kvnet_dev_put(net);
	return first;
}

static ssize_t chardev_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;
	struct kvnet_net *net = chardev_get_or_create_net(file);

	if (IS_ERR(net))
		return PTR_ERR(net);
	return kvnet_iommu_read_msg(net, to, file->f_flags & O_NONBLOCK ||
				    iocb->ki_flags & IOCB_NOWAIT);
}

static ssize_t chardev_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct kvnet_net *net = chardev_get_or_create_net(iocb->ki_filp);

	return IS_ERR(net) ? PTR_ERR(net) : kvnet_iommu_write_msg(net, from);
}

static __poll_t chardev_poll(struct file *file, poll_table *table)
{
	struct kvnet_net *net = chardev_get_or_create_net(file);

	return IS_ERR(net) ? EPOLLERR : kvnet_iommu_poll_msg(net, file, table);
}

static int chardev_open(struct inode *inode, struct file *file)
{
	/* misc_open() stored the miscdevice here. */
	file->private_data = NULL;
	return 0;
}

static int chardev_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		kvnet_dev_close(file->private_data);
	return 0;
}

static void chardev_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct kvnet_net *net = chardev_find_net(file);

	if (net)
		kvnet_dev_show_fdinfo(net, m);
}

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kvnet_net *net = chardev_get_or_create_net(file);

	return IS_ERR(net) ? PTR_ERR(net) : kvnet_ioctl(net, cmd, (void __user *)arg);
}

static const struct file_operations chardev_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.read_iter = chardev_read,
	.write_iter = chardev_write,
	.poll = chardev_poll,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = chardev_show_fdinfo,
	.llseek = noop_llseek,
};

/*
 * A misc device, because DPDK accepts only the misc major for a vhost-kernel backend. There are
 * no fops before kvnet_chardev_enable(): open() fails until then.
 */
static struct miscdevice chardev_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
};

/* For VMMs that cannot be given another path. */
static struct miscdevice chardev_vhost_net_misc = {
	.minor = VHOST_NET_MINOR,
	.name = "vhost-net",
};

static bool chardev_replaces_vhost_net;

/* Creates the nodes, which open() finds but cannot open. -EBUSY: vhost_net is loaded. */
int kvnet_chardev_register(bool replace_vhost_net)
{
	int ret = misc_register(&chardev_misc);

	if (ret || !replace_vhost_net)
		return ret;
	ret = misc_register(&chardev_vhost_net_misc);
	if (ret == -EBUSY)
		pr_err("replace_vhost_net: vhost_net is loaded; rmmod vhost_net first, or load kvnet without it\n");
	if (ret)
		misc_deregister(&chardev_misc);
	chardev_replaces_vhost_net = !ret;
	return ret;
}

/* Last step of module init: a successful open() takes a module reference. */
void kvnet_chardev_enable(void)
{
	WRITE_ONCE(chardev_misc.fops, &chardev_fops);
	WRITE_ONCE(chardev_vhost_net_misc.fops, &chardev_fops);
}

void kvnet_chardev_unregister(void)
{
	if (chardev_replaces_vhost_net)
		misc_deregister(&chardev_vhost_net_misc);
	misc_deregister(&chardev_misc);
}
