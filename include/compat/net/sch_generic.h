/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_SCH_GENERIC_H
#define _KVNET_COMPAT_SCH_GENERIC_H

#include_next <net/sch_generic.h>
#include <linux/version.h>

/*
 * Linux 6.19: frames that another CPU will enqueue. It takes all from the list with the lock held.
 * What a frame passes on its way is read in the same order, so that none is missed.
 */
static inline bool compat_qdisc_is_deferring(struct Qdisc *q)
{
	bool ret = false;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	ret = !llist_empty(&q->defer_list);
	/* Before the lock: the list is emptied with the lock held. */
	smp_rmb();
	ret = ret || spin_is_locked(qdisc_lock(q));
	/* Before the caller looks into the qdisc: frames are enqueued with the lock held. */
	smp_rmb();
#endif
	return ret;
}

#endif /* _KVNET_COMPAT_SCH_GENERIC_H */
