// SPDX-License-Identifier: GPL-2.0
/* What /proc and debugfs tell about things left behind: see procfs.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "procfs.h"
#include "vdev.h"

/* Threads that serve a device, by their names. */
unsigned int workers(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	unsigned int n = 0;
	char path[300], comm[32];

	ASSERT(proc);
	while ((d = readdir(proc))) {
		int fd, len;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		len = read(fd, comm, sizeof(comm) - 1);
		close(fd);
		if (len > 0 && (!strncmp(comm, "kvnet", 5) ||
				!strncmp(comm, "vhost-", 6)))
			n++;
	}
	closedir(proc);
	return n;
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

unsigned long open_files(void)
{
	unsigned long n = 0;
	FILE *f = fopen("/proc/sys/fs/file-nr", "r");

	ASSERT(f && fscanf(f, "%lu", &n) == 1);
	fclose(f);
	return n;
}

void no_worker_left(unsigned int before)
{
	if (!WAIT_FOR(5000, workers() <= before))
		FAIL("%u workers before, %u after", before, workers());
}

/* kmemleak, where the kernel has it: scan, and say what it found. */
void no_leak_found(void)
{
	int fd = open("/sys/kernel/debug/kmemleak", O_RDWR);
	char buf[4096];
	ssize_t n;
	int i;

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
	char path[64], line[128];
	unsigned int id = 0;
	int fd = vdev_eventfd();
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "eventfd-id: %u", &id);
	fclose(f);
	close(fd);
	return id;
}

long memory_available_kb(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %ld", &kb);
	fclose(f);
	return kb;
}
