/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h - wait-queue entries that schedule a work, and eventfds for calls
 */
#ifndef _KVNET_WATCH_H
#define _KVNET_WATCH_H

#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/types.h>
#include <linux/wait.h>

struct file;
struct kvnet_work;
struct ptr_ring;

/* Schedules a work when a file (kick eventfd or tap) is signalled */
struct kvnet_watch {
	/* on @head; a wake-up that queues the work to its worker removes that of a tap */
	wait_queue_entry_t entry;
	/* the file's wait queue; NULL: not started; written under vq->lock */
	wait_queue_head_t *head;
	poll_table table;		/* for vfs_poll(), which passes @head */
	struct kvnet_work *work;	/* const after init */
	unsigned int event;		/* the KVNET_EV_* that the file raises; const after init */
	__poll_t mask;			/* EPOLL* conditions; const after init */
	/*
	 * the tap's, while its first frames are not to wake the worker, else NULL; written under
	 * the lock of @head, or while @entry is not on a queue
	 */
	const struct ptr_ring *coalesce_ring;
};

void kvnet_watch_init(struct kvnet_watch *watch, struct kvnet_work *work,
		      unsigned int event, __poll_t mask);
void kvnet_watch_start(struct kvnet_watch *watch, struct file *file);
bool kvnet_watch_change(struct kvnet_watch *watch, struct file *file);
void kvnet_watch_stop(struct kvnet_watch *watch);
void kvnet_watch_set(struct kvnet_watch *watch, bool on, const struct ptr_ring *coalesce_ring);

struct eventfd_ctx *kvnet_eventfd_get(int fd);

static inline void kvnet_eventfd_put(struct eventfd_ctx *ctx)
{
	if (ctx)
		eventfd_ctx_put(ctx);
}

/* Any context. False if there is no eventfd. */
static inline bool kvnet_eventfd_signal(struct eventfd_ctx *ctx)
{
	if (ctx)
		eventfd_signal(ctx);
	return ctx;
}

#endif /* _KVNET_WATCH_H */
