// SPDX-License-Identifier: GPL-2.0
/* What a VMM may say to its device, and what a guest may write: see abuse.h. */
#include "abuse.h"

static bool call(struct abused *a, struct draw *d, unsigned long req, const void *arg)
{
	return __vdev_ioctl(abuse_fd(a, d), req, arg) >= 0;
}

/* A queue, seldom one that there is not. */
static unsigned int some_queue(struct draw *d)
{
	return one_in(d, 40) ? draw(d, 1 << 30) : draw(d, 2);
}

static uint64_t some_word(struct draw *d)
{
	uint64_t n = (uint64_t)draw(d, 1 << 30) << 34 | (uint64_t)draw(d, 1 << 30) << 4 |
		     draw(d, 16);

	return n >> draw(d, 64);
}

/* Not in the memory of the process itself, which a device would then write. */
static uint64_t wild_address(struct draw *d)
{
	uint64_t at = some_word(d);

	return at < 1 << 16 || at > 1ul << 40 ? at : at | 1ul << 40;
}

/* An address in the device's memory table, or not. */
static uint64_t some_address(struct abused *a, struct draw *d)
{
	struct vdev *v = &a->r.v;
	uint8_t *views[] = { v->host, v->ring_host, a->spare, v->mem };

	switch (draw(d, 12)) {
	case 0:
		return wild_address(d);
	case 1:
		return 0xffff888000000000ull + some_word(d) % (1 << 30);
	case 2:
		return (uintptr_t)v->host + v->mem_size - draw(d, 64);
	default:
		return (uintptr_t)views[draw(d, 4)] +
		       draw(d, VDEV_RING_ZONE) / 16 * (one_in(d, 8) ? 15 : 16);
	}
}

static int some_file(struct world *w, struct abused *a, struct draw *d)
{
	struct vdev_queue *q = &w->dev[draw(d, ABUSE_DEVS)].r.v.q[draw(d, 2)];

	switch (draw(d, 16)) {
	case 0:
		return a->r.tap;
	case 1:
		return a->r.v.fd;
	case 2:
		return a->r.v.memfd;
	case 3:
		return 100 + draw(d, 1000);
	case 4:
	case 5:
		return -1;
	case 6:
		return q->err;
	case 7:
	case 8:
		return q->kick;
	case 9:
	case 10:
		return q->call;
	case 11:
	case 12:
		return a->r.v.q[draw(d, 2)].call;
	default:
		return a->r.v.q[draw(d, 2)].kick;
	}
}

/*** ioctls ***/

static bool op_own(struct world *w, struct abused *a, struct draw *d)
{
	return call(a, d, VHOST_SET_OWNER, NULL);
}

static bool op_reset(struct world *w, struct abused *a, struct draw *d)
{
	bool ok = call(a, d, VHOST_RESET_OWNER, NULL);

	if (!one_in(d, 4))
		call(a, d, VHOST_SET_OWNER, NULL);
	return ok;
}

static bool op_features(struct world *w, struct abused *a, struct draw *d)
{
	static const uint64_t flips[] = {
		F_MRG, F_EVENT, F_IND, F_PACKED, F_ORDER, F_PLATFORM, F_LOG, F_V1,
		F_NETHDR, 0,
	};
	uint64_t f = a->r.v.features ^ flips[draw(d, 10)] ^ flips[draw(d, 10)];
	struct abi_features array = { .count = 1 + draw(d, 4) };

	if (one_in(d, 10))
		f = some_word(d);
	if (!one_in(d, 4))
		return call(a, d, VHOST_SET_FEATURES, &f);
	array.word[0] = f;
	array.word[1] = one_in(d, 3) ? some_word(d) : 0;
	return call(a, d, VHOST_SET_FEATURES_ARRAY, &array);
}

static bool op_get(struct world *w, struct abused *a, struct draw *d)
{
	static const unsigned long reqs[] = {
		VHOST_GET_FEATURES, VHOST_GET_BACKEND_FEATURES,
		VHOST_GET_FEATURES_ARRAY, VHOST_GET_FORK_FROM_OWNER,
		VHOST_GET_VRING_BASE, VHOST_GET_VRING_ENDIAN,
		VHOST_GET_VRING_BUSYLOOP_TIMEOUT,
	};
	struct abi_features buf = { .count = draw(d, 2) };
	unsigned long req = reqs[draw(d, 7)];

	if (one_in(d, 8))
		return call(a, d, req, (void *)(uintptr_t)some_address(a, d));
	return call(a, d, req, &buf);
}

static bool op_table(struct world *w, struct abused *a, struct draw *d)
{
	struct vhost_memory *m = calloc(1, sizeof(*m) + 600 * sizeof(m->regions[0]));
	struct vdev *v = &a->r.v;
	unsigned int n = 1, i, kind = draw(d, 12);
	uint64_t size = v->mem_size;
	bool ok;

	if (kind == 0)
		n = draw(d, 600);
	else if (kind < 4)
		n = 1 + draw(d, 8);
	size = size / (n ? n : 1) & ~4095ull;
	for (i = 0; i < n; i++)
		m->regions[i] = (struct vhost_memory_region) {
			VDEV_GPA + i * size, size,
			(uintptr_t)(draw(d, 2) ? v->host : a->spare) + i * size, 0,
		};
	m->nregions = n;
	if (kind == 4)
		m->regions[0].memory_size = some_word(d);
	else if (kind == 5)
		m->regions[0].userspace_addr = some_address(a, d);
	else if (kind == 6)
		m->nregions = 0;
	else if (kind == 7)
		m->regions[0].guest_phys_addr = some_word(d);
	ok = call(a, d, VHOST_SET_MEM_TABLE, m);
	free(m);
	return ok;
}

static bool op_number(struct world *w, struct abused *a, struct draw *d)
{
	static const unsigned long reqs[] = {
		VHOST_SET_VRING_NUM, VHOST_SET_VRING_BASE, VHOST_SET_VRING_ENDIAN,
		VHOST_SET_VRING_BUSYLOOP_TIMEOUT,
	};
	unsigned int which = draw(d, 4);
	struct vhost_vring_state s = { .index = some_queue(d) };
	unsigned int num = a->ring[s.index % 2].num;

	if (one_in(d, 3))
		s.num = some_word(d);
	else if (which == 0)
		s.num = num;
	else if (which == 1)
		s.num = draw(d, num) * 0x10001;
	else
		s.num = draw(d, 60);
	return call(a, d, reqs[which], &s);
}

static bool op_address(struct world *w, struct abused *a, struct draw *d)
{
	struct vhost_vring_addr addr;
	uint64_t *field[] = {
		(uint64_t *)&addr.desc_user_addr, (uint64_t *)&addr.used_user_addr,
		(uint64_t *)&addr.avail_user_addr, (uint64_t *)&addr.log_guest_addr,
	};

	vdev_queue_addr(&a->r.v, draw(d, 2), &addr);
	addr.index = some_queue(d);
	if (one_in(d, 2))
		*field[draw(d, 4)] = some_address(a, d);
	if (one_in(d, 4))
		addr.flags ^= 1 << draw(d, 3);
	return call(a, d, VHOST_SET_VRING_ADDR, &addr);
}

static bool op_eventfd(struct world *w, struct abused *a, struct draw *d)
{
	static const unsigned long reqs[] = {
		VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR,
	};
	struct vhost_vring_file f = {
		.index = some_queue(d), .fd = some_file(w, a, d),
	};

	return call(a, d, reqs[draw(d, 3)], &f);
}

static bool op_backend(struct world *w, struct abused *a, struct draw *d)
{
	struct vhost_vring_file f = { .index = some_queue(d), .fd = a->r.tap };

	switch (draw(d, 12)) {
	case 0:
		f.fd = w->dev[draw(d, ABUSE_DEVS)].r.tap;
		break;
	case 1:
		f.fd = one_in(d, 2) ? a->r.inject : a->r.sniff;	/* packet sockets */
		break;
	case 2:
		f.fd = some_file(w, a, d);
		break;
	case 3:
	case 4:
	case 5:
		f.fd = -1;
		break;
	}
	return call(a, d, VHOST_NET_SET_BACKEND, &f);
}

static bool op_log(struct world *w, struct abused *a, struct draw *d)
{
	uint64_t base = (uintptr_t)a->log;
	int fd = some_file(w, a, d);

	if (one_in(d, 3))
		return call(a, d, VHOST_SET_LOG_FD, &fd);
	/* bits are counted from guest-physical 0 */
	base -= VDEV_GPA / 4096 / 8;
	if (one_in(d, 3))
		base = some_address(a, d);
	return call(a, d, VHOST_SET_LOG_BASE, &base);
}

static bool op_worker(struct world *w, struct abused *a, struct draw *d)
{
	uint8_t fork = draw(d, 3);

	return call(a, d, VHOST_SET_FORK_FROM_OWNER, &fork);
}

static bool op_unknown(struct world *w, struct abused *a, struct draw *d)
{
	unsigned long req = _IOC(draw(d, 4), VHOST_VIRTIO, draw(d, 256), draw(d, 64));

	return call(a, d, req, (void *)(uintptr_t)some_address(a, d));
}

/*** messages of an IOMMU, and files ***/

static bool op_message(struct world *w, struct abused *a, struct draw *d)
{
	struct vhost_iotlb_msg m = {
		.iova = VDEV_GPA, .size = a->r.v.mem_size,
		.uaddr = (uintptr_t)a->r.v.host, .perm = 1 + draw(d, 3),
		.type = one_in(d, 2) ? VHOST_IOTLB_INVALIDATE : VHOST_IOTLB_UPDATE,
	};
	struct vhost_msg_v2 v2 = { .type = VHOST_IOTLB_MSG_V2 };
	struct vhost_msg v1 = { .type = VHOST_IOTLB_MSG };

	if (one_in(d, 2)) {
		m.iova += draw(d, 2048) * 4096;
		m.uaddr += m.iova - VDEV_GPA;
		m.size = (1 + draw(d, 32)) * 4096;
	}
	if (one_in(d, 6))
		m.iova = some_word(d);
	if (one_in(d, 6))
		m.size = some_word(d);
	if (one_in(d, 10))
		m.uaddr = some_address(a, d);
	if (one_in(d, 10))
		m.type = draw(d, 8);
	v1.iotlb = m;
	v2.iotlb = m;
	if (one_in(d, 3))
		return write(abuse_fd(a, d), &v1, one_in(d, 8) ? draw(d, 72) :
			     sizeof(v1)) > 0;
	return write(abuse_fd(a, d), &v2, one_in(d, 8) ? draw(d, 72) :
		     sizeof(v2)) > 0;
}

static bool op_read(struct world *w, struct abused *a, struct draw *d)
{
	struct pollfd p = { .fd = abuse_fd(a, d), .events = POLLIN | POLLOUT };
	uint8_t buf[128];

	if (one_in(d, 3))
		return poll(&p, 1, 0) == 1;
	/* what a device asks its IOMMU, to where it cannot be written */
	return read(p.fd, one_in(d, 4) ? NULL : buf, draw(d, sizeof(buf))) > 0;
}

static bool op_kick(struct world *w, struct abused *a, struct draw *d)
{
	uint64_t n = one_in(d, 20) ? ~1ull : 1;
	struct vdev_queue *q = &a->r.v.q[draw(d, 2)];

	if (one_in(d, 8))
		return read(draw(d, 2) ? q->kick : q->call, &n, 8) == 8;
	return write(one_in(d, 10) ? q->call : q->kick, &n, 8) == 8;
}

/*** what a guest writes ***/

static void *some_area(struct abused *a, struct draw *d, size_t *len)
{
	const struct gr_cfg *c = &a->ring[draw(d, 2)];

	switch (draw(d, 4)) {
	case 0:
		*len = gr_desc_bytes(c);
		return c->desc;
	case 1:
		*len = gr_avail_bytes(c);
		return c->avail;
	case 2:
		*len = gr_used_bytes(c);
		return c->used;
	default:
		*len = c->ind ? 4096 : gr_desc_bytes(c);
		return c->ind ? c->ind : c->desc;
	}
}

/* By the guest's view, whatever the driver does: one word, or a whole row of them. */
static bool op_scribble(struct world *w, struct abused *a, struct draw *d)
{
	unsigned int n = one_in(d, 6) ? draw(d, 64) : 1;
	uint16_t *word;
	size_t len;

	word = some_area(a, d, &len);
	word += draw(d, len / 2);
	for (; n && (uint8_t *)word < a->r.v.mem + a->r.v.mem_size; n--, word++) {
		uint16_t now = __atomic_load_n(word, __ATOMIC_RELAXED);

		now = one_in(d, 2) ? now ^ 1 << draw(d, 16) : (int)some_word(d);
		__atomic_store_n(word, now, __ATOMIC_RELAXED);
	}
	return true;
}

const struct abuse_op abuse_set_up[ABUSE_SET_UP + 1] = {
	{ "own", 2, op_own },
	{ "reset", 2, op_reset },
	{ "features", 6, op_features },
	{ "get", 5, op_get },
	{ "table", 8, op_table },
	{ "number", 6, op_number },
	{ "address", 6, op_address },
	{ "eventfd", 10, op_eventfd },
	{ "backend", 12, op_backend },
	{ "log", 6, op_log },
	{ "worker", 8, op_worker },
	{ "unknown", 1, op_unknown },
	{ "message", 10, op_message },
	{ "read", 2, op_read },
	{ "kick", 14, op_kick },
	{ "scribble", 14, op_scribble },
	{ 0 },
};
