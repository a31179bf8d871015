// SPDX-License-Identifier: GPL-2.0
/*
 * viommu - a guest behind a strict IOMMU: each buffer has a page and a translation of its own,
 * which the guest takes back as soon as the buffer is used. A thread is the VMM: it reads misses
 * and answers each before it reads the next, as QEMU does. The rings stay translated.
 */
#include "meter.h"
#include "stolen.h"

#define PAGE	4096u

/* One backend's sample; it has a process of its own. */
static struct {
	struct ports p;
	struct port *port;
	unsigned int queue;
	unsigned int count;	/* packets of a pass */
	unsigned long passes;	/* all of them */
	unsigned long each;	/* of a slice */
	struct meter m;
	/* the VMM's */
	uint64_t user;		/* where the guest's first page is */
	pthread_t vmm;
	int stop;
	unsigned long wakes, misses;	/* atomic; since the slices began */
} sample;

static void message(uint8_t type, uint64_t iova, uint64_t size)
{
	const struct vdev *v = &sample.port->r.v;
	struct vhost_msg_v2 m = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = iova,
			.size = size,
			.uaddr = sample.user + iova - v->bus - VDEV_GPA,
			.perm = VHOST_ACCESS_RW,
			.type = type,
		},
	};

	ASSERT_EQ(write(v->fd, &m, sizeof(m)), sizeof(m));
}

static void add(unsigned long *n, unsigned long more)
{
	__atomic_fetch_add(n, more, __ATOMIC_RELAXED);
}

static void *vmm(void *arg)
{
	struct pollfd p[2] = {
		{ .fd = sample.port->r.v.fd, .events = POLLIN },
		{ .fd = sample.stop, .events = POLLIN },
	};
	struct vhost_msg_v2 m;
	unsigned int n;

	while (!(p[1].revents & POLLIN)) {
		ASSERT_SYS(poll(p, 2, -1));
		for (n = 0; read(p[0].fd, &m, sizeof(m)) == sizeof(m); n++)
			message(VHOST_IOTLB_UPDATE, m.iotlb.iova & ~(uint64_t)(PAGE - 1), PAGE);
		add(&sample.wakes, 1);
		add(&sample.misses, n);
	}
	return arg;
}

static void vmm_start(void)
{
	const struct vdev *v = &sample.port->r.v;
	uint64_t v2 = BIT64(VHOST_BACKEND_F_IOTLB_MSG_V2);
	struct vhost_memory *table = vdev_table(v);

	ASSERT_EQ(table->nregions, 1);
	sample.user = table->regions[0].userspace_addr;
	free(table);
	sample.stop = vdev_eventfd();
	vdev_ioctl(v->fd, VHOST_SET_BACKEND_FEATURES, &v2);
	ASSERT_SYS(fcntl(v->fd, F_SETFL, O_NONBLOCK));
	message(VHOST_IOTLB_UPDATE, v->bus + VDEV_GPA, VDEV_RING_ZONE);
	ASSERT_EQ(pthread_create(&sample.vmm, NULL, vmm, NULL), 0);
}

static void vmm_end(void)
{
	uint64_t one = 1;

	ASSERT_EQ(write(sample.stop, &one, sizeof(one)), sizeof(one));
	pthread_join(sample.vmm, NULL);
	close(sample.stop);
}

/* The guest frees the buffers that were used last, one by one. */
static void invalidate(void)
{
	const struct quick *q = &sample.port->q[sample.queue];
	const struct vdev_queue *vq = &sample.port->r.v.q[sample.queue];
	uint32_t at = q->goal - sample.count;
	size_t i;

	for (; at != q->goal; at++) {
		i = at & q->mask;
		message(VHOST_IOTLB_INVALIDATE,
			vdev_bus(&sample.port->r.v, vq->bufs + i * sample.port->buf[sample.queue]),
			PAGE);
	}
}

/* The clock stands while the host fills the tap. */
static uint64_t run(unsigned long passes)
{
	uint64_t begin, sum = 0;

	sample.passes += passes;
	while (passes--) {
		if (sample.queue == VDEV_RX)
			port_rx_fill(&sample.p, sample.port);
		begin = given_ns();
		if (sample.queue == VDEV_RX)
			port_rx_start(sample.port);
		else
			port_tx_start(sample.port, sample.count);
		port_wait(sample.port, sample.queue);
		invalidate();
		sum += given_ns() - begin;
	}
	return sum;
}

static unsigned int viommu_open(const struct spec *s)
{
	unsigned long passes;
	uint64_t ns;

	ASSERT(s->viommu && !s->gso && s->devices * s->queues == 1);
	ports_open(&sample.p, s);
	sample.port = sample.p.port;
	sample.queue = s->dirs == SPEC_RX ? VDEV_RX : VDEV_TX;
	sample.count = sample.queue == VDEV_RX ? sample.port->burst : s->batch;
	vmm_start();
	port_attach(sample.port, sample.queue, true);
	/* the whole ring once, so that the last pass can be checked */
	passes = s->ring / sample.count + 1;
	while ((ns = run(passes)) < s->ns / 8)
		passes *= 2;
	workers_find(getpid(), 1);
	sample.wakes = 0;
	sample.misses = 0;
	return turns_slices(s, passes * (double)s->ns / ns + 1, &sample.each);
}

static void viommu_slice(unsigned int i)
{
	uint64_t ns;

	run(1);
	meter_begin(&sample.m, &sample.p);
	ns = run(sample.each);
	meter_end(&sample.m, &sample.p, i, (double)sample.each * sample.count, ns);
}

static void viommu_close(unsigned int slices)
{
	double packets = (double)slices * (sample.each + 1) * sample.count;

	port_attach(sample.port, sample.queue, false);
	vmm_end();
	port_check(&sample.p, sample.port, sample.queue);
	if (sample.queue == VDEV_TX)
		ASSERT_EQ(port_arrived(sample.port).packets, sample.passes * sample.count);
	meter_rows(&sample.m, slices);
	spec_row("misses", sample.misses / packets, "1");
	spec_row("vmm", sample.wakes / packets, "1");
	ports_close(&sample.p);
}

TURNS(viommu, 240)
