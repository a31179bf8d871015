/* SPDX-License-Identifier: GPL-2.0 */
/* packets - numbered frames of all kinds that a guest may send, with their virtio-net headers. */
#ifndef SELFTESTS_PACKETS_H
#define SELFTESTS_PACKETS_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_MIN	74	/* bytes, with the number: of each kind */
#define PACKET_MAX	65535

enum packet_kind {
	PACKET_UDP4,
	PACKET_UDP6,
	PACKET_CSUM4,		/* UDP, whose checksum is asked for */
	PACKET_CSUM6,
	PACKET_SHORT_CUT,	/* how many kinds may take the short cut */
	PACKET_GSO = PACKET_SHORT_CUT,
	PACKET_ARP,
	PACKET_ICMPV6,
	PACKET_VLAN,
	PACKET_OTHER,		/* an experimental EtherType */
	PACKET_KINDS
};

struct packet {
	uint32_t len;		/* of the frame */
	struct virtio_net_hdr_mrg_rxbuf h;
	uint8_t frame[PACKET_MAX];
};

#define PACKET_HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

/* The number is in the frame's last four bytes. */
void packet_make(struct packet *p, enum packet_kind kind, const uint8_t *dst, const uint8_t *src,
		 uint32_t len, uint32_t seq);
uint32_t packet_seq(const struct packet *p);
/* Makes the checksum that the header asks for, as the kernel does; not of a GSO frame. */
void packet_complete(struct packet *p);
/* Has it the same frame, and the same header but for what the receiver need not know? */
bool packet_is_same(const struct packet *a, const struct packet *b);

#endif /* SELFTESTS_PACKETS_H */
