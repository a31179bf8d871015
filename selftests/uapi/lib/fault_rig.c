// SPDX-License-Identifier: GPL-2.0
/* Steps of which each call that can fail fails, one by one: see fault_rig.h. */
#include "fault_rig.h"
#include "flow.h"
#include "inject.h"
#include "pin_rig.h"
#include "netlink_rig.h"
#include "procfs.h"

#define BURST	24

unsigned int fault_injected;
uint32_t fault_device;

static unsigned int workers_before;
static unsigned long files_before;
static long pinned_before;
static struct genl listener;

/* Drops frames that have waited for a guest without queues. */
static void empty_tap(void)
{
	struct pollfd p = { .fd = vmm.tap, .events = POLLIN };
	static uint8_t f[FRAME_MAX];

	while (poll(&p, 1, 0) == 1 && read(vmm.tap, f, sizeof(f)) > 0)
		;
}

void fault_set_up_again(void)
{
	struct vdev *v = &vmm.v;
	unsigned int q;

	for (q = 0; q < 2; q++)
		__vdev_backend(v, q, -1);
	empty_tap();
	__vdev_ioctl(v->fd, VHOST_SET_OWNER, NULL);	/* if it has got none */
	vdev_set_features(v, v->features);
	vdev_set_mem(v);
	for (q = 0; q < 2; q++)
		vdev_queue_reset(v, q);
	vmm.tx_out = 0;
	rig_start(&vmm);
	fault_device = the_id();	/* another with each owner */
}

/* Rings that are new, and nothing of the old ones under way. */
void fault_carries_packets(void)
{
	static uint8_t f[FRAME_MAX];

	fault_set_up_again();
	while (rig_sniff(&vmm, f, sizeof(f), 0) >= 0)
		;
	flow_one(&vmm);
}

static void each(const struct fault_step *s, struct injector *in)
{
	unsigned int n;
	bool hit = true;
	int ret = 0;

	for (n = 1; hit && n < FAULT_MOST && !ksft_failed(); n = injector_next(in, n)) {
		injector_nth(in, n);
		ret = s->call ? s->call() : __vdev_ioctl(vmm.v.fd, s->req, s->arg);
		hit = injector_end(in, ret);
		if (ret && !(hit && inject_clean(ret)))
			FAIL("%s, failure %u: %s", s->name, n, strerror(-ret));
		fault_injected += hit;
		/* without an answer that is still on its way */
		genl_close(&genl);
		genl_open(&genl);
		fault_carries_packets();
	}
	if (n >= FAULT_MOST)
		FAIL("%s does not come to an end", s->name);
}

void fault_each(const struct fault_step *s)
{
	struct injector in;

	FOR_EACH_INJECTOR(&in, gettid())
		each(s, &in);
}

void fault_begin(const struct rig_cfg *cfg)
{
	if (vdev_is_vhost())
		ksft_skip("steps are kvnet's, too");
	inject_knobs("0");
	workers_before = workers();
	files_before = open_files();
	pinned_before = pages_pinned();
	netlink_begin(cfg);
	/* a listener for notifications */
	genl_open(&listener);
	ASSERT_EQ(genl_join(&listener), 0);
	fault_carries_packets();
}

void fault_end(void)
{
	rig_close(&vmm);
	genl_close(&genl);
	genl_close(&listener);
	no_worker_left(workers_before);
	no_file_left(files_before, 16);
	if (!WAIT_FOR(3000, pages_pinned() <= pinned_before))
		FAIL("pinned pages: %ld, then %ld", pinned_before, pages_pinned());
	no_leak_found();
	ksft_note("failures: %u", fault_injected);
}

/*** the data path ***/

static bool arrived(unsigned int q)
{
	return gr_used_pending(&vmm.v.q[q].ring);
}

/* The worker alone, or inline TX and inline RX, too. */
void fault_by_worker(bool all)
{
	policy_want();
	ask_u8(&policy_request, KVNET_A_POLICY_TX_INLINE, !all);
	ask_u8(&policy_request, KVNET_A_POLICY_RX_INLINE, !all);
	ASSERT_EQ(policy_ask(), 0);
}

/* Written to, since a page that was only read may have another fault; it holds what it held. */
static void touch(volatile uint8_t *at, size_t len)
{
	size_t off;

	for (off = 0; off < len; off += 4096)
		at[off] = at[off];
}

void fault_touch_memory(const struct vdev *v)
{
	touch(v->host, v->mem_size);
	touch(v->ring_host, VDEV_RING_ZONE);
}

/* Replaces the pages, so that cached ones are invalid. */
static void new_pages(void)
{
	ASSERT_SYS(mprotect(vmm.v.host, vmm.v.mem_size, PROT_READ));
	ASSERT_SYS(mprotect(vmm.v.host, vmm.v.mem_size, PROT_READ | PROT_WRITE));
	fault_touch_memory(&vmm.v);
}

static void to_the_guest(const struct injector *in, unsigned int n, const struct fault_load *load)
{
	unsigned int i;

	if (load->burst == 1)
		new_pages();
	rig_rx_post(&vmm, BURST, NULL);
	wait_worker_idle();
	injector_nth(in, n);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	for (i = 0; i < load->burst; i++)
		rig_inject(&vmm, i, load->len);
}

static void to_the_host(const struct injector *in, unsigned int n, const struct fault_load *load)
{
	unsigned int i;

	/* some allocations serve several frames */
	for (i = 0; i < load->burst; i++)
		rig_tx(&vmm, load->len, load->shape);
	/* no inline TX while the worker polls the queue */
	wait_worker_idle();
	injector_nth(in, n);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
}

/* Frames one way, while the n-th of what the thread does fails; they may get lost. */
static bool frames(const struct injector *in, unsigned int n, unsigned int way,
		   const struct fault_load *load)
{
	bool hit;

	if (way == VDEV_RX)
		to_the_guest(in, n, load);
	else
		to_the_host(in, n, load);
	/* then a worker serves the queue; a call of this thread could fail itself */
	if (in->tid != gettid()) {
		WAIT_FOR(3000, arrived(way) || injector_hit(in));
		wait_worker_idle();
	}
	hit = injector_hit(in);
	injector_nth(in, 0);
	if (!hit && !WAIT_FOR(3000, arrived(way)))
		FAIL("no frame of %u bytes arrived, and nothing has failed", load->len);
	return hit;
}

static void one_way(const struct injector *in, unsigned int way, const struct fault_load *load)
{
	unsigned int n;
	bool hit = true;

	for (n = 1; hit && n < FAULT_MOST && !ksft_failed(); n++) {
		hit = frames(in, n, way, load);
		fault_injected += hit;
		fault_carries_packets();
	}
	if (n >= FAULT_MOST)
		FAIL("what fails of frames of %u bytes does not come to an end", load->len);
}

void fault_on_the_way(pid_t tid, const struct fault_load *load)
{
	struct injector in;

	FOR_EACH_INJECTOR(&in, tid) {
		one_way(&in, VDEV_TX, load);
		/* the send() of the injected frame may not fail; the tap takes no longer frame */
		if (tid != gettid() && load->len < 4000)
			one_way(&in, VDEV_RX, load);
	}
}
