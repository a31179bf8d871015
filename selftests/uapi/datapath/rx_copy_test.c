// SPDX-License-Identifier: GPL-2.0
/*
 * Frames are copied out of a tap's ring, or read by calls of the tap
 * (rx_direct=0). Neither the guest nor the tap's statistics can tell which.
 *
 * @debug: kmsan
 * @seconds: 9
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"
#include "links.h"
#include "procfs.h"

#define PARAMETER	"/sys/module/kvnet/parameters/rx_direct"
#define HEADERS		(14 + 20 + 20)	/* Ethernet, IPv4, TCP */
#define FRAMES		40
#define OFFLOADS	(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)

enum kind { PLAIN, CSUM, GSO, KINDS };

/* What came of a burst. */
struct outcome {
	unsigned int n;		/* packets */
	size_t len;		/* bytes in log */
	uint8_t *log;		/* each packet's length, header and data */
	struct link_sent tap;
	long calls;
};

static struct rig rig;
static uint8_t frame[FRAME_MAX + 64];
static char parameter[2];

static void set_copy(bool on)
{
	int fd = open(PARAMETER, O_WRONLY);

	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, on ? "1" : "0", 1), 1);
	close(fd);
}

static void restore(void)
{
	set_copy(parameter[0] == 'Y');
}

static void need_parameter(void)
{
	int fd = open(PARAMETER, O_RDONLY);

	if (fd < 0 || vdev_is_vhost())
		ksft_skip("no " PARAMETER);
	ASSERT_EQ(read(fd, parameter, 1), 1);
	close(fd);
	atexit(restore);
}

/* Only what a segmenter looks at is right. */
static void make_segments(uint8_t *f, uint32_t seq, uint32_t len)
{
	uint32_t i;

	memset(f, 0, HEADERS);
	memcpy(f, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0\x45", 15);
	f[16] = (len - 14) >> 8;
	f[17] = len - 14;
	f[22] = 64;
	f[23] = IPPROTO_TCP;
	f[26] = f[30] = 192;
	f[46] = 5 << 4;
	for (i = HEADERS; i < len; i++)
		f[i] = seq + i;
}

static void send_one(int fd, enum kind kind, uint32_t seq, uint32_t len)
{
	struct virtio_net_hdr h = { 0 };

	if (kind == GSO) {
		make_segments(frame + sizeof(h), seq, len);
		h.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
		h.gso_size = 1000;
		h.hdr_len = HEADERS;
		h.csum_start = 34;
		h.csum_offset = 16;
	} else {
		frame_make(frame + sizeof(h), seq, len);
		h.csum_start = 40;
		h.csum_offset = seq % 10;
	}
	h.flags = kind == PLAIN ? 0 : VIRTIO_NET_HDR_F_NEEDS_CSUM;
	memcpy(frame, &h, sizeof(h));
	ASSERT_EQ(send(fd, frame, len + sizeof(h), 0), len + sizeof(h));
}

/* Of each kind, or of all of them, some; in any order, but the same each time. */
static void send_burst(int fd, enum kind kind)
{
	static const uint32_t len[] = { 60, 26, 1514, 255, 256, 257, 64, 9000 };
	unsigned int i;
	enum kind k;
	uint32_t n;

	for (i = 0; i < FRAMES; i++) {
		k = kind == KINDS ? i * 7 / 3 % KINDS : kind;
		n = len[i * 5 % 8];
		if (k == CSUM && n < 60)	/* no room for a checksum */
			n = 61;
		send_one(fd, k, i, k == GSO ? 3000 + 500 * i : n);
	}
}

static void add(struct outcome *o, const void *p, size_t len)
{
	o->log = realloc(o->log, o->len + len);
	ASSERT(o->log);
	memcpy(o->log + o->len, p, len);
	o->len += len;
}

static bool more_comes(void)
{
	const struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;
	struct pollfd tap = { .fd = rig.tap, .events = POLLIN };

	if (gr_used_pending(ring))
		return true;
	wait_worker_idle();
	return gr_used_pending(ring) || poll(&tap, 1, 0);
}

/* The frames wait for buffers, then all go in one turn, or few. */
static struct outcome receive_burst(const struct rig_cfg *cfg, bool copy,
				    enum kind kind)
{
	static uint8_t got[FRAME_MAX + 64];
	struct outcome o = { 0 };
	uint8_t hdr[24] = { 0 };
	struct link_sent before;
	ssize_t n;
	int fd;

	set_copy(copy);
	rig_open(&rig, cfg);
	if (!(cfg->tap & TAP_BARE))
		ASSERT_SYS(ioctl(rig.tap, TUNSETOFFLOAD, OFFLOADS));
	fd = rig_packet_socket(&rig, 0, true);
	before = link_sent(rig.name);
	send_burst(fd, kind);
	rig_rx_post(&rig, rig.cfg.bufs, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	while (o.n < FRAMES || more_comes()) {
		n = rig_rx(&rig, hdr, got, sizeof(got), 3000);
		if (n <= 0)
			break;
		add(&o, &n, sizeof(n));
		add(&o, hdr, rig.v.hdr_len);
		add(&o, got, n);
		o.n++;
		rig_rx_post(&rig, rig.cfg.bufs, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
	}
	o.tap = link_sent(rig.name);
	o.tap.packets -= before.packets;
	o.tap.bytes -= before.bytes;
	o.calls = rig_counter(&rig, "kvnet.rx.packets_recvmsg");
	close(fd);
	rig_close(&rig);
	return o;
}

static void same(const struct rig_cfg *cfg, enum kind kind)
{
	struct outcome call = receive_burst(cfg, false, kind);
	struct outcome copy = receive_burst(cfg, true, kind);

	EXPECT_GE(call.n, FRAMES);
	EXPECT_EQ(copy.n, call.n);
	EXPECT(copy.len == call.len && !memcmp(copy.log, call.log, call.len));
	EXPECT_EQ(call.tap.packets, call.n);
	EXPECT_EQ(copy.tap.packets, call.n);
	EXPECT_EQ(copy.tap.bytes, call.tap.bytes);
	EXPECT_EQ(call.calls, call.n);
	if (kind == PLAIN || kind == CSUM)
		EXPECT_LE(copy.calls, call.n / 2);
	/* what headers of segments can say differs between kernels: the tap's business */
	if (kind == GSO && !(cfg->tap & TAP_BARE))
		EXPECT_EQ(copy.calls, call.n);
	free(call.log);
	free(copy.log);
}

static void all_kinds(const struct rig_cfg *cfg)
{
	enum kind kind;

	for (kind = PLAIN; kind <= KINDS && !ksft_failed(); kind++)
		same(cfg, kind);
}

/* One of a kind for itself, and all of them in a burst. */
static void some_kinds(const struct rig_cfg *cfg)
{
	same(cfg, PLAIN);
	same(cfg, KINDS);
}

CASE_TIMED(same_in_large_buffers, 40)
{
	need_parameter();
	all_kinds(&(struct rig_cfg){ .rx_buf = 66000, .bufs = 64 });
}

CASE_TIMED(same_in_buffers_of_a_page, 40)
{
	need_parameter();
	some_kinds(&(struct rig_cfg){ .rx_buf = 4096, .num = 1024 });
}

CASE_TIMED(same_in_small_buffers, 40)
{
	need_parameter();
	all_kinds(&(struct rig_cfg){ .rx_buf = 300, .num = 1024 });
	same(&(struct rig_cfg){ .rx_buf = 100, .num = 1024 }, PLAIN);
	same(&(struct rig_cfg){ .rx_buf = 100, .num = 1024 }, CSUM);
}

CASE_TIMED(same_without_mergeable_buffers, 40)
{
	need_parameter();
	some_kinds(&(struct rig_cfg){ .rx_buf = 66000, .bufs = 64,
				      .features = F_V1 });
	some_kinds(&(struct rig_cfg){ .rx_buf = 66000, .bufs = 64, .features =
				     BIT64(VIRTIO_F_NOTIFY_ON_EMPTY) });
}

CASE_TIMED(same_without_headers, 40)
{
	need_parameter();
	some_kinds(&(struct rig_cfg){ .rx_buf = 4096, .tap = TAP_BARE,
				      .features = F_V1 | F_MRG | F_NETHDR });
	some_kinds(&(struct rig_cfg){ .rx_buf = 66000, .bufs = 64,
		.tap = TAP_BARE, .features = F_V1 | F_NETHDR });
}

/* In a buffer that is not from the pool. */
static void comes_in_it(struct vdev_queue *q, uint32_t seq, uint32_t len)
{
	struct gr_done d;

	ASSERT(WAIT_FOR(3000, gr_used_pending(&q->ring)));
	ASSERT_EQ(gr_get_used(&q->ring, &d), 1);
	EXPECT_EQ(d.len, rig.v.hdr_len + len);
	frame_check((uint8_t *)d.token + rig.v.hdr_len, len, seq, len);
}

/* A lone frame has a turn of its own, and the tap need not be asked in each. */
CASE(single_frames_are_copied)
{
	unsigned int i;
	long calls;

	need_parameter();
	set_copy(true);
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_rx_post(&rig, 128, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (i = 0; i < 100 && !ksft_failed(); i++) {
		rig_inject(&rig, i, 60);
		rig_rx_expect(&rig, i, 60);
	}
	calls = rig_counter(&rig, "kvnet.rx.packets_recvmsg");
	EXPECT_GE(calls, 1);
	EXPECT_LE(calls, 50);
	rig_close(&rig);
}

/* The host's own address on the tap, and one neighbour there, the guest. */
static void speak_ip(in_addr_t host, in_addr_t guest)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { host } };
	struct arpreq arp = { .arp_flags = ATF_PERM | ATF_COM };
	struct ifreq ifr = { 0 };
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	memcpy(ifr.ifr_name, rig.name, sizeof(rig.name));
	memcpy(&ifr.ifr_addr, &in, sizeof(in));
	ASSERT_SYS(ioctl(fd, SIOCSIFADDR, &ifr));
	in.sin_addr.s_addr = guest;
	memcpy(&arp.arp_pa, &in, sizeof(in));
	arp.arp_ha.sa_family = ARPHRD_ETHER;
	memcpy(arp.arp_ha.sa_data, "\x02\0\0\0\0\1", 6);
	memcpy(arp.arp_dev, rig.name, sizeof(rig.name));
	ASSERT_SYS(ioctl(fd, SIOCSARP, &arp));
	close(fd);
}

/* A file's pages travel as they are, however short what is sent of them. */
CASE(short_frames_of_pages)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9),
				  .sin_addr = { htonl(0xc0000202) } };
	int file = ASSERT_SYS(memfd_create("pages", MFD_CLOEXEC)), fd;
	uint8_t text[150], got[2048];
	ssize_t n;
	off_t at;
	size_t i;

	need_parameter();
	for (i = 0; i < sizeof(text); i++)
		text[i] = i * 7 + 1;
	ASSERT_EQ(write(file, text, sizeof(text)), sizeof(text));
	set_copy(true);
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	ASSERT_SYS(ioctl(rig.tap, TUNSETOFFLOAD, OFFLOADS));
	speak_ip(htonl(0xc0000201), to.sin_addr.s_addr);
	fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	ASSERT_SYS(connect(fd, (struct sockaddr *)&to, sizeof(to)));
	for (i = 0; i < 20; i++) {
		at = 0;
		ASSERT_EQ(sendfile(fd, file, &at, sizeof(text)), sizeof(text));
	}
	rig_rx_post(&rig, 20, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		n = rig_rx(&rig, NULL, got, sizeof(got), 3000);
		ASSERT_EQ(n, 14 + 20 + 8 + sizeof(text));
		EXPECT(!memcmp(got + n - sizeof(text), text, sizeof(text)));
	}
	EXPECT_LE(rig_counter(&rig, "kvnet.rx.packets_recvmsg"), 10);
	close(fd);
	close(file);
	rig_close(&rig);
}

#define MANY	30

/* In one turn, of a legacy driver that is big-endian; what is in its buffers then. */
static uint8_t *other_byte_order(bool copy, long *calls)
{
	struct vhost_vring_state s = { VDEV_RX, VHOST_VRING_BIG_ENDIAN };
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	const size_t size = MANY * 2048;
	uint8_t *got = malloc(size);
	struct vring_used *used;
	unsigned int i;
	int fd;

	set_copy(copy);
	rig_open(&rig, &(struct rig_cfg){ .features = F_MRG, .num = 64, .bufs = MANY,
					  .rx_buf = 2048, .stopped = true });
	ASSERT_SYS(ioctl(rig.tap, TUNSETOFFLOAD, OFFLOADS));
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ENDIAN, &s);
	fd = rig_packet_socket(&rig, 0, true);
	for (i = 0; i < MANY; i++)
		send_one(fd, i % 3 ? CSUM : PLAIN, i, 100 + 20 * i);
	ASSERT_EQ(rig_rx_post(&rig, MANY, NULL), MANY);
	rig_swap_ring(&rig, VDEV_RX);
	used = q->ring.cfg.used;
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	ASSERT(WAIT_FOR(3000, __atomic_load_n(&used->idx, __ATOMIC_ACQUIRE) ==
			__builtin_bswap16(MANY)));
	ASSERT(got);
	memcpy(got, q->bufs, size);
	*calls = rig_counter(&rig, "kvnet.rx.packets_recvmsg");
	close(fd);
	rig_close(&rig);
	return got;
}

/* Of one kind of frames the tap's header is ours, of the other it is not. */
CASE(same_in_the_other_byte_order)
{
	uint8_t *call, *copy;
	long calls;

	need_parameter();
	call = other_byte_order(false, &calls);
	EXPECT_EQ(calls, MANY);
	copy = other_byte_order(true, &calls);
	EXPECT_LE(calls, MANY - 5);
	EXPECT(!memcmp(call, copy, MANY * 2048));
	free(call);
	free(copy);
}

/* Those that are still taken for what they were come as they would have. */
static unsigned int come_or_are_dropped(unsigned int n)
{
	struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;
	unsigned int came = 0;

	while (!ksft_failed()) {
		EXPECT(WAIT_FOR(3000, gr_used_pending(ring) ||
				rig_counter(&rig, "kvnet.rx.drop_tap") == n - came));
		if (!gr_used_pending(ring))
			break;
		rig_rx_expect(&rig, 2, 60);
		came++;
	}
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_tap"), n - came);
	return came;
}

/* Frames that wait are read as the tap is set up by then, or was just before. */
CASE(header_changes_while_frames_wait)
{
	static const int size[] = { 10, 24 };
	unsigned int i, way, came;
	int right;

	need_parameter();
	for (way = 0; way < 4; way++) {
		set_copy(way % 2);
		rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
		right = rig.v.hdr_len;
		rig_rx_post(&rig, 2, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		/* taken out of the tap's ring with the two that come through */
		rig_inject(&rig, 0, 60);
		rig_inject(&rig, 1, 60);
		for (i = 0; i < 8; i++)
			rig_inject(&rig, 2, 60);
		rig_rx_expect(&rig, 0, 60);
		rig_rx_expect(&rig, 1, 60);
		ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size[way / 2]));
		rig_rx_post(&rig, 64, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		came = come_or_are_dropped(8);
		EXPECT(way % 2 || !came);
		ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &right));
		rig_inject(&rig, 3, 60);
		rig_rx_expect(&rig, 3, 60);
		rig_close(&rig);
	}
}

/*
 * A device is deleted while the queue holds frames of it, which go back to the
 * ring; the descriptor then gets another device.
 */
CASE(frames_older_than_the_device)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	struct link_sent c;
	unsigned int i;

	need_parameter();
	set_copy(true);
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_rx_post(&rig, 1, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (i = 0; i < 8; i++)
		rig_inject(&rig, i, 60);
	rig_rx_expect(&rig, 0, 60);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	rig_stop(&rig);
	strcpy(ifr.ifr_name, "uapi%d");
	ASSERT_SYS(ioctl(rig.tap, TUNSETIFF, &ifr));
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &rig.v.hdr_len));
	memcpy(rig.name, ifr.ifr_name, sizeof(rig.name));
	rig.ifindex = if_nametoindex(rig.name);
	rig_link(&rig, true);
	flow_sockets(&rig, rig.ifindex);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	rig_rx_post(&rig, 128, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	/* whether or not those before come through */
	for (i = 1; i < 8 && WAIT_FOR(100, gr_used_pending(
	     &rig.v.q[VDEV_RX].ring)); i++)
		rig_rx_expect(&rig, i, 60);
	c = link_sent(rig.name);
	for (i = 0; i < 20; i++) {
		rig_inject(&rig, 100 + i, 300);
		rig_rx_expect(&rig, 100 + i, 300);
	}
	EXPECT_EQ(link_sent(rig.name).packets - c.packets, 20);
	EXPECT_EQ(link_sent(rig.name).bytes - c.bytes, 20 * 300);
}

/* The buffer ends in a page that is not there: the frame is lost, by both ways. */
CASE(buffer_that_cannot_be_written)
{
	static const uint32_t len[] = { 200, 1400, 3000 };
	struct gr_buf b = { .write = true };
	unsigned int i, way;
	uint8_t *page, *theirs;

	need_parameter();
	for (i = 0; i < 6 && !ksft_failed(); i++) {
		struct vdev_queue *q = &rig.v.q[VDEV_RX];

		way = i % 2;
		set_copy(way);
		rig_open(&rig, &(struct rig_cfg){ .features = F_V1, .bufs = 8,
						  .rx_buf = 4 * 4096 });
		page = rig.v.mem + (q->bufs - rig.v.mem + 8191) / 4096 * 4096;
		theirs = rig.v.host + (page - rig.v.mem);
		b.ptr = page - 100;
		b.len = 4100;
		ASSERT_SYS(mprotect(theirs, 4096, PROT_NONE));
		ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, b.ptr) >= 0);
		vdev_kick_always(q);
		rig_inject(&rig, 0, len[i / 2]);
		rig_inject(&rig, 1, 60);
		ASSERT(WAIT_FOR(3000, rig_counter(&rig,
				"kvnet.rx.drop_fault") == 1));
		/* the buffer serves for one that does not go so far */
		comes_in_it(q, 1, 60);
		rig_close(&rig);
	}
}

KSFT_MAIN()
