/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rate - rates, from two readings of the devices
 */
#ifndef KVNETCTL_RATE_H
#define KVNETCTL_RATE_H

#include "libkvnet.h"

/**
 * struct rate - of a queue, per second
 * @dev, @queue: which, of the later reading
 * @pps: packets
 * @bps: bits
 * @kicks, @calls, @drops: these
 * @batch: packets per poll, by the worker or inline
 * @cpu: of its worker: percent of a CPU
 */
struct rate {
	const struct kvnet_device *dev;
	const struct kvnet_queue *queue;
	double pps, bps, kicks, calls, drops, batch, cpu;
};

struct rate *rates(const struct kvnet_devices *then, const struct kvnet_devices *now,
		   unsigned int *n);
double rate_cpu(const struct kvnet_devices *then, const struct kvnet_devices *now,
		const struct kvnet_device *dev);

#endif /* KVNETCTL_RATE_H */
