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

/*
 * What a row writes: descriptors of the ring, and entries of the indirect table. Addresses count
 * from where the rows' memory is, or are guest addresses as they stand.
 */
#define DATA	(1ull << 60)	/* memory for buffers */
#define TABLE	(2ull << 60)	/* the indirect table */
#define END	(3ull << 60)	/* behind the guest's last byte */
#define DIR	0x10000		/* WRITE, if the queue is one whose buffers are to be writable */
#define NOT_DIR	0x20000		/* the contrary */

struct row_desc {
	enum { NO_DESC, IN_RING, IN_TABLE } where;
	unsigned int at;	/* its number there */
	uint64_t addr;
	uint32_t len;
	uint32_t flags;
	uint16_t next;
};

#define DESC(...)	{ IN_RING, __VA_ARGS__ }
#define ENTRY(...)	{ IN_TABLE, __VA_ARGS__ }

static uint64_t row_addr(uint64_t addr)
{
	const uint64_t base[] = { 0, data, table_gpa, mem_end };
	unsigned int which = (addr + DATA / 2) / DATA;	/* an offset may be negative */

	return base[which] + addr - which * DATA;
}

static uint16_t row_flags(uint32_t flags)
{
	if (flags & DIR)
		flags |= dir();
	if (flags & NOT_DIR)
		flags |= dir() ^ WRITE;
	return flags;
}

/* A table of so many entries, of a byte each. */
static void show_long_table(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		in_table(i, data + i, 1, dir() | (i + 1 < n ? NEXT : 0), i + 1);
	desc(0, table_gpa, n * 16, IND, 0);
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

static const struct attack {
	const char *name;
	enum outcome outcome[2];	/* VDEV_RX, VDEV_TX */
	enum { BOTH, SPLIT, PACKED } layout;
	struct row_desc desc[4];
	uint16_t head, shown_idx;	/* split: the entry, and the index behind it; 0: 1 */
	unsigned int long_table;	/* a table of so many entries */
	void (*prepare)(void);		/* writes anything else */
	const char *counter;		/* of DROPPED */
	const char *vhost_why;		/* EITHER, with vhost_net */
} attacks[] = {
#define A(name, o, ...)		{ #name, { o, o }, BOTH, __VA_ARGS__ }
#define S(name, o, ...)		{ #name, { o, o }, SPLIT, __VA_ARGS__ }
#define P(name, o, ...)		{ #name, { o, o }, PACKED, __VA_ARGS__ }
#define D(name, rx, ...)	{ #name, { rx, DROPPED }, BOTH, __VA_ARGS__ }

	/* chains without an end, or that leave the ring */
	S(loop_to_itself, BROKEN, { DESC(0, DATA, 100, DIR | NEXT, 0) }),
	S(loop_of_two, BROKEN,
	  { DESC(0, DATA, 100, DIR | NEXT, 1), DESC(1, DATA, 100, DIR | NEXT, 0) }),
	S(loop_of_empty_ones, BROKEN,
	  { DESC(0, DATA, 0, DIR | NEXT, 1), DESC(1, DATA, 0, DIR | NEXT, 1) }),
	S(next_out_of_range, BROKEN, { DESC(0, DATA, 100, DIR | NEXT, 256) }),
	P(ring_without_an_end, BROKEN, .prepare = ring_without_an_end),

	/* the avail ring, and what a packed ring has in its place */
	S(head_out_of_range, BROKEN, .head = 256),
	S(head_far_out_of_range, BROKEN, .head = 65535),
	S(avail_idx_jumps_by_num_and_one, BROKEN, { DESC(0, DATA, 1600, DIR) }, .shown_idx = 257),
	S(avail_idx_goes_back, BROKEN, { DESC(0, DATA, 1600, DIR) }, .shown_idx = 65535),
	P(rest_not_made_available, TAKEN, .prepare = rest_not_made_available),
	P(id_beyond_the_ring, TAKEN, .prepare = id_beyond_the_ring),
	P(available_in_the_other_lap, WAITS, .prepare = available_in_the_other_lap),

	/* with IN_ORDER each is to be the one behind the last */
	S(head_not_in_order, TAKEN, { DESC(7, DATA, 1600, DIR) }, .head = 7),
	S(next_not_in_order, TAKEN,
	  { DESC(0, DATA, 100, DIR | NEXT, 5),
	    DESC(5, DATA + 100, 100, DIR | NEXT, 2),
	    DESC(2, DATA + 200, 1400, DIR) }),
	S(indirect_not_in_order, TAKEN,
	  { DESC(0, TABLE, 48, IND),
	    ENTRY(0, DATA, 100, DIR | NEXT, 2),
	    ENTRY(2, DATA + 100, 100, DIR | NEXT, 1),
	    ENTRY(1, DATA + 200, 1400, DIR) }),

	/* addresses and lengths */
	A(outside_memory, BROKEN, { DESC(0, END + (1 << 20), 100, DIR) }),
	A(address_zero, BROKEN, { DESC(0, 0, 100, DIR) }),
	A(beyond_the_end, BROKEN, { DESC(0, END - 50, 100, DIR) }),
	A(before_the_start, BROKEN, { DESC(0, VDEV_GPA - 50, 100, DIR) }),
	A(address_wraps, BROKEN, { DESC(0, -50ull, 100, DIR) }),
	A(length_of_4g, BROKEN, { DESC(0, DATA, 0xffffffff, DIR) }),
	A(second_is_outside, BROKEN,
	  { DESC(0, DATA, 100, DIR | NEXT, 1), DESC(1, END, 100, DIR) }),
	A(empty_one_in_between, TAKEN,
	  { DESC(0, DATA, 12, DIR | NEXT, 1),
	    DESC(1, DATA + 12, 0, DIR | NEXT, 2),
	    DESC(2, DATA + 12, 1600, DIR) }),
	D(nothing_in_it, WAITS, { DESC(0, DATA, 0, DIR) },
	  .counter = "drop_short", .vhost_why = "TX: an error"),
	D(shorter_than_the_header, WAITS, { DESC(0, DATA, 5, DIR) },
	  .counter = "drop_short", .vhost_why = "TX: tried again for ever"),
	D(gigabytes_in_one_chain, TAKEN, .prepare = gigabytes_in_one_chain,
	  .counter = "drop_long", .vhost_why = "left to the tap"),
	D(more_than_4g_in_one_chain, TAKEN, .prepare = more_than_4g_in_one_chain,
	  .counter = "drop_long", .vhost_why = "left to the tap"),

	/* flags */
	A(wrong_direction, BROKEN, { DESC(0, DATA, 100, NOT_DIR) }),
	A(wrong_direction_last, BROKEN,
	  { DESC(0, DATA, 100, NEXT, 1), DESC(1, DATA + 100, 100, WRITE) }),
	A(readable_after_writable, BROKEN,
	  { DESC(0, DATA, 100, WRITE | NEXT, 1), DESC(1, DATA + 100, 100, 0) }),
	A(unknown_flags, TAKEN, { DESC(0, DATA, 1600, DIR | 0xfff8) }),

	/* indirect tables */
	A(indirect_of_no_entry, BROKEN, { DESC(0, TABLE, 0, IND) }),
	A(indirect_of_odd_length, BROKEN,
	  { DESC(0, TABLE, 24, IND), ENTRY(0, DATA, 100, DIR) }),
	A(indirect_shorter_than_an_entry, BROKEN,
	  { DESC(0, TABLE, 8, IND), ENTRY(0, DATA, 100, DIR) }),
	A(indirect_outside_memory, BROKEN, { DESC(0, END + 4096, 32, IND) }),
	A(indirect_of_65537_entries, BROKEN, { DESC(0, VDEV_GPA, 65537 * 16, IND) }),
	A(indirect_longer_than_the_queue, BROKEN, .long_table = 1500),
	A(indirect_of_1000_entries, TAKEN, .long_table = 1000),
	A(indirect_entry_outside, BROKEN,
	  { DESC(0, TABLE, 32, IND),
	    ENTRY(0, DATA, 100, DIR | NEXT, 1),
	    ENTRY(1, END, 100, DIR) }),
	A(indirect_wrong_direction, BROKEN,
	  { DESC(0, TABLE, 16, IND), ENTRY(0, DATA, 100, NOT_DIR) }),
	/* 2.7.5.3.2: ignored */
	A(indirect_marked_writable, TAKEN,
	  { DESC(0, TABLE, 16, IND | WRITE), ENTRY(0, DATA, 1600, DIR) }),
	A(indirect_with_next, BROKEN,
	  { DESC(0, TABLE, 16, IND | NEXT, 1),
	    ENTRY(0, DATA, 100, DIR),
	    DESC(1, DATA, 100, DIR) },
	  .vhost_why = "follows both"),
	S(indirect_behind_a_chain, TAKEN,
	  { DESC(0, DATA, 30, DIR | NEXT, 1),
	    DESC(1, DATA + 30, 30, DIR | NEXT, 2),
	    DESC(2, TABLE, 16, IND),
	    ENTRY(0, DATA + 60, 1540, DIR) }),
	P(indirect_in_a_list, BROKEN,
	  { DESC(0, DATA, 100, DIR | NEXT, 1),
	    DESC(1, TABLE, 16, IND),
	    ENTRY(0, DATA, 100, DIR) }),
	S(indirect_in_indirect, BROKEN,
	  { DESC(0, TABLE, 16, IND), ENTRY(0, TABLE, 16, IND) }),
	S(indirect_next_out_of_table, BROKEN,
	  { DESC(0, TABLE, 16, IND), ENTRY(0, DATA, 100, DIR | NEXT, 1) }),
	S(indirect_loop, BROKEN,
	  { DESC(0, TABLE, 32, IND),
	    ENTRY(0, DATA, 100, DIR | NEXT, 1),
	    ENTRY(1, DATA, 100, DIR | NEXT, 0) }),
	/* 2.8.7: in a table, flags but WRITE mean nothing */
	P(indirect_with_odd_flags, TAKEN,
	  { DESC(0, TABLE, 32, IND),
	    ENTRY(0, DATA, 800, DIR | IND | NEXT, 77),
	    ENTRY(1, DATA + 800, 800, DIR | 0xfff8 | IND | NEXT) }),
};

/* Writes the row's descriptors; 'head' and 'shown_idx' say what is to be shown. */
static void attack_prepare(const struct attack *a)
{
	const struct row_desc *d;

	head = a->head;
	shown_idx = a->shown_idx ? a->shown_idx : 1;
	for (d = a->desc; d < a->desc + 4 && d->where != NO_DESC; d++) {
		if (d->where == IN_RING)
			desc(d->at, row_addr(d->addr), d->len, row_flags(d->flags), d->next);
		else
			in_table(d->at, row_addr(d->addr), d->len, row_flags(d->flags), d->next);
	}
	if (a->long_table)
		show_long_table(a->long_table);
	if (a->prepare)
		a->prepare();
}

#endif /* SELFTESTS_HOSTILE_ROWS_H */
