/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user.h - how much of a user's cannot end
 *
 * A device that is closed has no descriptor any more that RLIMIT_NOFILE counts, and a kernel
 * thread counts for nobody's RLIMIT_NPROC. So who has left many behind that cannot end gets
 * no new one.
 */
#ifndef _KVNET_USER_H
#define _KVNET_USER_H

#include <linux/types.h>

struct kvnet_user;

struct kvnet_user *kvnet_user_get(void);
void kvnet_user_put(struct kvnet_user *user);
void kvnet_user_late(struct kvnet_user *user);
void kvnet_user_over(struct kvnet_user *user);

#endif /* _KVNET_USER_H */
