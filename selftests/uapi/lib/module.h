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
/* Somebody may have a file of it for a moment. */
void module_is_unloaded(void);

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

#endif /* SELFTESTS_MODULE_H */
