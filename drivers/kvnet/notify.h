/* SPDX-License-Identifier: GPL-2.0 */
/*
 * notify.h - wait-queue entries that wake a source, and eventfds to signal
 */
#ifndef _KVNET_NOTIFY_H
#define _KVNET_NOTIFY_H

#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/types.h>
#include <linux/wait.h>

struct file;
struct kvnet_source;
struct ptr_ring;

/**
 * struct kvnet_wait - watches a file on behalf of a source
 * @entry: on the file's wait queue while @head is set; that of a tap only while the source
 *	   rests for it
 * @head: the file's wait queue
 * @table: how poll() hands us @head
 * @src: whom to wake; const after init
 * @event: with what KVNET_EV_*; const after init
 * @mask: EPOLL* conditions to watch for; const after init
 * @ring: frames of the tap; set with @skip
 * @skip: up to so many frames in @ring do not wake the worker yet; under the lock of @head
 */
struct kvnet_wait {
	wait_queue_entry_t entry;
	wait_queue_head_t *head;
	poll_table table;
	struct kvnet_source *src;
	unsigned int event;
	__poll_t mask;
	const struct ptr_ring *ring;
	unsigned int skip;
};

void kvnet_wait_init(struct kvnet_wait *wait, struct kvnet_source *src,
		     unsigned int event, __poll_t mask);
int kvnet_wait_check(struct file *file);
void kvnet_wait_start(struct kvnet_wait *wait, struct file *file);
bool kvnet_wait_change(struct kvnet_wait *wait, struct file *file);
void kvnet_wait_stop(struct kvnet_wait *wait);
void kvnet_wait_set(struct kvnet_wait *wait, bool on, const struct ptr_ring *ring,
		    unsigned int skip);

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

#endif /* _KVNET_NOTIFY_H */
