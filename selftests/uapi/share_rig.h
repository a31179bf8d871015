/* SPDX-License-Identifier: GPL-2.0 */
/* Devices of one process that share a thread (share_workers=1). */
#ifndef SELFTESTS_SHARE_RIG_H
#define SELFTESTS_SHARE_RIG_H

#include "rig.h"

#define SHARERS		4

extern struct rig sharer[SHARERS];

/* The module's parameter; returns what it was. */
char share(char value);
/* Its workers are of that kind from now on: "task" or "kthread". */
void share_need(const char *kind);
/* The parameter is as it was afterwards. Of the first two a pager may take memory away. */
void share_open(unsigned int i);
/* The first n, and one thread. */
void share_begin(unsigned int n);
/* n frames of each length both ways. */
void share_pass(unsigned int i, unsigned int n);
/* The first n are closed, one by one; then there is no thread. */
void share_end(unsigned int n);

#endif /* SELFTESTS_SHARE_RIG_H */
