// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that lies: each row writes contents that the specification forbids
 * into a ring.  The queue's error eventfd says so, the buffer is not used, the
 * other queue lives on, and after a stop and a start the device is as new.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"

enum outcome {
	BROKEN,		/* error eventfd, nothing used */
	TAKEN,		/* a legal, if odd, buffer: it is used */
	EITHER,		/* the text leaves it open: survive */
};

#define NEXT	GR_DESC_F_NEXT
#define WRITE	GR_DESC_F_WRITE
#define IND	GR_DESC_F_INDIRECT

static struct rig rig;
static uint64_t data;		/* guest address of 64 KiB that nobody uses */
static struct gr_desc *table;	/* and of an indirect table */
static uint64_t table_gpa;
static uint64_t mem_end;
static unsigned int queue;

static void desc(unsigned int i, uint64_t gpa, uint32_t len, uint16_t flags,
		 uint16_t next)
{
	gr_raw_set(gr_raw_desc(&rig.v.q[queue].ring, i), gpa, len, flags, next);
}

static void in_table(unsigned int i, uint64_t gpa, uint32_t len, uint16_t flags,
		     uint16_t next)
{
	gr_raw_set(&table[i], gpa, len, flags, next);
}

static uint16_t dir(void)
{
	return queue == VDEV_RX ? WRITE : 0;
}

static void loop_to_itself(void)
{
	desc(0, data, 100, dir() | NEXT, 0);
}

static void loop_of_two(void)
{
	desc(0, data, 100, dir() | NEXT, 1);
	desc(1, data, 100, dir() | NEXT, 0);
}

static void loop_of_empty_ones(void)
{
	desc(0, data, 0, dir() | NEXT, 1);
	desc(1, data, 0, dir() | NEXT, 1);
}

static void next_out_of_range(void)
{
	desc(0, data, 100, dir() | NEXT, 256);
}

static void outside_memory(void)
{
	desc(0, mem_end + (1 << 20), 100, dir(), 0);
}

static void address_zero(void)
{
	desc(0, 0, 100, dir(), 0);
}

static void beyond_the_end(void)
{
	desc(0, mem_end - 50, 100, dir(), 0);
}

static void before_the_start(void)
{
	desc(0, VDEV_GPA - 50, 100, dir(), 0);
}

static void address_wraps(void)
{
	desc(0, -50ull, 100, dir(), 0);
}

static void length_of_4g(void)
{
	desc(0, data, 0xffffffff, dir(), 0);
}

static void second_is_outside(void)
{
	desc(0, data, 100, dir() | NEXT, 1);
	desc(1, mem_end, 100, dir(), 0);
}

static void wrong_direction(void)
{
	desc(0, data, 100, dir() ^ WRITE, 0);
}

static void wrong_direction_last(void)
{
	desc(0, data, 100, NEXT, 1);
	desc(1, data + 100, 100, WRITE, 0);
}

static void readable_after_writable(void)
{
	desc(0, data, 100, WRITE | NEXT, 1);
	desc(1, data + 100, 100, 0, 0);
}

static void indirect_of_no_entry(void)
{
	desc(0, table_gpa, 0, IND, 0);
}

static void indirect_of_odd_length(void)
{
	in_table(0, data, 100, dir(), 0);
	desc(0, table_gpa, 24, IND, 0);
}

static void indirect_shorter_than_an_entry(void)
{
	in_table(0, data, 100, dir(), 0);
	desc(0, table_gpa, 8, IND, 0);
}

static void indirect_outside_memory(void)
{
	desc(0, mem_end + 4096, 32, IND, 0);
}

static void indirect_in_indirect(void)
{
	in_table(0, table_gpa, 16, IND, 0);
	desc(0, table_gpa, 16, IND, 0);
}

static void indirect_next_out_of_table(void)
{
	in_table(0, data, 100, dir() | NEXT, 1);
	desc(0, table_gpa, 16, IND, 0);
}

static void indirect_loop(void)
{
	in_table(0, data, 100, dir() | NEXT, 1);
	in_table(1, data, 100, dir() | NEXT, 0);
	desc(0, table_gpa, 32, IND, 0);
}

static void indirect_of_65537_entries(void)
{
	in_table(0, data, 100, dir(), 0);
	desc(0, VDEV_GPA, 65537 * 16, IND, 0);
}

static void indirect_with_next(void)
{
	in_table(0, data, 100, dir(), 0);
	desc(0, table_gpa, 16, IND | NEXT, 1);
	desc(1, data, 100, dir(), 0);
}

static void indirect_entry_outside(void)
{
	in_table(0, data, 100, dir() | NEXT, 1);
	in_table(1, mem_end, 100, dir(), 0);
	desc(0, table_gpa, 32, IND, 0);
}

static void indirect_wrong_direction(void)
{
	in_table(0, data, 100, dir() ^ WRITE, 0);
	desc(0, table_gpa, 16, IND, 0);
}

static void indirect_marked_writable(void)
{
	in_table(0, data, 1600, dir(), 0);
	desc(0, table_gpa, 16, IND | WRITE, 0);	/* 2.7.5.3.2: ignored */
}

static void indirect_longer_than_the_queue(void)
{
	unsigned int i;

	for (i = 0; i < 1500; i++)
		in_table(i, data + i, 1, dir() | (i < 1499 ? NEXT : 0), i + 1);
	desc(0, table_gpa, 1500 * 16, IND, 0);
}

static void nothing_in_it(void)
{
	desc(0, data, 0, dir(), 0);
}

static void shorter_than_the_header(void)
{
	desc(0, data, 5, dir(), 0);
}

static void empty_one_in_between(void)
{
	desc(0, data, 12, dir() | NEXT, 1);
	desc(1, data + 12, 0, dir() | NEXT, 2);
	desc(2, data + 12, 1600, dir(), 0);
}

static void gigabytes_in_one_chain(void)
{
	unsigned int i;

	for (i = 0; i < 255; i++)
		desc(i, VDEV_GPA, 7 << 20, dir() | NEXT, i + 1);
	desc(255, data, 100, dir(), 0);
}

static void unknown_flags(void)
{
	desc(0, data, 1600, dir() | 0xfff8, 0);
}

static const struct attack {
	const char *name;
	void (*prepare)(void);
	enum outcome outcome;
	const char *vhost_why;
	enum outcome vhost_outcome;
} attacks[] = {
#define A(f, ...)	{ #f, f, __VA_ARGS__ }
	A(loop_to_itself, BROKEN), A(loop_of_two, BROKEN),
	A(loop_of_empty_ones, BROKEN), A(next_out_of_range, BROKEN),
	A(outside_memory, BROKEN),
	A(address_zero, BROKEN), A(beyond_the_end, BROKEN),
	A(before_the_start, BROKEN), A(address_wraps, BROKEN),
	A(length_of_4g, BROKEN), A(second_is_outside, BROKEN),
	A(wrong_direction, BROKEN), A(wrong_direction_last, BROKEN),
	A(readable_after_writable, BROKEN), A(indirect_of_no_entry, BROKEN),
	A(indirect_of_odd_length, BROKEN),
	A(indirect_shorter_than_an_entry, BROKEN),
	A(indirect_outside_memory, BROKEN),
	A(indirect_in_indirect, BROKEN), A(indirect_next_out_of_table, BROKEN),
	A(indirect_loop, BROKEN), A(indirect_of_65537_entries, BROKEN),
	A(indirect_with_next, BROKEN, "follows both", EITHER),
	A(indirect_entry_outside, BROKEN), A(indirect_wrong_direction, BROKEN),
	A(indirect_marked_writable, TAKEN),
	A(indirect_longer_than_the_queue, BROKEN),
	A(nothing_in_it, EITHER), A(shorter_than_the_header, EITHER),
	A(empty_one_in_between, TAKEN), A(gigabytes_in_one_chain, EITHER),
	A(unknown_flags, EITHER),
};

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

static void push_head(uint16_t pos, uint16_t head, uint16_t idx)
{
	struct vdev_queue *q = &rig.v.q[queue];
	uint64_t one = 1;

	gr_raw_avail(&q->ring, pos, head);
	gr_raw_avail_idx(&q->ring, idx);
	ASSERT_EQ(write(q->kick, &one, 8), 8);
	if (queue == VDEV_RX)
		rig_inject(&rig, 1, 100);
}

static void judge(const char *name, enum outcome want)
{
	struct vdev_queue *q = &rig.v.q[queue];
	const char *side = queue == VDEV_RX ? "RX" : "TX";
	bool err, used;

	WAIT_FOR(want == EITHER ? 50 : 3000,
		 gr_raw_used_idx(&q->ring) || vdev_eventfd_wait(q->err, 0));
	err = vdev_eventfd_take(q->err);
	used = gr_raw_used_idx(&q->ring);
	if (want == BROKEN && !err)
		FAIL("%s %s: no error was signalled", side, name);
	if (want == BROKEN && used)
		FAIL("%s %s: the buffer was used", side, name);
	if (want == TAKEN && (!used || err))
		FAIL("%s %s: used %d, error %d", side, name, used, err);
	works(!queue);
	restart();
	works(VDEV_RX);
	works(VDEV_TX);
	restart();
}

static void setup(unsigned int q)
{
	queue = q;
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 2048, .rx_buf = 2048,
					  .regions = 2 });
	data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, 65536, 16));
	table = vdev_alloc(&rig.v, 65536, 16);
	table_gpa = vdev_gpa(&rig.v, table);
	mem_end = VDEV_GPA + rig.v.mem_size;
}

static void all_attacks(unsigned int q)
{
	bool vhost = vdev_is_vhost();
	size_t i;

	setup(q);
	for (i = 0; i < sizeof(attacks) / sizeof(*attacks); i++) {
		const struct attack *a = &attacks[i];

		a->prepare();
		push_head(0, 0, 1);
		judge(a->name, vhost && a->vhost_why ? a->vhost_outcome :
						       a->outcome);
	}
	push_head(0, 256, 1);
	judge("head out of range", BROKEN);
	push_head(0, 65535, 1);
	judge("head far out of range", BROKEN);
	push_head(0, 0, 257);
	judge("avail idx jumps by num + 1", BROKEN);
	push_head(0, 0, 65535);
	judge("avail idx goes back", BROKEN);
}

CASE_TIMED(transmit_attacks, 40)
{
	all_attacks(VDEV_TX);
}

CASE_TIMED(receive_attacks, 40)
{
	all_attacks(VDEV_RX);
}

/* The table says that there is memory where there is none. */
CASE(memory_that_is_not_there)
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

CASE(ring_that_goes_away)
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
		gr_raw_avail(&q->ring, i, ksft_below(257));
	}
}

CASE_TIMED(noise_in_the_rings, 60)
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

KSFT_MAIN()
