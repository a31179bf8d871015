/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvnet.h - START HERE: one device, its two queues, and which context runs what
 *
 * kvnet is the host side of a virtio network device, as vhost_net is: it moves packets
 * between a guest's virtqueues and a tap. The VMM sets it up by the vhost ioctls. Each open
 * file of /dev/kvnet is one device, created by the first call that needs it:
 *
 *   struct kvnet_net      the device: owner, memory table, IOTLB, features, workers
 *   struct kvnet_queue    one direction of it: virtqueue, work, tap, moderation
 *   struct kvnet_vq       the virtqueue: opened as a session, popped, pushed, flushed (vq.h)
 *   struct kvnet_work     the queue's unit of work, with one worker thread each (work.h)
 *   struct kvnet_tap      the backend (tap.h)
 *
 * A queue's packets are processed in one of three contexts. The run state of its work
 * (run_state.h) lets only one of them at a time run the queue:
 *
 *   context             entry                  lock               may not
 *   ------------------  ---------------------  -----------------  -------------------------
 *   worker thread       kvnet_work_ops.poll,   vq->lock           (no limits: it may sleep
 *                       from worker_run()                         and fault)
 *   kicking vCPU        kvnet_work_ops         vq->lock by        fault; exceed
 *   thread (_vcpu),     .poll_vcpu, from       trylock, page      KVNET_BUDGET_VCPU_*; use
 *   in task_work; TX    poll_work_vcpu()       faults disabled    an unpinned ring or the
 *                                                                 dirty log
 *   softirq (_softirq): kvnet_work_ops         vq->softirq_lock   sleep, fault; use an
 *   RX of frames, and   .poll_softirq, from    by trylock         unpinned ring, the dirty log
 *   TX's deferred call  poll_work_softirq()                       or uncached pages; receive
 *                                                                 more frames than
 *                                                                 KVNET_RX_MOD_FEW_FRAMES
 *
 * The vCPU thread and the softirq may give up to the worker at any point: they rewind the
 * ring to the first packet that is not processed, and return KVNET_WORK_REPOLL. Events (kick,
 * tap, timer) are raised in any context, also with interrupts off. They only change the run
 * state and queue the work to one of the three contexts. An ioctl that changes the setup of
 * a queue holds net->lock and vq->lock (kvnet_vq_lock()); this excludes sessions of all three.
 *
 * Lock order: net->lock, vq->lock of RX, vq->lock of TX, vq->softirq_lock; all locks and the
 * rest of the order are in Documentation/locking.rst.
 */
#ifndef _KVNET_KVNET_H
#define _KVNET_KVNET_H

#include <linux/cache.h>
#include <linux/container_of.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "worker/worker.h"
#include "tap/vnet_hdr.h"
#include "worker/moderation.h"
#include "worker/watch.h"
#include "worker/busy_poll.h"
#include "tap/tap_info.h"
#include "obs/registry.h"
#include "mem/page_cache.h"
#include "worker/work.h"
#include "tap/tap.h"
#include "vq/vq.h"

struct file;
struct mm_struct;
struct seq_file;

/* Queue numbers of virtio 1.3, 5.1.2: the guest driver receives from KVNET_RX. */
enum {
	KVNET_RX,
	KVNET_TX,
	KVNET_QUEUES,
};

/*
 * Packets up to this length go through @bounce: header and data in one copy to the guest. Not the
 * worker's XDP frames, whose header fits in front of their data.
 */
#define KVNET_RX_COPYBREAK	256

/**
 * struct kvnet_queue - one direction of a device: virtqueue, work, tap and moderation
 * @vq: the virtqueue
 * @work: schedules polls of this queue: by its worker, a vCPU thread or a softirq
 * @tap: the backend; used in sessions, attached and detached under vq.lock
 * @tap_info: kind and interface of the backend, for readers without vq.lock
 * @no_room: the last poll stopped without receive buffers (RX), or because the tap's send
 *	     buffer is full (TX); under vq.lock, RX also reads it without
 * @small_poll: the last poll found few packets, so that the vCPU thread may serve the next kick
 *		(TX); in a session
 * @packet_count: packets transmitted or received; written in a session; sessions of the other queue
 *		  read it
 * @rx_mod: latency mode and coalescing of received frames (RX); in a session
 * @throttle: limits the time that calls take in softirqs; in a session
 * @rx_usecs: maximum delay of coalesced frames, in us, 0 to 10000; 0: off (RX); const while
 *	      there is an owner
 * @page_cache: the device's; const after init
 * @bounce: header and data of a short packet (RX); in a session; copies are slow from an address
 *	that is not aligned
 * @kick_watch: wait-queue entry on @kick_file; under vq.lock
 * @tap_watch: wait-queue entry on the tap; under vq.lock
 * @kick_file: the kick eventfd, with a reference, or NULL; under vq.lock
 */
struct kvnet_queue {
	struct kvnet_vq vq;
	struct kvnet_work work;
	struct kvnet_tap tap;
	struct kvnet_tap_info tap_info;
	bool no_room;
	bool small_poll;
	unsigned long packet_count;
	struct kvnet_rx_moderation rx_mod;
	struct kvnet_throttle throttle;
	u32 rx_usecs;
	struct kvnet_page_cache *page_cache;
	u8 bounce[KVNET_FEATURES_HDR_MAX + KVNET_RX_COPYBREAK] ____cacheline_aligned;
	struct kvnet_watch kick_watch;
	struct kvnet_watch tap_watch;
	struct file *kick_file;
};

/**
 * struct kvnet_net - a device: an open file of /dev/kvnet
 * @refs: one of the file, until @release_work has run, and one of each queued task_work; the
 *	  last put frees the device
 * @release_work: queued by the last close: waits for netlink readers and workers
 * @registry: entry in the table of devices, for netlink
 * @lock: net->lock; serialises the VMM's ioctls; outermost of kvnet's locks
 * @mm: the owner's address space, or NULL without an owner; held by mmgrab(): the mm_struct
 *	stays, the memory does not; under @lock
 * @fork_from_owner: workers are vhost_tasks (threads of the owner), not kernel threads; under
 *		     @lock
 * @memlock: memlock account for pinned rings; const while there is an owner
 * @mem: the memory table, with a reference, or NULL; under @lock
 * @features: acknowledged by the guest driver; written under @lock, netlink reads without
 * @log_call: eventfd signalled for new bits in the dirty log, or NULL; under @lock
 * @iotlb: translations set by the VMM, or NULL without an IOMMU; readers hold a vq.lock,
 *	   writers @lock and all vq.locks
 * @iotlb_misses: IOTLB misses of the queues, for the VMM to read; has its own lock
 * @workers: one worker thread per queue, from SET_OWNER on
 * @page_cache: HVA to kernel address of the owner's resident pages; has its own lock
 * @rx_direct: read frames from the tap's ring, without recvmsg(): 1 yes, 0 no, -1 as the
 *	       module parameter; read without locks
 * @shortcut: frames to other taps of the bridge go straight into their rings; as @rx_direct
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
	int shortcut;
	struct kvnet_queue q[KVNET_QUEUES];
};

/*
 * The worker completes the poll of a queue that cannot begin a session. Does not sleep. True:
 * SCHED is clear; false: still SCHED, and the work is to be polled again.
 *
 * Kicks are not enabled: control events schedule the work, among them the answer to an IOTLB
 * miss. A queue that waits for the VMM is also polled each second, to have its miss queued again
 * (kvnet_vq_retry_miss()).
 */
static inline bool kvnet_queue_complete_unready(struct kvnet_queue *q)
{
	/* A context that changes it also schedules the work. A stop does not: no work is left. */
	if (READ_ONCE(q->vq.state) == KVNET_VQ_WAITS_IOTLB)
		return kvnet_work_complete_for(&q->work, KVNET_EV_TIMER, NSEC_PER_SEC);
	return kvnet_work_complete(&q->work, 0);
}

/* The only kind of backend with direct RX, direct TX and inline TX. In any session. */
static inline bool kvnet_queue_has_tun(const struct kvnet_queue *q)
{
	return q->tap_info.kind == KVNET_BACKEND_TAP;
}

/* Packets in the other direction, for the moderation. Takes no lock. */
static inline unsigned long kvnet_queue_reverse_count(const struct kvnet_queue *q)
{
	return READ_ONCE((q->vq.index == KVNET_RX ? q + 1 : q - 1)->packet_count);
}

/* In any session. Reads the clock only if the queue was ever throttled. */
static inline bool kvnet_queue_is_throttled(const struct kvnet_queue *q)
{
	return unlikely(q->throttle.duration_ns) &&
	       kvnet_moderation_is_throttled(&q->throttle, local_clock());
}

/* What the three contexts run: rx.c (softirq: rx_inline.c), tx.c */
extern const struct kvnet_work_ops kvnet_rx_ops;
extern const struct kvnet_work_ops kvnet_tx_ops;

/* The life of a device: dev.c */
struct kvnet_net *kvnet_dev_create(void);
void kvnet_dev_put(struct kvnet_net *net);
void kvnet_dev_close(struct kvnet_net *net);
int kvnet_dev_module_init(void);
void kvnet_dev_module_exit(void);
void kvnet_dev_show_fdinfo(struct kvnet_net *net, struct seq_file *m);

/* The owner; net->lock held, unless noted: dev.c */
int kvnet_dev_check_owner(const struct kvnet_net *net);
int kvnet_dev_set_owner(struct kvnet_net *net);
void kvnet_dev_reset_owner(struct kvnet_net *net);

/* Setup of a queue, by ioctls of the owner (net->lock held): backend.c */
int kvnet_backend_set_mem_table(struct kvnet_net *net, struct kvnet_memtable *mem);
int kvnet_backend_set_vring_addr(struct kvnet_net *net, unsigned int index,
				 const struct vhost_vring_addr *a);
int kvnet_backend_set_kick(struct kvnet_net *net, unsigned int index, int fd);
int kvnet_backend_set(struct kvnet_net *net, unsigned int index, int fd);
void kvnet_backend_stop_and_unlock(struct kvnet_queue *q);

/* Features, dirty log and IOTLB messages; the locks stand there: iommu.c */
int kvnet_iommu_set_features(struct kvnet_net *net, const struct kvnet_features *f);
int kvnet_iommu_set_log_base(struct kvnet_net *net, u64 base);
int kvnet_iommu_set_log_fd(struct kvnet_net *net, int fd);
ssize_t kvnet_iommu_read_msg(struct kvnet_net *net, struct iov_iter *to, bool nonblock);
ssize_t kvnet_iommu_write_msg(struct kvnet_net *net, struct iov_iter *from);
__poll_t kvnet_iommu_poll_msg(struct kvnet_net *net, struct file *file, poll_table *table);

/* Decodes the vhost ioctls and takes net->lock: ioctl.c */
long kvnet_ioctl(struct kvnet_net *net, unsigned int cmd, void __user *argp);

/* The character device: chardev.c */
int kvnet_chardev_register(bool replace_vhost_net);
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
extern bool kvnet_param_shortcut;
extern bool kvnet_param_fork_from_owner;
extern bool kvnet_param_fork_owner_control;

static inline struct kvnet_queue *kvnet_queue_of_work(struct kvnet_work *work)
{
	return container_of(work, struct kvnet_queue, work);
}

static inline struct kvnet_net *kvnet_dev_of_queue(struct kvnet_queue *q)
{
	return container_of(q - q->vq.index, struct kvnet_net, q[0]);
}

/* The device's setting, or the module parameter if netlink has set none (-1). Takes no lock. */
static inline bool kvnet_dev_is_rx_direct(const struct kvnet_net *net)
{
	int rx_direct = READ_ONCE(net->rx_direct);

	return rx_direct < 0 ? READ_ONCE(kvnet_param_rx_direct) : rx_direct;
}

/* As kvnet_dev_is_rx_direct(). */
static inline bool kvnet_dev_is_shortcut(const struct kvnet_net *net)
{
	int shortcut = READ_ONCE(net->shortcut);

	return shortcut < 0 ? READ_ONCE(kvnet_param_shortcut) : shortcut;
}

/*
 * No worker polls the queue again, so it takes no new backend or kick eventfd. vq->lock, and
 * net->lock of a device with an owner, so that nothing but the owner's death ends its worker.
 */
static inline bool kvnet_queue_owner_is_dead(const struct kvnet_queue *q)
{
	return READ_ONCE(q->work.worker->thread.exiting);
}

/*
 * The caller is a registry reader, which keeps the struct pid. A worker may learn of the death only
 * after waitpid() for the owner has returned: hence the check of the PID.
 */
static inline bool kvnet_dev_owner_is_dead(const struct kvnet_net *net)
{
	return READ_ONCE(net->workers.worker[0].thread.exiting) == KVNET_THREAD_OWNER_DIED ||
	       !pid_has_task(net->registry.owner, PIDTYPE_TGID);
}

#endif /* _KVNET_KVNET_H */
