// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that lies: each row writes contents that the specification forbids
 * into a ring.  The queue's error eventfd says so, the buffer is not used, the
 * other queue lives on, and after a stop and a start the device is as new.
 *
 * And a guest that makes much work out of little: packets cut into a thousand pieces,
 * one-byte receive buffers.  A poll of the worker stays short, since ioctls wait for
 * its end: no time is judged here, but how many pieces there are in a poll.
 *
 * @hosts: 6.1
 * @debug: kmsan
 * @again: packed
 * @seconds: 5
 */
#include <endian.h>

#include "hostile_rows.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rig.h"

static void restart(void)
{
	rig_stop(&rig);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig.tx_out = 0;
	rig_start(&rig);
}

static void works(unsigned int q)
{
	static uint32_t seq = 1000;
	uint8_t junk[256];

	if (q == VDEV_TX) {
		while (rig_sniff(&rig, junk, sizeof(junk), 0) >= 0)
			;
		ASSERT_EQ(rig_tx(&rig, 90, NULL), 0);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		rig_expect(&rig, rig.tx_seq - 1, 90);
		rig_tx_drain(&rig, 3000);
		return;
	}
	rig_rx_post(&rig, 16, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	rig_inject(&rig, ++seq, 80);
	/* frames of earlier rows may still wait in the tap: go past them */
	for (;;) {
		static uint8_t f[FRAME_MAX + 1];
		ssize_t n = rig_rx(&rig, NULL, f, sizeof(f), 3000);

		if (n < 0) {
			FAIL("RX: frame %u did not come", seq);
			return;
		}
		if (n == 80 && frame_seq(f) == seq)
			return;
		rig_rx_post(&rig, 1, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
	}
}

static void push_head(uint16_t pos, uint16_t first, uint16_t idx)
{
	struct vdev_queue *q = &rig.v.q[queue];
	uint64_t one = 1;

	if (packed()) {
		gr_raw_show(&q->ring, 0, head_flags);
	} else {
		gr_raw_avail(&q->ring, pos, first);
		gr_raw_avail_idx(&q->ring, idx);
	}
	ASSERT_EQ(write(q->kick, &one, 8), 8);
	if (queue == VDEV_RX)
		rig_inject(&rig, 1, 100);
}

static long counter_of_queue(const char *name)
{
	char full[32];

	snprintf(full, sizeof(full), "kvnet.%s.%s", queue == VDEV_RX ? "rx" : "tx", name);
	return rig_counter(&rig, full);
}

static void judge(const char *name, enum outcome want)
{
	struct vdev_queue *q = &rig.v.q[queue];
	const char *side = queue == VDEV_RX ? "RX" : "TX";
	bool err, used;

	WAIT_FOR(want == EITHER || want == WAITS ? 50 : 3000,
		 gr_raw_used_idx(&q->ring) || vdev_eventfd_wait(q->err, 0));
	err = vdev_eventfd_take(q->err);
	used = gr_raw_used_idx(&q->ring);
	if (want == BROKEN && !err)
		FAIL("%s %s: no error was signalled", side, name);
	if (want == BROKEN && used)
		FAIL("%s %s: the buffer was used", side, name);
	if ((want == TAKEN || want == DROPPED) && (!used || err))
		FAIL("%s %s: used %d, error %d", side, name, used, err);
	if (want == WAITS && (used || err))
		FAIL("%s %s: does not wait: used %d, error %d", side, name, used, err);
	works(!queue);
	restart();
	works(VDEV_RX);
	works(VDEV_TX);
	restart();
}

static void setup_with(unsigned int q, uint64_t features)
{
	queue = q;
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 16384, .rx_buf = 2048,
					  .regions = 2, .features = features });
	data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, 65536, 16));
	table = vdev_alloc(&rig.v, 65536, 16);
	table_gpa = vdev_gpa(&rig.v, table);
	mem_end = VDEV_GPA + rig.v.mem_size;
}

static void setup(unsigned int q)
{
	setup_with(q, 0);
}

static void attack_with(const struct attack *a)
{
	enum outcome want = a->outcome[queue];
	long dropped = -1;

	if (vdev_is_vhost() && a->vhost_why)
		want = EITHER;
	if (want == DROPPED && !vdev_is_vhost())
		dropped = counter_of_queue(a->counter);
	attack_prepare(a);
	push_head(0, head, shown_idx);
	if (dropped >= 0 && !WAIT_FOR(3000, counter_of_queue(a->counter) == dropped + 1))
		FAIL("TX %s: %s does not count it", a->name, a->counter);
	judge(a->name, want);
}

static void attacks_with(unsigned int q, uint64_t features)
{
	size_t i;

	setup_with(q, features);
	for (i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
		if (attacks[i].layout != (packed() ? SPLIT : PACKED))
			attack_with(&attacks[i]);
}

/* The variant "packed" is in order in any case. */
static void all_attacks(unsigned int q)
{
	const uint64_t usual = F_V1 | F_MRG | F_IND | F_EVENT;

	attacks_with(q, usual);
	if (vdev_is_vhost() || rig.v.features & F_ORDER)
		return;
	rig_close(&rig);
	attacks_with(q, usual | F_ORDER);
}

CASE_ROW_TIMED(tx_attack_breaks_its_queue_alone, 40, all_attacks(VDEV_TX))
CASE_ROW_TIMED(rx_attack_breaks_its_queue_alone, 40, all_attacks(VDEV_RX))

/*
 * No worker polls a broken queue: it disables kicks, and a kick wakes no worker, and signals no
 * further error.
 */
CASE(broken_queue_disables_kicks)
{
	long kicks, wakes, polls;
	struct vdev_queue *q;
	unsigned int i;

	for (queue = 0; queue < 2; queue++) {
		rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG });
		vdev_no_spin(&rig.v);
		mem_end = VDEV_GPA + rig.v.mem_size;
		q = &rig.v.q[queue];
		works(VDEV_RX);
		works(VDEV_TX);
		restart();
		desc(0, mem_end, 1600, dir(), 0);
		push_head(0, 0, 1);
		EXPECT(vdev_eventfd_wait(q->err, 3000));
		wait_worker_idle();
		if (packed())
			EXPECT_EQ(gr_raw_device_event(&q->ring).flags, VRING_PACKED_EVENT_FLAG_DISABLE);
		else
			EXPECT_EQ(gr_raw_used_flags(&q->ring), VRING_USED_F_NO_NOTIFY);
		if (!vdev_is_vhost()) {
			kicks = counter_of_queue("kicks");
			wakes = counter_of_queue("wakeups");
			polls = counter_of_queue("polls");
			for (i = 0; i < 1000; i++)
				vdev_kick_always(q);
			EXPECT_EQ(counter_of_queue("kicks") - kicks, 1000);
			wait_worker_idle();
			EXPECT_EQ(counter_of_queue("wakeups"), wakes);
			EXPECT_EQ(counter_of_queue("polls"), polls);
			EXPECT_EQ(vdev_eventfd_take(q->err), 1);
		}
		rig_close(&rig);
	}
}

/*
 * The driver mends its chain, and kicks.  vhost_net tries again; kvnet's queue stays broken
 * until the VMM sets it up again, be it by a memory table.
 */
CASE(broken_queue_ignores_a_mended_chain)
{
	struct vdev_queue *q;

	for (queue = 0; queue < 2; queue++) {
		setup(queue);
		q = &rig.v.q[queue];
		desc(0, mem_end, 1600, dir(), 0);
		push_head(0, 0, 1);
		EXPECT(vdev_eventfd_wait(q->err, 3000));
		wait_worker_idle();
		desc(0, data, 1600, dir(), 0);
		push_head(0, 0, 1);
		if (!vdev_is_vhost()) {
			wait_worker_idle();
			EXPECT_EQ(gr_raw_used_idx(&q->ring), 0);
			EXPECT_EQ(counter_of_queue("broken"), 1);
			vdev_set_mem(&rig.v);
		}
		EXPECT(WAIT_FOR(3000, gr_raw_used_idx(&q->ring)));
		rig_close(&rig);
	}
}

/* A guest has no way to know whether its VMM has kept the feature from the device. */
CASE(indirect_not_agreed_on_is_served)
{
	for (queue = 0; queue < 2; queue++) {
		setup_with(queue, F_V1 | F_MRG | F_EVENT);
		in_table(0, data, 1600, dir(), 0);
		desc(0, table_gpa, 16, IND, 0);
		push_head(0, 0, 1);
		judge("a table without the feature", TAKEN);
		rig_close(&rig);
	}
}

/* A backend that is refused does not repair the queue. */
CASE(broken_queue_stays_broken_after_refused_backend)
{
	int fd;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	for (queue = 0; queue < 2; queue++) {
		const char *state = queue == VDEV_RX ? "kvnet.rx.state" : "kvnet.tx.state";

		rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG });
		mem_end = VDEV_GPA + rig.v.mem_size;
		restart();
		desc(0, mem_end, 1600, dir(), 0);
		push_head(0, 0, 1);
		EXPECT(vdev_eventfd_wait(rig.v.q[queue].err, 3000));
		wait_worker_idle();
		EXPECT_EQ(__vdev_backend(&rig.v, queue, fd), -EINVAL);
		wait_worker_idle();
		EXPECT_EQ(counter_of_queue("broken"), 1);
		EXPECT(!strcmp(ring_is(&rig, state), "broken"));
		restart();
		EXPECT(!strcmp(ring_is(&rig, state), "running"));
		works(queue);
		rig_close(&rig);
	}
	close(fd);
}

/* Guest address where one region ends and the next begins, elsewhere in the owner's memory. */
static uint64_t seam(void)
{
	return VDEV_GPA + rig.v.mem_size / 2;
}

CASE(table_across_regions_is_read)
{
	for (queue = 0; queue < 2; queue++) {
		setup(queue);
		table = (void *)(rig.v.mem + rig.v.mem_size / 2 - sizeof(*table));
		in_table(0, data, 60, dir() | NEXT, 1);
		in_table(1, data + 60, 1500, dir(), 0);
		desc(0, seam() - sizeof(*table), 2 * sizeof(*table), IND, 0);
		push_head(0, 0, 1);
		judge("a table across a seam", TAKEN);
		rig_close(&rig);
	}
}

/* Each chain is long enough and legal; but each descriptor crosses regions, and is two pieces. */
CASE(chains_of_too_many_pieces_drop_frame)
{
	unsigned int i, n = 300;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not say so");
	setup(VDEV_RX);
	for (i = 0; i < n; i++)
		in_table(i, seam() - 1, 2, WRITE | (i + 1 < n ? NEXT : 0), i + 1);
	desc(0, table_gpa, n * sizeof(*table), IND, 0);
	desc(1, table_gpa, n * sizeof(*table), IND, 0);
	rig_inject(&rig, 1, 1000);
	rig_inject(&rig, 2, 60);
	if (packed()) {
		gr_raw_show(&rig.v.q[queue].ring, 0, head_flags);
	} else {
		gr_raw_avail(&rig.v.q[queue].ring, 0, 0);
		gr_raw_avail(&rig.v.q[queue].ring, 1, 1);
		gr_raw_avail_idx(&rig.v.q[queue].ring, 2);
	}
	ASSERT_EQ(write(rig.v.q[queue].kick, &(uint64_t){ 1 }, 8), 8);
	EXPECT(WAIT_FOR(3000, gr_raw_used_idx(&rig.v.q[queue].ring)));
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), 1);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.packets"), 1);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[queue].err), 0);
	restart();
	works(VDEV_RX);
	works(VDEV_TX);
	rig_close(&rig);
}

/* The table says that there is memory where there is none. */
CASE(missing_memory_is_survived)
{
	for (queue = 0; queue < 2; queue++) {
		setup(queue);
		ASSERT_SYS(mprotect(rig.v.host, rig.v.host_span, PROT_NONE));
		desc(0, data, 1600, dir(), 0);
		push_head(0, 0, 1);
		WAIT_FOR(50, vdev_eventfd_wait(rig.v.q[queue].err, 0));
		vdev_map_host(&rig.v);
		vdev_set_mem(&rig.v);
		restart();
		works(VDEV_RX);
		works(VDEV_TX);
		rig_close(&rig);
	}
}

CASE(ring_unmapped_is_survived)
{
	for (queue = 0; queue < 2; queue++) {
		setup(queue);
		works(queue);
		ASSERT_SYS(mprotect(rig.v.ring_host, VDEV_RING_ZONE, PROT_NONE));
		push_head(1, 0, 2);
		vdev_eventfd_wait(rig.v.q[queue].err, 200);
		ASSERT_SYS(mprotect(rig.v.ring_host, VDEV_RING_ZONE,
				    PROT_READ | PROT_WRITE));
		restart();
		works(VDEV_RX);
		works(VDEV_TX);
		rig_close(&rig);
	}
}

/* The device cannot enable notifications in a read-only ring: no further kick would come. */
CASE(read_only_ring_breaks_queue)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not say so");
	/* a pinned ring would be written through the kernel's mapping */
	limit_locked_memory(0);
	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG | F_EVENT });
	works(VDEV_TX);
	wait_worker_idle();
	EXPECT_EQ(vdev_eventfd_take(q->err), 0);
	ASSERT_SYS(mprotect(rig.v.ring_host, VDEV_RING_ZONE, PROT_READ));
	vdev_kick_always(q);
	EXPECT(vdev_eventfd_wait(q->err, 3000));
	ASSERT_SYS(mprotect(rig.v.ring_host, VDEV_RING_ZONE, PROT_READ | PROT_WRITE));
	/* a new table does not restart it: the write that failed is not repeated */
	vdev_set_mem(&rig.v);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.state"), "broken"));
	restart();
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.state"), "running"));
	works(VDEV_TX);
	rig_close(&rig);
}

/* Rings of noise, most of it near what is legal. */
static void noise(void)
{
	struct vdev_queue *q = &rig.v.q[queue];
	unsigned int i;

	for (i = 0; i < 256; i++) {
		uint64_t gpa = VDEV_GPA + ksft_below(rig.v.mem_size);
		struct gr_desc *d = ksft_below(2) ? &table[i] :
				    gr_raw_desc(&q->ring, i);

		if (!ksft_below(64))
			gpa = ((uint64_t)ksft_random() << 32) | ksft_random();
		gr_raw_set(d, ksft_below(8) ? gpa : table_gpa,
			   ksft_below(32) ? ksft_below(2000) : ksft_random(),
			   (ksft_below(8) ? dir() : 0) | ksft_below(8),
			   ksft_below(257));
		if (packed())
			gr_raw_set_packed(d, le64toh(d->addr), le32toh(d->len),
					  i, le16toh(d->flags) |
					  gr_raw_lap(ksft_below(16), false));
		else
			gr_raw_avail(&q->ring, i, ksft_below(257));
	}
	head_flags = dir() | ksft_below(8) | gr_raw_lap(true, false);
}

CASE_TIMED(random_rings_are_survived, 60)
{
	unsigned int n = ksft_rounds(100), i;

	for (queue = 0; queue < 2; queue++) {
		setup(queue);
		for (i = 0; i < n; i++) {
			noise();
			push_head(0, ksft_below(256), 1 + ksft_below(256));
			ksft_relax(0);
			ksft_relax(i);
			restart();
		}
		works(VDEV_RX);
		works(VDEV_TX);
		rig_close(&rig);
	}
}

/* The n-th buffer, in a ring of two. */
static void show_another(unsigned int n, uint64_t gpa)
{
	struct guest_ring *ring = &rig.v.q[queue].ring;

	if (packed()) {
		gr_raw_set_packed(gr_raw_desc(ring, n % 2), gpa, 100, n % 2,
				  gr_raw_lap(n / 2 % 2, false));
		gr_raw_show(ring, n % 2, gr_raw_lap(!(n / 2 % 2), false));
		return;
	}
	desc(n % 2, gpa, 100, 0, 0);
	gr_raw_avail(ring, n, n % 2);
	gr_raw_avail_idx(ring, n + 1);
}

/*
 * A ring of two entries, and a driver that hands out the next buffer as soon
 * as the last one was fetched, not waiting for any to be used: at no time does
 * the avail index run away, yet there are far more buffers out than the ring
 * has.  What stands behind the used ring must not become part of it.
 */
CASE(more_buffers_than_ring_write_nothing_behind_it)
{
	struct rig_cfg cfg = { .num = 2, .features = F_V1, .tx_buf = 1 << 19, .stopped = true };
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i, n = 48;
	uint8_t *behind, *end, *late;
	uint64_t pages;

	rig_open(&rig, &cfg);
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	queue = VDEV_TX;
	late = q->bufs + PAGE - (uintptr_t)q->bufs % PAGE;
	pages = vdev_gpa(&rig.v, late);
	behind = (uint8_t *)q->ring.cfg.used + gr_used_bytes(&q->ring.cfg);
	end = (uint8_t *)q->ring.cfg.used + 4096;
	memset(behind, RX_CANARY, end - behind);
	pager_open();
	pager.holds = true;
	pager_take_away(late, n * PAGE);
	desc(0, pages, 100, 0, 0);
	push_head(0, 0, 1);
	for (i = 0; i < n; i++) {
		if (!pager_asked(i + 1, 1000))
			break;	/* the queue has stopped: well done */
		if (i + 1 < n)
			show_another(i + 1, pages + (i + 1) * PAGE);
		pager_bring_one();
	}
	WAIT_FOR(500, vdev_eventfd_wait(q->err, 0) ||
		 gr_raw_used_idx(&q->ring) == n);
	ksft_note("%u of %u fetched, used %u", i, n, gr_raw_used_idx(&q->ring));
	pager_go_on();
	while (behind < end && *behind == RX_CANARY)
		behind++;
	if (behind < end && vdev_is_vhost())
		ksft_note("vhost_net writes behind the used ring");
	else if (behind < end)
		FAIL("byte %td of the page of the used ring is written", behind -
		     (uint8_t *)q->ring.cfg.used);
	restart();
	works(VDEV_TX);
}

/*** much work out of little ***/

#define PIECES	1024		/* of a packet: the most there may be */
#define POLL_PIECES	(4096 + PIECES)	/* of a poll, which ends behind a packet */
#define PACKET_LEN	72		/* bytes of a packet, header included */

enum order { ALONE, IN_ORDER, JUMPING };

static void kick(unsigned int q)
{
	uint64_t one = 1;

	ASSERT_EQ(write(rig.v.q[q].kick, &one, 8), 8);
}

/* A packet of LEN pieces of a byte, and many of none; or of one piece. */
static uint64_t make_table(enum order order)
{
	struct gr_desc *table = vdev_alloc(&rig.v, 16 * PIECES, 4096);
	uint64_t data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, PACKET_LEN, 16));
	unsigned int i, step = order == JUMPING ? 37 : 1;

	for (i = 0; i < PIECES; i++) {
		unsigned int at = i * step % PIECES;
		unsigned int next = (i + 1) * step % PIECES;
		uint32_t len = order == ALONE ? i ? 0 : PACKET_LEN : i < PACKET_LEN;

		if (packed())
			gr_raw_set_packed(&table[at], data + i % PACKET_LEN, len, 0, 0);
		else
			gr_raw_set(&table[at], data + i % PACKET_LEN, len,
				   i + 1 < PIECES && order != ALONE ?
				   GR_DESC_F_NEXT : 0, next);
	}
	return vdev_gpa(&rig.v, table);
}

/* All 256 buffers are the same table. */
static void fill_ring(enum order order)
{
	struct guest_ring *ring = &rig.v.q[VDEV_TX].ring;
	uint32_t len = 16 * (order == ALONE ? 1 : PIECES);
	uint64_t table = make_table(order);
	unsigned int i;

	for (i = 0; i < 256; i++) {
		if (packed())
			gr_raw_set_packed(gr_raw_desc(ring, i), table, len, i,
					  GR_DESC_F_INDIRECT | (i ?
					  gr_raw_lap(true, false) : 0));
		else
			gr_raw_set(gr_raw_desc(ring, i), table, len,
				   GR_DESC_F_INDIRECT, 0);
		if (!packed())
			gr_raw_avail(ring, i, i);
	}
}

static void show_all(unsigned int idx)
{
	struct guest_ring *ring = &rig.v.q[VDEV_TX].ring;

	if (packed())
		gr_raw_show(ring, 0, GR_DESC_F_INDIRECT |
			    gr_raw_lap(true, false));
	else
		gr_raw_avail_idx(ring, idx);
	kick(VDEV_TX);
}

/* Pieces of a poll: all of those in the ring, divided by the polls that they took. */
static void one_ring(enum order order, long pieces)
{
	long polls;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	fill_ring(order);
	show_all(256);
	EXPECT(WAIT_FOR(10000, rig_counter(&rig, "kvnet.tx.packets") == 256));
	/* of the last one it is not known whether it has been counted */
	polls = rig_counter(&rig, "kvnet.tx.budget_exhausted") + 1;
	ksft_note("256 packets of %ld pieces: %ld polls", pieces, polls);
	if (order == ALONE)
		EXPECT_LE(polls, 3);
	else
		EXPECT_LE(256 * pieces / polls, POLL_PIECES);
	rig_close(&rig);
}

CASE_TIMED(tx_packets_of_many_pieces_fit_budget, 60)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	one_ring(ALONE, 1);
	one_ring(IN_ORDER, PIECES);
	one_ring(JUMPING, PIECES);
}

/* Packets as usual guests send them fit one poll. */
CASE(tx_packets_of_few_pieces_take_one_poll)
{
	const struct shape s = { .piece = 94, .indirect = true };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 250; i++)
		ASSERT_EQ(rig_tx(&rig, 1400, &s), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 10000);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets"), 250);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.budget_exhausted"), 0);
}

#define FRAMES	400		/* that wait for buffers */

static void frames_ahead(const struct rig_cfg *cfg, uint32_t len)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, cfg);
	for (i = 0; i < FRAMES; i++)
		rig_inject(&rig, i, len);
}

/* The counter comes to count all frames, of so many pieces each. */
static void fit_budget(const char *counter, long each)
{
	long polls;

	EXPECT(WAIT_FOR(10000, rig_counter(&rig, counter) == FRAMES));
	polls = rig_counter(&rig, "kvnet.rx.budget_exhausted") + 1;
	ksft_note("%u frames of %ld pieces: %ld polls", FRAMES, each, polls);
	EXPECT_LE(FRAMES * each / polls, POLL_PIECES);
}

/* 72 buffers for each frame. */
CASE(rx_one_byte_buffers_fit_budget)
{
	frames_ahead(&(struct rig_cfg){ .rx_num = 32768, .bufs = 32768,
					.tx_buf = 64, .rx_buf = 1 }, 60);
	ASSERT_EQ(rig_rx_post(&rig, 32768, NULL), 32768);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	fit_budget("kvnet.rx.packets", 60 + 12);
}

/* Skipping buffers of no length counts as well. */
CASE(rx_empty_buffers_fit_budget)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	struct gr_buf b = { .write = true };
	const unsigned int each = 64;
	unsigned int i;

	frames_ahead(&(struct rig_cfg){ .rx_num = 32768, .bufs = 1024,
					.tx_buf = 64, .rx_buf = 128 }, 60);
	for (i = 0; i < each * FRAMES; i++) {
		b.ptr = q->bufs + i / each * q->buf_size;
		b.len = i % each == each - 1 ? q->buf_size : 0;
		ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, b.ptr) >= 0);
	}
	vdev_kick_always(q);
	fit_budget("kvnet.rx.packets", each);
	rig_close(&rig);
}

/* Each frame makes the device read all the buffers that a packet may have, in vain. */
CASE(rx_too_long_frames_fit_budget)
{
	frames_ahead(&(struct rig_cfg){ .rx_num = 2048, .bufs = 2048,
					.tx_buf = 64, .rx_buf = 1 }, 1500);
	ASSERT_EQ(rig_rx_post(&rig, 2048, NULL), 2048);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	fit_budget("kvnet.rx.drop_oversize", PIECES);
}

/* A buffer of a byte, and a table longer than a frame may have, not in order where it can be. */
static void show_byte_and_table(unsigned int count)
{
	struct gr_desc *table = vdev_alloc(&rig.v, 16ul * count, 4096);
	struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;
	uint64_t data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, 1, 16));
	uint64_t at = vdev_gpa(&rig.v, table);
	unsigned int i;

	for (i = 0; i < count; i++)
		if (packed())
			gr_raw_set_packed(&table[i], data, 0, 0, GR_DESC_F_WRITE);
		else
			gr_raw_set(&table[i], data, 0, GR_DESC_F_WRITE |
				   GR_DESC_F_NEXT, (i + 37) % count);
	if (packed()) {
		gr_raw_set_packed(gr_raw_desc(ring, 0), data, 1, 0, 0);
		gr_raw_set_packed(gr_raw_desc(ring, 1), at, 16 * count, 1,
				  GR_DESC_F_INDIRECT | gr_raw_lap(true, false));
		gr_raw_show(ring, 0, GR_DESC_F_WRITE | gr_raw_lap(true, false));
	} else {
		gr_raw_set(gr_raw_desc(ring, 0), data, 1, GR_DESC_F_WRITE, 0);
		gr_raw_set(gr_raw_desc(ring, 1), at, 16 * count, GR_DESC_F_INDIRECT, 0);
		gr_raw_avail(ring, 0, 0);
		gr_raw_avail(ring, 1, 1);
		gr_raw_avail_idx(ring, 2);
	}
	kick(VDEV_RX);
}

/* Each frame makes the device read as much of the table as a packet may have, in vain. */
CASE(rx_too_long_table_fits_budget)
{
	frames_ahead(&(struct rig_cfg){ 0 }, 60);
	show_byte_and_table(65536);
	fit_budget("kvnet.rx.drop_oversize", PIECES);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.broken"), 0);
	rig_close(&rig);
}

KSFT_MAIN()
