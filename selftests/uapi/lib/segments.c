// SPDX-License-Identifier: GPL-2.0
/* Frames that get to a tap one right after the other: see segments.h. */
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "segments.h"

static __thread uint8_t buf[sizeof(struct virtio_net_hdr) + SEGMENTS_HEADERS + SEGMENTS_MAX];

bool segments_send(int gso, unsigned int segment, unsigned int n)
{
	const struct virtio_net_hdr h = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.gso_size = segment,
		.hdr_len = SEGMENTS_HEADERS,
		.csum_start = 34,
		.csum_offset = 16,
	};
	size_t len = SEGMENTS_HEADERS + segment * n;
	uint8_t *f = buf + sizeof(h);

	memcpy(buf, &h, sizeof(h));
	memcpy(f, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0\x45", 15);
	f[16] = (len - ETH_HLEN) >> 8;
	f[17] = len - ETH_HLEN;
	f[22] = 64;
	f[23] = IPPROTO_TCP;
	f[26] = f[30] = 192;
	f[46] = 5 << 4;
	len += sizeof(h);
	return send(gso, buf, len, 0) == (ssize_t)len;
}

bool segments_send_words(int gso, const uint8_t word[8], unsigned int n)
{
	uint8_t *at = buf + sizeof(struct virtio_net_hdr) + SEGMENTS_HEADERS;
	bool sent;
	unsigned int i;

	for (i = 0; i < n; i++)
		memcpy(at + 8 * i, word, 8);
	sent = segments_send(gso, 8, n);
	memset(at, 0, 8 * n);
	return sent;
}
