/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows for the rest of the ABI: what only some VMMs use, some only at
 * times, and what newer kernels have added.  See row.h.
 */
#ifndef SELFTESTS_ABI_ROWS_H
#define SELFTESTS_ABI_ROWS_H

#include "row.h"

#define F_LOG		BIT64(VHOST_F_LOG_ALL)
#define BUSY		VHOST_SET_VRING_BUSYLOOP_TIMEOUT
#define GET_BUSY	VHOST_GET_VRING_BUSYLOOP_TIMEOUT

#define BEFORE_6_17	"this kernel's vhost_net does not know it"

/* What vhost_net answers where it lacks the ioctls for arrays of features, or for a worker's kind. */
#define LACKS_ARRAY(err)	VHOST(BEFORE_6_17, err, NO_ARRAY)
#define LACKS_FORK(err)		VHOST(BEFORE_6_17, err, NO_FORK)
/* What it answers to a count that is too large. */
#define NO_BOUND(err)	\
	.vhost = { { "reads words until the owner's memory ends", err, HAS_ARRAY }, \
		   { BEFORE_6_17, ENOBUFS, NO_ARRAY } }
#define LITTLE_ENDIAN_ONLY	\
	VHOST("knows it where legacy guests may be big-endian", ENOTTY, NO_ENDIAN)
/* A bit that no device offers, in so many words. */
#define REFUSED_BIT(bit, ...)	\
	{ "SET_FEATURES_ARRAY bit " #bit, VHOST_SET_FEATURES_ARRAY, WORDS(__VA_ARGS__), \
	  EOPNOTSUPP, LACKS_ARRAY(ENOBUFS) }

/* For each process that has the descriptor, owner or not. */
static const struct row for_each_process[] = {
	{ "GET_FEATURES", VHOST_GET_FEATURES, U64(0), 0 },
	{ "GET_BACKEND_FEATURES", VHOST_GET_BACKEND_FEATURES, U64(0), 0 },
	{ "SET_BACKEND_FEATURES 0", VHOST_SET_BACKEND_FEATURES, U64(0), 0 },
	{ "SET_BACKEND_FEATURES bit 0", VHOST_SET_BACKEND_FEATURES, U64(1),
	  EOPNOTSUPP },
	{ "SET_BACKEND_FEATURES bits 2 to 5", VHOST_SET_BACKEND_FEATURES,
	  U64(0x3c), EOPNOTSUPP },
	{ "SET_FEATURES, packed ring", VHOST_SET_FEATURES, U64(BIT64(34)),
	  EOPNOTSUPP },
	{ "SET_FEATURES, a device's own", VHOST_SET_FEATURES, U64(BIT64(5)),
	  EOPNOTSUPP },
};

/* Before there is an owner. */
static const struct row new_device[] = {
	{ "GET_FEATURES_ARRAY 0", VHOST_GET_FEATURES_ARRAY, WORDS(0), 0, LACKS_ARRAY(EPERM) },
	{ "GET_FEATURES_ARRAY 2", VHOST_GET_FEATURES_ARRAY, WORDS(2), 0, LACKS_ARRAY(EPERM) },
	{ "SET_FEATURES_ARRAY 1", VHOST_SET_FEATURES_ARRAY, WORDS(1, { F_V1 }),
	  0, LACKS_ARRAY(EPERM) },
	{ "GET_FORK_FROM_OWNER", VHOST_GET_FORK_FROM_OWNER, U8(0), 0, LACKS_FORK(EPERM) },
	{ "SET_FORK_FROM_OWNER 2", VHOST_SET_FORK_FROM_OWNER, U8(2), EINVAL, LACKS_FORK(EPERM) },
	{ "SET_FORK_FROM_OWNER 255", VHOST_SET_FORK_FROM_OWNER, U8(255),
	  EINVAL, LACKS_FORK(EPERM) },
	{ "SET_FORK_FROM_OWNER task", VHOST_SET_FORK_FROM_OWNER,
	  U8(VHOST_FORK_OWNER_TASK), 0, LACKS_FORK(EPERM), .without_task = EOPNOTSUPP },
	{ "SET_FORK_FROM_OWNER kthread", VHOST_SET_FORK_FROM_OWNER,
	  U8(VHOST_FORK_OWNER_KTHREAD), 0, LACKS_FORK(EPERM) },
	{ "SET_FORK_FROM_OWNER, no argument", VHOST_SET_FORK_FROM_OWNER, NULL,
	  EFAULT, LACKS_FORK(EPERM) },
};

/* Refused to a process that is not the owner. */
static const struct row abi_without_owner[] = {
	{ "NEW_WORKER", VHOST_NEW_WORKER, STATE(0, 0), EPERM },
	{ "FREE_WORKER", VHOST_FREE_WORKER, STATE(0, 0), EPERM },
	{ "ATTACH_VRING_WORKER", VHOST_ATTACH_VRING_WORKER, STATE(0, 0), EPERM },
	{ "GET_VRING_WORKER", VHOST_GET_VRING_WORKER, STATE(0, 0), EPERM },
	{ "SET_LOG_BASE", VHOST_SET_LOG_BASE, U64(0), EPERM },
	{ "SET_LOG_FD", VHOST_SET_LOG_FD, INT(-1), EPERM },
	{ "SET_VRING_ENDIAN", VHOST_SET_VRING_ENDIAN, STATE(0, 0), EPERM },
	{ "GET_VRING_ENDIAN", VHOST_GET_VRING_ENDIAN, STATE(0, 0), EPERM },
	{ "SET_VRING_BUSYLOOP_TIMEOUT", BUSY, STATE(0, 0), EPERM },
	{ "GET_VRING_BUSYLOOP_TIMEOUT", GET_BUSY, STATE(0, 0), EPERM },
	{ "SCSI_SET_ENDPOINT", VHOST_SCSI_SET_ENDPOINT, NULL, EPERM },
};

/* With another owner the same, but for these. */
static const struct row with_another_owner[] = {
	{ "SET_OWNER", VHOST_SET_OWNER, NULL, EBUSY },
	{ "SET_FORK_FROM_OWNER", VHOST_SET_FORK_FROM_OWNER, U8(0), EBUSY, LACKS_FORK(EPERM) },
};

static const struct row abi_with_owner[] = {
	{ "SET_FORK_FROM_OWNER, late", VHOST_SET_FORK_FROM_OWNER, U8(0), EBUSY,
	  LACKS_FORK(ENOTTY) },
	{ "SET_FORK_FROM_OWNER, late and bad", VHOST_SET_FORK_FROM_OWNER, U8(9),
	  EBUSY, LACKS_FORK(ENOBUFS) },
	{ "GET_FORK_FROM_OWNER", VHOST_GET_FORK_FROM_OWNER, U8(0), 0, LACKS_FORK(ENOTTY) },
	{ "GET_FEATURES_ARRAY 1", VHOST_GET_FEATURES_ARRAY, WORDS(1), 0, LACKS_ARRAY(ENOTTY) },
	{ "GET_FEATURES_ARRAY 4", VHOST_GET_FEATURES_ARRAY, WORDS(4), 0, LACKS_ARRAY(ENOBUFS) },
	{ "GET_FEATURES_ARRAY 64", VHOST_GET_FEATURES_ARRAY, WORDS(64), 0, LACKS_ARRAY(ENOBUFS) },
	{ "GET_FEATURES_ARRAY 65", VHOST_GET_FEATURES_ARRAY, WORDS(65), E2BIG, NO_BOUND(0) },
	{ "GET_FEATURES_ARRAY, no end", VHOST_GET_FEATURES_ARRAY, WORDS(-1ull),
	  E2BIG, NO_BOUND(EFAULT) },
	{ "GET_FEATURES_ARRAY, wraps", VHOST_GET_FEATURES_ARRAY,
	  WORDS(BIT64(61) + 2), E2BIG, NO_BOUND(EFAULT) },
	{ "SET_FEATURES_ARRAY, no end", VHOST_SET_FEATURES_ARRAY,
	  WORDS(-1ull, { F_V1 }), E2BIG, NO_BOUND(EFAULT) },
	REFUSED_BIT(0, 2, { 1, 0 }),
	REFUSED_BIT(64, 2, { F_V1, 1 }),
	REFUSED_BIT(127, 2, { F_V1, BIT64(63) }),
	REFUSED_BIT(128, 3, { F_V1, 0, 1 }),
	REFUSED_BIT(192, 4, { F_V1, 0, 0, 1 }),
	{ "SET_FEATURES_ARRAY, no argument", VHOST_SET_FEATURES_ARRAY,
	  NULL, EFAULT },
	{ "SET_LOG_FD closed", VHOST_SET_LOG_FD, INT(FD_CLOSED), EBADF },
	{ "SET_LOG_FD huge", VHOST_SET_LOG_FD, INT(FD_HUGE), EBADF },
	{ "SET_LOG_FD memfd", VHOST_SET_LOG_FD, INT(FD_MEM), EINVAL },
	{ "SET_LOG_FD pipe", VHOST_SET_LOG_FD, INT(FD_PIPE), EINVAL },
	{ "SET_LOG_FD itself", VHOST_SET_LOG_FD, INT(FD_SELF), EINVAL },
	{ "SET_LOG_FD eventfd", VHOST_SET_LOG_FD, INT(FD_EVENT), 0 },
	{ "SET_LOG_FD none", VHOST_SET_LOG_FD, INT(-1), 0 },
	{ "SET_LOG_BASE 0", VHOST_SET_LOG_BASE, U64(0), 0 },
	/* vhost-scsi's alone */
	{ "NEW_WORKER, no argument", VHOST_NEW_WORKER, NULL, EFAULT },
	{ "NEW_WORKER", VHOST_NEW_WORKER, STATE(0, 0), ENOTTY },
	{ "FREE_WORKER 1", VHOST_FREE_WORKER, STATE(1, 0), ENOTTY },
	{ "FREE_WORKER 2", VHOST_FREE_WORKER, STATE(2, 0), ENOBUFS },
	{ "ATTACH_VRING_WORKER", VHOST_ATTACH_VRING_WORKER, STATE(0, 0), ENOTTY },
	{ "GET_VRING_WORKER", VHOST_GET_VRING_WORKER, STATE(1, 0), ENOTTY },
	{ "SCSI_SET_ENDPOINT", VHOST_SCSI_SET_ENDPOINT, NULL, EFAULT },
	{ "VSOCK_SET_GUEST_CID", VHOST_VSOCK_SET_GUEST_CID, U64(1), ENOTTY },
	{ "VSOCK_SET_GUEST_CID 3", VHOST_VSOCK_SET_GUEST_CID, U64(3), ENOBUFS },
	{ "GET_VRING_ENDIAN", VHOST_GET_VRING_ENDIAN, STATE(1, 7), 0, LITTLE_ENDIAN_ONLY },
	{ "GET_VRING_BUSYLOOP_TIMEOUT", GET_BUSY, STATE(1, 7), 0 },
	BAD_INDEX(VHOST_SET_VRING_ENDIAN), BAD_INDEX(VHOST_GET_VRING_ENDIAN),
	BAD_INDEX(BUSY), BAD_INDEX(GET_BUSY),
	BAD_INDEX(VHOST_ATTACH_VRING_WORKER), BAD_INDEX(VHOST_GET_VRING_WORKER),
};

/* Not on a device that is of use later: 6.1's vhost_net keeps the IOTLB. */
static const struct row abi_owner_only[] = {
	{ "SET_FEATURES ACCESS_PLATFORM", VHOST_SET_FEATURES,
	  U64(F_V1 | F_PLATFORM), 0 },
	{ "SET_FEATURES, all off again", VHOST_SET_FEATURES, U64(0), 0 },
};

/* Some of these are accepted: row_restore() comes after them. */
static const struct row abi_when_ready[] = {
	{ "SET_FEATURES, all off", VHOST_SET_FEATURES, U64(0), 0 },
	{ "SET_FEATURES LOG_ALL", VHOST_SET_FEATURES, U64(F_V1 | F_LOG), 0 },
	{ "SET_FEATURES_ARRAY 0", VHOST_SET_FEATURES_ARRAY, WORDS(0), 0, LACKS_ARRAY(ENOTTY) },
	{ "SET_FEATURES_ARRAY 4", VHOST_SET_FEATURES_ARRAY,
	  WORDS(4, { F_V1 }), 0, LACKS_ARRAY(ENOBUFS) },
	{ "SET_BACKEND_FEATURES MSG_V2", VHOST_SET_BACKEND_FEATURES,
	  U64(2), 0 },
	{ "SET_LOG_BASE in the kernel", VHOST_SET_LOG_BASE, U64(KERNEL_ADDR),
	  0 },
	{ "SET_LOG_BASE none", VHOST_SET_LOG_BASE, U64(0), 0 },
	{ "SET_VRING_ENDIAN 2", VHOST_SET_VRING_ENDIAN, STATE(0, 2), EINVAL, LITTLE_ENDIAN_ONLY },
	{ "SET_VRING_ENDIAN -1", VHOST_SET_VRING_ENDIAN, STATE(1, -1u), EINVAL,
	  LITTLE_ENDIAN_ONLY },
	{ "SET_VRING_ENDIAN big", VHOST_SET_VRING_ENDIAN, STATE(0, 1), 0, LITTLE_ENDIAN_ONLY },
	{ "SET_VRING_ENDIAN little", VHOST_SET_VRING_ENDIAN, STATE(1, 0), 0, LITTLE_ENDIAN_ONLY },
	{ "BUSYLOOP 50", BUSY, STATE(0, 50), 0 },
	{ "BUSYLOOP -1", BUSY, STATE(0, -1u), 0 },
	{ "ADDR log + 2", VHOST_SET_VRING_ADDR, ADDR(.log_guest_addr = 2),
	  EINVAL },
	{ "ADDR LOG, log + 1", VHOST_SET_VRING_ADDR,
	  ADDR(.flags = 1, .log_guest_addr = 1), EINVAL },
	{ "ADDR LOG", VHOST_SET_VRING_ADDR, ADDR(.flags = 1), 0 },
};

static const struct row abi_when_running[] = {
	{ "SET_VRING_ENDIAN", VHOST_SET_VRING_ENDIAN, STATE(0, 0), EBUSY, LITTLE_ENDIAN_ONLY },
	{ "SET_VRING_ENDIAN, bad", VHOST_SET_VRING_ENDIAN, STATE(1, 9), EBUSY, LITTLE_ENDIAN_ONLY },
	{ "ADDR LOG, out of reach", VHOST_SET_VRING_ADDR,
	  ADDR(.flags = 1, .desc_user_addr = USER_ADDR, .avail_user_addr =
	       USER_ADDR, .used_user_addr = USER_ADDR, .log_guest_addr = -4ull),
	  EINVAL },
	{ "ADDR log + 2", VHOST_SET_VRING_ADDR, ADDR(.log_guest_addr = 2),
	  EINVAL },
	{ "BUSYLOOP 50", BUSY, STATE(0, 50), 0 },
	{ "BUSYLOOP 0", BUSY, STATE(0, 0), 0 },
};

/* LOG_ALL acknowledged, a log given. */
static const struct row when_logging[] = {
	{ "SET_LOG_BASE in the kernel", VHOST_SET_LOG_BASE, U64(KERNEL_ADDR),
	  EFAULT },
	{ "SET_LOG_BASE wraps", VHOST_SET_LOG_BASE, U64(-4096ull), EFAULT },
	{ "SET_LOG_FD closed", VHOST_SET_LOG_FD, INT(FD_CLOSED), EBADF },
	{ "SET_LOG_FD eventfd", VHOST_SET_LOG_FD, INT(FD_EVENT), 0 },
	{ "SET_LOG_FD none", VHOST_SET_LOG_FD, INT(-1), 0 },
	{ "ADDR LOG, out of reach", VHOST_SET_VRING_ADDR,
	  ADDR(.flags = 1, .desc_user_addr = USER_ADDR, .avail_user_addr =
	       USER_ADDR, .used_user_addr = USER_ADDR, .log_guest_addr = -4ull),
	  EINVAL },
	{ "ADDR LOG, bits out of reach", VHOST_SET_VRING_ADDR,
	  ADDR(.flags = 1, .desc_user_addr = USER_ADDR, .avail_user_addr =
	       USER_ADDR, .used_user_addr = USER_ADDR, .log_guest_addr = BIT64(63)),
	  EINVAL },
	{ "MEM a region beyond the log", VHOST_SET_MEM_TABLE,
	  MEM1(REG(-8192ull, 4096, USER_ADDR)), EFAULT },
};

#endif /* SELFTESTS_ABI_ROWS_H */
