/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libkvnet - client of the generic-netlink family "kvnet"
 *
 * Calls return 0 or a negative errno; then "why" of the connection is a message. "has" of a
 * structure says which attributes the module has sent.
 */
#ifndef KVNETCTL_LIBKVNET_H
#define KVNETCTL_LIBKVNET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/kvnet.h>

#define HAS(o, attr)	(!!((o)->has & (UINT64_C(1) << (attr))))
#define FEATURE_WORDS	2

struct nl_socket;

/**
 * struct kvnet - a connection
 * @sock: the socket
 * @family, @group: what the kernel calls the family and its events
 * @seq: of the last request
 * @why: what went wrong, without a full stop
 */
struct kvnet {
	struct nl_socket *sock;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
	char why[256];
};

/* Of a policy, what is for the workers' threads, and not for the module: see worker_sched.h */
enum {
	POLICY_CPUS = __KVNET_A_POLICY_MAX,
	POLICY_NODE,
	POLICY_NICE,
	POLICY_SCHED,
	POLICY_RT_PRIORITY,
	POLICY_END,
};

#define POLICY_OF_MODULE	((UINT64_C(1) << POLICY_CPUS) - 1)
#define POLICY_OF_THREADS	(((UINT64_C(1) << POLICY_END) - 1) & ~POLICY_OF_MODULE)

/* in the place of a node's number */
#define NODE_NONE	(-1)
#define NODE_AUTO	(-2)

struct kvnet_policy {
	uint64_t has;		/* KVNET_A_POLICY_*, POLICY_* */
	char *cpus;		/* empty: all */
	int32_t nice, node;
	uint32_t sched, rt_priority, poll_us;
	uint8_t tx_inline, rx_direct, rx_inline, shortcut;
};

struct kvnet_counter {
	char *name;
	uint64_t value;
};

/* as the specification has it */
#define HISTOGRAM_BUCKETS	32

/**
 * struct kvnet_histogram - how often values of each size came
 * @name: its name
 * @sum: of all values
 * @bucket: how often: 0, one bit, two bits, and so on
 * @buckets: entries in @bucket
 */
struct kvnet_histogram {
	char *name;
	uint64_t sum;
	uint64_t bucket[HISTOGRAM_BUCKETS];
	unsigned int buckets;
};

struct kvnet_queue {
	uint64_t has;		/* KVNET_A_QUEUE_* */
	uint32_t dev, index, state, error, size, avail, used;
	uint32_t access, backend, backlog, worker, shortcut, shortcut_ifindex;
	uint64_t kicks, wakeups;
	struct kvnet_counter *counter;
	unsigned int counters;
	struct kvnet_histogram *histogram;
	unsigned int histograms;
};

struct kvnet_worker {
	uint64_t has;		/* KVNET_A_WORKER_* */
	uint32_t dev, index, tid, kind, cpu, node, sched, rt_priority;
	int32_t nice;
	uint64_t run_ns, poll_ns, poll_max_ns;
	char *cpus;
	uint32_t queues;	/* a bit for each queue below 32 */
};

struct kvnet_device {
	uint64_t has;		/* KVNET_A_DEV_* */
	uint32_t id, pid, netns, ifindex, tap_netns, layout, n_queues, n_workers;
	int32_t memory_node;
	uint64_t cgroup_id, netns_cookie, tap_netns_cookie;
	uint64_t features[FEATURE_WORDS], offered[FEATURE_WORDS];
	char *command, *cgroup, *tap;
	struct kvnet_policy policy;
	struct kvnet_queue *queue;
	struct kvnet_worker *worker;
	unsigned int queues, workers;
};

/**
 * struct kvnet_devices - devices at one time, by id
 * @dev: the devices
 * @n: how many
 * @ns: when, in ns of CLOCK_MONOTONIC
 */
struct kvnet_devices {
	struct kvnet_device *dev;
	unsigned int n;
	uint64_t ns;
};

struct kvnet_event {
	uint8_t cmd;		/* KVNET_CMD_*_NTF */
	struct kvnet_device dev;
	struct kvnet_queue queue;
};

int kvnet_open(struct kvnet *k);
void kvnet_close(struct kvnet *k);
int kvnet_get(struct kvnet *k, uint32_t id, struct kvnet_devices *all);
void kvnet_free(struct kvnet_devices *all);
void kvnet_free_device(struct kvnet_device *dev);
int kvnet_set(struct kvnet *k, uint32_t id, const struct kvnet_policy *p);
int kvnet_listen(struct kvnet *k);
int kvnet_fd(const struct kvnet *k);
int kvnet_event(struct kvnet *k, struct kvnet_event *ev);
void kvnet_drain(struct kvnet *k);
void kvnet_event_free(struct kvnet_event *ev);
void kvnet_policy_free(struct kvnet_policy *p);
const char *kvnet_tap_of_owner_netns(const struct kvnet_device *dev);

const struct kvnet_counter *kvnet_counter(const struct kvnet_queue *q,
					  const char *name);
uint64_t kvnet_counter_value(const struct kvnet_queue *q, const char *name);
uint64_t kvnet_drops(const struct kvnet_queue *q);
uint64_t kvnet_histogram_bucket_min(unsigned int bucket);
uint64_t kvnet_histogram_bucket_max(unsigned int bucket);

#endif /* KVNETCTL_LIBKVNET_H */
