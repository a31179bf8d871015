/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.h - a device: a queue pair, its tap and its workers; the map of the
 * data path
 */
#ifndef _KVNET_NET_H
#define _KVNET_NET_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "bar.h"
#include "crew.h"
#include "hdr.h"
#include "lone.h"
#include "notify.h"
#include "pace.h"
#include "poll.h"
#include "port.h"
#include "registry.h"
#include "resident.h"
#include "source.h"
#include "tap.h"
#include "vq.h"

struct file;
struct mm_struct;
struct seq_file;

/* Queue numbers, virtio 1.3, 5.1.2; named from the driver's side. */
enum {
	KVNET_RX,
	KVNET_TX,
	KVNET_QUEUES,
};

/* Shorter packets reach the guest in one copy, by way of our own memory. */
#define KVNET_RX_BOUNCE	256

/**
 * struct kvnet_queue - a virtqueue with all that hangs on it
 * @vq: the virtqueue
 * @src: what a worker serves
 * @tap: the backend; under vq.lock
 * @port: its interface, for those who have no lock
 * @starved: the turn ended for want of the driver's buffers (RX) or of room
 *	     in the tap (TX); under vq.lock
 * @pace: when the driver kicks (TX); under vq.lock
 * @answers: packets that the other queue has passed on so far; const after init
 * @passed: what it is for the other queue; written in a session
 * @lone: whether packets are received where they come in (RX); in a session
 * @bar: whether softirqs receive, and call the driver; in a session
 * @look_us: longest time that a stream's frames wait, in us; 0: none does (RX); const while
 *	     there is an owner
 * @resident: the device's
 * @bounce: header and a short packet (RX); in a session
 * @kick_wait: the driver's kicks; under vq.lock
 * @tap_wait: the tap's readiness; under vq.lock
 * @kick: eventfd that @kick_wait watches, with a reference; under vq.lock
 * @abandoned: nobody serves it any more, nor will; under vq.lock
 */
struct kvnet_queue {
	struct kvnet_vq vq;
	struct kvnet_source src;
	struct kvnet_tap tap;
	struct kvnet_port port;
	bool starved;
	struct kvnet_pace pace;
	const unsigned long *answers;
	unsigned long passed;
	struct kvnet_lone lone;
	struct kvnet_bar bar;
	u32 look_us;
	struct kvnet_resident *resident;
	u8 bounce[KVNET_HDR_MAX + KVNET_RX_BOUNCE] __aligned(8);
	struct kvnet_wait kick_wait;
	struct kvnet_wait tap_wait;
	struct file *kick;
	bool abandoned;
};

/**
 * struct kvnet_net - an open /dev/kvnet of which something has been asked
 * @users: the file, until @release has run, and what is lent; the last one frees it
 * @release: after the last close
 * @listing: so that others find it
 * @lock: the set-up lock (dev->lock); taken before any other of ours
 * @mm: the owner's address space, as a name only: mmgrab(); NULL: none
 * @fork: workers are threads of the owner's process; under @lock
 * @payer: who pays for pinned rings
 * @mem: the owner's memory table, or NULL
 * @features: as acknowledged by the driver
 * @log_call: eventfd to signal for new bits in the dirty log, or NULL
 * @iotlb: what the VMM's IOMMU has told, or NULL without one; readers hold a
 *	   vq->lock, writers dev->lock and all of them
 * @misses: what the queues ask of the VMM's IOMMU
 * @crew: who serves the queues
 * @resident: what is known of the owner's memory
 * @copies: frames are copied out of a tap's ring: 1 yes, 0 no, -1 as the module's
 *	    parameter says
 * @q: the queues
 */
struct kvnet_net {
	refcount_t users;
	struct work_struct release;
	struct kvnet_listing listing;
	struct mutex lock;
	struct mm_struct *mm;
	bool fork;
	struct kvnet_payer payer;
	struct kvnet_mem *mem;
	struct kvnet_features features;
	struct eventfd_ctx *log_call;
	struct kvnet_iotlb *iotlb;
	struct kvnet_misses misses;
	struct kvnet_crew crew;
	struct kvnet_resident resident;
	int copies;
	struct kvnet_queue q[KVNET_QUEUES];
};

/* The device of a queue. */
struct kvnet_net *kvnet_queue_net(struct kvnet_queue *q);

/* Worker thread: rx.c, tx.c */
extern const struct kvnet_source_ops kvnet_rx_ops;
extern const struct kvnet_source_ops kvnet_tx_ops;

/* The owner's ioctls, see there who takes dev->lock: dev.c */
struct kvnet_net *kvnet_net_create(void);
int kvnet_net_set_mem(struct kvnet_net *net, struct kvnet_mem *mem);
int kvnet_net_set_addr(struct kvnet_net *net, unsigned int index,
		       const struct vhost_vring_addr *a);
int kvnet_net_set_kick(struct kvnet_net *net, unsigned int index, int fd);
int kvnet_net_set_backend(struct kvnet_net *net, unsigned int index, int fd);
void kvnet_net_set_busy(struct kvnet_net *net, unsigned int index, u32 us);
void kvnet_net_reset_busy(struct kvnet_net *net);
bool kvnet_net_copies(const struct kvnet_net *net);
void kvnet_net_show(struct kvnet_net *net, struct seq_file *m);
struct socket *kvnet_queue_detach(struct kvnet_queue *q);
void kvnet_queue_swap_kick(struct kvnet_queue *q, struct file **file);

/* Whose device it is: owner.c */
int kvnet_net_check_owner(const struct kvnet_net *net);
int kvnet_net_set_owner(struct kvnet_net *net);
int kvnet_net_set_fork(struct kvnet_net *net, bool fork);
void kvnet_net_reset_owner(struct kvnet_net *net);
void kvnet_net_stop(struct kvnet_net *net);
void kvnet_net_release_owner(struct kvnet_net *net);
bool kvnet_net_orphaned(const struct kvnet_net *net);
void kvnet_net_abandon(struct kvnet_crew *crew);

/* Its end: close.c */
void kvnet_net_put(struct kvnet_net *net);
void kvnet_net_close(struct kvnet_net *net);
int kvnet_close_init(void);
void kvnet_close_exit(void);

/* Features, IOMMU and dirty log, see there for locks: dev_iommu.c */
int kvnet_net_set_features(struct kvnet_net *net,
			   const struct kvnet_features *f);
int kvnet_net_set_log_base(struct kvnet_net *net, u64 base);
int kvnet_net_set_log_fd(struct kvnet_net *net, int fd);
int kvnet_net_iotlb_update(struct kvnet_net *net,
			   const struct kvnet_iotlb_entry *entry);
int kvnet_net_iotlb_invalidate(struct kvnet_net *net, u64 iova, u64 size);
bool kvnet_queue_rest_shut(struct kvnet_queue *q);

/* IOTLB messages: msg.c */
ssize_t kvnet_msg_read(struct kvnet_net *net, struct iov_iter *to,
		       bool nonblock);
ssize_t kvnet_msg_write(struct kvnet_net *net, struct iov_iter *from);
__poll_t kvnet_msg_poll(struct kvnet_net *net, struct file *file,
			poll_table *table);

/* What the VMM says: ioctl.c */
long kvnet_ioctl(struct kvnet_net *net, unsigned int cmd, void __user *argp);

/* The character device: chr.c */
int kvnet_chr_register(bool replace);
void kvnet_chr_open_up(void);
void kvnet_chr_unregister(void);

/* Module parameters: main.c */
extern unsigned int kvnet_max_mem_regions;
extern unsigned int kvnet_max_iotlb_entries;
extern unsigned int kvnet_poll_us;
extern bool kvnet_pin_rings;
extern bool kvnet_tx_by_vcpu;
extern bool kvnet_rx_in_place;
extern unsigned int kvnet_tx_call_us;
extern unsigned int kvnet_rx_look_us;
extern bool kvnet_copy_frames;
extern bool kvnet_fork_owner_control;
bool kvnet_fork_default(void);

#endif /* _KVNET_NET_H */
