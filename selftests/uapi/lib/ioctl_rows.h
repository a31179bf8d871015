/* SPDX-License-Identifier: GPL-2.0 */
/* The rows for what every VMM uses: see row.h. */
#ifndef SELFTESTS_IOCTL_ROWS_H
#define SELFTESTS_IOCTL_ROWS_H

#include "row.h"

#define STOPPED_OK	"checks user addresses only with a backend attached"

static const struct row without_owner[] = {
	{ "RESET_OWNER", VHOST_RESET_OWNER, NULL, EPERM },
	{ "SET_MEM_TABLE", VHOST_SET_MEM_TABLE, MEM1({ 0 }), EPERM },
	{ "SET_VRING_NUM", VHOST_SET_VRING_NUM, STATE(0, 256), EPERM },
	{ "SET_VRING_BASE", VHOST_SET_VRING_BASE, STATE(0, 0), EPERM },
	{ "GET_VRING_BASE", VHOST_GET_VRING_BASE, STATE(0, 0), EPERM },
	{ "SET_VRING_ADDR", VHOST_SET_VRING_ADDR, ADDR(0), EPERM },
	{ "SET_VRING_KICK", VHOST_SET_VRING_KICK, VFILE(0, -1), EPERM },
	{ "SET_VRING_CALL", VHOST_SET_VRING_CALL, VFILE(0, -1), EPERM },
	{ "SET_VRING_ERR", VHOST_SET_VRING_ERR, VFILE(0, -1), EPERM },
	{ "SET_BACKEND", VHOST_NET_SET_BACKEND, VFILE(0, -1), EPERM },
	{ "unknown ioctl", _IOW(VHOST_VIRTIO, 0x7f, int), STATE(0, 0), EPERM },
};

static const struct row with_nothing_set[] = {
	{ "SET_BACKEND, nothing set", VHOST_NET_SET_BACKEND, VFILE(0, FD_SELF),
	  EFAULT },
	{ "SET_BACKEND -1, nothing set", VHOST_NET_SET_BACKEND, VFILE(1, -1), 0,
	  VHOST("QEMU aborts if unbinding fails; vhost checks the ring",
		EFAULT) },
};

static const struct row with_owner[] = {
	{ "SET_OWNER again", VHOST_SET_OWNER, NULL, EBUSY },
	{ "features 1<<63", VHOST_SET_FEATURES, U64(1ull << 63), EOPNOTSUPP },
	{ "features 1<<0", VHOST_SET_FEATURES, U64(1), EOPNOTSUPP },
	{ "backend features", VHOST_SET_BACKEND_FEATURES, U64(1ull << 60),
	  EOPNOTSUPP },
	{ "unknown, index 0", _IOW(VHOST_VIRTIO, 0x7f, int), STATE(0, 0),
	  ENOTTY },
	{ "unknown, index 7", _IOW(VHOST_VIRTIO, 0x7f, int), STATE(7, 0),
	  ENOBUFS },
	{ "unknown, no argument", _IOW(VHOST_VIRTIO, 0x7f, int), NULL, EFAULT },
	{ "foreign ioctl", 0x5401, STATE(0, 0), ENOTTY },
	BAD_INDEX(VHOST_SET_VRING_NUM), BAD_INDEX(VHOST_SET_VRING_BASE),
	BAD_INDEX(VHOST_GET_VRING_BASE), BAD_INDEX(VHOST_SET_VRING_ADDR),
	BAD_INDEX(VHOST_SET_VRING_KICK), BAD_INDEX(VHOST_SET_VRING_CALL),
	BAD_INDEX(VHOST_SET_VRING_ERR), BAD_INDEX(VHOST_NET_SET_BACKEND),
};

static const struct row when_ready[] = {
	{ "NUM 0", VHOST_SET_VRING_NUM, STATE(0, 0), EINVAL },
	{ "NUM 3", VHOST_SET_VRING_NUM, STATE(0, 3), EINVAL },
	{ "NUM 255", VHOST_SET_VRING_NUM, STATE(1, 255), EINVAL },
	{ "NUM 65535", VHOST_SET_VRING_NUM, STATE(1, 65535), EINVAL },
	{ "NUM 65536", VHOST_SET_VRING_NUM, STATE(1, 65536), EINVAL },
	{ "NUM 1<<31", VHOST_SET_VRING_NUM, STATE(1, 1u << 31), EINVAL },
	{ "BASE 65536", VHOST_SET_VRING_BASE, STATE(0, 65536), EINVAL },
	{ "BASE -1", VHOST_SET_VRING_BASE, STATE(0, -1u), EINVAL },
	{ "ADDR flags 2", VHOST_SET_VRING_ADDR, ADDR(0, 2), EOPNOTSUPP },
	{ "ADDR flags -1", VHOST_SET_VRING_ADDR, ADDR(0, -1u), EOPNOTSUPP },
	{ "ADDR avail odd", VHOST_SET_VRING_ADDR,
	  ADDR(.avail_user_addr = 4097), EINVAL },
	{ "ADDR used + 2", VHOST_SET_VRING_ADDR,
	  ADDR(.used_user_addr = 4098), EINVAL },
	{ "MEM padding", VHOST_SET_MEM_TABLE,
	  (&(const struct mem2){ { .padding = 1 } }), EOPNOTSUPP },
	{ "MEM 65536 regions", VHOST_SET_MEM_TABLE,
	  (&(const struct mem2){ { .nregions = 65536 } }), E2BIG },
	{ "MEM -1 regions", VHOST_SET_MEM_TABLE,
	  (&(const struct mem2){ { .nregions = -1u } }), E2BIG },
	{ "MEM size 0", VHOST_SET_MEM_TABLE,
	  MEM1(REG(4096, 0, USER_ADDR)), EFAULT },
	{ "MEM size 0 at 0", VHOST_SET_MEM_TABLE,
	  MEM1(REG(0, 0, USER_ADDR)), EFAULT,
	  VHOST("takes it for all of memory", 0) },
	{ "MEM guest address wraps", VHOST_SET_MEM_TABLE,
	  MEM1(REG(-4096ull, 8192, USER_ADDR)), EFAULT },
	{ "MEM user address wraps", VHOST_SET_MEM_TABLE,
	  MEM1(REG(0, 8192, -4096ull)), EFAULT,
	  VHOST(STOPPED_OK, 0) },
	{ "MEM kernel address", VHOST_SET_MEM_TABLE,
	  MEM1(REG(0, 4096, KERNEL_ADDR)), EFAULT,
	  VHOST(STOPPED_OK, 0) },
	{ "MEM runs into the kernel", VHOST_SET_MEM_TABLE,
	  MEM1(REG(0, KERNEL_ADDR, USER_ADDR)), EFAULT,
	  VHOST(STOPPED_OK, 0) },
	{ "MEM second region bad", VHOST_SET_MEM_TABLE,
	  MEM2(REG(0, 4096, USER_ADDR), REG(8192, 0, USER_ADDR)), EFAULT },
	{ "MEM regions overlap", VHOST_SET_MEM_TABLE,
	  MEM2(REG(0, 8192, USER_ADDR), REG(4096, 8192, USER_ADDR)), EINVAL,
	  VHOST("takes the first that it finds", 0) },
	{ "BACKEND closed", VHOST_NET_SET_BACKEND, VFILE(0, FD_CLOSED),
	  ENOTSOCK },
	{ "BACKEND huge", VHOST_NET_SET_BACKEND, VFILE(0, FD_HUGE), ENOTSOCK },
	{ "BACKEND memfd", VHOST_NET_SET_BACKEND, VFILE(0, FD_MEM), ENOTSOCK },
	{ "BACKEND eventfd", VHOST_NET_SET_BACKEND, VFILE(1, FD_EVENT),
	  ENOTSOCK },
	{ "BACKEND directory", VHOST_NET_SET_BACKEND, VFILE(1, FD_DIR),
	  ENOTSOCK },
	{ "BACKEND pipe", VHOST_NET_SET_BACKEND, VFILE(1, FD_PIPE), ENOTSOCK },
	{ "BACKEND UDP", VHOST_NET_SET_BACKEND, VFILE(0, FD_UDP), ENOTSOCK },
	{ "BACKEND packet/DGRAM", VHOST_NET_SET_BACKEND, VFILE(0, FD_DGRAM),
	  ENOTSOCK },
	{ "BACKEND IP/RAW", VHOST_NET_SET_BACKEND, VFILE(0, FD_INET_RAW),
	  ENOTSOCK },
	{ "BACKEND unix", VHOST_NET_SET_BACKEND, VFILE(1, FD_UNIX), ENOTSOCK },
	{ "BACKEND tun without a device", VHOST_NET_SET_BACKEND,
	  VFILE(0, FD_TUN), EINVAL },
	{ "BACKEND itself", VHOST_NET_SET_BACKEND, VFILE(0, FD_SELF),
	  ENOTSOCK },
#define EVENTFD_ROWS(req)	\
	{ #req " closed", req, VFILE(0, FD_CLOSED), EBADF }, \
	{ #req " huge", req, VFILE(1, FD_HUGE), EBADF }, \
	{ #req " memfd", req, VFILE(0, FD_MEM), EINVAL }, \
	{ #req " pipe", req, VFILE(1, FD_PIPE), EINVAL }, \
	{ #req " itself", req, VFILE(1, FD_SELF), EINVAL }
	EVENTFD_ROWS(VHOST_SET_VRING_KICK),
	EVENTFD_ROWS(VHOST_SET_VRING_CALL),
	EVENTFD_ROWS(VHOST_SET_VRING_ERR),
};

static const struct row when_running[] = {
	{ "NUM", VHOST_SET_VRING_NUM, STATE(0, 256), EBUSY },
	{ "NUM, bad", VHOST_SET_VRING_NUM, STATE(1, 3), EBUSY },
	{ "BASE", VHOST_SET_VRING_BASE, STATE(0, 0), EBUSY },
	{ "BASE", VHOST_SET_VRING_BASE, STATE(1, 17), EBUSY },
	{ "ADDR in the kernel", VHOST_SET_VRING_ADDR,
	  ADDR(.desc_user_addr = KERNEL_ADDR, .avail_user_addr = USER_ADDR,
	       .used_user_addr = USER_ADDR), EINVAL },
	{ "ADDR used in the kernel", VHOST_SET_VRING_ADDR,
	  ADDR(.desc_user_addr = USER_ADDR, .avail_user_addr = USER_ADDR,
	       .used_user_addr = KERNEL_ADDR), EINVAL },
	{ "MEM kernel address", VHOST_SET_MEM_TABLE,
	  MEM1(REG(0, 4096, KERNEL_ADDR)), EFAULT },
};

/* Which ones take a pointer; each must look at all of it, and stop there. */
static const struct {
	const char *what;
	unsigned long req;
	size_t size;
} pointers[] = {
#define P(req, type)	{ #req, req, sizeof(type) }
	P(VHOST_GET_FEATURES, uint64_t), P(VHOST_SET_FEATURES, uint64_t),
	P(VHOST_GET_BACKEND_FEATURES, uint64_t),
	P(VHOST_SET_BACKEND_FEATURES, uint64_t),
	P(VHOST_SET_MEM_TABLE, struct mem2),
	P(VHOST_SET_VRING_NUM, struct vhost_vring_state),
	P(VHOST_SET_VRING_BASE, struct vhost_vring_state),
	P(VHOST_GET_VRING_BASE, struct vhost_vring_state),
	P(VHOST_SET_VRING_ADDR, struct vhost_vring_addr),
	P(VHOST_SET_VRING_KICK, struct vhost_vring_file),
	P(VHOST_SET_VRING_CALL, struct vhost_vring_file),
	P(VHOST_SET_VRING_ERR, struct vhost_vring_file),
	P(VHOST_NET_SET_BACKEND, struct vhost_vring_file),
	P(VHOST_SET_LOG_BASE, uint64_t), P(VHOST_SET_LOG_FD, int),
	P(VHOST_SET_VRING_BUSYLOOP_TIMEOUT, struct vhost_vring_state),
	P(VHOST_GET_VRING_BUSYLOOP_TIMEOUT, struct vhost_vring_state),
};

#endif /* SELFTESTS_IOCTL_ROWS_H */
