// SPDX-License-Identifier: GPL-2.0
/*
 * kvnet_floor - what a packet costs at a tap if nothing has to be done for a guest.
 *
 * To the tap: a frame is copied from the kernel's memory into a fragment of a page,
 * and batches of them are handed over as vhost_net and kvnet do. From the tap: batches
 * are taken from its ring and freed. No virtqueue, no address to translate, nothing
 * that another could change meanwhile. For root alone, in a machine to measure in.
 */
#include <linux/file.h>
#include <linux/gfp.h>
#include <linux/if_tun.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/ptr_ring.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/sock.h>
#include <net/xdp.h>

#include "kvnet_floor.h"

#define BATCH	64
#define HDR_LEN	12	/* what the tap's users are set up for */
#define PAD	SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + HDR_LEN)

enum { FROM_TAP, TO_TAP, QUEUES };

struct floor {
	/* the worker's */
	struct page_frag_cache frags;
	struct xdp_buff xdp[BATCH];
	void *taken[BATCH];
	/* set-up, while there is no work */
	struct mutex lock;
	struct file *tap;
	struct socket *sock;
	struct ptr_ring *ring;
	u32 size;
	u8 frame[KVNET_FLOOR_MAX];
	/* shared */
	struct task_struct *worker;
	wait_queue_head_t done;
	atomic_t todo[QUEUES];
	int error;
};

static int make_frame(struct floor *f, struct xdp_buff *xdp)
{
	u32 size = SKB_DATA_ALIGN(f->size + PAD) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *hdr = page_frag_alloc(&f->frags, size, GFP_KERNEL);

	if (!hdr)
		return -ENOMEM;
	/* the packet's header; of old kernels tun's own, the buffer's size being first */
	memset(hdr, 0, sizeof(int) + sizeof(struct virtio_net_hdr));
#ifdef KVNET_HAVE_TUN_XDP_HDR
	((struct tun_xdp_hdr *)hdr)->buflen = size;
#endif
	memcpy(hdr + PAD, f->frame, f->size);
	xdp_init_buff(xdp, size, NULL);
	xdp_prepare_buff(xdp, hdr, PAD, f->size, true);
	return 0;
}

static int to_tap(struct floor *f, unsigned int n)
{
	struct tun_msg_ctl ctl = { .type = TUN_MSG_PTR, .ptr = f->xdp };
	struct msghdr msg = {
		.msg_control = &ctl,
		.msg_controllen = sizeof(ctl),
		.msg_flags = MSG_DONTWAIT,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = make_frame(f, &f->xdp[i]);
	ctl.num = ret ? i - 1 : i;
	if (!ret)
		ret = f->sock->ops->sendmsg(f->sock, &msg, 0);
	if (ret >= 0)
		return n;
	for (i = 0; i < ctl.num; i++)
		page_frag_free(f->xdp[i].data_hard_start);
	return ret;
}

static int from_tap(struct floor *f, unsigned int n)
{
	unsigned int i;

	n = ptr_ring_consume_batched(f->ring, f->taken, n);
	local_bh_disable();
	for (i = 0; i < n; i++) {
		if (tun_is_xdp_frame(f->taken[i]))
			tun_ptr_free(f->taken[i]);
		else
			napi_consume_skb(f->taken[i], 1);
	}
	local_bh_enable();
	/* all were there before the work was */
	return n ?: -ENODATA;
}

static void serve(struct floor *f, unsigned int queue)
{
	unsigned int n = min(atomic_read(&f->todo[queue]), BATCH);
	int ret;

	if (!n)
		return;
	ret = queue == TO_TAP ? to_tap(f, n) : from_tap(f, n);
	if (ret < 0) {
		WRITE_ONCE(f->error, ret);
		atomic_set(&f->todo[queue], 0);
	} else if (atomic_sub_return(ret, &f->todo[queue])) {
		return;
	}
	wake_up(&f->done);
}

static bool busy(struct floor *f)
{
	return atomic_read(&f->todo[FROM_TAP]) || atomic_read(&f->todo[TO_TAP]);
}

static int run(void *data)
{
	struct floor *f = data;

	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!busy(f) && !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
		while (busy(f)) {
			serve(f, FROM_TAP);
			serve(f, TO_TAP);
			cond_resched();
		}
	}
	return 0;
}

static void drop_tap(struct floor *f)
{
	if (f->tap)
		fput(f->tap);
	f->tap = NULL;
}

static int set_tap(struct floor *f, const struct kvnet_floor_tap *t)
{
	struct file *tap;

	if (busy(f))
		return -EBUSY;
	drop_tap(f);
	if (t->tap < 0)
		return 0;
	if (t->size < ETH_HLEN || t->size > sizeof(f->frame))
		return -EINVAL;
	if (copy_from_user(f->frame, u64_to_user_ptr(t->frame), t->size))
		return -EFAULT;
	tap = fget(t->tap);
	if (!tap)
		return -EBADF;
	f->sock = tun_get_socket(tap);
	f->ring = tun_get_tx_ring(tap);
	if (IS_ERR(f->sock) || IS_ERR(f->ring)) {
		fput(tap);
		return -ENOTSOCK;
	}
	f->size = t->size;
	f->tap = tap;
	return 0;
}

static int start_work(struct floor *f, const struct kvnet_floor_work *w)
{
	if (!f->tap)
		return -ENOTCONN;
	if (w->queue >= QUEUES || !w->frames || w->frames > INT_MAX / 2 ||
	    atomic_cmpxchg(&f->todo[w->queue], 0, w->frames))
		return -EINVAL;
	wake_up_process(f->worker);
	return 0;
}

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct floor *f = file->private_data;
	void __user *argp = (void __user *)arg;
	struct kvnet_floor_work work = { 0 };
	struct kvnet_floor_tap tap;
	int ret = -ENOTTY;

	if (cmd == KVNET_FLOOR_TAP ? copy_from_user(&tap, argp, sizeof(tap)) :
	    copy_from_user(&work, argp, sizeof(work)))
		return -EFAULT;
	if (cmd == KVNET_FLOOR_WAIT && work.queue < QUEUES)
		return wait_event_interruptible(f->done,
			!atomic_read(&f->todo[work.queue])) ?:
			READ_ONCE(f->error);
	mutex_lock(&f->lock);
	if (cmd == KVNET_FLOOR_TAP)
		ret = set_tap(f, &tap);
	else if (cmd == KVNET_FLOOR_START)
		ret = start_work(f, &work);
	mutex_unlock(&f->lock);
	return ret;
}

static int floor_open(struct inode *inode, struct file *file)
{
	struct floor *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	init_waitqueue_head(&f->done);
	f->worker = kthread_run(run, f, "floor-%d", current->pid);
	if (IS_ERR(f->worker)) {
		int ret = PTR_ERR(f->worker);

		kfree(f);
		return ret;
	}
	file->private_data = f;
	return 0;
}

static int floor_release(struct inode *inode, struct file *file)
{
	struct floor *f = file->private_data;

	kthread_stop(f->worker);
	drop_tap(f);
	page_frag_cache_drain(&f->frags);
	kfree(f);
	return 0;
}

static const struct file_operations floor_fops = {
	.owner = THIS_MODULE,
	.open = floor_open,
	.release = floor_release,
	.unlocked_ioctl = floor_ioctl,
};

static struct miscdevice floor_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kvnet-floor",
	.fops = &floor_fops,
	.mode = 0600,
};
module_misc_device(floor_misc);

MODULE_DESCRIPTION("a tap without a virtqueue, to measure by");
MODULE_LICENSE("GPL");
