/* SPDX-License-Identifier: GPL-2.0 */
/* The bits of the dirty log have no content, see any_log.h. */
#ifndef PROOFS_SHIM_LINUX_BITOPS_H
#define PROOFS_SHIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

bool log_test_bit(unsigned long nr, const void *map);
void log_set_bit(unsigned long nr, const void *map);

#define test_bit(nr, map)	log_test_bit(nr, map)
#define set_bit(nr, map)	log_set_bit(nr, map)

#endif /* PROOFS_SHIM_LINUX_BITOPS_H */
