/* SPDX-License-Identifier: GPL-2.0 */
/* An eventfd that very many watch: who signals it wakes all of them. */
#ifndef SELFTESTS_WATCHED_H
#define SELFTESTS_WATCHED_H

/* So many watch it, each by so many descriptors. */
#define WATCHERS	150

struct watched {
	int fd[WATCHERS];
	int ep[WATCHERS];
};

void watched_start(struct watched *w, int fd);
void watched_end(struct watched *w);

#endif /* SELFTESTS_WATCHED_H */
