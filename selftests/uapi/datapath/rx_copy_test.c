// SPDX-License-Identifier: GPL-2.0
/*
 * Frames are copied out of a tap's ring, or read by calls of the tap (rx_direct=0).  Neither
 * the guest nor the statistics of the tap's device can tell which.
 *
 * @debug: kmsan
 * @seconds: 12
 */
#include <arpa/inet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/sendfile.h>

#include "flow.h"
#include "links.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "segments.h"
#include "xdp.h"

#define FRAMES		40
#define OFFLOADS	(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)

enum kind { PLAIN, CSUM, GSO, KINDS };

/* What a burst brought. */
struct outcome {
	unsigned int n;		/* packets */
	size_t len;		/* bytes in log */
	uint8_t *log;		/* each packet's length, header and data */
	struct link_sent tap;
	long calls;
};

static struct rig rig;
static uint8_t frame[FRAME_MAX + 64];

static void set_copy(bool on)
{
	vdev_parameter("rx_direct", on ? 'Y' : 'N');
}

static void need_kvnet(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net has no rx_direct");
}

static void send_one(int fd, enum kind kind, uint32_t seq, uint32_t len)
{
	struct virtio_net_hdr h = { 0 };

	if (kind == GSO) {
		tcp_frame(frame + sizeof(h), len - TCP_HEADERS, seq);
		h = tcp_offload(1000);
	} else {
		frame_make(frame + sizeof(h), seq, len);
		h.csum_start = 40;
		h.csum_offset = seq % 10;
	}
	h.flags = kind == PLAIN ? 0 : VIRTIO_NET_HDR_F_NEEDS_CSUM;
	memcpy(frame, &h, sizeof(h));
	ASSERT_EQ(send(fd, frame, len + sizeof(h), 0), len + sizeof(h));
}

/* Frames of one kind, or of all (KINDS), in a fixed order. */
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

/* The frames wait for buffers, then go in one poll, or few. */
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
	rig_offer(&rig, rig.cfg.bufs);
	while (o.n < FRAMES || more_comes()) {
		n = rig_rx(&rig, hdr, got, sizeof(got), 3000);
		if (n <= 0)
			break;
		add(&o, &n, sizeof(n));
		add(&o, hdr, rig.v.hdr_len);
		add(&o, got, n);
		o.n++;
		rig_offer(&rig, rig.cfg.bufs);
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
	struct outcome call, copy;

	ksft_note("frames of kind %u, buffers of %u bytes, features %llx", kind, cfg->rx_buf,
		  (unsigned long long)cfg->features);
	call = receive_burst(cfg, false, kind);
	copy = receive_burst(cfg, true, kind);
	EXPECT_GE(call.n, FRAMES);
	EXPECT_EQ(copy.n, call.n);
	EXPECT(copy.len == call.len && !memcmp(copy.log, call.log, call.len));
	EXPECT_EQ(call.tap.packets, call.n);
	EXPECT_EQ(copy.tap.packets, call.n);
	EXPECT_EQ(copy.tap.bytes, call.tap.bytes);
	EXPECT_EQ(call.calls, call.n);
	if (kind < KINDS)
		EXPECT_LE(copy.calls, call.n / 2);
	free(call.log);
	free(copy.log);
}

#define SOME	(1 << PLAIN | 1 << KINDS)
#define ALL	(SOME | 1 << CSUM | 1 << GSO)

CASE_TIMED(direct_equals_recvmsg, 120)
{
	static const struct {
		struct rig_cfg cfg;
		unsigned int kinds;
	} ways[] = {
		{ { .rx_buf = 66000, .bufs = 64 }, ALL },
		{ { .rx_buf = 4096, .num = 1024 }, SOME },
		{ { .rx_buf = 300, .num = 1024 }, ALL },
		{ { .rx_buf = 100, .num = 1024 }, 1 << PLAIN | 1 << CSUM },
		{ { .rx_buf = 66000, .bufs = 64, .features = F_V1 }, SOME },
		{ { .rx_buf = 66000, .bufs = 64,
		    .features = BIT64(VIRTIO_F_NOTIFY_ON_EMPTY) }, SOME },
		{ { .rx_buf = 4096, .tap = TAP_BARE,
		    .features = F_V1 | F_MRG | F_NETHDR }, SOME },
		{ { .rx_buf = 66000, .bufs = 64, .tap = TAP_BARE,
		    .features = F_V1 | F_NETHDR }, SOME },
	};
	enum kind kind;
	size_t i;

	need_kvnet();
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (kind = PLAIN; kind <= KINDS && !ksft_failed(); kind++)
			if (ways[i].kinds & 1 << kind)
				same(&ways[i].cfg, kind);
}

/* A frame arrives in a buffer that is not from the pool. */
static void comes_in_it(struct vdev_queue *q, uint32_t seq, uint32_t len)
{
	struct gr_done d;

	ASSERT(WAIT_FOR(3000, gr_used_pending(&q->ring)));
	ASSERT_EQ(gr_get_used(&q->ring, &d), 1);
	EXPECT_EQ(d.len, rig.v.hdr_len + len);
	frame_check((uint8_t *)d.token + rig.v.hdr_len, len, seq, len);
}

/* A single frame has a poll of its own, and most of these need no recvmsg(). */
CASE(single_frames_are_direct)
{
	unsigned int i;
	long calls;

	need_kvnet();
	set_copy(true);
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_offer(&rig, 128);
	for (i = 0; i < 100 && !ksft_failed(); i++) {
		rig_inject(&rig, i, 60);
		rig_rx_expect(&rig, i, 60);
	}
	calls = rig_counter(&rig, "kvnet.rx.packets_recvmsg");
	EXPECT_GE(calls, 1);
	EXPECT_LE(calls, 50);
	rig_close(&rig);
}

/* Gives the host an address on the tap, and one neighbour there, the guest. */
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

/* sendfile() puts a file's pages into the frame, however short it is. */
CASE(short_frames_of_file_pages_are_direct)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9),
				  .sin_addr = { htonl(0xc0000202) } };
	int file = ASSERT_SYS(memfd_create("pages", MFD_CLOEXEC)), fd;
	uint8_t text[150], got[2048];
	ssize_t n;
	off_t at;
	size_t i;

	need_kvnet();
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
	rig_offer(&rig, 20);
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

/*** XDP frames, which another tap's program redirects ***/

static struct rig other;

static void redirect_from(const struct rig *from)
{
	int ret = xdp_redirect(from->ifindex, rig.ifindex);

	if (ret)
		ksft_skip("no XDP: %s", strerror(-ret));
}

static const uint32_t redirected_len[] = { 60, 255, 256, 257, 1000, 1514 };

/* The other guest sends @n frames, which wait for buffers and then go in few polls. */
static void redirect_burst(unsigned int n)
{
	const uint32_t *len = redirected_len;
	uint32_t seq = other.tx_seq;
	unsigned int i;

	for (i = 0; i < n; i++)
		ASSERT_EQ(rig_tx(&other, len[(seq + i) % 6], NULL), 0);
	vdev_kick(&other.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&other, 3000));
	rig_offer(&rig, rig.cfg.bufs);
	for (i = 0; i < n && !ksft_failed(); i++)
		rig_rx_expect(&rig, seq + i, len[(seq + i) % 6]);
}

static void redirect_open(const struct rig_cfg *cfg, bool copy)
{
	need_kvnet();
	set_copy(copy);
	other = (struct rig){ 0 };
	rig_open(&rig, cfg);
	rig_open(&other, &(struct rig_cfg){ .here = true });
	redirect_from(&other);
}

#define REDIRECTED	60

static unsigned int redirected_bytes(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < REDIRECTED; i++)
		sum += redirected_len[i % 6];
	return sum;
}

/* The tap's device counts the header with each frame. */
static void redirected(const struct rig_cfg *cfg, bool copy)
{
	struct link_sent c;
	unsigned int i;
	long calls;

	redirect_open(cfg, copy);
	for (i = 0; i < 4 && !ksft_failed(); i++)
		redirect_burst(REDIRECTED / 4);
	c = link_sent(rig.name);
	calls = rig_counter(&rig, "kvnet.rx.packets_recvmsg");
	EXPECT_EQ(c.packets, REDIRECTED);
	EXPECT_EQ(c.bytes, redirected_bytes() + REDIRECTED * rig.v.hdr_len);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.packets"), REDIRECTED);
	if (copy)
		EXPECT_LE(calls, REDIRECTED / 4);
	else
		EXPECT_EQ(calls, REDIRECTED);
	rig_close(&other);
	rig_close(&rig);
}

static void redirected_same(const struct rig_cfg *cfg)
{
	redirected(cfg, false);
	redirected(cfg, true);
}

CASE_TIMED(redirected_frames_are_direct, 40)
{
	redirected_same(&(struct rig_cfg){ .rx_buf = 2048, .num = 256, .bufs = 64 });
	redirected_same(&(struct rig_cfg){ .rx_buf = 300, .num = 1024 });
	redirected_same(&(struct rig_cfg){ .rx_buf = 2048, .bufs = 64, .features = F_V1 });
}

/* Bytes that a program may put in front of a frame of kvnet, so that less is left than a header takes. */
#define PUSHED	344

/* bpf_xdp_adjust_head(ctx, -push); bpf_redirect(rig.ifindex, 0) */
static int load_pushed(int push)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = -push },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_xdp_adjust_head },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = rig.ifindex },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int program = xdp_load(code, sizeof(code) / sizeof(code[0]));

	if (program < 0)
		ksft_skip("no XDP: %s", strerror(-program));
	return program;
}

static void redirect_pushed(int push)
{
	int program = load_pushed(push);

	ASSERT_EQ(xdp_attach(other.ifindex, program), 0);
	close(program);
}

/* @push more bytes lie in front of each frame, and a header that asks for nothing. */
static void redirect_pushed_burst(unsigned int push)
{
	const uint8_t zero[10] = { 0 };
	uint32_t seq = other.tx_seq;
	uint8_t hdr[12];
	unsigned int i;
	ssize_t n;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(rig_tx(&other, redirected_len[i], NULL), 0);
	vdev_kick(&other.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&other, 3000));
	rig_offer(&rig, rig.cfg.bufs);
	for (i = 0; i < 5; i++) {
		n = rig_rx(&rig, hdr, frame, sizeof(frame), 3000);
		ASSERT_EQ(n, redirected_len[i] + push);
		EXPECT_EQ(memcmp(hdr, zero, sizeof(zero)), 0);
		EXPECT(frame_check(frame + push, n - push, seq + i, redirected_len[i]));
	}
}

CASE(redirected_frames_without_headroom_arrive_whole)
{
	long calls;

	redirect_open(&(struct rig_cfg){ .rx_buf = 2048, .num = 256, .bufs = 64 }, true);
	redirect_burst(6);
	calls = rig_counter(&rig, "kvnet.rx.packets_recvmsg");
	redirect_pushed(PUSHED);
	redirect_pushed_burst(PUSHED);
	/* The kernel refuses to put so many there: it has less room than that. */
	redirect_pushed(PUSHED + rig.v.hdr_len);
	redirect_pushed_burst(0);
	/* A header is probed again after 100 ms. */
	EXPECT_LE(rig_counter(&rig, "kvnet.rx.packets_recvmsg") - calls, 4);
	rig_close(&other);
	rig_close(&rig);
}

#define POOL_RUNS	98

/* The kernel makes @n frames of it, in pages of a pool of their own, and has them redirected. */
static void run_redirect(int program, const void *data, size_t len, unsigned int n)
{
	union bpf_attr attr = { .test = {
		.prog_fd = program,
		.data_in = (uintptr_t)data,
		.data_size_in = len,
		.repeat = n,
		.batch_size = n,
		.flags = BPF_F_TEST_XDP_LIVE_FRAMES,
	} };

	ASSERT_SYS(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)));
}

/* 48 MiB would be missing; what KASAN keeps of freed memory is less than 32. */
CASE(redirected_frames_go_back_to_their_page_pool)
{
	unsigned int i, n, len, bufs;
	long before = 0;
	int program;

	need_kvnet();
	set_copy(true);
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048, .num = 256, .bufs = 128 });
	bufs = rig.cfg.bufs;
	program = load_pushed(0);
	for (n = 0; n < POOL_RUNS; n++) {
		if (n == 2)
			before = memory_available_kb();
		len = redirected_len[n % 6];
		frame_make(frame, n, len);
		run_redirect(program, frame, len, bufs);
		rig_offer(&rig, bufs);
		for (i = 0; i < bufs; i++)
			ASSERT(rig_rx_expect(&rig, n, len));
	}
	EXPECT_LE(memory_taken_kb(before, 32768), 32768);
	EXPECT_LE(rig_counter(&rig, "kvnet.rx.packets_recvmsg"), POOL_RUNS);
	close(program);
	rig_close(&rig);
}

/* The tap makes another header than the guest's: its frames are dropped, also those that wait. */
CASE(redirected_frames_with_other_header_are_dropped)
{
	const int size = 24;
	unsigned int i;

	redirect_open(&(struct rig_cfg){ .rx_buf = 2048, .num = 256, .bufs = 64 }, true);
	redirect_burst(8);
	rig_stop(&rig);
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size));
	rig_start(&rig);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(rig_tx(&other, 60, NULL), 0);
	vdev_kick(&other.v.q[VDEV_TX]);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.drop_tap") == 8));
	EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
	ASSERT(rig_tx_drain(&other, 3000));
	rig_close(&other);
	rig_close(&rig);
}

#define MANY	30

/* A burst for a big-endian legacy driver, in one poll; returns what is in its buffers. */
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

/* The device makes the header of plain frames, the tap that of the others. */
CASE(direct_big_endian_equals_recvmsg)
{
	uint8_t *call, *copy;
	long calls;

	need_kvnet();
	call = other_byte_order(false, &calls);
	EXPECT_EQ(calls, MANY);
	copy = other_byte_order(true, &calls);
	EXPECT_LE(calls, MANY - 5);
	EXPECT(!memcmp(call, copy, MANY * 2048));
	free(call);
	free(copy);
}

/* Frames read with the old header size arrive, the others are dropped. Returns how many arrived. */
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

/* Waiting frames are read with the header size that the tap has by then, or had just before. */
CASE(header_size_change_applies_to_waiting_frames)
{
	static const int size[] = { 10, 24 };
	unsigned int i, way, came;
	int right;

	need_kvnet();
	for (way = 0; way < 4; way++) {
		set_copy(way % 2);
		rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
		right = rig.v.hdr_len;
		rig_offer(&rig, 2);
		/* taken out of the tap's ring with the two that arrive */
		rig_inject(&rig, 0, 60);
		rig_inject(&rig, 1, 60);
		for (i = 0; i < 8; i++)
			rig_inject(&rig, 2, 60);
		rig_rx_expect(&rig, 0, 60);
		rig_rx_expect(&rig, 1, 60);
		ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size[way / 2]));
		rig_offer(&rig, 64);
		came = come_or_are_dropped(8);
		EXPECT(way % 2 || !came);
		ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &right));
		rig_inject(&rig, 3, 60);
		rig_rx_expect(&rig, 3, 60);
		rig_close(&rig);
	}
}

/* The buffer ends in a page that cannot be written: the frame is dropped, either way. */
CASE(unwritable_buffer_drops_frame)
{
	static const uint32_t len[] = { 200, 1400, 3000 };
	struct gr_buf b = { .write = true };
	unsigned int i, way;
	uint8_t *page, *theirs;

	need_kvnet();
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
		/* the buffer serves for a frame that ends before that page */
		comes_in_it(q, 1, 60);
		rig_close(&rig);
	}
}

/*** the tap's device, which may change under frames that are on their way ***/

#define DEVICE_LEN	200
#define HELD	10	/* frames; all of them and as many again find buffers */

static unsigned long sent(void)
{
	return link_sent(rig.name).packets;
}

static long recvmsg_calls(void)
{
	return rig_counter(&rig, "kvnet.rx.packets_recvmsg");
}

static void inject(unsigned int n, uint32_t seq)
{
	for (; n; n--)
		rig_inject(&rig, seq++, DEVICE_LEN);
}

static void post(unsigned int n)
{
	ASSERT_EQ(rig_offer(&rig, n), n);
}

static void expect(unsigned int n, uint32_t seq)
{
	for (; n && !ksft_failed(); n--)
		rig_rx_expect(&rig, seq++, DEVICE_LEN);
}

/* Frames that wait for buffers, and then go in one poll. */
static void burst(unsigned int n, uint32_t seq)
{
	inject(n, seq);
	post(n);
	expect(n, seq);
}

/*
 * Another device for the same descriptor, persistent, with no file of its own.  It is down: else
 * it would lose its carrier, and get it back a while after it has a file.
 */
static void make_other(void)
{
	int fd;

	other = (struct rig){ .v.hdr_len = rig.v.hdr_len };
	fd = rig_tap_new(&other, 0);
	ASSERT_SYS(ioctl(fd, TUNSETPERSIST, 1));
	rig_link(&other, false);
	close(fd);
}

/* Attaches the descriptor, which the queue still has, to another device. */
static void join(const char *name)
{
	strcpy(rig.name, name);
	rig_tap_attach(rig.tap, rig.name, IFF_NO_PI | IFF_VNET_HDR, rig.v.hdr_len);
	rig_link(&rig, true);
	flow_sockets(&rig, if_nametoindex(rig.name));
}

static void become(const char *name)
{
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	join(name);
}

/*
 * A device is deleted while the queue holds frames of it, which go back to the
 * ring; the descriptor then gets another device.
 */
CASE(frames_of_deleted_device_do_not_count)
{
	struct link_sent c;
	unsigned int i;

	need_kvnet();
	set_copy(true);
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_offer(&rig, 1);
	for (i = 0; i < 8; i++)
		rig_inject(&rig, i, 60);
	rig_rx_expect(&rig, 0, 60);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	rig_stop(&rig);
	join("uapi%d");
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	rig_offer(&rig, 128);
	/* those of before may arrive or not */
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

/* A rig in private memory, whose pages can be taken away, with another device if need be. */
static void set_up(bool two)
{
	need_kvnet();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	if (two)
		make_other();
	rig_start(&rig);
}

/* The queue has received one frame, and taken others off the tap that find no buffers. */
static void hold_frames(void)
{
	inject(1, 0);
	ASSERT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.no_buf") > 0));
	wait_worker_idle();
	/* these are taken together, with none of them left in the tap */
	inject(HELD, 1);
	post(1);
	expect(1, 0);
	wait_worker_idle();
}

/* Starts a poll that stops at its first frame, which is off the tap by then. */
static void stop_in_poll(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];

	pager_open();
	pager.holds = true;
	ASSERT_EQ(rig_rx_post(&rig, q->buf_num, NULL), q->buf_num);
	pager_take_away(q->bufs, (size_t)q->buf_size * q->buf_num);
	vdev_kick(q);
	ASSERT(pager_asked(1, 3000));
}

/* Moves the device to a new network namespace, and the caller with sockets for it. */
static int move_away(void)
{
	int old = link_new_netns(), new = link_own_netns();

	ASSERT_SYS(setns(old, CLONE_NEWNET));
	ASSERT_EQ(link_move(rig.ifindex, new), 0);
	ASSERT_SYS(setns(new, CLONE_NEWNET));
	close(new);
	ASSERT_EQ(link_up(rig.ifindex, true), 0);
	flow_sockets(&rig, rig.ifindex);
	return old;
}

CASE(frames_with_several_taps_count_on_their_own)
{
	struct link_sent c;

	need_kvnet();
	rig_enter_netns();
	other = (struct rig){ .v.hdr_len = 12 };
	rig_tap_new(&other, 0);		/* before, and behind it */
	rig_open(&rig, &(struct rig_cfg){ .here = true, .stopped = true });
	rig_tap_new(&other, 0);
	rig_start(&rig);
	burst(40, 0);
	c = link_sent(rig.name);
	EXPECT_EQ(c.packets, 40);
	EXPECT_EQ(c.bytes, 40 * DEVICE_LEN);
	EXPECT_EQ(link_sent(other.name).packets, 0);
	rig_close(&rig);
}

/* Each device counts its own frames of one poll, but for those that went by recvmsg(). */
CASE(frames_of_two_devices_count_on_each)
{
	unsigned long n;
	long asked;

	set_up(true);
	hold_frames();
	asked = recvmsg_calls();
	become(other.name);
	inject(5, 100);
	post(HELD + 5);
	expect(HELD, 1);
	expect(5, 100);
	asked = recvmsg_calls() - asked;
	n = sent();
	EXPECT_GE(n, 5);
	EXPECT_LE(n, 5 + asked - 1);	/* at least one of these is its own */
	ksft_note("%lu counted, %ld by the tap", n, asked);
	rig_close(&rig);
}

/* The header size of the device before is not used for the next device's frames. */
CASE(frames_of_device_with_other_header_are_dropped)
{
	const int size = 10;

	set_up(true);
	hold_frames();
	become(other.name);
	inject(4, 100);
	stop_in_poll();
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size));
	pager_go_on();
	expect(HELD, 1);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.drop_tap") == 4));
	EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
	rig_close(&rig);
}

/* Nor for frames of the same device after it has become the backend again. */
CASE(frames_after_restart_with_other_header_are_dropped)
{
	const int size = 10;

	set_up(false);
	burst(10, 0);
	rig_stop(&rig);
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size));
	rig_start(&rig);
	inject(4, 100);
	post(4);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.drop_tap") == 4));
	EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
	rig_close(&rig);
}

/* A device in another network namespace is not found: its frames go by recvmsg(), which counts. */
CASE(frames_of_device_in_other_netns_count)
{
	set_up(true);
	hold_frames();
	become(other.name);
	close(move_away());
	inject(5, 100);
	post(HELD + 5);
	expect(HELD, 1);
	expect(5, 100);
	EXPECT_GE(sent(), 5);
	burst(5, 200);
	EXPECT_GE(sent(), 10);
	rig_close(&rig);
}

/* The device of now counts all frames, but for those of the first poll. */
static void all_are_counted(void)
{
	struct link_sent was;
	unsigned int i;

	burst(5, 50);
	was = link_sent(rig.name);
	for (i = 0; i < 3 && !ksft_failed(); i++)
		burst(HELD, 100 * i);
	EXPECT_EQ(sent() - was.packets, 3 * HELD);
	EXPECT_EQ(link_sent(rig.name).bytes - was.bytes, 3 * HELD * DEVICE_LEN);
}

CASE(frames_after_move_to_other_netns_count)
{
	set_up(false);
	burst(HELD, 0);
	EXPECT_EQ(sent(), HELD);
	close(move_away());
	all_are_counted();
	rig_close(&rig);
}

/* The new device may be allocated where the old one was. */
CASE(frames_after_device_replacement_count)
{
	unsigned int i;

	set_up(false);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		burst(HELD, 0);
		become("uapi%d");
		all_are_counted();
	}
	rig_close(&rig);
}

/* The descriptor has got another device, which counts them from then on. */
CASE(redirected_frames_after_device_replacement_count)
{
	unsigned int i;

	redirect_open(&(struct rig_cfg){ .rx_buf = 2048, .num = 256, .bufs = 64 }, true);
	for (i = 0; i < 2 && !ksft_failed(); i++) {
		redirect_burst(HELD);
		redirect_burst(HELD);
		EXPECT_EQ(sent(), 2 * HELD);
		become("uapi%d");
		rig.ifindex = if_nametoindex(rig.name);
		redirect_from(&other);
	}
	rig_close(&other);
	rig_close(&rig);
}

/* Another device has got the ifindex by which the device was found. */
CASE(frames_with_ifindex_reused_count_on_their_own)
{
	struct ifreq ifr = { .ifr_name = "another", .ifr_flags = IFF_TAP | IFF_NO_PI };
	int old, fd;

	set_up(false);
	hold_frames();
	stop_in_poll();
	old = move_away();
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	ASSERT_SYS(ioctl(fd, TUNSETIFINDEX, &rig.ifindex));
	ASSERT_SYS(ioctl(fd, TUNSETIFF, &ifr));
	ASSERT_EQ(if_nametoindex("another"), rig.ifindex);
	pager_go_on();
	expect(HELD, 1);
	EXPECT_EQ(link_sent("another").packets, 0);
	close(fd);
	rig_close(&rig);
}

/* The old tap gets a device again, and its queue receives a frame. */
static void comes_back(int refused)
{
	join("uapi%d");
	wait_worker_idle();
	inject(1, 1);
	expect(1, 1);
	close(refused);
	rig_close(&rig);
}

/* A tap without a device is refused; the queue still polls the old one. */
CASE(backend_without_device_is_refused)
{
	int fd;

	set_up(false);
	burst(1, 0);
	post(HELD);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_RX, fd), -EINVAL);
	comes_back(fd);
}

static struct start {
	unsigned int index;
	int fd, ret;
} start;

static void *start_thread(void *arg)
{
	start.ret = __vdev_backend(&rig.v, start.index, start.fd);
	return arg;
}

/* Another tap, with a device of its own. */
static int another_tap(void)
{
	other = (struct rig){ .v.hdr_len = rig.v.hdr_len };
	return rig_tap_new(&other, 0);
}

/* SET_BACKEND waits for a page of the ring, and the device of its tap is deleted meanwhile. */
static void refused_late(unsigned int index, int fd)
{
	pthread_t thread;

	start = (struct start){ index, fd, 0 };
	pager_open();
	pager.holds = true;
	pager_take_away(rig.v.mem, VDEV_RING_ZONE);
	ASSERT_EQ(pthread_create(&thread, NULL, start_thread, NULL), 0);
	ASSERT(pager_asked(1, 3000));
	ASSERT_EQ(link_delete(other.ifindex), 0);
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(start.ret, -EINVAL);
}

CASE(start_with_device_deleted_fails)
{
	struct vhost_vring_state num = { .index = VDEV_RX };
	int fd;

	set_up(false);
	num.num = rig.v.q[VDEV_RX].num;
	vdev_backend(&rig.v, VDEV_RX, -1);
	fd = another_tap();
	refused_late(VDEV_RX, fd);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, &num), 0);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	burst(1, 0);
	close(fd);
	rig_close(&rig);
}

/* The queue keeps the old backend, whose device is deleted, too. */
CASE(start_that_fails_keeps_old_backend)
{
	int fd;

	set_up(false);
	burst(1, 0);
	fd = another_tap();
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	refused_late(VDEV_RX, fd);
	post(HELD);
	comes_back(fd);
}

/* Starting disables kicks; a start that fails has to enable them again. */
CASE(start_that_fails_keeps_kicks_enabled)
{
	int fd;

	/* without EVENT_IDX: a flag says whether the device wants kicks */
	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG, .stopped = true });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	rig_send(&rig, DEVICE_LEN);
	wait_worker_idle();
	fd = another_tap();
	refused_late(VDEV_TX, fd);
	rig_send(&rig, DEVICE_LEN);
	close(fd);
	rig_close(&rig);
}

KSFT_MAIN()
