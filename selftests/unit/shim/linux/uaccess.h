/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_UACCESS_H
#define UNIT_SHIM_LINUX_UACCESS_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

#include "../shim.h"

#define get_user(x, ptr) __extension__ ({				\
	const __typeof__(*(ptr)) *gu_p_;				\
	int gu_ret_ = -EFAULT;						\
									\
	(x) = 0;							\
	gu_p_ = shim_before(SHIM_LOAD, (ptr), sizeof(*gu_p_));		\
	if (gu_p_) {							\
		(x) = __atomic_load_n(gu_p_, __ATOMIC_RELAXED);		\
		shim_after(SHIM_LOAD, gu_p_, sizeof(*gu_p_));		\
		gu_ret_ = 0;						\
	}								\
	gu_ret_; })

#define put_user(x, ptr) __extension__ ({				\
	__typeof__(*(ptr)) *pu_p_;					\
	__typeof__(*(ptr)) pu_val_ = (x);				\
	int pu_ret_ = -EFAULT;						\
									\
	pu_p_ = shim_before(SHIM_STORE, (ptr), sizeof(*pu_p_));		\
	if (pu_p_) {							\
		if (shim_store_releases())				\
			__atomic_store_n(pu_p_, pu_val_, __ATOMIC_RELEASE); \
		else							\
			__atomic_store_n(pu_p_, pu_val_, __ATOMIC_RELAXED); \
		shim_after(SHIM_STORE, pu_p_, sizeof(*pu_p_));		\
		pu_ret_ = 0;						\
	}								\
	pu_ret_; })

static inline size_t copy_from_user(void *to, const void *from, size_t n)
{
	return shim_copy(to, from, n, SHIM_COPY_IN);
}

static inline size_t copy_to_user(void *to, const void *from, size_t n)
{
	return shim_copy(to, from, n, SHIM_COPY_OUT);
}

/* No address of a process is beyond it, whatever access_ok() says. */
#define TASK_SIZE_MAX	((uint64_t)1 << 47)

/* As a processor that ignores some bits. */
#define untagged_addr(addr)	((addr) & ~shim_tag)

static inline bool access_ok(const void *p, size_t n)
{
	uintptr_t at = untagged_addr((uintptr_t)p);

	return at <= shim_user_end && n <= shim_user_end && at <= shim_user_end - n;
}

#endif /* UNIT_SHIM_LINUX_UACCESS_H */
