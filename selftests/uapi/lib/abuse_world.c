// SPDX-License-Identifier: GPL-2.0
/*
 * The devices that are abused, and what becomes of them: see abuse.h.
 *
 * Their memory is at addresses of its own, far from all else: the kernel puts nothing else
 * where some of it was unmapped.
 */
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/userfaultfd.h>

#include "abuse.h"
#include "inject.h"
#include "links.h"

#define FAR		0x1000000000ul
#define EACH		0x40000000ul
#define RINGS_AT	0x10000000ul
#define SPARE_AT	0x20000000ul
#define MANY		4096	/* buffers of a long ring */

static uint8_t *place(const struct abused *a, unsigned long offset)
{
	return (uint8_t *)(FAR + a->nr * EACH + offset);
}

static bool map_at(struct abused *a, unsigned long offset, size_t size)
{
	return mmap(place(a, offset), size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, a->r.v.memfd, 0) != MAP_FAILED;
}

static bool map_all(struct abused *a)
{
	struct vdev *v = &a->r.v;

	return map_at(a, 0, v->mem_size) &&
	       map_at(a, RINGS_AT, VDEV_RING_ZONE) &&
	       map_at(a, SPARE_AT, v->mem_size);
}

/*** set-up ***/

/* For frames that are cut up on their way. */
static void open_gso(struct abused *a)
{
	a->gso = rig_packet_socket(&a->r, 0, true);
	fcntl(a->gso, F_SETFL, O_NONBLOCK);
}

static void open_device(struct world *w, unsigned int nr, struct draw *d)
{
	static const uint64_t layouts[] = {
		0, F_PACKED, F_ORDER, F_PACKED | F_ORDER,
	};
	struct abused *a = &w->dev[nr];
	struct rig_cfg cfg = {
		.num = nr == 2 ? MANY : 64, .bufs = 64, .tx_buf = 2048, .rx_buf = 2048,
		.here = true, .stopped = true,
	};
	struct vdev *v = &a->r.v;
	unsigned int i;

	cfg.features = F_V1 | F_MRG | F_IND | F_EVENT;
	cfg.features |= nr < 2 ? layouts[nr] : layouts[draw(d, 4)];
	if (nr == 2 && one_in(d, 2))
		cfg.features |= F_PLATFORM;
	rig_open(&a->r, &cfg);
	a->nr = nr;
	pthread_mutex_init(&a->guest, NULL);
	vdev_unmap_host(v, v->host);
	munmap(v->ring_host, VDEV_RING_ZONE);
	v->host = place(a, 0);
	v->host_span = v->mem_size;
	v->ring_host = place(a, RINGS_AT);
	a->spare = place(a, SPARE_AT);
	ASSERT(map_all(a));
	a->log = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(a->log != MAP_FAILED);
	fcntl(v->fd, F_SETFL, O_NONBLOCK);
	fcntl(a->r.inject, F_SETFL, O_NONBLOCK);
	open_gso(a);
	a->traffic = draw(d, TRAFFIC_WAYS);
	a->seq = draw(d, 1 << 16);	/* lengths follow from it */
	for (i = 0; i < 2; i++)
		a->ring[i] = v->q[i].ring.cfg;
	a->fd[0] = v->fd;
	for (i = 1; i < ABUSE_FDS; i++)
		a->fd[i] = -1;
}

void world_open(struct world *w, struct abuse_tally *tally, uint64_t seed)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct draw d = { .x = seed | 1 };
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->tally = tally;
	w->may_fail = !access("/sys/kernel/debug/failslab", F_OK);
	if (w->may_fail)
		inject_knobs("0");
	rig_enter_netns();
	w->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (w->uffd >= 0)
		ASSERT_SYS(ioctl(w->uffd, UFFDIO_API, &api));
	ASSERT_SYS(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, w->sock));
	/* a listener for notifications, which reads none, so that its socket fills */
	genl_open(&w->events);
	genl_join(&w->events);
	for (i = 0; i < ABUSE_DEVS; i++) {
		open_device(w, i, &d);
		ASSERT(world_repair(w, &w->dev[i]));
	}
}

int abuse_fd(struct abused *a, struct draw *d)
{
	int fd = one_in(d, 4) ? a->fd[draw(d, ABUSE_FDS)] : -1;

	return fd >= 0 ? fd : a->r.v.fd;
}

/*** repair ***/

static void new_device(struct abused *a)
{
	int fd = open(vdev_path(), O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	dup2(fd, a->r.v.fd);	/* the end of the old one, maybe */
	close(fd);
	__vdev_ioctl(a->r.v.fd, VHOST_SET_OWNER, NULL);
}

static void new_tap(struct abused *a)
{
	struct rig *r = &a->r;
	struct rig old = *r;

	r->tap = rig_tap_new(r, 0);
	r->sniff = rig_packet_socket(r, FRAME_TYPE, false);
	r->inject = rig_packet_socket(r, 0, false);
	fcntl(r->inject, F_SETFL, O_NONBLOCK);
	close(old.tap);
	close(old.sniff);
	close(old.inject);
	close(a->gso);
	open_gso(a);
}

/* The tap exists, is up, and has the header size of the driver. */
static void mend_tap(struct abused *a)
{
	int hdr = a->r.v.hdr_len, sndbuf = INT32_MAX;
	struct ifreq ifr;

	if (ioctl(a->r.tap, TUNGETIFF, &ifr) ||
	    ioctl(a->r.tap, TUNSETVNETHDRSZ, &hdr) ||
	    ioctl(a->r.tap, TUNSETSNDBUF, &sndbuf) ||
	    link_mtu(a->r.ifindex, 65521) || link_up(a->r.ifindex, true))
		new_tap(a);
}

static void map_part(struct vdev *v, uint8_t *base, size_t at, size_t size)
{
	struct vhost_msg_v2 m = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = VDEV_GPA + at, .size = size,
			.uaddr = (uintptr_t)base + at, .perm = VHOST_ACCESS_RW,
			.type = VHOST_IOTLB_UPDATE,
		},
	};

	if (write(v->fd, &m, sizeof(m)) < 0)
		return;
}

void world_map(struct abused *a)
{
	struct vdev *v = &a->r.v;
	size_t cut = (uint8_t *)a->ring[a->seq / 2 % 2].desc - v->mem + 72;

	if (a->seq % 2) {
		map_part(v, v->host, 0, v->mem_size);
		return;
	}
	map_part(v, v->host, 0, cut);
	map_part(v, a->spare, cut, v->mem_size - cut);
}

static int set_up(struct abused *a)
{
	struct vdev *v = &a->r.v;
	uint64_t v2 = 1 << VHOST_BACKEND_F_IOTLB_MSG_V2;
	int ret = __vdev_ioctl(v->fd, VHOST_SET_FEATURES, &v->features);

	__vdev_ioctl(v->fd, VHOST_SET_BACKEND_FEATURES, &v2);
	if (!ret)
		ret = __vdev_set_mem(v);
	if (!ret && v->features & F_PLATFORM)
		world_map(a);
	return ret;
}

static bool attach(struct abused *a)
{
	struct vdev *v = &a->r.v;
	unsigned int q;

	for (q = 0; q < 2; q++) {
		vdev_queue_renew(v, q);
		if (__vdev_queue_tell(v, q, 0) ||
		    __vdev_backend(v, q, a->r.tap))
			return false;
	}
	return true;
}

bool world_mend(struct world *w, struct abused *a)
{
	struct vdev *v = &a->r.v;
	unsigned int tries, q;
	bool ok = false;

	for (tries = 0; tries < 3 && !ok; tries++) {
		map_all(a);
		mend_tap(a);
		for (q = 0; q < 2; q++)
			if (__vdev_backend(v, q, -1))
				break;
		if (q < 2) {
			__vdev_ioctl(v->fd, VHOST_RESET_OWNER, NULL);
			if (__vdev_ioctl(v->fd, VHOST_SET_OWNER, NULL))
				new_device(a);
		} else if (tries) {
			new_device(a);
		}
		ok = !set_up(a) && attach(a);
	}
	a->r.tx_out = 0;
	__atomic_fetch_add(&w->tally->repairs, 1, __ATOMIC_RELAXED);
	return ok;
}

bool world_repair(struct world *w, struct abused *a)
{
	bool ok;

	pthread_mutex_lock(&a->guest);
	ok = world_mend(w, a);
	pthread_mutex_unlock(&a->guest);
	return ok;
}

/*** the end ***/

void world_close_others(struct world *w)
{
	unsigned int i, k;

	for (i = 0; i < ABUSE_DEVS; i++)
		for (k = 1; k < ABUSE_FDS; k++)
			if (w->dev[i].fd[k] >= 0)
				close(w->dev[i].fd[k]);
	close(w->sock[0]);
	close(w->sock[1]);
}

/* At the end of a world: no other thread runs any more. */
bool world_carries(struct world *w, struct abused *a)
{
	struct vdev *v = &a->r.v;
	int tx = 0, rx = 0;
	bool ok;

	a->traffic = 0;
	ok = world_repair(w, a);
	ok = ok && WAIT_FOR(3000, ({
		traffic_answer(a);
		traffic_offer(a, VDEV_RX, 8);
		traffic_offer(a, VDEV_TX, 1);
		traffic_host(a, 1);
		tx += traffic_reap(&v->q[VDEV_TX]);
		rx += traffic_reap(&v->q[VDEV_RX]);
		tx > 0 && rx > 0; }));
	if (ok)
		return true;
	ksft_note("%d sent, %d received; %s, %s", tx, rx,
		  v->q[VDEV_TX].ring.broken ? v->q[VDEV_TX].ring.broken : "good",
		  v->q[VDEV_RX].ring.broken ? v->q[VDEV_RX].ring.broken : "good");
	return false;
}

/*** page faults that userfaultfd delays ***/

static void deliver(struct world *w, uint64_t at, struct draw *d)
{
	struct uffdio_zeropage zero = { .range = { at & ~4095ul, 4096 } };

	if (one_in(d, 3))
		poll(NULL, 0, draw(d, 6));
	if (one_in(d, 4) || ioctl(w->uffd, UFFDIO_ZEROPAGE, &zero)) {
		ioctl(w->uffd, UFFDIO_UNREGISTER, &zero.range);
		ioctl(w->uffd, UFFDIO_WAKE, &zero.range);
	}
}

void *world_pages(void *world)
{
	struct world *w = world;
	struct pollfd p = { .fd = w->uffd, .events = POLLIN };
	struct draw d = { .x = 88172645463325252ull };
	struct uffd_msg msg;

	/* no task may wait for a page at the end */
	while (w->uffd >= 0 && !__atomic_load_n(&w->over, __ATOMIC_ACQUIRE))
		if (poll(&p, 1, 20) == 1 &&
		    read(w->uffd, &msg, sizeof(msg)) == sizeof(msg))
			deliver(w, msg.arg.pagefault.address, &d);
	if (w->uffd >= 0)
		close(w->uffd);
	w->uffd = -1;
	return NULL;
}
