/* SPDX-License-Identifier: GPL-2.0 */
/* A single frame, there and back: see single.c. */
#ifndef SELFTESTS_SINGLE_H
#define SELFTESTS_SINGLE_H

#include "port.h"

/* Devices that are ready for round trips; the first of them. */
struct port *single_begin(struct ports *p, const struct spec *s);
/* The guest sends a frame, the host sends it back. */
void single_round_trip(struct ports *p, struct port *port);
void single_end(struct ports *p);

#endif /* SELFTESTS_SINGLE_H */
