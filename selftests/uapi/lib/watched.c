// SPDX-License-Identifier: GPL-2.0
/* Files that others watch: see watched.h. */
#include "watched.h"

#include <sys/epoll.h>

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

aio_context_t aio_poll(int fd)
{
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = fd,
		.aio_buf = POLLIN,
	};
	struct iocb *list = &cb;
	aio_context_t ctx = 0;

	if (syscall(__NR_io_setup, 4, &ctx))
		ksft_skip("no asynchronous I/O: %s", strerror(errno));
	ASSERT_EQ(syscall(__NR_io_submit, ctx, 1, &list), 1);
	return ctx;
}

void aio_told(aio_context_t ctx)
{
	struct timespec most = { .tv_sec = 5 };
	struct io_event event;

	ASSERT_EQ(syscall(__NR_io_getevents, ctx, 1, 1, &event, &most), 1);
	ASSERT_EQ(syscall(__NR_io_destroy, ctx), 0);
}
