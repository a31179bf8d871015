/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filters - tc programs and nft chains that drop all frames. For the network namespace of the
 * caller, with which they go. All return 0 or -errno.
 */
#ifndef SELFTESTS_FILTERS_H
#define SELFTESTS_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

/* What a device gets, or what leaves it (egress). Until filter_tc_end(), one at a time. */
int filter_tc(int ifindex, bool egress);
void filter_tc_end(void);
/* What bridges forward; what the device of that name gets, or what leaves it. */
int filter_nft_bridge(void);
int filter_nft_device(const char *name, bool egress);
/* All of both. */
void filter_nft_end(void);

#endif /* SELFTESTS_FILTERS_H */
