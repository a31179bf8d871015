/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of hostile_test.c: what a lying guest writes at descriptor 0, and
 * what must come of it.  Where in-tree vhost_net does otherwise, the row says.
 */
#ifndef SELFTESTS_HOSTILE_ROWS_H
#define SELFTESTS_HOSTILE_ROWS_H

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
static uint64_t data;		/* guest address of 64 KiB for the rows */
static struct gr_desc *table;	/* and of an indirect table */
static uint64_t table_gpa;
static uint64_t mem_end;
static unsigned int queue;
static uint16_t head_flags;	/* packed: of descriptor 0, when it is shown */

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
	enum outcome outcome;
	const char *vhost_why;
	enum outcome vhost_outcome;
	enum { BOTH, SPLIT, PACKED } layout;
} attacks[] = {
#define A(f, ...)	{ #f, f, __VA_ARGS__ }
#define S(f, o)		{ #f, f, o, .layout = SPLIT }
#define P(f, o)		{ #f, f, o, .layout = PACKED }
	S(loop_to_itself, BROKEN), S(loop_of_two, BROKEN),
	S(loop_of_empty_ones, BROKEN), S(next_out_of_range, BROKEN),
	P(ring_without_an_end, BROKEN), P(indirect_in_a_list, BROKEN),
	P(indirect_with_odd_flags, TAKEN),
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
	A(indirect_with_next, BROKEN, "follows both", EITHER),
	A(indirect_entry_outside, BROKEN), A(indirect_wrong_direction, BROKEN),
	A(indirect_marked_writable, TAKEN),
	A(indirect_longer_than_the_queue, BROKEN),
	A(nothing_in_it, EITHER), A(shorter_than_the_header, EITHER),
	A(empty_one_in_between, TAKEN), A(gigabytes_in_one_chain, EITHER),
	A(unknown_flags, EITHER),
};

#endif /* SELFTESTS_HOSTILE_ROWS_H */
