// SPDX-License-Identifier: GPL-2.0
/*
 * xdp - the guest sends to a tap whose XDP program drops each frame, or sends it on to the
 * tap of a second guest, which gets it without a socket buffer ever having been made.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "meter.h"
#include "stolen.h"
#include "xdp.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

static struct {
	struct ports p;
	unsigned int count;	/* frames of a pass */
	unsigned long passes;	/* all of them */
	unsigned long each;	/* of a slice */
	bool redirect;
	struct meter m;
} sample;

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

static uint64_t run(unsigned long passes)
{
	struct port *from = &sample.p.port[0], *to = &sample.p.port[1];
	uint64_t begin = given_ns();

	sample.passes += passes;
	while (passes--) {
		if (sample.redirect)
			port_rx_start(to);
		port_tx_start(from, sample.count);
		port_wait(from, VDEV_TX);
		if (sample.redirect)
			port_wait(to, VDEV_RX);
	}
	return given_ns() - begin;
}

static unsigned int xdp_open(const struct spec *s)
{
	unsigned long passes = 2;
	int program;
	uint64_t ns;

	sample.redirect = s->devices == 2;
	ports_open(&sample.p, s);
	program = load_program(sample.redirect ? sample.p.port[1].r.ifindex : 0);
	ASSERT(program >= 0);
	ASSERT_EQ(xdp_attach(sample.p.port[0].r.ifindex, program), 0);
	close(program);
	port_attach(&sample.p.port[0], VDEV_TX, true);
	if (sample.redirect)
		port_attach(&sample.p.port[1], VDEV_RX, true);
	sample.count = sample.p.port[0].burst;
	while ((ns = run(passes)) < s->ns / 8)
		passes *= 2;
	workers_find(getpid(), sample.p.n);
	return turns_slices(s, passes * (double)s->ns / ns + 1, &sample.each);
}

static void xdp_slice(unsigned int i)
{
	uint64_t ns;

	run(1);
	meter_begin(&sample.m, &sample.p);
	ns = run(sample.each);
	meter_end(&sample.m, &sample.p, i, (double)sample.each * sample.count, ns);
}

/* The last pass at the second guest: intact, and all of them came in their order. */
static void check_arrived(const struct port *p)
{
	const struct quick *q = &p->q[VDEV_RX];
	uint32_t at = q->goal - sample.count, seq = 0, last = 0;
	unsigned int i;
	uint8_t *f;

	for (i = 0; i < sample.count; i++, at++, last = seq) {
		f = p->r.v.q[VDEV_RX].bufs + (size_t)(at & q->mask) * p->buf[VDEV_RX] + HDR;
		f[5] = 1;
		seq = frame_seq(f);
		ASSERT(frame_check(f, sample.p.s.size, seq, sample.p.s.size));
		ASSERT(!i || seq == ((last + 1) & q->mask));
	}
}

static void xdp_close(unsigned int slices)
{
	unsigned long sent = sample.passes * sample.count;

	port_attach(&sample.p.port[0], VDEV_TX, false);
	if (sample.redirect) {
		port_attach(&sample.p.port[1], VDEV_RX, false);
		check_arrived(&sample.p.port[1]);
	}
	ASSERT_EQ(port_arrived(&sample.p.port[0]).dropped, sample.redirect ? 0 : sent);
	meter_rows(&sample.m, slices);
	ports_close(&sample.p);
}

CASE_TIMED(xdp, 240)
{
	static const struct turns_work work = {
		.open = xdp_open, .slice = xdp_slice, .close = xdp_close,
	};

	turns_take(&work);
}
