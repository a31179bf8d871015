// SPDX-License-Identifier: GPL-2.0
/*
 * Which frames of the guest's leave in batches, and which one by one: by the
 * device's counters.  All of them arrive, whole and in order.
 *
 * @hosts: 6.1 newest
 * @seconds: 4
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "links.h"
#include "pin_rig.h"
#include "rig.h"

#define HEADERS	(14 + 20 + 20)	/* Ethernet, IPv4, TCP */
#define COUNT	64

static struct rig rig;
static uint8_t frame[FRAME_MAX + 1], got[FRAME_MAX + 1];

static long counter(const char *name)
{
	return strtol(ring_is(&rig, name), NULL, 10);
}

static uint16_t ip_sum(const void *p)
{
	const uint16_t *w = p;
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 10; i++)
		sum += w[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

/* A TCP segment, as far as a tap looks. */
static void make_frame(uint32_t seq, uint32_t len)
{
	struct iphdr *ip = (void *)(frame + 14);
	struct tcphdr *tcp = (void *)(frame + 34);
	uint32_t i;

	memset(frame, 0, HEADERS);
	memcpy(frame, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08", 13);
	*ip = (struct iphdr) {
		.version = 4, .ihl = 5, .tot_len = htons(len - 14), .ttl = 64,
		.protocol = IPPROTO_TCP, .saddr = htonl(0xc0000201),
		.daddr = htonl(0xc0000202),
	};
	ip->check = ip_sum(ip);
	tcp->seq = htonl(seq);
	tcp->doff = 5;
	for (i = HEADERS; i < len; i++)
		frame[i] = seq * 7 + i * 13 + (i >> 9);
}

static void send_frame(uint32_t seq, uint32_t len, bool gso)
{
	struct virtio_net_hdr_mrg_rxbuf h = { .hdr = {
		.flags = gso ? VIRTIO_NET_HDR_F_NEEDS_CSUM : 0,
		.gso_type = gso ? VIRTIO_NET_HDR_GSO_TCPV4 : 0,
		.gso_size = gso ? 1448 : 0,
		.hdr_len = gso ? HEADERS : 0,
		.csum_start = gso ? 34 : 0,
		.csum_offset = gso ? 16 : 0,
	} };

	make_frame(seq, len);
	ASSERT_EQ(rig_tx_raw(&rig, &h, frame, len, NULL), 0);
}

static void expect_frame(int fd, uint32_t seq, uint32_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = -1;

	if (poll(&p, 1, ksft_patience(3000)) == 1)
		n = recv(fd, got, sizeof(got), MSG_TRUNC);
	make_frame(seq, len);
	if (!EXPECT_EQ(n, len))
		return;
	if (memcmp(got, frame, len))
		FAIL("frame %u of %u bytes is damaged", seq, len);
}

/* Frames longer than a page leave in batches once a short one has told the tap's device. */
static void send_a_short_one(int fd)
{
	send_frame(COUNT, 200, false);
	vdev_kick(&rig.v.q[VDEV_TX]);
	expect_frame(fd, COUNT, 200);
	rig_tx_drain(&rig, 3000);
}

/* 64 at once, and what the counters say of them. */
static void send_all(uint32_t len, bool gso, unsigned int tap, long batches,
		     long singles)
{
	long n_packets, n_batches, n_singles;
	uint32_t i;
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 65600, .bufs = COUNT,
		.tap = tap, .features = tap & TAP_BARE ? F_V1 | F_NETHDR : 0 });
	fd = rig_packet_socket(&rig, ETH_P_IP, false);
	send_a_short_one(fd);
	n_packets = counter("kvnet.tx.packets");
	n_batches = counter("kvnet.tx.batches");
	n_singles = counter("kvnet.tx.packets_unbatched");
	for (i = 0; i < COUNT; i++)
		send_frame(i, len, gso);
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < COUNT && !ksft_failed(); i++)
		expect_frame(fd, i, len);
	rig_tx_drain(&rig, 3000);
	close(fd);
	n_batches = counter("kvnet.tx.batches") - n_batches;
	n_singles = counter("kvnet.tx.packets_unbatched") - n_singles;
	ksft_note("%u bytes%s: %ld batches, %ld singles", len,
		  gso ? ", GSO" : "", n_batches, n_singles);
	EXPECT_EQ(counter("kvnet.tx.packets") - n_packets, COUNT);
	EXPECT_LE(n_batches, batches);
	EXPECT_EQ(n_singles, singles);
	rig_close(&rig);
}

/* A batch is 256 KiB, or a bit more; a thread that kicks sends a few packets by itself. */
static long batches_of(uint32_t len)
{
	return COUNT * len / (256 << 10) + 2;
}

CASE_TIMED(frames_with_segments_to_come_leave_in_batches, 60)
{
	static const uint32_t len[] = { 1514, 3000, 3800, 4000, 5000, 8000,
					16000, 20000, 30000, 31000 };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++)
		send_all(len[i], true, 0, batches_of(len[i]), 0);
	send_all(60000, true, 0, 0, COUNT);
	send_all(20000, true, TAP_SNDBUF, 0, COUNT);
}

/* An MTU of 9000, and no TSO: nor does a long frame as such go alone. */
CASE_TIMED(long_frames_leave_in_batches, 60)
{
	static const uint32_t len[] = { 1514, 3400, 3900, 4100, 9014, 20000,
					31000 };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++) {
		send_all(len[i], false, 0, batches_of(len[i]), 0);
		send_all(len[i], false, TAP_BARE, batches_of(len[i]), 0);
	}
	send_all(60000, false, 0, 0, COUNT);
}

/* Nobody takes it any more: each frame of it is a drop. */
CASE(a_batch_for_a_tap_that_is_gone)
{
	unsigned int i;
	long sent;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	vdev_no_spin(&rig.v);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.tx.packets") == 1));
	sent = rig_counter(&rig, "kvnet.tx.batches");
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	for (i = 0; i < 9; i++)
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.tx.drop_tap") == 9));
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets"), 1);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.batches"), sent);
	rig_close(&rig);
}

KSFT_MAIN()
