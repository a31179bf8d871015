// SPDX-License-Identifier: GPL-2.0
/* Guests that make much work: see mischief.h. */
#include "mischief_ring.h"

#define STEP	37u		/* from one piece to the next, in a table that jumps */
#define KICKS	16u		/* of a round */

static const char *const names[MISCHIEF_KINDS] = {
	"none", "kicks", "chains", "tables", "bad", "refill",
};

const char *mischief_name(enum mischief_kind kind)
{
	return names[kind];
}

int mischief_of(const char *name)
{
	unsigned int i;

	for (i = 0; name && i < MISCHIEF_KINDS; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static void kick(struct mischief *m, unsigned int queue)
{
	uint64_t one = 1;

	ASSERT_EQ(write(m->v->q[queue].kick, &one, sizeof(one)), sizeof(one));
}

static void renew(struct mischief *m)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		vdev_backend(m->v, i, -1);
	for (i = 0; i < 2; i++)
		vdev_queue_reset(m->v, i);
	m->shown = 0;
	for (i = 0; i < 2; i++)
		vdev_backend(m->v, i, m->tap);
}

void mischief_init(struct mischief *m, struct vdev *v, int tap)
{
	ASSERT(v->q[0].num == NUM && v->q[1].num == NUM);
	*m = (struct mischief) { .v = v, .tap = tap, .packed = v->features & F_PACKED };
	m->entry = vdev_alloc(v, 16 * PIECES, 4096);
	m->table = vdev_gpa(v, m->entry);
	m->data = vdev_gpa(v, vdev_alloc(v, 4096, 4096));
}

/* A packet of LEN pieces of a byte, and many of none, in the order that it jumps. */
static void lay_table(struct mischief *m)
{
	unsigned int i, at, next;

	for (i = 0; i < PIECES; i++) {
		at = i * STEP % PIECES;
		next = (i + 1) * STEP % PIECES;
		gr_raw_set(&m->entry[at], m->data + i % LEN, i < LEN,
			   i + 1 < PIECES ? GR_DESC_F_NEXT : 0, next);
	}
}

static void lay_transmit(struct mischief *m)
{
	struct guest_ring *r = ring_of(m);
	unsigned int i;

	if (m->packed) {
		packed_lay_table(m);
		return;
	}
	lay_table(m);
	for (i = 0; i < NUM; i++) {
		if (m->kind == MISCHIEF_TABLES)
			gr_raw_set(gr_raw_desc(r, i), m->table, 16 * PIECES,
				   GR_DESC_F_INDIRECT, 0);
		else if (m->kind == MISCHIEF_CHAINS)
			gr_raw_set(gr_raw_desc(r, i), m->data + i % LEN, i < LEN,
				   i + 1 < NUM ? GR_DESC_F_NEXT : 0, i + 1);
		else
			gr_raw_set(gr_raw_desc(r, i), m->data, LEN, 0, 0);
		gr_raw_avail(r, i, m->kind == MISCHIEF_CHAINS ? 0 : i);
	}
}

static void lay_receive(struct mischief *m)
{
	unsigned int i;

	if (m->packed) {
		packed_lay_receive(m);
		return;
	}
	for (i = 0; i < NUM; i++) {
		gr_raw_set(gr_raw_desc(ring_of(m), i), m->data, 2048, GR_DESC_F_WRITE, 0);
		gr_raw_avail(ring_of(m), i, i);
	}
}

void mischief_begin(struct mischief *m, enum mischief_kind kind)
{
	m->kind = kind;
	m->queue = kind == MISCHIEF_REFILL ? VDEV_RX : VDEV_TX;
	renew(m);
	if (kind == MISCHIEF_REFILL)
		lay_receive(m);
	else if (kind != MISCHIEF_BAD)
		lay_transmit(m);
}

void mischief_end(struct mischief *m)
{
	m->kind = MISCHIEF_NONE;
	renew(m);
}

/* All that the device has given back, once more. */
static unsigned int show_more(struct mischief *m)
{
	uint16_t goal = gr_raw_used_idx(ring_of(m)) + NUM;
	unsigned int n = (uint16_t)(goal - m->shown);

	m->shown = goal;
	if (n)
		gr_raw_avail_idx(ring_of(m), goal);
	return n;
}

static unsigned int send_more(struct mischief *m)
{
	unsigned int n = m->packed ? packed_send_more(m) : show_more(m);

	/* one that behaves does not kick for nothing */
	if (n || m->kind != MISCHIEF_NONE)
		kick(m, m->queue);
	return n;
}

static unsigned int kicks(struct mischief *m)
{
	unsigned int i;

	for (i = 0; i < KICKS; i++)
		kick(m, i % 2);
	return KICKS;
}

/* What no device may take. */
static const struct {
	uint64_t past;		/* where from the data's start */
	uint32_t len;
	uint16_t flags, next, head, idx;
	struct gr_desc in_table;	/* the table's first */
} bad[] = {
	{ .len = 100, .flags = GR_DESC_F_NEXT, .idx = 1 },		/* to itself */
	{ .len = 100, .flags = GR_DESC_F_NEXT, .next = NUM, .idx = 1 },
	{ .len = 100, .flags = GR_DESC_F_NEXT, .next = 65535, .idx = 1 },
	{ .past = 1ull << 32, .len = 100, .idx = 1 },			/* no memory */
	{ .past = ~0ull << 40, .len = 100, .idx = 1 },
	{ .len = ~0u, .idx = 1 },
	{ .len = 100, .flags = GR_DESC_F_WRITE, .idx = 1 },		/* wrong way */
	{ .len = 100, .head = NUM, .idx = 1 },
	{ .len = 100, .head = 65535, .idx = 1 },
	{ .len = 100, .idx = NUM + 1 },
	{ .len = 100, .idx = 65535 },
	{ .len = 0, .flags = GR_DESC_F_INDIRECT, .idx = 1 },
	{ .len = 24, .flags = GR_DESC_F_INDIRECT, .idx = 1 },
	{ .len = 16, .flags = GR_DESC_F_INDIRECT, .idx = 1,
	  .in_table = { .len = 16, .flags = GR_DESC_F_INDIRECT } },
	{ .len = 16, .flags = GR_DESC_F_INDIRECT, .idx = 1,
	  .in_table = { .len = 16, .flags = GR_DESC_F_NEXT, .next = 1 } },
};

/* A queue that is broken rests until the VMM sets it up again. */
static void mend(struct mischief *m)
{
	m->broken++;
	renew(m);
	if (m->kind == MISCHIEF_REFILL)
		lay_receive(m);
}

static void lay_bad(struct mischief *m)
{
	unsigned int i = m->turn++ % (sizeof(bad) / sizeof(bad[0]));
	bool ind = bad[i].flags & GR_DESC_F_INDIRECT;

	gr_raw_set(&m->entry[0], m->table, bad[i].in_table.len, bad[i].in_table.flags,
		   bad[i].in_table.next);
	gr_raw_set(gr_raw_desc(ring_of(m), 0), (ind ? m->table : m->data) + bad[i].past,
		   bad[i].len, bad[i].flags, bad[i].next);
	gr_raw_avail(ring_of(m), 0, bad[i].head);
	gr_raw_avail_idx(ring_of(m), bad[i].idx);
}

static unsigned int break_it(struct mischief *m)
{
	if (m->packed)
		packed_lay_bad(m);
	else
		lay_bad(m);
	kick(m, m->queue);
	EXPECT(vdev_eventfd_wait(m->v->q[m->queue].err, 5000));
	mend(m);
	return 1;
}

static void offer(struct mischief *m)
{
	if (m->packed)
		packed_offer(m);
	else
		gr_raw_avail_idx(ring_of(m), m->shown + NUM / 2);
}

static void take_back(struct mischief *m)
{
	if (m->packed)
		packed_take_back(m);
	else
		gr_raw_avail_idx(ring_of(m), m->shown + m->turn++ % 2);
}

/* There and gone again, before the device looks or after that. */
static unsigned int refill(struct mischief *m)
{
	offer(m);
	kick(m, m->queue);
	take_back(m);
	kick(m, m->queue);
	if (vdev_eventfd_take(m->v->q[m->queue].err))
		mend(m);
	if (!m->packed)		/* there packed_offer() looks */
		m->shown = gr_raw_used_idx(ring_of(m));
	return 2;
}

unsigned int mischief_round(struct mischief *m)
{
	switch (m->kind) {
	case MISCHIEF_KICKS:
		return kicks(m);
	case MISCHIEF_BAD:
		return break_it(m);
	case MISCHIEF_REFILL:
		return refill(m);
	default:
		return send_more(m);
	}
}
