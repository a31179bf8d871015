/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_ASM_BARRIER_H
#define UNIT_SHIM_ASM_BARRIER_H

#include "../shim.h"

#define smp_mb()	shim_barrier(SHIM_MB)
#define smp_rmb()	shim_barrier(SHIM_RMB)
#define smp_wmb()	shim_barrier(SHIM_WMB)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif /* UNIT_SHIM_ASM_BARRIER_H */
