// SPDX-License-Identifier: GPL-2.0
/* Counters of tracepoints: see events.h. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"

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
	{ "timer", "timer/timer_expire_entry", NULL },
};

#define ENTRIES	(sizeof(table) / sizeof(table[0]))

static int fd[ENTRIES][CPUS];
static int cpus;

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

static bool open_entry(unsigned int i)
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
		if (fd[i][cpu] < 0 ||
		    (table[i].filter && ioctl(fd[i][cpu], PERF_EVENT_IOC_SET_FILTER,
					      table[i].filter)))
			return false;
	}
	return true;
}

bool events_open(void)
{
	unsigned int i;

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	memset(fd, -1, sizeof(fd));
	if (cpus > CPUS)
		return false;
	for (i = 0; i < ENTRIES; i++)
		if (!open_entry(i))
			return false;
	return true;
}

void events_count(bool on)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < ENTRIES; i++)
		for (cpu = 0; cpu < cpus; cpu++)
			if (fd[i][cpu] >= 0)
				ioctl(fd[i][cpu], on ? PERF_EVENT_IOC_ENABLE :
				      PERF_EVENT_IOC_DISABLE, 0);
}

/* A kernel may have one way to do a thing, or several. */
bool events_sum(const char *name, uint64_t *sum)
{
	bool any = false;
	unsigned int i;
	uint64_t n;
	int cpu;

	*sum = 0;
	for (i = 0; i < ENTRIES; i++)
		for (cpu = 0; cpu < cpus && !strcmp(table[i].name, name); cpu++) {
			if (fd[i][cpu] < 0)
				continue;
			if (read(fd[i][cpu], &n, sizeof(n)) != sizeof(n))
				return false;
			*sum += n;
			any = true;
		}
	return any;
}
