// SPDX-License-Identifier: GPL-2.0
/*
 * watch.c - waits and eventfds, see watch.h
 */
#include "watch.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/ptr_ring.h>
#include <linux/vhost.h>

#include "work.h"

/* By the thread or softirq that has put the last one in; 0 also if it is full. */
static unsigned int frames_in_ring(const struct ptr_ring *ring)
{
	int n = READ_ONCE(ring->producer) - READ_ONCE(ring->consumer_head);

	return n < 0 ? n + READ_ONCE(ring->size) : n;
}

/*
 * There may be more of them before the worker is woken; a timer bounds it. Wake-ups tell
 * nothing: one may be for 16 frames that XDP has redirected, or for all segments of one.
 */
static bool below_rx_frames(const struct kvnet_watch *watch)
{
	unsigned int n;

	if (likely(!watch->rx_frames))
		return false;
	n = frames_in_ring(watch->ring);
	return n && n <= watch->rx_frames;
}

/* Called by the file, its wait-queue lock held: a kick or a packet. */
static int watch_wakeup(wait_queue_entry_t *entry, unsigned int mode, int sync,
			void *key)
{
	struct kvnet_watch *watch = container_of(entry, struct kvnet_watch, entry);

	/* Some wakers do not say why they wake. */
	if (key && !(key_to_poll(key) & watch->mask))
		return 0;
	if (below_rx_frames(watch))
		return 0;
	if (!kvnet_work_schedule_prep(watch->work, watch->event))
		return 0;
	/* While it is ours. Who puts in the next frame finds nobody to wake. */
	if (watch->event == KVNET_EV_TAP)
		list_del_init(&entry->entry);
	kvnet_work_queue(watch->work, watch->event);
	return 0;
}

static void watch_queue_proc(struct file *file, wait_queue_head_t *head,
			     poll_table *table)
{
	struct kvnet_watch *watch = container_of(table, struct kvnet_watch, table);

	/* Each file that we watch has one wait queue. */
	if (WARN_ON_ONCE(watch->head))
		return;
	watch->head = head;
	add_wait_queue(head, &watch->entry);
}

/**
 * kvnet_watch_init() - before first use
 * @watch: the wait
 * @work: whom to wake
 * @event: with what KVNET_EV_*
 * @mask: EPOLL* conditions to watch for
 */
void kvnet_watch_init(struct kvnet_watch *watch, struct kvnet_work *work,
		      unsigned int event, __poll_t mask)
{
	init_waitqueue_func_entry(&watch->entry, watch_wakeup);
	INIT_LIST_HEAD(&watch->entry.entry);
	init_poll_funcptr(&watch->table, watch_queue_proc);
	watch->head = NULL;
	watch->work = work;
	watch->event = event;
	watch->mask = mask;
	watch->rx_frames = 0;
}

/**
 * kvnet_watch_check() - can frames come from it?
 * @file: a tap
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: it has no device, or one that is down.
 */
int kvnet_watch_check(struct file *file)
{
	return vfs_poll(file, NULL) & EPOLLERR ? -EINVAL : 0;
}

/**
 * kvnet_watch_start() - watch a file
 * @watch: not watching
 * @file: an eventfd; the caller keeps a reference until kvnet_watch_stop()
 *
 * The source is woken once, so that nothing that came before is missed.
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_watch_start(struct kvnet_watch *watch, struct file *file)
{
	vfs_poll(file, &watch->table);
	kvnet_work_schedule(watch->work, KVNET_EV_CTRL);
}

/**
 * kvnet_watch_change() - watch another file, if there is anything to watch
 * @watch: watching or not
 * @file: a tap; as for kvnet_watch_start(). What is in error is watched all the same
 *
 * One that is in error by now could not be watched once more: the old one is let go of last.
 * Something may have come before: the caller is to wake the source.
 *
 * Context: may sleep; vq->lock.
 * Return: true; false, with nothing changed: a tap without a device.
 */
bool kvnet_watch_change(struct kvnet_watch *watch, struct file *file)
{
	struct kvnet_watch next;

	kvnet_watch_init(&next, watch->work, watch->event, watch->mask);
	vfs_poll(file, &next.table);
	if (!next.head)
		return false;
	kvnet_watch_stop(watch);
	/* It was the old one's. */
	WRITE_ONCE(watch->rx_frames, 0);
	watch->head = next.head;
	add_wait_queue(watch->head, &watch->entry);
	kvnet_watch_stop(&next);
	return true;
}

/**
 * kvnet_watch_stop() - stop watching
 * @watch: watching or not
 *
 * When it returns the file wakes nobody any more.
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_watch_stop(struct kvnet_watch *watch)
{
	if (!watch->head)
		return;
	remove_wait_queue(watch->head, &watch->entry);
	watch->head = NULL;
}

/* It has to be off, or changes under the lock of whoever wakes. */
static void add_watch(struct kvnet_watch *watch, const struct ptr_ring *ring, unsigned int frames)
{
	unsigned long flags;

	spin_lock_irqsave(&watch->head->lock, flags);
	watch->ring = ring;
	WRITE_ONCE(watch->rx_frames, frames);
	if (list_empty(&watch->entry.entry))
		__add_wait_queue(watch->head, &watch->entry);
	spin_unlock_irqrestore(&watch->head->lock, flags);
}

/**
 * kvnet_watch_set() - be woken by the tap from now on, or not
 * @watch: watching a tap, or nothing
 * @on: which
 * @ring: of the tap, which it keeps while it is watched; NULL: of no tap, with no @frames
 * @frames: up to so many frames in @ring do not wake the worker yet
 *
 * What wakes a worker is off by then. To be called before kvnet_work_complete(), and
 * the look afterwards is pair J of Documentation/ordering.rst; who has some frames
 * skipped need not look, but has to be woken by a timer, too.
 *
 * Context: a session of the source, which the caller holds.
 */
void kvnet_watch_set(struct kvnet_watch *watch, bool on, const struct ptr_ring *ring,
		     unsigned int frames)
{
	/* Others take it off only when they take the source. */
	bool is_on = !list_empty_careful(&watch->entry.entry);

	if (!watch->head || (on == is_on && (!on || READ_ONCE(watch->rx_frames) == frames)))
		return;
	if (on) {
		add_watch(watch, ring, frames);
		return;
	}
	remove_wait_queue(watch->head, &watch->entry);
	INIT_LIST_HEAD(&watch->entry.entry);
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
