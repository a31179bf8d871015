/* SPDX-License-Identifier: GPL-2.0 */
/* netlink_rig - a rig, and a netlink socket in its network namespace. */
#ifndef SELFTESTS_NETLINK_RIG_H
#define SELFTESTS_NETLINK_RIG_H

#include "genl.h"
#include "rig.h"

extern struct rig vmm;
extern struct genl genl;

/* A copy of an answer, which the next one overwrites. */
struct copy {
	unsigned int n;
	struct attrs a;
	uint8_t buf[16 << 10];
};

/* Skips the case on vhost_net. */
void netlink_need(void);
void netlink_begin(const struct rig_cfg *cfg);
/* Skips the case where a process cannot make one. */
void need_user_namespaces(void);
/* For genl_do(): into a struct copy. */
void keep(struct attrs answer, void *arg);
/* The only device that is to be seen; a part of it, by its index. Until the next. */
struct attrs the_device(void);
uint32_t the_id(void);
struct attrs the_queue(unsigned int index);
struct attrs the_worker(unsigned int index);

/*** requests that set the policy of the only device ***/

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

#endif /* SELFTESTS_NETLINK_RIG_H */
