/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread of the owner's process. Those of Linux 6.4 to 6.10 are not used: one that is killed
 * need not end there.
 */
#ifndef _KVNET_COMPAT_SCHED_VHOST_TASK_H
#define _KVNET_COMPAT_SCHED_VHOST_TASK_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0) && IS_ENABLED(CONFIG_VHOST_TASK)
#include_next <linux/sched/vhost_task.h>

#define COMPAT_HAVE_VHOST_TASK	true

/*
 * An error was NULL before Linux 6.14, and in 6.12.x for some time: a limit more likely
 * than no memory.
 */
static inline struct vhost_task *compat_vhost_task_create(bool (*fn)(void *),
							  void (*killed)(void *),
							  void *data, const char *name)
{
	struct vhost_task *vtsk = vhost_task_create(fn, killed, data, name);

	return vtsk ? vtsk : ERR_PTR(-EAGAIN);
}

#else
#define COMPAT_HAVE_VHOST_TASK	false

struct vhost_task;

static inline struct vhost_task *compat_vhost_task_create(bool (*fn)(void *),
							  void (*killed)(void *),
							  void *data, const char *name)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void vhost_task_start(struct vhost_task *vtsk)
{
}

static inline void vhost_task_stop(struct vhost_task *vtsk)
{
}
#endif

#endif /* _KVNET_COMPAT_SCHED_VHOST_TASK_H */
