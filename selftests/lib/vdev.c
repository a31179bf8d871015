// SPDX-License-Identifier: GPL-2.0
/* VMM and guest in one process: see vdev.h. */
#include <sys/eventfd.h>

#include "vdev.h"
#include "vhost_abi.h"

#define GUARD	4096u
#define IND_MAX	64u

const char *vdev_path(void)
{
	const char *path = getenv("KVNET_DEV");

	return path && *path ? path : "/dev/kvnet";
}

bool vdev_is_vhost(void)
{
	return strstr(vdev_path(), "vhost-net");
}

uint64_t vdev_layout(uint64_t features)
{
	const char *layout = getenv("KVNET_LAYOUT");

	/* legacy drivers have neither */
	if (!layout || !(features & F_V1))
		return features;
	if (strstr(layout, "packed"))
		features |= F_PACKED;
	if (strstr(layout, "in_order"))
		features |= F_ORDER;
	return features;
}

int vdev_open_node(void)
{
	int fd = open(vdev_path(), O_RDWR | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENXIO || errno == ENODEV))
		ksft_skip("%s: %s", vdev_path(), strerror(errno));
	return ASSERT_SYS(fd);
}

int __vdev_ioctl(int fd, unsigned long req, const void *arg)
{
	int ret = ioctl(fd, req, arg);

	return ret < 0 ? -errno : ret;
}

void vdev_ioctl_at(int fd, unsigned long req, const void *arg, const char *what,
		   const char *file, int line)
{
	int ret = __vdev_ioctl(fd, req, arg);

	if (ret >= 0)
		return;
	ksft_fail(file, line, "%s: %s", what, strerror(-ret));
	ksft_abort();
}

char vdev_parameter_text(const char *name, const char *value)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/module/kvnet/parameters/%s", name);
	return ksft_file_set(path, value);
}

char vdev_parameter(const char *name, char value)
{
	return vdev_parameter_text(name, (char[]) { value, 0 });
}

void vdev_allow_choice(void)
{
	int fd = open("/sys/module/kvnet/parameters/fork_owner_control", O_RDONLY | O_CLOEXEC);
	char c = 'Y';

	if (fd < 0)
		return;
	ASSERT_EQ(read(fd, &c, 1), 1);
	close(fd);
	if (c != 'Y')
		vdev_parameter("fork_owner_control", 'Y');
}

int vdev_set_kind(int fd)
{
	const char *kind = getenv("KVNET_WORKER");
	uint8_t fork_owner;

	if (!kind || !*kind)
		return 0;
	fork_owner = strcmp(kind, "kthread") ? VHOST_FORK_OWNER_TASK : VHOST_FORK_OWNER_KTHREAD;
	return __vdev_ioctl(fd, VHOST_SET_FORK_FROM_OWNER, &fork_owner);
}

void vdev_own(int fd)
{
	const char *kind = getenv("KVNET_WORKER");
	int ret;

	if (kind && *kind)
		vdev_allow_choice();
	ret = vdev_set_kind(fd);
	if (ret && vdev_is_vhost())
		ksft_skip("no choice of workers: %s", strerror(-ret));
	ASSERT_EQ(ret, 0);
	vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
}

void vdev_open(struct vdev *v)
{
	memset(v, 0, sizeof(*v));
	v->memfd = -1;
	v->fd = vdev_open_node();
	v->hdr_len = sizeof(struct virtio_net_hdr);
	vdev_own(v->fd);
	vdev_ioctl(v->fd, VHOST_GET_FEATURES, &v->offered);
}

void vdev_close(struct vdev *v)
{
	close(v->fd);
	v->fd = -1;
	vdev_queue_free(v, VDEV_RX);
	vdev_queue_free(v, VDEV_TX);
	if (v->memfd < 0)
		return;
	vdev_unmap_host(v, v->host);
	munmap(v->ring_host, VDEV_RING_ZONE);
	munmap(v->mem, v->mem_size);
	close(v->memfd);
	v->memfd = -1;
}

void vdev_set_features(struct vdev *v, uint64_t features)
{
	if (features & ~v->offered)
		ksft_skip("features 0x%llx are not offered", (unsigned long
			  long)(features & ~v->offered));
	vdev_ioctl(v->fd, VHOST_SET_FEATURES, &features);
	v->features = features;
	v->hdr_len = features & (F_V1 | F_MRG) ?
		sizeof(struct virtio_net_hdr_mrg_rxbuf) :
		sizeof(struct virtio_net_hdr);
}

static size_t chunk(const struct vdev *v)
{
	return v->mem_size / v->regions;
}

/* Region i, in the host's view: last one first, with a guard after each. */
static size_t host_offset(const struct vdev *v, unsigned int i)
{
	return (v->regions - 1 - i) * (chunk(v) + GUARD);
}

uint8_t *vdev_map_host(struct vdev *v)
{
	uint8_t *old = v->host, *p;
	unsigned int i;

	v->host_span = v->regions * (chunk(v) + GUARD);
	v->host = mmap(NULL, v->host_span, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT(v->host != MAP_FAILED);
	for (i = 0; i < v->regions; i++) {
		p = mmap(v->host + host_offset(v, i), chunk(v),
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 v->memfd, i * chunk(v));
		ASSERT(p != MAP_FAILED);
	}
	return old;
}

void vdev_unmap_host(struct vdev *v, uint8_t *host)
{
	ASSERT_SYS(munmap(host, v->host_span));
}

void vdev_memory(struct vdev *v, size_t size, unsigned int regions)
{
	ASSERT(regions && regions <= VDEV_REGIONS);
	v->memfd = ASSERT_SYS(memfd_create("guest", MFD_CLOEXEC));
	v->mem_size = size;
	v->mem_used = VDEV_RING_ZONE;
	v->regions = regions;
	ASSERT_EQ(chunk(v) % GUARD, 0);
	ASSERT_SYS(ftruncate(v->memfd, size));
	v->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, v->memfd,
		      0);
	ASSERT(v->mem != MAP_FAILED);
	v->ring_host = mmap(NULL, VDEV_RING_ZONE, PROT_READ | PROT_WRITE,
			    MAP_SHARED, v->memfd, 0);
	ASSERT(v->ring_host != MAP_FAILED);
	vdev_map_host(v);
}

void *vdev_alloc(struct vdev *v, size_t size, size_t align)
{
	size_t at = (v->mem_used + align - 1) / align * align;

	ASSERT(at + size <= v->mem_size);
	v->mem_used = at + size;
	return v->mem + at;
}

uint64_t vdev_gpa(const struct vdev *v, const void *ptr)
{
	return VDEV_GPA + (uint64_t)((const uint8_t *)ptr - v->mem);
}

uint64_t vdev_bus(const struct vdev *v, const void *ptr)
{
	return vdev_gpa(v, ptr) + (v->features & F_PLATFORM ? v->bus : 0);
}

static uint64_t ring_bus(void *ctx, const void *ptr, size_t len)
{
	return vdev_bus(ctx, ptr);
}

struct vhost_memory *vdev_table(const struct vdev *v)
{
	struct vhost_memory *m;
	unsigned int i;

	m = calloc(1, sizeof(*m) + v->regions * sizeof(m->regions[0]));
	ASSERT(m);
	m->nregions = v->regions;
	for (i = 0; i < v->regions; i++) {
		m->regions[i].guest_phys_addr = VDEV_GPA + i * chunk(v);
		m->regions[i].memory_size = chunk(v);
		m->regions[i].userspace_addr = (uintptr_t)v->host +
					       host_offset(v, i);
	}
	return m;
}

int __vdev_set_mem(struct vdev *v)
{
	struct vhost_memory *m = vdev_table(v);
	int ret = __vdev_ioctl(v->fd, VHOST_SET_MEM_TABLE, m);

	free(m);
	return ret;
}

void vdev_set_mem(struct vdev *v)
{
	ASSERT_EQ(__vdev_set_mem(v), 0);
}

int vdev_eventfd(void)
{
	return ASSERT_SYS(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

static unsigned int ind_tables(const struct vdev *v, unsigned int num)
{
	if (!(v->features & F_IND))
		return 0;
	return num > 256 ? 256 : num;
}

void vdev_queue_make(struct vdev *v, unsigned int i, unsigned int num)
{
	struct vdev_queue *q = &v->q[i];
	struct gr_cfg cfg = {
		.num = num,
		.packed = v->features & F_PACKED,
		.in_order = v->features & F_ORDER,
		.event_idx = v->features & F_EVENT,
		.ind_tables = ind_tables(v, num),
		.ind_max = IND_MAX,
		.to_gpa = ring_bus,
		.ctx = v,
	};
	size_t bytes = gr_block_bytes(&cfg, 4096);

	if (!q->area) {
		ASSERT(v->ring_used + bytes <= VDEV_RING_ZONE);
		q->area = v->mem + v->ring_used;
		v->ring_used += bytes;
		q->kick = vdev_eventfd();
		q->call = vdev_eventfd();
		q->err = vdev_eventfd();
	}
	if (!q->ind && cfg.ind_tables)
		q->ind = vdev_alloc(v, 16 * IND_MAX * 256, 16);
	cfg.ind = q->ind;
	gr_block_cut(&cfg, q->area, 4096);
	gr_exit(&q->ring);
	ASSERT_EQ(gr_init(&q->ring, &cfg), 0);
	q->num = num;
}

void vdev_queue_free(struct vdev *v, unsigned int i)
{
	struct vdev_queue *q = &v->q[i];

	if (!q->area)
		return;
	close(q->kick);
	close(q->call);
	close(q->err);
	free(q->buf_free);
	gr_exit(&q->ring);
	memset(q, 0, sizeof(*q));
}

/*
 * The log address is that of the used area. What else the device writes it finds
 * in the memory table, so it must be there.
 */
static uint64_t ring_addr(const struct vdev *v, const void *ptr)
{
	size_t at = (const uint8_t *)ptr - v->mem;

	if (v->features & F_PLATFORM)
		return vdev_bus(v, ptr);
	if (v->log_used && v->features & F_PACKED)
		return (uintptr_t)v->host + host_offset(v, at / chunk(v)) +
		       at % chunk(v);
	return (uintptr_t)v->ring_host + ((const uint8_t *)ptr - v->mem);
}

void vdev_queue_addr(const struct vdev *v, unsigned int i,
		     struct vhost_vring_addr *addr)
{
	const struct gr_cfg *cfg = &v->q[i].ring.cfg;

	*addr = (struct vhost_vring_addr) {
		.index = i,
		.desc_user_addr = ring_addr(v, cfg->desc),
		.avail_user_addr = ring_addr(v, cfg->avail),
		.used_user_addr = ring_addr(v, cfg->used),
	};
	if (!v->log_used)
		return;
	addr->flags = 1 << VHOST_VRING_F_LOG;
	/* behind an IOMMU it says nothing of where that is for the guest */
	addr->log_guest_addr = vdev_bus(v, cfg->used);
}

int __vdev_vring_fd(const struct vdev *v, unsigned long req, unsigned int i,
		    int fd)
{
	struct vhost_vring_file f = { .index = i, .fd = fd };

	return __vdev_ioctl(v->fd, req, &f);
}

int __vdev_queue_tell(struct vdev *v, unsigned int i, uint16_t base)
{
	struct vhost_vring_state num = { .index = i, .num = v->q[i].num };
	struct vdev_queue *q = &v->q[i];
	struct vhost_vring_state at = {
		.index = i, .num = gr_base_at(&q->ring.cfg, base),
	};
	struct vhost_vring_addr addr;
	int ret;

	vdev_queue_addr(v, i, &addr);
	ret = __vdev_ioctl(v->fd, VHOST_SET_VRING_NUM, &num);
	if (!ret)
		ret = __vdev_ioctl(v->fd, VHOST_SET_VRING_BASE, &at);
	if (!ret)
		ret = __vdev_ioctl(v->fd, VHOST_SET_VRING_ADDR, &addr);
	if (!ret)
		ret = __vdev_vring_fd(v, VHOST_SET_VRING_KICK, i, q->kick);
	if (!ret)
		ret = __vdev_vring_fd(v, VHOST_SET_VRING_CALL, i, q->call);
	return ret ? ret : __vdev_vring_fd(v, VHOST_SET_VRING_ERR, i, q->err);
}

void vdev_queue_tell(struct vdev *v, unsigned int i, uint16_t base)
{
	ASSERT_EQ(__vdev_queue_tell(v, i, base), 0);
}

static void pool_fill(struct vdev_queue *q)
{
	unsigned int n;

	q->buf_left = q->buf_num;
	for (n = 0; n < q->buf_num; n++)
		q->buf_free[n] = q->buf_num - 1 - n;
}

void vdev_queue_pool(struct vdev *v, unsigned int i, unsigned int num,
		     unsigned int size)
{
	struct vdev_queue *q = &v->q[i];

	q->bufs = vdev_alloc(v, (size_t)num * size, 64);
	q->buf_size = size;
	q->buf_num = num;
	free(q->buf_free);
	q->buf_free = calloc(num, sizeof(*q->buf_free));
	ASSERT(q->buf_free);
	pool_fill(q);
}

void vdev_queue_renew(struct vdev *v, unsigned int i)
{
	struct vdev_queue *q = &v->q[i];

	vdev_queue_make(v, i, q->num);
	pool_fill(q);
	gr_start_at(&q->ring, 0);
	vdev_eventfd_take(q->kick);
	vdev_eventfd_take(q->call);
	vdev_eventfd_take(q->err);
}

void vdev_queue_reset(struct vdev *v, unsigned int i)
{
	vdev_queue_renew(v, i);
	vdev_queue_tell(v, i, 0);
}

uint8_t *vdev_buf_get(struct vdev_queue *q)
{
	if (!q->buf_left)
		return NULL;
	return q->bufs + (size_t)q->buf_free[--q->buf_left] * q->buf_size;
}

void vdev_buf_put(struct vdev_queue *q, uint8_t *buf)
{
	q->buf_free[q->buf_left++] = (buf - q->bufs) / q->buf_size;
}

int __vdev_backend(const struct vdev *v, unsigned int i, int fd)
{
	return __vdev_vring_fd(v, VHOST_NET_SET_BACKEND, i, fd);
}

void vdev_backend(const struct vdev *v, unsigned int i, int fd)
{
	ASSERT_EQ(__vdev_backend(v, i, fd), 0);
}

uint32_t vdev_get_base(const struct vdev *v, unsigned int i)
{
	struct vhost_vring_state s = { .index = i };

	vdev_ioctl(v->fd, VHOST_GET_VRING_BASE, &s);
	EXPECT_EQ(s.index, i);
	if (!(v->features & F_PACKED))
		EXPECT_LE(s.num, 0xffff);
	return s.num;
}

bool vdev_settled(const struct vdev *v, unsigned int i, uint32_t base)
{
	if (v->features & F_PACKED)
		return base >> 16 == (base & 0xffff);
	return gr_raw_used_idx(&v->q[i].ring) == base;
}

void vdev_set_base(const struct vdev *v, unsigned int i, uint32_t base)
{
	struct vhost_vring_state s = { .index = i, .num = base };

	vdev_ioctl(v->fd, VHOST_SET_VRING_BASE, &s);
}

void vdev_kick_always(struct vdev_queue *q)
{
	uint64_t one = 1;
	ssize_t ret;

	gr_publish(&q->ring);
	gr_kick_needed(&q->ring);
	q->kicks++;
	ret = write(q->kick, &one, sizeof(one));
	/* if this is what was to fail */
	if (ret < 0 && errno == EFAULT)
		ret = write(q->kick, &one, sizeof(one));
	ASSERT_EQ(ret, sizeof(one));
}

void vdev_no_spin(const struct vdev *v)
{
	struct vhost_vring_state s = { .num = 0 };

	for (s.index = 0; s.index < 2; s.index++)
		vdev_ioctl(v->fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
}

void vdev_kick(struct vdev_queue *q)
{
	uint64_t one = 1;

	gr_publish(&q->ring);
	if (!gr_kick_needed(&q->ring))
		return;
	q->kicks++;
	/* once more if that is what was to fail */
	if (write(q->kick, &one, sizeof(one)) < 0 && errno == EFAULT)
		ASSERT_EQ(write(q->kick, &one, sizeof(one)), sizeof(one));
}

uint64_t vdev_eventfd_take(int fd)
{
	uint64_t n = 0;

	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return n;
}

bool vdev_eventfd_wait(int fd, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ksft_patience(ms)) == 1 && p.revents & POLLIN;
}
