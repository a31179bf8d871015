// SPDX-License-Identifier: GPL-2.0
/* TCP segments: see segments.h. */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include "ksft.h"
#include "segments.h"

uint32_t sum16(const void *p, size_t len, uint32_t sum)
{
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? b[i] : b[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

uint32_t tcp_pseudo_header(const uint8_t *f, uint32_t tcp_len)
{
	return sum16(f + 26, 8, IPPROTO_TCP + tcp_len);
}

uint32_t tcp_frame(uint8_t *f, uint32_t payload, uint32_t seed)
{
	struct iphdr *ip = (void *)(f + 14);
	struct tcphdr *tcp = (void *)(f + TCP_CSUM_START);
	uint32_t i;

	memset(f, 0, TCP_HEADERS);
	memcpy(f, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08", 13);
	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons(40 + payload);
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->saddr = htonl(0xc0000201);
	ip->daddr = htonl(0xc0000202);
	ip->check = htons(~sum16(ip, 20, 0));
	tcp->source = htons(1000);
	tcp->dest = htons(2000);
	tcp->seq = htonl(seed);
	tcp->doff = 5;
	tcp->ack = 1;
	tcp->check = htons(tcp_pseudo_header(f, 20 + payload));
	for (i = 0; i < payload; i++)
		f[TCP_HEADERS + i] = seed + i * 13 + (i >> 9);
	return TCP_HEADERS + payload;
}

struct virtio_net_hdr tcp_offload(uint32_t gso_size)
{
	return (struct virtio_net_hdr) {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = gso_size ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_NONE,
		.gso_size = gso_size,
		.hdr_len = gso_size ? TCP_HEADERS : 0,
		.csum_start = TCP_CSUM_START,
		.csum_offset = TCP_CSUM_OFFSET,
	};
}

static __thread uint8_t buf[sizeof(struct virtio_net_hdr) + TCP_HEADERS + SEGMENTS_MAX];
#define FRAME	(buf + sizeof(struct virtio_net_hdr))

static bool send_frame(int gso, unsigned int segment, size_t len)
{
	const struct virtio_net_hdr h = tcp_offload(segment);

	memcpy(buf, &h, sizeof(h));
	len += sizeof(h);
	return send(gso, buf, len, 0) == (ssize_t)len;
}

bool segments_send(int gso, unsigned int segment, unsigned int n)
{
	ASSERT(segment * n <= SEGMENTS_MAX);
	return send_frame(gso, segment, tcp_frame(FRAME, segment * n, 0));
}

bool segments_send_words(int gso, const uint8_t word[8], unsigned int n)
{
	uint32_t len = tcp_frame(FRAME, 8 * n, 0);
	unsigned int i;

	for (i = 0; i < n; i++)
		memcpy(FRAME + TCP_HEADERS + 8 * i, word, 8);
	return send_frame(gso, 8, len);
}
