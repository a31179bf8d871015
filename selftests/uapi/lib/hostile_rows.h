/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of hostile_test.c: what a lying guest writes at descriptor 0, and
 * what must come of it.  Where in-tree vhost_net does otherwise, the row says;
 * where QEMU's own device does, selftests/qemu/qemu_hostile_test.c, which runs
 * them as well.  Documentation/conformance.rst names the rows with what they
 * violate.
 */
#ifndef SELFTESTS_HOSTILE_ROWS_H
#define SELFTESTS_HOSTILE_ROWS_H

#include "rig.h"

enum outcome {
	BROKEN,		/* error eventfd, nothing used */
	TAKEN,		/* a legal, if odd, buffer: it is used */
	DROPPED,	/* TX: it is used, and the row's counter counts it */
	WAITS,		/* nothing is used, and no error: the device waits for more */
	EITHER,		/* the text leaves it open: survive */
};

#define NEXT	GR_DESC_F_NEXT
#define WRITE	GR_DESC_F_WRITE
#define IND	GR_DESC_F_INDIRECT

static struct rig rig;
static uint64_t data;		/* guest address of 64 KiB for the rows */
static struct gr_desc *table;	/* and of an indirect table */
static uint64_t table_gpa;
static uint64_t mem_end;
static unsigned int queue;
static uint16_t head_flags;	/* packed: of descriptor 0, when it is shown */
static uint16_t head, shown_idx;	/* split: the entry, and the index behind it */

static bool packed(void)
{
	return rig.v.features & F_PACKED;
}

/* In a packed ring the next one is the next, and that is where "next" ends. */
static void desc(unsigned int i, uint64_t gpa, uint32_t len, uint16_t flags,
		 uint16_t next)
{
	struct gr_desc *d = gr_raw_desc(&rig.v.q[queue].ring, i);

	if (!packed()) {
		gr_raw_set(d, gpa, len, flags, next);
		return;
	}
	flags &= ~(GR_PACKED_F_AVAIL | GR_PACKED_F_USED);
	flags |= gr_raw_lap(true, false);
	gr_raw_set_packed(d, gpa, len, i, i ? flags : 0);
	if (!i)
		head_flags = flags;
}

static void in_table(unsigned int i, uint64_t gpa, uint32_t len, uint16_t flags,
		     uint16_t next)
{
	if (packed())
		gr_raw_set_packed(&table[i], gpa, len, next, flags);
	else
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

static void indirect_of_1000_entries(void)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		in_table(i, data + i, 1, dir() | (i < 999 ? NEXT : 0), i + 1);
	desc(0, table_gpa, 1000 * 16, IND, 0);
}

static void indirect_behind_a_chain(void)
{
	in_table(0, data + 60, 1540, dir(), 0);
	desc(0, data, 30, dir() | NEXT, 1);
	desc(1, data + 30, 30, dir() | NEXT, 2);
	desc(2, table_gpa, 16, IND, 0);
}

/* With IN_ORDER each is to be the one behind the last. */
static void next_not_in_order(void)
{
	desc(0, data, 100, dir() | NEXT, 5);
	desc(5, data + 100, 100, dir() | NEXT, 2);
	desc(2, data + 200, 1400, dir(), 0);
}

static void indirect_not_in_order(void)
{
	in_table(0, data, 100, dir() | NEXT, 2);
	in_table(2, data + 100, 100, dir() | NEXT, 1);
	in_table(1, data + 200, 1400, dir(), 0);
	desc(0, table_gpa, 48, IND, 0);
}

static void head_not_in_order(void)
{
	desc(7, data, 1600, dir(), 0);
	head = 7;
}

static void head_out_of_range(void)
{
	head = 256;
}

static void head_far_out_of_range(void)
{
	head = 65535;
}

static void avail_idx_jumps_by_num_and_one(void)
{
	desc(0, data, 1600, dir(), 0);
	shown_idx = 257;
}

static void avail_idx_goes_back(void)
{
	desc(0, data, 1600, dir(), 0);
	shown_idx = 65535;
}

/* Of a list, only the first descriptor is made available. */
static void rest_not_made_available(void)
{
	desc(0, data, 100, dir() | NEXT, 1);
	gr_raw_set_packed(gr_raw_desc(&rig.v.q[queue].ring, 1), data + 100, 1500, 1,
			  dir());
}

static void available_in_the_other_lap(void)
{
	desc(0, data, 1600, dir(), 0);
	head_flags = dir() | gr_raw_lap(false, false);
}

static void id_beyond_the_ring(void)
{
	desc(0, data, 1600, dir(), 0);
	gr_raw_set_packed(gr_raw_desc(&rig.v.q[queue].ring, 0), data, 1600, 65535, 0);
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

/* The first one is large enough for a frame: it reaches no ring. */
static void gigabytes_in_one_chain(void)
{
	unsigned int i;

	desc(0, data, 1600, dir() | NEXT, 1);
	for (i = 1; i < 255; i++)
		desc(i, VDEV_GPA, 7 << 20, dir() | NEXT, i + 1);
	desc(255, data, 100, dir(), 0);
}

static void more_than_4g_in_one_chain(void)
{
	uint32_t half = rig.v.mem_size / 2;
	unsigned int i;

	in_table(0, data, 1600, dir() | NEXT, 1);
	for (i = 1; i < 1000; i++)
		in_table(i, VDEV_GPA, half, dir() | (i < 999 ? NEXT : 0), i + 1);
	ASSERT(999ull * half >> 32);
	desc(0, table_gpa, 1000 * 16, IND, 0);
}

static void ring_without_an_end(void)
{
	unsigned int i;

	for (i = 0; i < 256; i++)
		desc(i, data, 1, dir() | NEXT, i);
}

static void indirect_in_a_list(void)
{
	in_table(0, data, 100, dir(), 0);
	desc(0, data, 100, dir() | NEXT, 1);
	desc(1, table_gpa, 16, IND, 0);
}

/* 2.8.7: in a table, flags but WRITE mean nothing */
static void indirect_with_odd_flags(void)
{
	in_table(0, data, 800, dir() | IND | NEXT, 77);
	in_table(1, data + 800, 800, dir() | 0xfff8 | IND | NEXT, 0);
	desc(0, table_gpa, 32, IND, 0);
}

static void unknown_flags(void)
{
	desc(0, data, 1600, dir() | 0xfff8, 0);
}

static const struct attack {
	const char *name;
	void (*prepare)(void);
	enum outcome outcome[2];	/* VDEV_RX, VDEV_TX */
	enum { BOTH, SPLIT, PACKED } layout;
	const char *counter;		/* of DROPPED */
	const char *vhost_why;		/* EITHER, with vhost_net */
} attacks[] = {
#define A(f, o, ...)	{ #f, f, { o, o }, __VA_ARGS__ }
#define S(f, o)		A(f, o, SPLIT)
#define P(f, o)		A(f, o, PACKED)
#define D(f, rx, c, why) { #f, f, { rx, DROPPED }, .counter = c, .vhost_why = why }
	S(loop_to_itself, BROKEN), S(loop_of_two, BROKEN),
	S(loop_of_empty_ones, BROKEN), S(next_out_of_range, BROKEN),
	S(head_out_of_range, BROKEN), S(head_far_out_of_range, BROKEN),
	S(avail_idx_jumps_by_num_and_one, BROKEN), S(avail_idx_goes_back, BROKEN),
	S(head_not_in_order, TAKEN), S(next_not_in_order, TAKEN),
	S(indirect_not_in_order, TAKEN), S(indirect_behind_a_chain, TAKEN),
	P(ring_without_an_end, BROKEN), P(indirect_in_a_list, BROKEN),
	P(indirect_with_odd_flags, TAKEN), P(rest_not_made_available, TAKEN),
	P(id_beyond_the_ring, TAKEN), P(available_in_the_other_lap, WAITS),
	A(outside_memory, BROKEN),
	A(address_zero, BROKEN), A(beyond_the_end, BROKEN),
	A(before_the_start, BROKEN), A(address_wraps, BROKEN),
	A(length_of_4g, BROKEN), A(second_is_outside, BROKEN),
	A(wrong_direction, BROKEN), A(wrong_direction_last, BROKEN),
	A(readable_after_writable, BROKEN), A(indirect_of_no_entry, BROKEN),
	A(indirect_of_odd_length, BROKEN),
	A(indirect_shorter_than_an_entry, BROKEN),
	A(indirect_outside_memory, BROKEN),
	S(indirect_in_indirect, BROKEN), S(indirect_next_out_of_table, BROKEN),
	S(indirect_loop, BROKEN), A(indirect_of_65537_entries, BROKEN),
	A(indirect_with_next, BROKEN, .vhost_why = "follows both"),
	A(indirect_entry_outside, BROKEN), A(indirect_wrong_direction, BROKEN),
	A(indirect_marked_writable, TAKEN),
	A(indirect_longer_than_the_queue, BROKEN),
	A(indirect_of_1000_entries, TAKEN),
	A(empty_one_in_between, TAKEN), A(unknown_flags, TAKEN),
	D(nothing_in_it, WAITS, "drop_short", "TX: an error"),
	D(shorter_than_the_header, WAITS, "drop_short", "TX: tried again for ever"),
	D(gigabytes_in_one_chain, TAKEN, "drop_long", "left to the tap"),
	D(more_than_4g_in_one_chain, TAKEN, "drop_long", "left to the tap"),
};

#endif /* SELFTESTS_HOSTILE_ROWS_H */
