/* SPDX-License-Identifier: GPL-2.0 */
/*
 * module - the module under test: loaded and unloaded, as insmod and rmmod do it, and threads
 * that are held in a call of it while others come, which takes the module that can do so
 * (failing/kvnet_failing.c).
 */
#ifndef SELFTESTS_MODULE_H
#define SELFTESTS_MODULE_H

#include <stdbool.h>
#include <sys/types.h>

/* where test machines have it */
#define MODULE	"/kvnet/kvnet.ko"

/* 0 or -errno. */
int module_load(const char *parameters);
int module_unload(void);
/* Other processes may have a file of it for a moment. */
void module_is_unloaded(void);

/* Points where hold() holds threads: a vCPU thread after inline TX, which has put the module. */
#define HAS_LEFT	"left"
/* rmmod, before it waits for threads that are in the module's code. */
#define WAITS_FOR_TASKS	"tasks"
/* A thread that invalidates its process's memory, in the mmu notifier, before pages are freed. */
#define CHANGES_MEMORY	"invalidate"
/* A worker that has looked up pages of the owner's memory. */
#define HAS_FOUND	"found"
/* The call by which a kernel thread joins its owner's cgroups. */
#define JOINS_CGROUPS	"cgroup_attach_task_all"

/* Skips the case where threads cannot be held; in a network namespace of its own. */
void held_begin(const char *kind);
void hold(const char *call);
/* Releases all of them. */
void let_go(void);
/* How many are held there. */
unsigned int held(const char *call);
/* Does it wait, and not for a moment, as for memory? Asked again and again. */
bool waits(pid_t pid, pid_t tid);

#endif /* SELFTESTS_MODULE_H */
