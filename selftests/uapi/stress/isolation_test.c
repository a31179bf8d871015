// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that makes its device do as much as it can (mischief.h), beside one that carries
 * frames: the host's memory stays as it is, its log stays empty, a queue is polled no more often
 * than it was kicked, and is idle when that ends; the other guest's frames arrive.  No time is
 * judged here: the laboratory's row "neighbour" measures what the other guest notices.
 *
 * KSFT_LONG=500 does each thing a hundred thousand times.
 *
 * @tier: all
 * @again: packed
 * @apart: yes
 */
#include "flow.h"
#include "mischief.h"
#include "procfs.h"
#include "rig.h"
#include "vmm.h"

#define TIMES		200u	/* what each kind does, by default */
#define SPARE_KB	512	/* what the rest of the system allocates and frees */
#define ACTION_BYTES	64	/* of a leak that is seen, with so many actions */
#define TRIES		16u
#define IDLE_ROUNDS	50u	/* some milliseconds each */

static struct rig rig;
static struct mischief m;

static void begin(void)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	mischief_init(&m, &rig.v, rig.tap);
}

/* Actions of the guest, one after the other; frames come when there are buffers for them. */
static void do_times(unsigned int times)
{
	unsigned int n = 0, turn = 0;

	while (n < times && !ksft_failed()) {
		if (m.kind == MISCHIEF_REFILL)
			rig_inject(&rig, n, 60);
		n += mischief_round(&m);
		/* a round that had nothing to do waits for the device */
		ksft_relax(turn++ % 8);
	}
}

/* KiB that are gone after so many actions. */
static long memory_gone_after(unsigned int times)
{
	long before = memory_available_kb();

	do_times(times);
	return before - memory_available_kb();
}

static void memory_stays(enum mischief_kind kind, unsigned int times)
{
	long most = SPARE_KB + (long)times * ACTION_BYTES / 1024, taken = 0;
	unsigned int i;

	mischief_begin(&m, kind);
	do_times(times / 4 + 1);
	/*
	 * Other tasks may allocate meanwhile, once. KASAN keeps what was freed, up to a 32nd of
	 * the memory and a MiB of each CPU: so much is gone before any comes back.
	 */
	for (i = 0; i < TRIES && !ksft_failed(); i++) {
		taken = memory_gone_after(times);
		if (taken <= most)
			break;
	}
	ksft_note("%s: %u times, set up again %lu times, %ld KiB are gone",
		  mischief_name(kind), times, m.broken, taken);
	if (i == TRIES)
		FAIL("%s: %ld KiB are gone, time after time", mischief_name(kind), taken);
	mischief_end(&m);
	m.broken = 0;
}

/* Records of the kernel's log since the descriptor was opened, but for our own marks. */
static unsigned int log_records(int fd)
{
	char buf[8192], *text;
	unsigned int n = 0;
	ssize_t len;

	while ((len = read(fd, buf, sizeof(buf) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0) {		/* overwritten: there were too many */
			n += 1000;
			continue;
		}
		buf[len] = 0;
		text = strchr(buf, ';');
		if (!text || !strncmp(text + 1, "selftest:", 9))
			continue;
		ksft_note("the kernel's log: %.*s", (int)strcspn(text + 1, "\n"), text + 1);
		n++;
	}
	return n;
}

static void one_beside(struct vmm *beside, enum mischief_kind kind)
{
	memory_stays(kind, ksft_rounds(TIMES));
	if (!vmm_carries(beside))
		FAIL("beside %s no frames arrive", mischief_name(kind));
}

CASE_TIMED(mischief_leaks_nothing_and_logs_nothing, 900)
{
	unsigned int before = workers(), kind;
	struct vmm beside;
	int log;

	if (vdev_is_vhost())
		ksft_skip("vhost_net retries what is bad for ever, and may log it");
	vmm_start(&beside, NULL);
	begin();
	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log >= 0)
		lseek(log, 0, SEEK_END);
	for (kind = MISCHIEF_NONE; kind < MISCHIEF_KINDS && !ksft_failed(); kind++)
		one_beside(&beside, kind);
	if (log >= 0)
		EXPECT_EQ(log_records(log), 0);
	/* it is as new */
	rig_start_again(&rig);
	flow_one(&rig);
	rig_close(&rig);
	vmm_kill(&beside);
	no_worker_left(before);
	no_leak_found();
}

static long polls(void)
{
	return rig_counter(&rig, "kvnet.rx.polls") + rig_counter(&rig, "kvnet.tx.polls");
}

static long kicks(void)
{
	return rig_counter(&rig, "kvnet.rx.kicks") + rig_counter(&rig, "kvnet.tx.kicks");
}

/* No queue is polled any more. */
static bool is_idle(void)
{
	long before = polls();
	unsigned int i;

	for (i = 0; i < IDLE_ROUNDS; i++)
		ksft_relax(64);
	return polls() == before;
}

CASE_TIMED(mischief_causes_no_idle_polls, 120)
{
	unsigned int times = ksft_rounds(TIMES), kind;
	long polled, kicked;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	begin();
	vdev_no_spin(&rig.v);
	for (kind = MISCHIEF_KICKS; kind < MISCHIEF_KINDS && !ksft_failed(); kind++) {
		mischief_begin(&m, kind);
		polled = polls();
		kicked = kicks();
		do_times(times);
		kicked = kicks() - kicked;
		if (!WAIT_FOR(10000, is_idle()))
			FAIL("%s: the queues do not become idle", mischief_name(kind));
		polled = polls() - polled;
		ksft_note("%s: %u times: %ld kicks, %ld polls", mischief_name(kind), times, kicked,
			  polled);
		/* one poll for each kick, and more for work that is left */
		if (kind == MISCHIEF_KICKS)
			EXPECT_LE(polled, kicked + 2);
		mischief_end(&m);
	}
	rig_start_again(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

KSFT_MAIN()
