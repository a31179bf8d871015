/* SPDX-License-Identifier: GPL-2.0 */
/*
 * held_rig - threads are held in a call of the module's, and others come meanwhile.  It takes the
 * module that can do so (failing/kvnet_failing.c).
 */
#ifndef SELFTESTS_HELD_RIG_H
#define SELFTESTS_HELD_RIG_H

#include <stdbool.h>
#include <sys/types.h>

/* where a vCPU thread is held that has sent what it kicked for: it has put the module */
#define HAS_LEFT	"left"
/* and a thread that changes much of its process's memory at once, of which nothing has gone yet */
#define CHANGES_MEMORY	"invalidate"
/* and a worker that has looked which pages of the owner's are there */
#define HAS_FOUND	"found"

/* and what has a kernel thread join its owner's cgroups */
#define JOINS_CGROUPS	"cgroup_attach_task_all"

/* Skips the case where threads cannot be held; in a network namespace of its own. */
void held_begin(const char *kind);
void hold(const char *call);
/* All of them. */
void let_go(void);
unsigned int held(const char *call);
/* It waits, and not for a moment, as for memory: asked again and again. */
bool waits(pid_t pid, pid_t tid);

#endif /* SELFTESTS_HELD_RIG_H */
