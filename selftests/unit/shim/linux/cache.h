/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_CACHE_H
#define UNIT_SHIM_LINUX_CACHE_H

#define SMP_CACHE_BYTES	64

#endif /* UNIT_SHIM_LINUX_CACHE_H */
