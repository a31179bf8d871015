// SPDX-License-Identifier: GPL-2.0
/*
 * What takes more than a row of contract_test, which has each ioctl with wrong arguments and
 * in the wrong order.
 *
 * @hosts: 6.1 newest
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flow.h"
#include "ioctl_rows.h"

static struct rig rig;

CASE(unmapped_arguments)
{
	/* good as far as it can be read */
	static const struct mem2 table = {
		{ .nregions = 2 },
		{ REG(0x1000, 4096, USER_ADDR), REG(0x2000, 4096, USER_ADDR) },
	};
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
			if (pointers[i].req == VHOST_SET_MEM_TABLE)
				memcpy(p + page - in, &table, in);
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
	flow_one(&rig);
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
		/* then it must be found out at the start, before what else is wrong */
		if (!ret && __vdev_backend(&rig.v, 1, rig.v.memfd) != -EFAULT)
			FAIL("field %d in the kernel, and no tap", i);
		if (!ret)
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
	flow_one(&rig);
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
		flow_one(&rig);
	}
}

/* What is right but for one thing does not start, and does once that is right, too. */
static void starts_with(uint64_t features)
{
	vdev_set_features(&rig.v, features);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

/* As a kernel's vhost that is built without CONFIG_VHOST_ENABLE_FORK_OWNER_CONTROL. */
CASE(threads_are_not_for_the_vmm_to_choose)
{
	uint8_t kernels = VHOST_FORK_OWNER_KTHREAD;
	int fd;

	if (vdev_is_vhost())
		ksft_skip("a choice of who built the kernel");
	fd = ASSERT_SYS(open(vdev_path(), O_RDWR | O_CLOEXEC));
	vdev_parameter("fork_owner_control", 'N');
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_SET_FORK_FROM_OWNER, &kernels), -ENOTTY);
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_GET_FORK_FROM_OWNER, &kernels), -ENOTTY);
	vdev_allow_choice();
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_SET_FORK_FROM_OWNER, &kernels), 0);
	close(fd);
}

CASE(no_memory_table)
{
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(rig.v.fd);
	vdev_set_features(&rig.v, rig.cfg.features);
	vdev_queue_reset(&rig.v, VDEV_TX);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EFAULT);
	vdev_set_mem(&rig.v);
	starts_with(rig.cfg.features);
}

/* A size that a packed ring may have, for a split one. */
CASE(size_for_another_layout)
{
	uint64_t packed, split;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	if (!(rig.v.offered & F_PACKED))
		ksft_skip("no packed rings");
	packed = rig.cfg.features | F_PACKED;
	split = rig.cfg.features & ~(F_PACKED | F_ORDER);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &packed);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, STATE(VDEV_TX, 3));
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &split);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EINVAL);
	starts_with(rig.cfg.features);
}

/* The layout of a ring that is in use stays what it is. */
CASE(another_layout_while_running)
{
	uint64_t other;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (!(rig.v.offered & F_PACKED))
		ksft_skip("no packed rings");
	flow_one(&rig);
	other = rig.cfg.features ^ F_PACKED;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &other), -EBUSY);
	flow_one(&rig);
	vdev_backend(&rig.v, VDEV_RX, -1);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &other), -EBUSY);
	vdev_backend(&rig.v, VDEV_TX, -1);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &other);
	starts_with(rig.cfg.features);
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
	flow_one(&rig);
	m->nregions = max + 1;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m), -E2BIG);
	flow_one(&rig);
}

CASE(reset_owner_gives_the_device_back)
{
	size_t i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	for (i = 0; i < sizeof(without_owner) / sizeof(without_owner[0]); i++)
		EXPECT_EQ(row_try(rig.v.fd, &without_owner[i], false),
			  -row_wants(&without_owner[i], vdev_is_vhost()));
	vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
	EXPECT(__vdev_backend(&rig.v, VDEV_TX, rig.tap) < 0);
	/* and it can be set up once more, by whoever owns it now */
	vdev_set_features(&rig.v, rig.cfg.features);
	vdev_set_mem(&rig.v);
	vdev_queue_reset(&rig.v, 0);
	vdev_queue_reset(&rig.v, 1);
	rig_start(&rig);
	flow_one(&rig);
}

KSFT_MAIN()
