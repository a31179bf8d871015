// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees of owners and of interfaces, which change, and that who looks
 * sees it as it is where it is: in its own namespaces, none of which it keeps.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "flow.h"
#include "links.h"
#include "netlink_rig.h"
#include "policy_rig.h"
#include "procfs.h"

/* In a process of its own. */
static void apart(void (*fn)(void))
{
	int status;
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		fn();
		_exit(ksft_failed());
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/*** names and numbers ***/

CASE(another_name)
{
	ASSERT_SYS(prctl(PR_SET_NAME, "a vmm"));
	netlink_begin(&(struct rig_cfg){ 0 });
	ASSERT_SYS(prctl(PR_SET_NAME, "renamed"));
	EXPECT(!strcmp(attr_text(the_device(), KVNET_A_DEV_OWNER_COMM), "renamed"));
}

/* Where the owner and its threads have no numbers. */
static void has_no_numbers(void)
{
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_OWNER_PID));
	EXPECT(*attr_text(the_device(), KVNET_A_DEV_OWNER_COMM));
	EXPECT(!attr_has(the_worker(0), KVNET_A_WORKER_TID));
	EXPECT(attr_has(the_worker(0), KVNET_A_WORKER_KIND));
}

CASE(another_pid_namespace)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	ASSERT(worker_tid(0) > 0);
	if (unshare(CLONE_NEWPID))
		ksft_skip("no PID namespaces: %s", strerror(errno));
	apart(has_no_numbers);
	EXPECT_EQ(attr_u32(the_device(), KVNET_A_DEV_OWNER_PID), getpid());
}

/* Who has died is dead, whether or not somebody has waited for it. */
CASE(dead_and_not_waited_for)
{
	siginfo_t info;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	rig_enter_netns();
	genl_open(&genl);
	vmm.v.fd = vdev_open_node();
	pid = ASSERT_SYS(fork());
	if (!pid) {
		vdev_own(vmm.v.fd);
		raise(SIGKILL);
	}
	ASSERT_SYS(waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT(WAIT_FOR(3000, attr_has(the_device(), KVNET_A_DEV_OWNER_DEAD)));
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_OWNER_PID));
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	close(vmm.v.fd);
}

/*** control groups ***/

static const char *path_told(void)
{
	return attr_text(the_device(), KVNET_A_DEV_CGROUP);
}

static void sees_the_root(void)
{
	ASSERT_SYS(unshare(CLONE_NEWCGROUP));
	EXPECT(!strcmp(path_told(), "/"));
}

CASE(another_cgroup_namespace)
{
	struct cgroup g;

	cgroup_make(&g, NULL);
	cgroup_join(&g, getpid());
	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT(!strcmp(path_told(), strrchr(g.path, '/')));
	apart(sees_the_root);
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

/* Neither the group beside the reader's root nor the one above it has a path that is told. */
CASE(a_cgroup_outside_of_the_readers_namespace)
{
	struct cgroup g;

	cgroup_make(&g, NULL);
	cgroup_make(&readers, NULL);
	cgroup_join(&g, getpid());
	netlink_begin(&(struct rig_cfg){ 0 });
	apart(sees_no_path);
	cgroup_leave(getpid());
	apart(sees_no_path);
	rig_close(&vmm);
	cgroup_remove(&readers);
	cgroup_remove(&g);
}

#define DEEP		6
#define NAME_LEN	200

/* A path that is too long for a message is not told, and not a part of it. */
CASE(a_long_path)
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

CASE(an_interface_that_is_gone)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	ASSERT_EQ(link_delete(vmm.ifindex), 0);
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_IFNAME));
	EXPECT(!attr_has(the_device(), KVNET_A_DEV_IFINDEX));
	EXPECT(attr_has(the_device(), KVNET_A_DEV_BACKEND_NETNS_INUM));
}

/* Either queue's says what it is. */
CASE(one_queue_has_an_interface)
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

/* Whoever has looked, and whatever has been set: the namespace goes with its last user. */
CASE(a_namespace_that_goes)
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

KSFT_MAIN()
