// SPDX-License-Identifier: GPL-2.0
/*
 * A packet socket as backend: frames of all kinds both ways, compared. And a socket and its
 * device that change meanwhile: frames may get lost, none is damaged, and afterwards traffic
 * goes on.
 *
 * @hosts: 6.1
 * @debug: kmsan
 * @seconds: 14
 * @skip: .*-6\.1 | .*: PACKET_VNET_HDR_SZ .* | kernels from 6.6 on have it
 */
#include <arpa/inet.h>
#include <net/if.h>

#include "links.h"
#include "packet_rig.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

#define LEGACY		BIT64(VIRTIO_F_NOTIFY_ON_EMPTY)

static struct packet_rig p;

static const struct packet_how hows[] = {
	{ F_V1 | F_MRG | F_NETHDR },
	{ F_V1 | F_EVENT | F_NETHDR, .proto = FRAME_TYPE },
	{ LEGACY | F_NETHDR },
	{ LEGACY, 10 },
	{ LEGACY | F_MRG, 12 },
	{ F_V1 | F_MRG | F_EVENT | F_IND, 12 },
};

static void both_ways(const struct packet_how *how)
{
	static const uint32_t len[] = { FRAME_MIN, 59, 60, 61, 127, 128, 129,
					2000, 4000, 9014 };
	bool fits = how->features & F_MRG;

	packet_open(&p, how);
	flow_exact(&p.flow, 32, flow_lens, FLOW_LENS);
	flow_exact(&p.flow, 4, len, sizeof(len) / sizeof(len[0]) - !fits);
	rig_stop(&p.r);
	packet_attach(&p, p.r.tap);
	flow_exact(&p.flow, 32, flow_lens, FLOW_LENS);
	rig_close(&p.r);
	ASSERT_EQ(link_delete(p.far), 0);
}

CASE_TIMED(socket_without_header_passes_frames, 40)
{
	both_ways(&hows[0]);
	both_ways(&hows[1]);
	both_ways(&hows[2]);
}

CASE_TIMED(socket_with_its_own_header_passes_frames, 40)
{
	both_ways(&hows[3]);
	both_ways(&hows[4]);
	both_ways(&hows[5]);
}

static void inject_at(uint32_t seq, uint32_t len)
{
	rig_rx_post(&p.r, 32, NULL);
	vdev_kick(&p.r.v.q[VDEV_RX]);
	rig_inject(&p.r, seq, len);
}

/* Mergeable: over several buffers.  Otherwise dropped, and the next one arrives. */
CASE(frames_longer_than_a_buffer_merged_or_dropped)
{
	static const uint64_t features[] = { F_V1 | F_MRG | F_NETHDR,
					     F_V1 | F_NETHDR };
	struct packet_how how = { .rx_buf = 300 };
	uint32_t i, len, seq;

	for (i = 0; i < 2; i++) {
		how.features = features[i];
		packet_open(&p, &how);
		seq = p.flow.rx_seq;
		for (len = 280; len < 9014 && !ksft_failed(); len += 97) {
			inject_at(++seq, len);
			if (len + p.r.v.hdr_len <= 300 || how.features & F_MRG)
				rig_rx_expect(&p.r, seq, len);
			inject_at(++seq, 100);
			rig_rx_expect(&p.r, seq, 100);
		}
		rig_close(&p.r);
		ASSERT_EQ(link_delete(p.far), 0);
	}
}

/* The device makes the header, and drops the frame that it cannot put behind it. */
CASE(frame_whose_header_cannot_be_written_is_dropped)
{
	packet_open(&p, &hows[0]);
	rig_rx_post(&p.r, 32, NULL);
	vdev_kick(&p.r.v.q[VDEV_RX]);
	wait_worker_idle();
	ASSERT_SYS(mprotect(p.r.v.host, p.r.v.host_span, PROT_NONE));
	rig_inject(&p.r, 1, 1000);
	EXPECT(WAIT_FOR(3000, rig_counter(&p.r, "kvnet.rx.drop_fault") == 1));
	ASSERT_SYS(mprotect(p.r.v.host, p.r.v.host_span, PROT_READ | PROT_WRITE));
	rig_inject(&p.r, 2, 1000);
	rig_rx_expect(&p.r, 2, 1000);
	EXPECT_EQ(rig_counter(&p.r, "kvnet.rx.drop_fault"), 1);
	rig_close(&p.r);
	ASSERT_EQ(link_delete(p.far), 0);
}

static uint32_t tagged(uint8_t *f, uint32_t seq, uint32_t len)
{
	static const uint8_t tag[4] = { 0x81, 0, 0x01, 0x23 };
	uint8_t plain[2048];

	frame_make(plain, seq, len);
	memcpy(f, plain, 12);
	memcpy(f + 12, tag, 4);
	memcpy(f + 16, plain + 12, len - 12);
	return len + 4;
}

static bool read_tap(int tap, uint8_t *f, size_t size, ssize_t want)
{
	struct pollfd wait = { .fd = tap, .events = POLLIN };

	if (poll(&wait, 1, ksft_patience(3000)) != 1)
		return false;
	return read(tap, f, size) == want;
}

/* The socket is bound to a tap, where tags can be seen in the frames. */
CASE(vlan_tags_pass_both_ways)
{
	uint8_t f[2048], got[4096];
	int tap, fd, lost = 0;
	uint32_t len, i;
	ssize_t n;

	rig_open(&p.r, &(struct rig_cfg){ .stopped = true,
					  .features = packet_bare.features });
	tap = rig_tap_new(&p.r, TAP_BARE);
	fd = packet_backend(&p, p.r.ifindex, &packet_bare);
	packet_attach(&p, fd);
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		len = tagged(f, i, 60 + i * 70);
		ASSERT_EQ(rig_tx_raw(&p.r, NULL, f, len, NULL), 0);
		vdev_kick(&p.r.v.q[VDEV_TX]);
		ASSERT(read_tap(tap, got, sizeof(got), len));
		EXPECT(!memcmp(f, got, len));
		rig_tx_drain(&p.r, 3000);

		rig_rx_post(&p.r, 8, NULL);
		vdev_kick(&p.r.v.q[VDEV_RX]);
		ASSERT_EQ(write(tap, f, len), len);
		n = rig_rx(&p.r, NULL, got, sizeof(got), lost ? 50 : 1000);
		lost += n < 0;
		if (n >= 0 && n != len)
			FAIL("%zd bytes of %u", n, len);
		else if (n >= 0)
			EXPECT(!memcmp(f, got, len));
		if (lost && !vdev_is_vhost())
			FAIL("a tagged frame does not arrive");
	}
	if (lost)	/* the socket's tag is not in what it reads */
		ksft_note("vhost_net lost %d tagged frames", lost);
}

/* One segment of 1000 bytes after the other, and a checksum to be made. */
static uint32_t big_frame(uint8_t *f, struct virtio_net_hdr_mrg_rxbuf *h)
{
	static const uint8_t ip_tcp[] = {
		0x08, 0, 0x45, 0, 0x0b, 0xe0, 0, 0, 0, 0, 64, 6, 0, 0,
		192, 0, 2, 1, 192, 0, 2, 2, 3, 0xe8, 7, 0xd0, 0, 0, 0, 1,
		0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0,
	};
	const uint32_t len = 14 + 20 + 20 + 3000;

	memset(h, 0, sizeof(*h));
	h->hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
	h->hdr.gso_size = 1000;
	h->hdr.hdr_len = 54;
	h->hdr.csum_start = 34;
	h->hdr.csum_offset = 16;
	frame_make(f, 1, len);
	memcpy(f + 12, ip_tcp, sizeof(ip_tcp));
	return len;
}

static void same_offload(const struct virtio_net_hdr *h)
{
	EXPECT_EQ(h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
		  VIRTIO_NET_HDR_F_NEEDS_CSUM);
	EXPECT_EQ(h->gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
	EXPECT_EQ(h->gso_size, 1000);
	EXPECT_EQ(h->csum_start, 34);
	EXPECT_EQ(h->csum_offset, 16);
}

CASE(offloads_pass_by_the_sockets_header)
{
	struct packet_how how = { LEGACY, 10, .rx_buf = 8192 };
	struct virtio_net_hdr_mrg_rxbuf h;
	uint8_t f[4096], got[8192];
	uint32_t len;
	int fd;

	packet_open(&p, &how);
	fd = rig_packet_socket(&p.r, ETH_P_IP, true);
	len = big_frame(f, &h);
	ASSERT_EQ(rig_tx_raw(&p.r, &h, f, len, NULL), 0);
	vdev_kick(&p.r.v.q[VDEV_TX]);
	ASSERT(read_tap(fd, got, sizeof(got), 10 + len));
	same_offload((void *)got);
	EXPECT(!memcmp(got + 10, f, len));
	rig_tx_drain(&p.r, 3000);

	rig_rx_post(&p.r, 4, NULL);
	vdev_kick(&p.r.v.q[VDEV_RX]);
	memcpy(got, &h, 10);
	memcpy(got + 10, f, len);
	ASSERT_EQ(send(fd, got, 10 + len, 0), 10 + len);
	EXPECT_EQ(rig_rx(&p.r, &h, got, sizeof(got), 3000), len);
	same_offload(&h.hdr);
	EXPECT(!memcmp(got, f, len));
}

/* csum_start counts from the beginning of the frame that the guest gets, with its tag. */
CASE(checksum_behind_a_tag_is_adjusted)
{
	const struct packet_how how = { LEGACY, 10 };
	static const uint8_t tag[4] = { 0x81, 0, 0x01, 0x23 };
	struct virtio_net_hdr_mrg_rxbuf h;
	uint8_t f[4096], got[4096], sent[4096];
	uint32_t len;
	int tap;

	if (vdev_is_vhost())
		ksft_skip("vhost_net loses tags");
	rig_open(&p.r, &(struct rig_cfg){ .stopped = true, .features = how.features });
	tap = rig_tap_new(&p.r, 0);
	packet_attach(&p, packet_backend(&p, p.r.ifindex, &how));
	len = big_frame(f, &h);
	h.hdr.gso_type = 0;
	h.hdr.gso_size = 0;
	h.hdr.csum_start += sizeof(tag);
	memcpy(sent, &h.hdr, 10);
	memcpy(sent + 10, f, 12);
	memcpy(sent + 22, tag, sizeof(tag));
	memcpy(sent + 26, f + 12, len - 12);
	len += sizeof(tag);
	rig_rx_post(&p.r, 8, NULL);
	vdev_kick(&p.r.v.q[VDEV_RX]);
	ASSERT_EQ(write(tap, sent, 10 + len), 10 + len);
	EXPECT_EQ(rig_rx(&p.r, &h, got, sizeof(got), 3000), len);
	EXPECT_EQ(h.hdr.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	EXPECT_EQ(h.hdr.csum_start, 38);
	EXPECT_EQ(h.hdr.csum_offset, 16);
	EXPECT(!memcmp(got, sent + 10, len));
}

/*
 * With the offloads of a UDP tunnel the header is longer than a socket's: the fields that
 * these frames do not use are zero, and hold no byte of the kernel's.
 */
CASE(tunnel_header_unused_is_zero)
{
	struct abi_features a = {
		2, { F_V1 | F_MRG, BIT64(VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO - 64) },
	};
	static const uint32_t len[] = { 60, 600, 3000 };
	static uint8_t f[FRAME_MAX + 1];
	uint8_t hdr[24];
	unsigned int i, k;
	uint32_t seq;

	packet_open(&p, &(struct packet_how){ F_V1 | F_MRG, 12 });
	seq = p.flow.rx_seq;
	rig_stop(&p.r);
	if (__vdev_ioctl(p.r.v.fd, VHOST_SET_FEATURES_ARRAY, &a))
		ksft_skip("no VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO");
	p.r.v.hdr_len = sizeof(hdr);
	packet_attach(&p, p.r.tap);
	for (i = 0; i < 30 && !ksft_failed(); i++) {
		memset(hdr, 0xaa, sizeof(hdr));
		inject_at(++seq, len[i % 3]);
		ASSERT_EQ(rig_rx(&p.r, hdr, f, sizeof(f), 3000), len[i % 3]);
		frame_check(f, len[i % 3], seq, len[i % 3]);
		for (k = 0; k < sizeof(hdr); k++)
			if (k != 10)	/* num_buffers */
				EXPECT_EQ(hdr[k], 0);
	}
	rig_close(&p.r);
	ASSERT_EQ(link_delete(p.far), 0);
}

/*
 * A frame arrives after the worker's last check of the socket has found none, and before the
 * poll completes: the worker waits for a page while it publishes the frame before.
 */
CASE(frame_between_last_check_and_idle_arrives)
{
	struct vdev_queue *q = &p.r.v.q[VDEV_RX];
	unsigned int base = 600;	/* its used entry is in the ring's second page */
	int len = 0;

	/* a ring that is pinned can always be written */
	limit_locked_memory(0);
	rig_open(&p.r, &(struct rig_cfg){ .stopped = true, .num = 1024, .bufs = 16,
					  .features = packet_bare.features });
	if (p.r.v.features & F_PACKED)
		ksft_skip("a packed ring is read where it is written");
	pin_rig_move(&p.r, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	gr_start_at(&q->ring, base);
	vdev_queue_tell(&p.r.v, VDEV_RX, base);
	packet_veth(&p);
	flow_swap(&p.r, packet_backend(&p, p.near, &packet_bare), p.far);
	pager_open();
	pager.holds = true;
	packet_attach(&p, p.r.tap);
	ASSERT_EQ(rig_rx_post(&p.r, 8, NULL), 8);
	vdev_kick_always(q);
	wait_worker_idle();
	pager_take_away((uint8_t *)q->ring.cfg.used + PAGE, PAGE);
	rig_inject(&p.r, 1, 100);
	ASSERT(pager_asked(1, 3000));
	rig_inject(&p.r, 2, 100);
	ASSERT(WAIT_FOR(3000, !ioctl(p.r.tap, FIONREAD, &len) && len));
	pager_go_on();
	rig_rx_expect(&p.r, 1, 100);
	rig_rx_expect(&p.r, 2, 100);
	rig_close(&p.r);
}

/* One frame each way, and the worker is idle again. */
static void single_frames(unsigned int n)
{
	static uint32_t seq = 5000;
	struct rig *r = &p.r;
	uint32_t at;

	for (; n-- && !ksft_failed(); seq++) {
		/* no buffer is left once the device has all of them */
		rig_rx_post(r, 1, NULL);
		vdev_kick(&r->v.q[VDEV_RX]);
		rig_inject(r, seq, 60);
		rig_rx_expect(r, seq, 60);
		at = r->tx_seq;
		ASSERT_EQ(rig_tx(r, 60, NULL), 0);
		vdev_kick(&r->v.q[VDEV_TX]);
		rig_expect(r, at, 60);
		ASSERT(rig_tx_drain(r, 3000));
		wait_worker_idle();
	}
}

/* A read of such a socket polls its device, which a softirq may not do. */
CASE_TIMED(socket_with_busy_polling_served_by_the_worker, 40)
{
	long n_inline = 0;
	int us = 50;
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net receives nothing inline");
	packet_open(&p, &packet_bare);
	vdev_no_spin(&p.r.v);
	for (i = 0; i < 100 && n_inline < 20 && !ksft_failed(); i++) {
		single_frames(4);
		n_inline = rig_counter(&p.r, "kvnet.rx.polls_inline");
	}
	EXPECT_GE(n_inline, 20);
	ASSERT_SYS(setsockopt(p.r.tap, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)));
	single_frames(8);
	EXPECT_EQ(rig_counter(&p.r, "kvnet.rx.polls_inline"), n_inline);
	us = 0;
	ASSERT_SYS(setsockopt(p.r.tap, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)));
	single_frames(8);
	EXPECT_OP(rig_counter(&p.r, "kvnet.rx.polls_inline"), >, n_inline);
	rig_close(&p.r);
}

/*** a socket that changes ***/

static void one_end_down_and_up(unsigned int i)
{
	int which = ksft_below(2) ? p.near : p.far;

	EXPECT_EQ(link_up(which, false), 0);
	if (i % 3)
		ksft_relax(100);
	EXPECT_EQ(link_up(which, true), 0);
}

CASE_TIMED(link_down_and_up_recovers, 40)
{
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, ksft_rounds(15), one_end_down_and_up);
	if (vdev_is_vhost()) {	/* stops polling a socket in error */
		rig_stop(&p.r);
		packet_attach(&p, p.r.tap);
	}
	flow_settled(&p.flow);
}

/* A socket with a pending error is refused, and accepted once the error was read. */
CASE(socket_in_error_refused_once)
{
	socklen_t len = sizeof(int);
	int err;

	packet_open(&p, &packet_bare);
	rig_stop(&p.r);
	ASSERT_EQ(link_up(p.near, false), 0);
	EXPECT_EQ(__vdev_backend(&p.r.v, VDEV_RX, p.r.tap), -EINVAL);
	ASSERT_EQ(link_up(p.near, true), 0);
	ASSERT_SYS(getsockopt(p.r.tap, SOL_SOCKET, SO_ERROR, &err, &len));
	EXPECT_EQ(err, ENETDOWN);
	packet_attach(&p, p.r.tap);
	flow_recovers(&p.flow);
	rig_close(&p.r);
}

/* The backend's interface is down for a while: its error does not end the polling. */
CASE(socket_in_error_meanwhile_stays)
{
	unsigned int i;
	int other;

	if (vdev_is_vhost())
		ksft_skip("vhost_net stops polling a socket in error");
	packet_open(&p, &packet_bare);
	flow_settled(&p.flow);
	other = packet_backend(&p, p.near, &packet_bare);
	EXPECT_EQ(link_up(p.near, false), 0);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(__vdev_backend(&p.r.v, i, other), -EINVAL);
	EXPECT_EQ(link_up(p.near, true), 0);
	flow_settled(&p.flow);
	close(other);
}

static void steal(unsigned int i)
{
	uint8_t f[PACKET_MTU + 100];
	int fd = dup(p.r.tap);
	int flags = i % 2 ? MSG_DONTWAIT : MSG_DONTWAIT | MSG_PEEK;

	for (i = 0; i < 20; i++)
		if (recv(fd, f, sizeof(f), flags) < 0)
			ksft_relax(0);
	close(fd);
}

/* Frames that another reader takes are lost; the others are whole. */
CASE_TIMED(socket_with_another_reader_recovers, 40)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net measures one frame and reads another");
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, ksft_rounds(40), steal);
	flow_settled(&p.flow);
}

static void toggle_header(unsigned int i)
{
	int on = !(i % 2);

	ASSERT_SYS(setsockopt(p.r.tap, SOL_PACKET, PACKET_VNET_HDR, &on,
			      sizeof(on)));
}

CASE_TIMED(socket_header_toggled_recovers, 40)
{
	packet_open(&p, &packet_bare);
	p.flow.opaque = true;
	flow_storm(&p.flow, 2 * ksft_rounds(10), toggle_header);
	packet_header(p.r.tap, 0);
	flow_stop_empty(&p.flow);
	packet_attach(&p, p.r.tap);
	flow_quiesces(&p.flow);
	p.flow.opaque = false;
	flow_settled(&p.flow);
}

static void toggle_ring(unsigned int i)
{
	struct tpacket_req req = {
		.tp_block_size = 65536, .tp_block_nr = 1,
		.tp_frame_size = 2048, .tp_frame_nr = 32,
	};

	if (i % 2)
		memset(&req, 0, sizeof(req));
	ASSERT_SYS(setsockopt(p.r.tap, SOL_PACKET, PACKET_RX_RING, &req,
			      sizeof(req)));
}

/* Then frames go to the mapped ring, and none to the socket's queue. */
CASE_TIMED(socket_with_a_mapped_ring_recovers, 40)
{
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, 2 * ksft_rounds(8), toggle_ring);
	flow_settled(&p.flow);
}

static void bind_to(unsigned int i)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(i % 2 ? ETH_P_ALL : ETH_P_LOOPBACK),
		.sll_ifindex = i % 2 ? p.near : 1,
	};

	ASSERT_SYS(bind(p.r.tap, (struct sockaddr *)&sll, sizeof(sll)));
}

CASE_TIMED(socket_bound_elsewhere_recovers, 40)
{
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, 2 * ksft_rounds(10), bind_to);
	flow_settled(&p.flow);
}

static void delete_it(unsigned int i)
{
	EXPECT_EQ(link_delete(i % 2 ? p.near : p.far), 0);
}

CASE(interface_deleted_is_replaced)
{
	unsigned int i;
	int fd;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		packet_open(&p, &packet_bare);
		flow_storm(&p.flow, 1, delete_it);
		flow_pump(&p.flow);
		flow_stop_empty(&p.flow);
		packet_veth(&p);
		fd = packet_backend(&p, p.near, &packet_bare);
		flow_swap(&p.r, fd, p.far);
		packet_attach(&p, fd);
		flow_settled(&p.flow);
		rig_close(&p.r);
		ASSERT_EQ(link_delete(p.far), 0);
	}
}

CASE(socket_closed_by_the_vmm_stays)
{
	packet_open(&p, &packet_bare);
	close(p.r.tap);
	p.r.tap = -1;
	flow_settled(&p.flow);
}

/*
 * The device has dequeued frames from the socket when it is stopped, and returns them to the front
 * of its queue: all but some, for which it has had buffers.
 */
static void stopped_with_frames(const struct packet_how *how, unsigned int some)
{
	unsigned int round, i, n = 100;
	long waits;

	packet_open(&p, how);
	flow_stop_empty(&p.flow);
	for (round = 0; round < 5 && !ksft_failed(); round++) {
		for (i = 0; i < n; i++)
			rig_inject(&p.r, p.flow.rx_seq + i, 100 + i);
		waits = rig_counter(&p.r, "kvnet.rx.no_buf");
		packet_attach(&p, p.r.tap);
		rig_rx_post(&p.r, some, NULL);
		vdev_kick(&p.r.v.q[VDEV_RX]);
		for (i = 0; i < some; i++)
			rig_rx_expect(&p.r, p.flow.rx_seq++, 100 + i);
		/* by then it has dequeued as many as it can, and found no buffer */
		if (!vdev_is_vhost())
			ASSERT(WAIT_FOR(3000, rig_counter(&p.r,
				"kvnet.rx.no_buf") > waits));
		rig_stop(&p.r);
		packet_attach(&p, p.r.tap);
		rig_rx_post(&p.r, n - some, NULL);
		vdev_kick_always(&p.r.v.q[VDEV_RX]);
		for (; i < n && !ksft_failed(); i++)
			rig_rx_expect(&p.r, p.flow.rx_seq++, 100 + i);
		rig_stop(&p.r);
	}
	rig_close(&p.r);
	ASSERT_EQ(link_delete(p.far), 0);
}

CASE(frames_waiting_keep_their_order)
{
	stopped_with_frames(&packet_bare, 0);
	stopped_with_frames(&(struct packet_how){ F_V1 | F_NETHDR }, 2);
}

static int reader;	/* thread that waits for a frame */
static bool readable;

static void *wait_for_frame(void *arg)
{
	struct pollfd wait = { .fd = p.r.tap, .events = POLLIN };

	__atomic_store_n(&reader, gettid(), __ATOMIC_RELEASE);
	__atomic_store_n(&readable, poll(&wait, 1, -1) == 1, __ATOMIC_RELEASE);
	return arg;
}

static bool reader_waits(void)
{
	return task_state(getpid(), __atomic_load_n(&reader, __ATOMIC_ACQUIRE)) == 'S';
}

/* Adds the frames that have come to the socket since the last call to 'there'. */
static bool have_come(unsigned int n, unsigned int *there)
{
	struct tpacket_stats st;
	socklen_t len = sizeof(st);

	ASSERT_SYS(getsockopt(p.r.tap, SOL_PACKET, PACKET_STATISTICS, &st, &len));
	return (*there += st.tp_packets) >= n;
}

/* Another thread that waits for the socket is woken for the returned frames. */
CASE(frames_returned_wake_a_reader)
{
	unsigned int i, there = 0;
	pthread_t thread;
	long waits;

	if (vdev_is_vhost())
		ksft_skip("vhost_net takes one frame at a time");
	packet_open(&p, &packet_bare);
	flow_stop_empty(&p.flow);
	/* reading resets the statistics */
	have_come(0, &there);
	there = 0;
	for (i = 0; i < 10; i++)
		rig_inject(&p.r, p.flow.rx_seq + i, 100);
	ASSERT(WAIT_FOR(3000, have_come(10, &there)));
	waits = rig_counter(&p.r, "kvnet.rx.no_buf");
	packet_attach(&p, p.r.tap);
	/* by then it has dequeued them all, and found no buffer */
	ASSERT(WAIT_FOR(3000, rig_counter(&p.r, "kvnet.rx.no_buf") > waits));
	ASSERT_EQ(pthread_create(&thread, NULL, wait_for_frame, NULL), 0);
	ASSERT(WAIT_FOR(3000, reader_waits()));
	EXPECT(!readable);
	rig_stop(&p.r);
	ASSERT(WAIT_FOR(3000, __atomic_load_n(&readable, __ATOMIC_ACQUIRE)));
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

static void join_fanout(int fd)
{
	int how = PACKET_FANOUT_ROLLOVER << 16 | 1, size = 16384;

	ASSERT_SYS(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	ASSERT_SYS(setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &how, sizeof(how)));
}

/* Two sockets share the frames: one that was full gets frames again when it is not. */
CASE(fanout_socket_emptied_gets_frames_again)
{
	static uint8_t f[FRAME_MAX];
	unsigned int i, n = 0;
	int other;

	packet_open(&p, &packet_bare);
	flow_stop_empty(&p.flow);
	other = packet_backend(&p, p.near, &packet_bare);
	p.r.ifindex = p.far;
	join_fanout(other);	/* the first to get any */
	join_fanout(p.r.tap);
	packet_attach(&p, p.r.tap);
	for (i = 0; i < 200; i++)
		rig_inject(&p.r, i, 300);
	rig_rx_post(&p.r, 200, NULL);
	vdev_kick_always(&p.r.v.q[VDEV_RX]);
	do {
		while (rig_rx(&p.r, NULL, f, sizeof(f), n ? 100 : 3000) >= 0)
			n++;
		wait_worker_idle();
	} while (gr_used_pending(&p.r.v.q[VDEV_RX].ring));
	EXPECT_OP(n, >, 0);
	EXPECT_OP(n, <, 190);
	for (i = 200; i < 205 && !ksft_failed(); i++) {
		rig_inject(&p.r, i, 300);
		rig_rx_expect(&p.r, i, 300);
	}
	close(other);
}

/* From a tap to a socket and back, as a VMM may do between two guests. */
CASE(socket_and_tap_exchanged_pass_frames)
{
	struct rig other;
	unsigned int i;
	int fd, bare_tap;

	packet_open(&p, &packet_bare);
	other = (struct rig){ .v.hdr_len = 12 };
	bare_tap = rig_tap_new(&other, TAP_BARE);
	fd = dup(p.r.tap);
	for (i = 0; i < 6 && !ksft_failed(); i++) {
		flow_swap(&p.r, dup(i % 2 ? fd : bare_tap),
			  i % 2 ? p.far : other.ifindex);
		packet_attach(&p, p.r.tap);
		flow_settled(&p.flow);
	}
}

KSFT_MAIN()
