/* SPDX-License-Identifier: GPL-2.0 */
/* bridged - the taps of two guests on a bridge, which knows their addresses. */
#ifndef SELFTESTS_BRIDGED_H
#define SELFTESTS_BRIDGED_H

#include "port.h"

/* Whose queues are not attached. Frames of the second guest go to the first one, and back. */
void bridged_ports(struct port *from, struct port *to);

#endif /* SELFTESTS_BRIDGED_H */
