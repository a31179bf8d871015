/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of arrays, element by element: CBMC's own are of bytes, and of any number of them. All
 * is read before the first write, so that the arrays may overlap.
 */
#ifndef PROOFS_SHIM_LINUX_STRING_H
#define PROOFS_SHIM_LINUX_STRING_H

#include_next <linux/string.h>
#include <stddef.h>

#define COPY_MAX	4	/* elements */

#define copy_elements(dst, src, len) do {					\
	__typeof__(*(dst)) *to_ = (dst), copy_[COPY_MAX];			\
	const __typeof__(*(dst)) *from_ = (src);				\
	size_t len_ = (len), n_ = len_ / sizeof(*to_), i_;			\
										\
	__CPROVER_assert(len_ % sizeof(*to_) == 0, "copy of whole elements");	\
	__CPROVER_assert(n_ <= COPY_MAX, "copy of few elements");		\
	for (i_ = 0; i_ < n_; i_++)						\
		copy_[i_] = from_[i_];						\
	for (i_ = 0; i_ < n_; i_++)						\
		to_[i_] = copy_[i_];						\
} while (0)

#define memcpy(dst, src, len)	copy_elements(dst, src, len)
#define memmove(dst, src, len)	copy_elements(dst, src, len)

#endif /* PROOFS_SHIM_LINUX_STRING_H */
