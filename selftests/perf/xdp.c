// SPDX-License-Identifier: GPL-2.0
/*
 * xdp - the guest sends to a tap whose XDP program drops each frame, or sends it on to the
 * tap of a second guest, which gets it without a socket buffer ever having been made.
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "meter.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

static struct {
	struct ports p;
	unsigned int count;	/* frames of a pass */
	unsigned long passes;	/* all of them */
	unsigned long each;	/* of a slice */
	bool redirect;
	struct meter m;
} sample;

static int load(const struct bpf_insn *code, unsigned int n)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = n,
		.insns = (uintptr_t)code,
		.license = (uintptr_t)"GPL",
	};

	return ASSERT_SYS(syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
}

/* drop, or bpf_redirect(ifindex, 0) */
static int load_program(int redirect_to)
{
	const struct bpf_insn drop[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_DROP },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct bpf_insn redirect[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = redirect_to },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return redirect_to ? load(redirect, 4) : load(drop, 2);
}

static void attach_program(int ifindex, int fd)
{
	struct {
		struct nlmsghdr n;
		struct ifinfomsg i;
		struct nlattr xdp, prog;
		int fd;
		struct nlattr how;
		uint32_t flags;
	} req = {
		.n = { .nlmsg_len = sizeof(req), .nlmsg_type = RTM_SETLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.i = { .ifi_index = ifindex },
		.xdp = { sizeof(req) - sizeof(req.n) - sizeof(req.i),
			 IFLA_XDP | NLA_F_NESTED },
		.prog = { 8, IFLA_XDP_FD },
		.fd = fd,
		.how = { 8, IFLA_XDP_FLAGS },
		.flags = XDP_FLAGS_DRV_MODE,
	};
	int nl = ASSERT_SYS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		char more[512];
	} ack;

	ASSERT_EQ(send(nl, &req, sizeof(req), 0), sizeof(req));
	ASSERT(recv(nl, &ack, sizeof(ack), 0) > 0);
	ASSERT_EQ(ack.e.error, 0);
	close(nl);
}

static uint64_t run(unsigned long passes)
{
	struct port *from = &sample.p.port[0], *to = &sample.p.port[1];
	uint64_t begin = now_ns();

	sample.passes += passes;
	while (passes--) {
		if (sample.redirect)
			port_rx_start(to);
		port_tx_start(from, sample.count);
		port_wait(from, VDEV_TX);
		if (sample.redirect)
			port_wait(to, VDEV_RX);
	}
	return now_ns() - begin;
}

static unsigned int xdp_open(const struct spec *s)
{
	unsigned long passes = 2;
	unsigned int slices;
	int program;
	uint64_t ns;

	sample.redirect = s->devices == 2;
	ports_open(&sample.p, s);
	program = load_program(sample.redirect ? sample.p.port[1].r.ifindex : 0);
	attach_program(sample.p.port[0].r.ifindex, program);
	close(program);
	port_attach(&sample.p.port[0], VDEV_TX, true);
	if (sample.redirect)
		port_attach(&sample.p.port[1], VDEV_RX, true);
	sample.count = sample.p.port[0].burst;
	while ((ns = run(passes)) < s->ns / 8)
		passes *= 2;
	ASSERT(workers_find(getpid()) >= s->devices);
	passes = passes * (double)s->ns / ns + 1;
	slices = turns_slices(s, passes);
	sample.each = passes < slices ? 1 : passes / slices;
	return slices;
}

static void xdp_slice(unsigned int i)
{
	uint64_t ns;

	run(1);
	meter_begin(&sample.m, &sample.p);
	ns = run(sample.each);
	meter_end(&sample.m, &sample.p, i, (double)sample.each * sample.count, ns);
}

/* The tap's counter of frames that a program dropped. */
static unsigned long dropped(const struct port *p)
{
	FILE *f = fopen("/proc/self/net/dev", "r");
	size_t len = strlen(p->r.name);
	unsigned long n = 0;
	char line[256], *at;

	ASSERT(f);
	while (fgets(line, sizeof(line), f)) {
		at = line + strspn(line, " ");
		if (!strncmp(at, p->r.name, len) && at[len] == ':')
			sscanf(at + len + 1, "%*u %*u %*u %lu", &n);
	}
	fclose(f);
	return n;
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
	ASSERT_EQ(dropped(&sample.p.port[0]), sample.redirect ? 0 : sent);
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
