// SPDX-License-Identifier: GPL-2.0
/*
 * What has switched so far: all of this machine, and of that the kernel's own threads,
 * which take part in nothing that is measured here but have their turns meanwhile.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rr.h"

enum { KTHREADD = 2 };

unsigned long switches(void)
{
	FILE *f = fopen("/proc/stat", "r");
	unsigned long n = 0;
	char line[4096];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "ctxt %lu", &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

/* returns false if there is no such file */
static bool read_line(const char *pid, const char *name, char *line, int size)
{
	char path[64];
	bool ret;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	ret = fgets(line, size, f);
	fclose(f);
	return ret;
}

/* workers of devices, where they are threads of the kernel's */
static bool is_worker(const char *stat)
{
	return strstr(stat, "(kvnet-") || strstr(stat, "(vhost-");
}

/* how often a thread of the kernel's has got a CPU; 0 for other processes */
static unsigned long turns_of(const char *pid)
{
	unsigned long turns = 0;
	char line[1024], *end;
	int parent;

	if (!read_line(pid, "stat", line, sizeof(line)) || is_worker(line))
		return 0;
	end = strrchr(line, ')');
	if (!end || sscanf(end, ") %*c %d", &parent) != 1 || parent != KTHREADD)
		return 0;
	if (!read_line(pid, "schedstat", line, sizeof(line)) || sscanf(line, "%*u %*u %lu", &turns) != 1)
		return 0;
	return turns;
}

unsigned long kernel_turns(void)
{
	DIR *dir = opendir("/proc");
	unsigned long turns = 0;
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			turns += turns_of(d->d_name);
	if (dir)
		closedir(dir);
	return turns;
}
