// SPDX-License-Identifier: GPL-2.0
/*
 * GRO of what the guest sends. The guest's tap is a port of a bridge, one end of a veth pair is
 * the other; the other end of the pair is where frames are received. A veth pair has GRO of its
 * own, which gets the same frames in the same batches: what it merges is what kvnet has to merge.
 *
 * @hosts: 6.1 newest
 * @seconds: 15
 */
#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

#include "bridge.h"
#include "links.h"
#include "rig.h"
#include "segments.h"
#include "tracing.h"

#define MSS		1448
#define MTU		9200	/* of the veth pair: a frame of a flow is not too long for the bridge */
#define BATCH		40	/* frames: with fillers below 64, a batch of kvnet's and of NAPI's */
#define TRIES		140	/* batches: GRO is tried for one in 64, after one whose time is taken */
#define BATCH_BYTES	200000	/* below 256 KiB, another limit of kvnet's batches */

static struct rig rig;
static int far;
static uint8_t frame[FRAME_MAX], got[FRAME_MAX + 64];	/* headers are beside IPv4's 65535 */

/* What the far end gets. */
struct seen {
	struct virtio_net_hdr hdr;	/* without hdr_len: that is how a socket buffer is laid out */
	uint32_t len, sum;
	uint16_t tag;
	uint8_t flow;
};

/*** features of devices, as ethtool -K sets them ***/

static void set_feature(const char *name, uint32_t command, bool on)
{
	ASSERT_EQ(link_feature(name, command, on), 0);
}

static void set_feature_named(const char *name, const char *feature, bool on)
{
	static union {
		struct ethtool_gstrings head;
		char room[sizeof(struct ethtool_gstrings) + 256 * ETH_GSTRING_LEN];
	} s;
	union {
		struct ethtool_sfeatures head;
		char room[sizeof(struct ethtool_sfeatures) +
			  8 * sizeof(struct ethtool_set_features_block)];
	} set = { .room = { 0 } };
	union {
		struct ethtool_sset_info head;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} info = { .room = { 0 } };
	const char *string;
	uint32_t i, n;

	info.head.cmd = ETHTOOL_GSSET_INFO;
	info.head.sset_mask = 1 << ETH_SS_FEATURES;
	ASSERT_EQ(link_ethtool(name, &info), 0);
	n = info.head.data[0];
	ASSERT(n <= 256);
	s.head.cmd = ETHTOOL_GSTRINGS;
	s.head.string_set = ETH_SS_FEATURES;
	s.head.len = n;
	ASSERT_EQ(link_ethtool(name, &s), 0);
	string = (const char *)s.head.data;
	for (i = 0; i < n && strcmp(string, feature); i++)
		string += ETH_GSTRING_LEN;
	ASSERT(i < n);
	set.head.cmd = ETHTOOL_SFEATURES;
	set.head.size = (n + 31) / 32;
	set.head.features[i / 32].valid = 1u << i % 32;
	set.head.features[i / 32].requested = on ? 1u << i % 32 : 0;
	ASSERT_EQ(link_ethtool(name, &set), 0);
}

static void set_udp_forwarding(const char *name, bool on)
{
	set_feature_named(name, "rx-udp-gro-forwarding", on);
}

/* GRO of kvnet, or of the veth pair, for which its near end must not have TSO. */
static void choose_gro(bool kvnet, bool udp)
{
	set_feature(rig.name, ETHTOOL_SGRO, kvnet);
	set_udp_forwarding(rig.name, kvnet && udp);
	set_feature("near", ETHTOOL_STSO, kvnet);
	set_feature("far", ETHTOOL_SGRO, !kvnet);
	set_udp_forwarding("far", !kvnet && udp);
}

/*** sending and receiving ***/

static void send_frame(const void *f, uint32_t len, const struct virtio_net_hdr *h)
{
	const struct virtio_net_hdr_mrg_rxbuf m = { .hdr = *h };

	ASSERT_EQ(rig_tx_raw(&rig, &m, f, len, NULL), 0);
}

static void send_batch(void)
{
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 3000);
}

static uint16_t tag_of(struct msghdr *m)
{
	struct tpacket_auxdata a;
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (!c || c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
		return 0;
	memcpy(&a, CMSG_DATA(c), sizeof(a));
	return a.tp_status & TP_STATUS_VLAN_VALID ? a.tp_vlan_tci | 0x1000 : 0;
}

/*
 * The next frame of the guest's at the far end, which is at got + sizeof(s->hdr). One that no
 * virtio_net_hdr describes, as UDP segments of Linux 6.1, has the length 0.
 */
static bool receive(struct seen *s)
{
	struct pollfd p = { .fd = far, .events = POLLIN };
	struct iovec v = { got, sizeof(got) };
	uint8_t control[128], *f = got + sizeof(s->hdr);
	struct msghdr m;
	ssize_t n;
	uint32_t i;

	do {
		if (poll(&p, 1, ksft_patience(3000)) != 1)
			return false;
		m = (struct msghdr) { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
				      .msg_controllen = sizeof(control) };
		memset(s, 0, sizeof(*s));
		n = recvmsg(far, &m, MSG_TRUNC);
		if (n < 0 && errno == EINVAL)
			return true;
		ASSERT(n >= (ssize_t)sizeof(s->hdr) + ETH_HLEN);
	} while (memcmp(f + 6, "\x02\0\0\0\0\2", 6));
	memcpy(&s->hdr, got, sizeof(s->hdr));
	s->hdr.hdr_len = 0;
	s->len = n - sizeof(s->hdr);
	s->tag = tag_of(&m);
	s->flow = f[5];
	for (i = 0; i < s->len; i++)
		s->sum = s->sum * 31 + f[i];
	return true;
}

/* Flows: the last byte of their destination, which is not the guest's own address. */
enum { WARM = 0x20, STREAM, ODD, DATAGRAMS, FILLER, FIRST, MARK = 0xff };

/* A frame alone, which arrives behind all others. */
static void send_mark(void)
{
	frame_make(frame, 0, 60);
	frame[5] = MARK;
	send_frame(frame, 60, &(struct virtio_net_hdr){ 0 });
	send_batch();
}

static bool mark_arrives(void)
{
	struct pollfd p = { .fd = far, .events = POLLIN };
	struct seen s;

	send_mark();
	while (poll(&p, 1, 100) == 1)
		if (receive(&s) && s.flow == MARK)
			return true;
	return false;
}

static unsigned int receive_until_mark(struct seen *seen, unsigned int max)
{
	struct seen s;
	unsigned int n = 0;

	send_mark();
	while (receive(&s) && s.flow != MARK && !ksft_failed()) {
		ASSERT(n < max);
		seen[n++] = s;
	}
	EXPECT_EQ(s.flow, MARK);
	return n;
}

static long merged(void)
{
	return rig_counter(&rig, "kvnet.tx.packets_gro");
}

static uint8_t payload_byte(uint32_t seq)
{
	return seq * 7 + (seq >> 8);
}

static void send_segment(uint8_t flow, uint32_t seq, uint32_t payload)
{
	const struct virtio_net_hdr h = tcp_offload(0);
	struct iphdr *ip = (void *)(frame + ETH_HLEN);
	uint32_t i;

	tcp_frame(frame, payload, seq);
	frame[5] = flow;
	ip->frag_off = htons(IP_DF);
	ip->check = 0;
	ip->check = htons(~sum16(ip, 20, 0));
	for (i = 0; i < payload; i++)
		frame[TCP_HEADERS + i] = payload_byte(seq + i);
	send_frame(frame, TCP_HEADERS + payload, &h);
}

static void send_segments(uint8_t flow, uint32_t *seq, unsigned int n)
{
	while (n--) {
		send_segment(flow, *seq, MSS);
		*seq += MSS;
	}
}

/*
 * Batches of a flow until GRO merges them: then it is on for the next batch, as a rule. It may be
 * not: GRO also has to take less time than no GRO, and time is what this machine makes of it.
 */
static void turn_gro_on(void)
{
	static uint32_t seq = 1;
	struct seen seen[64];
	long before = merged();
	unsigned int i;

	for (i = 0; i < TRIES && merged() == before && !ksft_failed(); i++) {
		send_segments(WARM, &seq, BATCH);
		send_batch();
		receive_until_mark(seen, 64);
	}
	EXPECT(merged() > before);
}

static void begin(void)
{
	int port[2], one = 1;
	struct rig other;

	if (vdev_is_vhost())
		ksft_skip("vhost_net has no GRO");
	/* no thread but the worker sends: a batch stays whole */
	vdev_parameter("tx_inline", 'N');
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 16384, .bufs = 128 });
	vdev_no_spin(&rig.v);
	ASSERT_EQ(link_add_veth("near", "far"), 0);
	port[0] = if_nametoindex("near");
	port[1] = rig.ifindex;
	other.ifindex = if_nametoindex("far");
	ASSERT_EQ(link_mtu(port[0], MTU), 0);
	ASSERT_EQ(link_mtu(other.ifindex, MTU), 0);
	ASSERT_EQ(link_pair_up(port[0], other.ifindex), 0);
	bridge_of("br0", port, 2);
	far = rig_packet_socket(&other, ETH_P_ALL, true);
	ASSERT_SYS(setsockopt(far, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)));
	/*
	 * A veth may say that it runs a little before it does. The first frame shows the tap's
	 * device: the next batch goes direct.
	 */
	ASSERT(WAIT_FOR(8000, mark_arrives()));
	ASSERT(WAIT_FOR(8000, mark_arrives()));
	choose_gro(true, false);
}

/*** what is merged ***/

/* All bytes of the flow's stream, in order; returns their number. */
static uint32_t check_stream(const uint8_t *f, const struct seen *s, uint32_t seq)
{
	uint32_t n = s->len - TCP_HEADERS, i;

	EXPECT_EQ(ntohl(((const struct tcphdr *)(f + TCP_CSUM_START))->seq), seq);
	EXPECT_EQ(ntohs(((const struct iphdr *)(f + ETH_HLEN))->tot_len), s->len - ETH_HLEN);
	for (i = 0; i < n && f[TCP_HEADERS + i] == payload_byte(seq + i); i++)
		;
	EXPECT_EQ(i, n);
	EXPECT(s->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
	EXPECT_EQ(s->hdr.csum_start, TCP_CSUM_START);
	EXPECT_EQ(s->hdr.csum_offset, TCP_CSUM_OFFSET);
	EXPECT_EQ(s->hdr.gso_type, n > MSS ? VIRTIO_NET_HDR_GSO_TCPV4 : 0);
	EXPECT_EQ(s->hdr.gso_size, n > MSS ? MSS : 0);
	return n;
}

/* Sends segments, and returns as how many packets they arrive. */
static unsigned int send_stream(unsigned int n)
{
	static uint32_t seq = 1000000;
	uint32_t at = seq;
	struct seen s;
	unsigned int packets = 0;

	send_segments(STREAM, &seq, n);
	send_batch();
	while (at != seq && !ksft_failed()) {
		ASSERT(receive(&s));
		if (s.flow != STREAM)
			continue;
		at += check_stream(got + sizeof(s.hdr), &s, at);
		packets++;
	}
	return packets;
}

/* A batch of segments is merged or not, and counted so; returns whether one of them was. */
static bool is_merged(void)
{
	unsigned int i, n = BATCH;
	long packets, before;

	for (i = 0; i < TRIES && n == BATCH && !ksft_failed(); i++) {
		packets = rig_counter(&rig, "kvnet.tx.packets");
		before = merged();
		n = send_stream(BATCH);
		EXPECT(n == 1 || n == BATCH);
		EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets") - packets, BATCH);
		EXPECT_EQ(merged() - before, BATCH - n);
	}
	return n == 1;
}

/* The next packet that another guest gets, at got. */
static bool receive_as_guest(struct rig *guest, struct seen *s)
{
	struct virtio_net_hdr_mrg_rxbuf h;
	ssize_t n;

	rig_rx_post(guest, 128, NULL);
	vdev_kick(&guest->v.q[VDEV_RX]);
	n = rig_rx(guest, &h, got, sizeof(got), 3000);
	*s = (struct seen){ .hdr = h.hdr, .len = n, .flow = got[5] };
	return n > 0;
}

/* Of more segments than a socket buffer has fragments: the others are socket buffers behind it. */
CASE(gro_packets_reach_another_guest)
{
	uint32_t at = 1000000, n, longest = 0;
	struct rig guest = { 0 };
	struct seen s;
	unsigned int i;

	begin();
	rig_open(&guest, &(struct rig_cfg){ .here = true, .bufs = 128 });
	ASSERT_SYS(ioctl(guest.tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6));
	/* of one IPv4 ID */
	set_feature_named(guest.name, "tx-tcp-mangleid-segmentation", true);
	ASSERT_EQ(bridge_join(guest.ifindex, if_nametoindex("br0")), 0);
	ASSERT_EQ(bridge_port_forwards(guest.ifindex), 0);
	for (i = 1; i <= TRIES && longest < 20 * MSS && !ksft_failed(); i++) {
		send_stream(BATCH);
		while (at != 1000000 + i * BATCH * MSS && !ksft_failed()) {
			ASSERT(receive_as_guest(&guest, &s));
			if (s.flow != STREAM)
				continue;
			n = check_stream(got, &s, at);
			at += n;
			if (n > longest)
				longest = n;
		}
	}
	EXPECT(longest >= 20 * MSS);
	rig_close(&guest);
	rig_close(&rig);
}

CASE(gro_off_segments_are_not_merged)
{
	begin();
	EXPECT(is_merged());
	set_feature(rig.name, ETHTOOL_SGRO, false);
	EXPECT(!is_merged());
	set_feature(rig.name, ETHTOOL_SGRO, true);
	EXPECT(is_merged());
	rig_close(&rig);
}

/* A frame that only the tap's sendmsg() can judge; it may drop it. */
static void send_odd_frame(void)
{
	const struct virtio_net_hdr odd = { .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = MSS };

	tcp_frame(frame, MSS, 0);
	frame[5] = ODD;
	send_frame(frame, TCP_HEADERS + MSS, &odd);
}

CASE(gro_frame_for_sendmsg_is_not_overtaken)
{
	struct seen s = { 0 };
	uint32_t seq = 1, at = 1, odd;
	unsigned int i;

	begin();
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		turn_gro_on();
		send_segments(STREAM, &seq, 10);
		odd = seq;
		send_odd_frame();
		send_segments(STREAM, &seq, 10);
		send_batch();
		send_mark();
		while (!ksft_failed()) {
			ASSERT(receive(&s));
			if (s.flow == MARK)
				break;
			if (s.flow == STREAM)
				at += check_stream(got + sizeof(s.hdr), &s, at);
			else
				EXPECT_EQ(at, odd);
		}
		EXPECT_EQ(at, seq);
	}
	rig_close(&rig);
}

/*** when it is tried ***/

static void send_datagrams(uint32_t payload, unsigned int n)
{
	struct iphdr *ip = (void *)(frame + ETH_HLEN);
	struct seen seen[64];
	unsigned int i;

	for (i = 0; i < n; i++) {
		tcp_frame(frame, payload, i);
		frame[5] = DATAGRAMS;
		ip->protocol = IPPROTO_UDP;
		ip->check = 0;
		ip->check = htons(~sum16(ip, 20, 0));
		send_frame(frame, TCP_HEADERS + payload, &(struct virtio_net_hdr){ 0 });
	}
	send_batch();
	EXPECT_EQ(receive_until_mark(seen, 64), n);
}

#define TRIED		"napi_gro_receive_entry:"

static void trace_gro(void)
{
	char filter[32];

	if (!tracing_begin())
		ksft_skip("no tracefs");
	begin();
	turn_gro_on();
	snprintf(filter, sizeof(filter), "name == \"%s\"", rig.name);
	if (!tracing_on("net/napi_gro_receive_entry", filter))
		ksft_skip("no tracepoint net:napi_gro_receive_entry");
}

static unsigned int count_tried(uint32_t payload, unsigned int n)
{
	unsigned int before = tracing_count(TRIED), i;

	for (i = 0; i < 128 && !ksft_failed(); i++)
		send_datagrams(payload, n);
	return (tracing_count(TRIED) - before) / n;
}

CASE_TIMED(gro_tried_for_few_batches_where_nothing_is_merged, 60)
{
	trace_gro();
	EXPECT_EQ(count_tried(1000, 8), 128 / 64);
	EXPECT_EQ(count_tried(1000, 3), 0);
	EXPECT_EQ(count_tried(100, 8), 0);
	tracing_end();
	EXPECT(is_merged());
	rig_close(&rig);
}

/* The near end segments in software what is merged; whether GRO stays on is a matter of time. */
CASE_TIMED(gro_packets_are_segmented_for_device_without_tso, 60)
{
	unsigned int i;

	trace_gro();
	set_feature("near", ETHTOOL_STSO, false);
	for (i = 0; i < 128 && !ksft_failed(); i++)
		EXPECT_EQ(send_stream(BATCH), BATCH);
	ksft_note("tried for %u of 128 batches", tracing_count(TRIED) / BATCH);
	EXPECT_GE(tracing_count(TRIED), 128 / 64 * BATCH);
	tracing_end();
	rig_close(&rig);
}

/*** flows of all kinds: as GRO of a veth pair ***/

enum tunnel { NO_TUNNEL, IPV4_IN_IPV4, IPV6_IN_IPV4, N_TUNNELS };

struct flow_of {
	uint8_t id;
	enum tunnel tunnel;
	bool ipv6, udp, partial, timestamps, fixed_id;
	uint16_t mss, id16, tags, frag;
	uint32_t seq, time;
	uint8_t tos;
};

static const uint16_t sizes[] = { MSS, MSS, MSS, 1460, 1200, 1399, 536, 8948 };

static struct flow_of new_flow(uint8_t id, bool vlan)
{
	struct flow_of g = {
		.id = id, .ipv6 = ksft_percent(30), .udp = ksft_percent(20), .partial = ksft_percent(50),
		.timestamps = ksft_percent(50), .fixed_id = ksft_percent(30), .mss = sizes[ksft_below(8)],
		.seq = ksft_below(1u << 31), .time = ksft_below(1000),
		.tos = ksft_percent(20) ? ksft_below(4) : 0,
		.frag = ksft_percent(70) ? IP_DF : 0,
	};

	/* new kernels merge a constant ID without DF, and the near end would segment it again */
	if (!g.frag)
		g.fixed_id = false;
	if (ksft_percent(30))
		g.tunnel = 1 + ksft_below(N_TUNNELS - 1);
	if (g.tunnel)
		g.ipv6 = g.tunnel == IPV6_IN_IPV4;
	if (vlan && ksft_percent(30))
		g.tags = 1 + ksft_percent(20);
	return g;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static uint32_t put_ipv4(uint8_t *p, struct flow_of *g, uint8_t proto)
{
	struct iphdr *ip = (void *)p;

	memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5 + ksft_percent(2);
	ip->tos = ksft_percent(4) ? ksft_below(256) : g->tos;
	ip->id = htons(g->fixed_id && !ksft_percent(3) ? g->id16 : g->id16++);
	ip->frag_off = htons(ksft_percent(2) ? IP_MF | ksft_below(3) : g->frag);
	ip->ttl = ksft_percent(2) ? 63 : 64;
	ip->protocol = proto;
	ip->saddr = htonl(0xc0000201);
	ip->daddr = htonl(0xc0000202);
	if (ip->ihl > 5)
		memset(p + 20, 1, 4);
	return ip->ihl * 4;
}

static uint32_t put_ipv6(uint8_t *p, struct flow_of *g, uint8_t proto)
{
	bool extension = ksft_percent(3);

	memset(p, 0, 48);
	p[0] = 0x60 | (ksft_percent(4) ? ksft_below(16) : g->tos >> 4);
	p[1] = g->tos << 4 | (ksft_percent(3) ? 1 : 0);
	p[6] = extension ? IPPROTO_HOPOPTS : proto;
	p[7] = ksft_percent(2) ? 63 : 64;
	memcpy(p + 8, "\x20\x01\x0d\xb8", 4);
	memcpy(p + 24, "\x20\x01\x0d\xb8", 4);
	p[39] = 1;
	if (!extension)
		return 40;
	memcpy(p + 40, (uint8_t[8]){ proto, 0, 1, 4 }, 8);
	return 48;
}

static uint32_t put_ip(uint8_t *p, struct flow_of *g, bool ipv6, uint8_t proto)
{
	return ipv6 ? put_ipv6(p, g, proto) : put_ipv4(p, g, proto);
}

/* Lengths and the header's checksum, sometimes wrong; len is without Ethernet. */
static void end_ip(uint8_t *p, bool ipv6, uint32_t len)
{
	if (ksft_percent(1))
		len += ksft_below(9) - 4;
	if (ipv6) {
		put16(p + 4, len - 40);
		return;
	}
	put16(p + 2, len);
	put16(p + 10, ~sum16(p, (p[0] & 15) * 4, 0) + ksft_percent(1));
}

static const uint8_t odd_flags[] = {
	TH_ACK | TH_PUSH, TH_ACK | TH_PUSH, TH_ACK | TH_FIN, TH_SYN, TH_ACK | TH_RST,
	TH_ACK | TH_URG, TH_ACK | 0x40, TH_ACK | 0x80, TH_ACK | 0xc0, 0,
};

static uint32_t put_tcp(uint8_t *p, struct flow_of *g)
{
	struct tcphdr *tcp = (void *)p;
	uint32_t len = g->timestamps ? 32 : 20;

	memset(p, 1, 60);
	memset(tcp, 0, sizeof(*tcp));
	tcp->source = htons(1000);
	tcp->dest = htons(2000);
	tcp->seq = htonl(g->seq);
	tcp->ack_seq = htonl(ksft_percent(3) ? 2 : 1);
	tcp->window = htons(ksft_percent(3) ? 1000 : 2000);
	if (ksft_percent(3))
		len += 4 * ksft_below(4);	/* NOPs */
	if (g->timestamps) {
		g->time += ksft_percent(5);
		memcpy(p + 20, (uint8_t[4]){ 1, 1, 8, 10 }, 4);
		memset(p + 24, 0, 8);
		put16(p + 26, g->time);
	}
	p[12] = len / 4 << 4;
	p[13] = ksft_percent(6) ? odd_flags[ksft_below(sizeof(odd_flags))] : TH_ACK;
	if (ksft_percent(1))
		p[12] = ksft_below(16) << 4;
	return len;
}

static uint32_t put_udp(uint8_t *p, uint32_t payload)
{
	memset(p, 0, 8);
	put16(p, 1000);
	put16(p + 2, 3000);
	put16(p + 4, 8 + payload);
	return 8;
}

static uint32_t choose_payload(struct flow_of *g)
{
	uint32_t kind = ksft_below(100);

	if (kind < 92)
		return g->mss;
	if (kind < 96)
		return 1 + ksft_below(g->mss);
	return kind < 98 ? 0 : g->mss + ksft_below(40);
}

/* A checksum that is the stack's to make, or is made, or is wrong. */
static void end_checksum(const uint8_t *f, uint8_t *ip, bool ipv6, uint8_t *l4, uint32_t len,
			 uint8_t proto, const struct flow_of *g, struct virtio_net_hdr *h)
{
	uint32_t offset = proto == IPPROTO_TCP ? 16 : 6;
	uint32_t sum = ipv6 ? sum16(ip + 8, 32, proto + len) : sum16(ip + 12, 8, proto + len);

	put16(l4 + offset, 0);
	if (g->partial ^ ksft_percent(3)) {
		put16(l4 + offset, sum);
		h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		h->csum_start = l4 - f;
		h->csum_offset = offset;
		return;
	}
	if (proto == IPPROTO_UDP && !ipv6 && ksft_percent(10))
		return;
	put16(l4 + offset, ~sum16(l4, len, sum) + ksft_percent(2));
}

/* Ethernet, VLAN tags, an outer header, IP, TCP or UDP. Returns the frame's length. */
static uint32_t make_frame(uint8_t *f, struct flow_of *g, struct virtio_net_hdr *h)
{
	uint8_t proto = g->udp ? IPPROTO_UDP : IPPROTO_TCP, *outer, *ip, *l4;
	uint32_t payload = choose_payload(g), at = 12, len, i;

	memset(h, 0, sizeof(*h));
	memcpy(f, "\x02\0\0\0\0\1\x02\0\0\0\0\2", 12);
	f[5] = g->id;
	for (i = 0; i < g->tags; i++, at += 4) {
		put16(f + at, i + 1 == g->tags ? 0x8100 : 0x88a8);
		put16(f + at + 2, ksft_percent(3) ? 6 : 5);
	}
	put16(f + at, g->ipv6 && !g->tunnel ? ETH_P_IPV6 : ETH_P_IP);
	outer = f + at + 2;
	ip = outer;
	if (g->tunnel) {
		ip += put_ipv4(outer, g, g->ipv6 ? IPPROTO_IPV6 : IPPROTO_IPIP);
		/* that of an inner IPv4 header counts up by one, too */
		g->id16 -= !g->fixed_id && !g->ipv6;
	}
	l4 = ip + put_ip(ip, g, g->ipv6, proto);
	len = l4 - f + (g->udp ? put_udp(l4, payload) : put_tcp(l4, g));
	for (i = 0; i < payload; i++)
		f[len + i] = payload_byte(g->seq + i);
	len += payload;
	end_ip(ip, g->ipv6, f + len - ip);
	if (g->tunnel)
		end_ip(outer, false, f + len - outer);
	end_checksum(f, ip, g->ipv6, l4, f + len - l4, proto, g, h);
	/* the next one follows it, or not */
	if (ksft_percent(96))
		g->seq += payload;
	else
		g->seq += ksft_below(2000) - 1000;
	if (ksft_percent(1)) {
		memset(f + len, 0, 40);
		len += ksft_below(40);
	}
	if (ksft_percent(1))
		len = ETH_HLEN + ksft_below(len - ETH_HLEN);
	return len;
}

#define ROUNDS		60
#define FLOWS		4

struct record {
	unsigned int n;
	struct seen seen[64];
};

static struct record by_veth[ROUNDS], by_kvnet[ROUNDS];

/* A batch of several flows, with so many full segments that it is worth to try. */
static unsigned int send_round(struct record *r, uint32_t seed, bool vlan)
{
	struct flow_of g[FLOWS];
	struct virtio_net_hdr h;
	uint32_t len, bytes = 0, seq = 1;
	unsigned int i, n = 0;

	/* the same frames for both */
	ksft_random_from((seed * 2654435761u) | 1);
	for (i = 0; i < FLOWS; i++)
		g[i] = new_flow(FIRST + i, vlan);
	for (i = 0; n < BATCH && bytes < BATCH_BYTES; n++) {
		if (ksft_percent(40))
			i = ksft_below(FLOWS);
		len = make_frame(frame, &g[i], &h);
		send_frame(frame, len, &h);
		bytes += len;
	}
	while (bytes < (n + 4) * 600) {
		send_segments(FILLER, &seq, 1);
		bytes += MSS;
		n++;
	}
	ASSERT(n < 64);
	send_batch();
	r->n = receive_until_mark(r->seen, 64);
	return n;
}

static bool is_same(const struct record *a, const struct record *b)
{
	return a->n == b->n && !memcmp(a->seen, b->seen, a->n * sizeof(*a->seen));
}

/* Again, if the packets are others and no frame was merged: GRO was off, most likely. */
static unsigned int send_round_by_gro(struct record *r, const struct record *want, uint32_t seed,
				      bool vlan)
{
	unsigned int i = 0, sent;
	long before;

	do {
		turn_gro_on();
		before = merged();
		sent = send_round(r, seed, vlan);
	} while (!is_same(r, want) && merged() == before && ++i < TRIES && !ksft_failed());
	return sent;
}

static unsigned int send_rounds(struct record *r, unsigned int rounds, uint32_t seed, bool kvnet,
				bool udp, bool vlan)
{
	unsigned int i, sent, n = 0;

	choose_gro(kvnet, udp);
	for (i = 0; i < rounds && !ksft_failed(); i++) {
		sent = kvnet ? send_round_by_gro(&r[i], &by_veth[i], seed + i, vlan) :
			       send_round(&r[i], seed + i, vlan);
		n += sent;
	}
	return n;
}

static void print_seen(const char *who, const struct record *r, unsigned int i)
{
	const struct seen *s = &r->seen[i];

	if (i < r->n)
		ksft_note("%s: %u: flow %u, %u bytes, sum %x, tag %x, flags %u, gso %u of %u, csum %u + %u",
			  who, i, s->flow, s->len, s->sum, s->tag, s->hdr.flags, s->hdr.gso_type,
			  s->hdr.gso_size, s->hdr.csum_start, s->hdr.csum_offset);
}

static void compare_round(unsigned int round, const struct record *a, const struct record *b)
{
	unsigned int i;

	if (is_same(a, b))
		return;
	for (i = 0; i < a->n && i < b->n; i++)
		if (memcmp(&a->seen[i], &b->seen[i], sizeof(a->seen[i])))
			break;
	FAIL("round %u: packet %u of %u by veth, of %u by kvnet", round, i, a->n, b->n);
	print_seen("veth", a, i);
	print_seen("kvnet", b, i);
}

static void compare(bool udp)
{
	unsigned int rounds = ksft_rounds(ROUNDS), i, frames, packets = 0;
	bool vlan = link_module("8021q");
	uint32_t seed = ksft_random();

	begin();
	if (rounds > ROUNDS)
		rounds = ROUNDS;
	frames = send_rounds(by_veth, rounds, seed, false, udp, vlan);
	EXPECT_EQ(merged(), 0);
	EXPECT_EQ(send_rounds(by_kvnet, rounds, seed, true, udp, vlan), frames);
	for (i = 0; i < rounds; i++) {
		packets += by_kvnet[i].n;
		compare_round(i, &by_veth[i], &by_kvnet[i]);
	}
	ksft_note("%u frames arrived as %u packets%s", frames, packets,
		  vlan ? "" : "; no VLANs in this kernel");
	EXPECT(packets < frames * 9 / 10);
	rig_close(&rig);
}

CASE_ROW_TIMED(gro_packets_equal_those_of_veth, 60, compare(false))
CASE_ROW_TIMED(gro_with_udp_forwarding_packets_equal_those_of_veth, 60, compare(true))

KSFT_MAIN()
