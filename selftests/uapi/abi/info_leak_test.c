// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte that a VMM or an operator gets, by an ioctl, an IOTLB message, netlink or fdinfo,
 * is meant for it: padding is zero, a refused call writes nothing, and there is neither an
 * address of the kernel nor a pattern of uninitialised memory. Into the guest's memory the device
 * writes nothing but used buffers, used entries and headers, and no byte of the kernel's in these.
 *
 * "make isolation" runs it where the kernel fills freed and allocated memory with a pattern
 * (page_poison=1 slub_debug=P): a byte that was never written is not zero there. User-Mode Linux
 * fills the module's stack.
 *
 * @debug: kmsan
 * @again: packed
 * @seconds: 3
 */
#include <linux/genetlink.h>

#include "flow.h"
#include "iommu.h"
#include "netlink_rig.h"
#include "vhost_abi.h"

#define CANARY	0xc7		/* none of the kernel's patterns */

static struct rig rig;

/*** ioctls and IOTLB messages ***/

#define ROOM	4096u

static uint8_t page[ROOM];

/* An ioctl that writes no more than 'out' bytes, and none if it fails. */
static int ask_ioctl(int fd, unsigned long req, const void *arg, size_t in, size_t out)
{
	int ret;

	memset(page, CANARY, sizeof(page));
	if (in)
		memcpy(page, arg, in);
	ret = __vdev_ioctl(fd, req, page);
	if (ret < 0)
		out = in;
	ksft_all_bytes("behind the answer", page + out, CANARY, sizeof(page) - out);
	if (ret < 0)
		EXPECT(!memcmp(page, arg, in));
	return ret;
}

static uint32_t word_of_answer(unsigned int at)
{
	uint32_t w;

	memcpy(&w, page + 4 * at, 4);
	return w;
}

/* { index, value } of an ioctl that reads the index and writes the value */
static void state_is(unsigned long req, const char *name, uint32_t least, uint32_t most)
{
	const uint32_t arg[2] = { 1, 0xc7c7c7c7 };
	int ret = ask_ioctl(rig.v.fd, req, arg, sizeof(arg), sizeof(arg));
	uint32_t what = word_of_answer(1);

	/* an older vhost_net does not have all of them */
	if (ret == -ENOTTY)
		return;
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(word_of_answer(0), 1);
	if (what < least || what > most)
		FAIL("%s: %u, not from %u to %u", name, what, least, most);
}

#define STATE_IS(req, least, most)	state_is(req, #req, least, most)

static void numbers(void)
{
	struct vhost_vring_state busy = { .index = 1, .num = 7 };

	EXPECT_EQ(ask_ioctl(rig.v.fd, VHOST_GET_FEATURES, NULL, 0, 8), 0);
	EXPECT(!memcmp(page, &rig.v.offered, 8));
	EXPECT_EQ(ask_ioctl(rig.v.fd, VHOST_GET_BACKEND_FEATURES, NULL, 0, 8), 0);
	EXPECT_LE(word_of_answer(0), 15);
	EXPECT_EQ(word_of_answer(1), 0);
	STATE_IS(VHOST_GET_VRING_BASE, vdev_get_base(&rig.v, 1), vdev_get_base(&rig.v, 1));
	STATE_IS(VHOST_GET_VRING_ENDIAN, 0, 1);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &busy);
	STATE_IS(VHOST_GET_VRING_BUSYLOOP_TIMEOUT, 7, 7);
}

static void numbers_of_ours(void)
{
	struct abi_features f = { .count = 4 };

	EXPECT_EQ(ask_ioctl(rig.v.fd, VHOST_GET_FEATURES_ARRAY, &f, 8, 8 + 32), 0);
	EXPECT(!memcmp(page + 8, &rig.v.offered, 8));
	ksft_all_bytes("words of features beyond the last one", page + 24, 0, 16);
	vdev_allow_choice();
	EXPECT_EQ(ask_ioctl(rig.v.fd, VHOST_GET_FORK_FROM_OWNER, NULL, 0, 1), 0);
	EXPECT_LE(page[0], 1);
	/* refused: nothing is written */
	f.count = ~0ull;
	EXPECT_LE(ask_ioctl(rig.v.fd, VHOST_GET_FEATURES_ARRAY, &f, 8, 8), -1);
}

CASE(ioctl_answers_hold_no_other_byte)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	rig_stop(&rig);
	numbers();
	if (!vdev_is_vhost())
		numbers_of_ours();
	rig_close(&rig);
}

/* A miss: its padding, and the bytes behind it. */
static void miss_is_clean(int version)
{
	static struct rig r;
	const struct vhost_iotlb_msg *m;
	static struct iommu io;
	size_t at = 8, len;

	iommu_rig(&io, &r, &(struct rig_cfg){ .stopped = true }, version);
	iommu_map_used(&io);
	rig_start(&r);
	ASSERT_EQ(rig_tx(&r, 100, NULL), 0);
	vdev_kick_always(&r.v.q[VDEV_TX]);
	ASSERT(iommu_readable(&io, 3000));
	memset(page, CANARY, sizeof(page));
	len = ASSERT_SYS(read(r.v.fd, page, sizeof(page)));
	EXPECT_EQ(len, version == 2 ? sizeof(struct vhost_msg_v2) : sizeof(struct vhost_msg));
	EXPECT_EQ(word_of_answer(0), version);
	ksft_all_bytes("padding of the head", page + 4, 0, 4);
	m = (const void *)(page + at);
	EXPECT_EQ(m->type, VHOST_IOTLB_MISS);
	EXPECT_LE(m->perm, VHOST_ACCESS_RW);
	EXPECT_EQ(m->size, 0);
	EXPECT_EQ(m->uaddr, 0);
	at += offsetof(struct vhost_iotlb_msg, type) + 1;
	ksft_all_bytes("padding of the message", page + at, 0, len - at);
	ksft_all_bytes("behind the message", page + len, CANARY, sizeof(page) - len);
	iommu_close(&io);
	rig_close(&r);
}

CASE(iotlb_misses_hold_no_other_byte)
{
	miss_is_clean(1);
	miss_is_clean(2);
}

/*** netlink and fdinfo ***/

/* Four bytes alike, as the kernel fills memory that was not written since. */
static bool poisoned(const uint8_t *p, size_t len)
{
	static const uint8_t patterns[] = { 0x6b, 0x5a, 0xaa, 0xfe, 0xcc };
	unsigned int i;
	size_t k;

	for (i = 0; i < sizeof(patterns); i++)
		for (k = 0; k + 4 <= len; k++)
			if (p[k] == patterns[i] && !memcmp(p + k, p + k + 1, 3))
				return true;
	return false;
}

/* An address of a kernel for real hardware; 8 bytes aligned to 4 may be two words. */
static bool is_address(const uint8_t *p, size_t len)
{
	uint64_t word;
	size_t k;

	for (k = 0; k + 8 <= len; k += 4) {
		memcpy(&word, p + k, 8);
		if (word >> 47 == 0x1ffff && word != ~0ull && word >> 32 != ~0u)
			return true;
	}
	return false;
}

static unsigned int leaves;

static void check_leaf(const uint8_t *p, size_t len, unsigned int type)
{
	leaves++;
	if (poisoned(p, len))
		FAIL("attribute %u of %zu bytes: a pattern", type, len);
	if (is_address(p, len))
		FAIL("attribute %u of %zu bytes: an address", type, len);
	/* text ends where it ends */
	if (len > 8 && memchr(p, 0, len) && !(len % 8 == 0 && !p[0]) && p[0] >= ' ' && p[0] < 127 &&
	    !memchr(p, 0, 4))
		EXPECT_EQ(strnlen((const char *)p, len), len - 1);
}

/* Nested attributes, too: lengths fit, padding is zero. */
static void check_attrs(const uint8_t *p, size_t len)
{
	struct nlattr a;
	size_t whole;

	while (len && !ksft_failed()) {
		ASSERT(len >= sizeof(a));
		memcpy(&a, p, sizeof(a));
		ASSERT(a.nla_len >= sizeof(a) && a.nla_len <= len);
		if (a.nla_type & NLA_F_NESTED)
			check_attrs(p + NLA_HDRLEN, a.nla_len - NLA_HDRLEN);
		else
			check_leaf(p + NLA_HDRLEN, a.nla_len - NLA_HDRLEN, a.nla_type);
		whole = NLA_ALIGN((size_t)a.nla_len);
		whole = whole < len ? whole : len;
		ksft_all_bytes("padding of an attribute", p + a.nla_len, 0, whole - a.nla_len);
		p += whole;
		len -= whole;
	}
}

static void check_message(struct attrs answer, void *arg)
{
	const struct genlmsghdr *head = (const void *)(answer.at - GENL_HDRLEN);

	EXPECT_EQ(head->reserved, 0);
	check_attrs(answer.at, answer.len);
	(*(unsigned int *)arg)++;
}

static unsigned int check_list(uint8_t cmd)
{
	unsigned int n = 0;
	struct ask a;

	ask_begin(&a, &genl, cmd);
	EXPECT_EQ(genl_do(&genl, &a, true, check_message, &n), 0);
	return n;
}

static void check_events(void)
{
	struct attrs event;
	unsigned int n = 0;

	while (genl_event(&genl, n ? 0 : 3000, &event))
		check_message(event, &n);
	EXPECT_GE(n, 1);
}

CASE(netlink_messages_hold_no_other_byte)
{
	struct guest_ring *ring;
	struct genl listener;
	uint64_t one = 1;

	netlink_begin(&(struct rig_cfg){ 0 });
	listener = genl;
	flow_one(&vmm);
	EXPECT_EQ(check_list(KVNET_CMD_DEV_GET), 1);
	EXPECT_EQ(check_list(KVNET_CMD_QUEUE_GET), 2);
	EXPECT_GE(check_list(KVNET_CMD_WORKER_GET), 1);
	ASSERT_EQ(genl_join(&listener), 0);
	/* a queue that breaks sends an event, and has an error in the list */
	ring = &vmm.v.q[VDEV_TX].ring;
	if (!ring->cfg.packed) {
		gr_raw_avail_idx(ring, ring->avail_idx + 1000);
		ASSERT_EQ(write(vmm.v.q[VDEV_TX].kick, &one, 8), 8);
		ASSERT(vdev_eventfd_wait(vmm.v.q[VDEV_TX].err, 3000));
		check_events();
		EXPECT_EQ(check_list(KVNET_CMD_QUEUE_GET), 2);
	}
	ksft_note("%u attributes", leaves);
	EXPECT_GE(leaves, 100);
	rig_close(&vmm);
}

static bool is_known(const char *value)
{
	static const char *const words[] = {
		"stopped", "running", "broken", "waiting", "pinned", "user",
	};
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(value, words[i]))
			return true;
	return false;
}

/* A histogram: pairs of numbers. */
static bool is_pairs(const char *value)
{
	return *value && strspn(value, "0123456789: ") == strlen(value);
}

/* Numbers, and known words; only the features, which the VMM has set, are hexadecimal. */
CASE(fdinfo_holds_no_address)
{
	char path[64], line[256], *value, *end;
	unsigned long long n;
	unsigned int lines = 0;
	FILE *f;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", rig.v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f)) {
		value = strchr(line, '\t');
		if (strncmp(line, "kvnet.", 6) || !value)
			continue;
		lines++;
		value++;
		value[strcspn(value, "\n")] = 0;
		n = strtoull(value, &end, strncmp(line, "kvnet.features", 14) ? 10 : 16);
		if (!is_known(value) && !is_pairs(value) && *end)
			FAIL("%s", line);
		else if (!strncmp(line, "kvnet.features:", 15))
			EXPECT_EQ(n, rig.v.features);
		else if (n >> 47)
			FAIL("%s: an address?", line);
	}
	fclose(f);
	EXPECT_GE(lines, 50);
	rig_close(&rig);
}

/*** the guest's memory ***/

#define FRAMES	20u		/* each way: less than a ring has */

static uint8_t *was;		/* the guest's memory, as its driver has left it */

/* Fills rings, buffers and all other memory with patterns. */
static void paint(struct rig *r)
{
	memset(r->v.mem + r->v.ring_used, CANARY, VDEV_RING_ZONE - r->v.ring_used);
	memset(r->v.mem + r->v.mem_used, CANARY, r->v.mem_size - r->v.mem_used);
	memset(r->v.q[VDEV_RX].bufs, RX_CANARY,
	       (size_t)r->v.q[VDEV_RX].buf_num * r->v.q[VDEV_RX].buf_size);
	memset(r->v.q[VDEV_TX].bufs, CANARY,
	       (size_t)r->v.q[VDEV_TX].buf_num * r->v.q[VDEV_TX].buf_size);
}

/* The frame arrives, with a header that is zero but for the number of buffers. */
static void receive(struct rig *r, uint32_t seq, uint32_t len)
{
	uint8_t hdr[12], want[12] = { 0 }, f[FRAME_MAX + 1];
	ssize_t n = rig_rx(r, hdr, f, sizeof(f), 3000);

	if (n < 0) {
		FAIL("frame %u of %u bytes did not come", seq, len);
		ksft_abort();
	}
	frame_check(f, n, seq, len);
	want[10] = r->rx_bufs;
	if (!memcmp(hdr, want, r->v.hdr_len))
		return;
	FAIL("header of frame %u: %02x %02x %02x%02x %02x%02x %02x%02x %02x%02x %02x%02x",
	     seq, hdr[0], hdr[1], hdr[2], hdr[3], hdr[4], hdr[5], hdr[6], hdr[7], hdr[8],
	     hdr[9], hdr[10], hdr[11]);
}

/* Unused entries of a split used ring, and the bytes behind it. */
static void check_split(const struct guest_ring *r, uint16_t used)
{
	const uint8_t *at = r->cfg.used;
	uint16_t word[2];

	memcpy(word, at, sizeof(word));
	EXPECT_LE(word[0], GR_USED_F_NO_NOTIFY);
	EXPECT_EQ(word[1], used);
	ksft_all_bytes("unused entries of the used ring", at + 4 + 8 * used, 0,
		   8 * (r->cfg.num - used));
	memcpy(word, at + 4 + 8 * r->cfg.num, 2);
	EXPECT_LE(word[0], r->avail_idx);
	at += gr_used_bytes(&r->cfg);
	ksft_all_bytes("behind the used ring", at, 0, -(uintptr_t)at % 4096);
}

/* Unused descriptors of a packed ring, the device's event word, and the bytes behind it. */
static void check_packed(const struct guest_ring *r, unsigned int descs)
{
	const struct gr_event e = gr_raw_device_event(r);
	const uint8_t *at = r->cfg.desc;

	ksft_all_bytes("unused descriptors", at + 16 * descs, 0, 16 * (r->cfg.num - descs));
	EXPECT_LE(e.flags, GR_EVENT_DESC);
	EXPECT_LE(e.where & ~GR_EVENT_WRAP, r->cfg.num);
	at = (const uint8_t *)r->cfg.used + gr_used_bytes(&r->cfg);
	ksft_all_bytes("behind the device's word", at, 0, -(uintptr_t)at % 4096);
}

/* Each buffer has one descriptor, and the ring has not wrapped. */
static void check_ring(struct rig *r, unsigned int queue)
{
	const struct guest_ring *ring = &r->v.q[queue].ring;

	if (ring->cfg.packed)
		check_packed(ring, ring->avail_idx);
	else
		check_split(ring, ring->used_idx);
}

static void check_memory(struct rig *r)
{
	const struct vdev *v = &r->v;

	check_ring(r, VDEV_RX);
	check_ring(r, VDEV_TX);
	ksft_all_bytes("behind the rings", v->mem + v->ring_used, CANARY,
		   VDEV_RING_ZONE - v->ring_used);
	ksft_all_bytes("memory that is neither ring nor buffer", v->mem + v->mem_used, CANARY,
		   v->mem_size - v->mem_used);
	/* the device only reads what is sent */
	if (memcmp(was, v->q[VDEV_TX].bufs, (size_t)v->q[VDEV_TX].buf_num * v->q[VDEV_TX].buf_size))
		FAIL("the device has written into a buffer to send");
}

static void keep_sent(const struct vdev *v)
{
	size_t len = (size_t)v->q[VDEV_TX].buf_num * v->q[VDEV_TX].buf_size;

	free(was);
	was = malloc(len);
	ASSERT(was);
	memcpy(was, v->q[VDEV_TX].bufs, len);
}

/* Frames of all lengths both ways, one by one and at once. */
static void frames_pass_clean(struct rig *r, unsigned int most)
{
	unsigned int i;
	uint32_t len;

	for (i = 0; i < FRAMES; i++)
		ASSERT_EQ(rig_tx(r, 60 + i * 72, NULL), 0);
	keep_sent(&r->v);
	vdev_kick_always(&r->v.q[VDEV_TX]);
	for (i = 0; i < FRAMES; i++)
		rig_expect(r, i, 60 + i * 72);
	rig_tx_drain(r, 3000);
	ASSERT(rig_rx_post(r, most, NULL));
	vdev_kick_always(&r->v.q[VDEV_RX]);
	for (i = 0; i < FRAMES && !ksft_failed(); i++) {
		len = 60 + i * 72;
		rig_inject(r, i, len);
		/* two frames at a time */
		if (i % 2 == 0)
			continue;
		receive(r, i - 1, len - 72);
		receive(r, i, len);
	}
	check_memory(r);
}

static void one_rig(const struct rig_cfg *cfg)
{
	struct rig_cfg c = *cfg;

	c.stopped = true;
	c.num = 512;
	c.bufs = 256;
	rig_open(&rig, &c);
	paint(&rig);
	rig_start(&rig);
	frames_pass_clean(&rig, 250);
	rig_close(&rig);
}

CASE_TIMED(guest_memory_without_reason_stays_as_it_was, 60)
{
	static const struct rig_cfg cfgs[] = {
		{ .tx_buf = 2048, .rx_buf = 2048 },
		{ .tx_buf = 2048, .rx_buf = 300 },	/* several of them for one */
		{ .tx_buf = 2048, .rx_buf = 2048, .tap = TAP_BARE,
		  .features = F_V1 | F_MRG | F_NETHDR },
		{ .tx_buf = 2048, .rx_buf = 2048, .features = F_V1 | F_IND },
		{ .tx_buf = 2048, .rx_buf = 2048, .regions = 4 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cfgs) / sizeof(cfgs[0]) && !ksft_failed(); i++) {
		one_rig(&cfgs[i]);
		if (ksft_failed())
			ksft_note("that was way %u", i);
	}
}

KSFT_MAIN()
