/* SPDX-License-Identifier: GPL-2.0 */
/*
 * slow_file - a file that is read when somebody says so, and not before (FUSE): who waits for
 * a page of it is not woken by any signal.
 */
#ifndef SELFTESTS_SLOW_FILE_H
#define SELFTESTS_SLOW_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define SLOW_FILE	"/tmp/slow_file"

/*
 * Make the file, in a mount name space that goes with the process, which serves it by a
 * thread. Skips the case where the kernel lacks FUSE.
 */
void slow_file_make(size_t size);
/* For a child: the process that made it goes on serving it, and nobody else does. */
void slow_file_leave(void);
/* How often somebody has asked for some of it, and is not answered. */
unsigned int slow_file_asked(void);
/* All of it is zeroes: deliver them, from now on at once. */
void slow_file_deliver(void);

#endif /* SELFTESTS_SLOW_FILE_H */
