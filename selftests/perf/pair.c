// SPDX-License-Identifier: GPL-2.0
/*
 * pair - the guest sends, and the host has its frames go on: over a bridge or by an XDP program
 * to the tap of a second guest, or by routing to a device that drops them.
 */
#include <endian.h>

#include "bridged.h"
#include "links.h"
#include "meter.h"
#include "stolen.h"
#include "traffic.h"
#include "xdp.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

static struct {
	struct ports p;
	struct port *from, *to;	/* to: NULL if there is no second guest */
	unsigned int count;	/* frames of a pass */
	unsigned long passes;	/* all of them */
	unsigned long frames;	/* in which their segments came, with spec.notso */
	unsigned long each;	/* of a slice */
	struct meter m;
} sample;

/* Drops all frames, or sends them on. */
static void set_xdp(int redirect_to)
{
	int ifindex = sample.from->r.ifindex, program;

	if (redirect_to) {
		ASSERT_EQ(xdp_redirect(ifindex, redirect_to), 0);
		return;
	}
	program = xdp_load_verdict(XDP_DROP);
	ASSERT(program >= 0);
	ASSERT_EQ(xdp_attach(ifindex, program), 0);
	close(program);
}

/* A router's way: from the network of the tap to another. */
static void set_forward(void)
{
	const char *name = sample.from->r.name;
	char command[512];

	/* by bash: the shell of busybox takes an ip of its own, which knows less */
	snprintf(command, sizeof(command),
		 "exec bash -c 'modprobe -qa dummy; ip link add sink type dummy && ip link set sink up && "
		 "ip link set %s address 02:00:00:00:00:01 && ip address add 10.9.0.254/24 dev %s && "
		 "ip route add 10.9.0.1 dev sink && echo 1 > /proc/sys/net/ipv4/ip_forward'", name, name);
	ASSERT_EQ(system(command), 0);
}

static void set_action(enum action action)
{
	if (action == ACTION_BRIDGE)
		bridged_ports(sample.from, sample.to);
	else if (action == ACTION_FORWARD)
		set_forward();
	else
		set_xdp(action == ACTION_REDIRECT ? sample.to->r.ifindex : 0);
}

static void wait_arrived(void)
{
	if (sample.to && sample.p.s.notso)
		sample.frames += port_wait_segments(sample.to, &sample.p.s);
	else if (sample.to)
		port_wait(sample.to, VDEV_RX);
}

static uint64_t run(unsigned long passes)
{
	uint64_t begin = given_ns();

	sample.passes += passes;
	while (passes--) {
		if (sample.to)
			port_rx_start(sample.to);
		port_tx_start(sample.from, sample.count);
		port_wait(sample.from, VDEV_TX);
		wait_arrived();
	}
	return given_ns() - begin;
}

static unsigned int pair_open(const struct spec *s)
{
	unsigned long passes = 2;
	uint64_t ns;

	ports_open(&sample.p, s);
	sample.from = sample.p.port;
	/* the floor has one of its own */
	sample.to = s->devices == 2 && !sample.from->floor ? sample.from + 1 : NULL;
	sample.count = sample.from->burst;
	port_attach(sample.from, VDEV_TX, true);
	if (!sample.from->floor)
		set_action(s->action);
	port_tx_introduce(sample.from, s);
	if (sample.to)
		port_attach(sample.to, VDEV_RX, true);
	while ((ns = run(passes)) < s->ns / 8)
		passes *= 2;
	workers_find(getpid(), sample.p.n);
	return turns_slices(s, passes * (double)s->ns / ns + 1, &sample.each);
}

static void pair_slice(unsigned int i)
{
	uint64_t ns;

	run(1);
	meter_begin(&sample.m, &sample.p);
	ns = run(sample.each);
	meter_end(&sample.m, &sample.p, i, (double)sample.each * sample.count, ns);
}

static const uint8_t *buffer(const struct port *p, unsigned int queue, uint32_t at)
{
	return p->r.v.q[queue].bufs + (size_t)(at & p->q[queue].mask) * p->buf[queue];
}

/*
 * The last pass at the second guest: intact, and all of them came in their order. Of those that
 * may have been merged that is the payload.
 */
static void check_arrived(void)
{
	const struct virtio_net_hdr_mrg_rxbuf *h;
	unsigned int head = sample.p.s.notso ? TRAFFIC_TCP : 0, each = sample.p.s.size - head;
	unsigned int size = sample.to->buf[VDEV_RX], segments, i;
	uint32_t sent = sample.from->q[VDEV_TX].goal - sample.count;
	uint32_t at = sample.to->q[VDEV_RX].shown - sample.count * sample.to->per_frame;
	static uint8_t f[HDR + FRAME_MAX + 4096];
	const uint8_t *want;

	while (sent != sample.from->q[VDEV_TX].goal) {
		h = (const void *)buffer(sample.to, VDEV_RX, at);
		segments = traffic_segments((const uint8_t *)(h + 1), &sample.p.s);
		ASSERT(segments && le16toh(h->num_buffers) <= sizeof(f) / size);
		for (i = 0; i < le16toh(h->num_buffers); i++)
			memcpy(f + i * size, buffer(sample.to, VDEV_RX, at++), size);
		for (i = 0; i < segments; i++, sent++) {
			want = buffer(sample.from, VDEV_TX, sent) + HDR;
			/* the host may complete it */
			if (sample.p.s.udp)
				memcpy(f + HDR + TRAFFIC_UDP_SUM, want + TRAFFIC_UDP_SUM, 2);
			ASSERT(!memcmp(f + HDR + head + i * each, want + head, each));
		}
	}
}

static void check_forwarded(unsigned long sent)
{
	struct link_sent sink = link_sent("sink");

	sample.frames = sink.packets;
	ASSERT_EQ(sink.bytes - sink.packets * TRAFFIC_TCP,
		  sent * (sample.p.s.size - TRAFFIC_TCP));
}

static void pair_close(unsigned int slices)
{
	unsigned long sent = sample.passes * sample.count;

	port_attach(sample.from, VDEV_TX, false);
	if (sample.to) {
		port_attach(sample.to, VDEV_RX, false);
		check_arrived();
	}
	if (sample.p.s.action == ACTION_FORWARD)
		check_forwarded(sent);
	ASSERT_EQ(port_arrived(sample.from).dropped,
		  sample.p.s.action == ACTION_DROP ? sent : 0);
	meter_rows(&sample.m, slices);
	if (sample.p.s.notso)
		spec_row("frames", (double)sample.frames / sent, "1");
	ports_close(&sample.p);
}

TURNS(pair, 240)
