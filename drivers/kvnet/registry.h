/* SPDX-License-Identifier: GPL-2.0 */
/*
 * registry.h - all devices that have an owner, by number and network namespace
 *
 * Who has got one by kvnet_registry_get() or kvnet_registry_next() has it until
 * kvnet_registry_put(): its owner is not let go of before that. So nobody who has it waits
 * for what the owner may hold meanwhile: dev->lock, a vq->lock. Yet it may be for long, where
 * his control groups let him wait; the last close does not wait for that (dev_close.c).
 */
#ifndef _KVNET_REGISTRY_H
#define _KVNET_REGISTRY_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/types.h>

struct kvnet_net;
struct net;
struct pid;

/**
 * struct kvnet_registry_entry - a device's entry
 * @id: its number; 0: it has none, nor any of what follows
 * @registered: it is to be found; changes with dev->lock
 * @readers: who have got it just now
 * @netns: the owner's, with a reference; const with @id
 * @owner: the process, with a reference; const with @id
 * @pid: its number in the initial PID namespace, or 0: it is in another; const with @id
 * @comm: its command, as it was
 */
struct kvnet_registry_entry {
	u32 id;
	bool registered;
	atomic_t readers;
	struct net *netns;
	struct pid *owner;
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

int kvnet_registry_register(struct kvnet_net *net);
void kvnet_registry_unregister(struct kvnet_net *net);
void kvnet_registry_wait_for_readers(struct kvnet_net *net);
void kvnet_registry_release_entry(struct kvnet_net *net);
struct kvnet_net *kvnet_registry_get(const struct net *netns, u32 id);
struct kvnet_net *kvnet_registry_next(const struct net *netns, unsigned long *id);
void kvnet_registry_put(struct kvnet_net *net);

#endif /* _KVNET_REGISTRY_H */
