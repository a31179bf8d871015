// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of random system calls, several threads of them, on several devices whose
 * frames pass meanwhile; after each a process that knows nothing of it finds a device
 * that works, and nothing left behind.
 *
 *   SYSFUZZ_SECONDS=N	for so long, and say what was done
 *   SEED=a.b.c.d...	this program once (of the genes given, in hexadecimal)
 *   OPS=0-17,30	and of it these operations alone
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abuse.h"
#include "flow.h"
#include "inject.h"
#include "pin_rig.h"
#include "procfs.h"

struct program {
	unsigned int genes;
	uint64_t gene[ABUSE_GENES];
	bool masked;
	bool wanted[ABUSE_OPS];
	char text[ABUSE_GENES * 17 + 1];
};

struct runner {
	struct world *w;
	const struct program *p;
	unsigned int nr;
};

static struct world world;
static struct program program;
static struct abuse_tally *tally;

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/*** programs ***/

static void name_program(struct program *p)
{
	unsigned int i, n = 0;

	for (i = 0; i < p->genes; i++)
		n += sprintf(p->text + n, "%s%llx", i ? "." : "",
			     (unsigned long long)p->gene[i]);
}

static void random_program(struct program *p)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->genes = ABUSE_GENES;
	for (i = 0; i < p->genes; i++)
		p->gene[i] = mix((uint64_t)ksft_random() << 32 | ksft_random()) >> 16;
	name_program(p);
}

static void given_program(struct program *p, const char *seed, const char *ops)
{
	unsigned long from, to;
	char *end;

	memset(p, 0, sizeof(*p));
	while (*seed && p->genes < ABUSE_GENES) {
		p->gene[p->genes++] = strtoull(seed, &end, 16);
		seed = *end ? end + 1 : end;
	}
	name_program(p);
	p->masked = ops && *ops;
	while (ops && *ops) {
		from = strtoul(ops, &end, 10);
		to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
		for (; from <= to && from < ABUSE_OPS; from++)
			p->wanted[from] = true;
		ops = *end ? end + 1 : end;
	}
}

/*** a program runs ***/

static void nothing(int sig)
{
	(void)sig;
}

static void *run(void *arg)
{
	struct runner *r = arg;
	unsigned int nr;
	struct genl g;

	genl_open(&g);
	for (nr = r->nr; nr < r->p->genes * ABUSE_PER_GENE; nr += ABUSE_THREADS) {
		if (r->p->masked && !r->p->wanted[nr])
			continue;
		tally->at[r->nr] = nr + 1;
		abuse_do(r->w, r->p->gene[nr / ABUSE_PER_GENE], nr % ABUSE_PER_GENE, &g);
		__atomic_fetch_add(&tally->ops, 1, __ATOMIC_RELAXED);
	}
	tally->at[r->nr] = 0;
	genl_close(&g);
	return NULL;
}

/* Signals are for the threads that run the program. */
static void start_all(pthread_t *helper, pthread_t *thread, struct runner *r)
{
	void *(*const fn[])(void *) = { world_traffic, world_samples, world_pages };
	sigset_t set;
	unsigned int i;

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = nothing }, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(pthread_create(&helper[i], NULL, fn[i], &world), 0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (i = 0; i < ABUSE_THREADS; i++) {
		r[i] = (struct runner) { &world, &program, i };
		ASSERT_EQ(pthread_create(&thread[i], NULL, run, &r[i]), 0);
	}
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void run_world(void)
{
	struct rlimit lim = { 8 << 20, RLIM_INFINITY };
	pthread_t helper[3], thread[ABUSE_THREADS];
	struct runner r[ABUSE_THREADS];
	unsigned int i;

	world_open(&world, tally, program.gene[0]);
	start_all(helper, thread, r);
	for (i = 0; i < ABUSE_THREADS; i++)
		pthread_join(thread[i], NULL);
	if (program.gene[0] % 3 == 0)	/* in the midst of it all */
		kill(getpid(), SIGKILL);
	__atomic_store_n(&world.over, true, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		pthread_join(helper[i], NULL);
	setrlimit(RLIMIT_MEMLOCK, &lim);
	world_forget(&world);
	for (i = 0; i < ABUSE_DEVS; i++)
		if (!world_carries(&world, &world.dev[i]))
			FAIL("device %u does not work any more", i);
}

/*** what is looked at afterwards ***/

static const char *const parameters[] = {
	"copy_frames", "tap_direct", "tx_by_vcpu", "rx_in_place", "pin_rings", "poll_us",
	"share_workers", "tx_call_us",
};
#define PARAMETERS	(sizeof(parameters) / sizeof(*parameters))
static char before[PARAMETERS][16];

static void keep_parameters(bool restore)
{
	char path[96];
	unsigned int i;
	ssize_t n;
	int fd;

	for (i = 0; i < PARAMETERS; i++) {
		snprintf(path, sizeof(path), "/sys/module/kvnet/parameters/%s",
			 parameters[i]);
		if (restore) {
			inject_put(path, before[i]);
			continue;
		}
		fd = open(path, O_RDONLY);
		n = fd < 0 ? 0 : read(fd, before[i], sizeof(before[i]) - 1);
		before[i][n > 0 ? n : 0] = 0;
		close(fd);
	}
}

/* Where each thread of a process is that does not come to its end. */
static void show_stuck(pid_t pid)
{
	char path[320], line[160];
	struct dirent *d;
	DIR *tasks;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (d = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stack", pid, d->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			ksft_note("  %s: %.*s", d->d_name, (int)strcspn(line, "\n"), line);
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	inject_put("/proc/sysrq-trigger", "w");
}

static void wait_for(pid_t pid)
{
	unsigned int i, nr;
	int status;

	if (!WAIT_FOR(40000, waitpid(pid, &status, WNOHANG) == pid)) {
		for (i = 0; i < ABUSE_THREADS; i++) {
			nr = tally->at[i];
			FAIL("thread %u is still at operation %d", i, (int)nr - 1);
		}
		show_stuck(pid);
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
			FAIL("and cannot be killed");
		return;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		FAIL("the program dies of signal %d", WTERMSIG(status));
}

/* Somebody else finds a device that works. */
static void probe(void)
{
	static struct rig rig;
	pid_t pid = ASSERT_SYS(fork());
	int status;

	if (!pid) {
		rig_open(&rig, &(struct rig_cfg){ .bufs = 16, .num = 64 });
		flow_one(&rig);
		rig_close(&rig);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

static void one_program(unsigned int workers_before)
{
	char mark[ABUSE_GENES * 17 + 32];
	int kmsg = ksft_kmsg_open();
	pid_t pid;

	/* in one piece, and for the console: all that is left if the kernel dies */
	snprintf(mark, sizeof(mark), "<5>sysfuzz: SEED=%s", program.text);
	inject_put("/dev/kmsg", mark);
	fflush(stdout);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		setpgid(0, 0);
		run_world();
		_exit(0);
	}
	wait_for(pid);
	keep_parameters(true);
	probe();
	no_worker_left(workers_before);
	if (ksft_kmsg_verdict(kmsg))
		FAIL("the kernel complains");
	if (ksft_failed())
		ksft_note("again: SEED=%s", program.text);
}

/*** the whole ***/

static void say_what_was_done(unsigned int programs)
{
	unsigned long n = tally->samples ? tally->samples : 1;
	unsigned int i;

	ksft_note("%lu operations in %u programs, %lu repairs, %lu frames", tally->ops,
		  programs, tally->repairs, tally->frames);
	ksft_note("of %lu looks at a device it ran in %lu %%, had carried packets in %lu %%",
		  tally->samples, tally->ran * 100 / n, tally->carried * 100 / n);
	if (!getenv("SYSFUZZ_SECONDS"))
		return;
	for (i = 0; i < abuse_names(); i++)
		ksft_note("  %-12s %8lu, of which %8lu did something", abuse_name(i),
			  tally->done[i], tally->ok[i]);
}

static unsigned int seconds(unsigned int otherwise)
{
	const char *s = getenv("SYSFUZZ_SECONDS");

	return s && *s ? strtoul(s, NULL, 10) : otherwise;
}

static void begin(void)
{
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(tally != MAP_FAILED);
	keep_parameters(false);
}

CASE_TIMED(programs, 100000)
{
	const char *seed = getenv("SEED");
	unsigned int n = 0, workers_before = workers();
	long pinned = pages_pinned();
	uint64_t end;

	if (vdev_is_vhost())
		ksft_skip("speaks kvnet's netlink family, too");
	begin();
	end = ksft_now_ms() + seconds(ksft_rounds(6)) * 1000;
	do {
		if (seed && *seed)
			given_program(&program, seed, getenv("OPS"));
		else
			random_program(&program);
		one_program(workers_before);
		n++;
	} while (ksft_now_ms() < end && !ksft_failed());
	say_what_was_done(n);
	EXPECT_EQ(pages_pinned(), pinned);
	no_leak_found();
	if (seed && *seed)
		return;
	/* abuse of what does not run shows little */
	EXPECT_OP(tally->ran * 100, >, tally->samples * 10);
	EXPECT_OP(tally->carried, >, 0);
}

KSFT_MAIN()
