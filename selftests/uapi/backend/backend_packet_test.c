// SPDX-License-Identifier: GPL-2.0
/*
 * A packet socket as backend: frames of all kinds both ways, compared.
 *
 * @hosts: 6.1
 * @debug: kmsan
 * @seconds: 10
 * @skip: .*-6\.1 | .*: PACKET_VNET_HDR_SZ .* | kernels from 6.6 on have it
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

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

CASE_TIMED(without_header, 40)
{
	both_ways(&hows[0]);
	both_ways(&hows[1]);
	both_ways(&hows[2]);
}

CASE_TIMED(with_the_sockets_own_header, 40)
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

/* Mergeable: over several buffers.  Otherwise: dropped, and the next one comes */
CASE(frames_longer_than_a_buffer)
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

/* The socket's own device is a tap, where tags can be seen in the frames. */
CASE(vlan_tags)
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

CASE(segments_and_checksums_by_the_sockets_header)
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

/* Where a checksum begins is told as of the frame that the guest gets, tag and all. */
CASE(tag_before_a_checksum)
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

/* Those that the device has in its hands go back to the front of the queue. */
CASE(frames_without_buffers_survive_a_stop)
{
	uint32_t round, i, seq, got;

	packet_open(&p, &(struct packet_how){ F_V1 | F_NETHDR });
	flow_stop_empty(&p.flow);
	seq = got = p.flow.rx_seq;
	for (round = 0; round < 10 && !ksft_failed(); round++) {
		packet_attach(&p, p.r.tap);
		rig_rx_post(&p.r, 2, NULL);
		vdev_kick(&p.r.v.q[VDEV_RX]);
		for (i = 0; i < 50; i++)
			rig_inject(&p.r, seq++, 300);
		rig_rx_expect(&p.r, got++, 300);
		rig_rx_expect(&p.r, got++, 300);
		rig_stop(&p.r);
		packet_attach(&p, p.r.tap);
		rig_rx_post(&p.r, 48, NULL);
		vdev_kick(&p.r.v.q[VDEV_RX]);
		while (got < seq && rig_rx_expect(&p.r, got, 300))
			got++;
		rig_stop(&p.r);
	}
}

/*
 * With the offloads of a UDP tunnel the header is longer than a socket's: what no frame
 * of these has a use for is zero, and no byte of the kernel's.
 */
CASE(header_of_a_tunnel)
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
 * A frame that comes when the last look at the socket has found none, and its queue does not
 * rest yet: it stands still while it tells the driver of the frame before.
 */
CASE(frame_between_the_last_check_and_idle)
{
	struct vdev_queue *q = &p.r.v.q[VDEV_RX];
	unsigned int base = 600;	/* whose used entry is in the second page of them */
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

/* One frame each way, after which nobody has anything to do. */
static void single_frames(unsigned int n)
{
	static uint32_t seq = 5000;
	struct rig *r = &p.r;
	uint32_t at;

	for (; n-- && !ksft_failed(); seq++) {
		/* unless the device has all of them */
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

/* Who reads such a socket polls its device, and is no softirq. */
CASE_TIMED(busy_polling_is_the_workers, 40)
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

KSFT_MAIN()
