/* SPDX-License-Identifier: GPL-2.0 */
/* A lone frame, there and back: see lone.c. */
#ifndef SELFTESTS_LONE_H
#define SELFTESTS_LONE_H

#include "port.h"

/* Devices that are ready for round trips; the first of them. */
struct port *lone_begin(struct ports *p, const struct spec *s);
/* The guest sends a frame, the host sends it back. */
void lone_round_trip(struct ports *p, struct port *port);
void lone_end(struct ports *p);

#endif /* SELFTESTS_LONE_H */
