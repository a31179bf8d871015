/* SPDX-License-Identifier: GPL-2.0 */
/*
 * event_wait - wait for time, events and signals
 */
#ifndef KVNETCTL_EVENT_WAIT_H
#define KVNETCTL_EVENT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define EVENT_WAIT_END	1	/* ^C, SIGTERM, SIGHUP; or the reader of the output is gone */
#define EVENT_WAIT_READ	2	/* there is something to read */
#define EVENT_WAIT_RESIZE	4	/* the terminal has another size */
#define EVENT_WAIT_RELOAD	8	/* SIGHUP, where that is not the end */

void event_wait_begin(bool reload);
int event_wait(int fd, uint64_t until);
uint64_t now_ns(void);

#endif /* KVNETCTL_EVENT_WAIT_H */
