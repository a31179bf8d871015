// SPDX-License-Identifier: GPL-2.0
/*
 * Device and driver as two threads over one ring: every buffer arrives, with
 * its data, and neither side ever sleeps through the other's notification.
 *
 * Under ThreadSanitizer every byte that passes between them must be ordered by
 * the ring's own barriers; without it, the machine may reorder as it likes. A
 * kick or a call is an eventfd; a side that waits longer than PATIENCE has lost
 * a wake-up, and the test fails.
 */
#include "ring.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <linux/errno.h>
#include <linux/kernel.h>

#include "guest_ring.h"
#include "ring_rig.h"
#include "unit.h"

#ifndef PATIENCE
#define PATIENCE	20000	/* ms */
#endif
#define OFFSET		0x10000000ULL
#define SEGS		3

struct both {
	/* const while the threads run */
	u32 num, total;
	bool packed, in_order, event_idx, indirect, pinned;
	struct gr_cfg cfg;
	int kick, call;
	u64 seed;

	/* the memory that they share */
	u8 *block;
	struct gr_desc *tables;
	u64 (*data)[SEGS];	/* per slot: number, number, answer */

	/* the driver's */
	struct guest_ring guest;
	u32 kicks, call_waits;
	/* the device's */
	struct kvnet_ring ring;
	u32 calls, kick_waits;
};

/* Each side has its own, so that the two share nothing but the ring. */
static u32 next_rand(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void notify(int fd)
{
	u64 one = 1;

	EXPECT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
}

static bool wait_for(int fd, const char *what)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	u64 count;

	if (poll(&p, 1, PATIENCE) != 1) {
		unit_fail(__FILE__, __LINE__, "lost wake-up: no %s", what);
		return false;
	}
	return read(fd, &count, sizeof(count)) == sizeof(count);
}

static void *from_gpa(u64 gpa)
{
	return (void *)(uintptr_t)(gpa - OFFSET);
}

static int read_table(void *ctx, u64 addr, void *dst, u32 len)
{
	memcpy(dst, from_gpa(addr), len);
	return 0;
}

/* Read the numbers, check them, and write the answer. */
static bool answer(const struct kvnet_chain *c, u32 number)
{
	u64 *a = from_gpa(c->seg[0].addr), *b = from_gpa(c->seg[1].addr);

	if (!EXPECT_EQ(c->n_out, 2) || !EXPECT_EQ(c->n_in, 1))
		return false;
	*(u64 *)from_gpa(c->seg[2].addr) = ~*a;
	return EXPECT_EQ(*a, number) && EXPECT_EQ(*b, number);
}

static bool give_back(struct both *b, const struct kvnet_used *used, u32 n)
{
	int ret;

	if (!n)
		return true;
	if (!EXPECT_EQ(kvnet_ring_put(&b->ring, used, n), 0))
		return false;
	ret = kvnet_ring_should_call(&b->ring);
	if (ret == 1) {
		b->calls++;
		notify(b->call);
	}
	return EXPECT_TRUE(ret >= 0);
}

static void device(struct both *b)
{
	struct kvnet_reader reader = { .read = read_table };
	struct kvnet_seg seg[SEGS];
	struct kvnet_chain chain = { .seg = seg, .cap = SEGS };
	struct kvnet_used used[64];
	u64 state = b->seed + 1;
	u32 number = 0, n = 0, batch = 1;
	int ret;

	while (!unit_failed()) {
		EXPECT_EQ(kvnet_ring_kick_off(&b->ring), 0);
		while ((ret = kvnet_ring_next(&b->ring, &chain, &reader)) == 1) {
			if (!answer(&chain, number++))
				return;
			used[n].count = chain.count;
			used[n].skippable = true;
			used[n].id = chain.id;
			used[n++].len = sizeof(u64);
			if (n < batch)
				continue;
			if (!give_back(b, used, n))
				return;
			n = 0;
			batch = 1 + next_rand(&state) % min_t(u32, b->num, 64);
		}
		if (!EXPECT_EQ(ret, 0) || !give_back(b, used, n))
			return;
		n = 0;
		if (number == b->total)
			return;
		/* what next() did not see, kick_on must, or a kick comes */
		ret = kvnet_ring_kick_on(&b->ring);
		if (!EXPECT_TRUE(ret >= 0))
			return;
		if (ret)
			continue;
		b->kick_waits++;
		if (!wait_for(b->kick, "kick"))
			return;
	}
}

static bool add(struct both *b, u32 number)
{
	u64 *data = b->data[number % b->num];
	struct gr_buf buf[SEGS] = {
		{ .ptr = &data[0], .len = sizeof(u64) },
		{ .ptr = &data[1], .len = sizeof(u64) },
		{ .ptr = &data[2], .len = sizeof(u64), .write = true },
	};
	int ret;

	/* used in order: this slot's last buffer has come back */
	data[0] = number;
	data[1] = number;
	data[2] = 0;
	ret = gr_add(&b->guest, buf, SEGS, b->indirect ? 0 : GR_ALL_DIRECT,
		     &data[0]);
	return ret >= 0;
}

static bool collect(struct both *b, u32 *done)
{
	struct gr_done used;
	u64 *data;
	int ret;

	while ((ret = gr_get_used(&b->guest, &used)) == 1) {
		data = used.token;
		if (!EXPECT_EQ(used.len, sizeof(u64)) ||
		    !EXPECT_EQ(data[0], *done) ||
		    !EXPECT_EQ(data[2], ~(u64)*done))
			return false;
		++*done;
	}
	return EXPECT_EQ(ret, 0);
}

static void driver(struct both *b)
{
	u32 sent = 0, done = 0, n, limit;
	u64 state = b->seed + 2;

	/* chains that fit at once */
	limit = b->indirect ? b->num : b->num / SEGS;
	while (done < b->total && !unit_failed()) {
		gr_call_off(&b->guest);
		n = 1 + next_rand(&state) % limit;
		n = min_t(u32, n, limit - (sent - done));
		n = min_t(u32, n, b->total - sent);
		for (; n; n--)
			if (!EXPECT_TRUE(add(b, sent++)))
				return;
		gr_publish(&b->guest);
		if (gr_kick_needed(&b->guest)) {
			b->kicks++;
			notify(b->kick);
		}
		if (!collect(b, &done))
			return;
		if (sent - done < limit && sent < b->total)
			continue;
		if (sent == done)
			continue;
		/* nothing left to do: be told of one of those outstanding */
		n = b->event_idx ? next_rand(&state) % (sent - done) : 0;
		if (gr_call_on(&b->guest, n))
			continue;
		b->call_waits++;
		if (!wait_for(b->call, "call"))
			return;
		if (!collect(b, &done))
			return;
	}
}

/* Whoever gives up wakes the other; who is done does not help. */
static void *run_device(void *arg)
{
	struct both *b = arg;

	device(b);
	if (unit_failed())
		notify(b->call);
	return NULL;
}

static void *run_driver(void *arg)
{
	struct both *b = arg;

	driver(b);
	if (unit_failed())
		notify(b->kick);
	return NULL;
}

static void set_up(struct both *b)
{
	struct kvnet_ring *r = &b->ring;
	u16 base = unit_rand();

	b->tables = calloc(b->num * SEGS, sizeof(*b->tables));
	b->data = calloc(b->num, sizeof(*b->data));
	b->cfg = (struct gr_cfg) {
		.num = b->num, .event_idx = b->event_idx, .lax = true,
		.packed = b->packed, .in_order = b->in_order,
		.ind = b->tables, .ind_tables = b->indirect ? b->num : 0,
		.ind_max = SEGS, .offset = OFFSET,
	};
	b->block = aligned_alloc(4096, 4096 + (gr_block_bytes(&b->cfg, 4) &
					       ~4095ULL));
	gr_block_cut(&b->cfg, b->block, 4);
	EXPECT_EQ(gr_init(&b->guest, &b->cfg), 0);
	gr_start_at(&b->guest, base);
	b->kick = eventfd(0, 0);
	b->call = eventfd(0, 0);
	b->seed = unit_rand();

	shim_reset();
	shim_window(b->block, gr_block_bytes(&b->cfg, 4));
	r->num = b->num;
	r->le = true;
	r->packed = b->packed;
	r->in_order = b->in_order;
	r->event_idx = b->event_idx;
	r->desc.base = b->cfg.desc;
	r->avail.base = b->cfg.avail;
	r->used.base = b->cfg.used;
	r->desc.kaddr = b->pinned ? b->cfg.desc : NULL;
	r->avail.kaddr = b->pinned ? b->cfg.avail : NULL;
	r->used.kaddr = b->pinned ? b->cfg.used : NULL;
	kvnet_ring_base_set(r, gr_base_at(&b->cfg, base));
	EXPECT_EQ(kvnet_ring_start(r), 0);
}

enum { EVENT = 1, IND = 2, PACKED = 4, ORDER = 8, PINNED = 16 };

static void run(u32 num, unsigned int how, u32 total)
{
	struct both b = {
		.num = num, .event_idx = how & EVENT, .indirect = how & IND,
		.packed = how & PACKED, .in_order = how & ORDER,
		.pinned = how & PINNED, .total = unit_rounds(total),
	};
	pthread_t one, two;

	unit_context("ring of %u, 0x%x", num, how);
	set_up(&b);
	pthread_create(&one, NULL, run_device, &b);
	pthread_create(&two, NULL, run_driver, &b);
	pthread_join(two, NULL);
	pthread_join(one, NULL);
	if (b.guest.broken)
		unit_fail(__FILE__, __LINE__, "%s", b.guest.broken);
	EXPECT_EQ(shim_outside(), 0);
	printf("# %u buffers, ring of %u: %u kicks, %u waits; %u calls, %u waits; %lu skipped\n",
	       total, num, b.kicks, b.kick_waits, b.calls, b.call_waits,
	       b.guest.skipped);

	close(b.kick);
	close(b.call);
	gr_exit(&b.guest);
	free(b.block);
	free(b.tables);
	free(b.data);
}

CASE(threads_split)
{
	run(256, EVENT, 200000);
	run(256, EVENT | IND, 100000);
	run(256, 0, 100000);
	run(4, EVENT | IND, 40000);
	run(8, 0, 30000);
	run(1, EVENT | IND, 20000);
	run(1, IND, 10000);
	run(256, ORDER | EVENT, 50000);
	run(8, ORDER, 30000);
	run(4, ORDER | EVENT | IND, 30000);
}

CASE(threads_packed)
{
	run(256, PACKED | EVENT, 100000);
	run(100, PACKED | EVENT | IND, 100000);
	run(77, PACKED, 50000);
	run(7, PACKED | EVENT, 30000);
	run(3, PACKED | EVENT | IND, 30000);
	run(5, PACKED, 20000);
	run(2, PACKED | IND, 20000);
	run(1, PACKED | EVENT | IND, 15000);
	run(1, PACKED | IND, 10000);
}

CASE(threads_packed_in_order)
{
	run(250, PACKED | ORDER | EVENT, 50000);
	run(9, PACKED | ORDER, 30000);
	run(3, PACKED | ORDER | EVENT | IND, 30000);
}

/* ThreadSanitizer knows our barriers by the shim's accesses only. */
#ifndef __SANITIZE_THREAD__
CASE(threads_pinned)
{
	run(256, PINNED | EVENT, 100000);
	run(8, PINNED, 30000);
	run(3, PINNED | PACKED | EVENT | IND, 30000);
	run(77, PINNED | PACKED | EVENT, 50000);
	run(9, PINNED | PACKED | ORDER, 30000);
}
#endif
