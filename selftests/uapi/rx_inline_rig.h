/* SPDX-License-Identifier: GPL-2.0 */
/* A guest whose lone frames are received by who brings them. */
#ifndef SELFTESTS_RX_INLINE_RIG_H
#define SELFTESTS_RX_INLINE_RIG_H

#include <sys/types.h>

#include "rig.h"

#define BUFS		200

extern struct rig rig;
extern struct vdev_queue *rx;
extern uint32_t seq;		/* of the next frame */

long place_counter(const char *name);
/* The module's parameter; returns what it was. */
char place_in_place(char value);
void place_need_kvnet(void);
/* Where the device is told that this is, which the guest has in its first region. */
uint8_t *place_of(const void *ptr);
/* The same of the receive buffers, whole pages. */
uint8_t *place_pool(size_t *len);
/* The pages are there, for the device, too; what is not is not brought in for it. */
void place_touch(void);
void place_ready(void);
void place_begin(void);
/* The same, in private memory. */
void place_begin_private(void);
/* One frame, and its buffer back to the device. */
void place_one(uint32_t len, unsigned int ms);
/* The guest sends something: what it receives is no stream then. */
void place_answer(void);
void place_some(unsigned int n, uint32_t len);
/* Until frames are received in place, one after the other. */
void place_warm_up(void);

#endif /* SELFTESTS_RX_INLINE_RIG_H */
