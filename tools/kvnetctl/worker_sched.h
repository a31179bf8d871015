/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker_sched - affinity and scheduling of the workers of a device, by system calls
 *
 * The module reports the TIDs of workers, and has no policy for CPUs, class or nice value.
 */
#ifndef KVNETCTL_WORKER_SCHED_H
#define KVNETCTL_WORKER_SCHED_H

#include "libkvnet.h"

bool worker_sched_is_cpu_list(const char *list);
int worker_sched_apply(const struct kvnet_device *dev, const struct kvnet_policy *p, char **why);

#endif /* KVNETCTL_WORKER_SCHED_H */
