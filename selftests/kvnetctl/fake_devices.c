// SPDX-License-Identifier: GPL-2.0
/* Devices of a kernel that is not there, see fake.h. */
#include "fake.h"
#include "policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIT(n)	(UINT64_C(1) << (n))

static const char evil[] = "\033[31me\"vil\\\n\xff";

/*
 * Two queue pairs of one guest; one whose owner is dead; and one that is called what
 * should not reach a terminal.
 */
static const struct fake {
	uint32_t id, pid, queue_state[2];
	const char *tap, *command, *cgroup;
	uint64_t features[2];
	bool packed;
} fakes[FAKE_DEVICES] = {
	{ 1, 4001, { KVNET_QUEUE_STATE_RUNNING, KVNET_QUEUE_STATE_RUNNING }, "tap0",
	  "qemu-system-x86", "/machine.slice/vm1.scope",
	  { BIT(15) | BIT(28) | BIT(29) | BIT(32) | BIT(34) | BIT(35), BIT(1) }, true },
	{ 2, 4001, { KVNET_QUEUE_STATE_RUNNING, KVNET_QUEUE_STATE_WAITING }, "tap0",
	  "qemu-system-x86", "/machine.slice/vm1.scope", { BIT(15) | BIT(32), 0 }, false },
	{ 7, 0, { KVNET_QUEUE_STATE_STOPPED, KVNET_QUEUE_STATE_BROKEN }, NULL, "gone", NULL,
	  { 0, 0 }, false },
	{ 300, 4003, { KVNET_QUEUE_STATE_RUNNING, KVNET_QUEUE_STATE_RUNNING },
	  "b\xc3\xb6se\x1b", evil, evil, { BIT(32) | BIT(50), BIT(60) }, false },
};

static unsigned int ticks, told;
static struct kvnet_policy policies[FAKE_DEVICES];

uint32_t fake_id(unsigned int which)
{
	return fakes[which].id;
}

void fake_tick(void)
{
	ticks++;
}

bool fake_comes(unsigned int which, unsigned int events)
{
	return fake_is("comes") && which == 3 && told < events;
}

static void put_policy(struct nlmsghdr *nlh, const struct kvnet_policy *p)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, KVNET_A_DEV_POLICY);

	mnl_attr_put_u32(nlh, KVNET_A_POLICY_POLL_US, HAS(p, KVNET_A_POLICY_POLL_US) ? p->poll_us : 50);
	mnl_attr_put_u8(nlh, KVNET_A_POLICY_TX_INLINE, 1);
	mnl_attr_put_u8(nlh, KVNET_A_POLICY_RX_DIRECT, 1);
	mnl_attr_put_u8(nlh, KVNET_A_POLICY_RX_INLINE, 0);
	mnl_attr_put_u8(nlh, KVNET_A_POLICY_SHORTCUT, 1);
	mnl_attr_nest_end(nlh, nest);
}

static bool has_macvtap(const struct fake *f)
{
	return f->id == 1 && fake_is("macvtap");
}

static void put_interface(struct nlmsghdr *nlh, const struct fake *f)
{
	bool far = fake_is("foreign") && f->id == 1;

	mnl_attr_put_u32(nlh, KVNET_A_DEV_BACKEND_NETNS_INUM, 4026531840u + far);
	mnl_attr_put_u64(nlh, KVNET_A_DEV_BACKEND_NETNS_COOKIE, 1 + far);
	if (has_macvtap(f))
		return;
	mnl_attr_put_strz(nlh, KVNET_A_DEV_IFNAME, f->tap);
	mnl_attr_put_u32(nlh, KVNET_A_DEV_IFINDEX, 5 + (f - fakes));
}

void fake_device(struct nlmsghdr *nlh, unsigned int which)
{
	const struct fake *f = &fakes[which];
	const char *node = getenv("FAKE_NODE");

	mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, f->id);
	if (f->pid)
		mnl_attr_put_u32(nlh, KVNET_A_DEV_OWNER_PID, f->pid);
	else
		mnl_attr_put(nlh, KVNET_A_DEV_OWNER_DEAD, 0, NULL);
	mnl_attr_put_strz(nlh, KVNET_A_DEV_OWNER_COMM, f->command);
	if (f->cgroup) {
		mnl_attr_put_u64(nlh, KVNET_A_DEV_CGROUP_ID, 77);
		if (which || !fake_is("deep"))
			mnl_attr_put_strz(nlh, KVNET_A_DEV_CGROUP, f->cgroup);
	}
	mnl_attr_put_u32(nlh, KVNET_A_DEV_NETNS_INUM, 4026531840u);
	mnl_attr_put_u64(nlh, KVNET_A_DEV_NETNS_COOKIE, 1);
	if (f->tap)
		put_interface(nlh, f);
	mnl_attr_put_u64(nlh, KVNET_A_DEV_FEATURES, f->features[0]);
	mnl_attr_put_u64(nlh, KVNET_A_DEV_FEATURES, f->features[1]);
	mnl_attr_put_u32(nlh, KVNET_A_DEV_LAYOUT, f->packed);
	if (f->packed)
		mnl_attr_put(nlh, KVNET_A_DEV_IN_ORDER, 0, NULL);
	mnl_attr_put_u32(nlh, KVNET_A_DEV_QUEUES, 2);
	mnl_attr_put_u32(nlh, KVNET_A_DEV_WORKERS, f->pid ? 2 : 0);
	if (node)
		mnl_attr_put_u32(nlh, KVNET_A_DEV_MEMORY_NODE, atoi(node));
	/* what a newer module may tell */
	mnl_attr_put_strz(nlh, 4000, "news");
	put_policy(nlh, &policies[which]);
}

static void put_counter(struct nlmsghdr *nlh, const char *name, uint64_t value)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, KVNET_A_QUEUE_COUNTERS);

	mnl_attr_put_strz(nlh, KVNET_A_COUNTER_NAME, name);
	mnl_attr_put_u64(nlh, KVNET_A_COUNTER_VALUE, value);
	mnl_attr_nest_end(nlh, nest);
}

static void put_histogram(struct nlmsghdr *nlh, const char *name, uint64_t sum,
			  const uint64_t *bucket, unsigned int n)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, KVNET_A_QUEUE_HISTOGRAMS);
	unsigned int i;

	mnl_attr_put_strz(nlh, KVNET_A_HISTOGRAM_NAME, name);
	mnl_attr_put_u64(nlh, KVNET_A_HISTOGRAM_SUM, sum);
	for (i = 0; i < n; i++)
		mnl_attr_put_u64(nlh, KVNET_A_HISTOGRAM_BUCKETS, bucket[i]);
	mnl_attr_nest_end(nlh, nest);
}

static void put_histograms(struct nlmsghdr *nlh, bool alive)
{
	const uint64_t turns[] = { 2, 100, 0, 30 }, ns[32] = { [11] = 5, [12] = 6, [31] = 1 };

	put_histogram(nlh, "poll_packets", alive ? 250 : 0, turns, alive ? 4 : 0);
	put_histogram(nlh, "wake_latency_ns", alive ? 5000020000 : 0, ns, alive ? 32 : 0);
	put_histogram(nlh, "from-the-future", 0, turns, 0);
}

/* To the loopback device, whose index is 1 everywhere; to one that is not there; or none. */
static void put_shortcut(struct nlmsghdr *nlh, unsigned int which)
{
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_SHORTCUT, which == 1 ? KVNET_SHORTCUT_NO_BRIDGE :
			 KVNET_SHORTCUT_ACTIVE);
	if (which != 1)
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_SHORTCUT_IFINDEX, which ? 2000000000 : 1);
}

void fake_queue(struct nlmsghdr *nlh, unsigned int which, unsigned int index)
{
	const struct fake *f = &fakes[which];
	uint64_t packets = f->pid ? 5000 + UINT64_C(1000) * ticks * (which + 1) : 0;

	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_DEV, f->id);
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_INDEX, index);
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_STATE, f->queue_state[index]);
	if (f->queue_state[index] == KVNET_QUEUE_STATE_BROKEN)
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_ERROR, EFAULT);
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_SIZE, 256);
	if (f->pid) {
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_AVAIL, 17);
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_USED, 16);
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_WORKER, index);
	}
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_ACCESS, which != 1);
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_BACKEND, has_macvtap(f) ? KVNET_BACKEND_MACVTAP :
			 f->tap ? KVNET_BACKEND_TAP : KVNET_BACKEND_NONE);
	if (!index && f->tap)
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_BACKLOG, 3);
	if (index && f->tap && !has_macvtap(f))
		put_shortcut(nlh, which);
	mnl_attr_put_u64(nlh, KVNET_A_QUEUE_KICKS, packets / 2);
	mnl_attr_put_u64(nlh, KVNET_A_QUEUE_WAKEUPS, packets / 4);
	put_counter(nlh, "packets", packets);
	put_counter(nlh, "bytes", packets * 1000);
	put_counter(nlh, "polls", packets / 10);
	put_counter(nlh, "calls", packets / 20);
	put_counter(nlh, "drop_tap", which == 3 ? 12 : 0);
	put_counter(nlh, "from-the-future", 1);
	put_histograms(nlh, f->pid);
}

/* 0: it is not told; of a thread that there cannot be, unless the test says which */
static uint32_t tid_of(unsigned int which)
{
	const char *s = getenv("FAKE_TIDS");

	for (; s && which--; s = *s ? s + 1 : s)
		s += strcspn(s, ",");
	return s && *s ? atoi(s) : 5000000;
}

void fake_worker(struct nlmsghdr *nlh, unsigned int which, unsigned int index)
{
	uint32_t tid = tid_of(2 * which + index);

	mnl_attr_put_u32(nlh, KVNET_A_WORKER_DEV, fakes[which].id);
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_INDEX, index);
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_KIND, KVNET_WORKER_KIND_TASK);
	if (fake_is("unborn") || (fake_is("late") && ticks < 2) || fake_comes(which, 2))
		return;
	if (tid)
		mnl_attr_put_u32(nlh, KVNET_A_WORKER_TID, tid);
	mnl_attr_put_strz(nlh, KVNET_A_WORKER_CPUS, "0-1");
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_CPU, 1);
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_NODE, 0);
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_NICE, (uint32_t)-3);
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_SCHED, KVNET_SCHED_OTHER);
	mnl_attr_put_u32(nlh, KVNET_A_WORKER_QUEUES, index);
	mnl_attr_put_u64(nlh, KVNET_A_WORKER_RUN_NS, UINT64_C(1000000) * ticks);
	mnl_attr_put_u64(nlh, KVNET_A_WORKER_POLL_NS, 12500);
	mnl_attr_put_u64(nlh, KVNET_A_WORKER_POLL_MAX_NS, 50000);
}

static void log_set(uint32_t id, const struct kvnet_policy *p, int err)
{
	FILE *f = getenv("FAKE_LOG") ? fopen(getenv("FAKE_LOG"), "a") : NULL;
	char *text = policy_text(p);

	if (f) {
		fprintf(f, "%u %s%s\n", id, text, err ? " refused" : "");
		fclose(f);
	}
	free(text);
}

/* a dead owner's device takes nothing; the second pair spins for 1000 us at most */
static int check_set(const struct kvnet_device *dev, const char **why)
{
	const struct kvnet_policy *p = &dev->policy;
	static unsigned int asked;

	if (fake_is("never") || (fake_is("once") && !asked++)) {
		*why = "not now";
		return EINVAL;
	}
	if (dev->id == 7) {
		*why = "the device's owner is dead";
		return EOWNERDEAD;
	}
	if (dev->id == 2 && HAS(p, KVNET_A_POLICY_POLL_US) && p->poll_us > 1000) {
		*why = "too long a spin";
		return EPERM;
	}
	return 0;
}

int fake_set(const struct nlmsghdr *nlh, const char **why)
{
	struct kvnet_device dev = { 0 };
	unsigned int i;
	int err;

	if (parse_device(nlh, &dev))
		abort();
	for (i = 0; i < FAKE_DEVICES && fakes[i].id != dev.id; i++)
		;
	err = i == FAKE_DEVICES ? ENODEV : fake_is("denied") ? EPERM : check_set(&dev, why);
	log_set(dev.id, &dev.policy, err);
	if (!err) {
		policy_merge(&dev.policy, &policies[i]);
		kvnet_policy_free(&policies[i]);
		policies[i] = dev.policy;
		memset(&dev.policy, 0, sizeof(dev.policy));
	}
	kvnet_free_device(&dev);
	return err;
}

static const uint8_t cmds[] = {
	KVNET_CMD_DEV_ADD_NTF, KVNET_CMD_WORKERS_START_NTF, KVNET_CMD_QUEUE_START_NTF,
	KVNET_CMD_QUEUE_BROKEN_NTF, 200, KVNET_CMD_QUEUE_STOP_NTF, KVNET_CMD_DEV_DEL_NTF,
};

#define STORM	3000

/* how many there are; what is tried again has not gone meanwhile */
unsigned int fake_events(void)
{
	return fake_is("never") ? STORM + 1 : sizeof(cmds) - (fake_is("once") || fake_is("late"));
}

bool fake_event(struct nlmsghdr *nlh, unsigned int n)
{
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = fake_is("never") ? KVNET_CMD_QUEUE_START_NTF : cmds[n % sizeof(cmds)];
	told++;
	if (fake_is("never") && n == STORM) {
		genl->cmd = KVNET_CMD_WORKERS_START_NTF;
		mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, 1);
		return true;
	}
	if (genl->cmd == KVNET_CMD_DEV_ADD_NTF || genl->cmd == KVNET_CMD_DEV_DEL_NTF ||
	    genl->cmd == KVNET_CMD_WORKERS_START_NTF) {
		mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, 300);
		mnl_attr_put_u32(nlh, KVNET_A_DEV_OWNER_PID, 4003);
		mnl_attr_put_strz(nlh, KVNET_A_DEV_OWNER_COMM, evil);
		return true;
	}
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_DEV, 300);
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_INDEX, 1);
	if (genl->cmd == KVNET_CMD_QUEUE_START_NTF)
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_BACKEND, KVNET_BACKEND_TAP);
	if (genl->cmd == KVNET_CMD_QUEUE_BROKEN_NTF)
		mnl_attr_put_u32(nlh, KVNET_A_QUEUE_ERROR, EINVAL);
	return true;
}
