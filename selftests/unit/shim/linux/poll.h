/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_POLL_H
#define UNIT_SHIM_LINUX_POLL_H

#define EPOLLIN		0x001
#define EPOLLRDNORM	0x040

#endif /* UNIT_SHIM_LINUX_POLL_H */
