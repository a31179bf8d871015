/* SPDX-License-Identifier: GPL-2.0 */
/*
 * slowed - a backend that is slower by a known share: can the laboratory tell?
 *
 * BENCH_SLOWED=5: whatever a pass takes, the guest does nothing for 5 % of that, too.
 */
#ifndef SELFTESTS_SLOWED_H
#define SELFTESTS_SLOWED_H

#include <stdint.h>

/* Learns how long a pass takes, which 'pass' does and says in ns of given_ns(). */
void slowed_learn(uint64_t (*pass)(void));
/* What a pass takes more. */
void slowed_pass(void);

#endif /* SELFTESTS_SLOWED_H */
