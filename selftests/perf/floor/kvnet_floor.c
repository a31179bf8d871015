// SPDX-License-Identifier: GPL-2.0
/*
 * kvnet_floor - what a packet costs at a tap if nothing has to be done for a guest.
 *
 * To the tap: a frame is copied from the kernel's memory into a fragment of a page,
 * and batches of them are handed over as vhost_net and kvnet do. From the tap: batches
 * are taken from its ring and freed. No virtqueue, no address to translate, nothing
 * that another could change meanwhile. Or, without a tap: a frame is copied from a guest's ring
 * to another's, which the module has made itself. For root alone, in a machine to measure in.
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
#include <linux/virtio_net.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include <net/xdp.h>

#include "kvnet_floor.h"

#define BATCH	64
#define RING	256
#define PIECE	4096	/* of a frame that a buffer takes */
#define HDR_LEN	12	/* what the tap's users are set up for */
#define PAD	SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + HDR_LEN)

enum { FROM_TAP, TO_TAP, QUEUES };

/* A split ring, all of it available, and its buffers; the sender's take a frame each. */
struct guest {
	struct {
		u64 addr;
		u32 len;
		u16 flags, next;
	} desc[RING];
	struct {
		u32 id, len;
	} used[RING];
	u16 avail[RING], used_idx, next;
	u8 bufs[];
};

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
	struct guest *from, *to;
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

static struct guest *make_guest(u32 frame, u32 buf, const u8 *bytes)
{
	struct guest *g = vzalloc(struct_size(g, bufs, (size_t)RING * buf));
	unsigned int i;

	for (i = 0; g && i < RING; i++) {
		g->avail[i] = i;
		g->desc[i].addr = (u64)i * buf;
		g->desc[i].len = frame;
		if (bytes)
			memcpy(g->bufs + (size_t)i * buf + HDR_LEN, bytes, frame - HDR_LEN);
	}
	return g;
}

/* Takes a buffer, and puts so much of it into the used ring at once. */
static void *next_buffer(struct guest *g, u32 *len, u32 most)
{
	u16 at = g->next++ % RING, id = g->avail[at];

	*len = min(g->desc[id].len, most);
	g->used[at].id = id;
	g->used[at].len = *len;
	return g->bufs + g->desc[id].addr;
}

/* Over as many buffers as it takes: mergeable ones. */
static void copy_frame(struct guest *from, struct guest *to)
{
	struct virtio_net_hdr_mrg_rxbuf *hdr;
	u32 left, part;
	void *src = next_buffer(from, &left, U32_MAX), *dst;
	u16 n = 1;

	hdr = next_buffer(to, &part, left);
	memcpy(hdr, src, part);
	while ((left -= part)) {
		src += part;
		dst = next_buffer(to, &part, left);
		memcpy(dst, src, part);
		n++;
	}
	hdr->num_buffers = (__force __virtio16)n;
}

static int to_guest(struct floor *f, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		copy_frame(f->from, f->to);
	smp_store_release(&f->to->used_idx, f->to->next);
	smp_store_release(&f->from->used_idx, f->from->next);
	return n;
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
	if (queue == FROM_TAP)
		ret = from_tap(f, n);
	else
		ret = f->to ? to_guest(f, n) : to_tap(f, n);
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
	vfree(f->from);
	vfree(f->to);
	f->from = f->to = NULL;
}

static int set_guests(struct floor *f)
{
	f->from = make_guest(HDR_LEN + f->size, ALIGN(HDR_LEN + f->size, 256), f->frame);
	f->to = make_guest(PIECE, PIECE, NULL);
	if (f->from && f->to)
		return 0;
	drop_tap(f);
	return -ENOMEM;
}

static int set_tap(struct floor *f, const struct kvnet_floor_tap *t)
{
	struct file *tap;

	if (busy(f))
		return -EBUSY;
	drop_tap(f);
	if (t->tap == -1)
		return 0;
	if (t->size < ETH_HLEN || t->size > sizeof(f->frame))
		return -EINVAL;
	if (copy_from_user(f->frame, u64_to_user_ptr(t->frame), t->size))
		return -EFAULT;
	f->size = t->size;
	if (t->tap == KVNET_FLOOR_GUEST)
		return set_guests(f);
	tap = fget(t->tap);
	if (!tap)
		return -EBADF;
	f->sock = tun_get_socket(tap);
	f->ring = tun_get_tx_ring(tap);
	if (IS_ERR(f->sock) || IS_ERR(f->ring)) {
		fput(tap);
		return -ENOTSOCK;
	}
	f->tap = tap;
	return 0;
}

static int start_work(struct floor *f, const struct kvnet_floor_work *w)
{
	if (!f->tap && !f->to)
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
	struct floor *f = kvzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	init_waitqueue_head(&f->done);
	f->worker = kthread_run(run, f, "floor-%d", current->pid);
	if (IS_ERR(f->worker)) {
		int ret = PTR_ERR(f->worker);

		kvfree(f);
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
	kvfree(f);
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
