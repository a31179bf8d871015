// SPDX-License-Identifier: GPL-2.0
/*
 * host.c - small files of /proc and /sys, see host.h
 */
#include "host.h"
#include "event_wait.h"
#include "text.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* bytes that are read of a command line or of limits */
#define MAX_FILE	(1 << 18)

/* bytes of a VM's name: a column of a table is as wide as its widest cell */
#define MAX_NAME	255

/*
 * Arguments are read from the memory of the process, which decides how long that takes
 * (userfaultfd, a file of FUSE). All reads of this run together may wait for ARGS_WAIT_NS; the
 * time that they have waited decays at an eighth of the clock's rate. One read waits for a
 * quarter of the time left, so that later ones get their share.
 */
#define MSEC		UINT64_C(1000000)
#define ARGS_WAIT_NS	(2000 * MSEC)
#define ARGS_LEAST_NS	(5 * MSEC)

const char *host_root = "";

static char *vpath(const char *fmt, va_list ap)
{
	char *rest, *path;

	if (vasprintf(&rest, fmt, ap) < 0)
		rest = NULL;
	need(rest);
	path = text_format("%s%s", host_root, rest);
	free(rest);
	return path;
}

/**
 * host_path() - where a file is
 * @fmt: as of printf: its absolute path
 *
 * Return: a string for free().
 */
char *host_path(const char *fmt, ...)
{
	va_list ap;
	char *path;

	va_start(ap, fmt);
	path = vpath(fmt, ap);
	va_end(ap);
	return path;
}

/* the content, with a zero byte behind it; NULL, and no length, if it cannot be read */
static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *buf;

	*len = 0;
	if (!f)
		return NULL;
	buf = need(malloc(MAX_FILE + 1));
	*len = fread(buf, 1, MAX_FILE, f);
	/* of a process that ends meanwhile there is a beginning, maybe */
	if (ferror(f)) {
		free(buf);
		buf = NULL;
		*len = 0;
	} else {
		buf = need(realloc(buf, *len + 1));
		buf[*len] = 0;
	}
	fclose(f);
	return buf;
}

static char *vread(const char *fmt, va_list ap)
{
	char *path = vpath(fmt, ap), *text;
	size_t len;

	text = slurp(path, &len);
	free(path);
	return text;
}

/**
 * host_read() - what is in a small file
 * @fmt: as of printf: its absolute path
 *
 * Return: a string for free(), or NULL.
 */
char *host_read(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vread(fmt, ap);
	va_end(ap);
	return text;
}

/**
 * host_line() - the first line of a file, without its end
 * @fmt: as of printf: its absolute path
 *
 * Return: a string for free(), or NULL.
 */
char *host_line(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = vread(fmt, ap);
	va_end(ap);
	if (text)
		text[strcspn(text, "\n")] = 0;
	return text;
}

/**
 * host_link() - what a symbolic link says
 * @fmt: as of printf: its absolute path
 *
 * Return: a string for free(), or NULL.
 */
char *host_link(const char *fmt, ...)
{
	char buf[PATH_MAX], *path;
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	path = vpath(fmt, ap);
	va_end(ap);
	n = readlink(path, buf, sizeof(buf) - 1);
	free(path);
	if (n < 0)
		return NULL;
	buf[n] = 0;
	return need(strdup(buf));
}

/**
 * host_has() - is there such a file?
 * @fmt: as of printf: its absolute path
 *
 * Return: is there?
 */
bool host_has(const char *fmt, ...)
{
	va_list ap;
	char *path;
	bool has;

	va_start(ap, fmt);
	path = vpath(fmt, ap);
	va_end(ap);
	has = !access(path, F_OK);
	free(path);
	return has;
}

/**
 * host_number() - the number that a file begins with, 0x in front or not
 * @n: set if true is returned
 * @fmt: as of printf: its absolute path
 *
 * Return: is there one?
 */
bool host_number(uint64_t *n, const char *fmt, ...)
{
	char *path, *text, *end;
	va_list ap;
	size_t len;
	bool ok;

	va_start(ap, fmt);
	path = vpath(fmt, ap);
	va_end(ap);
	text = slurp(path, &len);
	free(path);
	if (!text)
		return false;
	*n = strtoull(text, &end, 0);
	ok = end != text;
	free(text);
	return ok;
}

static uint64_t args_waited;

static uint64_t args_time_left(void)
{
	static uint64_t last;
	uint64_t now = now_ns(), decayed = last ? (now - last) / 8 : 0, left;

	last = now;
	args_waited -= decayed < args_waited ? decayed : args_waited;
	left = args_waited < ARGS_WAIT_NS ? (ARGS_WAIT_NS - args_waited) / 4 : 0;
	return left > ARGS_LEAST_NS ? left : ARGS_LEAST_NS;
}

/* Only a process of its own can be killed while it waits for another's memory. */
static pid_t start_reader(const char *path, int to, int from)
{
	pid_t parent = getpid(), pid = fork();
	size_t len, at = 0;
	ssize_t n = 0;
	char *text;

	if (pid)
		return pid;
	close(from);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	text = slurp(path, &len);
	while (at < len && (n = write(to, text + at, len - at)) > 0)
		at += n;
	/* the last byte says that it is all */
	_exit(at == len && write(to, "", 1) == 1 ? 0 : 1);
}

/* what comes until the end of @fd, or until the time is over: then false */
static bool read_until(int fd, char *buf, size_t *len, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now;
	ssize_t n;
	int ready;

	for (*len = 0; *len < MAX_FILE + 1; *len += n) {
		n = 0;
		now = now_ns();
		ready = now < until ? poll(&p, 1, (until - now) / MSEC + 1) : 0;
		if (!ready)
			return false;
		if (ready < 0)
			continue;
		n = read(fd, buf + *len, MAX_FILE + 1 - *len);
		if (n <= 0)
			break;
	}
	return true;
}

/* slurp() of a file that may never be read; @stalled if that took too long */
static char *slurp_in_time(const char *path, size_t *len, bool *stalled)
{
	uint64_t time_left = args_time_left();
	char *buf = NULL;
	pid_t pid = -1;
	int fd[2];

	*len = 0;
	/* those before: a reader that is killed may take its time to end */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (pipe2(fd, O_CLOEXEC))
		return NULL;
	pid = start_reader(path, fd[1], fd[0]);
	close(fd[1]);
	if (pid > 0) {
		buf = need(malloc(MAX_FILE + 1));
		*stalled = !read_until(fd[0], buf, len, now_ns() + time_left);
		if (*stalled) {
			args_waited += time_left;
			kill(pid, SIGKILL);
		}
	}
	close(fd[0]);
	/* the byte at the end stays: arguments are strings */
	if (!*len || *stalled || buf[*len - 1]) {
		free(buf);
		*len = 0;
		return NULL;
	}
	--*len;
	return need(realloc(buf, *len + 1));
}

static void read_args(struct process *p)
{
	char *path = host_path("/proc/%d/cmdline", p->pid);
	size_t len, at;

	p->args = slurp_in_time(path, &len, &p->stalled);
	free(path);
	for (at = 0; at < len; at += strlen(p->args + at) + 1) {
		p->argv = need(reallocarray(p->argv, p->argc + 1, sizeof(*p->argv)));
		p->argv[p->argc++] = p->args + at;
	}
}

/* the line "0::/path" */
static char *read_cgroup(pid_t pid)
{
	char *text = host_read("/proc/%d/cgroup", pid), *line, *rest = text;
	char *found = NULL;

	while (text && (line = strsep(&rest, "\n")) && !found)
		if (!strncmp(line, "0::", 3))
			found = need(strdup(line + 3));
	free(text);
	return found;
}

/**
 * process_read() - read what /proc has of a process
 * @p: for process_free() if true is returned
 * @pid: its number
 *
 * Return: is there one?
 */
bool process_read(struct process *p, pid_t pid)
{
	memset(p, 0, sizeof(*p));
	p->pid = pid;
	p->command = host_line("/proc/%d/comm", pid);
	if (!p->command)
		return false;
	p->cgroup = read_cgroup(pid);
	read_args(p);
	p->vm = vm_name(p->argc, p->argv);
	return true;
}

/**
 * process_free() - free what process_read() has read
 * @p: it
 */
void process_free(struct process *p)
{
	free(p->command);
	free(p->cgroup);
	free(p->vm);
	free(p->argv);
	free(p->args);
	memset(p, 0, sizeof(*p));
}

/* The next part of a list of QEMU's, where two commas are one of a part's; *@s is what follows. */
static char *list_part(const char **s)
{
	const char *end = *s;
	char *part, *at, *to;

	while (*end && (*end != ',' || end[1] == ','))
		end += *end == ',' ? 2 : 1;
	/* a bounded copy: the list has any number of parts */
	part = need(strndup(*s, end - *s));
	*s = *end ? end + 1 : end;
	for (at = to = part; *at; at++) {
		*to++ = *at;
		at += *at == ',';
	}
	*to = 0;
	return part;
}

/* By "-name", "--name" or "--id". */
static char *vm_name_in_list(const char *list)
{
	const char *s = list;
	bool first = true;
	char *part, *name = NULL;

	for (; *s && !name; first = false) {
		part = list_part(&s);
		if (!strncmp(part, "guest=", 6))
			name = need(strndup(part + 6, MAX_NAME));
		else if (first && strncmp(part, "debug-threads=", 14) && strncmp(part, "process=", 8))
			name = need(strndup(part, MAX_NAME));
		free(part);
	}
	return name;
}

/**
 * vm_name() - what a VMM's arguments say its VM is called
 * @argc: how many arguments
 * @argv: these; QEMU's "-name ...,guest=NAME,..." and "-name NAME", crosvm's
 *	  "--name NAME" and Firecracker's "--id NAME"
 *
 * Return: a string for free(), or NULL.
 */
char *vm_name(int argc, char **argv)
{
	char *name;
	int i;

	for (i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "-name") && strcmp(argv[i], "--name") &&
		    strcmp(argv[i], "--id"))
			continue;
		name = vm_name_in_list(argv[i + 1]);
		if (name && *name)
			return name;
		free(name);
	}
	return NULL;
}
