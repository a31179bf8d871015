/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_JIFFIES_H
#define UNIT_SHIM_LINUX_JIFFIES_H

#define HZ	100

/* The test sets the clock. */
extern unsigned long jiffies;

#define time_after(a, b)	((long)((b) - (a)) < 0)

#endif /* UNIT_SHIM_LINUX_JIFFIES_H */
