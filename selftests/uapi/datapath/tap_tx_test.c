// SPDX-License-Identifier: GPL-2.0
/*
 * Frames to the host: in batches by the tap's socket, or past it (tx_direct).  Past it the host
 * gets the same and counts the same; where that cannot be, frames take the socket.  They stay in
 * order behind a bridge, too.
 *
 * @hosts: 6.1 newest
 * @seconds: 8
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 */
#include <arpa/inet.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>

#include "bridge.h"
#include "flow.h"
#include "links.h"
#include "packets.h"
#include "procfs.h"
#include "rig.h"
#include "segments.h"
#include "tracing.h"
#include "tx_inline_rig.h"
#include "xdp.h"

#define MAX		40000	/* bytes of the longest frame, which no batch takes */

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

static struct rig rig;

/* What a packet socket reports of a frame. */
struct seen {
	struct virtio_net_hdr hdr;
	uint16_t proto;
	uint8_t type;
	uint32_t len, sum;
};

static void set_direct(char value)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net has no tx_direct");
	vdev_parameter("tx_direct", value);
}

/*
 * Headers of all kinds, over the same frame: Ethernet, IPv4 or IPv6, TCP or UDP.
 * Taps refuse some of them.
 */
static const struct {
	uint8_t flags, gso_type;
	uint16_t hdr_len, gso_size, csum_start, csum_offset;
} kinds[] = {
	{ 0 },
	{ VIRTIO_NET_HDR_F_DATA_VALID },
	{ 1, 0, 0, 0, 34, 16 },
	{ 1, 0, 0, 0, 34, 6 },
	{ 1, 0, 60, 0, 54, 16 },
	{ 1, 0, 0, 0, 0, 0 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV4, 54, 1448, 34, 16 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV4, 54, 100, 34, 16 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_ECN, 54, 500, 34, 16 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV4, 54, 0, 34, 16 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV4, 54, 500, 34, 6 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV4, 54, 500, 20, 16 },
	{ 0, VIRTIO_NET_HDR_GSO_TCPV4, 54, 500, 0, 0 },
	{ 1, VIRTIO_NET_HDR_GSO_TCPV6, 74, 500, 54, 16 },
	{ 1, VIRTIO_NET_HDR_GSO_UDP, 42, 500, 34, 6 },
	{ 1, VIRTIO_NET_HDR_GSO_UDP_L4, 42, 500, 34, 6 },
	{ 0, VIRTIO_NET_HDR_GSO_UDP_L4, 42, 500, 34, 6 },
	{ 0, 77, 0, 500, 0, 0 },
};

static const uint8_t dst[][6] = {
	{ 2, 0, 0, 0, 0, 1 }, { 255, 255, 255, 255, 255, 255 },
	{ 1, 0, 0x5e, 0, 0, 1 }, { 0 },
};

static const uint16_t proto[] = {
	ETH_P_IP, ETH_P_IPV6, ETH_P_ARP, 0x8100, 0x0040, FRAME_TYPE,
};

/* Deterministic: the same for both ways. */
static uint32_t make(uint8_t *f, unsigned int i, const uint8_t *own)
{
	static const uint32_t lens[] = { 60, 90, 600, 1514, 9000, 14, 15, 33, 34,
					 35, 64, 30000, MAX };
	uint32_t len = lens[i % 13], k;

	for (k = 0; k < len; k++)
		f[k] = i * 31 + k * 7 + (k >> 8);
	memcpy(f, i % 5 == 4 ? own : dst[i % 4], 6);
	f[12] = proto[i % 6] >> 8;
	f[13] = proto[i % 6] & 0xff;
	if (len >= 14 + 20) {
		f[14] = proto[i % 6] == ETH_P_IPV6 ? 0x60 : 0x45 + !(i % 7);
		f[20] = f[21] = 0;
		f[proto[i % 6] == ETH_P_IPV6 ? 20 : 23] = i % 3 ? 6 : 17;
	}
	return len;
}

static uint32_t sum_of(const uint8_t *p, uint32_t len)
{
	uint32_t sum = len;

	while (len--)
		sum = sum * 31 + *p++;
	return sum;
}

static bool sniff(int fd, struct seen *s)
{
	static uint8_t buf[sizeof(struct virtio_net_hdr) + MAX];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t n;

	n = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, (void *)&from, &size);
	if (n < (ssize_t)sizeof(s->hdr))
		return false;
	memset(s, 0, sizeof(*s));
	memcpy(&s->hdr, buf, sizeof(s->hdr));
	s->proto = from.sll_protocol;
	s->type = from.sll_pkttype;
	s->len = n - sizeof(s->hdr);
	/* but for the destination: each tap has an address of its own */
	s->sum = sum_of(buf + sizeof(s->hdr) + 6, s->len - 6);
	return true;
}

static void own_address(uint8_t *mac)
{
	struct ifreq ifr = { 0 };

	memcpy(ifr.ifr_name, rig.name, sizeof(rig.name));
	ASSERT_SYS(ioctl(rig.inject, SIOCGIFHWADDR, &ifr));
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
}

#define FRAMES		(13 * 18)

/* All frames, 8 at a time; returns how many the host has seen. */
static unsigned int send_all(struct seen *seen, unsigned int tap,
			     struct link_sent *counts, long *direct)
{
	static uint8_t frame[MAX];
	unsigned int i, n = 0;
	uint8_t own[6];
	uint32_t len;
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 65600, .bufs = 16, .tap = tap,
		.features = tap & TAP_BARE ? F_V1 | F_NETHDR : 0 });
	own_address(own);
	fd = rig_packet_socket(&rig, ETH_P_ALL, true);
	for (i = 0; i < FRAMES; i++) {
		struct virtio_net_hdr_mrg_rxbuf h = { .hdr = {
			.flags = kinds[i / 13].flags,
			.gso_type = kinds[i / 13].gso_type,
			.hdr_len = kinds[i / 13].hdr_len,
			.gso_size = kinds[i / 13].gso_size,
			.csum_start = kinds[i / 13].csum_start,
			.csum_offset = kinds[i / 13].csum_offset,
		} };

		len = make(frame, i, own);
		ASSERT_EQ(rig_tx_raw(&rig, &h, frame, len, NULL), 0);
		if (i % 8 != 7 && i != FRAMES - 1)
			continue;
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_tx_drain(&rig, 3000);
		while (n < FRAMES && sniff(fd, &seen[n]))
			n++;
	}
	*counts = link_received(rig.name);
	*direct = rig_counter(&rig, "kvnet.tx.batches_direct");
	close(fd);
	rig_close(&rig);
	return n;
}

static void compare(unsigned int tap)
{
	static struct seen by_socket[FRAMES + 1], by_us[FRAMES + 1];
	struct link_sent a, b;
	unsigned int i, n;
	long direct;

	set_direct('N');
	n = send_all(by_socket, tap, &a, &direct);
	EXPECT_EQ(direct, 0);
	set_direct('Y');
	EXPECT_EQ(send_all(by_us, tap, &b, &direct), n);
	if (!(tap & TAP_SNDBUF))
		EXPECT(direct > 0);
	ksft_note("%u of %u frames seen, %lu counted, %lu errors; %ld batches",
		  n, FRAMES, a.packets, a.frame, direct);
	EXPECT(n > FRAMES / 3);
	for (i = 0; i < n && !ksft_failed(); i++)
		if (memcmp(&by_socket[i], &by_us[i], sizeof(by_us[i])))
			FAIL("frame %u (of %u bytes) differs from the socket's",
			     i, by_socket[i].len);
	EXPECT_EQ(a.bytes, b.bytes);
	EXPECT_EQ(a.packets, b.packets);
	EXPECT_EQ(a.errors, b.errors);
	EXPECT_EQ(a.dropped, b.dropped);
	EXPECT_EQ(a.fifo, b.fifo);
	EXPECT_EQ(a.frame, b.frame);
}

CASE_ROW(direct_equals_socket, compare(0))
CASE_ROW(direct_without_headers_equals_socket, compare(TAP_BARE))

static long transmit_bytes(uint32_t len)
{
	long before = rig_counter(&rig, "kvnet.tx.batches_direct");

	ASSERT_EQ(rig_tx(&rig, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 3000);
	return rig_counter(&rig, "kvnet.tx.batches_direct") - before;
}

static long transmit(void)
{
	return transmit_bytes(100);
}

/* The first batch goes by the socket, whose frames show the tap's device; the second is direct. */
static void learn(void)
{
	EXPECT_EQ(transmit(), 0);
	EXPECT_EQ(transmit(), 1);
}

/* The state of the link is checked for each batch. */
CASE(link_down_takes_the_socket)
{
	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	learn();
	rig_link(&rig, false);
	EXPECT_EQ(transmit(), 0);
	rig_link(&rig, true);
	EXPECT_EQ(transmit(), 1);
}

/* GSO of size 0, which a tap refuses, or without a checksum, which it may take. */
static const struct virtio_net_hdr odd[] = {
	{ .flags = 1, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .csum_start = 34, .csum_offset = 16 },
	{ .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 1448 },
};

#define ODD_SEQ		0x0dd

/* Eight at once, of which the fourth is odd: none is lost, doubled or overtaken. */
static void odd_among_others(const struct virtio_net_hdr *hdr)
{
	const struct virtio_net_hdr_mrg_rxbuf h = { .hdr = *hdr };
	uint32_t first = rig.tx_seq, i;
	uint8_t f[FRAME_MAX];
	ssize_t n;

	for (i = 0; i < 8; i++) {
		if (i != 3) {
			ASSERT_EQ(rig_tx(&rig, 100 + i, NULL), 0);
			continue;
		}
		frame_make(f, ODD_SEQ, 90);
		ASSERT_EQ(rig_tx_raw(&rig, &h, f, 90, NULL), 0);
	}
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < 8 && !ksft_failed(); i++) {
		if (i == 3)
			continue;
		n = rig_sniff(&rig, f, sizeof(f), 3000);
		if (i == 4 && n == 90 && frame_seq(f) == ODD_SEQ)
			n = rig_sniff(&rig, f, sizeof(f), 3000);
		if (n < 0)
			FAIL("frame %u did not arrive", i);
		else
			frame_check(f, n, first + i - (i > 3), 100 + i);
	}
	rig_tx_drain(&rig, 3000);
}

CASE(odd_frames_keep_their_order)
{
	unsigned int i;

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 2048 });
	vdev_no_spin(&rig.v);
	rig.tx_seq = 2 * ODD_SEQ;
	for (i = 0; i < 40 && !ksft_failed(); i++)
		odd_among_others(&odd[i % 2]);
	/* those before the odd one */
	EXPECT_GE(rig_counter(&rig, "kvnet.tx.packets_direct"), 3);
	rig_close(&rig);
}

#define REFUSED	10

/* The socket drops such a frame once; passing it to the socket is no drop. */
CASE(refused_frame_is_dropped_once)
{
	const struct virtio_net_hdr_mrg_rxbuf h = { .hdr = odd[0] };
	uint8_t f[FRAME_MAX];
	unsigned int i;

	if (!tracing_begin())
		ksft_skip("no tracefs");
	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	learn();
	frame_make(f, ODD_SEQ, 90);
	if (!tracing_on("skb/kfree_skb", "protocol == 0"))
		ksft_skip("no tracepoint skb:kfree_skb");
	for (i = 0; i < REFUSED; i++) {
		ASSERT_EQ(rig_tx_raw(&rig, &h, f, 90, NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_tx_drain(&rig, 3000);
	}
	EXPECT_EQ(transmit(), 1);
	tracing_end();
	EXPECT_EQ(tracing_count("kfree_skb:"), REFUSED);
	rig_close(&rig);
}

static void set_iff(int fd, short flags, const char *name)
{
	strcpy(rig.name, name);
	rig_tap_attach(fd, rig.name, IFF_NO_PI | IFF_VNET_HDR | flags, rig.v.hdr_len);
}

static int open_tap(short flags, const char *name)
{
	int fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));

	set_iff(fd, flags, name);
	return fd;
}

/* A frame arrives, either way. */
static void arrives(void)
{
	uint8_t f[FRAME_MAX];

	while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
		;
	transmit();
	EXPECT(rig_sniff(&rig, f, sizeof(f), 3000) == 100 && frame_seq(f) == rig.tx_seq - 1);
}

static void set_queue(int fd, short flag)
{
	struct ifreq ifr = { .ifr_flags = flag };

	ASSERT_SYS(ioctl(fd, TUNSETQUEUE, &ifr));
}

/* The rig's tap becomes the second queue of one, not attached yet; returns the first. */
static int open_second_queue(void)
{
	char name[16] = "many%d";
	int first;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .tx_buf = MAX + 64 });
	first = open_tap(IFF_MULTI_QUEUE, name);
	memcpy(name, rig.name, sizeof(name));
	flow_swap(&rig, open_tap(IFF_MULTI_QUEUE, name), if_nametoindex(name));
	rig_link(&rig, true);
	return first;
}

/* Frames that took the socket. */
static long by_socket(void)
{
	return rig_counter(&rig, "kvnet.tx.packets") - rig_counter(&rig, "kvnet.tx.packets_direct");
}

/* By the queue from which the last frame like it came. */
static void receive(void)
{
	static uint32_t seq = 1000000;

	ASSERT_EQ(rig_offer(&rig, 1), 1);
	rig_inject(&rig, ++seq, 100);
	rig_rx_expect(&rig, seq, 100);
}

/* Its number is known then: the next batch is direct. */
static void start_second_queue(void)
{
	open_second_queue();
	rig_start(&rig);
	transmit();
	receive();
}

/* Frames to the guest show the number of a queue; those to the host have it. */
CASE(multiqueue_tap_takes_the_socket_until_its_number_is_known)
{
	struct rig second = { 0 };
	unsigned int i;
	int first;

	set_direct('Y');
	first = open_second_queue();
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(transmit(), 0);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	EXPECT_EQ(transmit(), 0);
	receive();
	second.ifindex = rig.ifindex;
	/* numbers of RX queues begin with 1 there, that of the second is 2 */
	second.sniff = rig_queue_socket(&second, 2);
	i = rig.tx_seq;
	EXPECT_EQ(transmit(), 1);
	EXPECT(WAIT_FOR(3000, transmit() == 1));
	for (; i < rig.tx_seq; i++)
		rig_expect(&second, i, 100);
	/* and with its own queue off it is one again, with a single queue */
	set_queue(rig.tap, IFF_DETACH_QUEUE);
	arrives();
	EXPECT_EQ(transmit(), 1);
	close(first);
}

/* tun forgets for which queue a flow is unless a frame of it comes by the socket. */
static void tap_sees_some(uint32_t len)
{
	long before, sent = 0;

	set_direct('Y');
	start_second_queue();
	before = by_socket();
	EXPECT(WAIT_FOR(3000, (transmit_bytes(len), sent++, by_socket() - before >= 3)));
	/* three in half a second or more */
	EXPECT_GE(sent, 10);
	EXPECT_GE(rig_counter(&rig, "kvnet.tx.packets_direct"), sent - 5);
}

CASE_ROW(multiqueue_tap_sees_frames_of_a_flow_again_and_again, tap_sees_some(100))
CASE_ROW(multiqueue_tap_sees_long_frames_of_a_flow_again_and_again, tap_sees_some(MAX))

static void transmit_packet(struct packet *p, enum packet_kind kind, uint32_t len, uint16_t port)
{
	static const uint8_t src[6] = { 2, 0, 0, 0, 0, 9 };
	static const unsigned int ports[PACKET_KINDS] = {
		[PACKET_UDP4] = 34, [PACKET_UDP6] = 54, [PACKET_VLAN] = 38,
	};

	packet_make(p, kind, dst[0], src, len, 0);
	if (ports[kind]) {
		p->frame[ports[kind]] = port >> 8;
		p->frame[ports[kind] + 1] = port;
	}
	ASSERT_EQ(rig_tx_raw(&rig, NULL, p->frame, p->len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 3000);
}

/*
 * The guest sends frames of the flow until tun has seen one, the first as a rule, and gets one
 * back.
 */
static void there_and_back(enum packet_kind kind, uint16_t port)
{
	static struct packet p;
	long before = by_socket();
	uint8_t f[FRAME_MAX];

	EXPECT(WAIT_FOR(3000, (transmit_packet(&p, kind, 100, port),
			       vdev_is_vhost() || by_socket() != before)));
	ASSERT_EQ(rig_offer(&rig, 1), 1);
	ASSERT_EQ(send(rig.inject, p.frame, p.len, 0), p.len);
	if (rig_rx(&rig, NULL, f, sizeof(f), 3000) != p.len || memcmp(f, p.frame, p.len))
		FAIL("kind %u, port %u: not from the queue that sent it", kind, port);
}

/* With direct TX, too; half of them would have the other queue by their hash. */
CASE(multiqueue_tap_answers_a_flow_by_its_queue)
{
	unsigned int i;

	if (!vdev_is_vhost())
		set_direct('Y');
	start_second_queue();
	transmit();
	for (i = 0; i < 16 && !ksft_failed(); i++)
		there_and_back(i % 2 ? PACKET_UDP6 : PACKET_UDP4, 5000 + i);
	if (!vdev_is_vhost())
		EXPECT_GE(rig_counter(&rig, "kvnet.tx.packets_direct"), 1);
}

/* Headers that change from frame to frame are no other flow; nor are they behind a VLAN tag. */
CASE(multiqueue_tap_tells_flows_by_addresses_and_ports)
{
	static const enum packet_kind kinds[] = {
		PACKET_UDP4, PACKET_UDP6, PACKET_VLAN, PACKET_ICMPV6,
	};
	static struct packet p;
	unsigned int i, kind;
	long before;

	set_direct('Y');
	start_second_queue();
	transmit();
	for (kind = 0; kind < 4; kind++) {
		before = by_socket();
		for (i = 0; i < 60; i++)
			transmit_packet(&p, kinds[kind], 100 + i, 5000 + kind);
		/* one, and four a second; of many flows all, but for those that share an entry */
		EXPECT_LE(by_socket() - before, 30);
		/* no ports: its checksum is there */
		if (kinds[kind] == PACKET_ICMPV6)
			break;
		before = by_socket();
		for (i = 0; i < 60; i++)
			transmit_packet(&p, kinds[kind], 100, 6000 + 100 * kind + i);
		EXPECT_GE(by_socket() - before, 20);
	}
}

/* Such a tap collects packets for GRO. */
CASE(napi_tap_takes_the_socket)
{
	char name[16] = "napi%d";

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	close(rig.tap);
	rig.tap = open_tap(IFF_NAPI, name);
	rig_link(&rig, true);
	rig_start(&rig);
	EXPECT_EQ(transmit(), 0);
	EXPECT_EQ(transmit(), 0);
}

CASE(xdp_program_takes_the_socket)
{
	int fd = xdp_load_verdict(XDP_PASS);

	if (fd < 0)
		ksft_skip("no XDP programs: %s", strerror(-fd));
	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	learn();
	ASSERT_EQ(xdp_attach(rig.ifindex, fd), 0);
	EXPECT_EQ(transmit(), 0);
	ASSERT_EQ(xdp_attach(rig.ifindex, -1), 0);
	EXPECT_EQ(transmit(), 1);
	close(fd);
	rig_close(&rig);
}

/* Any interface may be the tap's by then: the next batch goes by the socket. */
CASE(device_is_looked_up_again_after_link_change)
{
	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	learn();
	ASSERT_EQ(link_add_veth("come", "gone"), 0);
	learn();
	ASSERT_EQ(link_delete(if_nametoindex("come")), 0);
	learn();
	rig_close(&rig);
}

/* A tap with the ifindex of a deleted one, and most likely allocated where that was. */
static int open_with_index(int fd, int ifindex)
{
	char name[16] = "again%d";

	if (fd < 0)
		fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	ASSERT_SYS(ioctl(fd, TUNSETIFINDEX, &ifindex));
	set_iff(fd, 0, name);
	EXPECT_EQ(if_nametoindex(rig.name), ifindex);
	rig_link(&rig, true);
	return fd;
}

CASE_TIMED(tap_with_ifindex_reused_gets_no_frames, 60)
{
	const int index = 4711;
	unsigned int i;
	uint8_t f[64];
	int other;

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	close(rig.tap);
	rig.tap = open_with_index(-1, index);
	rig_start(&rig);
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		learn();
		ASSERT_EQ(link_delete(index), 0);
		other = open_with_index(-1, index);
		flow_sockets(&rig, index);
		EXPECT_EQ(transmit(), 0);
		EXPECT_EQ(transmit(), 0);
		EXPECT(rig_sniff(&rig, f, sizeof(f), 1) < 0);
		close(other);
		/* its file gets another device, with the same ifindex */
		open_with_index(rig.tap, index);
		flow_sockets(&rig, index);
	}
	rig_close(&rig);
}

/* The device is in another network namespace; here another one has its name. */
CASE(tap_of_the_same_name_gets_no_frames)
{
	int old, new, other;
	char name[16];
	uint8_t f[64];

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	memcpy(name, rig.name, sizeof(name));
	old = link_new_netns();
	new = link_own_netns();
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	ASSERT_EQ(link_move(rig.ifindex, new), 0);
	other = open_tap(0, name);
	rig_link(&rig, true);
	flow_sockets(&rig, if_nametoindex(name));
	rig_start(&rig);
	EXPECT_EQ(transmit(), 0);
	EXPECT_EQ(transmit(), 0);
	EXPECT(rig_sniff(&rig, f, sizeof(f), 1) < 0);
	ASSERT_SYS(setns(new, CLONE_NEWNET));
	rig_link(&rig, true);
	flow_sockets(&rig, if_nametoindex(name));
	arrives();
	rig_close(&rig);
	close(other);
	close(new);
}

CASE(tap_moved_away_and_back_is_direct_again)
{
	int old, new;

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	learn();
	old = link_new_netns();
	new = link_own_netns();
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	ASSERT_EQ(link_move(rig.ifindex, new), 0);
	EXPECT_EQ(transmit(), 0);
	EXPECT_EQ(transmit(), 0);
	ASSERT_SYS(setns(new, CLONE_NEWNET));
	ASSERT_EQ(link_move(rig.ifindex, old), 0);
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	EXPECT_EQ(link_up(rig.ifindex, true), 0);
	learn();
	rig_close(&rig);
	close(new);
}

/*** batches, by the counters of the device ***/

#define COUNT	64

static uint8_t frame[FRAME_MAX + 1], got[FRAME_MAX + 1];

static void send_frame(uint32_t seq, uint32_t len, bool gso)
{
	struct virtio_net_hdr_mrg_rxbuf h = { 0 };

	if (gso)
		h.hdr = tcp_offload(1448);
	tcp_frame(frame, len - TCP_HEADERS, seq);
	ASSERT_EQ(rig_tx_raw(&rig, &h, frame, len, NULL), 0);
}

static void expect_frame(int fd, uint32_t seq, uint32_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = -1;

	if (poll(&p, 1, ksft_patience(3000)) == 1)
		n = recv(fd, got, sizeof(got), MSG_TRUNC);
	tcp_frame(frame, len - TCP_HEADERS, seq);
	if (!EXPECT_EQ(n, len))
		return;
	if (memcmp(got, frame, len))
		FAIL("frame %u of %u bytes is damaged", seq, len);
}

/* Frames longer than a page take direct TX once a short one has shown the tap's device. */
static void send_a_short_one(int fd)
{
	send_frame(COUNT, 200, false);
	vdev_kick(&rig.v.q[VDEV_TX]);
	expect_frame(fd, COUNT, 200);
	rig_tx_drain(&rig, 3000);
}

/* 64 at once, and what the counters say of them. */
static void send_counted(uint32_t len, bool gso, unsigned int tap, long batches,
		     long singles)
{
	long n_packets, n_batches, n_singles;
	uint32_t i;
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 65600, .bufs = COUNT,
		.tap = tap, .features = tap & TAP_BARE ? F_V1 | F_NETHDR : 0 });
	fd = rig_packet_socket(&rig, ETH_P_IP, false);
	send_a_short_one(fd);
	n_packets = rig_counter(&rig, "kvnet.tx.packets");
	n_batches = rig_counter(&rig, "kvnet.tx.batches");
	n_singles = rig_counter(&rig, "kvnet.tx.packets_unbatched");
	for (i = 0; i < COUNT; i++)
		send_frame(i, len, gso);
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < COUNT && !ksft_failed(); i++)
		expect_frame(fd, i, len);
	rig_tx_drain(&rig, 3000);
	close(fd);
	n_batches = rig_counter(&rig, "kvnet.tx.batches") - n_batches;
	n_singles = rig_counter(&rig, "kvnet.tx.packets_unbatched") - n_singles;
	ksft_note("%u bytes%s: %ld batches, %ld singles", len,
		  gso ? ", GSO" : "", n_batches, n_singles);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets") - n_packets, COUNT);
	EXPECT_LE(n_batches, batches);
	EXPECT_EQ(n_singles, singles);
	rig_close(&rig);
}

/* A batch is 256 KiB, or a bit more; a thread that kicks sends a few packets by itself. */
static long batches_of(uint32_t len)
{
	return COUNT * len / (256 << 10) + 2;
}

CASE_TIMED(gso_frames_leave_in_batches, 60)
{
	static const uint32_t len[] = { 1514, 3000, 3800, 4000, 5000, 8000,
					16000, 20000, 30000, 31000 };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++)
		send_counted(len[i], true, 0, batches_of(len[i]), 0);
	/* each is a batch */
	send_counted(60000, true, 0, COUNT, 0);
	send_counted(20000, true, TAP_SNDBUF, 0, COUNT);
	send_counted(60000, true, TAP_SNDBUF, 0, COUNT);
}

/* An MTU of 9000, and no TSO. */
CASE_TIMED(long_frames_leave_in_batches, 60)
{
	static const uint32_t len[] = { 1514, 3400, 3900, 4100, 9014, 20000,
					31000 };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++) {
		send_counted(len[i], false, 0, batches_of(len[i]), 0);
		send_counted(len[i], false, TAP_BARE, batches_of(len[i]), 0);
	}
	send_counted(60000, false, 0, COUNT, 0);
	send_counted(60000, false, TAP_BARE, COUNT, 0);
}

/* The driver says that the headers are longer than kvnet makes linear. */
CASE(long_headers_are_no_limit)
{
	static const uint32_t len[] = { 5000, 30000, 60000 };
	struct virtio_net_hdr_mrg_rxbuf h = { .hdr = tcp_offload(1448) };
	unsigned int i;
	int fd;

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 65600, .bufs = 8 });
	fd = rig_packet_socket(&rig, ETH_P_IP, false);
	send_a_short_one(fd);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		h.hdr.hdr_len = i == 1 ? 65535 : 300;
		tcp_frame(frame, len[i] - TCP_HEADERS, i);
		ASSERT_EQ(rig_tx_raw(&rig, &h, frame, len[i], NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		expect_frame(fd, i, len[i]);
		rig_tx_drain(&rig, 3000);
	}
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets_direct"), 3);
	close(fd);
	rig_close(&rig);
}

/* Of a frame with a page that the VMM has not mapped nothing is sent. */
CASE(unreadable_frame_is_dropped)
{
	static const uint32_t len[] = { 9000, MAX };
	unsigned int i;
	uint8_t *page, f[64];

	set_direct('Y');
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = MAX + 64, .bufs = 1 });
	learn();
	for (i = 0; i < 2 && !ksft_failed(); i++) {
		page = rig.v.host + (rig.v.q[VDEV_TX].bufs + len[i] - rig.v.mem) / 4096 * 4096;
		rig_flush(&rig);
		ASSERT_SYS(mprotect(page, 4096, PROT_NONE));
		EXPECT_EQ(transmit_bytes(len[i]), 0);
		EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.tx.drop_fault") == i + 1));
		ASSERT_SYS(mprotect(page, 4096, PROT_READ | PROT_WRITE));
		EXPECT(rig_sniff(&rig, f, sizeof(f), 0) < 0);
		EXPECT_EQ(transmit_bytes(len[i]), 1);
	}
	rig_close(&rig);
}

/* Each of its frames counts as a drop. */
CASE(batch_for_deleted_tap_is_dropped)
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

/*
 * All frames of a queue leave by one TX queue of a NIC behind the bridge, by whichever thread and
 * on whichever CPU they are sent: in two they could overtake each other.
 */

#define BULK		100u
#define PAUSE_MS	1000u	/* after which frames may take another queue */

static int leaving[2];	/* packet sockets: what leaves the NIC by this TX queue */

static void run_on(pid_t tid, unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ASSERT_SYS(sched_setaffinity(tid, sizeof(one), &one));
}

static void workers_run_on(unsigned int cpu)
{
	struct worker w[2];
	unsigned int n = list_workers(getpid(), w, 2);

	ASSERT_EQ(n, 2);
	wait_worker_idle();
	while (n--)
		run_on(w[n].tid, cpu);
}

/* How many frames of the guest have left by that queue since it was last asked. */
static unsigned int left_by(unsigned int queue)
{
	static uint8_t f[FRAME_MAX];
	unsigned int n = 0;
	ssize_t len;

	while ((len = recv(leaving[queue], f, sizeof(f), MSG_DONTWAIT)) >= 0)
		n += frame_is_ours(f, len);
	return n;
}

static void forget(void)
{
	left_by(0);
	left_by(1);
}

static void send_frames(unsigned int n, uint32_t len)
{
	uint32_t seq = rig.tx_seq;
	unsigned int i;

	for (i = 0; i < n; i++)
		ASSERT_EQ(rig_tx(&rig, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < n && !ksft_failed(); i++)
		rig_expect(&rig, seq + i, len);
	ASSERT(rig_tx_drain(&rig, 3000));
}

/* Many at once are for the worker. */
static void send_by_worker(void)
{
	send_frames(BULK, 60);
	tx_inline_reply(&rig);
}

/* After many at once the worker sends a single one, then the thread that kicks. */
static void send_by_vcpu(void)
{
	long n_inline;

	send_frames(1, 60);
	tx_inline_reply(&rig);
	wait_worker_idle();
	n_inline = rig_counter(&rig, "kvnet.tx.packets_inline");
	send_frames(1, 60);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets_inline"), n_inline + 1);
	tx_inline_reply(&rig);
}

/* This thread runs on CPU 0, the workers on CPU 1. */
static void begin_with_nic(void)
{
	struct rig nic;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	run_on(0, 0);
	tx_inline_begin(&rig, MAX + 64);
	workers_run_on(1);
	link_mount_sysfs();
	ASSERT_EQ(link_add_dummy("nic", 2), 0);
	nic.ifindex = if_nametoindex("nic");
	ASSERT_EQ(link_mtu(nic.ifindex, MAX), 0);
	ASSERT_EQ(link_up(nic.ifindex, true), 0);
	/* XPS: a queue for frames of each CPU */
	link_sysfs("nic", "queues/tx-0/xps_cpus", "1");
	link_sysfs("nic", "queues/tx-1/xps_cpus", "2");
	bridge_of("br0", (int[]){ rig.ifindex, nic.ifindex }, 2);
	leaving[0] = rig_queue_socket(&nic, 0);
	leaving[1] = rig_queue_socket(&nic, 1);
	/* what the bridge takes does not come to the tap's own */
	close(rig.sniff);
	rig.sniff = rig_packet_socket(&nic, ETH_P_ALL, false);
	/* the first frame shows the tap's device */
	transmit();
	rig_flush(&rig);
	forget();
}

static void end_with_nic(void)
{
	close(leaving[0]);
	close(leaving[1]);
	rig_close(&rig);
}

CASE(worker_and_vcpu_thread_share_tx_queue)
{
	unsigned int i, n = 5;

	begin_with_nic();
	for (i = 0; i < n && !ksft_failed(); i++) {
		send_by_worker();
		send_by_vcpu();
	}
	EXPECT_EQ(left_by(0), 0);
	EXPECT_EQ(left_by(1), n * (BULK + 2));
	end_with_nic();
}

CASE(moved_worker_keeps_tx_queue_until_pause)
{
	uint64_t from;

	begin_with_nic();
	do {
		workers_run_on(1);
		poll(NULL, 0, PAUSE_MS + 100);
		send_by_worker();
		forget();
		from = ksft_now_ms();
		send_by_worker();
		workers_run_on(0);
		send_by_worker();
		send_frames(1, MAX);
		/* this machine may make a pause, too */
	} while (ksft_now_ms() - from >= PAUSE_MS && !ksft_failed());
	EXPECT_EQ(left_by(0), 0);
	EXPECT_EQ(left_by(1), 2 * BULK + 1);
	poll(NULL, 0, PAUSE_MS + 100);
	send_by_worker();
	EXPECT_EQ(left_by(0), BULK);
	EXPECT_EQ(left_by(1), 0);
	end_with_nic();
}

static void set_sndbuf(int bytes)
{
	ASSERT_SYS(ioctl(rig.tap, TUNSETSNDBUF, &bytes));
}

/* Such a frame takes the queue of the worker's CPU. */
CASE(frames_behind_one_of_sendmsg_share_its_tx_queue)
{
	long n;

	begin_with_nic();
	send_by_worker();
	EXPECT_EQ(left_by(1), BULK);
	workers_run_on(0);
	run_on(0, 1);
	n = rig_counter(&rig, "kvnet.tx.packets_unbatched");
	set_sndbuf(1 << 20);
	send_frames(1, MAX);
	set_sndbuf(INT_MAX);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets_unbatched"), n + 1);
	EXPECT_EQ(left_by(0), 1);
	send_by_vcpu();
	send_by_worker();
	EXPECT_EQ(left_by(0), BULK + 2);
	EXPECT_EQ(left_by(1), 0);
	end_with_nic();
}

KSFT_MAIN()
