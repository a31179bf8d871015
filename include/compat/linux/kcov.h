/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_KCOV_H
#define _KVNET_COMPAT_KCOV_H

#include_next <linux/kcov.h>

/* A number; a structure with it in some kernels after 6.12. */
typedef typeof(kcov_common_handle()) compat_kcov_handle;

#endif /* _KVNET_COMPAT_KCOV_H */
