// SPDX-License-Identifier: GPL-2.0
/*
 * Lists that do not fit into one piece, whatever its size: all of it, in order, once. And
 * of one device, and while devices go.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @seconds: 2
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links.h"
#include "netlink_rig.h"

#define MANY		24
#define QUEUES		2
#define PIECE_MIN	(8u << 10)
#define PIECE_MAX	(16u << 10)
#define PIECE_STEP	1024

static struct many {
	int fd[MANY];
	uint32_t id[MANY];
} all;

static void open_many(void)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	rig_enter_netns();
	for (i = 0; i < MANY; i++) {
		all.fd[i] = vdev_open_node();
		vdev_own(all.fd[i]);
	}
}

static void close_from_to(unsigned int first, unsigned int end)
{
	for (; first < end; first++)
		close(all.fd[first]);
}

static int list(struct genl *g, uint8_t cmd, uint32_t id,
		void (*each)(struct attrs answer, void *arg), void *arg)
{
	struct ask a;

	ask_begin(&a, g, cmd);
	if (id)
		ask_u32(&a, KVNET_A_QUEUE_DEV, id);
	return genl_do(g, &a, true, each, arg);
}

/* What has been seen so far. */
struct seen {
	unsigned int n;
	uint32_t dev[MANY * QUEUES];
	uint32_t index[MANY * QUEUES];
	unsigned int close_with;	/* this one */
};

static void see_queue(struct attrs answer, void *arg)
{
	struct seen *s = arg;

	ASSERT(s->n < MANY * QUEUES);
	s->dev[s->n] = attr_u32(answer, KVNET_A_QUEUE_DEV);
	s->index[s->n++] = attr_u32(answer, KVNET_A_QUEUE_INDEX);
}

static void see_device(struct attrs answer, void *arg)
{
	struct seen *s = arg;

	ASSERT(s->n < MANY);
	s->dev[s->n++] = attr_u32(answer, KVNET_A_DEV_ID);
}

static void learn_ids(struct genl *g)
{
	struct seen s = { 0 };
	unsigned int i;

	ASSERT_EQ(list(g, KVNET_CMD_DEV_GET, 0, see_device, &s), 0);
	ASSERT_EQ(s.n, MANY);
	for (i = 0; i < MANY; i++) {
		all.id[i] = s.dev[i];
		if (i)
			EXPECT_OP(all.id[i], >, all.id[i - 1]);
	}
}

static void all_queues(struct genl *g)
{
	struct seen s = { 0 };
	unsigned int i;

	ASSERT_EQ(list(g, KVNET_CMD_QUEUE_GET, 0, see_queue, &s), 0);
	ASSERT_EQ(s.n, MANY * QUEUES);
	for (i = 0; i < s.n; i++) {
		EXPECT_EQ(s.dev[i], all.id[i / QUEUES]);
		EXPECT_EQ(s.index[i], i % QUEUES);
	}
}

static void queues_of_one(struct genl *g, uint32_t id)
{
	struct seen s = { 0 };
	unsigned int i;

	ASSERT_EQ(list(g, KVNET_CMD_QUEUE_GET, id, see_queue, &s), 0);
	ASSERT_EQ(s.n, QUEUES);
	for (i = 0; i < QUEUES; i++) {
		EXPECT_EQ(s.dev[i], id);
		EXPECT_EQ(s.index[i], i);
	}
}

CASE(pieces_of_each_size)
{
	struct genl g;
	size_t piece;

	open_many();
	for (piece = PIECE_MIN; piece <= PIECE_MAX; piece += PIECE_STEP) {
		genl_open_pieces(&g, piece);
		learn_ids(&g);
		all_queues(&g);
		queues_of_one(&g, all.id[0]);
		queues_of_one(&g, all.id[MANY - 1]);
		genl_close(&g);
	}
	close_from_to(0, MANY);
}

/* With one of the messages all devices but the last go. */
static void see_and_close(struct attrs answer, void *arg)
{
	struct seen *s = arg;

	see_queue(answer, s);
	if (s->n == s->close_with)
		close_from_to(0, MANY - 1);
}

static void close_amid(size_t piece, unsigned int close_with)
{
	struct seen s = { .close_with = close_with };
	struct genl g;

	open_many();
	genl_open_pieces(&g, piece);
	learn_ids(&g);
	ASSERT_EQ(list(&g, KVNET_CMD_QUEUE_GET, 0, see_and_close, &s), 0);
	ASSERT(s.n > QUEUES);
	EXPECT_OP(s.n, <, MANY * QUEUES);
	EXPECT(s.dev[s.n - 3] != all.id[MANY - 1]);
	EXPECT_EQ(s.dev[s.n - 2], all.id[MANY - 1]);
	EXPECT_EQ(s.index[s.n - 2], 0);
	EXPECT_EQ(s.dev[s.n - 1], all.id[MANY - 1]);
	EXPECT_EQ(s.index[s.n - 1], 1);
	genl_close(&g);
	close_from_to(MANY - 1, MANY);
}

/*
 * The next piece to be made begins with the last one's first queue, wherever among a
 * device's the piece before it ended.
 */
CASE(devices_go_between_pieces)
{
	size_t piece;

	for (piece = PIECE_MIN; piece <= PIECE_MAX; piece += PIECE_STEP) {
		close_amid(piece, 1);
		close_amid(piece, 10);
	}
}

KSFT_MAIN()
