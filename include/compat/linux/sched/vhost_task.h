/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread of the owner's process as Linux 6.11 has it: one that is killed says so,
 * and ends.
 */
#ifndef _KVNET_COMPAT_SCHED_VHOST_TASK_H
#define _KVNET_COMPAT_SCHED_VHOST_TASK_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0) || !IS_ENABLED(CONFIG_VHOST_TASK)
#define COMPAT_HAVE_VHOST_TASK	false
#define COMPAT_VHOST_TASK_REVIVES	false

struct compat_vhost_task {
};

static inline int compat_vhost_task_create(struct compat_vhost_task *t, bool (*fn)(void *),
					   void (*killed)(void *), void *data,
					   const char *name)
{
	return -EOPNOTSUPP;
}

static inline void compat_vhost_task_start(struct compat_vhost_task *t)
{
}

static inline void compat_vhost_task_stop(struct compat_vhost_task *t)
{
}

static inline bool compat_vhost_task_gone(struct compat_vhost_task *t,
					  struct task_struct *task)
{
	return true;
}

static inline void compat_vhost_task_wake(struct compat_vhost_task *t)
{
}

#elif defined(KVNET_HAVE_TASK_KILLED)
#include_next <linux/sched/vhost_task.h>

#define COMPAT_HAVE_VHOST_TASK	true
/* One that takes a SIGKILL of its own back, in a turn, lives on. */
#define COMPAT_VHOST_TASK_REVIVES	true

struct compat_vhost_task {
	struct vhost_task *vtsk;
};

/*
 * An error was NULL before Linux 6.14, and in 6.12.x for some time: a limit more likely
 * than no memory.
 */
static inline int compat_vhost_task_create(struct compat_vhost_task *t, bool (*fn)(void *),
					   void (*killed)(void *), void *data,
					   const char *name)
{
	t->vtsk = vhost_task_create(fn, killed, data, name);
	return t->vtsk ? PTR_ERR_OR_ZERO(t->vtsk) : -EAGAIN;
}

static inline void compat_vhost_task_start(struct compat_vhost_task *t)
{
	vhost_task_start(t->vtsk);
}

static inline void compat_vhost_task_stop(struct compat_vhost_task *t)
{
	vhost_task_stop(t->vtsk);
}

/* Who has been killed, and is @task: compat_vhost_task_stop() does not wait then. */
static inline bool compat_vhost_task_gone(struct compat_vhost_task *t,
					  struct task_struct *task)
{
	return READ_ONCE(task->exit_state);
}

static inline void compat_vhost_task_wake(struct compat_vhost_task *t)
{
	vhost_task_wake(t->vtsk);
}

#else
#include <linux/sched/vhost_task_6_4.h>
#endif

#endif /* _KVNET_COMPAT_SCHED_VHOST_TASK_H */
