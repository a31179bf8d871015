/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_WAIT_H
#define UNIT_SHIM_LINUX_WAIT_H

/* Nobody waits; how often they would have been woken is counted. */
typedef struct wait_queue_head {
	unsigned int wakes;
} wait_queue_head_t;

#define init_waitqueue_head(q)		((void)((q)->wakes = 0))
#define wake_up_interruptible(q)	((void)(q)->wakes++)
#define wake_up_interruptible_poll(q, m) ((void)(m), (void)(q)->wakes++)

#endif /* UNIT_SHIM_LINUX_WAIT_H */
