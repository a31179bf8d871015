// SPDX-License-Identifier: GPL-2.0
/*
 * host.c - small files of /proc and /sys, see host.h
 */
#include "host.h"
#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* nobody's command line or limits are longer than we care to read */
#define MAX_FILE	(1 << 18)

/* nor what a VM is called, in bytes: a column of a table is as wide as its widest */
#define MAX_NAME	255

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

static void read_args(struct process *p)
{
	char *path = host_path("/proc/%d/cmdline", p->pid);
	size_t len, at;

	p->args = slurp(path, &len);
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
 * process_read() - look at a process
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
 * process_free() - the end of what process_read() has told
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
	/* no more than that is copied: who wrote the list chose how many parts it has */
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
static char *name_in(const char *list)
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
		name = name_in(argv[i + 1]);
		if (name && *name)
			return name;
		free(name);
	}
	return NULL;
}
