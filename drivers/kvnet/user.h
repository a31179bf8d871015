/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user.h - how much of a user's cannot end, or goes on
 *
 * A device that is closed has no descriptor any more that RLIMIT_NOFILE counts, and a kernel
 * thread counts for nobody's RLIMIT_NPROC. So who has left many behind that cannot end gets
 * no new one. And to place workers takes locks of the kernel's that all share: so that is
 * done for one device of a user's after the other.
 */
#ifndef _KVNET_USER_H
#define _KVNET_USER_H

#include <linux/types.h>

struct kvnet_user;

struct kvnet_user *kvnet_user_get(void);
void kvnet_user_put(struct kvnet_user *user);
void kvnet_user_late(struct kvnet_user *user);
void kvnet_user_over(struct kvnet_user *user);
bool kvnet_user_turn(struct kvnet_user *user);
void kvnet_user_turn_over(struct kvnet_user *user);
bool kvnet_user_has_turn(const struct kvnet_user *user);

#endif /* _KVNET_USER_H */
