/* SPDX-License-Identifier: GPL-2.0 */
/* As for unit tests, but kernel addresses of guest memory go through guest.h, too. */
#ifndef PROOFS_SHIM_LINUX_COMPILER_H
#define PROOFS_SHIM_LINUX_COMPILER_H

#include_next <linux/compiler.h>
#include <stddef.h>

void guest_read(void *dst, const volatile void *src, size_t len);
void guest_write(volatile void *dst, const void *src, size_t len);
void guest_memcpy(void *dst, const void *src, size_t len);

#undef READ_ONCE
#define READ_ONCE(x) __extension__ ({					\
	__typeof__(x) ro_val_;						\
	guest_read(&ro_val_, &(x), sizeof(ro_val_));			\
	ro_val_; })

#undef WRITE_ONCE
#define WRITE_ONCE(x, v) do {						\
	__typeof__(x) wo_val_ = (v);					\
	guest_write(&(x), &wo_val_, sizeof(wo_val_));			\
} while (0)

#define __builtin_memcpy(dst, src, len)	guest_memcpy(dst, src, len)

#undef __always_inline
#define __always_inline	inline

#endif /* PROOFS_SHIM_LINUX_COMPILER_H */
