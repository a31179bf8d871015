// SPDX-License-Identifier: GPL-2.0
/*
 * chr.c - /dev/kvnet, and /dev/vhost-net in its place: the file and its nodes
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "net.h"

/* NULL: nothing has been asked of the file yet. */
static struct kvnet_net *find_net(struct file *file)
{
	/* Pairs with the cmpxchg() of find_or_make_net(). */
	return smp_load_acquire(&file->private_data);
}

/*
 * The device, which the first call makes, whichever that is: open() comes with the lock of all
 * misc devices held, and a tenant whose memory is short would have others wait for it.
 */
static struct kvnet_net *find_or_make_net(struct file *file)
{
	struct kvnet_net *net = find_net(file), *first;

	if (likely(net))
		return net;
	net = kvnet_net_create();
	if (IS_ERR(net))
		return net;
	/* Another thread may have been faster. */
	first = cmpxchg(&file->private_data, NULL, net);
	if (!first)
		return net;
	kvnet_net_put(net);
	return first;
}

static ssize_t chr_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;
	struct kvnet_net *net = find_or_make_net(file);

	if (IS_ERR(net))
		return PTR_ERR(net);
	return kvnet_msg_read(net, to,
			      file->f_flags & O_NONBLOCK ||
			      iocb->ki_flags & IOCB_NOWAIT);
}

static ssize_t chr_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct kvnet_net *net = find_or_make_net(iocb->ki_filp);

	return IS_ERR(net) ? PTR_ERR(net) : kvnet_msg_write(net, from);
}

static __poll_t chr_poll(struct file *file, poll_table *table)
{
	struct kvnet_net *net = find_or_make_net(file);

	return IS_ERR(net) ? EPOLLERR : kvnet_msg_poll(net, file, table);
}

static int chr_open(struct inode *inode, struct file *file)
{
	/* It was the misc device. */
	file->private_data = NULL;
	return 0;
}

static int chr_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		kvnet_net_close(file->private_data);
	return 0;
}

static void chr_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct kvnet_net *net = find_net(file);

	if (net)
		kvnet_net_show(net, m);
}

static long chr_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kvnet_net *net = find_or_make_net(file);

	return IS_ERR(net) ? PTR_ERR(net) : kvnet_ioctl(net, cmd, (void __user *)arg);
}

static const struct file_operations chr_fops = {
	.owner = THIS_MODULE,
	.open = chr_open,
	.release = chr_release,
	.read_iter = chr_read,
	.write_iter = chr_write,
	.poll = chr_poll,
	.unlocked_ioctl = chr_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = chr_show_fdinfo,
	.llseek = noop_llseek,
};

/*
 * Misc devices: DPDK takes no other for a kernel backend. They cannot be opened before they
 * have operations.
 */
static struct miscdevice chr_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
};

/* For VMMs that know no other name. */
static struct miscdevice chr_vhost_net = {
	.minor = VHOST_NET_MINOR,
	.name = "vhost-net",
};

static bool chr_replaces;

static int reserve_vhost_net(void)
{
	int ret = misc_register(&chr_vhost_net);

	if (ret == -EBUSY)
		pr_err("replace_vhost_net: vhost_net is loaded; rmmod vhost_net first, or load kvnet without it\n");
	return ret;
}

/**
 * kvnet_chr_register() - make /dev/kvnet, which nobody can open yet
 * @replace: and take vhost_net's place as /dev/vhost-net
 *
 * Return: 0; -EBUSY if vhost_net has its place; -errno.
 */
int kvnet_chr_register(bool replace)
{
	int ret = replace ? reserve_vhost_net() : 0;

	if (ret)
		return ret;
	ret = misc_register(&chr_misc);
	if (!ret)
		chr_replaces = replace;
	else if (replace)
		misc_deregister(&chr_vhost_net);
	return ret;
}

/**
 * kvnet_chr_open_up() - from now on the nodes can be opened
 */
void kvnet_chr_open_up(void)
{
	WRITE_ONCE(chr_misc.fops, &chr_fops);
	if (chr_replaces)
		WRITE_ONCE(chr_vhost_net.fops, &chr_fops);
}

/**
 * kvnet_chr_unregister() - remove the device nodes, which nobody has open
 */
void kvnet_chr_unregister(void)
{
	if (chr_replaces)
		misc_deregister(&chr_vhost_net);
	misc_deregister(&chr_misc);
}
