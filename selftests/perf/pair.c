// SPDX-License-Identifier: GPL-2.0
/*
 * pair - the guest sends, and the host has its frames go on: over a bridge or by an XDP program
 * to the tap of a second guest, or to a device that drops them.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "meter.h"
#include "stolen.h"
#include "xdp.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

static struct {
	struct ports p;
	struct port *from, *to;	/* to: NULL if there is no second guest */
	unsigned int count;	/* frames of a pass */
	unsigned long passes;	/* all of them */
	unsigned long each;	/* of a slice */
	struct meter m;
} sample;

/* By bash: the shell of busybox takes an ip of its own, which knows less. */
static void shell(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ASSERT_EQ(system(command), 0);
}

/* drop, or bpf_redirect(ifindex, 0) */
static int load_program(int redirect_to)
{
	const struct bpf_insn redirect[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = redirect_to },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return redirect_to ? xdp_load(redirect, 4) : xdp_load_verdict(XDP_DROP);
}

static void set_xdp(int redirect_to)
{
	int program = load_program(redirect_to);

	ASSERT(program >= 0);
	ASSERT_EQ(xdp_attach(sample.from->r.ifindex, program), 0);
	close(program);
}

/* One more frame of the second guest's own; does it come to the first one's tap? */
static bool is_learnt(void)
{
	struct pollfd tap = { .fd = sample.from->r.tap, .events = POLLIN };

	port_tx_start(sample.to, 1);
	port_wait(sample.to, VDEV_TX);
	return poll(&tap, 1, 0) == 1;
}

/*
 * Without multicast snooping the bridge sends no frames of its own. It learns the second guest's
 * address, to which the first one sends, from frames with the two addresses exchanged.
 */
static void set_bridge(void)
{
	struct vdev_queue *tx = &sample.to->r.v.q[VDEV_TX];
	uint8_t address[6], *f;
	unsigned int i;

	shell("exec bash -c 'modprobe -qa bridge; ip link add br0 type bridge mcast_snooping 0 && "
	      "ip link set %s master br0 && ip link set %s master br0 && ip link set br0 up'",
	      sample.from->r.name, sample.to->r.name);
	for (i = 0; i < tx->num; i++) {
		f = tx->bufs + (size_t)i * sample.to->buf[VDEV_TX] + HDR;
		memcpy(address, f, 6);
		memcpy(f, f + 6, 6);
		memcpy(f + 6, address, 6);
	}
	port_attach(sample.to, VDEV_TX, true);
	/* a port of a bridge does not forward at once */
	ASSERT(WAIT_FOR(8000, is_learnt()));
	port_attach(sample.to, VDEV_TX, false);
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
		if (sample.to)
			port_wait(sample.to, VDEV_RX);
	}
	return given_ns() - begin;
}

static unsigned int pair_open(const struct spec *s)
{
	unsigned long passes = 2;
	uint64_t ns;

	ports_open(&sample.p, s);
	sample.from = sample.p.port;
	sample.to = s->devices == 2 ? sample.from + 1 : NULL;
	sample.count = sample.from->burst;
	port_attach(sample.from, VDEV_TX, true);
	if (s->action == ACTION_BRIDGE)
		set_bridge();
	else
		set_xdp(s->action == ACTION_REDIRECT ? sample.to->r.ifindex : 0);
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

/* The last pass at the second guest: intact, and all of them came in their order. */
static void check_arrived(void)
{
	uint32_t sent = sample.from->q[VDEV_TX].goal - sample.count;
	uint32_t at = sample.to->q[VDEV_RX].shown - sample.count * sample.to->per_frame;
	unsigned int i;

	/* a frame of several buffers has neighbouring ones, never the last and the first */
	for (i = 0; i < sample.count; i++, at += sample.to->per_frame)
		ASSERT(!memcmp(buffer(sample.to, VDEV_RX, at) + HDR,
			       buffer(sample.from, VDEV_TX, sent + i) + HDR, sample.p.s.size));
}

static void pair_close(unsigned int slices)
{
	unsigned long sent = sample.passes * sample.count;

	port_attach(sample.from, VDEV_TX, false);
	if (sample.to) {
		port_attach(sample.to, VDEV_RX, false);
		check_arrived();
	}
	ASSERT_EQ(port_arrived(sample.from).dropped,
		  sample.p.s.action == ACTION_DROP ? sent : 0);
	meter_rows(&sample.m, slices);
	ports_close(&sample.p);
}

CASE_TIMED(pair, 240)
{
	static const struct turns_work work = {
		.open = pair_open, .slice = pair_slice, .close = pair_close,
	};

	turns_take(&work);
}
