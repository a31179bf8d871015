/* SPDX-License-Identifier: GPL-2.0 */
/* TCP segments, and frames that get to a tap one right after the other. */
#ifndef SELFTESTS_SEGMENTS_H
#define SELFTESTS_SEGMENTS_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCP_HEADERS	(14 + 20 + 20)	/* Ethernet, IPv4, TCP */
#define TCP_CSUM_START	34
#define TCP_CSUM_OFFSET	16
#define SEGMENTS_MAX	8192	/* bytes in all that are sent at once */

/* A TCP segment of 'payload' bytes with a partial checksum; returns its length. */
uint32_t tcp_frame(uint8_t *f, uint32_t payload, uint32_t seed);
/* The header of such a frame; gso_size 0: a checksum request alone. */
struct virtio_net_hdr tcp_offload(uint32_t gso_size);
/* The sum of the pseudo header of such a frame; a sum as of the Internet checksum. */
uint32_t tcp_pseudo_header(const uint8_t *f, uint32_t tcp_len);
uint32_t sum16(const void *p, size_t len, uint32_t sum);
/*
 * n frames of TCP, this much in each, sent as one that is cut up on its way to the tap;
 * gso is a packet socket with headers.  True if it was sent.
 */
bool segments_send(int gso, unsigned int segment, unsigned int n);
/* The same of 8 bytes in each, which are these. */
bool segments_send_words(int gso, const uint8_t word[8], unsigned int n);

#endif /* SELFTESTS_SEGMENTS_H */
