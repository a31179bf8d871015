// SPDX-License-Identifier: GPL-2.0
/* The frames that are sent: see traffic.h. */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

#include "rig.h"
#include "segments.h"
#include "traffic.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)
#define SEGMENT	1448
#define ETHER	14u

static struct {
	struct mmsghdr *msg;
	unsigned int count;
	uint8_t *last;		/* each frame's last byte of its destination */
	size_t step;
} burst;

static struct iphdr make_ip(uint8_t protocol, uint32_t seq, const struct spec *s)
{
	struct iphdr ip = {
		.version = 4, .ihl = 5, .tot_len = htons(s->size - ETHER), .ttl = 64,
		.protocol = protocol, .id = htons(seq), .frag_off = htons(IP_DF),
		.saddr = htonl(0x0a090002), .daddr = htonl(0x0a090001),
	};

	ip.check = htons(~sum16(&ip, sizeof(ip), 0));
	return ip;
}

/* A TCP packet as a guest makes it: the checksum is to be completed. */
static void make_tcp(uint8_t *buf, uint32_t seq, const struct spec *s)
{
	struct virtio_net_hdr *h = (void *)buf;
	uint8_t *eth = buf + HDR;
	struct iphdr ip = make_ip(IPPROTO_TCP, seq, s);
	struct tcphdr tcp = {
		.source = htons(5001), .dest = htons(5002), .seq = htonl(seq * (s->size - TRAFFIC_TCP)),
		.doff = 8, .ack = 1, .window = htons(65535),
	};
	uint32_t pseudo = IPPROTO_TCP + s->size - ETHER - sizeof(ip);

	frame_make(eth, seq, s->size);
	eth[12] = 8;
	eth[13] = 0;
	tcp.check = htons(sum16(&ip.saddr, 8, pseudo));
	memcpy(eth + ETHER, &ip, sizeof(ip));
	memcpy(eth + ETHER + sizeof(ip), &tcp, sizeof(tcp));
	memset(eth + ETHER + sizeof(ip) + sizeof(tcp), 1, 12);	/* TCP no-ops */
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->csum_start = ETHER + sizeof(ip);
	h->csum_offset = 16;
	if (!s->gso)
		return;
	h->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
	h->hdr_len = TRAFFIC_TCP;
	h->gso_size = SEGMENT;
}

/* A UDP packet as a guest makes it: the checksum is to be completed. */
static void make_udp(uint8_t *buf, uint32_t seq, const struct spec *s)
{
	struct virtio_net_hdr *h = (void *)buf;
	uint8_t *eth = buf + HDR;
	struct iphdr ip = make_ip(IPPROTO_UDP, seq, s);
	struct udphdr udp = {
		.source = htons(5001), .dest = htons(5002),
		.len = htons(s->size - ETHER - sizeof(ip)),
	};
	uint32_t pseudo = IPPROTO_UDP + s->size - ETHER - sizeof(ip);

	eth[12] = 8;
	eth[13] = 0;
	udp.check = htons(sum16(&ip.saddr, 8, pseudo));
	memcpy(eth + ETHER, &ip, sizeof(ip));
	memcpy(eth + ETHER + sizeof(ip), &udp, sizeof(udp));
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->csum_start = ETHER + sizeof(ip);
	h->csum_offset = TRAFFIC_UDP_SUM - ETHER - sizeof(ip);
}

void traffic_make(uint8_t *buf, uint32_t seq, uint8_t last, const struct spec *s)
{
	memset(buf, 0, HDR);
	if (s->gso || s->notso)
		make_tcp(buf, seq, s);
	else
		frame_make(buf + HDR, seq, s->size);
	if (s->udp)
		make_udp(buf, seq, s);
	buf[HDR + 5] = last;
}

unsigned int traffic_segments(const uint8_t *frame, const struct spec *s)
{
	unsigned int payload = (frame[16] << 8 | frame[17]) - (TRAFFIC_TCP - ETHER);

	if (!s->notso)
		return 1;
	ASSERT_EQ(payload % (s->size - TRAFFIC_TCP), 0);
	return payload / (s->size - TRAFFIC_TCP);
}

void traffic_burst(unsigned int count, const struct spec *s)
{
	/* a packet socket wants the header without the number of buffers */
	unsigned int skip = s->gso ? sizeof(struct virtio_net_hdr) : 0, i;
	struct iovec *iov = calloc(2 * count, sizeof(*iov));
	size_t step = HDR + s->size;
	uint8_t *frames = malloc(count * step), *f;

	burst.msg = calloc(count, sizeof(*burst.msg));
	ASSERT(iov && frames && burst.msg);
	burst.count = count;
	burst.last = frames + HDR + 5;
	burst.step = step;
	for (i = 0; i < count; i++, iov += 2) {
		f = frames + i * step;
		traffic_make(f, i, 1, s);
		iov[0] = (struct iovec) { f, skip };
		iov[1] = (struct iovec) { f + HDR, s->size };
		burst.msg[i].msg_hdr.msg_iov = skip ? iov : iov + 1;
		burst.msg[i].msg_hdr.msg_iovlen = skip ? 2 : 1;
	}
}

void traffic_send(int socket, unsigned int queue, bool steer)
{
	unsigned int i;
	int n;

	for (i = 0; steer && i < burst.count; i++)
		burst.last[i * burst.step] = queue;
	for (i = 0; i < burst.count; i += n) {
		n = sendmmsg(socket, burst.msg + i, burst.count - i, 0);
		ASSERT_SYS(n);
	}
}

/* r6 = context; r0 = the frame's byte 5, counted from its start */
void traffic_steer(int tap)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_LD | BPF_ABS | BPF_B, .imm = 5 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(program[0]),
		.license = (uintptr_t)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	ASSERT_SYS(fd);
	ASSERT_SYS(ioctl(tap, TUNSETSTEERINGEBPF, &fd));
	close(fd);
}
