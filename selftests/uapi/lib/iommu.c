// SPDX-License-Identifier: GPL-2.0
/* The VMM's half of a device IOTLB: see iommu.h. */
#include "iommu.h"
#include "procfs.h"
#include "tracing.h"

#define GRAVE	0x6b

/* Two places for each page, so that old ones can stay under watch for long. */
static size_t arena_bytes(const struct iommu *io)
{
	return io->pages * 2 * 2 * IOMMU_PAGE;
}

static void arena_make(struct iommu *io)
{
	unsigned int i;

	io->slots = 2 * io->pages;
	io->arena = mmap(NULL, arena_bytes(io), PROT_NONE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT(io->arena != MAP_FAILED);
	io->slot = calloc(io->slots, sizeof(*io->slot));
	io->grave = calloc(io->slots, sizeof(*io->grave));
	ASSERT(io->slot && io->grave);
	for (i = 0; i < io->slots; i++)
		io->slot[i] = i;
}

void iommu_open(struct iommu *io, struct vdev *v, int version)
{
	uint64_t v2 = version == 2 ? BIT64(VHOST_BACKEND_F_IOTLB_MSG_V2) : 0;

	memset(io, 0, sizeof(*io));
	io->v = v;
	io->version = version;
	io->stop = -1;
	io->pages = v->mem_size / IOMMU_PAGE;
	io->at = calloc(io->pages, sizeof(*io->at));
	io->missed = calloc(io->pages, sizeof(*io->missed));
	io->table = vdev_table(v);
	ASSERT(io->at && io->missed);
	arena_make(io);
	pthread_mutex_init(&io->lock, NULL);
	vdev_ioctl(v->fd, VHOST_SET_BACKEND_FEATURES, &v2);
	ASSERT_SYS(fcntl(v->fd, F_SETFL, O_NONBLOCK));
}

void iommu_close(struct iommu *io)
{
	iommu_serve_end(io);
	ASSERT_SYS(munmap(io->arena, arena_bytes(io)));
	free(io->at);
	free(io->missed);
	free(io->slot);
	free(io->grave);
	free(io->table);
	memset(io, 0, sizeof(*io));
}

void iommu_rig(struct iommu *io, struct rig *r, const struct rig_cfg *cfg,
	       int version)
{
	struct rig_cfg c = *cfg;

	if (!c.features)
		c.features = F_V1 | F_MRG | F_IND | F_EVENT;
	c.features |= F_PLATFORM;
	c.bus = IOMMU_BUS;
	c.stopped = true;
	rig_open(r, &c);
	iommu_open(io, &r->v, version);
}

int iommu_send(struct iommu *io, uint8_t type, uint64_t iova, uint64_t size,
	       uint64_t uaddr, uint8_t perm)
{
	struct vhost_iotlb_msg m = { .iova = iova, .size = size, .uaddr = uaddr,
				     .perm = perm, .type = type };
	struct vhost_msg v1 = { .type = VHOST_IOTLB_MSG, .iotlb = m };
	struct vhost_msg_v2 v2 = { .type = VHOST_IOTLB_MSG_V2, .iotlb = m };
	ssize_t n;

	if (io->version == 2)
		n = write(io->v->fd, &v2, sizeof(v2));
	else
		n = write(io->v->fd, &v1, sizeof(v1));
	if (n < 0)
		return -errno;
	/* QEMU takes any other length for an error */
	EXPECT_EQ(n, io->version == 2 ? sizeof(v2) : sizeof(v1));
	return 0;
}

/*
 * What a miss has no use for is zero: no byte of the kernel's (CVE-2018-1118,
 * CVE-2024-0340).
 */
static void nothing_else(const void *msg, size_t size, const struct vhost_iotlb_msg *m)
{
	const uint8_t *byte = msg;
	struct vhost_iotlb_msg want;
	size_t at = offsetof(struct vhost_msg, iotlb), i;

	memset(&want, 0, sizeof(want));
	want.iova = m->iova;
	want.perm = m->perm;
	want.type = m->type;
	EXPECT(!memcmp(byte + at, &want, sizeof(want)));
	for (i = sizeof(int); i < size; i++)
		if (byte[i] && (i < at || i >= at + sizeof(want)))
			FAIL("byte %zu of a message is 0x%x", i, byte[i]);
}

bool iommu_read(struct iommu *io, struct vhost_iotlb_msg *m)
{
	union {
		struct vhost_msg v1;
		struct vhost_msg_v2 v2;
	} u;
	ssize_t n;

	memset(&u, 0xaa, sizeof(u));
	n = read(io->v->fd, &u, sizeof(u));
	if (n < 0) {
		EXPECT_EQ(errno, EAGAIN);
		return false;
	}
	if (io->version == 2) {
		ASSERT_EQ(n, sizeof(u.v2));
		EXPECT_EQ(u.v2.type, VHOST_IOTLB_MSG_V2);
		EXPECT_EQ(u.v2.asid, 0);
		*m = u.v2.iotlb;
	} else {
		ASSERT_EQ(n, sizeof(u.v1));
		EXPECT_EQ(u.v1.type, VHOST_IOTLB_MSG);
		*m = u.v1.iotlb;
	}
	nothing_else(&u, n, m);
	EXPECT_EQ(m->type, VHOST_IOTLB_MISS);
	EXPECT(m->perm >= IOMMU_RO && m->perm <= IOMMU_RW);
	return true;
}

bool iommu_readable(const struct iommu *io, unsigned int ms)
{
	struct pollfd p = { .fd = io->v->fd, .events = POLLIN };

	return poll(&p, 1, ms ? ksft_patience(ms) : 0) == 1 &&
	       p.revents & POLLIN;
}

uint64_t iommu_iova(const struct iommu *io, size_t page)
{
	return io->v->bus + VDEV_GPA + page * IOMMU_PAGE;
}

size_t iommu_page(const struct iommu *io, const void *ptr)
{
	return ((const uint8_t *)ptr - io->v->mem) / IOMMU_PAGE;
}

/* Where the memory table has a page. */
static uint8_t *table_place(const struct iommu *io, size_t page)
{
	uint64_t gpa = VDEV_GPA + page * IOMMU_PAGE;
	unsigned int i;

	for (i = 0; i < io->table->nregions; i++) {
		struct vhost_memory_region *r = &io->table->regions[i];

		if (gpa - r->guest_phys_addr < r->memory_size)
			return (uint8_t *)(uintptr_t)(r->userspace_addr + gpa -
						      r->guest_phys_addr);
	}
	ASSERT(0);
	return NULL;
}

static uint8_t *place(struct iommu *io, size_t page)
{
	uint8_t *p;

	if (io->in_table)
		return table_place(io, page);
	ASSERT(io->slots);
	p = io->arena + io->slot[--io->slots] * 2ul * IOMMU_PAGE;
	ASSERT(mmap(p, IOMMU_PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, io->v->memfd,
		    page * IOMMU_PAGE) == p);
	return p;
}

static void map_locked(struct iommu *io, size_t page, uint8_t perm)
{
	int ret;

	if (!io->at[page])
		io->at[page] = place(io, page);
	ret = iommu_send(io, VHOST_IOTLB_UPDATE, iommu_iova(io, page),
			 IOMMU_PAGE, (uintptr_t)io->at[page], perm);
	if (!io->off || ret != -EFAULT)
		EXPECT_EQ(ret, 0);
}

void iommu_set_features(struct iommu *io, uint64_t features)
{
	pthread_mutex_lock(&io->lock);
	vdev_ioctl(io->v->fd, VHOST_SET_FEATURES, &features);
	io->off = !(features & F_PLATFORM);
	pthread_mutex_unlock(&io->lock);
}

void iommu_map(struct iommu *io, size_t page, uint8_t perm)
{
	pthread_mutex_lock(&io->lock);
	map_locked(io, page, perm);
	pthread_mutex_unlock(&io->lock);
}

void iommu_map_area(struct iommu *io, const void *ptr, size_t len, uint8_t perm)
{
	size_t i, last = iommu_page(io, (const uint8_t *)ptr + len - 1);

	for (i = iommu_page(io, ptr); i <= last; i++)
		iommu_map(io, i, perm);
}

void iommu_map_used(struct iommu *io)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const struct gr_cfg *c = &io->v->q[i].ring.cfg;

		iommu_map_area(io, c->used, gr_used_bytes(c), IOMMU_RW);
		if (c->packed)
			iommu_map_area(io, c->desc, gr_desc_bytes(c) +
				       gr_avail_bytes(c), IOMMU_RW);
	}
}

/* Other memory in its place, watched for writes and easily told when read. */
static void bury(struct iommu *io, size_t page)
{
	uint8_t *p = io->at[page];

	io->at[page] = NULL;
	if (!p || io->in_table)
		return;
	ASSERT(mmap(p, IOMMU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	memset(p, GRAVE, IOMMU_PAGE);
	io->grave[io->graves++] = p;
}

void iommu_unmap(struct iommu *io, size_t page)
{
	pthread_mutex_lock(&io->lock);
	EXPECT_EQ(iommu_send(io, VHOST_IOTLB_INVALIDATE, iommu_iova(io, page),
			     IOMMU_PAGE, 0, 0), 0);
	bury(io, page);
	pthread_mutex_unlock(&io->lock);
}

void iommu_unmap_area(struct iommu *io, const void *ptr, size_t len)
{
	size_t i, last = iommu_page(io, (const uint8_t *)ptr + len - 1);

	for (i = iommu_page(io, ptr); i <= last; i++)
		iommu_unmap(io, i);
}

void iommu_drop_all(struct iommu *io)
{
	size_t i;

	for (i = 0; i < io->pages; i++)
		bury(io, i);
}

void iommu_unmap_all(struct iommu *io, uint64_t size)
{
	pthread_mutex_lock(&io->lock);
	EXPECT_EQ(iommu_send(io, VHOST_IOTLB_INVALIDATE, 0, size, 0, 0), 0);
	iommu_drop_all(io);
	pthread_mutex_unlock(&io->lock);
}

static bool grave_robbed(const uint8_t *p)
{
	return p[0] != GRAVE || memcmp(p, p + 1, IOMMU_PAGE - 1);
}

void iommu_check_graves(struct iommu *io)
{
	pthread_mutex_lock(&io->lock);
	while (io->graves) {
		uint8_t *p = io->grave[--io->graves];

		if (grave_robbed(p))
			FAIL("a page was written after its INVALIDATE");
		ASSERT(mmap(p, IOMMU_PAGE, PROT_NONE, MAP_PRIVATE | MAP_FIXED |
			    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == p);
		io->slot[io->slots++] = (p - io->arena) / (2 * IOMMU_PAGE);
	}
	pthread_mutex_unlock(&io->lock);
}

void iommu_answer(struct iommu *io, const struct vhost_iotlb_msg *m)
{
	uint64_t page = (m->iova - iommu_iova(io, 0)) / IOMMU_PAGE;

	pthread_mutex_lock(&io->lock);
	io->misses++;
	if (page >= io->pages) {
		io->strays++;
	} else {
		io->missed[page]++;
		map_locked(io, page, IOMMU_RW);
	}
	pthread_mutex_unlock(&io->lock);
}

void iommu_call_wakes(struct iommu *io, unsigned long req, const void *arg)
{
	bool traced;

	wait_worker_idle();
	traced = !vdev_is_vhost() && tracing_begin() && tracing_on("kvnet/kvnet_work_event", "");
	vdev_ioctl(io->v->fd, req, arg);
	if (traced)
		EXPECT_GE(tracing_count("event=ctrl"), 1);
	tracing_end();
}

unsigned int iommu_pump(struct iommu *io)
{
	struct vhost_iotlb_msg m;
	unsigned int n = 0;

	while (iommu_read(io, &m)) {
		iommu_answer(io, &m);
		n++;
	}
	return n;
}

static void *serve(void *arg)
{
	struct iommu *io = arg;
	struct pollfd p[2] = {
		{ .fd = io->v->fd, .events = POLLIN },
		{ .fd = io->stop, .events = POLLIN },
	};

	do {
		if (poll(p, 2, -1) < 0)
			break;
		iommu_pump(io);
	} while (!(p[1].revents & POLLIN));
	return NULL;
}

void iommu_serve(struct iommu *io)
{
	io->stop = vdev_eventfd();
	ASSERT_EQ(pthread_create(&io->thread, NULL, serve, io), 0);
}

void iommu_serve_end(struct iommu *io)
{
	uint64_t one = 1;

	if (io->stop < 0)
		return;
	ASSERT_EQ(write(io->stop, &one, sizeof(one)), sizeof(one));
	pthread_join(io->thread, NULL);
	close(io->stop);
	io->stop = -1;
}
