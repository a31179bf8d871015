// SPDX-License-Identifier: GPL-2.0
/*
 * What the virtio-net header says about a frame survives the way through:
 * segmentation and checksum requests, in both directions, and VLAN tags.  With an XDP
 * program on the tap frames need room in front of them, and those that the program sends
 * back reach the guest without ever being a socket buffer.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @again: slow
 * @seconds: 4
 * @skip: .*-(uml.*|smp-.*|kmsan|6\.1|6\.12) | .*: this kernel has no tunnels .* | newer kernels have them: test-newest
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <netinet/ip.h>

#include "bridge.h"
#include "flow.h"
#include "pin_rig.h"
#include "rig.h"
#include "segments.h"
#include "vhost_abi.h"
#include "xdp.h"

static struct rig rig;
static uint8_t frame[70000], got[70000];

static bool tcp_checksum_good(const uint8_t *f, uint32_t len)
{
	return sum16(f + TCP_CSUM_START, len - TCP_CSUM_START,
		     tcp_pseudo_header(f, len - TCP_CSUM_START)) == 0xffff;
}

static struct virtio_net_hdr_mrg_rxbuf offload(uint32_t gso_size)
{
	return (struct virtio_net_hdr_mrg_rxbuf) { .hdr = tcp_offload(gso_size) };
}

/* What is in 'frame' arrives at the packet socket, with *h if that is a socket with headers. */
static bool arrives(const void *hdr, uint32_t len, const struct shape *shape, int fd,
		    struct virtio_net_hdr *h)
{
	const size_t before = h ? sizeof(*h) : 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ASSERT_EQ(rig_tx_raw(&rig, hdr, frame, len, shape), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	if (!EXPECT_EQ(poll(&p, 1, ksft_patience(3000)), 1) ||
	    !EXPECT_EQ(recv(fd, got, sizeof(got), MSG_TRUNC), before + len))
		return false;
	if (h)
		memcpy(h, got, before);
	EXPECT(!memcmp(frame, got + before, len));
	return rig_tx_drain(&rig, 3000);
}

static void transmit(uint32_t payload, uint32_t gso_size, int fd,
		     const struct shape *shape)
{
	struct virtio_net_hdr_mrg_rxbuf m = offload(gso_size);
	uint32_t len = tcp_frame(frame, payload, payload);
	struct virtio_net_hdr h;

	if (!arrives(&m, len, shape, fd, &h))
		return;
	EXPECT_EQ(h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
		  VIRTIO_NET_HDR_F_NEEDS_CSUM);
	EXPECT_EQ(h.csum_start, TCP_CSUM_START);
	EXPECT_EQ(h.csum_offset, TCP_CSUM_OFFSET);
	EXPECT_EQ(h.gso_type, gso_size ? VIRTIO_NET_HDR_GSO_TCPV4 : 0);
	EXPECT_EQ(h.gso_size, gso_size);
}

static void transmit_all(const struct rig_cfg *cfg)
{
	static const uint32_t size[] = { 1, 100, 1448, 1449, 2896, 3000, 3500,
					 4000, 9000, 20000, 40000, 65495 };
	struct shape pages = { .piece = 4096, .split_hdr = true,
			       .indirect = true };
	size_t i;
	int fd;

	rig_open(&rig, cfg);
	fd = rig_packet_socket(&rig, ETH_P_IP, true);
	for (i = 0; i < sizeof(size) / sizeof(*size); i++) {
		transmit(size[i], 0, fd, NULL);
		if (size[i] <= 1448)
			continue;
		transmit(size[i], 1448, fd, NULL);
		if (cfg->features & F_IND || !cfg->features)
			transmit(size[i], 1448, fd, &pages);
	}
	close(fd);
	rig_close(&rig);
}

CASE(tx_gso_and_csum_header_is_kept)
{
	transmit_all(&(struct rig_cfg){ .tx_buf = 66000, .bufs = 8 });
	transmit_all(&(struct rig_cfg){ .tx_buf = 66000, .bufs = 8,
					.tap = TAP_SNDBUF });
	transmit_all(&(struct rig_cfg){ .tx_buf = 66000, .bufs = 8,
		.features = BIT64(VIRTIO_F_NOTIFY_ON_EMPTY) });
}

/*
 * The next receiver of a GSO frame gets as hdr_len what is linear in the host's socket buffer:
 * all of a frame that fits a page with the overhead of a socket buffer, else the headers.
 */
static void transmit_hdr_len(uint32_t payload, uint32_t hdr_len, int fd)
{
	struct virtio_net_hdr_mrg_rxbuf m = offload(1448);
	uint32_t len = tcp_frame(frame, payload, payload);
	struct virtio_net_hdr h;

	if (!arrives(&m, len, NULL, fd, &h))
		return;
	ksft_note("%u bytes: hdr_len %u", len, h.hdr_len);
	EXPECT_EQ(h.hdr_len, hdr_len);
}

CASE(tx_long_frame_has_only_headers_linear)
{
	static const uint32_t size[] = { 4100, 8000, 9000, 16000, 20000, 30000, 32000, 40000,
					 65495 };
	size_t i;
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 66000, .bufs = 8 });
	fd = rig_packet_socket(&rig, ETH_P_IP, true);
	transmit_hdr_len(1500, TCP_HEADERS + 1500, fd);
	transmit_hdr_len(3500, TCP_HEADERS + 3500, fd);
	/* twice: the first frame of all goes by the tap's socket, whatever its length */
	for (i = 0; i < sizeof(size) / sizeof(*size); i++) {
		transmit_hdr_len(size[i], TCP_HEADERS, fd);
		transmit_hdr_len(size[i], TCP_HEADERS, fd);
	}
	close(fd);
	rig_close(&rig);
}

/*
 * What is in no feature, or behind no flag, changes nothing: such a frame arrives. A header that
 * is wrong may cost the frame. None stops the queue.
 */
CASE(tx_odd_header_is_ignored_or_costs_its_frame)
{
	static const struct {
		struct virtio_net_hdr_mrg_rxbuf h;
		bool ignored;
	} odd[] = {
		{ { .num_buffers = 77 }, true },
		{ { .hdr = { .flags = VIRTIO_NET_HDR_F_DATA_VALID | VIRTIO_NET_HDR_F_RSC_INFO } },
		  true },
		{ { .hdr = { .flags = 0xf8 } }, true },
		{ { .hdr = { .csum_start = 65535, .csum_offset = 65535 } }, true },
		{ { .hdr = { .csum_start = 20, .csum_offset = 2, .gso_size = 1 } }, true },
		{ { .hdr = { .hdr_len = 60 } }, true },
		{ { .hdr = { .hdr_len = 65535 } } },
		{ { .hdr = { .gso_type = 0x7f } } },
		{ { .hdr = { .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 0 } } },
		{ { .hdr = { .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 1448,
			     .hdr_len = 65535 } } },
		{ { .hdr = { .flags = 1, .csum_start = 65000, .csum_offset = 16 } } },
		{ { .hdr = { .flags = 1, .csum_start = 65535, .csum_offset = 65535 } } },
		{ { .hdr = { .flags = 1, .csum_start = 90, .csum_offset = 16 } } },
	};
	uint8_t f[200];
	size_t i;
	ssize_t n;
	int lane;

	for (lane = 0; lane < 2; lane++) {
		rig_open(&rig, &(struct rig_cfg){ .tap = lane ? TAP_SNDBUF : 0 });
		for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
			/* vhost_net retries such a frame for ever */
			if (vdev_is_vhost() && !lane && odd[i].h.hdr.flags == 1)
				continue;
			frame_make(f, 12345, 100);
			ASSERT_EQ(rig_tx_raw(&rig, &odd[i].h, f, 100, NULL), 0);
			ASSERT_EQ(rig_tx(&rig, 80, NULL), 0);
			vdev_kick(&rig.v.q[VDEV_TX]);
			n = rig_sniff(&rig, f, sizeof(f), 3000);
			if (odd[i].ignored)
				frame_check(f, n, 12345, 100);
			if (n == 100 && frame_seq(f) == 12345)
				n = rig_sniff(&rig, f, sizeof(f), 3000);
			if (n < 0)
				FAIL("header %zu, lane %d stops the queue", i, lane);
			else
				frame_check(f, n, rig.tx_seq - 1, 80);
			rig_tx_drain(&rig, 3000);
		}
		rig_close(&rig);
	}
}

static void inject(int fd, uint32_t len, uint32_t gso_size)
{
	struct virtio_net_hdr h = offload(gso_size).hdr;
	static uint8_t buf[70000];

	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), frame, len);
	ASSERT_EQ(send(fd, buf, len + sizeof(h), 0), len + sizeof(h));
}

static void receive_one(int fd, uint32_t payload, uint32_t gso_size, bool able)
{
	struct virtio_net_hdr_mrg_rxbuf m;
	uint32_t len = tcp_frame(frame, payload, payload), sum = 0;
	ssize_t n;

	rig_offer(&rig, 256);
	inject(fd, len, gso_size);
	while (sum < payload && !ksft_failed()) {
		n = rig_rx(&rig, &m, got, sizeof(got), 3000);
		if (!EXPECT_GE(n, TCP_HEADERS))
			return;
		EXPECT(!memcmp(got + TCP_HEADERS, frame + TCP_HEADERS + sum,
			       n - TCP_HEADERS));
		sum += n - TCP_HEADERS;
		if (able) {
			EXPECT_EQ(n, len);
			EXPECT_EQ(m.hdr.gso_size, gso_size);
			EXPECT_EQ(m.hdr.flags & 1, 1);
			EXPECT_EQ(m.hdr.csum_start, TCP_CSUM_START);
			EXPECT_EQ(m.hdr.csum_offset, TCP_CSUM_OFFSET);
		} else {	/* the host has done it all */
			EXPECT_EQ(m.hdr.gso_type, 0);
			EXPECT_EQ(m.hdr.flags & 1, 0);
			EXPECT(tcp_checksum_good(got, n));
			if (gso_size)
				EXPECT_LE(n, TCP_HEADERS + gso_size);
		}
	}
}

static void receive_all(bool able)
{
	static const uint32_t size[] = { 10, 1000, 1448, 3000, 9000, 30000,
					 60000 };
	size_t i;
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 1536 });
	if (able)
		ASSERT_SYS(ioctl(rig.tap, TUNSETOFFLOAD, TUN_F_CSUM |
				 TUN_F_TSO4 | TUN_F_TSO6));
	fd = rig_packet_socket(&rig, 0, true);
	for (i = 0; i < sizeof(size) / sizeof(*size); i++) {
		receive_one(fd, size[i], 0, able);
		if (size[i] > 1448)
			receive_one(fd, size[i], 1448, able);
	}
	close(fd);
	rig_close(&rig);
}

CASE_ROW(rx_gso_and_csum_header_is_kept, receive_all(true))
CASE_ROW(rx_without_offloads_is_segmented_by_host, receive_all(false))

/* Fields of one header are not in the next one, which the device makes where the tap has none. */
CASE(rx_tap_without_header_gives_zero_header)
{
	static const struct virtio_net_hdr none;
	struct virtio_net_hdr_mrg_rxbuf m;
	struct rig other = { .v.hdr_len = 12 };
	uint32_t i, len[] = { 60, 200, 256, 257, 1400 };
	int fd, bare;

	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 1536 });
	ASSERT_SYS(ioctl(rig.tap, TUNSETOFFLOAD, TUN_F_CSUM));
	fd = rig_packet_socket(&rig, 0, true);
	receive_one(fd, 100, 0, true);
	receive_one(fd, 1400, 0, true);
	close(fd);
	rig_stop(&rig);
	vdev_set_features(&rig.v, rig.v.features | F_NETHDR);
	bare = rig_tap_new(&other, TAP_BARE);
	flow_swap(&rig, bare, other.ifindex);
	rig_start(&rig);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		rig_offer(&rig, 4);
		rig_inject(&rig, i, len[i]);
		ASSERT_EQ(rig_rx(&rig, &m, got, sizeof(got), 3000), len[i]);
		frame_check(got, len[i], i, len[i]);
		EXPECT(!memcmp(&m.hdr, &none, sizeof(none)));
		EXPECT_EQ(m.num_buffers, 1);
	}
	rig_close(&rig);
}

static uint32_t tagged_frame(uint8_t *f, uint16_t tci, uint32_t payload)
{
	uint32_t i;

	memcpy(f, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x81\0", 14);
	f[14] = tci >> 8;
	f[15] = tci;
	f[16] = FRAME_TYPE >> 8;
	f[17] = FRAME_TYPE & 0xff;
	for (i = 0; i < payload; i++)
		f[18 + i] = i * 3;
	return 18 + payload;
}

CASE(tx_vlan_tag_is_kept)
{
	uint32_t len = tagged_frame(frame, 0x6123, 200);
	char control[256];
	struct iovec iov = { got, sizeof(got) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct tpacket_auxdata *aux = NULL;
	struct cmsghdr *c;
	int one = 1, fd;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	/* a socket for one type comes after the tag is thrown away */
	fd = rig_packet_socket(&rig, ETH_P_ALL, false);
	ASSERT_SYS(setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one,
			      sizeof(one)));
	ASSERT_EQ(rig_tx_raw(&rig, NULL, frame, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	ASSERT(vdev_eventfd_wait(fd, 3000));
	EXPECT_EQ(recvmsg(fd, &msg, 0), len - 4);
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_PACKET &&
		    c->cmsg_type == PACKET_AUXDATA)
			aux = (void *)CMSG_DATA(c);
	ASSERT(aux);
	EXPECT_EQ(aux->tp_vlan_tci, 0x6123);
	EXPECT(!memcmp(got + 14, frame + 18, len - 18));
	rig_tx_drain(&rig, 3000);
}

CASE(rx_vlan_tag_in_band_is_kept)
{
	uint32_t len = tagged_frame(frame, 0x0123, 1500);

	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 200 });
	rig_offer(&rig, 32);
	ASSERT_EQ(send(rig.inject, frame, len, 0), len);
	EXPECT_EQ(rig_rx(&rig, NULL, got, sizeof(got), 3000), len);
	EXPECT(!memcmp(got, frame, len));
}

/*
 * Through a bridge the tag travels beside the frame: it makes the frame four
 * bytes longer than the packet in the tap's ring says.
 */
CASE(rx_vlan_tag_out_of_band_is_inserted)
{
	struct rig other = { .v.hdr_len = 12 };
	uint32_t len, payload;
	int feeder;

	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 64 });
	feeder = rig_tap_new(&other, TAP_BARE);
	bridge_of("br0", (int[]){ other.ifindex, rig.ifindex }, 2);
	/* around the borders of buffers, short frames and long ones */
	for (payload = 100; payload < 1482 && !ksft_failed();
	     payload += payload < 300 ? 3 : 59) {
		rig_offer(&rig, 64);
		len = tagged_frame(frame, 0x0123, payload);
		ASSERT_EQ(write(feeder, frame, len), len);
		EXPECT_EQ(rig_rx(&rig, NULL, got, sizeof(got), 3000), len);
		EXPECT(!memcmp(got, frame, len));
	}
}

/*** the header of a UDP tunnel, which is longer ***/

#ifndef TUN_F_UDP_TUNNEL_GSO
#define TUN_F_UDP_TUNNEL_GSO 0x080
#endif
#ifndef VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4
#define VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4 0x20
#define VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV6 0x40
#endif

/* virtio 1.4, 5.1.9: hash and report, which no driver fills in, and offsets */
struct tunnel_hdr {
	struct virtio_net_hdr_mrg_rxbuf mrg;
	uint32_t hash;
	uint16_t report, reserved;
	uint16_t outer_th, inner_nh;
};

static void open_tunnel_rig(struct rig *r, bool here)
{
	struct abi_features a = {
		2, { F_V1 | F_MRG, BIT64(VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO - 64) },
	};
	int len = sizeof(struct tunnel_hdr);

	rig_open(r, &(struct rig_cfg){ .tx_buf = 66000, .rx_buf = 66000, .bufs = 8, .stopped = true,
				       .features = F_V1 | F_MRG, .here = here });
	if (__vdev_ioctl(r->v.fd, VHOST_SET_FEATURES_ARRAY, &a))
		ksft_skip("no VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO");
	r->v.hdr_len = len;
	ASSERT_SYS(ioctl(r->tap, TUNSETVNETHDRSZ, &len));
	rig_start(r);
}

static void need_tunnel_gso(const struct rig *r)
{
	if (ioctl(r->tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 |
		  TUN_F_UDP_TUNNEL_GSO))
		ksft_skip("this kernel has no tunnels through a tap");
}

/* Without a tunnel's GSO the offsets mean nothing. */
CASE(tx_tunnel_header_is_accepted)
{
	static const uint32_t size[] = { 1, 100, 1448, 3000, 20000, 60000 };
	struct tunnel_hdr h = { .outer_th = 65535, .inner_nh = 65535 };
	size_t i;
	int fd;

	open_tunnel_rig(&rig, false);
	fd = rig_packet_socket(&rig, ETH_P_IP, false);
	for (i = 0; i < sizeof(size) / sizeof(*size) && !ksft_failed(); i++) {
		h.mrg = offload(0);
		arrives(&h, tcp_frame(frame, size[i], i), NULL, fd, NULL);
		if (size[i] <= 1448)
			continue;
		h.mrg = offload(1448);
		arrives(&h, tcp_frame(frame, size[i], i), NULL, fd, NULL);
	}
	close(fd);
	rig_close(&rig);
}

#define OUTER	(14 + 20 + 8 + 8)	/* Ethernet, IPv4, UDP, VXLAN */

static uint32_t vxlan_frame(uint8_t *f, uint32_t payload)
{
	uint32_t len = tcp_frame(f + OUTER, payload, payload);
	struct iphdr *ip = (void *)(f + 14);

	memset(f, 0, OUTER);
	memcpy(f, "\x02\0\0\0\0\3\x02\0\0\0\0\4\x08", 13);
	*ip = (struct iphdr){
		.version = 4, .ihl = 5, .tot_len = htons(OUTER - 14 + len), .ttl = 64,
		.protocol = IPPROTO_UDP, .saddr = htonl(0xc6336401), .daddr = htonl(0xc6336402),
	};
	ip->check = htons(~sum16(ip, 20, 0));
	/* ports 40000, 4789; length; no checksum; a VNI */
	memcpy(f + 34, "\x9c\x40\x12\xb5", 4);
	f[38] = (OUTER - 34 + len) >> 8;
	f[39] = OUTER - 34 + len;
	f[42] = 8;
	f[48] = 1;
	return OUTER + len;
}

/* The offsets of the inner packet are in the last fields of the longer header. */
static struct tunnel_hdr vxlan_hdr(void)
{
	struct tunnel_hdr h = { .mrg = offload(1400), .outer_th = 34, .inner_nh = OUTER + 14 };

	h.mrg.hdr.gso_type |= VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4;
	h.mrg.hdr.csum_start += OUTER;
	h.mrg.hdr.hdr_len += OUTER;
	return h;
}

CASE(tx_tunnel_gso_is_kept)
{
	static const uint32_t size[] = { 3000, 9000, 20000, 40000, 60000 };
	struct tunnel_hdr h = vxlan_hdr();
	size_t i;
	int fd;

	open_tunnel_rig(&rig, false);
	need_tunnel_gso(&rig);
	fd = rig_packet_socket(&rig, ETH_P_IP, false);
	for (i = 0; i < sizeof(size) / sizeof(*size) && !ksft_failed(); i++)
		arrives(&h, vxlan_frame(frame, size[i]), NULL, fd, NULL);
	close(fd);
	rig_close(&rig);
}

/* To another guest of the bridge. */
CASE(rx_tunnel_gso_is_kept)
{
	struct tunnel_hdr h = vxlan_hdr(), to;
	static const uint32_t size[] = { 3000, 20000, 60000 };
	struct rig guest = { 0 };
	uint32_t len;
	size_t i;

	open_tunnel_rig(&rig, false);
	open_tunnel_rig(&guest, true);
	need_tunnel_gso(&rig);
	need_tunnel_gso(&guest);
	bridge_of("br0", (int[]){ rig.ifindex, guest.ifindex }, 2);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		len = vxlan_frame(frame, size[i]);
		rig_offer(&guest, 8);
		ASSERT_EQ(rig_tx_raw(&rig, &h, frame, len, NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_tx_drain(&rig, 3000);
		ASSERT_EQ(rig_rx(&guest, &to, got, sizeof(got), 3000), len);
		EXPECT(!memcmp(got, frame, len));
		EXPECT_EQ(to.mrg.hdr.gso_type, h.mrg.hdr.gso_type);
		EXPECT_EQ(to.mrg.hdr.gso_size, 1400);
		EXPECT_EQ(to.mrg.hdr.csum_start, h.mrg.hdr.csum_start);
		EXPECT_EQ(to.outer_th, h.outer_th);
		EXPECT_EQ(to.inner_nh, h.inner_nh);
	}
	rig_close(&guest);
	rig_close(&rig);
}

/*
 * virtio 1.4, 5.1.9.2.2: what a device must not accept. The tap refuses it; a kernel without
 * tunnels refuses them all.
 */
CASE(tx_contradictory_tunnel_header_drops_frame)
{
	static const struct {
		uint8_t flags, gso_type;
	} bad[] = {
		{ 1, VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4 |
		     VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV6 },
		{ 0, VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4 },
		{ 1, VIRTIO_NET_HDR_GSO_NONE | VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4 },
		{ 1, VIRTIO_NET_HDR_GSO_UDP | VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4 },
	};
	struct tunnel_hdr h = vxlan_hdr();
	const struct tunnel_hdr good = { 0 };
	size_t i;
	int fd;

	open_tunnel_rig(&rig, false);
	ioctl(rig.tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_UDP_TUNNEL_GSO);
	fd = rig_packet_socket(&rig, ETH_P_IP, false);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		h.mrg.hdr.flags = bad[i].flags;
		h.mrg.hdr.gso_type = bad[i].gso_type;
		ASSERT_EQ(rig_tx_raw(&rig, &h, frame, vxlan_frame(frame, 3000), NULL), 0);
		arrives(&good, tcp_frame(frame, 100, i), NULL, fd, NULL);
	}
	close(fd);
	rig_close(&rig);
}

/*** a tap with an XDP program ***/

/* 'fd' is a program, or -errno of its load. */
static void attach_program(int fd)
{
	int ret;

	if (fd < 0)
		ksft_skip("no XDP programs: %s", strerror(-fd));
	ret = xdp_attach(rig.ifindex, fd);
	close(fd);
	if (ret)
		ksft_skip("XDP on a tap: %s", strerror(-ret));
}

static void with_code(const struct rig_cfg *cfg, int fd)
{
	rig_open(&rig, cfg);
	attach_program(fd);
}

static void with_program(const struct rig_cfg *cfg, int verdict)
{
	with_code(cfg, xdp_load_verdict(verdict));
}

CASE(xdp_pass_frames_arrive)
{
	static const uint32_t big[] = { 3000, 3200, 3300, 3400, 3500, 3600,
					3800, 4000, 4096, 9000, 30000 };
	uint32_t len;
	size_t i;
	int lane;

	for (lane = 0; lane < 2; lane++) {
		with_program(&(struct rig_cfg){ .tx_buf = 65600, .bufs = 8,
			.tap = lane ? TAP_SNDBUF : 0 }, XDP_PASS);
		for (len = FRAME_MIN; len < 1600 && !ksft_failed(); len += 17)
			rig_send(&rig, len);
		for (i = 0; i < sizeof(big) / sizeof(*big); i++)
			rig_send(&rig, big[i]);
		rig_close(&rig);
	}
}

#define PREPENDED	200	/* bytes: more than the stack has in front of a frame */

/* Puts another Ethernet header, and nothing, in front of the frame. */
static int load_prepend(void)
{
	const int data = offsetof(struct xdp_md, data);
	const int end = offsetof(struct xdp_md, data_end);
	struct bpf_insn code[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, 6, 1 },		/* r6 = ctx */
		{ BPF_ALU64 | BPF_MOV | BPF_K, 2, .imm = -PREPENDED },
		{ BPF_JMP | BPF_CALL, .imm = BPF_FUNC_xdp_adjust_head },
		{ BPF_JMP | BPF_JNE | BPF_K, 0, .off = 9 },	/* no room */
		{ BPF_LDX | BPF_MEM | BPF_W, 2, 6, data },
		{ BPF_LDX | BPF_MEM | BPF_W, 3, 6, end },
		{ BPF_ALU64 | BPF_MOV | BPF_X, 4, 2 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, 4, .imm = 14 },
		{ BPF_JMP | BPF_JGT | BPF_X, 4, 3, 4 },
		{ BPF_ST | BPF_MEM | BPF_H, 2, 0, 0, 2 },
		{ BPF_ST | BPF_MEM | BPF_H, 2, 0, 12,
		  (FRAME_TYPE & 0xff) << 8 | FRAME_TYPE >> 8 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ BPF_JMP | BPF_EXIT },
		{ BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_DROP },
		{ BPF_JMP | BPF_EXIT },
	};

	return xdp_load(code, sizeof(code) / sizeof(code[0]));
}

static void send_prepended(uint32_t len)
{
	static uint8_t f[PREPENDED + 2000];

	ASSERT_EQ(rig_tx(&rig, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 3000), PREPENDED + len);
	frame_check(f + PREPENDED, len, rig.tx_seq - 1, len);
	rig_tx_drain(&rig, 3000);
}

/* XDP promises programs 256 bytes of room in front of a frame. */
CASE(xdp_adjust_head_has_room)
{
	uint32_t len;
	int lane;

	for (lane = 0; lane < 2; lane++) {
		with_code(&(struct rig_cfg){ .tap = lane ? TAP_SNDBUF : 0 },
			  load_prepend());
		for (len = 60; len < 1500 && !ksft_failed(); len += 103)
			send_prepended(len);
		rig_close(&rig);
	}
}

/* The first frame after the program is attached has that room, too. */
CASE(xdp_adjust_head_has_room_after_attach)
{
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		rig_send(&rig, 1000);
		attach_program(load_prepend());
		send_prepended(1000);
		ASSERT_EQ(xdp_attach(rig.ifindex, -1), 0);
	}
	rig_close(&rig);
}

/* The tap's socket linearises what the program may see: long frames go there one by one. */
CASE(xdp_long_frames_go_unbatched)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	with_program(&(struct rig_cfg){ .tx_buf = 65600, .bufs = 8 }, XDP_PASS);
	for (i = 0; i < 8; i++)
		rig_send(&rig, 9014);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.packets_unbatched"), "8"));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.batches"), "0"));
	rig_send(&rig, 3000);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.batches"), "1"));
}

CASE(xdp_drop_drops_frames)
{
	unsigned int i;
	uint8_t f[100];

	with_program(&(struct rig_cfg){ 0 }, XDP_DROP);
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(rig_tx(&rig, 60 + i, NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		if (i % 100 == 99)
			rig_tx_drain(&rig, 3000);
	}
	EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 0), -1);
	ASSERT_EQ(xdp_attach(rig.ifindex, -1), 0);
	rig_send(&rig, 100);
}

/* What the guest sends comes back to it. */
static void reflected(const struct rig_cfg *cfg, uint32_t max)
{
	unsigned int i, n;

	with_program(cfg, XDP_TX);
	for (i = 0; i < 30 && !ksft_failed(); i++) {
		uint32_t first = rig.tx_seq, len[20];

		rig_offer(&rig, 256);
		for (n = 0; n < 20; n++) {
			len[n] = FRAME_MIN + ksft_below(max - FRAME_MIN);
			ASSERT_EQ(rig_tx(&rig, len[n], NULL), 0);
		}
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_tx_drain(&rig, 3000);
		for (n = 0; n < 20 && !ksft_failed(); n++)
			rig_rx_expect(&rig, first + n, len[n]);
	}
	rig_close(&rig);
}

CASE(xdp_tx_returns_frames)
{
	reflected(&(struct rig_cfg){ .rx_buf = 2048 }, 1514);
	reflected(&(struct rig_cfg){ .rx_buf = 128 }, 1514);
	reflected(&(struct rig_cfg){ .rx_buf = 2048, .features = F_V1 }, 250);
	reflected(&(struct rig_cfg){ .rx_buf = 2048, .tap = TAP_BARE,
				     .features = F_V1 | F_NETHDR }, 1514);
}

/* Attached and taken away while frames flow. */
CASE(xdp_attach_under_traffic_loses_nothing)
{
	unsigned int i, n;
	int fd;

	with_program(&(struct rig_cfg){ 0 }, XDP_PASS);
	for (i = 0; i < 40 && !ksft_failed(); i++) {
		fd = ASSERT_SYS(xdp_load_verdict(XDP_PASS));
		for (n = 0; n < 64; n++)
			ASSERT_EQ(rig_tx(&rig, 1500, NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		ASSERT_EQ(xdp_attach(rig.ifindex, i % 2 ? -1 : fd), 0);
		close(fd);
		for (n = 0; n < 64 && !ksft_failed(); n++)
			rig_expect(&rig, rig.tx_seq - 64 + n, 1500);
		rig_tx_drain(&rig, 3000);
	}
}

KSFT_MAIN()
