// SPDX-License-Identifier: GPL-2.0
/*
 * Messages to the device IOTLB that are wrong, or look so.
 *
 * @hosts: 6.1
 * @debug: kmsan
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "iommu.h"
#include "procfs.h"

enum verdict { TAKEN, REFUSED, EITHER };

#define KERNEL_ADDR	0xffff888000000000ull
#define HERE		0	/* stands for the rig's memory */

struct row {
	const char *name;
	struct vhost_iotlb_msg m;
	enum verdict want;
	bool elsewhere;		/* not the page that must stay untranslated */
	bool here_refused;	/* by kvnet, whatever vhost_net does */
};

#define UPDATE(i, s, u, p) \
	{ .iova = (i), .size = (s), .uaddr = (u), .perm = (p), \
	  .type = VHOST_IOTLB_UPDATE }
#define OTHER(t) \
	{ .size = 4096, .perm = IOMMU_RW, .type = (t) }
#define INVALIDATE(i, s) \
	{ .iova = (i), .size = (s), .type = VHOST_IOTLB_INVALIDATE }

static const struct row rows[] = {
	{ "update of size 0", UPDATE(0, 0, HERE, IOMMU_RW), REFUSED },
	{ "update that wraps", UPDATE(~0ull - 4095, 8192, HERE, IOMMU_RW),
	  REFUSED, true },
	{ "update that ends at 2^64", UPDATE(~0ull - 4095, 4096, HERE, IOMMU_RW),
	  EITHER, true },
	{ "kernel address", UPDATE(0, 4096, KERNEL_ADDR, IOMMU_RW), REFUSED },
	{ "kernel address, read", UPDATE(0, 4096, KERNEL_ADDR, IOMMU_RO),
	  REFUSED },
	{ "kernel address, write", UPDATE(0, 4096, KERNEL_ADDR, IOMMU_WO),
	  REFUSED },
	{ "address that wraps", UPDATE(0, 8192, ~0ull - 4095, IOMMU_RW),
	  REFUSED },
	{ "out of user space", UPDATE(0, 1ull << 62, HERE, IOMMU_RW), REFUSED },
	{ "all but a byte", UPDATE(0, ~0ull, HERE, IOMMU_RW), REFUSED, true },
	/* vhost takes it, and finds a page that allows nothing */
	{ "no permission", UPDATE(0, 4096, HERE, 0), EITHER, true },
	{ "unknown permission", UPDATE(0, 4096, HERE, 0xf0), EITHER, true },
	{ "miss", OTHER(VHOST_IOTLB_MISS), REFUSED },
	{ "access failure", OTHER(VHOST_IOTLB_ACCESS_FAIL), REFUSED },
	{ "begin of batch", OTHER(VHOST_IOTLB_BATCH_BEGIN), REFUSED },
	{ "end of batch", OTHER(VHOST_IOTLB_BATCH_END), REFUSED },
	{ "type 0", OTHER(0), REFUSED },
	{ "type 255", OTHER(255), REFUSED },
	{ "invalidate nothing", INVALIDATE(0x1000, 0), TAKEN, true },
	{ "invalidate what is not there", INVALIDATE(0x1000, 0x1000), TAKEN,
	  true },
	{ "invalidate that wraps", INVALIDATE(~0ull - 4095, 8192), EITHER,
	  true, true },
};

static struct rig rig;
static struct iommu io;

static const char *say(int ret)
{
	return ret ? strerror(-ret) : "taken";
}

static void judge(const struct row *row)
{
	struct vhost_iotlb_msg m = row->m;
	int ret;

	if (!row->elsewhere)
		m.iova = iommu_iova(&io, iommu_page(&io,
				    rig.v.q[VDEV_TX].ring.cfg.desc));
	if (m.uaddr == HERE)
		m.uaddr = (uintptr_t)rig.v.host;
	ret = iommu_send(&io, m.type, m.iova, m.size, m.uaddr, m.perm);
	if (ret && ret != -EFAULT && ret != -EINVAL)
		FAIL("%s: %s", row->name, say(ret));
	else if (row->want == TAKEN ? ret : row->want == REFUSED && !ret)
		FAIL("%s: %s", row->name, say(ret));
	else if (row->here_refused && !ret && !vdev_is_vhost())
		FAIL("%s: taken", row->name);
}

/* None of what was refused has become a translation. */
static void descriptors_are_still_missed(void)
{
	size_t page = iommu_page(&io, rig.v.q[VDEV_TX].ring.cfg.desc);

	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	if (!WAIT_FOR(5000, (iommu_pump(&io), rig_tx_reap(&rig) < 0 ||
			     !rig.tx_out)))
		FAIL("TX: %u buffers are not given back", rig.tx_out);
	EXPECT(io.missed[page]);
	rig_expect(&rig, 0, 100);
}

CASE(wrong_contents)
{
	int version;
	size_t i;

	for (version = 1; version <= 2; version++) {
		iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, version);
		iommu_map_used(&io);
		for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			judge(&rows[i]);
		descriptors_are_still_missed();
		iommu_close(&io);
		rig_close(&rig);
	}
}

union any_msg {
	struct vhost_msg v1;
	struct vhost_msg_v2 v2;
	uint8_t bytes[256];
};

static int send_raw(union any_msg *u, size_t len)
{
	ssize_t n = write(rig.v.fd, u, len);

	return n < 0 ? -errno : n;
}

/* The message proper ends at 'full'; padding follows. */
static void sizes_of(union any_msg *u, size_t full)
{
	size_t len;
	int ret;

	for (len = 1; len <= sizeof(u->v1); len++) {
		ret = send_raw(u, len);
		if (len < full && ret != -EINVAL && ret != -EFAULT)
			FAIL("%zu bytes of %zu: %s", len, full, say(ret));
		else if (len == sizeof(u->v1) && ret != (int)len)
			FAIL("the whole message: %d", ret);
	}
	/* vhost takes a longer one, and leaves the rest */
	ret = send_raw(u, sizeof(*u));
	EXPECT(ret == sizeof(u->v1) || ret == -EINVAL || ret == -EFAULT);
}

CASE(wrong_sizes_and_types)
{
	struct vhost_iotlb_msg m = {
		.iova = 0x5000, .size = 4096, .perm = IOMMU_RW,
		.type = VHOST_IOTLB_UPDATE,
	};
	union any_msg u = { 0 }, *nowhere;
	static const int types[] = { 0, 3, 255, -1, 1 << 16 | 1, 2 << 24 };
	size_t i;
	int ret;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	m.uaddr = (uintptr_t)rig.v.host;
	u.v1 = (struct vhost_msg){ .type = VHOST_IOTLB_MSG, .iotlb = m };
	sizes_of(&u, offsetof(struct vhost_msg, iotlb) + sizeof(m));
	u.v2 = (struct vhost_msg_v2){ .type = VHOST_IOTLB_MSG_V2, .iotlb = m };
	sizes_of(&u, offsetof(struct vhost_msg_v2, iotlb) + sizeof(m));
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		u.v1 = (struct vhost_msg){ .type = types[i], .iotlb = m };
		ret = send_raw(&u, sizeof(u.v1));
		if (ret != -EINVAL && ret != -EFAULT)
			FAIL("type %d: %s", types[i], say(ret));
	}
	/* without VHOST_BACKEND_F_IOTLB_ASID the field is reserved: either */
	u.v2 = (struct vhost_msg_v2){ .type = VHOST_IOTLB_MSG_V2, .asid = 1,
				      .iotlb = m };
	ret = send_raw(&u, sizeof(u.v2));
	EXPECT(ret == sizeof(u.v2) || ret == -EINVAL || ret == -EFAULT);
	if (ret > 0)
		ksft_note("asid 1 is taken");
	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	EXPECT(send_raw(nowhere, sizeof(u.v2)) < 0);
}

/* Addresses of another process mean nothing here. */
CASE(only_the_owner_translates)
{
	int status, ret;
	pid_t pid;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	iommu_map_used(&io);
	pid = fork();
	if (!pid) {
		uint64_t desc = vdev_bus(&rig.v, rig.v.q[VDEV_TX].ring.cfg.desc);

		ret = iommu_send(&io, VHOST_IOTLB_UPDATE, desc, 4096,
				 (uintptr_t)rig.v.host, IOMMU_RW);
		_exit(!ret ? 0 : ret == -EPERM ? 1 : ret == -EFAULT ? 2 : 3);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(WIFEXITED(status));
	if (vdev_is_vhost()) {	/* which does not ask */
		EXPECT_EQ(WEXITSTATUS(status), 0);
		return;
	}
	if (EXPECT(WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 2))
		descriptors_are_still_missed();
}

/* Nor does another process take a translation away, which would be asked for again. */
CASE(only_the_owner_invalidates)
{
	struct exchange x = { .r = &rig, .burst = 1 };
	int status;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not ask");
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	exchange_tx(&x);
	wait_worker_idle();
	iommu_serve_end(&io);
	EXPECT_EQ(iommu_pump(&io), 0);
	io.misses = 0;
	pid = ASSERT_SYS(fork());
	if (!pid)
		_exit(iommu_send(&io, VHOST_IOTLB_INVALIDATE, 0, 0, 0, 0) == -EFAULT ? 0 : 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	iommu_serve(&io);
	exchange_tx(&x);
	EXPECT_EQ(io.misses, 0);
	iommu_close(&io);
}

/* With whether there is an IOMMU, and a log, addresses get another meaning. */
static void as_non_owner(void)
{
	static const uint64_t bits[] = { F_PLATFORM, BIT64(VHOST_F_LOG_ALL) };
	uint64_t f = rig.v.features;
	unsigned int i;

	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &f), 0);
	for (i = 0; i < 2; i++) {
		f = rig.v.features ^ bits[i];
		EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &f), -EPERM);
	}
	_exit(ksft_failed());
}

CASE(only_the_owner_says_what_addresses_mean)
{
	int status;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not ask");
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	pid = ASSERT_SYS(fork());
	if (!pid)
		as_non_owner();
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	/* whose device it is not, it is everybody's */
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	pid = ASSERT_SYS(fork());
	if (!pid)
		_exit(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features) != 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	iommu_close(&io);
}

CASE(backend_features)
{
	uint64_t v2 = BIT64(VHOST_BACKEND_F_IOTLB_MSG_V2), f = 0, bad = 1;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	vdev_ioctl(rig.v.fd, VHOST_GET_BACKEND_FEATURES, &f);
	EXPECT_EQ(f, v2);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_BACKEND_FEATURES, &bad),
		  -EOPNOTSUPP);
	bad = BIT64(VHOST_BACKEND_F_IOTLB_BATCH) | v2;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_BACKEND_FEATURES, &bad),
		  -EOPNOTSUPP);
	f = 0;
	vdev_ioctl(rig.v.fd, VHOST_SET_BACKEND_FEATURES, &f);
	vdev_ioctl(rig.v.fd, VHOST_SET_BACKEND_FEATURES, &v2);
}

KSFT_MAIN()
