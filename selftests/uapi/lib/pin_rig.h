/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pin_rig - a rig whose rings are in memory of any kind, and what fdinfo shows of how the
 * device reaches them.  Against vhost_net, which does not pin, only that is left out: rings
 * must work there, too.
 */
#ifndef SELFTESTS_PIN_RIG_H
#define SELFTESTS_PIN_RIG_H

#include "rig.h"

/* The word after "name:" in a file of /proc, or "". */
const char *word_of(const char *path, const char *name);
/* "pinned" or "user"; name: "kvnet.rx.access". */
const char *ring_is(const struct rig *r, const char *name);
bool rings_are(const struct rig *r, const char *what);
void expect_rings(const struct rig *r, const char *what);
/* Pinned memory of this process, in KiB. */
unsigned long pinned_kb(void);
/* Pages that are pinned in the whole system. */
long pages_pinned(void);
/* Skips the case on vhost_net. */
void need_pinned_rings(void);
/* From now on this process may pin no more than that; no capability lifts the limit. */
void limit_locked_memory(unsigned long bytes);
/* Three each way. No buffer stays with the device. */
void frames_pass(struct rig *r);

/*
 * Move a stopped rig's memory, all of it empty.  The file behind fd, or fd -1
 * and MAP_ANONYMOUS, is mapped with these flags: once, if private, since others
 * would see other pages; else as by vdev_memory().
 */
void pin_rig_move(struct rig *r, int fd, int flags);
/* A rig in such memory, stopped. */
void pin_rig_open(struct rig *r, int fd, int flags);
/* And nothing of this process stays pinned. */
void pin_rig_close(struct rig *r);
/* Ask for huge pages; how many are free then. */
unsigned int huge_pages_get(unsigned int n);
bool kernel_before(unsigned int major, unsigned int minor);

#endif /* SELFTESTS_PIN_RIG_H */
