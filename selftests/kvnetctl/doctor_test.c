// SPDX-License-Identifier: GPL-2.0
/*
 * "doctor": command lines, and a machine below a directory of our own; processes that end, or
 * have the reader wait, while they are looked at.
 */
#include "doctor.h"
#include "event_wait.h"
#include "fake.h"
#include "host.h"
#include "text.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/kvnetctl-XXXXXX";
static bool dies;

/* What a process was called with, and then it is not there any more: read() says ESRCH. */
static ssize_t half(void *at, char *buf, size_t len)
{
	bool *begun = at;

	if (*begun)
		return -1;
	*begun = true;
	return snprintf(buf, len, "qemu");
}

/* In the place of the C library's. */
FILE *fopen(const char *path, const char *mode)
{
	static bool begun;
	int fd, how = *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;

	if (dies && strstr(path, "/cmdline")) {
		begun = false;
		return fopencookie(&begun, mode, (cookie_io_functions_t) { .read = half });
	}
	fd = open(path, how | O_CLOEXEC, 0666);
	return fd < 0 ? NULL : fdopen(fd, mode);
}

static void put(const char *path, const char *text)
{
	char *whole = text_format("%s%s", root, path), *p;
	FILE *f;

	for (p = whole + sizeof(root); (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(whole, 0755);
	}
	f = fopen(whole, "w");
	fputs(text, f);
	fclose(f);
	free(whole);
}

static void put_link(const char *path, const char *to)
{
	char *whole;

	put(path, "");
	whole = text_format("%s%s", root, path);
	unlink(whole);
	EXPECT_EQ(symlink(to, whole), 0);
	free(whole);
}

static void set_mode(mode_t mode)
{
	char *path = text_format("%s/dev/kvnet", root);

	EXPECT_EQ(chmod(path, mode), 0);
	free(path);
}

static void begin(void)
{
	strcpy(root, "/tmp/kvnetctl-XXXXXX");
	EXPECT_TRUE(mkdtemp(root));
	host_root = root;
}

static void end(void)
{
	char *command = text_format("rm -rf %s", root);

	EXPECT_EQ(system(command), 0);
	free(command);
	host_root = "";
}

/* all that is found, as text */
static char *said(void (*look)(struct doctor *d))
{
	size_t len;
	char *out;
	struct json w = { .f = open_memstream(&out, &len) };
	struct doctor d = { .w = &w };

	look(&d);
	fclose(w.f);
	return out;
}

static bool finds(void (*look)(struct doctor *d), const char *what)
{
	char *out = said(look);
	bool has = strstr(out, what);

	unit_context("wanted '%s' in: %s", what, out);
	free(out);
	return has;
}

static bool option_is(const char *arg, const char *key, const char *want)
{
	char *has = qemu_option(arg, key);
	bool is = want ? has && !strcmp(has, want) : !has;

	unit_context("%s in %s: '%s'", key, arg, has ? has : "none");
	free(has);
	return is;
}

CASE(options_of_qemu)
{
	static const char text[] = "tap,id=n0,vhost=on,vhostfd=9,ifname=tap0,on";
	static const char json[] = "{\"type\":\"tap\",\"fd\":\"36\",\"vhost\":true,\"vhostfd\":\"38\",\"id\":\"net0\",\"n\": 5,\"off\":false}";

	EXPECT_TRUE(option_is(text, "type", "tap"));
	EXPECT_TRUE(option_is(text, "id", "n0"));
	EXPECT_TRUE(option_is(text, "vhost", "on"));
	EXPECT_TRUE(option_is(text, "vhostfd", "9"));
	EXPECT_TRUE(option_is(text, "vhostfds", NULL));
	EXPECT_TRUE(option_is(text, "on", "on"));
	EXPECT_TRUE(option_is(text, "name", NULL));
	EXPECT_TRUE(option_is("type=tap,id=x", "type", "tap"));
	EXPECT_TRUE(option_is("", "type", NULL));
	EXPECT_TRUE(option_is(json, "type", "tap"));
	EXPECT_TRUE(option_is(json, "vhost", "on"));
	EXPECT_TRUE(option_is(json, "off", "off"));
	EXPECT_TRUE(option_is(json, "n", "5"));
	EXPECT_TRUE(option_is(json, "id", "net0"));
	EXPECT_TRUE(option_is(json, "queues", NULL));
	EXPECT_TRUE(option_is("{\"id\":", "id", ""));
}

static bool vm_is(const char *a, const char *b, const char *want)
{
	char *argv[] = { "qemu", (char *)a, (char *)b, NULL };
	char *name = vm_name(3, argv);
	bool is = want ? name && !strcmp(name, want) : !name;

	free(name);
	return is;
}

CASE(names_of_vms)
{
	EXPECT_TRUE(vm_is("-name", "guest=web,debug-threads=on", "web"));
	EXPECT_TRUE(vm_is("-name", "web,process=x", "web"));
	EXPECT_TRUE(vm_is("--name", "web", "web"));
	EXPECT_TRUE(vm_is("--id", "fc1", "fc1"));
	EXPECT_TRUE(vm_is("-name", "debug-threads=on", NULL));
	EXPECT_TRUE(vm_is("-m", "web", NULL));
	EXPECT_TRUE(vm_is("x", "-name", NULL));
	EXPECT_TRUE(vm_is("-name", "guest=", NULL));
	EXPECT_TRUE(vm_is("-name", "debug-threads=on,guest=web", "web"));
	EXPECT_TRUE(vm_is("-name", "guest=a,,b,process=x", "a,b"));
	EXPECT_TRUE(vm_is("-name", "a,,guest=b", "a,guest=b"));
	EXPECT_TRUE(vm_is("-name", "web,", "web"));
	EXPECT_TRUE(vm_is("-name", "", NULL));
	EXPECT_TRUE(vm_is("-name", ",,", ","));
}

/* What a VMM's owner makes of it is not to cost those who look more than he has paid. */
CASE(long_names)
{
	static char list[131072], most[256];
	size_t i;

	for (i = 0; i + 2 < sizeof(list); i += 2)
		memcpy(list + i, i ? "a," : ",x", 2);
	memcpy(list, "process=,", 9);
	EXPECT_TRUE(vm_is("-name", list, NULL));
	memset(list, 'n', sizeof(list) - 1);
	memset(most, 'n', sizeof(most) - 1);
	EXPECT_TRUE(vm_is("-name", list, most));
	memcpy(list, "process=x,guest=", 16);
	EXPECT_TRUE(vm_is("-name", list, most));
}

/* a process with these arguments, and a descriptor 9 */
static void put_process(const char *arguments, const char *fd9)
{
	char *path = text_format("%s/proc/4001/cmdline", root), *p, *copy = strdup(arguments);
	size_t len = strlen(copy);
	FILE *f;

	put("/proc/4001/comm", "qemu-system-x86\n");
	put("/proc/4001/cgroup", "1:cpu:/x\n0::/machine.slice/vm\n");
	put("/proc/4001/cmdline", "");
	for (p = copy; (p = strchr(p, ' ')); )
		*p++ = 0;
	f = fopen(path, "w");
	fwrite(copy, 1, len + 1, f);
	fclose(f);
	if (fd9)
		put_link("/proc/4001/fd/9", fd9);
	free(copy);
	free(path);
}

CASE(a_process)
{
	struct process p;

	begin();
	put_process("qemu -name web", NULL);
	if (EXPECT_TRUE(process_read(&p, 4001))) {
		EXPECT_EQ(p.argc, 3);
		EXPECT_TRUE(p.vm && !strcmp(p.vm, "web"));
		process_free(&p);
	}
	EXPECT_TRUE(!process_read(&p, 4002));
	end();
}

CASE(one_that_ends_while_it_is_read)
{
	struct process p;

	begin();
	put_process("qemu -name web", NULL);
	dies = true;
	if (EXPECT_TRUE(process_read(&p, 4001))) {
		EXPECT_EQ(p.argc, 0);
		EXPECT_TRUE(!p.vm);
		process_free(&p);
	}
	dies = false;
	end();
}

static bool vmm_finds(const char *arguments, const char *fd9, const char *what)
{
	bool has;

	begin();
	put("/sys/module/kvnet/parameters/replace_vhost_net", "N\n");
	put_process(arguments, fd9);
	has = finds(doctor_vmms, what);
	end();
	return has;
}

#define QEMU	"/usr/bin/qemu-system-x86_64 -name guest=web "
#define NIC	" -device virtio-net-pci,netdev=n0"

CASE(command_lines)
{
	static const char packed[] = QEMU "-netdev tap,id=n0,vhost=on,vhostfd=9" NIC ",packed=on";

	EXPECT_TRUE(vmm_finds(packed, "/dev/kvnet", "ok    vmm     process 4001 web, netdev n0: served by kvnet\n"));
	EXPECT_TRUE(vmm_finds(packed, "/dev/vhost-net", "served by vhost_net, not by kvnet"));
	EXPECT_TRUE(vmm_finds(packed, NULL, "cannot tell what its vhostfd is"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev tap,id=n0,vhost=on" NIC, NULL, "served by vhost_net, not by kvnet"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev tap,id=n0" NIC, NULL, "no vhost=on"));
	EXPECT_TRUE(!vmm_finds(QEMU "-netdev tap,id=n0,vhost=on,vhostfd=9" NIC, "/dev/kvnet", "packed"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev tap,id=n0,vhost=on,vhostfd=9,sndbuf=1M" NIC, "/dev/kvnet", "sndbuf=1M: packets are sent one by one"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev tap,id=n0,vhost=on,vhostfd=9,vnet_hdr=off" NIC, "/dev/kvnet", "vnet_hdr=off: no offloads"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev tap,id=n0,vhost=on,vhostfd=9 -device e1000,netdev=n0", "/dev/kvnet", "the guest's device is e1000"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev tap,id=n0,vhost=on,vhostfds=9:10" NIC ",packed=on", "/dev/kvnet", "several queue pairs, but mq is off"));
	EXPECT_TRUE(vmm_finds(QEMU "-netdev {\"type\":\"tap\",\"id\":\"n0\",\"vhost\":true,\"vhostfd\":\"9\"} -device {\"driver\":\"virtio-net-pci\",\"netdev\":\"n0\",\"packed\":true}", "/dev/kvnet", "served by kvnet\n"));
	EXPECT_TRUE(vmm_finds("dpdk-testpmd --vdev=net_virtio_user0,path=/dev/vhost-net,iface=t", NULL, "DPDK's virtio-user on vhost_net"));
	EXPECT_TRUE(vmm_finds("dpdk-testpmd --vdev=net_virtio_user0,path=/dev/kvnet,iface=t", NULL, "DPDK's virtio-user on kvnet"));
}

CASE(other_processes_are_left_alone)
{
	char *out;

	begin();
	put_process("/usr/bin/vim -netdev tap,id=n0", NULL);
	out = said(doctor_vmms);
	EXPECT_TRUE(!*out);
	free(out);
	end();
}

CASE(the_module_and_its_node)
{
	begin();
	EXPECT_TRUE(finds(doctor_module, "BAD   module  kvnet is neither loaded nor installed"));
	put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	EXPECT_TRUE(finds(doctor_module, "this kernel is locked down"));
	put("/sys/module/kvnet/version", "1.2\n");
	EXPECT_TRUE(finds(doctor_module, "ok    module  kvnet is loaded, version 1.2\n"));
	EXPECT_TRUE(finds(doctor_node, "BAD   node    there is no /dev/kvnet"));
	put("/dev/kvnet", "");
	set_mode(0600);
	EXPECT_TRUE(finds(doctor_node, "note  node    /dev/kvnet is for its owner alone"));
	set_mode(0660);
	EXPECT_TRUE(finds(doctor_node, "ok    node    /dev/kvnet is for"));
	set_mode(0666);
	EXPECT_TRUE(finds(doctor_node, "each user may open /dev/kvnet"));
	EXPECT_TRUE(finds(doctor_node, "without vhost, VMMs take 64"));
	put("/sys/module/vhost/parameters/max_mem_regions", "509\n");
	EXPECT_TRUE(!finds(doctor_node, "memory hotplug"));
	put("/sys/module/vhost/parameters/max_mem_regions", "64\n");
	EXPECT_TRUE(finds(doctor_node, "max_mem_regions, 64,"));
	end();
}

#define ABSTRACTIONS	"/etc/apparmor.d/abstractions/libvirt-qemu"
#define LOCAL		"/etc/apparmor.d/local/abstractions/libvirt-qemu"

CASE(apparmor_without_a_rule_for_the_node)
{
	static const char refused[] = "AppArmor does not let VMs of libvirt use /dev/kvnet";

	begin();
	put("/dev/kvnet", "");
	EXPECT_TRUE(!finds(doctor_node, refused));
	put("/sys/module/apparmor/parameters/enabled", "Y\n");
	EXPECT_TRUE(!finds(doctor_node, refused));
	/* Debian 12 */
	put(ABSTRACTIONS, "/dev/vhost-net rw,\ninclude if exists <local/abstractions/libvirt-qemu>\n");
	EXPECT_TRUE(finds(doctor_node, refused));
	EXPECT_TRUE(finds(doctor_node, "in " LOCAL ": \"/dev/kvnet\" rw,"));
	/* the folder is not read there */
	put(ABSTRACTIONS ".d/kvnet", "\"/dev/kvnet\" rw,\n");
	EXPECT_TRUE(finds(doctor_node, refused));
	put(LOCAL, "\"/dev/kvnet\" rw,\n");
	EXPECT_TRUE(!finds(doctor_node, refused));
	/* Debian 13 */
	put(LOCAL, "\n");
	put(ABSTRACTIONS, "/dev/vhost-net rw,\ninclude if exists <abstractions/libvirt-qemu.d>\n");
	EXPECT_TRUE(!finds(doctor_node, refused));
	put(ABSTRACTIONS ".d/kvnet", "\n");
	EXPECT_TRUE(finds(doctor_node, "apt install kvnet-tools"));
	put("/sys/module/apparmor/parameters/enabled", "N\n");
	EXPECT_TRUE(!finds(doctor_node, refused));
	end();
}

#define BIT(n)	(UINT64_C(1) << (n))

static struct node beyond;

static void look_at_features(struct doctor *d)
{
	struct node vhost = { .word = { BIT(32) | BIT(33), BIT(1) } }, kvnet = vhost;

	kvnet.word[0] |= beyond.word[0];
	kvnet.word[1] |= beyond.word[1];
	doctor_compare_features(d, &kvnet, &vhost);
}

CASE(features_that_vhost_net_has_not)
{
	EXPECT_TRUE(!finds(look_at_features, "vhost"));
	beyond.word[0] = BIT(34) | BIT(35);
	EXPECT_TRUE(finds(look_at_features, "ok    vhost   kvnet offers more than vhost_net only if QEMU is told to take it: RING_PACKED IN_ORDER\n"));
	beyond.word[0] = BIT(34) | BIT(40);
	EXPECT_TRUE(finds(look_at_features, "note  vhost   kvnet offers what vhost_net does not on this kernel: RING_PACKED RING_RESET\n"));
	EXPECT_TRUE(finds(look_at_features, "queue_reset=off for RING_RESET"));
}

CASE(taps)
{
	begin();
	EXPECT_TRUE(finds(doctor_taps, "no tap in this network namespace"));
	put("/sys/class/net/lo/flags", "0x9\n");
	EXPECT_TRUE(finds(doctor_taps, "no tap in this network namespace"));
	put("/sys/class/net/tap0/tun_flags", "0x5102\n");
	put("/sys/class/net/tap0/flags", "0x1003\n");
	put("/sys/class/net/tap0/carrier", "1\n");
	EXPECT_TRUE(finds(doctor_taps, "ok    tap     tap0: in use, vnet_hdr, multi_queue\n"));
	put("/sys/class/net/tap0/flags", "0x1002\n");
	EXPECT_TRUE(finds(doctor_taps, "tap0 is down"));
	put("/sys/class/net/tap0/tun_flags", "0x1002\n");
	EXPECT_TRUE(finds(doctor_taps, "tap0, which is in use, has no vnet_hdr"));
	put("/sys/class/net/tap0/statistics/tx_dropped", "17\n");
	EXPECT_TRUE(finds(doctor_taps, "tap0 has dropped 17 frames"));
	end();
}

static void look_at_devices(struct doctor *d)
{
	struct kvnet_devices all;
	struct kvnet k;

	kvnet_open(&k);
	kvnet_get(&k, 0, &all);
	doctor_devices(d, &all);
	kvnet_free(&all);
	kvnet_close(&k);
}

CASE(devices)
{
	begin();
	put("/proc/4001/limits", "Limit   Soft Limit  Hard Limit Units\nMax locked memory         65536                65536                bytes\n");
	EXPECT_TRUE(finds(look_at_devices, "ok    device  device 1 tap0: process 4001 (qemu-system-x86)\n"));
	EXPECT_TRUE(finds(look_at_devices, "device 2 tap0, rx: its ring is not pinned, and slower: process 4001 may lock 64 kB"));
	EXPECT_TRUE(finds(look_at_devices, "device 2 tap0, tx: waits for an IOTLB update from the VMM"));
	EXPECT_TRUE(finds(look_at_devices, "BAD   device  device 7, tx: broken (EFAULT)"));
	EXPECT_TRUE(finds(look_at_devices, "device 7: its VMM is dead, but another process holds it open"));
	EXPECT_TRUE(finds(look_at_devices, "tx: dropped 12 packets that the tap refused"));
	setenv("FAKE", "macvtap", 1);
	EXPECT_TRUE(finds(look_at_devices, "ok    device  device 1: process 4001 (qemu-system-x86)\n"));
	unsetenv("FAKE");
	end();
}

#define MANY	30

/*
 * Memory that never comes, as of a pipe: all looks together take little more than one. The last
 * case: it uses up the time for which this process waits for any.
 */
CASE(processes_whose_arguments_never_come)
{
	uint64_t start = now_ns();
	struct process p;
	unsigned int i;
	char *path;

	begin();
	put_process("qemu -name web", NULL);
	path = text_format("%s/proc/4001/cmdline", root);
	EXPECT_EQ(unlink(path), 0);
	EXPECT_EQ(mkfifo(path, 0600), 0);
	free(path);
	for (i = 0; i < MANY; i++) {
		if (!EXPECT_TRUE(process_read(&p, 4001)))
			break;
		EXPECT_TRUE(p.stalled && !p.argc && !p.vm && !strcmp(p.command, "qemu-system-x86"));
		process_free(&p);
	}
	EXPECT_TRUE(now_ns() - start < UINT64_C(8000000000));
	/* the readers have ended, too */
	while (wait(NULL) > 0)
		;
	EXPECT_EQ(errno, ECHILD);
	end();
}
