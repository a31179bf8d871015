/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvnet.h - a device: a queue pair, its tap and its workers; the map of the
 * data path
 */
#ifndef _KVNET_KVNET_H
#define _KVNET_KVNET_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "throttle.h"
#include "workers.h"
#include "vnet_hdr.h"
#include "rx_mod.h"
#include "watch.h"
#include "kick_mod.h"
#include "busy_poll.h"
#include "backend_info.h"
#include "registry.h"
#include "page_cache.h"
#include "work.h"
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
#define KVNET_RX_COPYBREAK	256

/**
 * struct kvnet_queue - a virtqueue with all that hangs on it
 * @vq: the virtqueue
 * @work: what a worker serves
 * @tap: the backend; under vq.lock
 * @backend_info: its interface, for those who have no lock
 * @no_room: the turn ended for want of the driver's buffers (RX) or of room
 *	     in the tap (TX); under vq.lock
 * @kick_mod: when the driver kicks (TX); under vq.lock
 * @reverse_count: packets that the other queue has passed on so far; const after init
 * @packet_count: what it is for the other queue; written in a session
 * @rx_mod: whether packets are received where they come in (RX); in a session
 * @throttle: whether softirqs receive, and call the driver; in a session
 * @rx_usecs: longest time that a stream's frames wait, in us; 0: none does (RX); const while
 *	      there is an owner
 * @page_cache: the device's
 * @bounce: header and a short packet (RX); in a session
 * @kick_watch: the driver's kicks; under vq.lock
 * @tap_watch: the tap's readiness; under vq.lock
 * @kick_file: eventfd that @kick_watch watches, with a reference; under vq.lock
 * @owner_dead: nobody serves it any more, nor will; under vq.lock
 */
struct kvnet_queue {
	struct kvnet_vq vq;
	struct kvnet_work work;
	struct kvnet_tap tap;
	struct kvnet_backend_info backend_info;
	bool no_room;
	struct kvnet_kick_mod kick_mod;
	const unsigned long *reverse_count;
	unsigned long packet_count;
	struct kvnet_rx_mod rx_mod;
	struct kvnet_throttle throttle;
	u32 rx_usecs;
	struct kvnet_page_cache *page_cache;
	u8 bounce[KVNET_FEATURES_HDR_MAX + KVNET_RX_COPYBREAK] __aligned(8);
	struct kvnet_watch kick_watch;
	struct kvnet_watch tap_watch;
	struct file *kick_file;
	bool owner_dead;
};

/**
 * struct kvnet_net - an open /dev/kvnet of which something has been asked
 * @refs: the file, until @release_work has run, and what is lent; the last one frees it
 * @release_work: after the last close
 * @registry: so that others find it
 * @lock: the set-up lock (dev->lock); taken before any other of ours
 * @mm: the owner's address space, as a name only: mmgrab(); NULL: none
 * @fork_from_owner: workers are threads of the owner's process; under @lock
 * @memlock: who pays for pinned rings
 * @mem: the owner's memory table, or NULL
 * @features: as acknowledged by the driver
 * @log_call: eventfd to signal for new bits in the dirty log, or NULL
 * @iotlb: what the VMM's IOMMU has told, or NULL without one; readers hold a
 *	   vq->lock, writers dev->lock and all of them
 * @iotlb_misses: what the queues ask of the VMM's IOMMU
 * @workers: who serves the queues
 * @page_cache: what is known of the owner's memory
 * @rx_direct: frames are copied out of a tap's ring: 1 yes, 0 no, -1 as the module's
 *	       parameter says
 * @q: the queues
 */
struct kvnet_net {
	refcount_t refs;
	struct work_struct release_work;
	struct kvnet_registry_entry registry;
	struct mutex lock;
	struct mm_struct *mm;
	bool fork_from_owner;
	struct kvnet_memlock memlock;
	struct kvnet_memtable *mem;
	struct kvnet_features features;
	struct eventfd_ctx *log_call;
	struct kvnet_iotlb *iotlb;
	struct kvnet_iotlb_misses iotlb_misses;
	struct kvnet_workers workers;
	struct kvnet_page_cache page_cache;
	int rx_direct;
	struct kvnet_queue q[KVNET_QUEUES];
};

/* The device of a queue. */
struct kvnet_net *kvnet_dev_of_queue(struct kvnet_queue *q);

/* Worker thread: rx.c, tx.c */
extern const struct kvnet_work_ops kvnet_rx_ops;
extern const struct kvnet_work_ops kvnet_tx_ops;

/* The owner's ioctls, see there who takes dev->lock: dev.c */
struct kvnet_net *kvnet_dev_create(void);
int kvnet_backend_set_mem_table(struct kvnet_net *net, struct kvnet_memtable *mem);
int kvnet_backend_set_vring_addr(struct kvnet_net *net, unsigned int index,
				 const struct vhost_vring_addr *a);
int kvnet_backend_set_kick(struct kvnet_net *net, unsigned int index, int fd);
int kvnet_backend_set(struct kvnet_net *net, unsigned int index, int fd);
void kvnet_backend_set_busy_poll(struct kvnet_net *net, unsigned int index, u32 us);
void kvnet_dev_reset_busy_poll(struct kvnet_net *net);
bool kvnet_dev_is_rx_direct(const struct kvnet_net *net);
void kvnet_dev_show_fdinfo(struct kvnet_net *net, struct seq_file *m);
struct socket *kvnet_backend_detach(struct kvnet_queue *q);
void kvnet_backend_swap_kick(struct kvnet_queue *q, struct file **file);

/* Whose device it is: dev_owner.c */
int kvnet_dev_check_owner(const struct kvnet_net *net);
int kvnet_dev_set_owner(struct kvnet_net *net);
int kvnet_dev_set_fork_from_owner(struct kvnet_net *net, bool fork);
void kvnet_dev_reset_owner(struct kvnet_net *net);
void kvnet_dev_stop(struct kvnet_net *net);
void kvnet_dev_release_owner(struct kvnet_net *net);
bool kvnet_dev_owner_is_dead(const struct kvnet_net *net);
void kvnet_dev_handle_owner_death(struct kvnet_workers *workers);

/* Its end: dev_close.c */
void kvnet_dev_put(struct kvnet_net *net);
void kvnet_dev_close(struct kvnet_net *net);
int kvnet_dev_module_init(void);
void kvnet_dev_module_exit(void);

/* Features, IOMMU and dirty log, see there for locks: iommu.c */
int kvnet_iommu_set_features(struct kvnet_net *net,
			     const struct kvnet_features *f);
int kvnet_iommu_set_log_base(struct kvnet_net *net, u64 base);
int kvnet_iommu_set_log_fd(struct kvnet_net *net, int fd);
int kvnet_iommu_update_iotlb(struct kvnet_net *net,
			     const struct kvnet_iotlb_entry *entry);
int kvnet_iommu_invalidate_iotlb(struct kvnet_net *net, u64 iova, u64 size);
bool kvnet_iommu_complete_unready(struct kvnet_queue *q);

/* IOTLB messages: iotlb_msg.c */
ssize_t kvnet_iotlb_msg_read(struct kvnet_net *net, struct iov_iter *to,
			     bool nonblock);
ssize_t kvnet_iotlb_msg_write(struct kvnet_net *net, struct iov_iter *from);
__poll_t kvnet_iotlb_msg_poll(struct kvnet_net *net, struct file *file,
			      poll_table *table);

/* What the VMM says: ioctl.c */
long kvnet_ioctl(struct kvnet_net *net, unsigned int cmd, void __user *argp);

/* The character device: chardev.c */
int kvnet_chardev_register(bool replace);
void kvnet_chardev_enable(void);
void kvnet_chardev_unregister(void);

/* Module parameters: main.c */
extern unsigned int kvnet_param_max_mem_regions;
extern unsigned int kvnet_param_max_iotlb_entries;
extern unsigned int kvnet_param_poll_us;
extern bool kvnet_param_pin_rings;
extern bool kvnet_param_tx_inline;
extern bool kvnet_param_rx_inline;
extern unsigned int kvnet_param_tx_usecs;
extern unsigned int kvnet_param_rx_usecs;
extern bool kvnet_param_rx_direct;
extern bool kvnet_param_fork_owner_control;
bool kvnet_param_fork_from_owner(void);

#endif /* _KVNET_KVNET_H */
