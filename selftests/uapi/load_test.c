// SPDX-License-Identifier: GPL-2.0
/*
 * A load of the module that fails, while others open its device nodes all the
 * time: nobody is to get a file, since its operations are freed with the module.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"
#include "vdev.h"

#define MODULE	"/kvnet/kvnet.ko"
#define REPLACE	"replace_vhost_net=1"

enum { OPENERS = 4 };

static struct {
	const char *const *nodes;
	pid_t pid[OPENERS];
	/* shared with them */
	struct { atomic_uint tries, files; } *count;
} openers;

static const char *const our_node[] = { "/dev/kvnet", NULL };
static const char *const both_nodes[] = { "/dev/kvnet", "/dev/vhost-net", NULL };

static void open_for_ever(void)
{
	const char *const *node;
	int fd;

	for (;;) {
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

static unsigned int files(void)
{
	return atomic_load(&openers.count->files);
}

static int load(const char *parameters)
{
	int fd = ASSERT_SYS(open(MODULE, O_RDONLY | O_CLOEXEC));
	int ret = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;

	close(fd);
	return ret;
}

/* Openers may have it for a moment. */
static void unload(void)
{
	EXPECT(WAIT_FOR(5000, !syscall(SYS_delete_module, "kvnet", O_NONBLOCK)));
}

static void begin(const char *const *nodes)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net is under test");
	unload();
	openers_start(nodes);
}

/* They are able to, and the module is as before. */
static void end(void)
{
	unsigned int before = files();

	EXPECT_EQ(load(REPLACE), 0);
	EXPECT(WAIT_FOR(5000, files() > before));
	openers_end();
	ksft_note("opened %u times of %u", files(), atomic_load(&openers.count->tries));
	unload();
	EXPECT_EQ(load(""), 0);
}

CASE_TIMED(refused_beside_vhost_net, 120)
{
	unsigned int i;

	begin(our_node);
	EXPECT_EQ(system("modprobe vhost_net"), 0);
	for (i = 0; i < ksft_rounds(10) && !ksft_failed(); i++)
		EXPECT_EQ(load(REPLACE), -EBUSY);
	EXPECT_EQ(files(), 0);
	EXPECT_EQ(system("rmmod vhost_net"), 0);
	end();
}

/* Of a load; one takes some more than another. */
static unsigned int allocations(void)
{
	enum { MANY = 1000000 };
	unsigned int i, n, least = MANY;

	for (i = 0; i < 3; i++) {
		inject_nth(MANY);
		EXPECT_EQ(load(REPLACE), 0);
		n = MANY - inject_left();
		inject_nth(0);
		unload();
		least = n < least ? n : least;
	}
	return least;
}

/* The last allocations of a load are those of its devices. */
CASE_TIMED(without_memory_for_a_node, 120)
{
	unsigned int all, n, tried = 0, failed = 0;
	int ret;

	inject_knobs("0");
	begin(both_nodes);
	all = allocations();
	for (n = all; n && (tried < ksft_rounds(40) || failed < 5) && !ksft_failed(); n--) {
		unsigned int before = files();

		tried++;
		inject_nth(n);
		ret = load(REPLACE);
		inject_nth(0);
		if (!ret) {	/* it could do without */
			unload();
			continue;
		}
		EXPECT_EQ(ret, -ENOMEM);
		EXPECT_EQ(files(), before);
		failed++;
	}
	ksft_note("%u of %u loads failed, of %u allocations each", failed, tried, all);
	EXPECT_GE(failed, 5);
	end();
}

KSFT_MAIN()
