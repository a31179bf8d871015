// SPDX-License-Identifier: GPL-2.0
/*
 * A tap with an XDP program: frames need room in front of them, and those that
 * the program sends back reach the guest without ever being a socket buffer.
 *
 * @hosts: 6.1
 * @again: slow
 * @seconds: 2
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "pin_rig.h"
#include "rig.h"
#include "xdp.h"

static struct rig rig;

/* 'fd' is a program, or why it could not be loaded. */
static void attach(int fd)
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
	attach(fd);
}

static void with_program(const struct rig_cfg *cfg, int verdict)
{
	with_code(cfg, xdp_load_verdict(verdict));
}

static void transmit(uint32_t len)
{
	ASSERT_EQ(rig_tx(&rig, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, rig.tx_seq - 1, len);
	rig_tx_drain(&rig, 3000);
}

CASE(pass)
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
			transmit(len);
		for (i = 0; i < sizeof(big) / sizeof(*big); i++)
			transmit(big[i]);
		rig_close(&rig);
	}
}

#define TUNNEL	200	/* bytes: more than the stack has in front of a frame */

/* Puts another Ethernet header, and nothing, in front of the frame. */
static int load_tunnel(void)
{
	const int data = offsetof(struct xdp_md, data);
	const int end = offsetof(struct xdp_md, data_end);
	struct bpf_insn code[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_X, 6, 1 },		/* r6 = ctx */
		{ BPF_ALU64 | BPF_MOV | BPF_K, 2, .imm = -TUNNEL },
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

static void transmit_tunnelled(uint32_t len)
{
	static uint8_t f[TUNNEL + 2000];

	ASSERT_EQ(rig_tx(&rig, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 3000), TUNNEL + len);
	frame_check(f + TUNNEL, len, rig.tx_seq - 1, len);
	rig_tx_drain(&rig, 3000);
}

/* The room in front of a frame that XDP promises to programs (256 bytes). */
CASE(tunnel_header)
{
	uint32_t len;
	int lane;

	for (lane = 0; lane < 2; lane++) {
		with_code(&(struct rig_cfg){ .tap = lane ? TAP_SNDBUF : 0 },
			  load_tunnel());
		for (len = 60; len < 1500 && !ksft_failed(); len += 103)
			transmit_tunnelled(len);
		rig_close(&rig);
	}
}

/* And so from the first frame after the program has come. */
CASE(tunnel_header_after_other_frames)
{
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		transmit(1000);
		attach(load_tunnel());
		transmit_tunnelled(1000);
		ASSERT_EQ(xdp_attach(rig.ifindex, -1), 0);
	}
	rig_close(&rig);
}

/* How much of a frame a program may see is for the tap to know. */
CASE(long_frames_are_left_to_the_tap)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	with_program(&(struct rig_cfg){ .tx_buf = 65600, .bufs = 8 }, XDP_PASS);
	for (i = 0; i < 8; i++)
		transmit(9014);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.packets_unbatched"), "8"));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.batches"), "0"));
	transmit(3000);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.batches"), "1"));
}

CASE(drop)
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
	transmit(100);
}

/* What the guest sends comes back to it. */
static void reflected(const struct rig_cfg *cfg, uint32_t max)
{
	unsigned int i, n;

	with_program(cfg, XDP_TX);
	for (i = 0; i < 30 && !ksft_failed(); i++) {
		uint32_t first = rig.tx_seq, len[20];

		rig_rx_post(&rig, 256, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
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

CASE(send_back)
{
	reflected(&(struct rig_cfg){ .rx_buf = 2048 }, 1514);
	reflected(&(struct rig_cfg){ .rx_buf = 128 }, 1514);
	reflected(&(struct rig_cfg){ .rx_buf = 2048, .features = F_V1 }, 250);
	reflected(&(struct rig_cfg){ .rx_buf = 2048, .tap = TAP_BARE,
				     .features = F_V1 | F_NETHDR }, 1514);
}

/* Attached and taken away while frames flow. */
CASE(program_comes_and_goes)
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
