/* SPDX-License-Identifier: GPL-2.0 */
/* bridge - the taps of two guests on a bridge, which knows their addresses. */
#ifndef SELFTESTS_BRIDGE_H
#define SELFTESTS_BRIDGE_H

#include "port.h"

/* Of a command of the shell that must succeed. */
void bridge_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whose queues are not attached. Frames of the second guest go to the first one, and back. */
void bridge_ports(struct port *from, struct port *to);

#endif /* SELFTESTS_BRIDGE_H */
