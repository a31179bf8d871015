/* SPDX-License-Identifier: GPL-2.0 */
/*
 * floor - a port without a virtqueue, by /dev/kvnet-floor: what a tap costs itself.
 *
 * KVNET_DEV names it, as it names any other backend.
 */
#ifndef SELFTESTS_FLOOR_H
#define SELFTESTS_FLOOR_H

#include "port.h"

bool floor_is(void);
/* In the place of a device; its rings have only a size. Of two, each sends to a guest. */
void floor_open(struct port *p, const struct spec *s);
void floor_close(struct port *p);
void floor_attach(struct port *p, bool on);
void floor_start(struct port *p, unsigned int queue, unsigned int frames);
void floor_wait(struct port *p, unsigned int queue);

#endif /* SELFTESTS_FLOOR_H */
