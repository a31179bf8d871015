/* SPDX-License-Identifier: GPL-2.0 */
/* traffic - the frames that are sent, each way. */
#ifndef SELFTESTS_TRAFFIC_H
#define SELFTESTS_TRAFFIC_H

#include "spec.h"

#define TRAFFIC_TCP	66u	/* bytes of the headers of a TCP frame, Ethernet's too */
#define TRAFFIC_UDP_SUM	40u	/* where the checksum is, with spec.udp */

/* Header and frame, numbered; with spec.gso or spec.notso TCP, the numbers being its sequence. */
void traffic_make(uint8_t *buf, uint32_t seq, uint8_t last, const struct spec *s);
/* How many of them this one has been merged of. */
unsigned int traffic_segments(const uint8_t *frame, const struct spec *s);
/* What the host sends: this many frames, numbered from 0. */
void traffic_burst(unsigned int count, const struct spec *s);
/* The burst into a tap, to this queue of it if it has several. */
void traffic_send(int socket, unsigned int queue, bool steer);
/* Let the last byte of a frame's destination say which queue of the tap it takes. */
void traffic_steer(int tap);

#endif /* SELFTESTS_TRAFFIC_H */
