/* SPDX-License-Identifier: GPL-2.0 */
/* traffic - the frames that are sent, each way. */
#ifndef SELFTESTS_TRAFFIC_H
#define SELFTESTS_TRAFFIC_H

#include "spec.h"

/* Header and frame, numbered; with spec.gso a TCP segment that is too long. */
void traffic_make(uint8_t *buf, uint32_t seq, uint8_t last, const struct spec *s);
/* What the host sends: this many frames, numbered from 0. */
void traffic_burst(unsigned int count, const struct spec *s);
/* The burst into a tap, to this queue of it if it has several. */
void traffic_send(int socket, unsigned int queue, bool steer);
/* Let the last byte of a frame's destination say which queue of the tap it takes. */
void traffic_steer(int tap);

#endif /* SELFTESTS_TRAFFIC_H */
