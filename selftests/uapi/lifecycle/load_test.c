// SPDX-License-Identifier: GPL-2.0
/*
 * A load of the module that fails, while other processes open its device nodes all the time:
 * none may get a file, since its operations are freed with the module. Nor may the netlink
 * family be there for a moment, since a process may start a dump then.
 *
 * @seconds: 3
 * @skip: (uapi|test)-[67n].* | .*: no /sys/kernel/debug/fails.* | User-Mode Linux lets allocations fail
 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdatomic.h>

#include "genl.h"
#include "inject.h"
#include "module.h"
#include "vdev.h"
#include "vhost_abi.h"

#define REPLACE	"replace_vhost_net=1"

enum { OPENERS = 4 };

static struct {
	const char *const *nodes;
	pid_t pid[OPENERS];
	/* shared with them */
	struct { atomic_uint tries, files; atomic_bool pause; } *count;
} openers;

static int families;	/* socket: each netlink family that is added or removed */

static const char *const our_node[] = { "/dev/kvnet", NULL };
static const char *const both_nodes[] = { "/dev/kvnet", "/dev/vhost-net", NULL };

/* SCHED_IDLE: runs when the loader sleeps, and does not delay it. */
static void open_for_ever(void)
{
	const struct sched_param none = { 0 };
	const char *const *node;
	int fd;

	ASSERT_SYS(sched_setscheduler(0, SCHED_IDLE, &none));
	for (;;) {
		while (atomic_load(&openers.count->pause))
			ksft_relax(1000);
		for (node = openers.nodes; *node; node++) {
			fd = open(*node, O_RDWR);
			atomic_fetch_add(&openers.count->tries, 1);
			if (fd < 0)
				continue;
			atomic_fetch_add(&openers.count->files, 1);
			close(fd);
		}
	}
}

static void openers_start(const char *const *nodes)
{
	unsigned int i;

	openers.nodes = nodes;
	openers.count = mmap(NULL, sizeof(*openers.count), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(openers.count != MAP_FAILED);
	for (i = 0; i < OPENERS; i++) {
		openers.pid[i] = ASSERT_SYS(fork());
		if (!openers.pid[i])
			open_for_ever();
	}
}

static void openers_end(void)
{
	unsigned int i;

	for (i = 0; i < OPENERS; i++) {
		kill(openers.pid[i], SIGKILL);
		waitpid(openers.pid[i], NULL, 0);
	}
}

/* One of four processes has the device open nearly all the time, so they pause. */
static void unload(void)
{
	atomic_store(&openers.count->pause, true);
	module_is_unloaded();
	atomic_store(&openers.count->pause, false);
}

static void listen_to_families(void)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int group = GENL_ID_CTRL;

	families = ASSERT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	ASSERT_SYS(bind(families, (const struct sockaddr *)&any, sizeof(any)));
	ASSERT_SYS(setsockopt(families, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
			      sizeof(group)));
}

/* How often has our family been added since? */
static unsigned int family_came(void)
{
	static uint8_t buf[16 << 10];
	const struct nlmsghdr *n = (void *)buf;
	const struct genlmsghdr *g = NLMSG_DATA(n);
	unsigned int came = 0;
	ssize_t len;

	while ((len = recv(families, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		struct attrs a = { (void *)(g + 1), len - NLMSG_HDRLEN - GENL_HDRLEN };

		came += g->cmd == CTRL_CMD_NEWFAMILY &&
			!strcmp(attr_text(a, CTRL_ATTR_FAMILY_NAME), "kvnet");
	}
	return came;
}

static bool family_is_there(void)
{
	struct genl g = { .family = GENL_ID_CTRL, .piece = 16 << 10 };
	struct ask a;
	int ret;

	g.fd = ASSERT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	ask_begin(&a, &g, CTRL_CMD_GETFAMILY);
	ask_text(&a, CTRL_ATTR_FAMILY_NAME, KVNET_FAMILY_NAME);
	ret = genl_do(&g, &a, false, NULL, NULL);
	close(g.fd);
	return !ret;
}

static unsigned int files(void)
{
	return atomic_load(&openers.count->files);
}

static void begin(const char *const *nodes)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net is under test");
	module_is_unloaded();
	openers_start(nodes);
	listen_to_families();
}

/* The openers do get files of a loaded module, which is left as before. */
static void end(void)
{
	unsigned int before = files();

	EXPECT_EQ(family_came(), 0);
	EXPECT_EQ(module_load(REPLACE), 0);
	EXPECT_EQ(family_came(), 1);
	EXPECT(WAIT_FOR(5000, files() > before));
	openers_end();
	ksft_note("opened %u times of %u", files(), atomic_load(&openers.count->tries));
	close(families);
	module_is_unloaded();
	EXPECT_EQ(module_load(""), 0);
}

CASE_TIMED(load_beside_vhost_net_is_refused, 120)
{
	unsigned int i;

	begin(our_node);
	EXPECT_EQ(system("modprobe vhost_net"), 0);
	for (i = 0; i < ksft_rounds(10) && !ksft_failed(); i++)
		EXPECT_EQ(module_load(REPLACE), -EBUSY);
	EXPECT_EQ(files(), 0);
	EXPECT_EQ(system("rmmod vhost_net"), 0);
	end();
}

/* RLIMIT_NPROC and pids.max do not bound kernel threads. */
CASE(kthread_choice_by_default_is_refused)
{
	uint8_t kind = VHOST_FORK_OWNER_KTHREAD;
	int fd;

	if (vdev_is_vhost())
		ksft_skip("vhost_net is under test");
	module_is_unloaded();
	EXPECT_EQ(module_load(""), 0);
	fd = vdev_open_node();
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_SET_FORK_FROM_OWNER, &kind), -ENOTTY);
	EXPECT_EQ(__vdev_ioctl(fd, VHOST_GET_FORK_FROM_OWNER, &kind), -ENOTTY);
	close(fd);
}

/* Allocations of a load: the least of some, which differ. */
static unsigned int allocations(const struct injector *in)
{
	enum { POLL_MANY = 1000000 };
	unsigned int i, n, least = POLL_MANY;

	for (i = 0; i < 3; i++) {
		injector_nth(in, POLL_MANY);
		EXPECT_EQ(module_load(REPLACE), 0);
		n = POLL_MANY - injector_left(in);
		injector_nth(in, 0);
		unload();
		least = n < least ? n : least;
	}
	return least;
}

/* The last allocations of a load are those of its devices. */
CASE_TIMED(load_without_memory_shows_no_node, 120)
{
	unsigned int all, n, tried = 0, failed = 0;
	struct injector in;
	int ret;

	inject_knobs("0");
	injector_open(&in, gettid(), false);
	begin(both_nodes);
	all = allocations(&in);
	family_came();
	for (n = all; n && failed < ksft_rounds(5) && !ksft_failed(); n--) {
		unsigned int before = files();

		tried++;
		injector_nth(&in, n);
		ret = module_load(REPLACE);
		injector_nth(&in, 0);
		if (!ret) {	/* the load goes on without */
			EXPECT(family_is_there());
			unload();
			family_came();
			continue;
		}
		EXPECT_EQ(ret, -ENOMEM);
		EXPECT_EQ(files(), before);
		failed++;
	}
	ksft_note("%u of %u loads failed, of %u allocations each", failed, tried, all);
	EXPECT_GE(failed, ksft_rounds(5));
	injector_close(&in);
	end();
}

KSFT_MAIN()
