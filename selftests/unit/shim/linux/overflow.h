/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_OVERFLOW_H
#define UNIT_SHIM_LINUX_OVERFLOW_H

#define struct_size(p, member, n) \
	(sizeof(*(p)) + sizeof(*(p)->member) * (size_t)(n))

#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)

#endif /* UNIT_SHIM_LINUX_OVERFLOW_H */
