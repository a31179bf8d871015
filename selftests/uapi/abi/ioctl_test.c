// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls of vhost: each with wrong arguments and in the wrong order, as rows that are tried
 * on /dev/kvnet and, where it is there, on /dev/vhost-net of the same kernel. A difference
 * without a stated reason fails, and so does a stated one that is none any more. The table is
 * printed. Then the cases that take more than a row, and the table of features.
 *
 * @hosts: 6.1 newest
 * @seconds: 5
 * @skip: uapi-(uml|smp-).* | .*: no entry for 32-bit .* | the test hosts have it
 */
#include "abi_rows.h"
#include "file_rows.h"
#include "flow.h"
#include "ioctl_rows.h"
#include "links.h"
#include "pin_rig.h"
#include "procfs.h"
#include "row.h"

enum { KVNET, VHOST_NET };

static const char *const nodes[] = { "/dev/kvnet", "/dev/vhost-net" };
static int n_nodes;
static struct rig rigs[2];
static bool compat;

struct table {
	const char *state;
	enum row_state needs;
	const struct row *rows;
	size_t n;
};

#define TABLE(text, state, rows) \
	{ text, state, rows, sizeof(rows) / sizeof((rows)[0]) }

static const struct table tables[] = {
	TABLE("no owner", NEW, without_owner),
	TABLE("no owner", NEW, abi_without_owner),
	TABLE("no owner", NEW, for_each_process),
	TABLE("no owner", NEW, new_device),
	TABLE("owner only", OWNED, with_nothing_set),
	TABLE("owner only", OWNED, with_owner),
	TABLE("owner only", OWNED, abi_with_owner),
	TABLE("owner only", OWNED, abi_owner_only),
	TABLE("ready", READY, with_owner),
	TABLE("ready", READY, when_ready),
	TABLE("ready", READY, abi_with_owner),
	TABLE("ready", READY, abi_when_ready),
	TABLE("running", RUNNING, with_owner),
	TABLE("running", RUNNING, when_running),
	TABLE("running", RUNNING, abi_with_owner),
	TABLE("running", RUNNING, abi_when_running),
};

static const struct table other_process[] = {
	TABLE("running, not the owner", RUNNING, without_owner),
	TABLE("running, not the owner", RUNNING, abi_without_owner),
	TABLE("running, not the owner", RUNNING, with_another_owner),
	TABLE("running, not the owner", RUNNING, for_each_process),
};

static const struct table while_logging =
	TABLE("running, logging", RUNNING, when_logging);

/* kvnet's, and vhost_net's where this kernel has it. */
static void find_nodes(void)
{
	link_module("vhost_net");
	vdev_allow_choice();
	if (access(nodes[KVNET], R_OK | W_OK))
		ksft_skip("%s: %s", nodes[KVNET], strerror(errno));
	n_nodes = access(nodes[VHOST_NET], R_OK | W_OK) ? 1 : 2;
	if (n_nodes == 1)
		ksft_note("%s: %s", nodes[VHOST_NET], strerror(errno));
}

static void open_nodes(enum row_state state)
{
	int i;

	for (i = 0; i < n_nodes; i++) {
		struct rig *r = &rigs[i];

		ASSERT_SYS(setenv("KVNET_DEV", nodes[i], 1));
		memset(r, 0, sizeof(*r));
		r->v.memfd = -1;
		if (state >= READY)
			rig_open(r, &(struct rig_cfg){
				 .stopped = state == READY, .num = 64,
				 .tx_buf = 512, .rx_buf = 512 });
		else if (state == OWNED)
			vdev_open(&r->v);
		else
			r->v.fd = vdev_open_node();
	}
}

static void close_nodes(enum row_state state)
{
	int i;

	for (i = 0; i < n_nodes; i++) {
		if (state >= READY)
			rig_close(&rigs[i]);
		else
			vdev_close(&rigs[i].v);
	}
}

/*
 * A refused call has changed nothing; what another call has changed is restored.  A value
 * that is stored now may be used at the next start only.
 */
static void still_works(struct rig *r, enum row_state state, int ret)
{
	if (state < READY)
		return;
	if (ret >= 0)
		row_restore(r);
	if (state == RUNNING) {
		flow_one(r);
		rig_stop(r);
	}
	rig_start(r);
	flow_one(r);
	if (state == READY)
		rig_stop(r);
}

static void judge(const char *state, const char *what, const int *got, int want,
		  const struct row_differs *d)
{
	bool both = n_nodes == 2;
	const char *k = row_error(-got[KVNET]), *v = both ? row_error(-got[VHOST_NET]) : "";
	int vhost_want = d ? d->err : want;
	bool bad = true;

	if (got[KVNET] != -want)
		FAIL("%s, %s: kvnet %s, not %s", state, what, k,
		     row_error(want));
	else if (both && got[VHOST_NET] != -vhost_want)
		FAIL("%s, %s: vhost_net %s, not %s", state, what, v,
		     row_error(vhost_want));
	else if (both && d && got[KVNET] == got[VHOST_NET])
		FAIL("%s, %s: both %s, yet a difference is stated: %s", state,
		     what, k, d->why);
	else
		bad = false;
	ksft_note("%-22s | %-36s | %-10s | %-10s | %s%s", state, what, k, v,
		  bad ? "!!! " : "", d ? d->why : "");
}

/* What no row may change. */
struct kept {
	uint64_t offered;
	uint32_t base[2];
};

static struct kept kept_now(const struct rig *r, bool bases)
{
	struct kept k = { 0 };
	int i;

	vdev_ioctl(r->v.fd, VHOST_GET_FEATURES, &k.offered);
	for (i = 0; i < 2 && bases; i++)
		k.base[i] = vdev_get_base(&r->v, i);
	return k;
}

static void compare(const struct table *t, bool packets)
{
	const bool bases = packets && t->needs >= READY;
	struct kept before, after;
	int got[2], node;
	size_t i;

	for (i = 0; i < t->n; i++) {
		for (node = 0; node < n_nodes; node++) {
			before = kept_now(&rigs[node], bases);
			got[node] = row_try(rigs[node].v.fd, &t->rows[i],
					    compat);
			after = kept_now(&rigs[node], bases);
			if (memcmp(&before, &after, sizeof(before)))
				FAIL("%s, %s: %s has other features or bases",
				     t->state, t->rows[i].what, nodes[node]);
			if (packets)
				still_works(&rigs[node], t->needs, got[node]);
		}
		judge(t->state, t->rows[i].what, got,
		      row_wants(&t->rows[i], false),
		      row_differs(&t->rows[i]));
	}
}

static void compare_state(enum row_state state)
{
	size_t i;

	find_nodes();
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (tables[i].needs != state)
			continue;
		open_nodes(state);
		compare(&tables[i], true);
		close_nodes(state);
	}
}

CASE_ROW(rows_without_owner_answered_as_vhost, compare_state(NEW))
CASE_ROW(rows_with_owner_only_answered_as_vhost, compare_state(OWNED))
CASE_ROW_TIMED(rows_when_ready_answered_as_vhost, 60, compare_state(READY))
CASE_ROW_TIMED(rows_when_running_answered_as_vhost, 60, compare_state(RUNNING))

static void compare_other_process(void)
{
	int i;

	for (i = 0; i < 4; i++)
		compare(&other_process[i], false);
}

CASE(rows_by_another_process_answered_as_vhost)
{
	int i;

	find_nodes();
	open_nodes(RUNNING);
	in_child(compare_other_process);
	for (i = 0; i < n_nodes; i++)
		flow_one(&rigs[i]);
}

static void start_logging(struct rig *r)
{
	uint64_t features = r->v.features | F_LOG, base;
	size_t size = (VDEV_GPA + r->v.mem_size) / 4096 / 8 + 4096;
	void *log = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!(r->v.offered & F_LOG))
		ksft_skip("LOG_ALL is not offered by both");
	ASSERT(log != MAP_FAILED);
	base = (uintptr_t)log;
	vdev_ioctl(r->v.fd, VHOST_SET_LOG_BASE, &base);
	vdev_ioctl(r->v.fd, VHOST_SET_FEATURES, &features);
	r->v.features = features;
	r->cfg.features = features;
}

CASE(rows_when_logging_answered_as_vhost)
{
	int i;

	find_nodes();
	open_nodes(RUNNING);
	for (i = 0; i < n_nodes; i++)
		start_logging(&rigs[i]);
	compare(&while_logging, true);
}

/* A table with one more page, whose bit would be beyond the end of user addresses. */
static void table_beyond_any_log(struct rig *r)
{
	struct vhost_memory *m = vdev_table(&r->v);

	m = realloc(m, sizeof(*m) + 2 * sizeof(m->regions[0]));
	ASSERT(m);
	m->regions[m->nregions++] = (struct vhost_memory_region)
		REG(-8192ull, 4096, (uintptr_t)r->v.host);
	vdev_ioctl(r->v.fd, VHOST_SET_MEM_TABLE, m);
	free(m);
}

CASE(log_out_of_reach_refused_as_vhost)
{
	int got[2], i;

	find_nodes();
	open_nodes(READY);
	for (i = 0; i < n_nodes; i++) {
		struct rig *r = &rigs[i];
		uint64_t log = r->v.features | F_LOG;

		if (!(r->v.offered & F_LOG))
			ksft_skip("LOG_ALL is not offered by both");
		table_beyond_any_log(r);
		vdev_ioctl(r->v.fd, VHOST_SET_FEATURES, &log);
		got[i] = __vdev_backend(&r->v, VDEV_TX, r->tap);
		vdev_ioctl(r->v.fd, VHOST_SET_FEATURES, &r->v.features);
	}
	judge("ready, logging", "SET_BACKEND, log out of reach", got, EFAULT,
	      NULL);
	for (i = 0; i < n_nodes; i++) {
		struct rig *r = &rigs[i];
		uint64_t log = r->v.features | F_LOG;

		rig_start(r);
		got[i] = __vdev_ioctl(r->v.fd, VHOST_SET_FEATURES, &log);
		flow_one(r);
	}
	judge("running", "SET_FEATURES LOG_ALL, out of reach", got, EFAULT,
	      NULL);
}

/* By the entry for 32-bit processes, the answers are the same. */
CASE_TIMED(rows_of_a_32_bit_process_answered_as_vhost, 60)
{
	enum row_state state;

	if (!row_compat())
		ksft_skip("no entry for 32-bit processes");
	compat = true;
	for (state = NEW; state <= RUNNING; state++)
		compare_state(state);
}

/* Without an IOTLB: with one, see iotlb_test.c. */
CASE(file_operations_answered_as_vhost)
{
	enum row_state state;
	int got[2], node;
	size_t i;

	find_nodes();
	for (state = NEW; state <= RUNNING; state += RUNNING) {
		open_nodes(state);
		for (i = 0; i < sizeof(file_rows) / sizeof(file_rows[0]); i++) {
			for (node = 0; node < n_nodes; node++) {
				got[node] = file_rows[i].fn(rigs[node].v.fd);
				still_works(&rigs[node], state, -1);
			}
			judge(state == NEW ? "no owner" : "running",
			      file_rows[i].what, got, file_rows[i].err,
			      NULL);
		}
		close_nodes(state);
	}
}

/*** what takes more than a row ***/

static struct rig rig;

CASE(arguments_unmapped_refused)
{
	/* right as far as it can be read */
	static const struct mem2 table = {
		{ .nregions = 2 },
		{ REG(0x1000, 4096, USER_ADDR), REG(0x2000, 4096, USER_ADDR) },
	};
	size_t page = sysconf(_SC_PAGESIZE), i, in;
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	fd = rig.v.fd;
	ASSERT_SYS(mprotect(p + page, page, PROT_NONE));
	for (i = 0; i < sizeof(pointers) / sizeof(*pointers); i++) {
		for (in = 0; in < pointers[i].size; in += 4) {
			int ret;

			memset(p, 0, page);
			if (pointers[i].req == VHOST_SET_MEM_TABLE)
				memcpy(p + page - in, &table, in);
			ret = __vdev_ioctl(fd, pointers[i].req, p + page - in);
			if (ret != -EFAULT)
				FAIL("%s, %zu bytes mapped: %s",
				     pointers[i].what, in, strerror(-ret));
		}
		if (__vdev_ioctl(fd, pointers[i].req, NULL) != -EFAULT)
			FAIL("%s accepts NULL", pointers[i].what);
		if (__vdev_ioctl(fd, pointers[i].req,
				 (void *)KERNEL_ADDR) != -EFAULT)
			FAIL("%s accepts a kernel address", pointers[i].what);
	}
	rig_start(&rig);
	flow_one(&rig);
}

CASE(ring_in_unmapped_memory_refused)
{
	struct vhost_vring_addr a, good;
	uint64_t *field[] = { (uint64_t *)&a.used_user_addr,
			      (uint64_t *)&a.desc_user_addr,
			      (uint64_t *)&a.avail_user_addr };
	int i, ret;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	vdev_queue_addr(&rig.v, 1, &good);
	for (i = 0; i < 3; i++) {
		a = good;
		*field[i] = KERNEL_ADDR;
		ret = __vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
		/* else SET_BACKEND must refuse it, before it looks at the backend */
		if (!ret && __vdev_backend(&rig.v, 1, rig.v.memfd) != -EFAULT)
			FAIL("field %d in the kernel, and no tap", i);
		if (!ret)
			ret = __vdev_backend(&rig.v, 1, rig.tap);
		if (ret != -EFAULT && ret != -EINVAL)
			FAIL("field %d in the kernel: %s", i, strerror(-ret));
	}
	a = good;
	a.used_user_addr = 4096;	/* not mapped */
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	EXPECT_EQ(__vdev_backend(&rig.v, 1, rig.tap), -EFAULT);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &good);
	rig_start(&rig);
	flow_one(&rig);
}

static void set_up_step(unsigned int step, unsigned int q)
{
	struct vhost_vring_state s = { .index = q };
	struct vdev *v = &rig.v;
	struct vhost_vring_addr a;

	switch (step) {
	case 0:
		s.num = v->q[q].num;
		vdev_ioctl(v->fd, VHOST_SET_VRING_NUM, &s);
		break;
	case 1:
		s.num = 65000;
		vdev_ioctl(v->fd, VHOST_SET_VRING_BASE, &s);
		break;
	case 2:
		vdev_queue_addr(v, q, &a);
		vdev_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a);
		break;
	case 3:
		vdev_set_features(v, rig.cfg.features);
		break;
	case 4:
		vdev_set_mem(v);
		break;
	case 5:
		ASSERT_EQ(__vdev_vring_fd(v, VHOST_SET_VRING_KICK, q,
					  v->q[q].kick), 0);
		break;
	case 6:
		ASSERT_EQ(__vdev_vring_fd(v, VHOST_SET_VRING_CALL, q,
					  v->q[q].call), 0);
		break;
	}
}

CASE(set_up_in_any_order_works)
{
	unsigned int round, i, left[7], n;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .base = 65000 });
	for (round = 0; round < 30 && !ksft_failed(); round++) {
		close(rig.v.fd);
		rig.v.fd = vdev_open_node();
		vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
		for (n = 0; n < 7; n++)
			left[n] = n;
		while (n) {
			i = ksft_below(n);
			set_up_step(left[i], 0);
			set_up_step(left[i], 1);
			left[i] = left[--n];
		}
		EXPECT_EQ(vdev_get_base(&rig.v, 0), 65000);
		vdev_queue_make(&rig.v, 0, 256);
		vdev_queue_make(&rig.v, 1, 256);
		gr_start_at(&rig.v.q[0].ring, 65000);
		gr_start_at(&rig.v.q[1].ring, 65000);
		rig_start(&rig);
		flow_one(&rig);
	}
}

/* The device starts once all is right. */
static void starts_with(uint64_t features)
{
	vdev_set_features(&rig.v, features);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

/* As a kernel's vhost that is built without CONFIG_VHOST_ENABLE_FORK_OWNER_CONTROL. */
CASE(fork_owner_control_off_refuses_the_choice)
{
	uint8_t kernels = VHOST_FORK_OWNER_KTHREAD;
	int fd;

	if (vdev_is_vhost())
		ksft_skip("a choice of the kernel's configuration");
	fd = ASSERT_SYS(open(vdev_path(), O_RDWR | O_CLOEXEC));
	vdev_parameter("fork_owner_control", 'N');
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_SET_FORK_FROM_OWNER, &kernels), -ENOTTY);
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_GET_FORK_FROM_OWNER, &kernels), -ENOTTY);
	vdev_allow_choice();
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_SET_FORK_FROM_OWNER, &kernels), 0);
	close(fd);
}

CASE(start_without_memory_table_refused)
{
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(rig.v.fd);
	vdev_set_features(&rig.v, rig.cfg.features);
	vdev_queue_reset(&rig.v, VDEV_TX);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EFAULT);
	vdev_set_mem(&rig.v);
	starts_with(rig.cfg.features);
}

/* A size that a packed ring may have, for a split one. */
CASE(size_of_another_layout_refused_at_start)
{
	uint64_t packed, split;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	if (!(rig.v.offered & F_PACKED))
		ksft_skip("no packed rings");
	packed = rig.cfg.features | F_PACKED;
	split = rig.cfg.features & ~(F_PACKED | F_ORDER);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &packed);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, STATE(VDEV_TX, 3));
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &split);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EINVAL);
	starts_with(rig.cfg.features);
}

/* The layout of a running ring cannot be changed. */
CASE(layout_changed_while_running_refused)
{
	uint64_t other;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (!(rig.v.offered & F_PACKED))
		ksft_skip("no packed rings");
	flow_one(&rig);
	other = rig.cfg.features ^ F_PACKED;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &other), -EBUSY);
	flow_one(&rig);
	vdev_backend(&rig.v, VDEV_RX, -1);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &other), -EBUSY);
	vdev_backend(&rig.v, VDEV_TX, -1);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &other);
	starts_with(rig.cfg.features);
}

static unsigned int max_regions(void)
{
	const char *path = vdev_is_vhost() ?
		"/sys/module/vhost/parameters/max_mem_regions" :
		"/sys/module/kvnet/parameters/max_mem_regions";
	int fd = open(path, O_RDONLY);
	char buf[16] = { 0 };

	if (fd < 0)
		return 509;
	ASSERT(read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	return atoi(buf);
}

CASE(regions_up_to_the_limit_accepted)
{
	unsigned int max = max_regions(), i;
	struct vhost_memory *m, *mine;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	mine = vdev_table(&rig.v);
	m = calloc(1, sizeof(*m) + (max + 1) * sizeof(m->regions[0]));
	ASSERT(m && max > 1);
	m->regions[0] = mine->regions[0];
	for (i = 1; i <= max; i++)	/* the highest guest address first */
		m->regions[i] = (struct vhost_memory_region) {
			(1ull << 40) - i * 8192ull, 4096, USER_ADDR + i * 4096,
		};
	m->nregions = max;
	vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m);
	flow_one(&rig);
	m->nregions = max + 1;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m), -E2BIG);
	flow_one(&rig);
}

CASE(reset_owner_frees_the_device)
{
	size_t i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	for (i = 0; i < sizeof(without_owner) / sizeof(without_owner[0]); i++)
		EXPECT_EQ(row_try(rig.v.fd, &without_owner[i], false),
			  -row_wants(&without_owner[i], vdev_is_vhost()));
	vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
	EXPECT(__vdev_backend(&rig.v, VDEV_TX, rig.tap) < 0);
	/* and its next owner can set it up */
	rig_set_up_again(&rig);
	rig_start(&rig);
	flow_one(&rig);
}

/*** the feature table: what kvnet offers, what this vhost_net offers, and what upstream's did ***/

enum { IN_6_1 = 1, IN_6_12 = 2, IN_6_17 = 4,
       ALL = IN_6_1 | IN_6_12 | IN_6_17 };

/* drivers/vhost/net.c of each; that of 6.17.13 and of 7.3.4 is the same */
static const struct feature {
	const char *name;
	unsigned int bit;
	unsigned int in;
	bool backend;		/* a backend feature */
} features[] = {
	{ "MRG_RXBUF", VIRTIO_NET_F_MRG_RXBUF, ALL },
	{ "NOTIFY_ON_EMPTY", VIRTIO_F_NOTIFY_ON_EMPTY, ALL },
	{ "LOG_ALL", VHOST_F_LOG_ALL, ALL },
	{ "ANY_LAYOUT, NET_HDR", VHOST_NET_F_VIRTIO_NET_HDR, ALL },
	{ "INDIRECT_DESC", VIRTIO_RING_F_INDIRECT_DESC, ALL },
	{ "EVENT_IDX", VIRTIO_RING_F_EVENT_IDX, ALL },
	{ "VERSION_1", VIRTIO_F_VERSION_1, ALL },
	{ "ACCESS_PLATFORM", VIRTIO_F_ACCESS_PLATFORM, ALL },
	{ "IN_ORDER", VIRTIO_F_IN_ORDER, IN_6_17 },
	{ "RING_RESET", VIRTIO_F_RING_RESET, IN_6_12 | IN_6_17 },
	{ "RING_PACKED", VIRTIO_F_RING_PACKED, 0 },
	{ "GUEST_UDP_TUNNEL_GSO", VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO, IN_6_17 },
	{ "HOST_UDP_TUNNEL_GSO", VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO, IN_6_17 },
	{ "backend IOTLB_MSG_V2", VHOST_BACKEND_F_IOTLB_MSG_V2, ALL, true },
};

#define N_FEATURES	(sizeof(features) / sizeof(features[0]))

struct offer {
	bool there;
	bool array;		/* GET_FEATURES_ARRAY is known */
	bool fork;		/* GET_FORK_FROM_OWNER is known */
	uint64_t word[4];
	uint64_t backend;
};

static struct offer ask(const char *path)
{
	struct abi_features a = { .count = 4, .word = { 1, 1, 1, 1 } };
	struct offer o = { 0 };
	uint64_t low = 0;
	uint8_t fork;
	int fd;

	ASSERT_SYS(setenv("KVNET_DEV", path, 1));
	if (access(path, F_OK))
		return o;
	o.there = true;
	fd = vdev_open_node();
	vdev_ioctl(fd, VHOST_GET_FEATURES, &low);
	vdev_ioctl(fd, VHOST_GET_BACKEND_FEATURES, &o.backend);
	o.array = !__vdev_ioctl(fd, VHOST_GET_FEATURES_ARRAY, &a);
	o.fork = !__vdev_ioctl(fd, VHOST_GET_FORK_FROM_OWNER, &fork);
	if (o.array) {
		memcpy(o.word, a.word, sizeof(o.word));
		EXPECT_EQ(a.count, 4);
		EXPECT_EQ(o.word[0], low);
	} else {
		o.word[0] = low;
	}
	close(fd);
	return o;
}

static bool offers(const struct offer *o, const struct feature *f)
{
	uint64_t word = f->backend ? o->backend : o->word[f->bit / 64];

	return word & BIT64(f->bit % 64);
}

/* The vhost_net of the table that is this kernel's; 0: none. */
static unsigned int this_kernel(void)
{
	if (!kernel_before(6, 17))
		return IN_6_17;
	if (!kernel_before(6, 12) && kernel_before(6, 13))
		return IN_6_12;
	return !kernel_before(6, 1) && kernel_before(6, 2) ? IN_6_1 : 0;
}

CASE(features_offered_are_those_of_the_table)
{
	unsigned int here = this_kernel(), i;
	struct offer v, k;

	find_nodes();
	v = ask(nodes[VHOST_NET]);
	k = ask(nodes[KVNET]);
	for (i = 0; i < N_FEATURES; i++) {
		const struct feature *f = &features[i];

		if (!offers(&k, f))
			FAIL("kvnet lacks %s", f->name);
		if (v.there && here && offers(&v, f) != !!(f->in & here))
			FAIL("%s: this kernel's vhost_net is not as stated",
			     f->name);
	}
	if (!k.array || !k.fork)
		FAIL("kvnet lacks GET_FEATURES_ARRAY or GET_FORK_FROM_OWNER");
	if (v.there && here && v.array != !!(here & IN_6_17))
		FAIL("FEATURES_ARRAY: this vhost_net is not as stated");
}

static void no_other(const char *path)
{
	struct offer o = ask(path), known = { 0 };
	unsigned int i;

	for (i = 0; i < N_FEATURES; i++) {
		const struct feature *f = &features[i];

		if (f->backend)
			known.backend |= BIT64(f->bit);
		else
			known.word[f->bit / 64] |= BIT64(f->bit % 64);
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(o.word[i] & ~known.word[i], 0);
	EXPECT_EQ(o.backend & ~known.backend, 0);
}

/* Nothing is offered that is not in the table: no half of a feature. */
CASE(features_outside_of_the_table_not_offered)
{
	link_module("vhost_net");
	no_other(nodes[VHOST_NET]);
	no_other(nodes[KVNET]);
}

/*
 * What is offered can be set, all at once and each bit alone, but for packed
 * rings, which a legacy driver cannot have.
 */
CASE(features_offered_can_be_set)
{
	struct offer o;
	const char *node = vdev_path();
	unsigned int i;
	uint64_t all;
	int fd;

	o = ask(node);
	if (!o.there)
		ksft_skip("no %s", node);
	fd = vdev_open_node();
	vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
	vdev_ioctl(fd, VHOST_SET_FEATURES, &o.word[0]);
	vdev_ioctl(fd, VHOST_SET_BACKEND_FEATURES, &o.backend);
	for (i = 0; i < 256; i++) {
		struct abi_features a = { .count = i < 128 ? 2 : 4 };
		int want = o.word[i / 64] & BIT64(i % 64) ? 0 : -EOPNOTSUPP;

		if (i == VIRTIO_F_RING_PACKED && !want)
			want = -EOPNOTSUPP;
		all = BIT64(i % 64);
		a.word[i / 64] = all;
		if (i < 64 && __vdev_ioctl(fd, VHOST_SET_FEATURES, &all) != want)
			FAIL("SET_FEATURES, bit %u", i);
		if (o.array &&
		    __vdev_ioctl(fd, VHOST_SET_FEATURES_ARRAY, &a) != want)
			FAIL("SET_FEATURES_ARRAY, bit %u", i);
	}
	close(fd);
}

/* As many words as are asked for, and not one more. */
CASE(features_array_of_every_length_is_filled)
{
	struct offer o = ask(vdev_path());
	unsigned int n, i;
	int fd;

	if (!o.array)
		ksft_skip("no FEATURES_ARRAY");
	fd = vdev_open_node();
	for (n = 0; n <= 4; n++) {
		struct abi_features a = { .count = n };

		memset(a.word, 0xa5, sizeof(a.word));
		vdev_ioctl(fd, VHOST_GET_FEATURES_ARRAY, &a);
		EXPECT_EQ(a.count, n);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(a.word[i], i < n ? o.word[i] :
				  0xa5a5a5a5a5a5a5a5ull);
	}
	close(fd);
}

KSFT_MAIN()
