// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: a program that reads and writes taps does so through a backend's rings.
 *
 *	LD_PRELOAD=tap_backend.so KVNET_DEV=/dev/kvnet PROGRAM
 *
 * TUNSETIFF attaches each tap to a device of its own, with the features that belong to the
 * header of its size. What the program writes is transmitted by the backend, what it reads has
 * been received by it; all other calls go to the tap, while the backend has it. close() closes the
 * tap first: the last reference is the backend's.
 *
 * The backend drops a frame that the tap refuses, and write() has to return EINVAL: a tap counts
 * the frames that it takes, a macvtap those that it refuses. For programs with one thread that
 * wait by select() for one tap, such as tun and tap of the kernel's own tests.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "vdev.h"
#include "vhost_abi.h"

#define TAPS		64
#define BUF_SIZE	70000
#define RX_BUFS		16
#define HDR_SIZE	sizeof(struct virtio_net_hdr)
#define TUNNEL_HDR_SIZE	24

static struct tap {
	char name[IFNAMSIZ];	/* empty: the descriptor is no tap */
	bool is_macvtap;
	struct vdev v;
} taps[TAPS];

/*** a tap and its device ***/

static struct tap *find(int fd)
{
	return fd >= 0 && fd < TAPS && *taps[fd].name ? &taps[fd] : NULL;
}

static void post(struct vdev *v, uint8_t *buf)
{
	struct gr_buf b = { buf, BUF_SIZE, true };

	ASSERT(gr_add(&v->q[VDEV_RX].ring, &b, 1, GR_ALL_DIRECT, buf) >= 0);
	vdev_kick(&v->q[VDEV_RX]);
}

/* hdr_size: 0 if the tap has no header, and the backend makes it. */
static void set_features(struct vdev *v, size_t hdr_size)
{
	struct abi_features tunnel = { 2, { F_V1 | F_MRG,
		BIT64(VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO - 64) |
		BIT64(VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO - 64) } };

	vdev_set_features(v, !hdr_size ? F_NETHDR : hdr_size == HDR_SIZE ? 0 : F_V1 | F_MRG);
	/* a kernel without it has no such taps either */
	if (hdr_size == TUNNEL_HDR_SIZE &&
	    !__vdev_ioctl(v->fd, VHOST_SET_FEATURES_ARRAY, &tunnel))
		v->hdr_len = hdr_size;
}

static void attach(struct tap *t, int fd)
{
	vdev_backend(&t->v, VDEV_RX, fd);
	vdev_backend(&t->v, VDEV_TX, fd);
}

static void open_backend(struct tap *t, int fd, const struct ifreq *ifr)
{
	struct stat at;
	unsigned int i;

	ASSERT_SYS(fstat(fd, &at));
	t->is_macvtap = at.st_rdev != makedev(10, 200);	/* /dev/net/tun */
	vdev_open(&t->v);
	memcpy(t->name, ifr->ifr_name, sizeof(t->name));
	set_features(&t->v, ifr->ifr_flags & IFF_VNET_HDR ? HDR_SIZE : 0);
	vdev_memory(&t->v, VDEV_RING_ZONE + (2u << 20), 1);
	vdev_set_mem(&t->v);
	for (i = 0; i < 2; i++) {
		vdev_queue_make(&t->v, i, RX_BUFS);
		vdev_queue_tell(&t->v, i, 0);
		vdev_queue_pool(&t->v, i, i == VDEV_RX ? RX_BUFS : 1, BUF_SIZE);
	}
	attach(t, fd);
	for (i = 0; i < RX_BUFS; i++)
		post(&t->v, vdev_buf_get(&t->v.q[VDEV_RX]));
	/* test_tap.sh wants to see it */
	dprintf(STDOUT_FILENO, "# tap_backend: %s by %s\n", t->name, getenv("KVNET_DEV"));
}

static void change_header(struct tap *t, int fd, int size)
{
	attach(t, -1);
	set_features(&t->v, size);
	attach(t, fd);
}

/* Of a macvtap, how many frames it has refused; of a tap, how many it has taken. */
static unsigned long count(const struct tap *t)
{
	unsigned long received, dropped, n = 0;
	FILE *f = fopen("/proc/net/dev", "re");
	char line[512], name[IFNAMSIZ];

	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %15[^:]: %*u %lu %*u %*u %*u %*u %*u %*u %*u %*u %*u %lu", name,
			   &received, &dropped) == 3 && !strcmp(name, t->name))
			n = t->is_macvtap ? dropped : received;
	fclose(f);
	return n;
}

static ssize_t transmit(struct tap *t, const void *data, size_t len)
{
	struct vdev_queue *q = &t->v.q[VDEV_TX];
	unsigned long before = count(t);
	uint8_t *buf = q->bufs;
	struct gr_buf part[] = {
		{ buf, t->v.hdr_len, false },
		{ buf + t->v.hdr_len, len - t->v.hdr_len, false },
	};
	struct gr_done done;

	ASSERT(len > t->v.hdr_len && len <= BUF_SIZE);
	memcpy(buf, data, len);
	ASSERT(gr_add(&q->ring, part, 2, GR_ALL_DIRECT, buf) >= 0);
	vdev_kick(q);
	ASSERT(WAIT_FOR(5000, gr_get_used(&q->ring, &done) == 1));
	if (t->is_macvtap ? count(t) == before : WAIT_FOR(900, count(t) != before))
		return len;
	errno = EINVAL;
	return -1;
}

static bool may_receive(struct tap *t, unsigned int ms)
{
	const struct guest_ring *ring = &t->v.q[VDEV_RX].ring;
	uint64_t end = ksft_now_ms() + ms;
	unsigned int turn = 0;

	while (!gr_used_pending(ring) && ksft_now_ms() < end)
		ksft_relax(turn++);
	return gr_used_pending(ring);
}

static ssize_t receive(struct tap *t, void *data, size_t size)
{
	struct vdev_queue *q = &t->v.q[VDEV_RX];
	struct gr_done done;

	while (!may_receive(t, 1000))
		;
	ASSERT_EQ(gr_get_used(&q->ring, &done), 1);
	if (size > done.len)
		size = done.len;
	memcpy(data, done.token, size);
	post(&t->v, done.token);
	return size;
}

/*** the calls ***/

#define REAL(name, ...) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	ret = REAL(ioctl, fd, request, arg);
	if (ret < 0)
		return ret;
	if (request == TUNSETIFF) {
		ASSERT(fd < TAPS);
		open_backend(&taps[fd], fd, arg);
	} else if (request == TUNSETVNETHDRSZ && find(fd)) {
		change_header(find(fd), fd, *(int *)arg);
	}
	return ret;
}

ssize_t write(int fd, const void *data, size_t len)
{
	struct tap *t = find(fd);

	return t ? transmit(t, data, len) : REAL(write, fd, data, len);
}

ssize_t read(int fd, void *data, size_t size)
{
	struct tap *t = find(fd);

	return t ? receive(t, data, size) : REAL(read, fd, data, size);
}

int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct tap *t = NULL;
	int fd;

	for (fd = 0; in && fd < n && !t; fd++)
		if (FD_ISSET(fd, in))
			t = find(fd);
	if (!t)
		return REAL(select, n, in, out, except, timeout);
	ASSERT(timeout);
	if (may_receive(t, timeout->tv_sec * 1000 + timeout->tv_usec / 1000))
		return 1;
	FD_ZERO(in);
	return 0;
}

int close(int fd)
{
	struct tap *t = find(fd);
	int ret;

	if (!t)
		return REAL(close, fd);
	t->name[0] = 0;
	ret = REAL(close, fd);
	vdev_close(&t->v);
	return ret;
}
