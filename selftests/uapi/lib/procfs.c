// SPDX-License-Identifier: GPL-2.0
/* What /proc and debugfs tell about things left behind: see procfs.h. */
#include <dirent.h>

#include "pin_rig.h"
#include "procfs.h"
#include "vdev.h"

/* The first line of a file below /proc without its end, or "". */
static const char *line_of(const char *path)
{
	static char line[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
	return line;
}

char task_state(pid_t pid, pid_t tid)
{
	const char *line, *end;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	line = line_of(path);
	end = strrchr(line, ')');
	return end && end[1] ? end[2] : 0;
}

static bool serves_a_device(const char *comm)
{
	return !strncmp(comm, "kvnet-", 6) || !strncmp(comm, "vhost-", 6);
}

/* The threads of one process that have this name; counts, and keeps the first of them. */
static unsigned int look_at(pid_t pid, const char *name, struct worker *found, unsigned int most)
{
	char path[64];
	struct dirent *d;
	unsigned int n = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;	/* it has gone meanwhile */
	while ((d = readdir(tasks))) {
		const char *comm;
		pid_t tid = atoi(d->d_name);

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
		comm = tid ? line_of(path) : "";
		if (name ? strcmp(comm, name) : !serves_a_device(comm))
			continue;
		if (n < most)
			found[n] = (struct worker){ .pid = pid, .tid = tid };
		n++;
	}
	closedir(tasks);
	return n;
}

static unsigned int look_everywhere(const char *name, struct worker *found, unsigned int most)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	unsigned int n = 0;

	ASSERT(proc);
	while ((d = readdir(proc)))
		if (atoi(d->d_name))
			n += look_at(atoi(d->d_name), name, found ? found + n : NULL,
				     n < most ? most - n : 0);
	closedir(proc);
	return n;
}

unsigned int workers(void)
{
	return look_everywhere(NULL, NULL, 0);
}

unsigned int list_workers(pid_t owner, struct worker *w, unsigned int most)
{
	char name[16];

	snprintf(name, sizeof(name), vdev_is_vhost() ? "vhost-%d" : "kvnet-%d",
		 owner);
	return look_everywhere(name, w, most);
}

unsigned int workers_of(pid_t owner, struct worker *w)
{
	return list_workers(owner, w, w ? 1 : 0);
}

static bool kernel_knows(const char *symbol)
{
	size_t len = strlen(symbol);
	bool known = false;
	char line[256];
	FILE *f = fopen("/proc/kallsyms", "r");

	ASSERT(f);
	while (!known && fgets(line, sizeof(line), f)) {
		const char *name = strstr(line, symbol);

		known = name && name[-1] == ' ' &&
			(name[len] == '\n' || name[len] == '\t');
	}
	fclose(f);
	return known;
}

/* 1 or -1, for all cases: it takes seconds to look where the CPU is emulated. */
static signed char *has_vhost_task;

__attribute__((constructor)) static void share_answers(void)
{
	has_vhost_task = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

bool kernel_has_vhost_task(void)
{
	ASSERT(has_vhost_task != MAP_FAILED);
	if (!*has_vhost_task)
		*has_vhost_task = !kernel_before(6, 11) && kernel_knows("vhost_task_create") ?
				  1 : -1;
	return *has_vhost_task > 0;
}

/* Asleep at each of some looks: it also is for a moment in between two polls. */
static bool is_idle(const struct worker *w)
{
	unsigned int i;
	char state;

	for (i = 0; i < 3; i++) {
		state = task_state(w->pid, w->tid);
		if (state && state != 'S' && state != 'I')
			return false;
		ksft_relax(1000);
	}
	return true;
}

/* Of one device. */
static bool all_idle(pid_t owner)
{
	struct worker w[2];
	unsigned int i, n = list_workers(owner, w, 2);

	for (i = 0; i < n && i < 2; i++)
		if (!is_idle(&w[i]))
			return false;
	return n;
}

void wait_workers_idle(pid_t owner)
{
	if (!WAIT_FOR(5000, all_idle(owner)))
		FAIL("the workers are not idle");
}

void wait_worker_idle(void)
{
	wait_workers_idle(getpid());
}

/*
 * The kernel counts open files per CPU and, up to 6.1, shows the sum without
 * what is still to be added up: up to max(32, 2 * CPUs) on each.
 */
static unsigned long files_unsure(void)
{
	unsigned long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return cpus * (cpus > 16 ? 2 * cpus : 32);
}

void no_file_left(unsigned long before, unsigned long others)
{
	/* Either reading may be off, in different directions. */
	others += 2 * files_unsure();
	if (!WAIT_FOR(3000, open_files() <= before + others))
		FAIL("open files: %lu, then %lu", before, open_files());
}

unsigned int module_users(void)
{
	const char *line = line_of(vdev_is_vhost() ? "/sys/module/vhost_net/refcnt" :
						     "/sys/module/kvnet/refcnt");

	ASSERT(*line);
	return atoi(line);
}

unsigned long open_files(void)
{
	return strtoul(line_of("/proc/sys/fs/file-nr"), NULL, 10);
}

int file_of(pid_t pid, int fd)
{
	int pidfd = ASSERT_SYS(syscall(SYS_pidfd_open, pid, 0));
	int ours = ASSERT_SYS(syscall(SYS_pidfd_getfd, pidfd, fd, 0));

	close(pidfd);
	return ours;
}

void choose_worker(const char *kind)
{
	if (!strcmp(kind, "task") && !kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
}

void run_first(bool first)
{
	const struct sched_param param = { .sched_priority = first };

	ASSERT_SYS(sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &param));
}

void run_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_SYS(sched_setaffinity(0, sizeof(one), &one));
}

bool is_user_mode_linux(void)
{
	char text[256] = "";
	int fd = ASSERT_SYS(open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC));
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 && strstr(text, "User Mode Linux");
}

void in_child(void (*fn)(void))
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

bool child_ended(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) == pid;
}

void kill_child(pid_t pid)
{
	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(5000, child_ended(pid, NULL)))
		FAIL("process %d cannot be killed", pid);
}

void no_worker_left(unsigned int before)
{
	if (!WAIT_FOR(5000, workers() <= before))
		FAIL("%u workers before, %u after", before, workers());
}

/*
 * kmemleak, where the kernel has it: scan, and say what it found. Where that takes as long
 * as all else, it is for the end of the run.
 */
void no_leak_found(void)
{
	const char *when = getenv("KSFT_LEAKS");
	char buf[4096];
	ssize_t n;
	int fd, i;

	if (when && !strcmp(when, "end"))
		return;
	fd = open("/sys/kernel/debug/kmemleak", O_RDWR);
	if (fd < 0)
		return;
	for (i = 0; i < 2; i++)		/* young objects need a second look */
		if (write(fd, "scan", 4) < 0)
			ksft_note("kmemleak: %s", strerror(errno));
	while ((n = read(fd, buf, sizeof(buf) - 1)) > 0) {
		buf[n] = 0;
		if (strstr(buf, "kvnet") || strstr(buf, "vhost_"))
			FAIL("kmemleak: %s", buf);
	}
	close(fd);
}

/* The number of a new eventfd: small, as long as old ones are really gone. */
unsigned int eventfd_number(void)
{
	int fd = vdev_eventfd();
	unsigned int id;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	id = atoi(word_of(path, "eventfd-id"));
	close(fd);
	return id;
}

long memory_available_kb(void)
{
	return atol(word_of("/proc/meminfo", "MemAvailable"));
}

long memory_taken_kb(long before, long most)
{
	long taken;

	WAIT_FOR(2000, (taken = before - memory_available_kb()) <= most);
	return taken;
}

void memory_is_given_back(void (*use)(void), long most_kb)
{
	long before, taken = 0;
	unsigned int i;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		before = memory_available_kb();
		use();
		taken = memory_taken_kb(before, most_kb);
		ksft_note("%ld KiB have gone", taken);
		if (taken <= most_kb)
			return;
	}
	FAIL("%ld KiB have gone, more than %ld", taken, most_kb);
}
