/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake - a kernel that has the family "kvnet", for kvnetctl to talk with
 *
 * In the place of tools/kvnetctl/nl_socket.c. What it answers is written from
 * Documentation/netlink/specs/kvnet.yaml. Environment:
 *
 *	FAKE		none, version, denied, intr, garbled, lost: what goes wrong; deaf: with
 *			events that are lost a device comes, until none waits; deep: device 1's
 *			cgroup is too deep to be told; unborn: no worker has
 *			begun; late: nor the first time that is asked; comes: device 300 is
 *			there from its event on, and its workers begin with theirs; once: a
 *			policy is refused the first time; never: each time, and the events are a
 *			storm of device 300's, and then one of device 1's; foreign: device 1's
 *			tap is in a network namespace that is not its owner's; macvtap: device 1 has
 *			a macvtap, whose interface is not told
 *	FAKE_ROOT	a directory with proc and sys, in the place of the machine's
 *	FAKE_TIDS	the threads of the devices' workers, two for each, with commas between;
 *			0: not told
 *	FAKE_NODE	where the guests' memory is
 *	FAKE_LOG	a file: each policy that is set, a line
 */
#ifndef SELFTESTS_KVNETCTL_FAKE_H
#define SELFTESTS_KVNETCTL_FAKE_H

#include "nl.h"

#define FAKE_FAMILY	0x21
#define FAKE_GROUP	7

bool fake_is(const char *what);

/* fake_devices.c: the messages that describe devices */
void fake_device(struct nlmsghdr *nlh, unsigned int which);
void fake_queue(struct nlmsghdr *nlh, unsigned int which, unsigned int index);
void fake_worker(struct nlmsghdr *nlh, unsigned int which, unsigned int index);
int fake_set(const struct nlmsghdr *nlh, const char **why);
bool fake_event(struct nlmsghdr *nlh, unsigned int n);
unsigned int fake_events(void);
/* is it still to come, or one whose workers are, until so many events have been told? */
bool fake_comes(unsigned int which, unsigned int events);
uint32_t fake_id(unsigned int which);
void fake_tick(void);

#define FAKE_DEVICES	4

#endif /* SELFTESTS_KVNETCTL_FAKE_H */
