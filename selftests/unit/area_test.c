// SPDX-License-Identifier: GPL-2.0
/* Areas in pieces are the same bytes as an area in one. */
#include "area.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "unit.h"

#define MAX_LEN		512

static struct scattered {
	struct kvnet_area area;
	struct kvnet_area_piece piece[KVNET_AREA_PIECES];
	uintptr_t user[MAX_LEN];	/* where each byte is, for the user */
	u32 left[MAX_LEN];		/* from there to its piece's end */
	u8 *mem;
} the_area;

/* Cut @len bytes where @cut says; every piece is a window of its own. */
static struct scattered *scatter(u32 len, bool (*cut)(u32 at))
{
	struct scattered *s = &the_area;
	uintptr_t user = 0x5000;
	u32 off, end, i;

	shim_reset();
	memset(s, 0, sizeof(*s));
	s->mem = malloc(len);
	for (i = 0; i < len; i++)
		s->mem[i] = unit_rand();
	s->area.piece = s->piece;
	s->area.len = len;
	for (off = 0; off < len; off = end) {
		for (end = off + 1; end < len; end++)
			if (s->area.n < KVNET_AREA_PIECES - 1 && cut(end))
				break;
		/* up, down, and sometimes right behind the one before */
		if (!unit_chance(5))
			user = (u64)unit_rand() << 20 | s->area.n << 12;
		s->piece[s->area.n].base = (void *)user;
		s->piece[s->area.n++].off = off;
		shim_map(user, s->mem + off, end - off);
		for (i = off; i < end; i++, user++) {
			s->user[i] = user;
			s->left[i] = end - i;
		}
	}
	return s;
}

static void gather(struct scattered *s)
{
	free(s->mem);
	shim_reset();
}

static bool cut_all(u32 at)
{
	return true;
}

static bool cut_none(u32 at)
{
	return false;
}

static bool cut_some(u32 at)
{
	return unit_chance(20);
}

static bool cut_often(u32 at)
{
	return unit_chance(3);
}

static struct scattered *some_area(void)
{
	static bool (*const cuts[])(u32 at) = {
		cut_all, cut_none, cut_some, cut_often,
	};

	return scatter(1 + unit_below(unit_chance(3) ? 9 : MAX_LEN),
		       cuts[unit_below(4)]);
}

CASE(area_find_every_offset)
{
	struct scattered *s;
	unsigned int round;
	u32 off, len, want;
	void *p;

	for (round = 0; round < 300 && !unit_failed(); round++) {
		s = some_area();
		for (off = 0; off < s->area.len; off++) {
			unit_context("%u pieces, len %u, off %u", s->area.n,
				     s->area.len, off);
			want = unit_chance(3) ? U32_MAX : 1 + unit_below(40);
			len = want;
			p = kvnet_area_find(&s->area, off, &len);
			EXPECT_EQ((uintptr_t)p, s->user[off]);
			EXPECT_EQ(len, min_t(u32, want, s->left[off]));
		}
		for (; off < 2 * MAX_LEN; off += 1 + unit_below(9)) {
			len = 1;
			EXPECT_TRUE(!kvnet_area_find(&s->area, off, &len));
			EXPECT_EQ(len, 0);
		}
		len = 2;
		EXPECT_TRUE(!kvnet_area_find(&s->area, U32_MAX, &len));
		EXPECT_EQ(len, 0);
		gather(s);
	}
}

/* An area in one piece has no list of them. */
CASE(area_find_in_one_piece)
{
	struct kvnet_area a = { .base = (void *)0x5000, .len = 64 };
	u32 off, len, want;

	for (off = 0; off < 64; off++) {
		for (want = 1; want < 70; want++) {
			len = want;
			EXPECT_EQ((uintptr_t)kvnet_area_find(&a, off, &len),
				  0x5000 + off);
			EXPECT_EQ(len, min_t(u32, want, 64 - off));
		}
	}
	len = 1;
	EXPECT_TRUE(!kvnet_area_find(&a, 64, &len));
	EXPECT_EQ(len, 0);
}

CASE(area_of_nothing)
{
	struct kvnet_area a = { 0 };
	__virtio16 val;
	u32 len = 1;
	u8 byte = 0;

	shim_reset();
	EXPECT_TRUE(!kvnet_area_find(&a, 0, &len));
	EXPECT_EQ(len, 0);
	a.len = 16;
	EXPECT_EQ(kvnet_area_load16(&a, 0, &val), -EFAULT);
	EXPECT_EQ(kvnet_area_store16(&a, 0, 0), -EFAULT);
	EXPECT_EQ(kvnet_area_read(&byte, &a, 0, 1), -EFAULT);
	EXPECT_EQ(kvnet_area_write(&a, 0, &byte, 1), -EFAULT);
	EXPECT_EQ(kvnet_area_read(&byte, &a, 0, 0), 0);
	EXPECT_EQ(kvnet_area_write(&a, 0, &byte, 0), 0);
	EXPECT_EQ(shim_outside(), 0);
}

static void copy_round(struct scattered *s)
{
	u32 off = unit_below(s->area.len + 1);
	u32 len = unit_below(s->area.len - off + 1), i;
	u8 buf[MAX_LEN + 2], was[MAX_LEN];

	memset(buf, 0x5a, sizeof(buf));
	EXPECT_EQ(kvnet_area_read(buf + 1, &s->area, off, len), 0);
	EXPECT_TRUE(!memcmp(buf + 1, s->mem + off, len));
	EXPECT_EQ(buf[0], 0x5a);
	EXPECT_EQ(buf[1 + len], 0x5a);

	memcpy(was, s->mem, s->area.len);
	for (i = 0; i < len; i++)
		buf[i] = unit_rand();
	EXPECT_EQ(kvnet_area_write(&s->area, off, buf, len), 0);
	memcpy(was + off, buf, len);
	EXPECT_TRUE(!memcmp(was, s->mem, s->area.len));

	/* one byte too many */
	len = s->area.len - off + 1;
	EXPECT_EQ(kvnet_area_read(buf, &s->area, off, len), -EFAULT);
	EXPECT_EQ(kvnet_area_write(&s->area, off, buf, len), -EFAULT);
	memcpy(was, s->mem, s->area.len);
	EXPECT_EQ(kvnet_area_read(buf, &s->area, s->area.len + 1, 1), -EFAULT);
	EXPECT_EQ(kvnet_area_write(&s->area, s->area.len + 1, buf, 1), -EFAULT);
	EXPECT_TRUE(!memcmp(was, s->mem, s->area.len));
	EXPECT_EQ(shim_outside(), 0);
}

CASE(area_copies_against_flat)
{
	struct scattered *s;
	unsigned int i, k;

	for (i = 0; i < 1000 && !unit_failed(); i++) {
		s = some_area();
		for (k = 0; k < 20; k++)
			copy_round(s);
		gather(s);
	}
}

/* A field is in one piece, or it is a fault; even ones are aligned. */
CASE(area_fields)
{
	struct scattered *s;
	unsigned int round;
	__virtio16 val;
	u16 was, want;
	bool whole;
	u32 off;

	for (round = 0; round < 300 && !unit_failed(); round++) {
		s = some_area();
		for (off = 0; off < s->area.len; off += 2) {
			unit_context("%u pieces, len %u, off %u", s->area.n,
				     s->area.len, off);
			whole = s->left[off] > 1;
			memcpy(&was, s->mem + off, whole ? 2 : 1);
			EXPECT_EQ(kvnet_area_load16(&s->area, off, &val),
				  whole ? 0 : -EFAULT);
			if (whole)
				EXPECT_EQ(val, was);
			want = unit_rand();
			EXPECT_EQ(kvnet_area_store16(&s->area, off, want),
				  whole ? 0 : -EFAULT);
			if (whole)
				EXPECT_TRUE(!memcmp(s->mem + off, &want, 2));
			else
				EXPECT_TRUE(!memcmp(s->mem + off, &was, 1));
		}
		for (; off < s->area.len + 9; off++) {
			EXPECT_EQ(kvnet_area_load16(&s->area, off, &val), -EFAULT);
			EXPECT_EQ(kvnet_area_store16(&s->area, off, 0), -EFAULT);
		}
		EXPECT_EQ(shim_outside(), 0);
		gather(s);
	}
}

/* The memory of one piece is gone. */
CASE(area_piece_unmapped)
{
	struct scattered *s = scatter(64, cut_all);
	u8 buf[64];
	u32 gone;

	for (gone = 0; gone < 64; gone++) {
		s->piece[gone].base = (void *)0x10;
		EXPECT_EQ(kvnet_area_read(buf, &s->area, 0, 64), -EFAULT);
		EXPECT_EQ(kvnet_area_read(buf, &s->area, 0, gone), 0);
		EXPECT_EQ(kvnet_area_read(buf, &s->area, gone + 1, 63 - gone), 0);
		EXPECT_EQ(kvnet_area_write(&s->area, 0, buf, 64), -EFAULT);
		EXPECT_EQ(kvnet_area_write(&s->area, gone, buf, 1), -EFAULT);
		s->piece[gone].base = (void *)s->user[gone];
	}
	EXPECT_EQ(kvnet_area_read(buf, &s->area, 0, 64), 0);
	gather(s);
}
