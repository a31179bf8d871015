// SPDX-License-Identifier: GPL-2.0
/* An eventfd that very many watch, see watched.h. */
#include "watched.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "ksft.h"

void watched_start(struct watched *w, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	unsigned int i, k;

	for (i = 0; i < WATCHERS; i++) {
		w->fd[i] = ASSERT_SYS(dup(fd));
		w->ep[i] = ASSERT_SYS(epoll_create1(EPOLL_CLOEXEC));
	}
	for (i = 0; i < WATCHERS; i++)
		for (k = 0; k < WATCHERS; k++)
			ASSERT_SYS(epoll_ctl(w->ep[i], EPOLL_CTL_ADD, w->fd[k], &ev));
}

void watched_end(struct watched *w)
{
	unsigned int i;

	for (i = 0; i < WATCHERS; i++) {
		close(w->ep[i]);
		close(w->fd[i]);
	}
}
