// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_vmm.c - command lines of VMMs, and what is often missing in them
 */
#include "doctor.h"
#include "host.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define CHECK	"vmm"
#define HOW	"exec 9<>/dev/kvnet; -netdev tap,...,vhost=on,vhostfd=9; qemu-kvnet does it; libvirt: <backend vhost='/dev/kvnet'/>"

/* the value behind @at, up to what ends it in JSON */
static char *json_value(const char *at)
{
	at += strspn(at, " :");
	if (*at == '"')
		return need(strndup(at + 1, strcspn(at + 1, "\"")));
	return need(strndup(at, strcspn(at, ",}] ")));
}

/**
 * qemu_option() - a property in an argument of QEMU's
 * @arg: "tap,id=n0,vhost=on", or as libvirt writes it {"type":"tap","id":"n0"}
 * @key: the property; "type" and "driver" are the first word, too
 *
 * Return: its value, a string for free(), or NULL. What is there without a value is
 * "on"; JSON's true and false are "on" and "off".
 */
char *qemu_option(const char *arg, const char *key)
{
	size_t len = strlen(key), word;
	char *quoted, *value;
	const char *at;

	if (*arg == '{') {
		quoted = text_format("\"%s\":", key);
		at = strstr(arg, quoted);
		value = at ? json_value(at + strlen(quoted)) : NULL;
		free(quoted);
		if (value && (!strcmp(value, "true") || !strcmp(value, "false")))
			strcpy(value, *value == 't' ? "on" : "off");
		return value;
	}
	for (at = arg; *at; at += word + !!at[word]) {
		word = strcspn(at, ",");
		if (at == arg && !memchr(at, '=', word) &&
		    (!strcmp(key, "type") || !strcmp(key, "driver")))
			return need(strndup(at, word));
		if (word < len || strncmp(at, key, len))
			continue;
		if (at[len] == '=')
			return need(strndup(at + len + 1, word - len - 1));
		if (word == len && at != arg)
			return need(strdup("on"));
	}
	return NULL;
}

static bool option_is(const char *arg, const char *key, const char *value)
{
	char *has = qemu_option(arg, key);
	bool is = has && !strcmp(has, value);

	free(has);
	return is;
}

static bool replaces_vhost(void)
{
	char *line = host_line("/sys/module/kvnet/parameters/replace_vhost_net");
	bool is = line && *line == 'Y';

	free(line);
	return is;
}

enum backend { OWN, VHOST, KVNET, UNKNOWN };

/* whose are the descriptors, "9" or "9:10"? the first decides */
static enum backend backend_of(pid_t pid, const char *arg)
{
	char *fds = qemu_option(arg, "vhostfd"), *link;
	enum backend is = UNKNOWN;

	if (!fds)
		fds = qemu_option(arg, "vhostfds");
	if (!fds)
		return !option_is(arg, "vhost", "on") && !option_is(arg, "vhostforce", "on") ? OWN :
		       replaces_vhost() ? KVNET : VHOST;
	link = host_link("/proc/%d/fd/%d", pid, atoi(fds));
	if (link && !strcmp(link, "/dev/kvnet"))
		is = KVNET;
	else if (link && !strcmp(link, "/dev/vhost-net"))
		is = replaces_vhost() ? KVNET : VHOST;
	free(link);
	free(fds);
	return is;
}

static const char *find_device(int argc, char **argv, const char *id)
{
	int i;

	for (i = 1; i + 1 < argc; i++)
		if ((!strcmp(argv[i], "-device") || !strcmp(argv[i], "--device")) &&
		    option_is(argv[i + 1], "netdev", id))
			return argv[i + 1];
	return NULL;
}

static void check_device(struct doctor *d, const char *label, const char *netdev,
			 const char *device)
{
	char *driver = qemu_option(device, "driver"), *queues = qemu_option(netdev, "vhostfds");

	if (!driver || strncmp(driver, "virtio-net", 10)) {
		finding(d, GRADE_NOTE, CHECK, "-device virtio-net-pci",
			"%s: the guest's device is %s, which no vhost backend can serve", label,
			driver ? driver : "unknown");
	} else {
		if (queues && strchr(queues, ':') && !option_is(device, "mq", "on"))
			finding(d, GRADE_NOTE, CHECK, "-device virtio-net-pci,...,mq=on,vectors=2N+2",
				"%s: several queue pairs, but mq is off: the guest sees one", label);
	}
	free(queues);
	free(driver);
}

static void check_options(struct doctor *d, const char *label, const char *arg)
{
	char *sndbuf = qemu_option(arg, "sndbuf");

	if (sndbuf && strcmp(sndbuf, "0"))
		finding(d, GRADE_NOTE, CHECK, "leave out sndbuf=",
			"%s: sndbuf=%s: packets are sent one by one, not in batches", label, sndbuf);
	free(sndbuf);
	if (option_is(arg, "vnet_hdr", "off"))
		finding(d, GRADE_NOTE, CHECK, "leave out vnet_hdr=off",
			"%s: vnet_hdr=off: no offloads, so each packet is one of 1500 bytes", label);
}

static void check_netdev(struct doctor *d, pid_t pid, int argc, char **argv, const char *arg)
{
	char *id = qemu_option(arg, "id"), *vm = vm_name(argc, argv), *label;
	unsigned int before = d->count[GRADE_NOTE] + d->count[GRADE_BAD];
	const char *device = id ? find_device(argc, argv, id) : NULL;
	enum backend backend = backend_of(pid, arg);

	label = text_format("process %d%s%s, netdev %s", pid, vm ? " " : "", vm ? vm : "",
			    id ? id : "?");
	if (backend == OWN)
		finding(d, GRADE_NOTE, CHECK, HOW, "%s: no vhost=on, so QEMU forwards each packet itself", label);
	else if (backend == VHOST)
		finding(d, GRADE_NOTE, CHECK, HOW, "%s: served by vhost_net, not by kvnet", label);
	else if (backend == UNKNOWN)
		finding(d, GRADE_NOTE, CHECK, "run it as root, in the VMM's PID namespace",
			"%s: cannot tell what its vhostfd is", label);
	if (backend == KVNET) {
		check_options(d, label, arg);
		if (device)
			check_device(d, label, arg, device);
		if (before == d->count[GRADE_NOTE] + d->count[GRADE_BAD])
			finding(d, GRADE_OK, CHECK, NULL, "%s: served by kvnet", label);
	}
	free(label);
	free(vm);
	free(id);
}

/* DPDK's virtio-user, in whatever program */
static void check_virtio_user(struct doctor *d, pid_t pid, const char *arg)
{
	char *path = qemu_option(arg, "path");

	if (path && !strcmp(path, "/dev/vhost-net") && !replaces_vhost())
		finding(d, GRADE_NOTE, CHECK, "--vdev=net_virtio_user0,path=/dev/kvnet,...",
			"process %d: DPDK's virtio-user on vhost_net, not on kvnet", pid);
	else if (path && !strcmp(path, "/dev/kvnet"))
		finding(d, GRADE_OK, CHECK, NULL, "process %d: DPDK's virtio-user on kvnet", pid);
	free(path);
}

/**
 * doctor_vmm() - check a command line
 * @d: the examination
 * @pid: the process
 * @argc: how many arguments
 * @argv: these
 */
void doctor_vmm(struct doctor *d, pid_t pid, int argc, char **argv)
{
	const char *name = argc ? strrchr(argv[0], '/') : NULL;
	bool qemu;
	int i;

	if (!argc)
		return;
	name = name ? name + 1 : argv[0];
	qemu = !strncmp(name, "qemu-system-", 12) || !strcmp(name, "qemu-kvm") ||
	       !strcmp(name, "kvm");
	for (i = 1; i < argc; i++) {
		if (strstr(argv[i], "net_virtio_user") || strstr(argv[i], "virtio_user"))
			check_virtio_user(d, pid, argv[i]);
		if (!qemu || i + 1 == argc ||
		    (strcmp(argv[i], "-netdev") && strcmp(argv[i], "--netdev")))
			continue;
		if (option_is(argv[i + 1], "type", "tap"))
			check_netdev(d, pid, argc, argv, argv[i + 1]);
	}
}

/**
 * doctor_vmms() - check the command lines of all VMMs
 * @d: the examination
 */
void doctor_vmms(struct doctor *d)
{
	char *path = host_path("/proc");
	DIR *dir = opendir(path);
	struct process p;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)*e->d_name) || !process_read(&p, atoi(e->d_name)))
			continue;
		doctor_vmm(d, p.pid, p.argc, p.argv);
		process_free(&p);
	}
	if (dir)
		closedir(dir);
	free(path);
}
