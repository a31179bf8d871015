// SPDX-License-Identifier: GPL-2.0
/* IOTLB misses: each reported once, resolved by an update that covers it. */
#include "iotlb_miss.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "unit.h"

#define RO	1
#define WO	2

unsigned long jiffies;

static struct kvnet_iotlb_misses new_misses(void)
{
	struct kvnet_iotlb_misses m = { .v2 = true };

	kvnet_iotlb_miss_init(&m);
	kvnet_iotlb_miss_reset(&m, true);
	m.wait.wakes = 0;
	return m;
}

static void expect_take(struct kvnet_iotlb_misses *m, u64 iova, u8 perm)
{
	struct kvnet_iotlb_miss miss = { 0 };

	EXPECT_TRUE(kvnet_iotlb_miss_is_queued(m));
	EXPECT_EQ(kvnet_iotlb_miss_dequeue(m, &miss), 0);
	EXPECT_EQ(miss.iova, iova);
	EXPECT_EQ(miss.perm, perm);
}

static void expect_none(struct kvnet_iotlb_misses *m, int ret)
{
	struct kvnet_iotlb_miss miss;

	EXPECT_TRUE(!kvnet_iotlb_miss_is_queued(m));
	EXPECT_EQ(kvnet_iotlb_miss_dequeue(m, &miss), ret);
}

CASE(miss_one_question)
{
	struct kvnet_iotlb_misses m = new_misses();

	expect_none(&m, -EAGAIN);
	kvnet_iotlb_miss_report(&m, 1, U64_MAX, WO);
	EXPECT_EQ(m.wait.wakes, 1);
	expect_take(&m, U64_MAX, WO);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX - 1), 0);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, U64_MAX, U64_MAX), 2);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, U64_MAX, U64_MAX), 0);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(m.wait.wakes, 1);
}

CASE(miss_two_questions)
{
	struct kvnet_iotlb_misses m = new_misses();

	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	kvnet_iotlb_miss_report(&m, 0, 200, RO);
	EXPECT_EQ(m.wait.wakes, 2);
	expect_take(&m, 200, RO);
	expect_take(&m, 100, WO);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 199), 2);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 200), 1);
}

/* The borders of an answer; one that was not even read is answered as well. */
CASE(miss_answers)
{
	static const struct { u64 iova, last; unsigned long queues; } rows[] = {
		{ 0, 99, 0 }, { 0, 100, 1 }, { 100, 100, 1 }, { 101, 199, 0 },
		{ 101, 200, 2 }, { 100, 200, 3 }, { 0, U64_MAX, 3 },
		{ 200, U64_MAX, 2 }, { 201, U64_MAX, 0 },
	};
	struct kvnet_iotlb_miss miss;
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		struct kvnet_iotlb_misses m = new_misses();
		unsigned long want = rows[i / 2].queues;

		unit_context("row %u, read %u", i / 2, i & 1);
		kvnet_iotlb_miss_report(&m, 0, 100, RO);
		kvnet_iotlb_miss_report(&m, 1, 200, RO);
		while (i & 1 && !kvnet_iotlb_miss_dequeue(&m, &miss))
			;
		EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, rows[i / 2].iova,
						   rows[i / 2].last), want);
		EXPECT_EQ(kvnet_iotlb_miss_is_queued(&m), !(i & 1) && want != 3);
		/* what is left */
		EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 3 & ~want);
		expect_none(&m, -EAGAIN);
	}
}

/* Each queue has its own miss, also of the same address; one answer is for both. */
CASE(miss_of_both_queues)
{
	struct kvnet_iotlb_misses m = new_misses();

	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	kvnet_iotlb_miss_report(&m, 1, 100, RO);
	EXPECT_EQ(m.wait.wakes, 2);
	expect_take(&m, 100, RO);
	expect_take(&m, 100, RO);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 3);

	/* the second has not been read by then */
	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 3);
	expect_none(&m, -EAGAIN);

	/* a miss after the answer is a new one */
	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 1);
}

/* Reported again while it waits: queued again only once read, and a second after that; the clock may wrap. */
CASE(miss_reported_again)
{
	struct kvnet_iotlb_misses m = new_misses();

	jiffies = -50UL;
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	jiffies += 1000;
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	EXPECT_EQ(m.wait.wakes, 1);
	expect_take(&m, 100, WO);
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	jiffies += HZ;
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	expect_none(&m, -EAGAIN);
	jiffies++;
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	EXPECT_EQ(m.wait.wakes, 2);
	expect_take(&m, 100, WO);
	kvnet_iotlb_miss_report(&m, 1, 100, WO);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 2);
	kvnet_iotlb_miss_report(&m, 1, 101, RO);
	expect_take(&m, 101, RO);
}

CASE(miss_cancelled)
{
	struct kvnet_iotlb_misses m = new_misses();

	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	kvnet_iotlb_miss_report(&m, 1, 100, RO);
	kvnet_iotlb_miss_cancel(&m, 0);
	expect_take(&m, 100, RO);
	kvnet_iotlb_miss_cancel(&m, 1);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 0);
	/* who asks again after that is heard */
	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 1);
}

CASE(miss_without_iommu)
{
	struct kvnet_iotlb_misses m = new_misses();

	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	kvnet_iotlb_miss_report(&m, 1, 200, RO);
	/* whoever waits has to be told */
	m.wait.wakes = 0;
	kvnet_iotlb_miss_reset(&m, false);
	EXPECT_EQ(m.wait.wakes, 1);
	expect_none(&m, -EBADFD);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 0);
	kvnet_iotlb_miss_reset(&m, true);
	expect_none(&m, -EAGAIN);
	EXPECT_TRUE(m.enabled && m.v2);
	/* a new one is a new beginning */
	kvnet_iotlb_miss_report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	kvnet_iotlb_miss_reset(&m, true);
	kvnet_iotlb_miss_report(&m, 1, 100, RO);
	expect_take(&m, 100, RO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 2);
}

/* The rule behind it all: the VMM reads each miss once, and the answer is for all that it covers. */
CASE(miss_random_walk)
{
	enum { NONE, QUEUED, PENDING } is[KVNET_IOTLB_MISS_QUEUES] = { NONE };
	struct kvnet_iotlb_misses m = new_misses();
	u64 asks[KVNET_IOTLB_MISS_QUEUES] = { 0 };
	struct kvnet_iotlb_miss miss;
	unsigned int i, q, want;
	u64 first;

	for (i = 0; i < 100000 && !unit_failed(); i++) {
		q = unit_below(KVNET_IOTLB_MISS_QUEUES);
		switch (unit_below(4)) {
		case 0:
			if (is[q] != NONE)
				break;
			asks[q] = unit_below(4);
			kvnet_iotlb_miss_report(&m, q, asks[q], RO);
			is[q] = QUEUED;
			break;
		case 1:
			kvnet_iotlb_miss_cancel(&m, q);
			is[q] = NONE;
			break;
		case 2:
			if (kvnet_iotlb_miss_dequeue(&m, &miss))
				break;
			for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++)
				if (is[q] == QUEUED && asks[q] == miss.iova)
					break;
			if (EXPECT_TRUE(q < KVNET_IOTLB_MISS_QUEUES))
				is[q] = PENDING;
			break;
		default:
			first = unit_below(4);
			want = 0;
			for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++)
				want |= (is[q] != NONE && asks[q] == first) << q;
			EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, first, first), want);
			for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++)
				if (want >> q & 1)
					is[q] = NONE;
		}
		want = 0;
		for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++)
			want |= is[q] == QUEUED;
		EXPECT_EQ(kvnet_iotlb_miss_is_queued(&m), want);
	}
}
