/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_SPINLOCK_H
#define UNIT_SHIM_LINUX_SPINLOCK_H

#include <stdlib.h>

typedef struct spinlock {
	int held;
} spinlock_t;

#define spin_lock_init(l)	((void)((l)->held = 0))
#define spin_lock(l)		((l)->held++ ? abort() : (void)0)
#define spin_unlock(l)		(--(l)->held ? abort() : (void)0)

#endif /* UNIT_SHIM_LINUX_SPINLOCK_H */
