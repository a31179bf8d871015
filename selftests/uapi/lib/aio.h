/* SPDX-License-Identifier: GPL-2.0 */
/* Requests of asynchronous I/O, which have a file for as long as they wait. */
#ifndef SELFTESTS_AIO_H
#define SELFTESTS_AIO_H

#include <linux/aio_abi.h>

/* One to be told when there is something to read. */
aio_context_t aio_poll(int fd);
/* Waits until it has been told, and is its end. */
void aio_told(aio_context_t ctx);

#endif /* SELFTESTS_AIO_H */
