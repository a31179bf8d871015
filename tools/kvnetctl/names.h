/* SPDX-License-Identifier: GPL-2.0 */
/*
 * names - what numbers of the kernel are called
 */
#ifndef KVNETCTL_NAMES_H
#define KVNETCTL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

const char *name_state(uint32_t state);
const char *name_layout(uint32_t layout);
const char *name_access(uint32_t access);
const char *name_backend(uint32_t backend);
const char *name_shortcut(uint32_t state);
const char *name_kind(uint32_t kind);
const char *name_sched(uint32_t sched);
const char *name_queue(uint32_t index);
const char *name_feature(unsigned int bit);
const char *name_errno(unsigned int err);
bool sched_by_name(const char *name, uint32_t *sched);

#endif /* KVNETCTL_NAMES_H */
