/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_COMPILER_H
#define UNIT_SHIM_LINUX_COMPILER_H

#define noinline	__attribute__((noinline))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* An atomic access, so that ThreadSanitizer takes them for what they are. */
#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

#define fallthrough	__attribute__((__fallthrough__))

/* what is read before is not read again */
#define barrier()		__asm__ __volatile__("" : : : "memory")

#endif /* UNIT_SHIM_LINUX_COMPILER_H */
