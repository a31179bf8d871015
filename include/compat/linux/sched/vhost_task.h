/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_SCHED_VHOST_TASK_H
#define _KVNET_COMPAT_SCHED_VHOST_TASK_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/version.h>

/*
 * Linux 6.11: a vhost_task that is killed says so and ends. Those from 6.4 on do
 * not end before they are told to, and keep a dead owner's memory till then.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0) && IS_ENABLED(CONFIG_VHOST_TASK)
#include_next <linux/sched/vhost_task.h>

#define COMPAT_HAVE_VHOST_TASK	true

/* An error was NULL before Linux 6.14, and in 6.12.x for some time. */
static inline struct vhost_task *
compat_vhost_task_create(bool (*fn)(void *), void (*killed)(void *), void *arg,
			 const char *name)
{
	struct vhost_task *task = vhost_task_create(fn, killed, arg, name);

	return task ? task : ERR_PTR(-ENOMEM);
}
#else
#define COMPAT_HAVE_VHOST_TASK	false

struct vhost_task;

static inline struct vhost_task *
compat_vhost_task_create(bool (*fn)(void *), void (*killed)(void *), void *arg,
			 const char *name)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void vhost_task_start(struct vhost_task *task)
{
}

static inline void vhost_task_stop(struct vhost_task *task)
{
}

static inline void vhost_task_wake(struct vhost_task *task)
{
}
#endif

#endif /* _KVNET_COMPAT_SCHED_VHOST_TASK_H */
