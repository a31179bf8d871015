// SPDX-License-Identifier: GPL-2.0
/* Frames of all kinds: see packets.h. */
#include <net/ethernet.h>
#include <netinet/in.h>

#include "ksft.h"
#include "packets.h"
#include "segments.h"

#define SEGMENT		1000	/* bytes of a segment of a GSO frame */

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

/* All that follows the EtherType, from 'ip' to the end. Returns the place of the next header. */
static uint8_t *put_ip(uint8_t *ip, const uint8_t *end, bool ipv6, uint8_t proto)
{
	if (ipv6) {
		memset(ip, 0, 40);
		ip[0] = 0x60;
		put16(ip + 4, end - ip - 40);
		ip[6] = proto;
		ip[7] = 64;
		memcpy(ip + 8, "\x20\x01\x0d\xb8", 4);
		memcpy(ip + 24, "\x20\x01\x0d\xb8", 4);
		ip[39] = 1;
		return ip + 40;
	}
	memset(ip, 0, 20);
	ip[0] = 0x45;
	put16(ip + 2, end - ip);
	ip[8] = 64;
	ip[9] = proto;
	memcpy(ip + 12, "\xc0\0\2\1\xc0\0\2\2", 8);
	put16(ip + 10, ~sum16(ip, 20, 0));
	return ip + 20;
}

static uint32_t pseudo_header(const uint8_t *ip, uint32_t len, uint8_t proto)
{
	return ip[0] >> 4 == 6 ? sum16(ip + 8, 32, proto + len) : sum16(ip + 12, 8, proto + len);
}

static void put_udp(struct packet *p, uint8_t *ip, bool ipv6, bool partial)
{
	const uint8_t *end = p->frame + p->len;
	uint8_t *udp = put_ip(ip, end, ipv6, IPPROTO_UDP);
	uint32_t len = end - udp, sum = pseudo_header(ip, len, IPPROTO_UDP);

	put16(udp, 1000);
	put16(udp + 2, 2000);
	put16(udp + 4, len);
	put16(udp + 6, 0);
	if (partial) {
		put16(udp + 6, sum);
		p->h.hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		p->h.hdr.csum_start = udp - p->frame;
		p->h.hdr.csum_offset = 6;
		return;
	}
	sum = (uint16_t)~sum16(udp, len, sum);
	put16(udp + 6, sum ? sum : 0xffff);
}

static void put_tcp(struct packet *p)
{
	uint8_t *ip = p->frame + ETH_HLEN;
	uint8_t *tcp = put_ip(ip, p->frame + p->len, false, IPPROTO_TCP);

	memset(tcp, 0, 20);
	put16(tcp, 1000);
	put16(tcp + 2, 2000);
	tcp[12] = 5 << 4;
	tcp[13] = 0x10;
	put16(tcp + 16, pseudo_header(ip, p->len - ETH_HLEN - 20, IPPROTO_TCP));
	p->h.hdr = tcp_offload(p->len > TCP_HEADERS + SEGMENT ? SEGMENT : 0);
}

/* A neighbour solicitation. */
static void put_icmpv6(struct packet *p)
{
	uint8_t *ip = p->frame + ETH_HLEN;
	uint8_t *icmp = put_ip(ip, p->frame + p->len, true, IPPROTO_ICMPV6);
	uint32_t len = p->frame + p->len - icmp;

	memset(icmp, 0, 8);
	icmp[0] = 135;
	put16(icmp + 2, ~sum16(icmp, len, pseudo_header(ip, len, IPPROTO_ICMPV6)));
}

static const uint16_t type[PACKET_KINDS] = {
	[PACKET_UDP4] = ETHERTYPE_IP, [PACKET_UDP6] = ETHERTYPE_IPV6,
	[PACKET_CSUM4] = ETHERTYPE_IP, [PACKET_CSUM6] = ETHERTYPE_IPV6,
	[PACKET_GSO] = ETHERTYPE_IP, [PACKET_ARP] = ETHERTYPE_ARP,
	[PACKET_ICMPV6] = ETHERTYPE_IPV6, [PACKET_VLAN] = ETHERTYPE_VLAN, [PACKET_OTHER] = 0x88b5,
};

void packet_make(struct packet *p, enum packet_kind kind, const uint8_t *dst, const uint8_t *src,
		 uint32_t len, uint32_t seq)
{
	uint8_t *f = p->frame;
	uint32_t i;

	ASSERT(len >= PACKET_MIN && len <= PACKET_MAX);
	memset(&p->h, 0, sizeof(p->h));
	p->len = len;
	memcpy(f, dst, 6);
	memcpy(f + 6, src, 6);
	put16(f + 12, type[kind]);
	for (i = ETH_HLEN; i < len - 4; i++)
		f[i] = seq * 31 + i * 7 + (i >> 8);
	memcpy(f + len - 4, &seq, 4);
	switch (kind) {
	case PACKET_UDP4:
	case PACKET_UDP6:
	case PACKET_CSUM4:
	case PACKET_CSUM6:
		put_udp(p, f + ETH_HLEN, type[kind] == ETHERTYPE_IPV6, kind >= PACKET_CSUM4);
		break;
	case PACKET_GSO:
		put_tcp(p);
		break;
	case PACKET_ARP:
		memcpy(f + ETH_HLEN, "\0\1\x08\0\6\4\0\1", 8);
		break;
	case PACKET_ICMPV6:
		put_icmpv6(p);
		break;
	case PACKET_VLAN:
		memcpy(f + ETH_HLEN, "\0\5\x08\0", 4);
		put_udp(p, f + ETH_HLEN + 4, false, false);
		break;
	default:
		break;
	}
}

uint32_t packet_seq(const struct packet *p)
{
	uint32_t seq;

	memcpy(&seq, p->frame + p->len - 4, 4);
	return seq;
}

void packet_complete(struct packet *p)
{
	struct virtio_net_hdr *h = &p->h.hdr;
	uint32_t sum;

	if (!(h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || h->gso_type)
		return;
	sum = (uint16_t)~sum16(p->frame + h->csum_start, p->len - h->csum_start, 0);
	put16(p->frame + h->csum_start + h->csum_offset, sum ? sum : 0xffff);
	memset(h, 0, sizeof(*h));
}

/* A tap says hdr_len as the frame lies in memory. */
bool packet_is_same(const struct packet *a, const struct packet *b)
{
	const struct virtio_net_hdr *g = &a->h.hdr, *h = &b->h.hdr;

	return a->len == b->len && !memcmp(a->frame, b->frame, a->len) && g->flags == h->flags &&
	       g->gso_type == h->gso_type && g->gso_size == h->gso_size &&
	       g->csum_start == h->csum_start && g->csum_offset == h->csum_offset;
}
