/* SPDX-License-Identifier: GPL-2.0 */
/* policy_rig - requests that set the policy of the only device. */
#ifndef SELFTESTS_POLICY_RIG_H
#define SELFTESTS_POLICY_RIG_H

#include <sys/types.h>

#include "netlink_rig.h"

/* A request that is not ended yet: from policy_want() to policy_ask(). */
extern struct ask policy_request;

void policy_want(void);
/* All of these: 0 or -errno. */
int policy_ask(void);
int policy_u32(unsigned int type, uint32_t value);
int policy_u8(unsigned int type, uint8_t value);
/* What holds. */
struct attrs the_policy(void);
/* The thread of a worker that has begun. */
pid_t worker_tid(unsigned int worker);

#endif /* SELFTESTS_POLICY_RIG_H */
