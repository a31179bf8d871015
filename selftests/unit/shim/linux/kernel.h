/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_KERNEL_H
#define UNIT_SHIM_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <asm/barrier.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#endif /* UNIT_SHIM_LINUX_KERNEL_H */
