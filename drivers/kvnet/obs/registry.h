/* SPDX-License-Identifier: GPL-2.0 */
/*
 * registry.h - table of the devices that have an owner, by id and network namespace
 *
 * A reader gets a device by kvnet_registry_get() or kvnet_registry_next() and releases it by
 * kvnet_registry_put(). The owner is not released in between: RESET_OWNER waits for the readers
 * with net->lock held. So a reader must not wait for net->lock or a vq->lock. A reader can still
 * take long, when its cgroup throttles it: the last close does not wait for readers, a work item
 * does (dev.c).
 */
#ifndef _KVNET_REGISTRY_H
#define _KVNET_REGISTRY_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/types.h>

struct kvnet_net;
struct net;
struct pid;

/* A device's entry */
struct kvnet_registry_entry {
	/* from 1; 0: the device has no owner, and @netns and @owner are invalid */
	u32 id;
	bool registered;		/* lookups find the device; written with net->lock held */
	atomic_t readers;		/* references of readers */
	/* network namespace of the owner, with a reference; const while @id is set */
	struct net *netns;
	/* the owner's process, with a reference; const while @id is set */
	struct pid *owner;
	/* the owner's PID if it is in the initial PID namespace, else 0; const while @id is set */
	pid_t pid;
	char comm[TASK_COMM_LEN];	/* the owner's command name at SET_OWNER */
};

int kvnet_registry_register(struct kvnet_net *net);
void kvnet_registry_unregister(struct kvnet_net *net);
void kvnet_registry_wait_for_readers(struct kvnet_net *net);
void kvnet_registry_release_entry(struct kvnet_net *net);
struct kvnet_net *kvnet_registry_get(const struct net *netns, u32 id);
struct kvnet_net *kvnet_registry_next(const struct net *netns, unsigned long *id);
void kvnet_registry_put(struct kvnet_net *net);

#endif /* _KVNET_REGISTRY_H */
