/* SPDX-License-Identifier: GPL-2.0 */
/*
 * later.h - what nobody is to wait for
 *
 * What another process may put off for as long as it likes is done once it can be, by a
 * thread that looks from time to time, and not by whoever happens to come upon it. The
 * module is in use until then.
 */
#ifndef _KVNET_LATER_H
#define _KVNET_LATER_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct kvnet_user;

/**
 * struct kvnet_later - something to be done later, a part of what it is done with
 * @user: for whom it counts until it is done; set before, with a reference
 * @work: it
 * @fn: does it, and may free this; false: not yet
 * @delay: before the next look, in jiffies
 */
struct kvnet_later {
	struct kvnet_user *user;
	struct delayed_work work;
	bool (*fn)(struct kvnet_later *later);
	unsigned long delay;
};

void kvnet_later(struct kvnet_later *later, bool (*fn)(struct kvnet_later *later));
bool kvnet_later_any(void);
int kvnet_later_init(void);
void kvnet_later_exit(void);

#endif /* _KVNET_LATER_H */
