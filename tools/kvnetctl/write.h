/* SPDX-License-Identifier: GPL-2.0 */
/*
 * write - parts of the output that several commands have
 */
#ifndef KVNETCTL_WRITE_H
#define KVNETCTL_WRITE_H

#include "json.h"
#include "libkvnet.h"

char *tap_text(const struct kvnet_device *dev);
char *device_text(const struct kvnet_device *dev, const char *between);
void write_tap(struct json *w, const struct kvnet_device *dev);
void write_owner(struct json *w, const struct kvnet_device *dev);
void write_state(struct json *w, const char *key, const struct kvnet_queue *q);
void write_features(struct json *w, const char *key, const uint64_t *words);

#endif /* KVNETCTL_WRITE_H */
