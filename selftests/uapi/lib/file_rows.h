/* SPDX-License-Identifier: GPL-2.0 */
/* The rows for what is not an ioctl, without an IOTLB: 0, 1 or -errno. */
#ifndef SELFTESTS_FILE_ROWS_H
#define SELFTESTS_FILE_ROWS_H

#include "row.h"

static int read_blocking(int fd)
{
	struct vhost_msg m;

	return read(fd, &m, sizeof(m)) < 0 ? -errno : 1;
}

static int read_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL), ret;

	ASSERT_SYS(fcntl(fd, F_SETFL, flags | O_NONBLOCK));
	ret = read_blocking(fd);
	ASSERT_SYS(fcntl(fd, F_SETFL, flags));
	return ret;
}

static int read_short(int fd)
{
	uint8_t b[sizeof(struct vhost_msg) - 1];

	return read(fd, b, sizeof(b)) < 0 ? -errno : 0;
}

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	ASSERT_SYS(poll(&p, 1, 0));
	return p.revents ? -EEXIST : 0;
}

static int write_bytes(int fd, const void *data, size_t len)
{
	return write(fd, data, len) < 0 ? -errno : 1;
}

static int write_nothing(int fd)
{
	return write_bytes(fd, "", 0);
}

static int write_half_a_type(int fd)
{
	return write_bytes(fd, "\1\0", 2);
}

static int write_type_0(int fd)
{
	struct vhost_msg m = { .iotlb.type = VHOST_IOTLB_INVALIDATE };

	return write_bytes(fd, &m, sizeof(m));
}

static int write_short(int fd)
{
	struct vhost_msg_v2 m = { .type = VHOST_IOTLB_MSG_V2 };

	return write_bytes(fd, &m, offsetof(struct vhost_msg_v2, iotlb) +
			   sizeof(m.iotlb) - 1);
}

static int write_without_padding(int fd)
{
	struct vhost_msg_v2 m = { .type = VHOST_IOTLB_MSG_V2 };

	return write_bytes(fd, &m, offsetof(struct vhost_msg_v2, iotlb) +
			   sizeof(m.iotlb));
}

static int write_update(int fd)
{
	struct vhost_msg m = { .type = VHOST_IOTLB_MSG, .iotlb = {
		.type = VHOST_IOTLB_UPDATE, .size = 4096, .uaddr = USER_ADDR,
		.perm = VHOST_ACCESS_RW } };

	return write_bytes(fd, &m, sizeof(m));
}

static int write_update_of_nothing(int fd)
{
	struct vhost_msg_v2 m = { .type = VHOST_IOTLB_MSG_V2, .iotlb = {
		.type = VHOST_IOTLB_UPDATE, .perm = VHOST_ACCESS_RW } };

	return write_bytes(fd, &m, sizeof(m));
}

static int write_invalidate_v2(int fd)
{
	struct vhost_msg_v2 m = { .type = VHOST_IOTLB_MSG_V2, .iotlb = {
		.type = VHOST_IOTLB_INVALIDATE, .size = 4096 } };

	return write_bytes(fd, &m, sizeof(m));
}

static int seek(int fd)
{
	return lseek(fd, 10, SEEK_SET) < 0 ? -errno : 0;
}

static int map(int fd)
{
	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ?
		-errno : 0;
}

static int sync_it(int fd)
{
	return fsync(fd) ? -errno : 0;
}

static int truncate_it(int fd)
{
	return ftruncate(fd, 0) ? -errno : 0;
}

static const struct file_row {
	const char *what;
	int (*fn)(int fd);
	int err;
} file_rows[] = {
	{ "read", read_blocking, EBADFD },
	{ "read, non-blocking", read_nonblocking, EAGAIN },
	{ "read, too short", read_short, 0 },
	{ "poll", poll_now, 0 },
	{ "write nothing", write_nothing, EINVAL },
	{ "write half a type", write_half_a_type, EINVAL },
	{ "write a type 0", write_type_0, EINVAL },
	{ "write a short message", write_short, EINVAL },
	{ "write an empty message", write_without_padding, EFAULT },
	{ "write an update", write_update, EFAULT },
	{ "write an update of nothing", write_update_of_nothing, EINVAL },
	{ "write an invalidation", write_invalidate_v2, EFAULT },
	{ "lseek", seek, 0 }, { "mmap", map, ENODEV },
	{ "fsync", sync_it, EINVAL }, { "ftruncate", truncate_it, EINVAL },
};

#endif /* SELFTESTS_FILE_ROWS_H */
