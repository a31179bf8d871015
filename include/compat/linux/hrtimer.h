/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_HRTIMER_H
#define _KVNET_COMPAT_HRTIMER_H

#include_next <linux/hrtimer.h>
#include <linux/version.h>

/* Linux 6.13 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0) && !defined(hrtimer_setup)
static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*fn)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}

#define hrtimer_setup	compat_hrtimer_setup
#endif

#endif /* _KVNET_COMPAT_HRTIMER_H */
