// SPDX-License-Identifier: GPL-2.0
/*
 * user.c - how much of a user's cannot end, see user.h
 */
#include "user.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

/* What may be late of one user's. */
#define MOST	64

/**
 * struct kvnet_user - somebody who owns a device, or whose device cannot end
 * @entry: in the table of all
 * @uid: who
 * @users: references
 * @late: how many of these are of what cannot end
 *
 * All under the table's lock.
 */
struct kvnet_user {
	struct hlist_node entry;
	kuid_t uid;
	unsigned int users;
	unsigned int late;
};

static DEFINE_HASHTABLE(all, 8);
static DEFINE_SPINLOCK(lock);

/*
 * Whoever made the outermost user namespace may be all who are in there. What root makes is
 * somebody's container, who is known by the root of that; all without one are the same.
 */
static kuid_t caller(void)
{
	const struct cred *cred = current_cred();
	struct user_namespace *ns = cred->user_ns, *outer = NULL;

	for (; ns->parent; ns = ns->parent)
		outer = ns;
	if (!outer)
		return cred->uid;
	return uid_eq(outer->owner, GLOBAL_ROOT_UID) ? make_kuid(outer, 0) : outer->owner;
}

static struct kvnet_user *find(kuid_t uid)
{
	struct kvnet_user *u;

	hash_for_each_possible(all, u, entry, __kuid_val(uid))
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

/* What is given is kept, or freed. */
static struct kvnet_user *find_or_add(struct kvnet_user *new)
{
	struct kvnet_user *u;

	spin_lock(&lock);
	u = find(new->uid);
	if (!u) {
		u = new;
		hash_add(all, &u->entry, __kuid_val(u->uid));
	}
	u->users++;
	spin_unlock(&lock);
	if (u != new)
		kfree(new);
	return u;
}

/**
 * kvnet_user_get() - the caller, who is about to own one more
 *
 * Context: may sleep.
 * Return: a reference; or ERR_PTR: -EAGAIN if too much of his is late already, unless he
 *	   might also have any number of processes; -ENOMEM.
 */
struct kvnet_user *kvnet_user_get(void)
{
	struct kvnet_user *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);

	if (!u)
		return ERR_PTR(-ENOMEM);
	u->uid = caller();
	u = find_or_add(u);
	if (READ_ONCE(u->late) < MOST || capable(CAP_SYS_RESOURCE))
		return u;
	kvnet_user_put(u);
	return ERR_PTR(-EAGAIN);
}

/**
 * kvnet_user_put() - one less
 * @user: a reference, which goes; or NULL or ERR_PTR
 *
 * Context: any process.
 */
void kvnet_user_put(struct kvnet_user *user)
{
	bool last;

	if (IS_ERR_OR_NULL(user))
		return;
	spin_lock(&lock);
	last = !--user->users;
	if (last)
		hash_del(&user->entry);
	spin_unlock(&lock);
	if (last)
		kfree(user);
}

/**
 * kvnet_user_late() - something of a user's is closed and cannot end yet
 * @user: with a reference
 *
 * Context: any process.
 */
void kvnet_user_late(struct kvnet_user *user)
{
	spin_lock(&lock);
	user->users++;
	WRITE_ONCE(user->late, user->late + 1);
	spin_unlock(&lock);
}

/**
 * kvnet_user_over() - it has ended
 * @user: as told to kvnet_user_late()
 *
 * Context: any process.
 */
void kvnet_user_over(struct kvnet_user *user)
{
	spin_lock(&lock);
	WRITE_ONCE(user->late, user->late - 1);
	spin_unlock(&lock);
	kvnet_user_put(user);
}
