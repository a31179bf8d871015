/* SPDX-License-Identifier: GPL-2.0 */
/*
 * held_rig - somebody is held in the midst of what he does, with all that he has, and others
 * come: an operator who has found the device, a VMM that makes one, a worker that begins.  It takes the
 * module that lets one do so (failing/kvnet_failing.c).
 */
#ifndef SELFTESTS_HELD_RIG_H
#define SELFTESTS_HELD_RIG_H

#include <stdbool.h>
#include <sys/types.h>

/* where an operator is held who asks for a device, which he has found */
#define WITH_DEVICE	"genlmsg_put"
/* where a worker is held, in a turn, with the queue */
#define IN_A_TURN	"pin_user_pages_fast"
/* where who makes a worker is held, with the roster */
#define WHO_HIRES	"vhost_task_create"
/* and one of the kernel's, when it is about to enter its owner's memory */
#define WHO_ENTERS	"enter"
/* and a worker that has done all but its last instructions */
#define WHO_IS_OVER	"over"
/* and who has sent what he kicked for, at the end of that, when the module is not in use for it */
#define WHO_HAS_LEFT	"left"
/* and a thread that changes much of its process's memory at once, of which nothing has gone yet */
#define AN_INVALIDATION	"invalidate"
/* and a worker that has looked which pages of the owner's are there */
#define WHO_HAS_FOUND	"found"

/* Skips the case where nobody can be held. */
void begin(const char *kind);
void hold(const char *call);
/* All; with "-CALL": these alone. */
void let_go(const char *which);
unsigned int held(const char *call);
/* It waits, and not for a moment, as for memory: asked again and again. */
bool waits(pid_t pid, pid_t tid);

/* Somebody who asks for the device. */
pid_t operator_asks(void);
/* Until he is there. */
pid_t operator_is_held(void);
/* 0 or -errno. */
int operator_said(pid_t pid);

/*
 * A VMM that is another process, has two workers, if these are its own, and does that when told.
 * vmm.v.fd is its descriptor of the device.
 */
pid_t fork_vmm(int (*does)(void));
void vmm_is_to_do_it(pid_t pid);
void kill_vmm(pid_t pid);
int hire(void);

#endif /* SELFTESTS_HELD_RIG_H */
