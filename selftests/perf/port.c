// SPDX-License-Identifier: GPL-2.0
/* Devices with taps, and rings that cost little: see port.h. */
#include <endian.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <net/if.h>

#include "floor.h"
#include "links.h"
#include "port.h"
#include "traffic.h"

#define RX_BUF	4096u	/* of a frame that is cut into several */
#define BUS	0x00fe000000000000ull	/* with spec.viommu */
#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

static uint8_t *buffer(const struct port *p, unsigned int queue, unsigned int i)
{
	return p->r.v.q[queue].bufs + (size_t)i * p->buf[queue];
}

static void lay_out(struct port *p, unsigned int queue, uint32_t len,
		    uint16_t flags)
{
	struct vdev_queue *q = &p->r.v.q[queue];

	quick_start(&p->q[queue], &q->ring, vdev_bus(&p->r.v, q->bufs),
		    p->buf[queue], len, flags);
}

/* taps */

/* A tap with an empty name, or one more queue of the one that has it. */
static int tap_open(char *name, bool queues)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), hdr = HDR;
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };

	if (fd < 0)
		ksft_skip("/dev/net/tun: %s", strerror(errno));
	if (queues)
		ifr.ifr_flags |= IFF_MULTI_QUEUE;
	strcpy(ifr.ifr_name, *name ? name : "bench%d");
	ASSERT_SYS(ioctl(fd, TUNSETIFF, &ifr));
	strcpy(name, ifr.ifr_name);
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &hdr));
	ASSERT_SYS(ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6));
	return fd;
}

/* One tap for each device, or one with a queue for each. */
static void port_tap(struct ports *all, struct port *p)
{
	bool queues = all->s.queues > 1;

	if (queues && p->number)
		strcpy(p->r.name, all->port[0].r.name);
	p->r.tap = tap_open(p->r.name, queues);
	p->r.ifindex = if_nametoindex(p->r.name);
	if (!queues || !p->number) {
		ASSERT_EQ(link_queue_len(p->r.ifindex, p->burst + p->burst / 8 + 64), 0);
		rig_link(&p->r, true);
	}
	if (queues && p->number == all->s.queues - 1)
		traffic_steer(p->r.tap);
	p->r.sniff = -1;
	p->r.inject = rig_packet_socket(&p->r, 0, all->s.gso);
}

/* devices */

static unsigned int round_up(unsigned int n, unsigned int to)
{
	return (n + to - 1) / to * to;
}

static void port_sizes(struct port *p, const struct spec *s)
{
	unsigned int frame = HDR + s->size, unit = s->viommu ? 4096 : 256;

	p->buf[VDEV_TX] = round_up(frame, unit);
	p->buf[VDEV_RX] = s->gso ? RX_BUF : round_up(frame, unit);
	p->per_frame = (frame + p->buf[VDEV_RX] - 1) / p->buf[VDEV_RX];
	p->burst = s->ring / 8 * 7 / p->per_frame;
}

static void port_device(struct port *p, const struct spec *s)
{
	struct vdev *v = &p->r.v;
	unsigned int tx_ring = s->gso ? 64 : s->ring, i;
	size_t size = VDEV_RING_ZONE + (2u << 20) +
		      (size_t)tx_ring * p->buf[VDEV_TX] +
		      (size_t)s->ring * p->buf[VDEV_RX];

	vdev_open(v);
	v->bus = BUS;
	vdev_set_features(v, vdev_layout(F_V1 | F_MRG | F_EVENT) | (s->viommu ? F_PLATFORM : 0));
	ASSERT_EQ(v->hdr_len, HDR);
	vdev_memory(v, (size + (1u << 20) - 1) & ~((1ul << 20) - 1), 1);
	vdev_set_mem(v);
	vdev_queue_make(v, VDEV_RX, s->ring);
	vdev_queue_make(v, VDEV_TX, tx_ring);
	vdev_queue_pool(v, VDEV_RX, s->ring, p->buf[VDEV_RX]);
	vdev_queue_pool(v, VDEV_TX, tx_ring, p->buf[VDEV_TX]);
	for (i = 0; i < 2; i++) {
		gr_start_at(&v->q[i].ring, 0);
		vdev_queue_tell(v, i, 0);
		/* to sleep on */
		ASSERT_SYS(fcntl(v->q[i].call, F_SETFL, 0));
	}
}

static void port_frames(struct port *p, const struct spec *s)
{
	struct vdev_queue *tx = &p->r.v.q[VDEV_TX];
	unsigned int i;

	for (i = 0; i < tx->num; i++)
		traffic_make(buffer(p, VDEV_TX, i), i, 1, s);
	lay_out(p, VDEV_TX, HDR + s->size, 0);
	memset(p->r.v.q[VDEV_RX].bufs, 0,
	       (size_t)s->ring * p->buf[VDEV_RX]);
	lay_out(p, VDEV_RX, p->buf[VDEV_RX], GR_DESC_F_WRITE);
}

void ports_open(struct ports *p, const struct spec *s)
{
	unsigned int i;

	p->s = *s;
	p->n = s->devices * s->queues;
	ASSERT(p->n <= PORTS_MAX && (s->devices == 1 || s->queues == 1));
	p->port = calloc(p->n, sizeof(*p->port));
	ASSERT(p->port);
	rig_enter_netns();
	for (i = 0; i < p->n; i++) {
		p->port[i].number = i;
		port_sizes(&p->port[i], s);
		if (floor_is())
			floor_open(&p->port[i], s);
		else
			port_device(&p->port[i], s);
		port_tap(p, &p->port[i]);
		if (!p->port[i].floor)
			port_frames(&p->port[i], s);
	}
	if (s->dirs & SPEC_RX || s->queues > 1)
		traffic_burst(p->port[0].burst, s);
}

void ports_close(struct ports *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		if (p->port[i].floor)
			floor_close(&p->port[i]);
		else
			vdev_close(&p->port[i].r.v);
		close(p->port[i].r.tap);
		close(p->port[i].r.inject);
	}
	free(p->port);
}

void port_attach(struct port *p, unsigned int queue, bool on)
{
	if (p->floor)
		floor_attach(p, on);
	else
		vdev_backend(&p->r.v, queue, on ? p->r.tap : -1);
}

/* packets */

/* So many buffers more, and a kick; the last of them calls. */
static void offer(struct port *p, unsigned int queue, unsigned int count)
{
	struct quick *q = &p->q[queue];
	uint64_t one = 1;

	quick_want(q, q->shown + count);
	quick_show(q, count);
	ASSERT_EQ(write(p->r.v.q[queue].kick, &one, sizeof(one)), sizeof(one));
	p->kicks++;
}

void port_tx_start(struct port *p, unsigned int count)
{
	if (p->floor)
		floor_start(p, VDEV_TX, count);
	else
		offer(p, VDEV_TX, count);
}

void port_tx_introduce(struct port *p, const struct spec *s)
{
	static const uint8_t lldp[ETH_ALEN] = { 1, 0x80, 0xc2, 0, 0, 0xe };

	if (!s->gso || p->floor)
		return;
	memset(buffer(p, VDEV_TX, 0), 0, HDR);
	memcpy(buffer(p, VDEV_TX, 0) + HDR, lldp, sizeof(lldp));
	quick_set_len(&p->q[VDEV_TX], HDR + ETH_ZLEN);
	port_tx_start(p, 1);
	port_wait(p, VDEV_TX);
	p->introduced++;
	quick_set_len(&p->q[VDEV_TX], HDR + s->size);
	traffic_make(buffer(p, VDEV_TX, 0), 0, 1, s);
}

void port_rx_fill(struct ports *all, struct port *p)
{
	traffic_send(p->r.inject, p->number, all->s.queues > 1);
}

void port_rx_start(struct port *p)
{
	if (p->floor)
		floor_start(p, VDEV_RX, p->burst);
	else
		offer(p, VDEV_RX, p->burst * p->per_frame - p->left);
}

void port_wait(struct port *p, unsigned int queue)
{
	uint64_t n;

	if (p->floor) {
		floor_wait(p, queue);
		return;
	}
	while (!quick_done(&p->q[queue])) {
		ASSERT_EQ(read(p->r.v.q[queue].call, &n, sizeof(n)), sizeof(n));
		p->calls += n;
	}
}

void ports_name_queues(struct ports *all)
{
	struct port *p;

	for (p = all->port; all->s.queues > 1 && p < all->port + all->n; p++) {
		port_attach(p, VDEV_RX, true);
		port_rx_fill(all, p);
		port_rx_start(p);
		port_wait(p, VDEV_RX);
	}
}

unsigned int port_wait_segments(struct port *p, const struct spec *s)
{
	struct quick *q = &p->q[VDEV_RX];
	unsigned int to_come = p->burst, frames = 0, bytes;
	uint32_t at = q->shown - p->burst;

	while (to_come) {
		/* that much payload takes as many buffers, or more */
		bytes = to_come * (s->size - TRAFFIC_TCP);
		quick_want(q, at + (bytes + p->buf[VDEV_RX] - 1) / p->buf[VDEV_RX]);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		port_wait(p, VDEV_RX);
		for (; (int32_t)(q->goal - at) > 0; frames++) {
			struct virtio_net_hdr_mrg_rxbuf *h = (void *)buffer(p, VDEV_RX, at & q->mask);
			unsigned int n = traffic_segments((uint8_t *)(h + 1), s);

			ASSERT(n && n <= to_come);
			to_come -= n;
			at += le16toh(h->num_buffers);
		}
	}
	p->left = q->shown - at;
	return frames;
}

void port_events(struct port *p, unsigned long *kicks, unsigned long *calls)
{
	unsigned int i;

	/* also those that nobody slept for */
	for (i = 0; i < 2 && !p->floor; i++) {
		ASSERT_SYS(fcntl(p->r.v.q[i].call, F_SETFL, O_NONBLOCK));
		p->calls += vdev_eventfd_take(p->r.v.q[i].call);
		ASSERT_SYS(fcntl(p->r.v.q[i].call, F_SETFL, 0));
	}
	*kicks += p->kicks;
	*calls += p->calls;
	p->kicks = 0;
	p->calls = 0;
}

/* The last burst: each frame over so many buffers, of the right length, intact. */
static void check_rx(const struct ports *all, const struct port *p)
{
	const struct quick *q = &p->q[VDEV_RX];
	uint32_t at = q->goal - p->burst * p->per_frame;
	unsigned int i, k;

	for (i = 0; i < p->burst; i++) {
		uint8_t *first = buffer(p, VDEV_RX, at & q->mask);
		int64_t len = 0, n;

		for (k = 0; k < p->per_frame; k++, at++) {
			n = quick_written(q, at);
			len = n < 0 || len < 0 ? -1 : len + n;
		}
		/* of IN_ORDER a device may keep it to itself */
		if (len >= 0 || !q->ring->cfg.in_order)
			ASSERT_EQ(len, HDR + all->s.size);
		if (!all->s.gso) {
			first[HDR + 5] = 1;	/* the queue's number was there */
			ASSERT(frame_check(first + HDR, all->s.size, i,
					   all->s.size));
		}
	}
}

/* The last lap: each buffer was used, in order. */
static void check_tx(const struct port *p)
{
	const struct quick *q = &p->q[VDEV_TX];
	uint32_t at = q->goal - q->mask - 1;

	while ((int32_t)(q->goal - at) > 0)
		at = quick_next(q, at);
	ASSERT_EQ(at, q->goal);
}

void port_check(const struct ports *all, const struct port *p, unsigned int queue)
{
	if (p->floor)
		return;
	if (queue == VDEV_RX)
		check_rx(all, p);
	else
		check_tx(p);
}

struct arrived port_arrived(const struct port *p)
{
	FILE *f = fopen("/proc/self/net/dev", "r");
	size_t len = strlen(p->r.name);
	char line[256], *at;
	struct arrived n = { 0 };

	ASSERT(f);
	while (fgets(line, sizeof(line), f)) {
		at = line + strspn(line, " ");
		if (!strncmp(at, p->r.name, len) && at[len] == ':')
			sscanf(at + len + 1, "%*u %lu %*u %lu", &n.packets, &n.dropped);
	}
	fclose(f);
	n.packets -= p->introduced;
	return n;
}
