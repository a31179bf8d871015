/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroup - a control group of version 2, empty and of one's own, in a mount name
 * space that goes with the process.  A case that ends without cgroup_remove()
 * leaves an empty group behind, which does no harm.
 */
#ifndef SELFTESTS_CGROUP_H
#define SELFTESTS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

struct cgroup {
	char path[64];
	bool old;		/* of version 1 */
};

/* Skips the case where the kernel lacks the controller ("pids"), or NULL. */
void cgroup_make(struct cgroup *g, const char *controller);
/* Of version 1, for the rest of the case: its freezer takes the kernel's threads, too. */
void cgroup_make_old(struct cgroup *g, const char *controller);
void cgroup_remove(const struct cgroup *g);
/* The process with all its threads. */
void cgroup_join(const struct cgroup *g, pid_t pid);
/* Out of the group, to the root. */
void cgroup_leave(pid_t pid);
/* Does the kernel have that file? */
bool cgroup_has(const struct cgroup *g, const char *file);
void cgroup_set(const struct cgroup *g, const char *file, const char *text);
/* The word after "name" in a file, or the first one without a name. */
long cgroup_get(const struct cgroup *g, const char *file, const char *name);

void cgroup_freeze(const struct cgroup *g, bool freeze);
/* Are all in it frozen, or none, by the deadline? */
bool cgroup_frozen(const struct cgroup *g, bool frozen, unsigned int ms);
/* All that a thread is in, as the kernel lists them. */
const char *cgroups_of(pid_t pid, pid_t tid);

#endif /* SELFTESTS_CGROUP_H */
