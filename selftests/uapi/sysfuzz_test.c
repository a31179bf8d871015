// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of random system calls, several threads of them, on several devices whose
 * frames pass meanwhile; after each a process that knows nothing of it finds a device
 * that works, and nothing left behind.
 *
 *   SYSFUZZ_SECONDS=N	for so long, and say what was done
 *   SEED=a.b:3-7.c	this program, again and again (program.h)
 *   OPS=0-17,30	and of it these operations alone
 *
 * Where the kernel tells which parts of the module have run (reached.h), a program that
 * has one run that none had before is kept, and new ones are made of those kept;
 * SYSFUZZ_BLIND=1: only counted.
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
#include "program.h"
#include "reached.h"

struct runner {
	struct world *w;
	const struct program *p;
	unsigned int nr;
};

/* What else goes on in a world. */
static void *(*const others[])(void *) = { world_traffic, world_samples, world_pages };
#define OTHERS	3

_Static_assert(1 + ABUSE_THREADS + OTHERS <= REACHED_THREADS, "not all are looked at");

static struct world world;
static struct program program;
static struct programs programs;	/* that have reached what none had before */
static bool masked, wanted[PROGRAM_OPS], guided;
static struct abuse_tally *tally;

static void read_mask(const char *ops)
{
	unsigned long from, to;
	char *end;

	masked = ops && *ops;
	while (ops && *ops) {
		from = strtoul(ops, &end, 10);
		to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
		for (; from <= to && from < PROGRAM_OPS; from++)
			wanted[from] = true;
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

	reached_here(1 + r->nr);
	genl_open(&g);
	for (nr = r->nr; nr < r->p->n; nr += ABUSE_THREADS) {
		if (masked && !wanted[nr])
			continue;
		tally->at[r->nr] = nr + 1;
		abuse_do(r->w, r->p->op[nr].gene, r->p->op[nr].place, &g);
		__atomic_fetch_add(&tally->ops, 1, __ATOMIC_RELAXED);
	}
	tally->at[r->nr] = 0;
	genl_close(&g);
	return NULL;
}

static void *run_other(void *nr)
{
	reached_here(1 + ABUSE_THREADS + (uintptr_t)nr);
	return others[(uintptr_t)nr](&world);
}

/* Signals are for the threads that run the program. */
static void start_all(pthread_t *helper, pthread_t *thread, struct runner *r)
{
	sigset_t set;
	unsigned int i;

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = nothing }, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < OTHERS; i++)
		ASSERT_EQ(pthread_create(&helper[i], NULL, run_other, (void *)(uintptr_t)i), 0);
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
	pthread_t helper[OTHERS], thread[ABUSE_THREADS];
	struct runner r[ABUSE_THREADS];
	unsigned int i;

	reached_here(0);
	world_open(&world, tally, program.op[0].gene);
	start_all(helper, thread, r);
	for (i = 0; i < ABUSE_THREADS; i++)
		pthread_join(thread[i], NULL);
	if (program.op[0].gene % 3 == 0)	/* in the midst of it all */
		kill(getpid(), SIGKILL);
	__atomic_store_n(&world.over, true, __ATOMIC_RELEASE);
	for (i = 0; i < OTHERS; i++)
		pthread_join(helper[i], NULL);
	setrlimit(RLIMIT_MEMLOCK, &lim);
	world_forget(&world);
	for (i = 0; i < ABUSE_DEVS; i++)
		if (!world_carries(&world, &world.dev[i]))
			FAIL("device %u does not work any more", i);
}

/*** what is looked at afterwards ***/

static char before[ABUSE_PARAMETERS][16];

static void keep_parameters(bool restore)
{
	char path[96];
	unsigned int i;
	ssize_t n;
	int fd;

	for (i = 0; i < ABUSE_PARAMETERS; i++) {
		snprintf(path, sizeof(path), "/sys/module/kvnet/parameters/%s",
			 abuse_parameters[i]);
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

/* It is time to look for what has run, too. */
static bool is_over(pid_t pid, int *status)
{
	reached_look();
	return waitpid(pid, status, WNOHANG) == pid;
}

static void wait_for(pid_t pid)
{
	unsigned int i, nr;
	int status;

	if (!WAIT_FOR(40000, is_over(pid, &status))) {
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
	char mark[PROGRAM_TEXT + 32];
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

/* What the environment says, if it says something. */
static const char *given(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

static void say_what_was_reached(const struct reached *r)
{
	const char *points = given("SYSFUZZ_POINTS");

	ksft_note("%u parts of the module ran (of about %s), %u of them in calls; %u ways from one to the next",
		  r->points, points ? points : "?", r->called, r->ways);
	ksft_note("%lu times there was no room to tell of more", r->full);
	ksft_note("%lu programs were kept since they had reached something new", programs.kept);
	if (guided)
		ksft_note("of the last %u new ones, %u half new and %u made of others it was %u, %u, %u",
			  programs.tried[0], programs.tried[1], programs.tried[2],
			  programs.paid[0], programs.paid[1], programs.paid[2]);
	if (given("SYSFUZZ_SECONDS"))
		reached_say_what_is_not();
}

static void say_what_was_done(unsigned int n_programs)
{
	unsigned long n = tally->samples ? tally->samples : 1;
	unsigned int i;

	ksft_note("%lu operations in %u programs, %lu repairs, %lu frames", tally->ops,
		  n_programs, tally->repairs, tally->frames);
	ksft_note("of %lu looks at a device it ran in %lu %%, had carried packets in %lu %%",
		  tally->samples, tally->ran * 100 / n, tally->carried * 100 / n);
	if (!given("SYSFUZZ_SECONDS"))
		return;
	for (i = 0; i < abuse_names(); i++)
		ksft_note("  %-12s %8lu, of which %8lu did something", abuse_name(i),
			  tally->done[i], tally->ok[i]);
}

static unsigned int seconds(unsigned int otherwise)
{
	const char *s = given("SYSFUZZ_SECONDS");

	return s ? strtoul(s, NULL, 10) : otherwise;
}

static void begin(void)
{
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(tally != MAP_FAILED);
	keep_parameters(false);
	read_mask(getenv("OPS"));
}

/* What it has to tell of a program that has run; the n-th. */
static void look_back(struct reached *r, unsigned int n)
{
	if (reached_more(r))
		program_keep(&programs, &program, ksft_random);
	/* whatever the machine was busy with: by programs, not by time */
	if (n >= 16 && !(n & (n - 1)))
		ksft_note("  after %u programs: %u parts, %u ways", n, r->points, r->ways);
}

/* The next program: the one that is given, or one of our own. */
static void next_program(const char *seed)
{
	if (seed)
		ASSERT(program_read(&program, seed));
	else if (guided)
		program_next(&program, &programs, ksft_random);
	else
		program_random(&program, ksft_random);
}

CASE_TIMED(random_programs, 100000)
{
	const char *seed = given("SEED");
	unsigned int n = 0, workers_before = workers();
	long pinned = pages_pinned();
	struct reached reached = { 0 };
	bool tells = reached_open();
	uint64_t end;

	if (vdev_is_vhost())
		ksft_skip("speaks kvnet's netlink family, too");
	begin();
	guided = tells && !given("SYSFUZZ_BLIND");
	end = ksft_now_ms() + seconds(ksft_rounds(6)) * 1000;
	do {
		next_program(seed);
		one_program(workers_before);
		n++;
		if (tells)
			look_back(&reached, n);
	} while (ksft_now_ms() < end && !ksft_failed());
	say_what_was_done(n);
	if (tells)
		say_what_was_reached(&reached);
	/* by the threads, and by workers and softirqs */
	EXPECT_OP(reached.called, >=, tells);
	EXPECT_OP(reached.points, >=, reached.called + tells);
	/* who has built the module for it does not want it blind */
	if (given("SYSFUZZ_POINTS"))
		EXPECT(tells);
	EXPECT_EQ(pages_pinned(), pinned);
	no_leak_found();
	if (seed)
		return;
	/* abuse of what does not run shows little */
	EXPECT_OP(tally->ran * 100, >, tally->samples * 10);
	EXPECT_OP(tally->carried, >, 0);
}

KSFT_MAIN()
