// SPDX-License-Identifier: GPL-2.0
/*
 * Guests that make much work, with packed rings: see mischief.h.
 *
 * Of a buffer the id is where its last descriptor is: used by one entry are all up to
 * there, be it a chain, or a batch of IN_ORDER. The device is taken to use them in order.
 */
#include <endian.h>

#include "mischief_ring.h"

#define BOTH	(GR_PACKED_F_AVAIL | GR_PACKED_F_USED)

static void step(struct gr_place *p, unsigned int n)
{
	p->pos += n;
	if (p->pos >= NUM) {
		p->pos -= NUM;
		p->wrap = !p->wrap;
	}
}

static struct gr_packed_desc *desc_at(struct mischief *m, unsigned int pos)
{
	return (struct gr_packed_desc *)gr_raw_desc(ring_of(m), pos);
}

static uint16_t lap_of(struct mischief *m, unsigned int pos)
{
	return le16toh(__atomic_load_n(&desc_at(m, pos)->flags, __ATOMIC_ACQUIRE)) & BOTH;
}

static bool is_used(struct mischief *m, struct gr_place p)
{
	return lap_of(m, p.pos) == gr_raw_lap(p.wrap, true);
}

/* How many descriptors have come back with the next entry, if there is one. */
static unsigned int come_back(struct mischief *m)
{
	unsigned int pos = m->used.pos;

	if (!is_used(m, m->used))
		return 0;
	return (le16toh(desc_at(m, pos)->id) - pos) % NUM + 1;
}

static void start(struct mischief *m)
{
	m->avail = m->used = (struct gr_place) { 0, true };
	m->out = 0;
}

/* Of such a table only the order can be told, not a way to jump. */
void packed_lay_table(struct mischief *m)
{
	unsigned int i;

	for (i = 0; i < PIECES; i++)
		gr_raw_set_packed((struct gr_desc *)&m->entry[i], m->data + i % LEN, i < LEN, i, 0);
	start(m);
}

static unsigned int pieces(const struct mischief *m)
{
	return m->kind == MISCHIEF_CHAINS ? NUM : 1;
}

static void show_piece(struct mischief *m, unsigned int pos, unsigned int i, uint16_t flags)
{
	struct gr_desc *d = gr_raw_desc(ring_of(m), pos);

	if (m->kind == MISCHIEF_TABLES) {
		gr_raw_set_packed(d, m->table, 16 * PIECES, pos, 0);
		flags |= GR_DESC_F_INDIRECT;
	} else if (m->kind == MISCHIEF_CHAINS) {
		gr_raw_set_packed(d, m->data + i % LEN, i < LEN, pos, 0);
	} else {
		gr_raw_set_packed(d, m->data, LEN, pos, 0);
	}
	gr_raw_show(ring_of(m), pos, flags);
}

/* The first one last: with it all of them are there. */
static void show_packet(struct mischief *m)
{
	unsigned int n = pieces(m), i;
	uint16_t lap = gr_raw_lap(m->avail.wrap, false);

	for (i = n; i-- > 0;)
		show_piece(m, m->avail.pos + i, i, lap | (i + 1 < n ? GR_DESC_F_NEXT : 0));
	step(&m->avail, n);
	m->out += n;
}

/* All that the device has given back, once more. */
unsigned int packed_send_more(struct mischief *m)
{
	unsigned int n;

	while (m->out && (n = come_back(m))) {
		ASSERT(n <= m->out);
		step(&m->used, n);
		m->out -= n;
	}
	for (n = 0; m->out + pieces(m) <= NUM; n++)
		show_packet(m);
	return n;
}

/* What no device may take. */
static const struct {
	uint64_t past;		/* where from the data's start */
	uint32_t len;
	uint16_t flags;
	bool endless;		/* all of the ring is, too */
	uint16_t in_table;	/* flags of the table's first */
} bad[] = {
	{ .len = 100, .flags = GR_DESC_F_NEXT, .endless = true },
	{ .past = 1ull << 32, .len = 100 },			/* no memory */
	{ .past = ~0ull << 40, .len = 100 },
	{ .len = ~0u },
	{ .len = 100, .flags = GR_DESC_F_WRITE },		/* wrong way */
	{ .len = 0, .flags = GR_DESC_F_INDIRECT },
	{ .len = 24, .flags = GR_DESC_F_INDIRECT },
	{ .len = 16, .flags = GR_DESC_F_INDIRECT, .in_table = GR_DESC_F_WRITE },
};

void packed_lay_bad(struct mischief *m)
{
	unsigned int i = m->turn++ % (sizeof(bad) / sizeof(bad[0]));
	unsigned int n = bad[i].endless ? NUM : 1;
	bool ind = bad[i].flags & GR_DESC_F_INDIRECT;

	gr_raw_set_packed(&m->entry[0], m->data, 100, 0, bad[i].in_table);
	while (n--) {
		gr_raw_set_packed(gr_raw_desc(ring_of(m), n), (ind ? m->table : m->data) + bad[i].past,
				  bad[i].len, n, 0);
		gr_raw_show(ring_of(m), n, bad[i].flags | gr_raw_lap(true, false));
	}
}

/* As if it had come back in the lap before: not there. */
static void lay_buffer(struct mischief *m, struct gr_place p)
{
	gr_raw_set_packed(gr_raw_desc(ring_of(m), p.pos), m->data, 2048, p.pos,
			  gr_raw_lap(!p.wrap, true));
}

void packed_lay_receive(struct mischief *m)
{
	struct gr_place p = { 0, true };

	start(m);
	do {
		lay_buffer(m, p);
		step(&p, 1);
	} while (p.pos);
}

/* One that was used just when it was taken back is not seen to have been, but by the next. */
static bool is_passed(struct mischief *m)
{
	struct gr_place next = m->used;

	step(&next, 1);
	return is_used(m, next);
}

static void look(struct mischief *m)
{
	unsigned int i = 0, n;

	while (i < NUM) {
		n = come_back(m);
		if (!n)
			n = is_passed(m);
		if (!n)
			break;
		for (i += n; n--; step(&m->used, 1))
			lay_buffer(m, (struct gr_place) { m->used.pos, !m->used.wrap });
	}
}

void packed_offer(struct mischief *m)
{
	struct gr_place p;
	unsigned int i;

	look(m);
	p = m->used;
	for (i = 0; i < NUM; i++, step(&p, 1))
		gr_raw_show(ring_of(m), p.pos, GR_DESC_F_WRITE | gr_raw_lap(p.wrap, false));
}

/* All but one, every other time. */
void packed_take_back(struct mischief *m)
{
	struct gr_place p = m->used;
	unsigned int i;

	for (i = 0; i < NUM; i++, step(&p, 1)) {
		if (!i && m->turn++ % 2)
			continue;
		if (lap_of(m, p.pos) == gr_raw_lap(p.wrap, false))
			gr_raw_show(ring_of(m), p.pos, gr_raw_lap(!p.wrap, true));
	}
}
