// SPDX-License-Identifier: GPL-2.0
/*
 * notify.c - waits and eventfds, see notify.h
 */
#include "notify.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/ptr_ring.h>
#include <linux/vhost.h>

#include "source.h"

/* By the thread or softirq that has put the last one in; 0 also if it is full. */
static unsigned int frames_in(const struct ptr_ring *ring)
{
	int n = READ_ONCE(ring->producer) - READ_ONCE(ring->consumer_head);

	return n < 0 ? n + READ_ONCE(ring->size) : n;
}

/*
 * There may be more of them before the worker is woken; a timer bounds it. Wake-ups tell
 * nothing: one may be for 16 frames that XDP has redirected, or for all segments of one.
 */
static bool can_wait(const struct kvnet_wait *wait)
{
	unsigned int n;

	if (likely(!wait->skip))
		return false;
	n = frames_in(wait->ring);
	return n && n <= wait->skip;
}

/* Called by the file, its wait-queue lock held: a kick or a packet. */
static int wake_source(wait_queue_entry_t *entry, unsigned int mode, int sync,
		       void *key)
{
	struct kvnet_wait *wait = container_of(entry, struct kvnet_wait, entry);

	/* Some wakers do not say why they wake. */
	if (key && !(key_to_poll(key) & wait->mask))
		return 0;
	if (can_wait(wait))
		return 0;
	if (!kvnet_source_take(wait->src, wait->event))
		return 0;
	/* While it is ours. Who puts in the next frame finds nobody to wake. */
	if (wait->event == KVNET_EV_TAP)
		list_del_init(&entry->entry);
	kvnet_source_hand_over(wait->src, wait->event);
	return 0;
}

static void join_queue(struct file *file, wait_queue_head_t *head,
		       poll_table *table)
{
	struct kvnet_wait *wait = container_of(table, struct kvnet_wait, table);

	/* Each file that we watch has one wait queue. */
	if (WARN_ON_ONCE(wait->head))
		return;
	wait->head = head;
	add_wait_queue(head, &wait->entry);
}

/**
 * kvnet_wait_init() - before first use
 * @wait: the wait
 * @src: whom to wake
 * @event: with what KVNET_EV_*
 * @mask: EPOLL* conditions to watch for
 */
void kvnet_wait_init(struct kvnet_wait *wait, struct kvnet_source *src,
		     unsigned int event, __poll_t mask)
{
	init_waitqueue_func_entry(&wait->entry, wake_source);
	INIT_LIST_HEAD(&wait->entry.entry);
	init_poll_funcptr(&wait->table, join_queue);
	wait->head = NULL;
	wait->src = src;
	wait->event = event;
	wait->mask = mask;
	wait->skip = 0;
}

/**
 * kvnet_wait_check() - can frames come from it?
 * @file: a tap
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: it has no device, or one that is down.
 */
int kvnet_wait_check(struct file *file)
{
	return vfs_poll(file, NULL) & EPOLLERR ? -EINVAL : 0;
}

/**
 * kvnet_wait_start() - watch a file
 * @wait: not watching
 * @file: an eventfd; the caller keeps a reference until kvnet_wait_stop()
 *
 * The source is woken once, so that nothing that came before is missed.
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_wait_start(struct kvnet_wait *wait, struct file *file)
{
	vfs_poll(file, &wait->table);
	kvnet_source_wake(wait->src, KVNET_EV_CTRL);
}

/**
 * kvnet_wait_change() - watch another file, if there is anything to watch
 * @wait: watching or not
 * @file: a tap; as for kvnet_wait_start(). What is in error is watched all the same
 *
 * One that is in error by now could not be watched once more: the old one is let go of last.
 * Something may have come before: the caller is to wake the source.
 *
 * Context: may sleep; vq->lock.
 * Return: true; false, with nothing changed: a tap without a device.
 */
bool kvnet_wait_change(struct kvnet_wait *wait, struct file *file)
{
	struct kvnet_wait next;

	kvnet_wait_init(&next, wait->src, wait->event, wait->mask);
	vfs_poll(file, &next.table);
	if (!next.head)
		return false;
	kvnet_wait_stop(wait);
	/* It was the old one's. */
	WRITE_ONCE(wait->skip, 0);
	wait->head = next.head;
	add_wait_queue(wait->head, &wait->entry);
	kvnet_wait_stop(&next);
	return true;
}

/**
 * kvnet_wait_stop() - stop watching
 * @wait: watching or not
 *
 * When it returns the file wakes nobody any more.
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_wait_stop(struct kvnet_wait *wait)
{
	if (!wait->head)
		return;
	remove_wait_queue(wait->head, &wait->entry);
	wait->head = NULL;
}

/* It has to be off, or changes under the lock of whoever wakes. */
static void put_on(struct kvnet_wait *wait, const struct ptr_ring *ring, unsigned int skip)
{
	unsigned long flags;

	spin_lock_irqsave(&wait->head->lock, flags);
	wait->ring = ring;
	WRITE_ONCE(wait->skip, skip);
	if (list_empty(&wait->entry.entry))
		__add_wait_queue(wait->head, &wait->entry);
	spin_unlock_irqrestore(&wait->head->lock, flags);
}

/**
 * kvnet_wait_set() - be woken by the tap from now on, or not
 * @wait: watching a tap, or nothing
 * @on: which
 * @ring: of the tap, which it keeps while it is watched; NULL: of no tap, with no @skip
 * @skip: up to so many frames in @ring do not wake the worker yet
 *
 * What wakes a worker is off by then. To be called before kvnet_source_rest(), and
 * the look afterwards is pair J of Documentation/ordering.rst; who has some frames
 * skipped need not look, but has to be woken by a timer, too.
 *
 * Context: a session of the source, which the caller holds.
 */
void kvnet_wait_set(struct kvnet_wait *wait, bool on, const struct ptr_ring *ring,
		    unsigned int skip)
{
	/* Others take it off only when they take the source. */
	bool is_on = !list_empty_careful(&wait->entry.entry);

	if (!wait->head || (on == is_on && (!on || READ_ONCE(wait->skip) == skip)))
		return;
	if (on) {
		put_on(wait, ring, skip);
		return;
	}
	remove_wait_queue(wait->head, &wait->entry);
	INIT_LIST_HEAD(&wait->entry.entry);
}

/**
 * kvnet_eventfd_get() - the eventfd behind a file descriptor
 * @fd: the owner's descriptor, or VHOST_FILE_UNBIND for none
 *
 * Return: the eventfd, NULL for none, or ERR_PTR(-EBADF or -EINVAL).
 */
struct eventfd_ctx *kvnet_eventfd_get(int fd)
{
	return fd == VHOST_FILE_UNBIND ? NULL : eventfd_ctx_fdget(fd);
}
