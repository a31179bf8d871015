// SPDX-License-Identifier: GPL-2.0
/*
 * IOTLB misses: a queue's batch, each of which the VMM reads once, resolved by updates that
 * cover all of it.
 */
#include "iotlb_miss.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "unit.h"

#define RO	1
#define WO	2
#define PAGE	KVNET_IOTLB_MISS_PAGE
#define MOST	KVNET_IOTLB_MISS_MAX

unsigned long jiffies;

static struct kvnet_iotlb_misses new_misses(void)
{
	struct kvnet_iotlb_misses m = { .v2 = true };

	kvnet_iotlb_miss_init(&m);
	kvnet_iotlb_miss_reset(&m, true);
	m.wait.wakes = 0;
	return m;
}

/* A batch of one, as it was reported. */
static void report(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova, u8 perm)
{
	EXPECT_TRUE(kvnet_iotlb_miss_add(m, queue, iova, perm));
	kvnet_iotlb_miss_wake_readers(m);
}

/* Pages 'first' and those after. */
static void report_pages(struct kvnet_iotlb_misses *m, unsigned int queue, u64 first, unsigned int n)
{
	while (n--)
		EXPECT_TRUE(kvnet_iotlb_miss_add(m, queue, first++ * PAGE, RO));
	kvnet_iotlb_miss_wake_readers(m);
}

static void expect_take(struct kvnet_iotlb_misses *m, u64 iova, u8 perm)
{
	struct kvnet_iotlb_miss miss = { 0 };

	EXPECT_TRUE(kvnet_iotlb_miss_is_queued(m));
	EXPECT_EQ(kvnet_iotlb_miss_dequeue(m, &miss), 0);
	EXPECT_EQ(miss.iova, iova);
	EXPECT_EQ(miss.perm, perm);
}

static void expect_take_pages(struct kvnet_iotlb_misses *m, u64 first, unsigned int n)
{
	while (n--)
		expect_take(m, first++ * PAGE, RO);
}

static void expect_none(struct kvnet_iotlb_misses *m, int ret)
{
	struct kvnet_iotlb_miss miss;

	EXPECT_TRUE(!kvnet_iotlb_miss_is_queued(m));
	EXPECT_EQ(kvnet_iotlb_miss_dequeue(m, &miss), ret);
}

static unsigned long resolve_page(struct kvnet_iotlb_misses *m, u64 page)
{
	return kvnet_iotlb_miss_resolve(m, page * PAGE, page * PAGE + PAGE - 1);
}

CASE(miss_one_question)
{
	struct kvnet_iotlb_misses m = new_misses();

	expect_none(&m, -EAGAIN);
	report(&m, 1, U64_MAX, WO);
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

	report(&m, 1, 100, WO);
	report(&m, 0, 200, RO);
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
		report(&m, 0, 100, RO);
		report(&m, 1, 200, RO);
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

	report(&m, 0, 100, RO);
	report(&m, 1, 100, RO);
	EXPECT_EQ(m.wait.wakes, 2);
	expect_take(&m, 100, RO);
	expect_take(&m, 100, RO);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 3);
	kvnet_iotlb_miss_cancel(&m, 0);
	kvnet_iotlb_miss_cancel(&m, 1);

	/* the second has not been read by then */
	report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	report(&m, 1, 100, WO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 3);
	expect_none(&m, -EAGAIN);
	kvnet_iotlb_miss_cancel(&m, 0);

	/* a miss after the answer is a new one */
	report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 1);
}

/* The queue waits for all of its batch, in whichever order they are answered, one by one or at once. */
CASE(miss_batch_answered_as_a_whole)
{
	unsigned int n, i, k;

	for (n = 2; n <= MOST; n++) {
		struct kvnet_iotlb_misses m = new_misses();

		unit_context("%u misses", n);
		report_pages(&m, 1, 7, n);
		EXPECT_EQ(m.wait.wakes, 1);
		/* read one, answer it, as QEMU does */
		for (i = 0; i < n; i++) {
			expect_take_pages(&m, 7 + i, 1);
			EXPECT_EQ(resolve_page(&m, 7 + i), i == n - 1 ? 2 : 0);
		}
		expect_none(&m, -EAGAIN);
		kvnet_iotlb_miss_cancel(&m, 1);

		/* read all; the first one is answered last, some twice */
		report_pages(&m, 1, 7, n);
		expect_take_pages(&m, 7, n);
		expect_none(&m, -EAGAIN);
		for (i = n - 1; i > 0; i--)
			for (k = 0; k < 2; k++)
				EXPECT_EQ(resolve_page(&m, 7 + i), 0);
		EXPECT_EQ(resolve_page(&m, 7), 2);
		kvnet_iotlb_miss_cancel(&m, 1);

		/* some are answered before they are read, and are not read any more */
		report_pages(&m, 1, 7, n);
		EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 7 * PAGE, (7 + n - 1) * PAGE - 1), 0);
		expect_take_pages(&m, 7 + n - 1, 1);
		expect_none(&m, -EAGAIN);
		EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 2);
	}
}

CASE(miss_batch_full)
{
	struct kvnet_iotlb_misses m = new_misses();

	report_pages(&m, 0, 0, MOST);
	EXPECT_TRUE(!kvnet_iotlb_miss_add(&m, 0, MOST * PAGE, RO));
	/* the other queue has its own */
	report_pages(&m, 1, 0, MOST);
	EXPECT_TRUE(!kvnet_iotlb_miss_add(&m, 1, MOST * PAGE, RO));
	expect_take_pages(&m, 0, MOST);
	expect_take_pages(&m, 0, MOST);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, MOST * PAGE - 1), 3);
}

/* Neighbours of one page are one miss; it is of the first one's address. */
CASE(miss_batch_has_a_page_once)
{
	struct kvnet_iotlb_misses m = new_misses();

	report(&m, 1, 2 * PAGE + 10, RO);
	report(&m, 1, 3 * PAGE - 1, WO);
	report(&m, 1, 2 * PAGE, RO);
	report(&m, 1, 3 * PAGE, WO);
	report(&m, 1, PAGE, RO);
	report(&m, 1, 2 * PAGE, RO);	/* no neighbour */
	expect_take(&m, 2 * PAGE + 10, RO);
	expect_take(&m, 3 * PAGE, WO);
	expect_take(&m, PAGE, RO);
	EXPECT_EQ(resolve_page(&m, 1), 0);
	EXPECT_EQ(resolve_page(&m, 3), 0);
	/* one answer for both; the second is not read any more */
	EXPECT_EQ(resolve_page(&m, 2), 2);
	expect_none(&m, -EAGAIN);
}

/* A queue whose misses come again as soon as they are answered does not keep the other one from the VMM. */
CASE(miss_batches_take_turns)
{
	struct kvnet_iotlb_misses m = new_misses();
	unsigned int i, q = 0;

	report_pages(&m, 0, 0, 3);
	report_pages(&m, 1, 10, 3);
	for (i = 0; i < 6; i++, q = !q) {
		expect_take_pages(&m, 10 * q, 3);
		EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 10 * q * PAGE, (10 * q + 3) * PAGE - 1), 1 << q);
		kvnet_iotlb_miss_cancel(&m, q);
		report_pages(&m, q, 10 * q, 3);
	}
}

/* Nor if one answer covers all of its misses, of which the VMM has read the first. */
CASE(miss_batches_answered_at_once_take_turns)
{
	struct kvnet_iotlb_misses m = new_misses();

	report_pages(&m, 0, 0, 3);
	report_pages(&m, 1, 10, 3);
	expect_take_pages(&m, 0, 1);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, 3 * PAGE - 1), 1);
	kvnet_iotlb_miss_cancel(&m, 0);
	report_pages(&m, 0, 0, 3);
	expect_take_pages(&m, 10, 3);
	expect_take_pages(&m, 0, 3);
}

/* Retried while it waits: queued again only once read, and a second after that; the clock may wrap. */
CASE(miss_retried)
{
	struct kvnet_iotlb_misses m = new_misses();

	jiffies = -50UL;
	report(&m, 1, 100, WO);
	jiffies += 1000;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	expect_take(&m, 100, WO);
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	jiffies += HZ;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	expect_none(&m, -EAGAIN);
	jiffies++;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 0));
	expect_none(&m, -EAGAIN);
	m.wait.wakes = 0;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	EXPECT_EQ(m.wait.wakes, 1);
	expect_take(&m, 100, WO);
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 2);
	kvnet_iotlb_miss_cancel(&m, 1);
	report(&m, 1, 101, RO);
	expect_take(&m, 101, RO);
}

/* Of a batch those that have no answer yet are queued again, and read first to last. */
CASE(miss_batch_retried)
{
	struct kvnet_iotlb_misses m = new_misses();

	report_pages(&m, 0, 0, 4);
	expect_take_pages(&m, 0, 3);
	EXPECT_EQ(resolve_page(&m, 1), 0);
	jiffies += HZ + 1;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 0));
	expect_take_pages(&m, 0, 1);
	expect_take_pages(&m, 2, 2);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(resolve_page(&m, 0), 0);
	EXPECT_EQ(resolve_page(&m, 3), 0);
	EXPECT_EQ(resolve_page(&m, 2), 1);
}

/* With the first one answered the queue waits for the others a second, read or not, and no longer. */
CASE(miss_batch_partly_answered)
{
	unsigned int read;

	for (read = 1; read <= 3; read++) {
		struct kvnet_iotlb_misses m = new_misses();

		unit_context("%u read", read);
		report_pages(&m, 1, 0, 3);
		expect_take_pages(&m, 0, read);
		EXPECT_EQ(resolve_page(&m, 0), 0);
		jiffies += HZ;
		EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
		/* a VMM that goes on reading is given time */
		if (read < 3) {
			expect_take_pages(&m, read, 1);
			jiffies += HZ;
			EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
		}
		jiffies++;
		m.wait.wakes = 0;
		EXPECT_TRUE(kvnet_iotlb_miss_retry(&m, 1));
		/* the queue goes on: none of them is left, and the VMM does not wake for them */
		EXPECT_EQ(m.wait.wakes, 0);
		expect_none(&m, -EAGAIN);
		EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 0);
	}
}

/* A VMM that reads all at once, and then answers slowly, is given time, too. */
CASE(miss_batch_answered_slowly)
{
	struct kvnet_iotlb_misses m = new_misses();
	unsigned int i;

	report_pages(&m, 0, 0, 4);
	expect_take_pages(&m, 0, 4);
	for (i = 0; i < 3; i++) {
		jiffies += HZ;
		EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 0));
		expect_none(&m, -EAGAIN);
		EXPECT_EQ(resolve_page(&m, i), 0);
	}
	jiffies += HZ;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 0));
	EXPECT_EQ(resolve_page(&m, 3), 1);
}

/* One that is answered unread; the second begins with the report. */
CASE(miss_batch_partly_answered_unread)
{
	struct kvnet_iotlb_misses m = new_misses();

	jiffies += 10 * HZ;
	report_pages(&m, 1, 0, 3);
	EXPECT_EQ(resolve_page(&m, 0), 0);
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	jiffies += HZ;
	EXPECT_TRUE(!kvnet_iotlb_miss_retry(&m, 1));
	expect_take_pages(&m, 1, 1);
	jiffies += HZ + 1;
	EXPECT_TRUE(kvnet_iotlb_miss_retry(&m, 1));
}

CASE(miss_cancelled)
{
	struct kvnet_iotlb_misses m = new_misses();

	report(&m, 0, 100, RO);
	report(&m, 1, 100, RO);
	kvnet_iotlb_miss_cancel(&m, 0);
	expect_take(&m, 100, RO);
	kvnet_iotlb_miss_cancel(&m, 1);
	expect_none(&m, -EAGAIN);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 0);
	/* one that is reported after that is heard */
	report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 1);
	/* half read, half not */
	report_pages(&m, 1, 0, 4);
	expect_take_pages(&m, 0, 2);
	kvnet_iotlb_miss_cancel(&m, 1);
	expect_none(&m, -EAGAIN);
	report_pages(&m, 1, 2, 1);
	expect_take_pages(&m, 2, 1);
	EXPECT_EQ(resolve_page(&m, 2), 2);
}

CASE(miss_without_iommu)
{
	struct kvnet_iotlb_misses m = new_misses();

	report(&m, 0, 100, RO);
	report_pages(&m, 1, 2, 4);
	/* a reader that waits has to be told */
	m.wait.wakes = 0;
	kvnet_iotlb_miss_reset(&m, false);
	EXPECT_EQ(m.wait.wakes, 1);
	expect_none(&m, -EBADFD);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 0, U64_MAX), 0);
	kvnet_iotlb_miss_reset(&m, true);
	expect_none(&m, -EAGAIN);
	EXPECT_TRUE(m.enabled && m.v2);
	/* a new one is a new beginning */
	report(&m, 0, 100, RO);
	expect_take(&m, 100, RO);
	kvnet_iotlb_miss_reset(&m, true);
	report(&m, 1, 100, RO);
	expect_take(&m, 100, RO);
	EXPECT_EQ(kvnet_iotlb_miss_resolve(&m, 100, 100), 2);
}

/*
 * The rule behind it all: the VMM reads each miss once, and the answer is for all that it covers.
 * A model that keeps no order.
 */
struct walk {
	enum { NONE, QUEUED, PENDING } is[MOST];
	u64 asks[MOST];
	unsigned int n, left;
};

static void walk_add(struct kvnet_iotlb_misses *m, struct walk *w, unsigned int q)
{
	u64 page = unit_below(8);
	bool same = w->n && w->asks[w->n - 1] == page;

	EXPECT_EQ(kvnet_iotlb_miss_add(m, q, page * PAGE, RO), w->n < MOST);
	if (w->n == MOST || same)
		return;
	w->asks[w->n] = page;
	w->is[w->n++] = QUEUED;
	w->left++;
}

static void walk_read(struct kvnet_iotlb_misses *m, struct walk *walks)
{
	struct kvnet_iotlb_miss miss;
	unsigned int q, i;

	if (kvnet_iotlb_miss_dequeue(m, &miss))
		return;
	/* the first of a queue that is queued */
	for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++) {
		for (i = 0; i < walks[q].n && walks[q].is[i] != QUEUED; i++)
			;
		if (i == walks[q].n || walks[q].asks[i] * PAGE != miss.iova ||
		    m->batch[q].miss[i].state != KVNET_IOTLB_MISS_PENDING)
			continue;
		walks[q].is[i] = PENDING;
		return;
	}
	EXPECT_TRUE(!"a miss that is none");
}

static void walk_answer(struct kvnet_iotlb_misses *m, struct walk *walks)
{
	u64 first = unit_below(8), last = first + unit_below(3);
	unsigned int q, i, want = 0, before;

	for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++) {
		before = walks[q].left;
		for (i = 0; i < walks[q].n; i++) {
			if (walks[q].is[i] == NONE || walks[q].asks[i] < first ||
			    walks[q].asks[i] > last)
				continue;
			walks[q].is[i] = NONE;
			walks[q].left--;
		}
		want |= (before && !walks[q].left) << q;
	}
	EXPECT_EQ(kvnet_iotlb_miss_resolve(m, first * PAGE, (last + 1) * PAGE - 1), want);
	for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++)
		if (want >> q & 1) {
			kvnet_iotlb_miss_cancel(m, q);
			walks[q].n = 0;
		}
}

CASE(miss_random_walk)
{
	struct walk walks[KVNET_IOTLB_MISS_QUEUES] = { 0 };
	struct kvnet_iotlb_misses m = new_misses();
	unsigned int i, k, q, want;

	for (i = 0; i < 100000 && !unit_failed(); i++) {
		q = unit_below(KVNET_IOTLB_MISS_QUEUES);
		switch (unit_below(16)) {
		case 0:
			kvnet_iotlb_miss_cancel(&m, q);
			walks[q] = (struct walk) { 0 };
			break;
		case 1:
			jiffies += HZ + 1;
			want = walks[q].n && walks[q].is[0] == NONE;
			EXPECT_EQ(kvnet_iotlb_miss_retry(&m, q), want);
			if (want)
				walks[q] = (struct walk) { 0 };
			for (k = 0; k < walks[q].n; k++)
				if (walks[q].is[k] == PENDING)
					walks[q].is[k] = QUEUED;
			break;
		case 2 ... 8:
			walk_add(&m, &walks[q], q);
			break;
		case 9 ... 13:
			walk_read(&m, walks);
			break;
		default:
			walk_answer(&m, walks);
		}
		want = 0;
		for (q = 0; q < KVNET_IOTLB_MISS_QUEUES; q++)
			for (k = 0; k < walks[q].n; k++)
				want |= walks[q].is[k] == QUEUED;
		EXPECT_EQ(kvnet_iotlb_miss_is_queued(&m), want);
	}
}
