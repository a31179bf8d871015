/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Network devices, made and changed as an operator does: by netlink.  All of
 * these are for the network namespace of the caller.
 */
#ifndef SELFTESTS_LINKS_H
#define SELFTESTS_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a device says that it has sent: a tap to its file. */
struct link_sent {
	unsigned long bytes;
	unsigned long packets;
	unsigned long errors;
	unsigned long dropped;
	unsigned long fifo;
	unsigned long frame;	/* of what it has sent: collisions */
};

struct link_sent link_sent(const char *name);
/* And what it has received: a tap from its file. */
struct link_sent link_received(const char *name);
/* modprobe, where there is one: a test host may not let the kernel do it. */
bool link_module(const char *name);
/* A pair: what goes into one comes out of the other. */
int link_add_veth(const char *name, const char *peer);
/* One that drops what it is to send. */
int link_add_dummy(const char *name, uint32_t tx_queues);
/* "macvtap" or "ipvtap" on another device, with a mode of <linux/if_link.h> */
int link_add_upper(const char *kind, const char *name, int lower,
		   unsigned int mode);
/* 0 or -errno; the netlink way, for an index that only the kernel knows */
int link_delete(int ifindex);
int link_rename(int ifindex, const char *name);
int link_move(int ifindex, int netns);
int link_up(int ifindex, bool up);
/* Both ends of a pair, which have their carriers and queues then, not a while after. */
int link_pair_up(int one, int other);
int link_mtu(int ifindex, uint32_t mtu);
/* Frames that wait in a tap, or in a qdisc. */
int link_queue_len(int ifindex, uint32_t n);
int link_mac(int ifindex, const uint8_t *mac);
/* /sys/class/net has the devices of this network namespace then; writes a file there. */
void link_mount_sysfs(void);
void link_sysfs(const char *name, const char *file, const char *value);
/* A command of <linux/ethtool.h>; one that takes a value, such as ETHTOOL_SGRO. */
int link_ethtool(const char *name, void *command);
int link_feature(const char *name, uint32_t command, bool on);
/* The queue of what leaves it: NLM_F_* and the options of its kind; or a change of it. */
int link_qdisc(int ifindex, int flags, const char *kind, const void *options,
	       size_t len);
/* The character device of a macvtap or ipvtap, or -errno. */
int link_open_tap(int ifindex);
/* A new namespace, which the caller is in afterwards; returns the old one. */
int link_new_netns(void);
int link_own_netns(void);

#endif /* SELFTESTS_LINKS_H */
