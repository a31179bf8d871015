/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_UIO_H
#define UNIT_SHIM_LINUX_UIO_H

#include <sys/uio.h>

#endif /* UNIT_SHIM_LINUX_UIO_H */
