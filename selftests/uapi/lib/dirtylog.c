// SPDX-License-Identifier: GPL-2.0
/* The VMM's half of dirty logging: see dirtylog.h. */
#include "dirtylog.h"

#define FIRST	(VDEV_GPA / LOG_PAGE)	/* bit of the memory's first page */

static uint64_t *map_new(const struct dirtylog *l)
{
	uint8_t *p = mmap(NULL, l->skew + l->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED);
	return (uint64_t *)(p + l->skew);
}

void dirtylog_unmap(const struct dirtylog *l, uint64_t *map)
{
	ASSERT_SYS(munmap((uint8_t *)map - l->skew, l->skew + l->bytes));
}

void dirtylog_protect(struct dirtylog *l, int prot)
{
	ASSERT_SYS(mprotect((uint8_t *)l->map - l->skew, l->skew + l->bytes,
			    prot));
}

/* A page of the log ends amidst the bits of the receive buffers. */
static size_t skew_for(const struct vdev *v)
{
	const struct vdev_queue *q = &v->q[VDEV_RX];
	size_t middle = (q->bufs - v->mem + q->buf_num * q->buf_size / 2) /
			LOG_PAGE;
	size_t at = (FIRST + middle) / 8 & ~7ul;

	return -at & 4095;
}

void dirtylog_open(struct dirtylog *l, struct vdev *v)
{
	if (!(v->offered & F_LOG))
		ksft_skip("no VHOST_F_LOG_ALL");
	l->v = v;
	l->pages = v->mem_size / LOG_PAGE;
	l->bytes = ((FIRST + l->pages + 63) / 64 * 8 + 4095) & ~4095ul;
	l->skew = skew_for(v);
	l->map = map_new(l);
}

void dirtylog_close(struct dirtylog *l)
{
	dirtylog_unmap(l, l->map);
}

int __dirtylog_base(struct vdev *v, uint64_t base)
{
	return __vdev_ioctl(v->fd, VHOST_SET_LOG_BASE, &base);
}

void dirtylog_base(struct dirtylog *l)
{
	ASSERT_EQ(__dirtylog_base(l->v, (uintptr_t)l->map), 0);
}

uint64_t *dirtylog_replace(struct dirtylog *l)
{
	uint64_t *old = l->map;

	l->map = map_new(l);
	dirtylog_base(l);
	return old;
}

int __dirtylog_addr(struct vdev *v, unsigned int q, uint64_t log_addr)
{
	struct vhost_vring_addr addr;

	vdev_queue_addr(v, q, &addr);
	addr.flags = 1 << VHOST_VRING_F_LOG;
	addr.log_guest_addr = log_addr;
	return __vdev_ioctl(v->fd, VHOST_SET_VRING_ADDR, &addr);
}

void dirtylog_addrs(struct vdev *v)
{
	struct vhost_vring_addr addr;
	unsigned int q;

	for (q = 0; q < 2; q++) {
		vdev_queue_addr(v, q, &addr);
		vdev_ioctl(v->fd, VHOST_SET_VRING_ADDR, &addr);
	}
}

void dirtylog_on(struct dirtylog *l)
{
	dirtylog_base(l);
	vdev_set_features(l->v, l->v->features | F_LOG);
	l->v->log_used = true;
	dirtylog_addrs(l->v);
}

void dirtylog_off(struct dirtylog *l)
{
	vdev_set_features(l->v, l->v->features & ~F_LOG);
	l->v->log_used = false;
	dirtylog_addrs(l->v);
}

void dirtylog_clear(struct dirtylog *l)
{
	size_t i;

	for (i = 0; i < l->bytes / 8; i++)
		__atomic_store_n(&l->map[i], 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool dirtylog_has(const struct dirtylog *l, size_t page)
{
	const uint8_t *bytes = (const uint8_t *)l->map;
	size_t bit = FIRST + page;

	return __atomic_load_n(&bytes[bit / 8], __ATOMIC_ACQUIRE) >>
	       bit % 8 & 1;
}

bool dirtylog_strays(const struct dirtylog *l)
{
	const uint8_t *bytes = (const uint8_t *)l->map;
	size_t bit;

	for (bit = 0; bit < l->bytes * 8; bit++)
		if ((bit < FIRST || bit >= FIRST + l->pages) &&
		    bytes[bit / 8] >> bit % 8 & 1)
			return true;
	return false;
}

unsigned int dirtylog_move(const struct dirtylog *l, uint64_t *map,
			   uint8_t *image)
{
	unsigned int n = 0;
	uint64_t word;
	size_t i, page;

	for (i = FIRST / 64; i < l->bytes / 8; i++) {
		if (!__atomic_load_n(&map[i], __ATOMIC_RELAXED))
			continue;
		word = __atomic_exchange_n(&map[i], 0, __ATOMIC_SEQ_CST);
		for (; word; word &= word - 1, n++) {
			page = i * 64 + __builtin_ctzll(word) - FIRST;
			ASSERT(page < l->pages);
			memcpy(image + page * LOG_PAGE,
			       l->v->mem + page * LOG_PAGE, LOG_PAGE);
		}
	}
	return n;
}

void pages_mark(const struct dirtylog *l, uint8_t *set, const void *ptr,
		size_t len)
{
	size_t from = (const uint8_t *)ptr - l->v->mem;
	size_t i;

	for (i = from / LOG_PAGE; len && i <= (from + len - 1) / LOG_PAGE; i++)
		set[i] = 1;
}

void pages_mark_used(const struct dirtylog *l, uint8_t *set)
{
	unsigned int q;

	for (q = 0; q < 2; q++) {
		const struct gr_cfg *c = &l->v->q[q].ring.cfg;

		pages_mark(l, set, c->used, gr_used_bytes(c));
		if (c->packed)
			pages_mark(l, set, c->desc, gr_desc_bytes(c));
	}
}
