// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a VMM under load, again and again (LIFE_CYCLES of each, 2 by default): it is
 * killed, closes, executes, forks, passes its device on, is frozen, moved to other CPUs, runs
 * out of memory; and its tap, network namespace, memory table and module are replaced.
 * lifecycle_test has these once, in more environments, and without the search for leaks.
 *
 * @tier: all
 * @hosts: 6.12
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 * @skip: uapi-smp-.* | cpu_hotplug_keeps_traffic: needs two CPUs | the test hosts take CPUs off line
 * @skip: uapi-uml.* | .*: no controller memory: .* | the test hosts have it
 * @skip: .*-6\.1 | owner_frozen_goes_on: the worker is the kernel's .* | newer kernels have threads of the owner
 */
#include "cgroup.h"
#include "dirtylog.h"
#include "inject.h"
#include "links.h"
#include "module.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vmm.h"

#define CPU1	"/sys/devices/system/cpu/cpu1/online"
#define CASE_LONG(id)	CASE_TIMED(id, 5000)

static struct rig rig;
static struct flow flow = { .r = &rig };
static struct vmm vmm;
static struct cgroup group;
static unsigned int cycles, done, workers_before;
static unsigned long files_before;
static long pinned_before;

static void begin(void)
{
	const char *s = getenv("LIFE_CYCLES");

	cycles = s && *s ? strtoul(s, NULL, 10) : ksft_rounds(2);
	workers_before = workers();
	files_before = open_files();
	pinned_before = pages_pinned();
}

static bool more(void)
{
	return done < cycles && !ksft_failed();
}

static void end(void)
{
	ksft_note("%u cycles", done);
	no_worker_left(workers_before);
	no_file_left(files_before, 16);
	if (!WAIT_FOR(3000, pages_pinned() <= pinned_before))
		FAIL("pinned pages: %ld, then %ld", pinned_before, pages_pinned());
	no_leak_found();
}

/* The worker gets to any point of a poll. */
static void some_time(void)
{
	unsigned int n;

	for (n = ksft_below(50); n; n--)
		sched_yield();
}

/*** the VMM ends ***/

CASE_LONG(owner_killed_leaves_nothing)
{
	begin();
	for (; more(); done++) {
		vmm_start(&vmm, NULL);
		some_time();
		vmm_kill(&vmm);
		no_worker_left(workers_before);
	}
	end();
}

static void close_it(struct rig *r, int sock)
{
	close(r->v.fd);
	no_worker_left(workers_before);
	_exit(7);
}

static void act_and_end(void (*act)(struct rig *r, int sock), int code)
{
	int status;

	begin();
	for (; more(); done++) {
		vmm_start(&vmm, act);
		some_time();
		vmm_act(&vmm);
		status = vmm_ends(&vmm);
		EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, code);
		no_worker_left(workers_before);
	}
	end();
}

CASE_LONG(owner_closing_leaves_nothing)
{
	act_and_end(close_it, 7);
}

static void execute(struct rig *r, int sock)
{
	fcntl(r->v.fd, F_SETFD, 0);
	if (freopen("/dev/null", "w", stdout))
		execl("/proc/self/exe", "list", "-l", NULL);
	_exit(1);
}

CASE_LONG(owner_exec_leaves_nothing)
{
	act_and_end(execute, 0);
}

/* The child has the device when its owner has exited. */
static void leave_it_to_a_child(struct rig *r, int sock)
{
	char c;

	if (fork())
		_exit(5);
	close(r->sniff);
	if (read(sock, &c, 1) != 1)
		_exit(1);
	EXPECT_EQ(__vdev_backend(&r->v, VDEV_RX, -1), -EPERM);
	_exit(0);
}

CASE_LONG(owner_exit_with_child_leaves_nothing)
{
	int status;

	begin();
	for (; more(); done++) {
		vmm_start(&vmm, leave_it_to_a_child);
		vmm_act(&vmm);
		ASSERT_EQ(waitpid(vmm.pid, &status, 0), vmm.pid);
		EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 5);
		no_worker_left(workers_before);
		ASSERT_EQ(write(vmm.sock, "x", 1), 1);
		/* the socket's other end goes with it */
		EXPECT_EQ(recv(vmm.sock, &status, 1, 0), 0);
		close(vmm.sock);
		munmap(vmm.shared, sizeof(*vmm.shared));
	}
	end();
}

static void pass_it_on(struct rig *r, int sock)
{
	union { struct cmsghdr c; char b[CMSG_SPACE(sizeof(int))]; } u = { 0 };
	struct iovec io = { "x", 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u,
		.msg_controllen = sizeof(u),
	};

	u.c.cmsg_level = SOL_SOCKET;
	u.c.cmsg_type = SCM_RIGHTS;
	u.c.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&u.c), &r->v.fd, sizeof(int));
	ASSERT_EQ(sendmsg(sock, &m, 0), 1);
}

/* The receiver closes the device last, or the message with the device is never received. */
CASE_LONG(device_passed_over_socket_leaves_nothing)
{
	union { struct cmsghdr c; char b[CMSG_SPACE(sizeof(int))]; } u;
	struct vhost_vring_file off = { .fd = -1 };
	char byte;
	int fd;

	begin();
	for (; more(); done++) {
		struct iovec io = { &byte, 1 };
		struct msghdr m = {
			.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u,
			.msg_controllen = sizeof(u),
		};

		vmm_start(&vmm, pass_it_on);
		vmm_act(&vmm);
		if (done % 4 == 3) {	/* it is still in the socket */
			EXPECT(vmm_carries(&vmm));
			vmm_kill(&vmm);
			no_worker_left(workers_before);
			continue;
		}
		ASSERT_EQ(recvmsg(vmm.sock, &m, MSG_CMSG_CLOEXEC), 1);
		memcpy(&fd, CMSG_DATA(&u.c), sizeof(fd));
		EXPECT(vmm_carries(&vmm));
		EXPECT_EQ(__vdev_ioctl(fd, VHOST_NET_SET_BACKEND, &off), -EPERM);
		vmm_kill(&vmm);
		no_worker_left(workers_before);
		EXPECT_EQ(__vdev_ioctl(fd, VHOST_NET_SET_BACKEND, &off), -EPERM);
		close(fd);
	}
	end();
}

/* Traffic alone allocates too little to run out of memory. */
static void want_memory(struct rig *r, int sock)
{
	enum { MUCH = 1 << 20 };
	void *p = mmap(NULL, MUCH, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		memset(p, 1, MUCH);
}

CASE_LONG(owner_oom_killed_leaves_nothing)
{
	int status;

	cgroup_make(&group, "memory");
	begin();
	for (; more(); done++) {
		vmm_start(&vmm, want_memory);
		cgroup_join(&group, vmm.pid);
		/* where the kernel could swap */
		if (cgroup_has(&group, "memory.swap.max"))
			cgroup_set(&group, "memory.swap.max", "0");
		cgroup_set(&group, "memory.oom.group", done % 2 ? "1" : "0");
		cgroup_set(&group, "memory.max", "16K");
		vmm_act(&vmm);
		status = vmm_ends(&vmm);
		EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		no_worker_left(workers_before);
		cgroup_set(&group, "memory.max", "max");
	}
	end();
	cgroup_remove(&group);
}

/*** the VMM lives on ***/

CASE_LONG(owner_frozen_goes_on)
{
	if (!kernel_has_vhost_task())
		ksft_skip("the worker is the kernel's before Linux 6.11");
	cgroup_make(&group, NULL);
	begin();
	vmm_start(&vmm, NULL);
	for (; more(); done++) {
		cgroup_join(&group, vmm.pid);
		cgroup_freeze(&group, true);
		EXPECT(cgroup_frozen(&group, true, 5000));
		if (done % 4 == 3) {	/* killed while frozen */
			vmm_kill(&vmm);
			no_worker_left(workers_before);
			vmm_start(&vmm, NULL);
		}
		cgroup_freeze(&group, false);
		EXPECT(vmm_carries(&vmm));
	}
	vmm_kill(&vmm);
	end();
	cgroup_remove(&group);
}

CASE_LONG(cpu_hotplug_keeps_traffic)
{
	if (access(CPU1, W_OK))
		ksft_skip("needs two CPUs");
	begin();
	vmm_start(&vmm, NULL);
	for (; more(); done++) {
		EXPECT(inject_put(CPU1, "0"));
		some_time();
		EXPECT(inject_put(CPU1, "1"));
		EXPECT(vmm_carries(&vmm));
	}
	vmm_kill(&vmm);
	end();
}

CASE_LONG(cpuset_change_keeps_traffic)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	cgroup_make(&group, "cpuset");
	begin();
	vmm_start(&vmm, NULL);
	cgroup_join(&group, vmm.pid);
	for (; more(); done++) {
		cgroup_set(&group, "cpuset.cpus", done % 2 ? "0" : "1");
		EXPECT(vmm_carries(&vmm));
	}
	vmm_kill(&vmm);
	end();
	cgroup_remove(&group);
}

/*** tap, namespace, memory and backend are replaced ***/

static void survives(void (*change)(void))
{
	begin();
	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (; more(); done++) {
		flow_pump(&flow);
		change();
		flow_recovers(&flow);
	}
	rig_close(&rig);
	end();
}

static void new_tap(void)
{
	struct rig old;

	flow_stop_empty(&flow);
	rig_another_tap(&rig, &old);
	rig_close_tap(&old);
	rig_start(&rig);
}

static void delete_tap(void)
{
	unsigned int i;

	ASSERT_EQ(link_delete(rig.ifindex), 0);
	for (i = 0; i < 10; i++)
		rig_tx(&rig, 100, NULL);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	new_tap();
}

CASE_LONG(tap_deleted_recovers)
{
	survives(delete_tap);
}

/* Leaves the network namespace as the last process: it is removed, and the tap with it. */
static void leave_netns(void)
{
	unsigned int i;

	close(rig.sniff);
	close(rig.inject);
	rig_enter_netns();
	for (i = 0; i < 10; i++)
		rig_tx(&rig, 100, NULL);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	some_time();
	rig.sniff = -1;
	rig.inject = -1;
	new_tap();
}

CASE_LONG(netns_removed_recovers)
{
	survives(leave_netns);
}

static void other_memory(void)
{
	uint8_t *old = vdev_map_host(&rig.v);

	vdev_set_mem(&rig.v);
	vdev_unmap_host(&rig.v, old);
}

CASE_LONG(memory_table_change_keeps_traffic)
{
	flow.lossless = true;
	survives(other_memory);
}

static void other_backend(void)
{
	unsigned int q = ksft_below(2);
	struct rig old;

	vdev_backend(&rig.v, q, -1);
	flow_pump(&flow);
	vdev_backend(&rig.v, q, rig.tap);
	flow_pump(&flow);
	rig_another_tap(&rig, &old);
	rig_start(&rig);
	rig_close_tap(&old);
}

CASE_LONG(backend_change_keeps_traffic)
{
	survives(other_backend);
}

/* To another device, with the same memory; the dirty log is on meanwhile. */
static void migrate(void)
{
	struct vdev *v = &rig.v;
	struct dirtylog log;
	uint32_t base[2];
	int source = v->fd;
	unsigned int q;

	dirtylog_open(&log, v);
	dirtylog_on(&log);
	flow_pump(&flow);
	rig_stop(&rig);
	for (q = 0; q < 2; q++)
		base[q] = vdev_get_base(v, q);
	dirtylog_off(&log);
	v->fd = vdev_open_node();
	vdev_own(v->fd);
	vdev_set_features(v, v->features);
	vdev_set_mem(v);
	for (q = 0; q < 2; q++) {
		vdev_queue_tell(v, q, 0);
		vdev_set_base(v, q, base[q]);
	}
	close(source);
	rig_start(&rig);
	vdev_kick_always(&v->q[VDEV_TX]);
	vdev_kick_always(&v->q[VDEV_RX]);
	dirtylog_close(&log);
}

CASE_LONG(migration_keeps_traffic)
{
	flow.lossless = true;
	survives(migrate);
}

/*** the module itself ***/

CASE_LONG(module_reload_between_owners_works)
{
	if (vdev_is_vhost() || access(MODULE, R_OK))
		ksft_skip("no " MODULE);
	begin();
	for (; more(); done++) {
		vmm_start(&vmm, NULL);
		EXPECT_EQ(module_unload(), -EWOULDBLOCK);
		vmm_kill(&vmm);
		/* the devices of a dead process are released a while later */
		module_is_unloaded();
		EXPECT_EQ(module_load(""), 0);
	}
	end();
}

KSFT_MAIN()
