/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h - wait-queue entries that wake a source, and eventfds to signal
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

/**
 * struct kvnet_watch - watches a file on behalf of a source
 * @entry: on the file's wait queue while @head is set; that of a tap only while the source
 *	   rests for it
 * @head: the file's wait queue
 * @table: how poll() hands us @head
 * @work: whom to wake; const after init
 * @event: with what KVNET_EV_*; const after init
 * @mask: EPOLL* conditions to watch for; const after init
 * @ring: frames of the tap; set with @rx_frames
 * @rx_frames: up to so many frames in @ring do not wake the worker yet; under the lock of @head
 */
struct kvnet_watch {
	wait_queue_entry_t entry;
	wait_queue_head_t *head;
	poll_table table;
	struct kvnet_work *work;
	unsigned int event;
	__poll_t mask;
	const struct ptr_ring *ring;
	unsigned int rx_frames;
};

void kvnet_watch_init(struct kvnet_watch *watch, struct kvnet_work *work,
		      unsigned int event, __poll_t mask);
int kvnet_watch_check(struct file *file);
void kvnet_watch_start(struct kvnet_watch *watch, struct file *file);
bool kvnet_watch_change(struct kvnet_watch *watch, struct file *file);
void kvnet_watch_stop(struct kvnet_watch *watch);
void kvnet_watch_set(struct kvnet_watch *watch, bool on, const struct ptr_ring *ring,
		     unsigned int frames);

struct eventfd_ctx *kvnet_eventfd_get(int fd);

/**
 * kvnet_eventfd_put() - drop an eventfd
 * @ctx: from kvnet_eventfd_get(), or NULL
 */
static inline void kvnet_eventfd_put(struct eventfd_ctx *ctx)
{
	if (ctx)
		eventfd_ctx_put(ctx);
}

/**
 * kvnet_eventfd_signal() - signal an eventfd (irqfd: interrupt the guest)
 * @ctx: from kvnet_eventfd_get(), or NULL
 *
 * Context: any.
 * Return: false if there was nobody to signal.
 */
static inline bool kvnet_eventfd_signal(struct eventfd_ctx *ctx)
{
	if (ctx)
		eventfd_signal(ctx);
	return ctx;
}

#endif /* _KVNET_WATCH_H */
