// SPDX-License-Identifier: GPL-2.0
/*
 * A file system that is one file, see slow_file.h: as much of the protocol of <linux/fuse.h>
 * as is needed to open it and to map it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ksft.h"
#include "slow_file.h"

#define CHUNK	(256u << 10)	/* more than is read at once */
#define MOST	128		/* reads that wait for an answer */

static struct {
	int fd;
	size_t size;
	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	bool delivers;
	unsigned int asked;
	struct {
		struct fuse_in_header in;
		size_t size;
	} waits[MOST];
} slow = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const uint8_t zeroes[CHUNK];

/* Of a request that is not there any more, ENOENT. */
static void reply(const struct fuse_in_header *to, int error, const void *data, size_t len)
{
	uint8_t buf[sizeof(struct fuse_out_header) + CHUNK];
	struct fuse_out_header *h = (void *)buf;

	memset(h, 0, sizeof(*h));
	h->len = sizeof(*h) + len;
	h->error = -error;
	h->unique = to->unique;
	memcpy(h + 1, data, len);
	if (write(slow.fd, buf, h->len) < 0)
		EXPECT_EQ(errno, ENOENT);
}

/* Nothing is read ahead: that could be waited for otherwise. */
static void init(const struct fuse_in_header *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = 4096,
	};

	reply(in, 0, &out, sizeof(out));
}

static void getattr(const struct fuse_in_header *in)
{
	struct fuse_attr_out out = {
		.attr_valid = 3600,
		.attr = { .ino = FUSE_ROOT_ID, .size = slow.size, .mode = S_IFREG | 0600, .nlink = 1 },
	};

	reply(in, 0, &out, sizeof(out));
}

static void read_some(const struct fuse_in_header *in)
{
	const struct fuse_read_in *r = (const void *)(in + 1);
	size_t size = r->size < CHUNK ? r->size : CHUNK;

	pthread_mutex_lock(&slow.lock);
	if (slow.delivers) {
		reply(in, 0, zeroes, size);
	} else {
		ASSERT(slow.asked < MOST);
		slow.waits[slow.asked].in = *in;
		slow.waits[slow.asked].size = size;
		slow.asked++;
	}
	pthread_mutex_unlock(&slow.lock);
}

static void answer(const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT:
		return init(in);
	case FUSE_GETATTR:
		return getattr(in);
	case FUSE_OPEN:
		return reply(in, 0, &(struct fuse_open_out){ .open_flags = FOPEN_KEEP_CACHE },
			     sizeof(struct fuse_open_out));
	case FUSE_READ:
		return read_some(in);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return reply(in, 0, NULL, 0);
	default:
		return reply(in, ENOSYS, NULL, 0);
	}
}

static void *serve(void *arg)
{
	static uint8_t buf[CHUNK];

	while (read(slow.fd, buf, sizeof(buf)) > 0)
		answer((const void *)buf);
	return arg;
}

static void mount_it(void)
{
	char options[96];
	int fd = ASSERT_SYS(open(SLOW_FILE, O_CREAT | O_RDWR | O_CLOEXEC, 0600));

	close(fd);
	ASSERT_SYS(unshare(CLONE_NEWNS));
	ASSERT_SYS(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	snprintf(options, sizeof(options), "fd=%d,rootmode=100000,user_id=0,group_id=0", slow.fd);
	ASSERT_SYS(mount("slow", SLOW_FILE, "fuse", 0, options));
}

void slow_file_make(size_t size)
{
	slow.size = size;
	slow.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (slow.fd < 0)
		ksft_skip("no FUSE: %s", strerror(errno));
	mount_it();
	ASSERT_EQ(pthread_create(&slow.thread, NULL, serve, NULL), 0);
}

void slow_file_leave(void)
{
	close(slow.fd);
}

unsigned int slow_file_asked(void)
{
	unsigned int asked;

	pthread_mutex_lock(&slow.lock);
	asked = slow.asked;
	pthread_mutex_unlock(&slow.lock);
	return asked;
}

void slow_file_deliver(void)
{
	unsigned int i;

	pthread_mutex_lock(&slow.lock);
	slow.delivers = true;
	for (i = 0; i < slow.asked; i++)
		reply(&slow.waits[i].in, 0, zeroes, slow.waits[i].size);
	pthread_mutex_unlock(&slow.lock);
}
