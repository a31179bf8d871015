// SPDX-License-Identifier: GPL-2.0
/*
 * watch.c - wait-queue entries on kick eventfds and taps, see watch.h
 *
 * watch_wakeup() runs under the lock of the file's wait queue, with interrupts off, in the context
 * that signals the eventfd or puts a frame into the tap. All else runs in process context.
 */
#include "watch.h"

#include <linux/ptr_ring.h>
#include <linux/vhost.h>

#include "moderation.h"
#include "work.h"

/* For the producer of the last frame, in its context. Also 0 if the ring is full. */
static unsigned int frames_in_ring(const struct ptr_ring *ring)
{
	int n = READ_ONCE(ring->producer) - READ_ONCE(ring->consumer_head);

	return n < 0 ? n + READ_ONCE(ring->size) : n;
}

/*
 * The worker is woken only after rx-frames frames; a timer (rx-usecs) bounds the delay. Counting
 * wake-ups would not do: one may be for 16 frames that XDP has redirected, or for all segments of
 * one frame.
 */
static bool below_rx_frames(const struct ptr_ring *ring)
{
	unsigned int n;

	if (likely(!ring))
		return false;
	n = frames_in_ring(ring);
	return n && n <= kvnet_moderation_rx_frames(READ_ONCE(ring->size));
}

static int watch_wakeup(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct kvnet_watch *watch = container_of(entry, struct kvnet_watch, entry);

	/* The key of some wakers is 0. */
	if (key && !(key_to_poll(key) & watch->mask))
		return 0;
	if (below_rx_frames(watch->coalesce_ring))
		return 0;
	if (!kvnet_work_schedule_prep(watch->work, watch->event))
		return 0;
	/*
	 * Before kvnet_work_queue(), while SCHED belongs to this context. The sender of the
	 * next frame finds no waiter, and does not take the lock.
	 */
	if (watch->event == KVNET_EV_TAP)
		list_del_init(&entry->entry);
	kvnet_work_queue(watch->work, watch->event);
	return 0;
}

static void watch_queue_proc(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct kvnet_watch *watch = container_of(table, struct kvnet_watch, table);

	/* An eventfd and a tap have one wait queue each. */
	if (WARN_ON_ONCE(watch->head))
		return;
	watch->head = head;
	add_wait_queue(head, &watch->entry);
}

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
	watch->coalesce_ring = NULL;
}

/*
 * For an eventfd. The caller keeps a reference to @file until kvnet_watch_stop(). Schedules the
 * work once, for kicks that came before. May sleep; vq->lock.
 */
void kvnet_watch_start(struct kvnet_watch *watch, struct file *file)
{
	vfs_poll(file, &watch->table);
	kvnet_work_schedule(watch->work, KVNET_EV_CTRL);
}

/*
 * Moves the entry, started or not, to the wait queue of another tap, which may be down. False,
 * with nothing changed, if that tap has no device. The old entry is removed last: a tap that has
 * lost its device could not be watched again. The caller keeps a reference to @file until
 * kvnet_watch_stop(), and schedules the work, for frames that came before. May sleep; vq->lock.
 */
bool kvnet_watch_change(struct kvnet_watch *watch, struct file *file)
{
	struct kvnet_watch next;

	kvnet_watch_init(&next, watch->work, watch->event, watch->mask);
	vfs_poll(file, &next.table);
	if (!next.head)
		return false;
	kvnet_watch_stop(watch);
	watch->head = next.head;
	add_wait_queue(watch->head, &watch->entry);
	kvnet_watch_stop(&next);
	return true;
}

/* vq->lock. The file does not schedule the work any more on return. */
void kvnet_watch_stop(struct kvnet_watch *watch)
{
	if (!watch->head)
		return;
	remove_wait_queue(watch->head, &watch->entry);
	watch->head = NULL;
	WRITE_ONCE(watch->coalesce_ring, NULL);
}

/* watch_wakeup() reads @coalesce_ring under this lock. */
static void add_watch(struct kvnet_watch *watch, const struct ptr_ring *coalesce_ring)
{
	unsigned long flags;

	spin_lock_irqsave(&watch->head->lock, flags);
	WRITE_ONCE(watch->coalesce_ring, coalesce_ring);
	if (list_empty(&watch->entry.entry))
		__add_wait_queue(watch->head, &watch->entry);
	spin_unlock_irqrestore(&watch->head->lock, flags);
}

/**
 * kvnet_watch_set() - add or remove the entry on the tap's wait queue
 * @watch: started or not
 * @on: true: add
 * @coalesce_ring: the tap's ring, to be woken only after rx-frames frames; NULL: by each
 *
 * A wake-up that queues the work to its worker has removed the entry. To be called before
 * kvnet_work_complete(); with the caller's recheck after that it makes pair J of
 * Documentation/ordering.rst. With @coalesce_ring there is no need for the recheck, but the caller
 * starts the work's timer.
 *
 * Context: a session of the context that has set SCHED.
 */
void kvnet_watch_set(struct kvnet_watch *watch, bool on, const struct ptr_ring *coalesce_ring)
{
	/* Stable: a wake-up removes the entry only if it sets SCHED, which the caller has set. */
	bool is_on = !list_empty_careful(&watch->entry.entry);

	if (!watch->head ||
	    (on == is_on && (!on || READ_ONCE(watch->coalesce_ring) == coalesce_ring)))
		return;
	if (on) {
		add_watch(watch, coalesce_ring);
		return;
	}
	remove_wait_queue(watch->head, &watch->entry);
	INIT_LIST_HEAD(&watch->entry.entry);
}

/* NULL for VHOST_FILE_UNBIND; ERR_PTR(-EBADF or -EINVAL). */
struct eventfd_ctx *kvnet_eventfd_get(int fd)
{
	return fd == VHOST_FILE_UNBIND ? NULL : eventfd_ctx_fdget(fd);
}
