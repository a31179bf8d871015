// SPDX-License-Identifier: GPL-2.0
/*
 * Rings pinned into the kernel: when they are, when not, and none stays so.
 *
 * @hosts: 6.1 newest
 * @seconds: 3
 * @skip: uapi-.* | .*: looks at a split ring | the caller chose packed rings
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pin_rig.h"

#define PARAMETER	"/sys/module/kvnet/parameters/pin_rings"

static struct rig rig;

static void need_kvnet(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin rings");
}

CASE(pinned_while_the_queue_runs)
{
	unsigned int i;

	need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	EXPECT_EQ(pinned_kb(), 0);
	for (i = 0; i < 3; i++) {
		rig_start(&rig);
		expect_rings(&rig, "pinned");
		EXPECT(pinned_kb() > 0);
		frames_pass(&rig);
		rig_stop(&rig);
		expect_rings(&rig, "user");
		EXPECT_EQ(pinned_kb(), 0);
	}
	rig_start(&rig);
	vdev_close(&rig.v);
	EXPECT_EQ(pinned_kb(), 0);
}

static unsigned long kb_of(uint64_t addr, size_t len)
{
	return ((addr + len - 1) / 4096 - addr / 4096 + 1) * 4;
}

/* The pages in which the areas are, one that has two of them twice. */
static unsigned long kb_of_areas(unsigned int i)
{
	const struct gr_cfg *c = &rig.v.q[i].ring.cfg;
	struct vhost_vring_addr a;

	vdev_queue_addr(&rig.v, i, &a);
	return kb_of(a.desc_user_addr, gr_desc_bytes(c)) +
	       kb_of(a.avail_user_addr, gr_avail_bytes(c)) +
	       kb_of(a.used_user_addr, gr_used_bytes(c));
}

CASE_TIMED(all_sizes_are_counted_right, 60)
{
	unsigned int num;

	need_kvnet();
	for (num = 1; num <= 32768; num *= 2) {
		rig_open(&rig, &(struct rig_cfg){ .num = num, .bufs = 1 });
		expect_rings(&rig, "pinned");
		EXPECT_EQ(pinned_kb(), kb_of_areas(VDEV_RX) + kb_of_areas(VDEV_TX));
		frames_pass(&rig);
		rig_close(&rig);
		EXPECT_EQ(pinned_kb(), 0);
	}
}

CASE(not_beyond_the_owners_limit)
{
	need_kvnet();
	limit_locked_memory(0);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_rings(&rig, "user");
	EXPECT_EQ(pinned_kb(), 0);
	frames_pass(&rig);
}

/* A look at such a ring may be a wait for its page, and so is one of many, by who spins. */
CASE(looked_at_again_and_again)
{
	struct vhost_vring_state busy = { .index = VDEV_TX, .num = 100000 };
	uint64_t end = ksft_now_ms() + ksft_patience(5000);
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;

	need_kvnet();
	limit_locked_memory(0);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_rings(&rig, "user");
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &busy);
	do {
		/* more than the thread that kicks would send */
		for (i = 0; i < 10; i++)
			ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick_always(q);
		/* while the guest has the only CPU there may be, nobody spins */
		EXPECT(!vdev_eventfd_wait(q->err, 2));
		ASSERT(rig_tx_drain(&rig, 3000));
	} while (rig_counter(&rig, "kvnet.tx.busy_poll_misses") < 3 && ksft_now_ms() < end);
	EXPECT_GE(rig_counter(&rig, "kvnet.tx.busy_poll_misses"), 3);
}

/* All of a queue's areas or none: half of them would help nobody. */
CASE(the_limit_is_for_all_areas)
{
	need_kvnet();
	limit_locked_memory(2 * 4096);
	rig_open(&rig, &(struct rig_cfg){ .num = 256 });
	expect_rings(&rig, "user");
	EXPECT_EQ(pinned_kb(), 0);
	frames_pass(&rig);
}

/* A place in the zone of the rings that nobody has, so far from where a page begins. */
static void move_descriptors(unsigned int i, unsigned int by)
{
	struct gr_cfg *c = &rig.v.q[i].ring.cfg;
	size_t len = gr_desc_bytes(c);

	ASSERT(rig.v.ring_used + len + by <= VDEV_RING_ZONE);
	c->desc = memcpy(rig.v.mem + rig.v.ring_used + by, c->desc, len);
	rig.v.ring_used += (len + by + 4095) & ~4095ul;
	vdev_queue_tell(&rig.v, i, 0);
}

/* Nothing is said of where descriptors begin; but the kernel's own loads are aligned. */
CASE(descriptors_anywhere)
{
	unsigned int by;

	need_kvnet();
	for (by = 1; by <= 8; by++) {
		rig_open(&rig, &(struct rig_cfg){ .num = 256, .stopped = true });
		move_descriptors(VDEV_RX, by);
		move_descriptors(VDEV_TX, by);
		rig_start(&rig);
		expect_rings(&rig, by < 8 ? "user" : "pinned");
		if (by < 8)
			EXPECT_EQ(pinned_kb(), 0);
		frames_pass(&rig);
		rig_close(&rig);
	}
}

static void set_parameter(const char *value)
{
	int fd = open(PARAMETER, O_WRONLY);

	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, value, 1), 1);
	close(fd);
}

CASE(switched_off)
{
	need_kvnet();
	if (access(PARAMETER, W_OK))
		ksft_skip("no " PARAMETER);
	set_parameter("0");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	set_parameter("1");
	expect_rings(&rig, "user");
	frames_pass(&rig);
}

/*
 * Other memory comes in the place of a running queue's ring, and the device is
 * told.  It works on what is there now, and leaves alone what was there before.
 */
static void replace_ring(void)
{
	size_t size = rig.v.ring_used;
	void *copy = malloc(size);

	ASSERT(copy);
	memcpy(copy, rig.v.ring_host, size);
	ASSERT(mmap(rig.v.ring_host, (size + 4095) & ~4095ul,
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_FIXED, -1, 0) == rig.v.ring_host);
	memcpy(rig.v.ring_host, copy, size);
	free(copy);
}

static uint16_t split_used_idx(uint64_t used)
{
	struct vring_used *u = (struct vring_used *)(uintptr_t)used;

	return __atomic_load_n(&u->idx, __ATOMIC_ACQUIRE);
}

static void moved_by(bool addr, const char *how)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	struct vhost_vring_addr a;
	uint16_t before;
	uint32_t seq;

	need_kvnet();
	limit_locked_memory(1 << 20);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (rig.v.features & F_PACKED)
		ksft_skip("looks at a split ring");
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	replace_ring();
	if (strcmp(how, "pinned"))
		limit_locked_memory(0);
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	if (addr)
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	else
		vdev_set_mem(&rig.v);
	before = split_used_idx(a.used_user_addr);
	seq = rig.tx_seq;
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	gr_publish(&q->ring);
	/* the driver has written to the old memory: bring it along */
	memcpy((void *)(uintptr_t)a.desc_user_addr, q->ring.cfg.desc,
	       q->num * sizeof(struct vring_desc));
	memcpy((void *)(uintptr_t)a.avail_user_addr, q->ring.cfg.avail,
	       sizeof(struct vring_avail) + 2 * q->num);
	vdev_kick_always(q);
	EXPECT(rig_expect(&rig, seq, 100));
	EXPECT(WAIT_FOR(2000, split_used_idx(a.used_user_addr) ==
			(uint16_t)(before + 1)));
	EXPECT_EQ(split_used_idx((uintptr_t)q->ring.cfg.used), before);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), how));
}

CASE(other_memory_after_set_vring_addr)
{
	moved_by(true, "pinned");
}

CASE(other_memory_after_set_mem_table)
{
	moved_by(false, "pinned");
}

/* Which may not be pinned any more: it is not reached by way of what was. */
CASE(other_memory_that_is_not_pinned)
{
	moved_by(true, "user");
	rig_close(&rig);
}

/* Mappings of several pages, as the kernel lists them. */
static unsigned int mappings(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	char line[512];
	unsigned int n = 0;

	if (!f)
		ksft_skip("no /proc/vmallocinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "[kvnet]") && strstr(line, "vmap");
	fclose(f);
	return n;
}

CASE(mapped_while_the_queue_runs)
{
	unsigned int i;

	need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ .num = 4096, .bufs = 1, .stopped = true });
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(mappings(), 0);
		rig_start(&rig);
		expect_rings(&rig, "pinned");
		/* of descriptors, at the least */
		EXPECT_GE(mappings(), 2);
		rig_stop(&rig);
	}
	EXPECT_EQ(mappings(), 0);
	rig_close(&rig);
}

KSFT_MAIN()
