// SPDX-License-Identifier: GPL-2.0
/*
 * The contract with vhost_net, on one kernel: every row is tried on /dev/kvnet
 * and on /dev/vhost-net.  A difference without a stated reason fails, and so
 * does a stated one that is none any more.  The table is printed.
 *
 * @hosts: 6.1 newest
 * @seconds: 4
 * @skip: uapi-(uml|smp-).* | .*: no entry for 32-bit .* | the test hosts have it
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi_rows.h"
#include "file_rows.h"
#include "flow.h"
#include "ioctl_rows.h"
#include "links.h"

enum { KVNET, VHOST_NET };

static const char *const nodes[] = { "/dev/kvnet", "/dev/vhost-net" };
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
	TABLE("no owner", NEW, for_anybody),
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
	TABLE("running, not the owner", RUNNING, for_anybody),
};

static const struct table while_logging =
	TABLE("running, logging", RUNNING, when_logging);

static void need_both(void)
{
	int i;

	link_module("vhost_net");
	vdev_allow_choice();
	for (i = 0; i < 2; i++)
		if (access(nodes[i], R_OK | W_OK))
			ksft_skip("%s: %s", nodes[i], strerror(errno));
}

static void open_both(enum row_state state)
{
	int i;

	for (i = 0; i < 2; i++) {
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

static void close_both(enum row_state state)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (state >= READY)
			rig_close(&rigs[i]);
		else
			vdev_close(&rigs[i].v);
	}
}

/*
 * What was refused has changed nothing; what was not is set right.  What is
 * stored now may be used at the next start only.
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
	const char *k = row_error(-got[KVNET]), *v = row_error(-got[VHOST_NET]);
	int vhost_want = d ? d->err : want;
	bool bad = true;

	if (got[KVNET] != -want)
		FAIL("%s, %s: kvnet %s, not %s", state, what, k,
		     row_error(want));
	else if (got[VHOST_NET] != -vhost_want)
		FAIL("%s, %s: vhost_net %s, not %s", state, what, v,
		     row_error(vhost_want));
	else if (d && got[KVNET] == got[VHOST_NET])
		FAIL("%s, %s: both %s, yet a difference is stated: %s", state,
		     what, k, d->why);
	else
		bad = false;
	ksft_note("%-22s | %-36s | %-10s | %-10s | %s%s", state, what, k, v,
		  bad ? "!!! " : "", d ? d->why : "");
}

/* What no call of a row may change. */
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
		for (node = 0; node < 2; node++) {
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

	need_both();
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (tables[i].needs != state)
			continue;
		open_both(state);
		compare(&tables[i], true);
		close_both(state);
	}
}

CASE(no_owner)
{
	compare_state(NEW);
}

CASE(owner_only)
{
	compare_state(OWNED);
}

CASE_TIMED(ready, 60)
{
	compare_state(READY);
}

CASE_TIMED(running, 60)
{
	compare_state(RUNNING);
}

CASE(not_the_owner)
{
	int status;
	size_t i;

	need_both();
	open_both(RUNNING);
	if (!fork()) {
		for (i = 0; i < 4; i++)
			compare(&other_process[i], false);
		_exit(0);
	}
	ASSERT_SYS(wait(&status));
	EXPECT_EQ(status, 0);
	for (i = 0; i < 2; i++)
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

CASE(logging)
{
	int i;

	need_both();
	open_both(RUNNING);
	for (i = 0; i < 2; i++)
		start_logging(&rigs[i]);
	compare(&while_logging, true);
}

/* A table with one more page, whose bit would stand where nobody's memory is. */
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

CASE(log_out_of_reach)
{
	int got[2], i;

	need_both();
	open_both(READY);
	for (i = 0; i < 2; i++) {
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
	for (i = 0; i < 2; i++) {
		struct rig *r = &rigs[i];
		uint64_t log = r->v.features | F_LOG;

		rig_start(r);
		got[i] = __vdev_ioctl(r->v.fd, VHOST_SET_FEATURES, &log);
		flow_one(r);
	}
	judge("running", "SET_FEATURES LOG_ALL, out of reach", got, EFAULT,
	      NULL);
}

/* A 32-bit process, here played by this one, gets the same answers. */
CASE_TIMED(as_a_32_bit_process, 60)
{
	enum row_state state;

	if (!row_compat())
		ksft_skip("no entry for 32-bit processes");
	compat = true;
	for (state = NEW; state <= RUNNING; state++)
		compare_state(state);
}

/* Without an IOTLB: with one, see iotlb_test.c. */
CASE(file_operations)
{
	enum row_state state;
	int got[2], node;
	size_t i;

	need_both();
	for (state = NEW; state <= RUNNING; state += RUNNING) {
		open_both(state);
		for (i = 0; i < sizeof(file_rows) / sizeof(file_rows[0]); i++) {
			for (node = 0; node < 2; node++) {
				got[node] = file_rows[i].fn(rigs[node].v.fd);
				still_works(&rigs[node], state, -1);
			}
			judge(state == NEW ? "no owner" : "running",
			      file_rows[i].what, got, file_rows[i].err,
			      NULL);
		}
		close_both(state);
	}
}

KSFT_MAIN()
