/* SPDX-License-Identifier: GPL-2.0 */
/*
 * place - where the workers of a device run, and how: the system calls for any thread
 *
 * The module tells the workers' threads, and knows no CPU, class or nice value.
 */
#ifndef KVNETCTL_WORKER_SCHED_H
#define KVNETCTL_WORKER_SCHED_H

#include "libkvnet.h"

bool worker_sched_is_cpu_list(const char *list);
int worker_sched_apply(const struct kvnet_device *dev, const struct kvnet_policy *p, char **why);

#endif /* KVNETCTL_WORKER_SCHED_H */
