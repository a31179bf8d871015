/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watched - files that others watch: an eventfd by very many, so that a signal takes its sender
 * long; and any file by a request of asynchronous I/O, which has it for as long as it waits.
 */
#ifndef SELFTESTS_WATCHED_H
#define SELFTESTS_WATCHED_H

#include <linux/aio_abi.h>

/* So many epoll instances watch it, each by so many descriptors. */
#define WATCHERS	150

struct watched {
	int fd[WATCHERS];
	int ep[WATCHERS];
};

void watched_start(struct watched *w, int fd);
void watched_end(struct watched *w);

/* A request that completes when there is something to read. */
aio_context_t aio_poll(int fd);
/* Waits until it has completed, and ends it. */
void aio_told(aio_context_t ctx);

#endif /* SELFTESTS_WATCHED_H */
