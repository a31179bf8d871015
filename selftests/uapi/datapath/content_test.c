// SPDX-License-Identifier: GPL-2.0
/*
 * The device writes nothing into the guest's memory but used buffers, used entries and
 * headers, and no byte of the kernel's in these.  info_leak_test.c looks at what the VMM and
 * operators get.
 *
 * "make isolation" runs it where the kernel fills freed and allocated memory with a pattern
 * (page_poison=1 slub_debug=P): a byte that was never written is not zero there. User-Mode Linux
 * fills the module's stack.
 *
 * @debug: kmsan
 * @again: packed
 * @seconds: 2
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define CANARY	0xc7		/* none of the kernel's patterns */
#define FRAMES	20u		/* each way: less than a ring has */

static struct rig rig;
static uint8_t *was;		/* the guest's memory, as its driver has left it */

/* Fills rings, buffers and all other memory with patterns. */
static void paint(struct rig *r)
{
	memset(r->v.mem + r->v.ring_used, CANARY, VDEV_RING_ZONE - r->v.ring_used);
	memset(r->v.mem + r->v.mem_used, CANARY, r->v.mem_size - r->v.mem_used);
	memset(r->v.q[VDEV_RX].bufs, RX_CANARY,
	       (size_t)r->v.q[VDEV_RX].buf_num * r->v.q[VDEV_RX].buf_size);
	memset(r->v.q[VDEV_TX].bufs, CANARY,
	       (size_t)r->v.q[VDEV_TX].buf_num * r->v.q[VDEV_TX].buf_size);
}

/* The frame arrives, with a header that is zero but for the number of buffers. */
static void receive(struct rig *r, uint32_t seq, uint32_t len)
{
	uint8_t hdr[12], want[12] = { 0 }, f[FRAME_MAX + 1];
	ssize_t n = rig_rx(r, hdr, f, sizeof(f), 3000);

	if (n < 0) {
		FAIL("frame %u of %u bytes did not come", seq, len);
		ksft_abort();
	}
	frame_check(f, n, seq, len);
	want[10] = r->rx_bufs;
	if (!memcmp(hdr, want, r->v.hdr_len))
		return;
	FAIL("header of frame %u: %02x %02x %02x%02x %02x%02x %02x%02x %02x%02x %02x%02x",
	     seq, hdr[0], hdr[1], hdr[2], hdr[3], hdr[4], hdr[5], hdr[6], hdr[7], hdr[8],
	     hdr[9], hdr[10], hdr[11]);
}

/* Unused entries of a split used ring, and the bytes behind it. */
static void check_split(const struct guest_ring *r, uint16_t used)
{
	const uint8_t *at = r->cfg.used;
	uint16_t word[2];

	memcpy(word, at, sizeof(word));
	EXPECT_LE(word[0], GR_USED_F_NO_NOTIFY);
	EXPECT_EQ(word[1], used);
	ksft_all_bytes("unused entries of the used ring", at + 4 + 8 * used, 0,
		   8 * (r->cfg.num - used));
	memcpy(word, at + 4 + 8 * r->cfg.num, 2);
	EXPECT_LE(word[0], r->avail_idx);
	at += gr_used_bytes(&r->cfg);
	ksft_all_bytes("behind the used ring", at, 0, -(uintptr_t)at % 4096);
}

/* Unused descriptors of a packed ring, the device's event word, and the bytes behind it. */
static void check_packed(const struct guest_ring *r, unsigned int descs)
{
	const struct gr_event e = gr_raw_device_event(r);
	const uint8_t *at = r->cfg.desc;

	ksft_all_bytes("unused descriptors", at + 16 * descs, 0, 16 * (r->cfg.num - descs));
	EXPECT_LE(e.flags, GR_EVENT_DESC);
	EXPECT_LE(e.where & ~GR_EVENT_WRAP, r->cfg.num);
	at = (const uint8_t *)r->cfg.used + gr_used_bytes(&r->cfg);
	ksft_all_bytes("behind the device's word", at, 0, -(uintptr_t)at % 4096);
}

/* Each buffer has one descriptor, and the ring has not wrapped. */
static void check_ring(struct rig *r, unsigned int queue)
{
	const struct guest_ring *ring = &r->v.q[queue].ring;

	if (ring->cfg.packed)
		check_packed(ring, ring->avail_idx);
	else
		check_split(ring, ring->used_idx);
}

static void check_memory(struct rig *r)
{
	const struct vdev *v = &r->v;

	check_ring(r, VDEV_RX);
	check_ring(r, VDEV_TX);
	ksft_all_bytes("behind the rings", v->mem + v->ring_used, CANARY,
		   VDEV_RING_ZONE - v->ring_used);
	ksft_all_bytes("memory that is neither ring nor buffer", v->mem + v->mem_used, CANARY,
		   v->mem_size - v->mem_used);
	/* the device only reads what is sent */
	if (memcmp(was, v->q[VDEV_TX].bufs, (size_t)v->q[VDEV_TX].buf_num * v->q[VDEV_TX].buf_size))
		FAIL("the device has written into a buffer to send");
}

static void keep_sent(const struct vdev *v)
{
	size_t len = (size_t)v->q[VDEV_TX].buf_num * v->q[VDEV_TX].buf_size;

	free(was);
	was = malloc(len);
	ASSERT(was);
	memcpy(was, v->q[VDEV_TX].bufs, len);
}

/* Frames of all lengths both ways, one by one and at once. */
static void frames_pass_clean(struct rig *r, unsigned int most)
{
	unsigned int i;
	uint32_t len;

	for (i = 0; i < FRAMES; i++)
		ASSERT_EQ(rig_tx(r, 60 + i * 72, NULL), 0);
	keep_sent(&r->v);
	vdev_kick_always(&r->v.q[VDEV_TX]);
	for (i = 0; i < FRAMES; i++)
		rig_expect(r, i, 60 + i * 72);
	rig_tx_drain(r, 3000);
	ASSERT(rig_rx_post(r, most, NULL));
	vdev_kick_always(&r->v.q[VDEV_RX]);
	for (i = 0; i < FRAMES && !ksft_failed(); i++) {
		len = 60 + i * 72;
		rig_inject(r, i, len);
		/* two frames at a time */
		if (i % 2 == 0)
			continue;
		receive(r, i - 1, len - 72);
		receive(r, i, len);
	}
	check_memory(r);
}

static void one_rig(const struct rig_cfg *cfg)
{
	struct rig_cfg c = *cfg;

	c.stopped = true;
	c.num = 512;
	c.bufs = 256;
	rig_open(&rig, &c);
	paint(&rig);
	rig_start(&rig);
	frames_pass_clean(&rig, 250);
	rig_close(&rig);
}

CASE_TIMED(guest_memory_without_reason_stays_as_it_was, 60)
{
	static const struct rig_cfg cfgs[] = {
		{ .tx_buf = 2048, .rx_buf = 2048 },
		{ .tx_buf = 2048, .rx_buf = 300 },	/* several of them for one */
		{ .tx_buf = 2048, .rx_buf = 2048, .tap = TAP_BARE,
		  .features = F_V1 | F_MRG | F_NETHDR },
		{ .tx_buf = 2048, .rx_buf = 2048, .features = F_V1 | F_IND },
		{ .tx_buf = 2048, .rx_buf = 2048, .regions = 4 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cfgs) / sizeof(cfgs[0]) && !ksft_failed(); i++) {
		one_rig(&cfgs[i]);
		if (ksft_failed())
			ksft_note("that was way %u", i);
	}
}

KSFT_MAIN()
