// SPDX-License-Identifier: GPL-2.0
/*
 * The errno contract: each ioctl with wrong arguments and in the wrong order.
 *
 * A row is tried on a device in a given state; afterwards the device must be
 * as it was (bases, offered features, and packets both ways when it runs).
 * Where in-tree vhost_net answers differently, the row says so, and why.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ioctl_rows.h"
#include "rig.h"

static bool has_fd(unsigned long req)
{
	return req == VHOST_SET_VRING_KICK || req == VHOST_SET_VRING_CALL ||
	       req == VHOST_SET_VRING_ERR || req == VHOST_NET_SET_BACKEND;
}

static int open_symbol(int symbol, int self)
{
	static int pipes[2];

	switch (symbol) {
	case FD_EVENT:
		return vdev_eventfd();
	case FD_MEM:
		return memfd_create("x", MFD_CLOEXEC);
	case FD_DIR:
		return open("/", O_RDONLY | O_DIRECTORY);
	case FD_PIPE:
		if (!pipes[0])
			ASSERT_SYS(pipe(pipes));
		return dup(pipes[1]);
	case FD_UDP:
		return socket(AF_INET, SOCK_DGRAM, 0);
	case FD_DGRAM:
		return socket(AF_PACKET, SOCK_DGRAM, 0);
	case FD_TUN:
		return open("/dev/net/tun", O_RDWR);
	case FD_SELF:
		return dup(self);
	case FD_CLOSED:		/* -2 itself, and never a real one */
	default:
		return symbol;
	}
}

static int try_row(int fd, const struct row *row)
{
	struct vhost_vring_file f;
	int ret;

	if (!has_fd(row->req) || !row->arg)
		return __vdev_ioctl(fd, row->req, row->arg);
	f = *(const struct vhost_vring_file *)row->arg;
	f.fd = open_symbol(f.fd, fd);
	ret = __vdev_ioctl(fd, row->req, &f);
	if (f.fd >= 0 && f.fd < FD_FIRST)
		close(f.fd);
	return ret;
}

static struct rig rig;
static uint32_t seq;

static void still_carries_packets(void)
{
	struct vdev *v = &rig.v;

	rig_rx_post(&rig, 4, NULL);
	vdev_kick(&v->q[VDEV_RX]);
	rig_inject(&rig, ++seq, 80);
	rig_rx_expect(&rig, seq, 80);
	ASSERT_EQ(rig_tx(&rig, 90, NULL), 0);
	vdev_kick(&v->q[VDEV_TX]);
	rig_expect(&rig, rig.tx_seq - 1, 90);
	rig_tx_drain(&rig, 3000);
}

static void try_rows(int fd, enum state state, const struct row *rows, size_t n)
{
	uint64_t before = 0, after = 0;
	bool vhost = vdev_is_vhost();
	uint16_t base[2] = { 0 };
	size_t i;
	int want, ret;

	vdev_ioctl(fd, VHOST_GET_FEATURES, &before);
	for (i = 0; i < n && !ksft_failed(); i++) {
		const struct row *row = &rows[i];

		if (state >= READY) {
			base[0] = vdev_get_base(&rig.v, 0);
			base[1] = vdev_get_base(&rig.v, 1);
		}
		want = vhost && row->vhost_why ? row->vhost_err : row->err;
		ret = try_row(fd, row);
		if (ret != -want)
			FAIL("%s: %s, expected %s", row->what, strerror(-ret),
			     strerror(want));
		vdev_ioctl(fd, VHOST_GET_FEATURES, &after);
		EXPECT_EQ(before, after);
		if (state >= READY) {
			EXPECT_EQ(vdev_get_base(&rig.v, 0), base[0]);
			EXPECT_EQ(vdev_get_base(&rig.v, 1), base[1]);
		}
		if (state == RUNNING)
			still_carries_packets();
	}
}

#define TRY(fd, state, rows) \
	try_rows(fd, state, rows, sizeof(rows) / sizeof(*(rows)))

CASE(features_as_documented)
{
	uint64_t want = F_V1 | F_MRG | F_EVENT | F_IND | F_NETHDR |
			BIT64(VIRTIO_F_NOTIFY_ON_EMPTY) |
			BIT64(VIRTIO_F_RING_RESET), offered = 0;
	int fd = vdev_open_node();

	vdev_ioctl(fd, VHOST_GET_FEATURES, &offered);
	ksft_note("features 0x%llx", (unsigned long long)offered);
	EXPECT_EQ(offered & want, want);
	/* none that a kernel backend cannot do, and nothing half done */
	EXPECT_EQ(offered & BIT64(34), 0);
	if (!vdev_is_vhost())
		EXPECT_EQ(offered, want);
	vdev_ioctl(fd, VHOST_SET_FEATURES, &want);
	vdev_ioctl(fd, VHOST_GET_BACKEND_FEATURES, &offered);
	vdev_ioctl(fd, VHOST_SET_BACKEND_FEATURES, &offered);
}

CASE(no_owner)
{
	TRY(vdev_open_node(), NEW, without_owner);
}

CASE(owner_only)
{
	vdev_open(&rig.v);
	TRY(rig.v.fd, OWNED, with_nothing_set);
	TRY(rig.v.fd, OWNED, with_owner);
}

CASE(ready)
{
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	TRY(rig.v.fd, READY, with_owner);
	TRY(rig.v.fd, READY, when_ready);
	/* what vhost accepted of the wrong ones is gone with the next table */
	vdev_set_mem(&rig.v);
	rig_start(&rig);
	still_carries_packets();
}

CASE(running)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	still_carries_packets();
	TRY(rig.v.fd, RUNNING, with_owner);
	TRY(rig.v.fd, RUNNING, when_running);
}

CASE(another_process)
{
	int status;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (!fork()) {
		TRY(rig.v.fd, NEW, without_owner);
		_exit(0);
	}
	ASSERT_SYS(wait(&status));
	EXPECT_EQ(status, 0);
	still_carries_packets();
}

CASE(unmapped_arguments)
{
	size_t page = sysconf(_SC_PAGESIZE), i, in;
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	fd = rig.v.fd;
	ASSERT_SYS(mprotect(p + page, page, PROT_NONE));
	for (i = 0; i < sizeof(pointers) / sizeof(*pointers); i++) {
		for (in = 0; in < pointers[i].size; in += 4) {
			int ret;

			memset(p, 0, page);
			if (pointers[i].req == VHOST_SET_MEM_TABLE && in > 4)
				p[page - in] = 2;	/* nregions */
			ret = __vdev_ioctl(fd, pointers[i].req, p + page - in);
			if (ret != -EFAULT)
				FAIL("%s, %zu bytes mapped: %s",
				     pointers[i].what, in, strerror(-ret));
		}
		if (__vdev_ioctl(fd, pointers[i].req, NULL) != -EFAULT)
			FAIL("%s accepts NULL", pointers[i].what);
		if (__vdev_ioctl(fd, pointers[i].req,
				 (void *)KERNEL_ADDR) != -EFAULT)
			FAIL("%s accepts a kernel address", pointers[i].what);
	}
	rig_start(&rig);
	still_carries_packets();
}

CASE(ring_in_unmapped_memory)
{
	struct vhost_vring_addr a, good;
	uint64_t *field[] = { (uint64_t *)&a.used_user_addr,
			      (uint64_t *)&a.desc_user_addr,
			      (uint64_t *)&a.avail_user_addr };
	int i, ret;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	vdev_queue_addr(&rig.v, 1, &good);
	for (i = 0; i < 3; i++) {
		a = good;
		*field[i] = KERNEL_ADDR;
		ret = __vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
		if (!ret)	/* then it must be found out at the start */
			ret = __vdev_backend(&rig.v, 1, rig.tap);
		if (ret != -EFAULT && ret != -EINVAL)
			FAIL("field %d in the kernel: %s", i, strerror(-ret));
	}
	a = good;
	a.used_user_addr = 4096;	/* nobody maps this */
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	EXPECT_EQ(__vdev_backend(&rig.v, 1, rig.tap), -EFAULT);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &good);
	rig_start(&rig);
	still_carries_packets();
}

static void set_up_step(unsigned int step, unsigned int q)
{
	struct vhost_vring_state s = { .index = q };
	struct vdev *v = &rig.v;
	struct vhost_vring_addr a;

	switch (step) {
	case 0:
		s.num = v->q[q].num;
		vdev_ioctl(v->fd, VHOST_SET_VRING_NUM, &s);
		break;
	case 1:
		s.num = 65000;
		vdev_ioctl(v->fd, VHOST_SET_VRING_BASE, &s);
		break;
	case 2:
		vdev_queue_addr(v, q, &a);
		vdev_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a);
		break;
	case 3:
		vdev_set_features(v, rig.cfg.features);
		break;
	case 4:
		vdev_set_mem(v);
		break;
	case 5:
		ASSERT_EQ(__vdev_vring_fd(v, VHOST_SET_VRING_KICK, q,
					  v->q[q].kick), 0);
		break;
	case 6:
		ASSERT_EQ(__vdev_vring_fd(v, VHOST_SET_VRING_CALL, q,
					  v->q[q].call), 0);
		break;
	}
}

CASE(order_of_set_up_does_not_matter)
{
	unsigned int round, i, left[7], n;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .base = 65000 });
	for (round = 0; round < 30 && !ksft_failed(); round++) {
		close(rig.v.fd);
		rig.v.fd = vdev_open_node();
		vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
		for (n = 0; n < 7; n++)
			left[n] = n;
		while (n) {
			i = ksft_below(n);
			set_up_step(left[i], 0);
			set_up_step(left[i], 1);
			left[i] = left[--n];
		}
		EXPECT_EQ(vdev_get_base(&rig.v, 0), 65000);
		vdev_queue_make(&rig.v, 0, 256);
		vdev_queue_make(&rig.v, 1, 256);
		gr_start_at(&rig.v.q[0].ring, 65000);
		gr_start_at(&rig.v.q[1].ring, 65000);
		rig_start(&rig);
		still_carries_packets();
	}
}

static unsigned int max_regions(void)
{
	const char *path = vdev_is_vhost() ?
		"/sys/module/vhost/parameters/max_mem_regions" :
		"/sys/module/kvnet/parameters/max_mem_regions";
	int fd = open(path, O_RDONLY);
	char buf[16] = { 0 };

	if (fd < 0)
		return 509;
	ASSERT(read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	return atoi(buf);
}

CASE(as_many_regions_as_allowed)
{
	unsigned int max = max_regions(), i;
	struct vhost_memory *m, *mine;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	mine = vdev_table(&rig.v);
	m = calloc(1, sizeof(*m) + (max + 1) * sizeof(m->regions[0]));
	ASSERT(m && max > 1);
	m->regions[0] = mine->regions[0];
	for (i = 1; i <= max; i++)	/* the highest guest address first */
		m->regions[i] = (struct vhost_memory_region) {
			(1ull << 40) - i * 8192ull, 4096, USER_ADDR + i * 4096,
		};
	m->nregions = max;
	vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m);
	still_carries_packets();
	m->nregions = max + 1;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m), -E2BIG);
	still_carries_packets();
}

CASE(reset_owner_gives_the_device_back)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	still_carries_packets();
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	TRY(rig.v.fd, NEW, without_owner);
	vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
	EXPECT(__vdev_backend(&rig.v, VDEV_TX, rig.tap) < 0);
	/* and it can be set up once more, by whoever owns it now */
	vdev_set_features(&rig.v, rig.cfg.features);
	vdev_set_mem(&rig.v);
	vdev_queue_reset(&rig.v, 0);
	vdev_queue_reset(&rig.v, 1);
	rig_start(&rig);
	still_carries_packets();
}

CASE(packet_socket_as_backend)
{
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true,
					  .features = F_V1 | F_NETHDR });
	fd = rig_packet_socket(&rig, FRAME_TYPE, false);
	if (__vdev_backend(&rig.v, VDEV_TX, fd) == -ENOTSOCK)
		ksft_skip("packet sockets are not supported");
	vdev_backend(&rig.v, VDEV_TX, -1);
}

KSFT_MAIN()
