// SPDX-License-Identifier: GPL-2.0
/*
 * What QEMU's own virtio-net device does where a driver violates the specification: the rows of
 * hostile_test.c, which says what kvnet and vhost_net do. Each verdict is kvnet's, or stands in
 * the table below with the reason; Documentation/conformance.rst repeats them.
 */
#define _GNU_SOURCE
#include <linux/if_packet.h>
#include <linux/virtio_mmio.h>
#include <net/ethernet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile_rows.h"
#include "qtest.h"

#define QUEUE_SIZE	256	/* the rows are for that */
#define FRAME_LEN	60	/* fits the rows' buffers of 100 bytes */
#define BUF_LEN		1600
#define USUAL		(F_V1 | F_MRG | F_IND | F_EVENT)

/* Verdicts that no row has for kvnet; BROKEN: DEVICE_NEEDS_RESET. */
enum {
	BROKEN_LATER = EITHER + 1,	/* RX: waits for another buffer, and is broken then */
	ABORTS,				/* QEMU has ended */
};

#define RX	BIT64(VDEV_RX)
#define TX	BIT64(VDEV_TX)
#define ANY	(RX | TX)

static const char no_memory[] = "reads zeroes where no memory is, and writes nowhere";
static const char memory_there[] = "its machine has memory there, and firmware below 4 GiB";
static const char believed[] = "serves the ring's entries, many times, until it is at the index";
static const char empty[] = "a descriptor of length 0 is an error";
static const char room_first[] = "counts the writable bytes in the ring before it takes a chain";
static const char others_ignored[] = "ignores what is of the other direction";
static const char first_only[] = "takes a table behind another descriptor for a buffer";
static const char no_nesting[] = "takes a table in a table for a buffer";
static const char next_ignored[] = "ignores NEXT beside INDIRECT";
static const char no_entry[] = "7.2, 10.0: an assertion fails; 11.1: an error";
static const char short_tx[] =
	"7.2: an assertion fails, with a tap an error; 10.0: an error, with a tap it is dropped";
static const char short_rx[] = "7.2: an assertion fails when another buffer follows";
static const char whole_ring[] = "11.1, in order: takes a chain of all descriptors, and never uses it";

static const struct difference {
	const char *row;
	uint64_t queues;
	int layout;
	uint64_t verdicts;	/* one of them, by version and network backend */
	const char *why;
	ssize_t frame;		/* length of what is sent, where that differs */
} differences[] = {
	{ "outside_memory", ANY, BOTH, BIT64(TAKEN), no_memory },
	{ "beyond_the_end", ANY, BOTH, BIT64(TAKEN), no_memory },
	{ "address_wraps", ANY, BOTH, BIT64(TAKEN), no_memory },
	{ "second_is_outside", ANY, BOTH, BIT64(TAKEN), no_memory },
	{ "indirect_entry_outside", ANY, BOTH, BIT64(TAKEN), no_memory },
	{ "address_zero", ANY, BOTH, BIT64(TAKEN), memory_there },
	{ "before_the_start", ANY, BOTH, BIT64(TAKEN), memory_there },
	{ "avail_idx_jumps_by_num_and_one", TX, SPLIT, BIT64(TAKEN), believed },
	{ "avail_idx_goes_back", TX, SPLIT, BIT64(TAKEN), believed },
	{ "empty_one_in_between", ANY, BOTH, BIT64(BROKEN), empty },
	{ "nothing_in_it", TX, BOTH, BIT64(BROKEN), empty },
	{ "nothing_in_it", RX, BOTH, BIT64(BROKEN_LATER), empty },
	{ "wrong_direction", RX, BOTH, BIT64(BROKEN_LATER), room_first },
	{ "indirect_wrong_direction", RX, BOTH, BIT64(BROKEN_LATER), room_first },
	{ "indirect_outside_memory", RX, BOTH, BIT64(BROKEN_LATER), room_first },
	{ "indirect_of_65537_entries", RX, BOTH, BIT64(BROKEN_LATER), room_first },
	{ "wrong_direction_last", ANY, BOTH, BIT64(TAKEN), others_ignored },
	{ "indirect_behind_a_chain", RX, SPLIT, BIT64(BROKEN_LATER), first_only },
	{ "indirect_behind_a_chain", TX, SPLIT, BIT64(TAKEN), first_only, 30 + 30 + 16 - 12 },
	{ "indirect_in_a_list", TX, PACKED, BIT64(TAKEN), first_only, 100 + 16 - 12 },
	{ "indirect_in_indirect", RX, SPLIT, BIT64(BROKEN_LATER), no_nesting },
	/* too short for a tap */
	{ "indirect_in_indirect", TX, SPLIT, BIT64(TAKEN) | BIT64(DROPPED), no_nesting, 16 - 12 },
	{ "indirect_with_next", ANY, BOTH, BIT64(TAKEN), next_ignored, 100 - 12 },
	{ "indirect_of_no_entry", ANY, PACKED, BIT64(ABORTS) | BIT64(BROKEN), no_entry },
	{ "shorter_than_the_header", TX, BOTH, BIT64(ABORTS) | BIT64(BROKEN) | BIT64(DROPPED),
	  short_tx },
	{ "shorter_than_the_header", RX, BOTH, BIT64(ABORTS) | BIT64(WAITS), short_rx },
	{ "gigabytes_in_one_chain", RX, PACKED, BIT64(TAKEN) | BIT64(WAITS), whole_ring },
	{ "gigabytes_in_one_chain", TX, PACKED, BIT64(DROPPED) | BIT64(WAITS), whole_ring },
};

#define ROWS		(sizeof(attacks) / sizeof(*attacks))
#define DIFFERENCES	(sizeof(differences) / sizeof(*differences))

static struct qtest qemu;
static int net;			/* what QEMU sends, and what it is to receive */
static uint8_t *buffer;		/* at 'data' */
static ssize_t sent;		/* length of the last frame that QEMU has sent, or -1 */

static ssize_t next_frame(uint8_t *frame, size_t room)
{
	return recv(net, frame, room, MSG_DONTWAIT);
}

static void start(void)
{
	qtest_start(&qemu, &rig.v, rig.tap);
	if (rig.tap < 0)
		net = qemu.net;
}

static void restart(void)
{
	static uint8_t frame[FRAME_MAX];

	/* it may still be busy with the rings */
	qtest_write(&qemu, VIRTIO_MMIO_STATUS, 0);
	qtest_settle(&qemu);
	while (next_frame(frame, sizeof(frame)) >= 0)
		;
	vdev_queue_make(&rig.v, VDEV_RX, QUEUE_SIZE);
	vdev_queue_make(&rig.v, VDEV_TX, QUEUE_SIZE);
	if (qemu.dead) {
		qtest_stop(&qemu);
		start();
	}
	qtest_set_up(&qemu, &rig.v);
}

/* With a tap in a network namespace, or without. */
static void setup_with(uint64_t features, bool tap)
{
	const int one = 1;

	rig.v.features = features;
	rig.v.hdr_len = 12;
	rig.tap = -1;
	if (tap) {
		if (access("/sys/class/misc/tun", F_OK))
			ksft_skip("/dev/net/tun: to open it would load a module");
		rig_enter_netns();
		rig.tap = rig_tap_new(&rig, 0);
		net = rig_packet_socket(&rig, ETH_P_ALL, false);
		ASSERT_SYS(setsockopt(net, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)));
	}
	vdev_memory(&rig.v, 12 << 20, 1);
	buffer = vdev_alloc(&rig.v, 65536, 16);
	data = vdev_gpa(&rig.v, buffer);
	table = vdev_alloc(&rig.v, 65536, 16);
	table_gpa = vdev_gpa(&rig.v, table);
	mem_end = VDEV_GPA + rig.v.mem_size;
	start();
	restart();
}

static void setup(uint64_t features)
{
	setup_with(features, false);
}

static struct guest_ring *ring(unsigned int q)
{
	return &rig.v.q[q].ring;
}

static void kick(unsigned int q)
{
	qtest_write(&qemu, VIRTIO_MMIO_QUEUE_NOTIFY, q);
}

static void inject(const uint8_t *frame)
{
	ASSERT_EQ(send(net, frame, FRAME_LEN, 0), FRAME_LEN);
}

/* What attack_prepare() has written is shown, and a frame waits for it. */
static void push_head(void)
{
	static const uint8_t frame[FRAME_LEN];

	if (packed()) {
		gr_raw_show(ring(queue), 0, head_flags);
	} else {
		gr_raw_avail(ring(queue), 0, head);
		gr_raw_avail_idx(ring(queue), shown_idx);
	}
	kick(queue);
	if (queue == VDEV_RX)
		inject(frame);
}

/* A legal receive buffer behind a chain, which in a packed ring is one descriptor. */
static void push_another(void)
{
	struct gr_desc *d = gr_raw_desc(ring(VDEV_RX), packed() ? 1 : 200);

	if (packed()) {
		gr_raw_set_packed(d, data + BUF_LEN, BUF_LEN, 1, 0);
		gr_raw_show(ring(VDEV_RX), 1, WRITE | gr_raw_lap(true, false));
	} else {
		gr_raw_set(d, data + BUF_LEN, BUF_LEN, WRITE, 0);
		gr_raw_avail(ring(VDEV_RX), 1, 200);
		gr_raw_avail_idx(ring(VDEV_RX), 2);
	}
	kick(VDEV_RX);
}

static unsigned int verdict(void)
{
	static uint8_t frame[FRAME_MAX];
	bool broken, used;

	qtest_settle(&qemu);
	broken = qtest_read(&qemu, VIRTIO_MMIO_STATUS) & VIRTIO_CONFIG_S_NEEDS_RESET;
	used = gr_raw_used_idx(ring(queue));
	sent = next_frame(frame, sizeof(frame));
	if (qemu.dead)
		return ABORTS;
	if (broken && (used || sent >= 0))
		FAIL("broken, but used %d, sent %zd", used, sent);
	if (broken)
		return BROKEN;
	if (!used)
		return WAITS;
	return queue == VDEV_TX && sent < 0 ? DROPPED : TAKEN;
}

static unsigned int verdict_of(const struct attack *a)
{
	unsigned int v;

	attack_prepare(a);
	push_head();
	v = verdict();
	if (v != WAITS || queue == VDEV_TX)
		return v;
	push_another();
	v = verdict();
	return v == BROKEN ? BROKEN_LATER : v == ABORTS ? ABORTS : WAITS;
}

static const struct difference *difference_of(const struct attack *a)
{
	const struct difference *d;

	for (d = differences; d < differences + DIFFERENCES; d++)
		if (!strcmp(d->row, a->name) && d->queues & BIT64(queue) &&
		    d->layout != (packed() ? SPLIT : PACKED))
			return d;
	return NULL;
}

static void compare(const struct attack *a)
{
	static const char *const names[] = {
		[BROKEN] = "broken", [TAKEN] = "served", [DROPPED] = "refused", [WAITS] = "waits",
		[BROKEN_LATER] = "broken behind another buffer", [ABORTS] = "QEMU aborts",
	};
	const struct difference *d = difference_of(a);
	const char *side = queue == VDEV_RX ? "RX" : "TX";
	unsigned int v = verdict_of(a), kvnets = a->outcome[queue];

	if (!((d ? d->verdicts : BIT64(kvnets)) & BIT64(v)))
		FAIL("%s %s: %s (%s); kvnet: %s; the table: %s", side, a->name, names[v],
		     v == TAKEN || v == WAITS ? "" : qtest_message(&qemu), names[kvnets],
		     d ? d->why : "no difference");
	if (d && d->frame && v == TAKEN && queue == VDEV_TX)
		EXPECT_EQ(sent, d->frame);
}

/* One buffer there and back; did the device interrupt? */
static bool serves(unsigned int q)
{
	static uint8_t frame[FRAME_LEN], got[FRAME_MAX];
	struct gr_buf buf = { .ptr = buffer, .len = q == VDEV_TX ? 12 + FRAME_LEN : BUF_LEN,
			      .write = q == VDEV_RX };
	struct gr_done done;

	qtest_write(&qemu, VIRTIO_MMIO_INTERRUPT_ACK, 3);
	memset(buffer, 0, BUF_LEN);
	frame[20]++;
	if (q == VDEV_TX)
		memcpy(buffer + 12, frame, FRAME_LEN);
	ASSERT(gr_add(ring(q), &buf, 1, 1, NULL) >= 0);
	gr_publish(ring(q));
	kick(q);
	if (q == VDEV_RX)
		inject(frame);
	qtest_settle(&qemu);
	if (q == VDEV_TX)
		EXPECT_EQ(next_frame(got, sizeof(got)), FRAME_LEN);
	else
		memcpy(got, buffer + 12, FRAME_LEN);
	EXPECT(!memcmp(got, frame, FRAME_LEN));
	EXPECT_EQ(gr_get_used(ring(q), &done), 1);
	return qtest_read(&qemu, VIRTIO_MMIO_INTERRUPT_STATUS) & VIRTIO_MMIO_INT_VRING;
}

static void rows_with(uint64_t features, bool tap)
{
	const struct attack *a;

	setup_with(features, tap);
	for (queue = 0; queue < 2; queue++) {
		for (a = attacks; a < attacks + ROWS; a++) {
			if (a->layout == (packed() ? SPLIT : PACKED))
				continue;
			compare(a);
			restart();
			serves(VDEV_RX);
			serves(VDEV_TX);
			restart();
		}
	}
}

CASE_ROW(split_rows_differ_as_explained, rows_with(USUAL, false))
CASE_ROW(packed_rows_differ_as_explained, rows_with(USUAL | F_PACKED, false))
CASE_ROW(split_in_order_rows_differ_as_explained, rows_with(USUAL | F_ORDER, false))
CASE_ROW(packed_in_order_rows_differ_as_explained, rows_with(USUAL | F_PACKED | F_ORDER, false))
CASE_ROW(split_rows_with_a_tap_differ_as_explained, rows_with(USUAL, true))
CASE_ROW(packed_rows_with_a_tap_differ_as_explained, rows_with(USUAL | F_PACKED, true))

/* Neither queue, and a chain that is mended changes nothing. */
CASE(broken_device_serves_no_queue_until_reset)
{
	setup(USUAL);
	for (queue = 0; queue < 2; queue++) {
		desc(0, data, 100, dir() | NEXT, 0);
		shown_idx = 1;
		push_head();
		EXPECT_EQ(verdict(), BROKEN);
		desc(0, data, BUF_LEN, dir(), 0);
		kick(queue);
		EXPECT_EQ(verdict(), BROKEN);
		queue = !queue;
		desc(0, data, BUF_LEN, dir(), 0);
		push_head();
		EXPECT_EQ(verdict(), BROKEN);
		queue = !queue;
		restart();
		serves(VDEV_RX);
		serves(VDEV_TX);
		restart();
	}
}

CASE(indirect_not_agreed_on_is_served)
{
	setup(F_V1 | F_MRG | F_EVENT);
	for (queue = 0; queue < 2; queue++) {
		in_table(0, data, BUF_LEN, dir(), 0);
		desc(0, table_gpa, 16, IND, 0);
		shown_idx = 1;
		push_head();
		EXPECT_EQ(verdict(), TAKEN);
	}
}

/* The tap refuses it; QEMU uses the buffer. */
CASE(bad_header_with_a_tap_drops_frame)
{
	static const struct virtio_net_hdr bad[] = {
		{ .gso_type = 0x7f, .gso_size = 1448 },
		{ .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 0 },
		{ .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 65000, .csum_offset = 16 },
		{ .hdr_len = 65535 },
	};
	size_t i;

	setup_with(USUAL, true);
	queue = VDEV_TX;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(buffer, 0, BUF_LEN);
		memcpy(buffer, &bad[i], sizeof(bad[i]));
		desc(0, data, 12 + FRAME_LEN, 0, 0);
		shown_idx = 1;
		push_head();
		if (verdict() != DROPPED)
			FAIL("header %zu", i);
		restart();
		serves(VDEV_TX);
		restart();
	}
}

/* The driver wants a call for the buffer after next. */
CASE(first_used_buffer_after_start_calls)
{
	setup(USUAL);
	gr_raw_used_event(ring(VDEV_TX), 2);
	EXPECT(serves(VDEV_TX));
	EXPECT(!serves(VDEV_TX));
	EXPECT(serves(VDEV_TX));
}

/* A place far away, or none: kvnet calls. */
CASE(packed_event_flags_not_agreed_on_ask_by_position)
{
	uint16_t flags;

	setup((USUAL & ~F_EVENT) | F_PACKED);
	for (flags = GR_EVENT_DESC; flags <= 3; flags++) {
		restart();
		gr_raw_driver_event(ring(VDEV_TX), 100 | GR_EVENT_WRAP, flags);
		serves(VDEV_TX);
		EXPECT(!serves(VDEV_TX));
	}
}

KSFT_MAIN()
