// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees of devices, owners and workers, in the reader's namespaces, which it
 * does not keep; lists that do not fit into one message; rights; events.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @seconds: 4
 * @skip: (uapi|test)-.* | memory_on_node_1_is_shown: no node 1 here | make uapi TESTS=netlink NODES=2
 * @skip: uapi-(uml|smp-).* | memory_on_node_0_is_shown: no node 0 here | the test hosts have one
 * @skip: .*-6\.1 | .*: no threads .* | newer kernels have them
 */
#include <net/if.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "cgroup.h"
#include "flow.h"
#include "links.h"
#include "netlink_rig.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE	71
#endif

static uint32_t inode_of(const char *path)
{
	struct stat st;

	ASSERT_SYS(stat(path, &st));
	return st.st_ino;
}

/*** a device ***/

/* Of version 2; where that is not mounted, all tasks are in the root. */
static const char *own_cgroup(void)
{
	const char *path = word_of("/proc/self/cgroup", "0:");

	return *path ? path : "/";
}

CASE(device_shown_with_all_attributes)
{
	uint64_t cookie = 0, features[2];
	socklen_t len = sizeof(cookie);
	struct attrs d, f, policy;

	ASSERT_SYS(prctl(PR_SET_NAME, "a vmm"));
	netlink_begin(&(struct rig_cfg){ 0 });
	d = the_device();
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_ID), rig_counter(&vmm, "kvnet.id"));
	EXPECT_OP(attr_u32(d, KVNET_A_DEV_ID), >, 0);
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_OWNER_PID), getpid());
	EXPECT(!strcmp(attr_text(d, KVNET_A_DEV_OWNER_COMM), "a vmm"));
	EXPECT(!attr_has(d, KVNET_A_DEV_OWNER_DEAD));
	EXPECT(!strcmp(attr_text(d, KVNET_A_DEV_CGROUP), own_cgroup()));
	EXPECT_OP(attr_u64(d, KVNET_A_DEV_CGROUP_ID), >, 0);
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_NETNS_INUM), inode_of("/proc/self/ns/net"));
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_BACKEND_NETNS_INUM),
		  attr_u32(d, KVNET_A_DEV_NETNS_INUM));
	ASSERT_SYS(getsockopt(genl.fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len));
	EXPECT_EQ(attr_u64(d, KVNET_A_DEV_NETNS_COOKIE), cookie);
	EXPECT_EQ(attr_u64(d, KVNET_A_DEV_BACKEND_NETNS_COOKIE), cookie);
	EXPECT(!strcmp(attr_text(d, KVNET_A_DEV_IFNAME), vmm.name));
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_IFINDEX), vmm.ifindex);
	ASSERT(attr_nth(d, KVNET_A_DEV_FEATURES, 0, &f));
	memcpy(&features[0], f.at, 8);
	ASSERT(attr_nth(d, KVNET_A_DEV_FEATURES, 1, &f));
	memcpy(&features[1], f.at, 8);
	EXPECT_EQ(features[0], vmm.v.features);
	EXPECT_EQ(features[1], 0);
	EXPECT_EQ(attr_u64(d, KVNET_A_DEV_FEATURES_OFFERED), vmm.v.offered);
	EXPECT(attr_has(d, KVNET_A_DEV_LAYOUT));
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_LAYOUT), !!(vmm.v.features & F_PACKED));
	EXPECT_EQ(attr_has(d, KVNET_A_DEV_IN_ORDER), !!(vmm.v.features & F_ORDER));
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_QUEUES), 2);
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_WORKERS), 2);
	policy = attr_nest(d, KVNET_A_DEV_POLICY);
	EXPECT(attr_has(policy, KVNET_A_POLICY_POLL_US));
	EXPECT(attr_has(policy, KVNET_A_POLICY_RX_DIRECT));
	EXPECT(attr_has(policy, KVNET_A_POLICY_SHORTCUT));
	/* without a backend, and with another name */
	ASSERT_EQ(link_up(vmm.ifindex, false), 0);
	ASSERT_EQ(link_rename(vmm.ifindex, "other"), 0);
	EXPECT(!strcmp(attr_text(the_device(), KVNET_A_DEV_IFNAME), "other"));
	rig_stop(&vmm);
	d = the_device();
	EXPECT(!attr_has(d, KVNET_A_DEV_IFNAME));
	EXPECT(!attr_has(d, KVNET_A_DEV_BACKEND_NETNS_INUM));
	rig_close(&vmm);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 0);
}

/*** the node of the guest's memory ***/

/* The node of a page; 0 where the kernel has no nodes. */
static unsigned int node_of(void *page)
{
	int node = 0;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0, page, 3 /* MPOL_F_NODE | MPOL_F_ADDR */))
		return 0;
	return node;
}

/* Allocations come from this node from now on; ~0: from any. False: there is no such node. */
static bool memory_from(unsigned int node)
{
	unsigned long mask = 1ul << node % 64;

	if (node == ~0u)
		return !syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0);
	return !syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &mask, 64);
}

/* The node is shown as long as a ring is pinned. */
static void memory_is_on(unsigned int node)
{
	if (!memory_from(node))
		ksft_skip("no node %u here", node);
	netlink_begin(&(struct rig_cfg){ .stopped = true });
	memory_from(~0u);
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_MEMORY_NODE));
	rig_start(&vmm);
	flow_one(&vmm);
	EXPECT_EQ(node_of(vmm.v.mem), node);
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_MEMORY_NODE), node);
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_MEMORY_NODE));
	rig_set_up_again(&vmm);
	rig_start(&vmm);
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_MEMORY_NODE), node);
	rig_close(&vmm);
}

CASE_ROW(memory_on_node_0_is_shown, memory_is_on(0))
CASE_ROW(memory_on_node_1_is_shown, memory_is_on(1))

/* The limit allows one pinned ring: the node of the other one is not known. */
CASE(memory_node_shown_by_one_pinned_ring)
{
	limit_locked_memory(3 * 4096);
	netlink_begin(&(struct rig_cfg){ .rx_num = 16 });
	EXPECT_EQ(attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_ACCESS), KVNET_RING_ACCESS_PINNED);
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_ACCESS), KVNET_RING_ACCESS_USER);
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_MEMORY_NODE), node_of(vmm.v.mem));
	flow_one(&vmm);
	rig_close(&vmm);
}

CASE(memory_node_unpinned_not_shown)
{
	limit_locked_memory(0);
	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_MEMORY_NODE));
	flow_one(&vmm);
	rig_close(&vmm);
}

CASE(device_by_its_number_equals_the_list)
{
	static struct copy c;
	struct attrs d;
	struct ask a;

	netlink_begin(&(struct rig_cfg){ 0 });
	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_u32(&a, KVNET_A_DEV_ID, the_id());
	ASSERT_EQ(genl_do(&genl, &a, false, keep, &c), 0);
	ASSERT_EQ(c.n, 1);
	d = the_device();
	EXPECT_EQ(c.a.len, d.len);
	EXPECT(!memcmp(c.a.at, d.at, d.len));
}

/* Since 6.2 a dump has a policy of its own. */
CASE(dump_with_wrong_attributes_refused)
{
	static struct copy c;
	struct ask a;

	netlink_begin(&(struct rig_cfg){ 0 });
	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_u32(&a, KVNET_A_DEV_ID, the_id());
	ASSERT_EQ(genl_do(&genl, &a, true, keep, &c), 0);
	EXPECT_EQ(c.n, 1);
	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_put(&a, KVNET_A_DEV_ID, NULL, 0);
	EXPECT_EQ(genl_do(&genl, &a, true, keep, &c), -EINVAL);
	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_u32(&a, KVNET_A_DEV_QUEUES, 1);
	EXPECT_EQ(genl_do(&genl, &a, true, keep, &c), -EINVAL);
}

/* One worker for each queue. */
CASE(workers_shown_with_all_attributes)
{
	struct worker thread;
	unsigned int i;
	uint64_t ran;
	pid_t tid;
	struct attrs w;
	char tx, rx;

	tx = vdev_parameter("tx_inline", 'N');
	rx = vdev_parameter("rx_inline", 'N');
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_parameter("tx_inline", tx);
	vdev_parameter("rx_inline", rx);
	ASSERT_EQ(workers_of(getpid(), &thread), 2);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_WORKER_GET), 2);
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_WORKERS), 2);
	EXPECT_EQ(attr_u32(the_worker(0), KVNET_A_WORKER_TID), thread.tid);
	for (i = 0; i < 2; i++) {
		w = the_worker(i);
		tid = attr_u32(w, KVNET_A_WORKER_TID);
		/* a kernel thread is a process of its own */
		EXPECT(task_state(thread.pid == getpid() ? getpid() : tid, tid));
		EXPECT_EQ(attr_u32(w, KVNET_A_WORKER_KIND), thread.pid == getpid() ?
			  KVNET_WORKER_KIND_TASK : KVNET_WORKER_KIND_KTHREAD);
		EXPECT_EQ(attr_u32(w, KVNET_A_WORKER_SCHED), KVNET_SCHED_OTHER);
		EXPECT_EQ(attr_u32(w, KVNET_A_WORKER_NICE), 0);
		EXPECT(*attr_text(w, KVNET_A_WORKER_CPUS));
		EXPECT_EQ(attr_u32(w, KVNET_A_WORKER_QUEUES), i);
		EXPECT_EQ(attr_u32(the_queue(i), KVNET_A_QUEUE_WORKER), i);
		flow_one(&vmm);
		EXPECT_EQ(attr_u64(the_worker(i), KVNET_A_WORKER_POLL_MAX_NS), 50000);
		ran = attr_u64(the_worker(i), KVNET_A_WORKER_RUN_NS);
		EXPECT_OP(ran, >, 0);
		EXPECT(WAIT_FOR(3000, (flow_one(&vmm),
				       attr_u64(the_worker(i), KVNET_A_WORKER_RUN_NS) > ran)));
	}
}

/* Without WORKERS_START, which may come at any time. */
static uint8_t next_event(struct genl *g, struct attrs *e)
{
	uint8_t cmd;

	do
		cmd = genl_event(g, 3000, e);
	while (cmd == KVNET_CMD_WORKERS_START_NTF);
	return cmd;
}

/* Interfaces of other kinds, and one queue of several. */
CASE(backend_of_another_kind_is_shown)
{
	struct genl listener;
	struct attrs d, e;
	int fd;

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	genl_open(&listener);
	ASSERT_EQ(genl_join(&listener), 0);
	ASSERT_EQ(link_add_veth("va", "vb"), 0);
	if (link_add_upper("macvtap", "mt", if_nametoindex("va"), 4))
		ksft_skip("no macvtap");
	fd = link_open_tap(if_nametoindex("mt"));
	ASSERT(fd >= 0);
	vdev_backend(&vmm.v, VDEV_TX, fd);
	EXPECT_EQ(next_event(&listener, &e), KVNET_CMD_QUEUE_START_NTF);
	EXPECT_EQ(attr_u32(e, KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_MACVTAP);
	d = the_device();
	EXPECT(!attr_has(d, KVNET_A_DEV_IFNAME));
	EXPECT(!attr_has(d, KVNET_A_DEV_IFINDEX));
	EXPECT(attr_has(d, KVNET_A_DEV_BACKEND_NETNS_COOKIE));
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_MACVTAP);
	EXPECT(!attr_has(the_queue(VDEV_TX), KVNET_A_QUEUE_SHORTCUT));
	vdev_backend(&vmm.v, VDEV_TX, vmm.inject);
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_PACKET);
	EXPECT(!attr_has(the_queue(VDEV_TX), KVNET_A_QUEUE_SHORTCUT));
	EXPECT(!strcmp(attr_text(the_device(), KVNET_A_DEV_IFNAME), vmm.name));
	vdev_backend(&vmm.v, VDEV_TX, -1);
	close(fd);
	genl_close(&listener);
}

/*** rights ***/

static uint8_t set_nothing(struct ask *a, uint32_t id)
{
	ask_begin(a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(a, KVNET_A_DEV_ID, id);
	ask_nest_end(a, ask_nest(a, KVNET_A_DEV_POLICY));
	return KVNET_CMD_DEV_SET;
}

/* Each request for the device is answered by 'one', each list has 'list' devices. */
static void answers(uint32_t id, int one, int list)
{
	struct ask a;

	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_u32(&a, KVNET_A_DEV_ID, id);
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), one);
	set_nothing(&a, id);
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), one);
	ask_begin(&a, &genl, KVNET_CMD_QUEUE_GET);
	ask_u32(&a, KVNET_A_QUEUE_DEV, id);
	EXPECT_EQ(genl_do(&genl, &a, true, NULL, NULL), one);
	ask_begin(&a, &genl, KVNET_CMD_WORKER_GET);
	ask_u32(&a, KVNET_A_WORKER_DEV, id);
	EXPECT_EQ(genl_do(&genl, &a, true, NULL, NULL), one);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), list);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_QUEUE_GET), list > 0 ? 2 * list : list);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_WORKER_GET), list > 0 ? 2 * list : list);
}

CASE(devices_of_another_namespace_not_shown)
{
	struct attrs e;
	uint32_t id;

	netlink_begin(&(struct rig_cfg){ 0 });
	id = the_id();
	answers(id + 1, -ENODEV, 1);
	link_new_netns();
	genl_open(&genl);
	ASSERT_EQ(genl_join(&genl), 0);
	answers(id, -ENODEV, 0);
	rig_stop(&vmm);
	rig_close(&vmm);
	EXPECT_EQ(genl_event(&genl, 200, &e), 0);
}

static uint32_t id_of_vmm;

static void has_no_rights(void)
{
	genl_open(&genl);
	answers(id_of_vmm, -EPERM, -EPERM);
	EXPECT_EQ(genl_join(&genl), -EPERM);
}

static void as_another_user(void)
{
	ASSERT_SYS(setresgid(65531, 65531, 65531));
	ASSERT_SYS(setresuid(65531, 65531, 65531));
	has_no_rights();
}

/* Root of a user namespace that the network namespace does not belong to. */
static void as_root_elsewhere(void)
{
	ASSERT_SYS(unshare(CLONE_NEWUSER));
	has_no_rights();
}

/* And of one that its own network namespace belongs to: no device is there. */
static void as_root_of_a_container(void)
{
	ASSERT_SYS(unshare(CLONE_NEWUSER | CLONE_NEWNET));
	genl_open(&genl);
	EXPECT_EQ(genl_join(&genl), 0);
	answers(id_of_vmm, -ENODEV, 0);
}

CASE(requests_without_rights_refused)
{
	need_user_namespaces();
	netlink_begin(&(struct rig_cfg){ 0 });
	id_of_vmm = the_id();
	in_child(as_another_user);
	in_child(as_root_elsewhere);
	in_child(as_root_of_a_container);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 1);
}

/*** events ***/

static struct attrs expect_event(uint8_t cmd)
{
	struct attrs e = { NULL, 0 };

	EXPECT_EQ(next_event(&genl, &e), cmd);
	return e;
}

static void is_of_the_vmm(struct attrs e, uint32_t id)
{
	EXPECT_EQ(attr_u32(e, KVNET_A_DEV_ID), id);
	EXPECT_EQ(attr_u32(e, KVNET_A_DEV_OWNER_PID), getpid());
	EXPECT(!strcmp(attr_text(e, KVNET_A_DEV_OWNER_COMM), "a vmm"));
}

static void expect_dev(uint8_t cmd, uint32_t id)
{
	is_of_the_vmm(expect_event(cmd), id);
}

static struct attrs expect_queue(uint8_t cmd, uint32_t id, unsigned int index)
{
	struct attrs e = expect_event(cmd);

	EXPECT_EQ(attr_u32(e, KVNET_A_QUEUE_DEV), id);
	EXPECT_EQ(attr_u32(e, KVNET_A_QUEUE_INDEX), index);
	return e;
}

static void expect_start(uint32_t id, unsigned int index)
{
	EXPECT_EQ(attr_u32(expect_queue(KVNET_CMD_QUEUE_START_NTF, id, index),
			   KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_TAP);
}

/* A descriptor outside of the memory table, which is empty. */
static void break_queue(unsigned int index)
{
	const struct vhost_memory none = { .nregions = 0 };

	vdev_ioctl(vmm.v.fd, VHOST_SET_MEM_TABLE, &none);
	ASSERT_EQ(rig_tx(&vmm, 100, NULL), 0);
	vdev_kick_always(&vmm.v.q[index]);
}

static void *own(void *fd)
{
	ASSERT_SYS(prctl(PR_SET_NAME, "not a vmm"));
	vdev_own(*(int *)fd);
	return NULL;
}

/* The owner is the process of the thread that calls SET_OWNER. */
static void own_by_a_thread(void)
{
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, own, &vmm.v.fd), 0);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

CASE(events_follow_the_device)
{
	struct attrs e;
	uint32_t id;

	ASSERT_SYS(prctl(PR_SET_NAME, "a vmm"));
	netlink_begin(&(struct rig_cfg){ .stopped = true });
	id = the_id();
	ASSERT_EQ(genl_join(&genl), 0);
	rig_start(&vmm);
	expect_start(id, VDEV_RX);
	expect_start(id, VDEV_TX);
	vdev_backend(&vmm.v, VDEV_TX, vmm.tap);	/* the same again: no event */
	break_queue(VDEV_TX);
	e = expect_queue(KVNET_CMD_QUEUE_BROKEN_NTF, id, VDEV_TX);
	EXPECT_OP(attr_u32(e, KVNET_A_QUEUE_ERROR), >, 0);
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_ERROR),
		  attr_u32(e, KVNET_A_QUEUE_ERROR));
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_STATE),
		  KVNET_QUEUE_STATE_BROKEN);
	vdev_backend(&vmm.v, VDEV_TX, -1);
	expect_queue(KVNET_CMD_QUEUE_STOP_NTF, id, VDEV_TX);
	vdev_backend(&vmm.v, VDEV_TX, -1);	/* stopped already: no event */
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	expect_queue(KVNET_CMD_QUEUE_STOP_NTF, id, VDEV_RX);
	expect_dev(KVNET_CMD_DEV_DEL_NTF, id);
	own_by_a_thread();
	expect_dev(KVNET_CMD_DEV_ADD_NTF, rig_counter(&vmm, "kvnet.id"));
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_OWNER_DEAD));
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_OWNER_PID), getpid());
	EXPECT_OP(rig_counter(&vmm, "kvnet.id"), >, id);
	id = rig_counter(&vmm, "kvnet.id");
	rig_close(&vmm);
	expect_dev(KVNET_CMD_DEV_DEL_NTF, id);
	EXPECT_EQ(genl_event(&genl, 0, &e), 0);
}

static void listen_before_there_is_an_owner(void)
{
	netlink_need();
	rig_enter_netns();
	genl_open(&genl);
	ASSERT_EQ(genl_join(&genl), 0);
	vmm.v.fd = vdev_open_node();
}

/* Once, after DEV_ADD, and then each worker's thread is known. */
static void workers_start(const char *kind)
{
	struct attrs e;
	uint32_t id;

	choose_worker(kind);
	listen_before_there_is_an_owner();
	ASSERT_SYS(prctl(PR_SET_NAME, "a vmm"));
	vdev_own(vmm.v.fd);
	id = rig_counter(&vmm, "kvnet.id");
	EXPECT_EQ(genl_event(&genl, 3000, &e), KVNET_CMD_DEV_ADD_NTF);
	EXPECT_EQ(genl_event(&genl, 3000, &e), KVNET_CMD_WORKERS_START_NTF);
	is_of_the_vmm(e, id);
	EXPECT_OP(attr_u32(the_worker(0), KVNET_A_WORKER_TID), >, 0);
	EXPECT_OP(attr_u32(the_worker(1), KVNET_A_WORKER_TID), >, 0);
	EXPECT_EQ(genl_event(&genl, 100, &e), 0);
	close(vmm.v.fd);
	EXPECT_EQ(genl_event(&genl, 3000, &e), KVNET_CMD_DEV_DEL_NTF);
	EXPECT_EQ(genl_event(&genl, 100, &e), 0);
}

CASE_ROW(worker_task_start_notified_once, workers_start("task"))
CASE_ROW(worker_kthread_start_notified_once, workers_start("kthread"))

/* The device is closed at once: WORKERS_START comes before DEV_DEL, or not at all. */
static void workers_start_before_the_end(const char *kind)
{
	unsigned int i, started;
	struct attrs e;
	uint8_t cmd;

	choose_worker(kind);
	listen_before_there_is_an_owner();
	for (i = 0; i < 100; i++) {
		vdev_own(vmm.v.fd);
		close(vmm.v.fd);
		started = 0;
		EXPECT_EQ(genl_event(&genl, 3000, &e), KVNET_CMD_DEV_ADD_NTF);
		while ((cmd = genl_event(&genl, 3000, &e)) == KVNET_CMD_WORKERS_START_NTF)
			started++;
		EXPECT_OP(started, <=, 1);
		EXPECT_EQ(cmd, KVNET_CMD_DEV_DEL_NTF);
		vmm.v.fd = vdev_open_node();
	}
	EXPECT_EQ(genl_event(&genl, 100, &e), 0);
}

CASE_ROW(worker_task_start_precedes_the_end, workers_start_before_the_end("task"))
CASE_ROW(worker_kthread_start_precedes_the_end, workers_start_before_the_end("kthread"))

static void own_as_first_process(void)
{
	vdev_own(vmm.v.fd);
	EXPECT_EQ(getpid(), 1);
}

/* The owner's PID there is another process's here. */
CASE(owner_in_another_pid_namespace_has_no_number)
{
	struct attrs e;

	listen_before_there_is_an_owner();
	if (unshare(CLONE_NEWPID))
		ksft_skip("no PID namespaces: %s", strerror(errno));
	in_child(own_as_first_process);
	e = expect_event(KVNET_CMD_DEV_ADD_NTF);
	EXPECT(!attr_has(e, KVNET_A_DEV_OWNER_PID));
	EXPECT(*attr_text(e, KVNET_A_DEV_OWNER_COMM));
	close(vmm.v.fd);
	e = expect_event(KVNET_CMD_DEV_DEL_NTF);
	EXPECT(!attr_has(e, KVNET_A_DEV_OWNER_PID));
}

/*** a dead owner ***/

static pid_t own_and_die(int fd)
{
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		vdev_own(fd);
		raise(SIGKILL);
	}
	return pid;
}

/* That is shown as soon as waitpid() for the owner has returned. */
static void owner_dead(const char *kind)
{
	struct attrs d;
	struct ask a;
	int status;
	pid_t pid;

	choose_worker(kind);
	listen_before_there_is_an_owner();
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 0);
	pid = own_and_die(vmm.v.fd);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFSIGNALED(status));
	expect_event(KVNET_CMD_DEV_ADD_NTF);
	d = the_device();
	EXPECT(attr_has(d, KVNET_A_DEV_OWNER_DEAD));
	EXPECT(!attr_has(d, KVNET_A_DEV_OWNER_PID));
	EXPECT(!attr_has(d, KVNET_A_DEV_CGROUP));
	EXPECT(*attr_text(d, KVNET_A_DEV_OWNER_COMM));
	set_nothing(&a, attr_u32(d, KVNET_A_DEV_ID));
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), -EOWNERDEAD);
	EXPECT(strstr(genl.said, "dead"));
	close(vmm.v.fd);
	expect_event(KVNET_CMD_DEV_DEL_NTF);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 0);
}

CASE_ROW(owner_of_task_dead_is_shown_and_refuses_a_set, owner_dead("task"))
CASE_ROW(owner_of_kthread_dead_is_shown_and_refuses_a_set, owner_dead("kthread"))

/*** a worker that waits for a page ***/

/* The worker waits for a page of the frame, and holds the queue's lock. */
static void send_late(struct vdev_queue *q)
{
	ASSERT_EQ(rig_tx(&vmm, 1000, NULL), 0);
	pager_take_away(q->bufs, q->buf_size * q->buf_num);
	pager.holds = true;
	gr_publish(&q->ring);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	ASSERT(pager_asked(1, 3000));
}

/* The owner waits for that lock, and holds the device's. */
static void *stop_tx(void *arg)
{
	vdev_backend(&vmm.v, VDEV_TX, -1);
	return arg;
}

CASE(list_during_a_page_fault_does_not_wait)
{
	struct vdev_queue *q = &vmm.v.q[VDEV_TX];
	pthread_t thread;
	struct attrs tx;

	netlink_need();
	pin_rig_open(&vmm, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&vmm);
	genl_open(&genl);
	vdev_no_spin(&vmm.v);
	frames_pass(&vmm);
	wait_worker_idle();
	pager_open();
	send_late(q);
	ASSERT_EQ(pthread_create(&thread, NULL, stop_tx, NULL), 0);
	tx = the_queue(VDEV_TX);
	EXPECT_EQ(attr_u32(tx, KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_RUNNING);
	EXPECT(!attr_has(tx, KVNET_A_QUEUE_AVAIL));
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 1);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_WORKER_GET), 2);
	answers(the_id() + 1, -ENODEV, 1);
	pager_go_on();
	pthread_join(thread, NULL);
}

/*** owners and interfaces that change ***/

CASE(owner_renamed_is_shown)
{
	ASSERT_SYS(prctl(PR_SET_NAME, "a vmm"));
	netlink_begin(&(struct rig_cfg){ 0 });
	ASSERT_SYS(prctl(PR_SET_NAME, "renamed"));
	EXPECT(!strcmp(attr_text(the_device(), KVNET_A_DEV_OWNER_COMM), "renamed"));
}

/* In a PID namespace without the owner and its threads. */
static void has_no_numbers(void)
{
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_OWNER_PID));
	EXPECT(*attr_text(the_device(), KVNET_A_DEV_OWNER_COMM));
	EXPECT(!attr_has(the_worker(0), KVNET_A_WORKER_TID));
	EXPECT(attr_has(the_worker(0), KVNET_A_WORKER_KIND));
}

CASE(reader_in_another_pid_namespace_sees_no_number)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	ASSERT(worker_tid(0) > 0);
	if (unshare(CLONE_NEWPID))
		ksft_skip("no PID namespaces: %s", strerror(errno));
	in_child(has_no_numbers);
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_OWNER_PID), getpid());
}

CASE(owner_dead_and_not_reaped_is_shown_dead)
{
	siginfo_t info;
	pid_t pid;

	listen_before_there_is_an_owner();
	pid = own_and_die(vmm.v.fd);
	ASSERT_SYS(waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT(WAIT_FOR(3000, attr_has(the_device(), KVNET_A_DEV_OWNER_DEAD)));
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_OWNER_PID));
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	close(vmm.v.fd);
}

/*** control groups ***/

static const char *path_shown(void)
{
	return attr_text(the_device(), KVNET_A_DEV_CGROUP);
}

static void sees_the_root(void)
{
	ASSERT_SYS(unshare(CLONE_NEWCGROUP));
	EXPECT(!strcmp(path_shown(), "/"));
}

CASE(cgroup_shown_from_the_readers_root)
{
	struct cgroup g;

	cgroup_make(&g, NULL);
	cgroup_join(&g, getpid());
	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT(!strcmp(path_shown(), strrchr(g.path, '/')));
	in_child(sees_the_root);
	rig_close(&vmm);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

static struct cgroup readers;

static void sees_no_path(void)
{
	cgroup_join(&readers, getpid());
	ASSERT_SYS(unshare(CLONE_NEWCGROUP));
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_CGROUP));
	EXPECT_OP(attr_u64(the_device(), KVNET_A_DEV_CGROUP_ID), >, 0);
}

/* Neither a group beside the reader's root nor one above it has a path there. */
CASE(cgroup_outside_of_the_readers_root_not_shown)
{
	struct cgroup g;

	cgroup_make(&g, NULL);
	cgroup_make(&readers, NULL);
	cgroup_join(&g, getpid());
	netlink_begin(&(struct rig_cfg){ 0 });
	in_child(sees_no_path);
	cgroup_leave(getpid());
	in_child(sees_no_path);
	rig_close(&vmm);
	cgroup_remove(&readers);
	cgroup_remove(&g);
}

#define DEEP		6
#define NAME_LEN	200

/* A path that is too long for a message is left out as a whole. */
CASE(cgroup_path_too_long_not_shown)
{
	char name[NAME_LEN + 1], pid[16];
	struct cgroup g;
	unsigned int i;
	FILE *f;

	cgroup_make(&g, NULL);
	netlink_begin(&(struct rig_cfg){ 0 });
	memset(name, 'x', NAME_LEN);
	name[NAME_LEN] = 0;
	ASSERT_SYS(chdir(g.path));
	for (i = 0; i < DEEP; i++) {
		ASSERT_SYS(mkdir(name, 0755));
		ASSERT_SYS(chdir(name));
	}
	snprintf(pid, sizeof(pid), "%d", getpid());
	f = fopen("cgroup.procs", "w");
	ASSERT(f);
	EXPECT_OP(fputs(pid, f), >=, 0);
	EXPECT_EQ(fclose(f), 0);
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_CGROUP));
	EXPECT_OP(attr_u64(the_device(), KVNET_A_DEV_CGROUP_ID), >, 1);
	rig_close(&vmm);
	cgroup_leave(getpid());
	for (i = 0; i < DEEP; i++) {
		ASSERT_SYS(chdir(".."));
		EXPECT(WAIT_FOR(3000, !rmdir(name)));
	}
	ASSERT_SYS(chdir("/"));
	cgroup_remove(&g);
}

/*** interfaces ***/

CASE(interface_deleted_not_shown)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	ASSERT_EQ(link_delete(vmm.ifindex), 0);
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_IFNAME));
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_IFINDEX));
	EXPECT(attr_has(the_device(), KVNET_A_DEV_BACKEND_NETNS_INUM));
}

CASE(interface_of_either_queue_is_shown)
{
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_IFNAME));
	for (i = 0; i < 2; i++) {
		vdev_backend(&vmm.v, i, vmm.tap);
		EXPECT(!strcmp(attr_text(the_device(), KVNET_A_DEV_IFNAME), vmm.name));
		vdev_backend(&vmm.v, i, -1);
	}
}

static void look_at_all(void)
{
	struct genl others;

	genl_open(&others);
	EXPECT_EQ(genl_count(&others, KVNET_CMD_DEV_GET), 1);
	EXPECT_EQ(genl_count(&others, KVNET_CMD_QUEUE_GET), 2);
	EXPECT_EQ(genl_count(&others, KVNET_CMD_WORKER_GET), 2);
	genl_close(&others);
}

/* Neither a reader's request nor a backend keeps the namespace: it goes with its last user. */
CASE(namespace_is_not_kept)
{
	int outside = link_new_netns(), inside;

	netlink_begin(&(struct rig_cfg){ .here = true });
	ASSERT_EQ(link_add_veth("inner", "outer"), 0);
	ASSERT_EQ(link_move(if_nametoindex("outer"), outside), 0);
	look_at_all();
	flow_one(&vmm);
	vdev_backend(&vmm.v, VDEV_TX, vmm.inject);
	look_at_all();
	genl_close(&genl);
	rig_close(&vmm);
	inside = link_own_netns();
	ASSERT_SYS(setns(outside, CLONE_NEWNET));
	EXPECT(if_nametoindex("outer"));
	close(inside);
	EXPECT(WAIT_FOR(10000, !if_nametoindex("outer")));
}

/*** lists of several messages ***/

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

	netlink_need();
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

/* The messages of a list until now. */
struct seen {
	unsigned int n;
	uint32_t dev[MANY * QUEUES];
	uint32_t index[MANY * QUEUES];
	unsigned int close_with;	/* after so many, devices are closed */
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

CASE(list_in_messages_of_each_size_is_complete)
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

/* With one of the messages all devices but the last are closed. */
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
 * The next message begins with the first queue of the last device, wherever among a device's
 * queues the message before it ended.
 */
CASE(list_with_devices_closed_amid_stays_in_order)
{
	size_t piece;

	for (piece = PIECE_MIN; piece <= PIECE_MAX; piece += PIECE_STEP) {
		close_amid(piece, 1);
		close_amid(piece, 10);
	}
}

KSFT_MAIN()
