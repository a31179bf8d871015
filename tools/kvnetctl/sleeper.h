/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sleeper - wait for time, events and signals, and come back in good order
 */
#ifndef KVNETCTL_SLEEPER_H
#define KVNETCTL_SLEEPER_H

#include <stdbool.h>
#include <stdint.h>

#define WOKEN_END	1	/* ^C, SIGTERM, SIGHUP; or nobody reads any more */
#define WOKEN_READ	2	/* there is something to read */
#define WOKEN_WINDOW	4	/* the terminal has another size */
#define WOKEN_RELOAD	8	/* SIGHUP, where that is not the end */

void sleeper_begin(bool reload);
int sleeper_wait(int fd, uint64_t until);
uint64_t now_ns(void);

#endif /* KVNETCTL_SLEEPER_H */
