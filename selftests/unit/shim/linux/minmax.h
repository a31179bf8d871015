/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_MINMAX_H
#define UNIT_SHIM_LINUX_MINMAX_H

#define min_t(type, a, b) __extension__ ({				\
	type min_a_ = (a), min_b_ = (b);				\
	min_a_ < min_b_ ? min_a_ : min_b_; })
#define max_t(type, a, b) __extension__ ({				\
	type max_a_ = (a), max_b_ = (b);				\
	max_a_ > max_b_ ? max_a_ : max_b_; })

/* As the kernel's: both sides have one type. */
#define same_type_(a, b) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(a),	\
						    __typeof__(b)), "types")
#define min(a, b) __extension__ ({ \
	same_type_(a, b); min_t(__typeof__(a), a, b); })
#define max(a, b) __extension__ ({ \
	same_type_(a, b); max_t(__typeof__(a), a, b); })

#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)
#define clamp(v, lo, hi) min(max(v, lo), hi)

#endif /* UNIT_SHIM_LINUX_MINMAX_H */
