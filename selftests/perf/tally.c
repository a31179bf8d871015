// SPDX-License-Identifier: GPL-2.0
/*
 * tally - how often the test host's kernel passed some of its tracepoints, on all CPUs,
 * while a command ran: the same instrument for every backend.
 *
 *   tally COMMAND [ARGUMENT...]
 *
 * Adds words to what the command prints. A tracepoint that is not there has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS	"/sys/kernel/tracing/events/"
#define CPUS	64

/*
 * A doorbell is a write of the guest's to memory that is none, but not to the I/O APIC or
 * a local one, and no access that QEMU serves is counted as anything else; on Intel it may
 * take a shorter way. A device's interrupts have vectors below those of the kernel's own.
 */
static const struct {
	const char *name, *event, *filter;
} table[] = {
	{ "kick", "kvm/kvm_mmio", "type == 2 && (gpa < 0xfec00000 || gpa > 0xffffffff)" },
	{ "kick", "kvm/kvm_fast_mmio", NULL },
	{ "call", "kvm/kvm_apic_accept_irq", "vec < 0xec" },
	{ "wakeup", "sched/sched_wakeup", "comm ~ \"vhost-*\" || comm ~ \"kvnet-*\"" },
	{ "anywakeup", "sched/sched_wakeup", NULL },
	{ "switch", "sched/sched_switch", "next_pid != 0" },
	{ "exit", "kvm/kvm_exit", NULL },
	{ "timer", "timer/hrtimer_expire_entry", NULL },
};

#define ENTRIES	(sizeof(table) / sizeof(table[0]))

static int fd[ENTRIES][CPUS];

static void die(const char *what)
{
	fprintf(stderr, "tally: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* 0: there is none such */
static unsigned long number_of(const char *event)
{
	unsigned long number = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), EVENTS "%s/id", event);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &number) != 1)
		number = 0;
	fclose(f);
	return number;
}

static void open_entry(unsigned int i, int cpus)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = number_of(table[i].event),
		.disabled = 1,
	};
	int cpu;

	for (cpu = 0; cpu < cpus; cpu++) {
		fd[i][cpu] = -1;
		if (!attr.config)
			continue;
		fd[i][cpu] = syscall(__NR_perf_event_open, &attr, -1, cpu, -1,
				     PERF_FLAG_FD_CLOEXEC);
		if (fd[i][cpu] < 0)
			die(table[i].event);
		if (table[i].filter && ioctl(fd[i][cpu], PERF_EVENT_IOC_SET_FILTER,
					     table[i].filter))
			die(table[i].filter);
	}
}

static void all(int cpus, unsigned long what)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < ENTRIES; i++)
		for (cpu = 0; cpu < cpus; cpu++)
			if (fd[i][cpu] >= 0 && ioctl(fd[i][cpu], what, 0))
				die("ioctl");
}

static uint64_t sum_of(const char *name, int cpus)
{
	uint64_t sum = 0, n;
	unsigned int i;
	int cpu;

	for (i = 0; i < ENTRIES; i++)
		for (cpu = 0; cpu < cpus && !strcmp(table[i].name, name); cpu++) {
			if (fd[i][cpu] < 0)
				continue;
			if (read(fd[i][cpu], &n, sizeof(n)) != sizeof(n))
				die("read");
			sum += n;
		}
	return sum;
}

/* The counters run while the command does; it has been started before. */
static int run(char **argv, int cpus)
{
	int go[2], status;
	pid_t pid;
	char c = 0;

	if (pipe(go))
		die("pipe");
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) != 1)
			_exit(127);
		close(go[0]);
		close(go[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	all(cpus, PERF_EVENT_IOC_ENABLE);
	if (pid < 0 || write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid)
		die(argv[0]);
	all(cpus, PERF_EVENT_IOC_DISABLE);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

int main(int argc, char **argv)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), status;
	unsigned int i;

	if (argc < 2 || cpus > CPUS) {
		fputs("usage: tally COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	for (i = 0; i < ENTRIES; i++)
		open_entry(i, cpus);
	status = run(argv + 1, cpus);
	for (i = 0; i < ENTRIES; i++)
		if (fd[i][0] >= 0 && (!i || strcmp(table[i].name, table[i - 1].name)))
			printf("tally_%s=%llu\n", table[i].name,
			       (unsigned long long)sum_of(table[i].name, cpus));
	return status;
}
