/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_STRING_H
#define UNIT_SHIM_LINUX_STRING_H

#include <string.h>

#endif /* UNIT_SHIM_LINUX_STRING_H */
