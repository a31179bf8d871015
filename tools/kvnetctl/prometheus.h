/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prometheus - counters as node_exporter's textfile collector reads them
 */
#ifndef KVNETCTL_PROMETHEUS_H
#define KVNETCTL_PROMETHEUS_H

#include <stdio.h>

#include "libkvnet.h"

void prometheus_write(FILE *f, const struct kvnet_devices *all);

#endif /* KVNETCTL_PROMETHEUS_H */
