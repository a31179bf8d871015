/* SPDX-License-Identifier: GPL-2.0 */
/*
 * features.h - what kvnet offers, and what may go together
 */
#ifndef _KVNET_FEATURES_H
#define _KVNET_FEATURES_H

#include <linux/types.h>

#define KVNET_BACKEND_FEATURES	0ULL

u64 kvnet_features_offered(void);
int kvnet_features_check(u64 features);
bool kvnet_features_le(u64 features);

#endif /* _KVNET_FEATURES_H */
