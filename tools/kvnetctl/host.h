/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host - small files of /proc and /sys, and what they have about a process
 */
#ifndef KVNETCTL_HOST_H
#define KVNETCTL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* before each path: a test has its own /proc and /sys below it */
extern const char *host_root;

/**
 * struct process - a process, as far as it can be read
 * @pid: its PID
 * @command: its comm, or NULL
 * @cgroup: its cgroup of version 2, or NULL
 * @argv: its arguments, argc of them
 * @vm: the name of the VM that it runs, from its arguments, or NULL
 * @stalled: its arguments could not be read in time: nothing is known of them
 */
struct process {
	pid_t pid;
	char *command, *cgroup, *vm;
	char **argv;
	int argc;
	bool stalled;
	char *args;
};

char *host_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *host_read(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *host_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *host_link(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool host_has(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool host_number(uint64_t *n, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

bool process_read(struct process *p, pid_t pid);
void process_free(struct process *p);
char *vm_name(int argc, char **argv);

#endif /* KVNETCTL_HOST_H */
