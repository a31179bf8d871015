// SPDX-License-Identifier: GPL-2.0
/* Requests of asynchronous I/O: see aio.h. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aio.h"
#include "ksft.h"

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
