/* SPDX-License-Identifier: GPL-2.0 */
/* A guest whose single frames are received in the sender's softirq. */
#ifndef SELFTESTS_RX_INLINE_RIG_H
#define SELFTESTS_RX_INLINE_RIG_H

#include "rig.h"

#define BUFS		200

extern struct rig rig;
extern struct vdev_queue *rx;
extern uint32_t seq;		/* of the next frame */

long rx_inline_counter(const char *name);
void rx_inline_need_kvnet(void);
/* Where the device is told that this is, which the guest has in its first region. */
uint8_t *rx_inline_hva(const void *ptr);
/* The same of the receive buffers, whole pages. */
uint8_t *rx_inline_pool(size_t *len);
/* The pages are there, for the device, too; what is not is not brought in for it. */
void rx_inline_touch(void);
void rx_inline_ready(void);
void rx_inline_begin(void);
/* The same, in private memory. */
void rx_inline_begin_private(void);
/* One frame, and its buffer back to the device. */
void rx_inline_one(uint32_t len, unsigned int ms);
/* The guest sends something: what it receives is no stream then. */
void rx_inline_reply(void);
void rx_inline_some(unsigned int n, uint32_t len);
/* Until frames are received inline, one after the other. */
void rx_inline_warm_up(void);

#endif /* SELFTESTS_RX_INLINE_RIG_H */
