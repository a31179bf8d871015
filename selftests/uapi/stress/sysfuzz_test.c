// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of random system calls, in several threads, on several devices that carry frames
 * meanwhile; after each another process finds a device that works, and nothing left behind.
 *
 *   SYSFUZZ_SECONDS=N	for so long, and say what was done
 *   SEED=1f3a20c7	this program, again and again
 *   OPS=0-17,30	and of it these operations alone
 *
 * @tier: all
 */
#include <dirent.h>
#include <sys/resource.h>

#include "abuse.h"
#include "flow.h"
#include "inject.h"
#include "pin_rig.h"
#include "procfs.h"

struct runner {
	struct world *w;
	unsigned int nr;
};

/* Threads beside those that run the program. */
static void *(*const others[])(void *) = { world_traffic, world_pages };
#define OTHERS	2

static struct world world;
static uint64_t program;	/* the seed of the one that runs */
static bool masked, wanted[ABUSE_OPS];
static struct abuse_tally *tally;

static void read_mask(const char *ops)
{
	unsigned long from, to;
	char *end;

	masked = ops && *ops;
	while (ops && *ops) {
		from = strtoul(ops, &end, 10);
		to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
		for (; from <= to && from < ABUSE_OPS; from++)
			wanted[from] = true;
		ops = *end ? end + 1 : end;
	}
}

/*** a program runs ***/

static void nothing(int sig)
{
}

static void *run(void *arg)
{
	struct runner *r = arg;
	unsigned int nr;
	struct genl g;

	genl_open(&g);
	for (nr = r->nr; nr < ABUSE_OPS; nr += ABUSE_THREADS) {
		if (masked && !wanted[nr])
			continue;
		tally->at[r->nr] = nr + 1;
		abuse_do(r->w, program, nr, &g);
		__atomic_fetch_add(&tally->ops, 1, __ATOMIC_RELAXED);
	}
	tally->at[r->nr] = 0;
	genl_close(&g);
	return NULL;
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
		ASSERT_EQ(pthread_create(&helper[i], NULL, others[i], &world), 0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (i = 0; i < ABUSE_THREADS; i++) {
		r[i] = (struct runner) { &world, i };
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

	world_open(&world, tally, program);
	start_all(helper, thread, r);
	for (i = 0; i < ABUSE_THREADS; i++)
		pthread_join(thread[i], NULL);
	if (program % 3 == 0)	/* while the other threads go on */
		kill(getpid(), SIGKILL);
	__atomic_store_n(&world.over, true, __ATOMIC_RELEASE);
	for (i = 0; i < OTHERS; i++)
		pthread_join(helper[i], NULL);
	setrlimit(RLIMIT_MEMLOCK, &lim);
	world_close_others(&world);
	for (i = 0; i < ABUSE_DEVS; i++)
		if (!world_carries(&world, &world.dev[i]))
			FAIL("device %u does not work any more", i);
}

/*** what is checked afterwards ***/

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

/* The kernel stack of each thread of a process that does not end. */
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

/* Another process finds a device that works. */
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
	char mark[64];
	int kmsg = ksft_kmsg_open();
	pid_t pid;

	/* in one piece, and for the console: all that is left if the kernel dies */
	snprintf(mark, sizeof(mark), "<5>sysfuzz: SEED=%llx", (unsigned long long)program);
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
		ksft_note("again: SEED=%llx", (unsigned long long)program);
}

/*** all programs ***/

/* The value of an environment variable, NULL if it is empty. */
static const char *given(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

static void report(unsigned int n_programs)
{
	unsigned int i;

	ksft_note("%lu operations in %u programs, %lu repairs, %lu frames", tally->ops,
		  n_programs, tally->repairs, tally->frames);
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
	vdev_allow_choice();
	read_mask(getenv("OPS"));
}

static uint64_t read_seed(const char *text)
{
	uint64_t seed;
	char *end;

	seed = strtoull(text, &end, 16);
	ASSERT(end != text && !*end);
	return seed;
}

CASE_TIMED(random_programs_keep_device_usable, 100000)
{
	const char *seed = given("SEED");
	unsigned int n = 0, workers_before = workers();
	long pinned = pages_pinned();
	uint64_t end;

	if (vdev_is_vhost())
		ksft_skip("vhost_net has no netlink family");
	begin();
	end = ksft_now_ms() + seconds(ksft_rounds(6)) * 1000;
	do {
		program = seed ? read_seed(seed) : ksft_random();
		one_program(workers_before);
		n++;
	} while (ksft_now_ms() < end && !ksft_failed());
	report(n);
	EXPECT_EQ(pages_pinned(), pinned);
	no_leak_found();
	if (seed)
		return;
	/* queues that do not run would show little */
	EXPECT_OP(tally->frames, >, 100ul * n);
}

KSFT_MAIN()
