// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_host.c - the module, its node, and taps
 */
#include "doctor.h"
#include "host.h"
#include "names.h"
#include "text.h"

#include <dirent.h>
#include <grp.h>
#include <net/if.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <linux/virtio_config.h>

#define UDEV_RULE	"KERNEL==\"kvnet\", GROUP=\"kvm\", MODE=\"0660\""

static bool is_installed(const char *release)
{
	char *dep = host_read("/lib/modules/%s/modules.dep", release);
	bool has = dep && strstr(dep, "/kvnet.ko");

	free(dep);
	return has;
}

static void report_not_loaded(struct doctor *d)
{
	char *lockdown = host_line("/sys/kernel/security/lockdown");
	struct utsname u;

	uname(&u);
	if (is_installed(u.release))
		finding(d, GRADE_BAD, "module",
			"modprobe kvnet; at each boot: echo kvnet > /etc/modules-load.d/kvnet.conf",
			"kvnet is installed for this kernel (%s), but not loaded", u.release);
	else
		finding(d, GRADE_BAD, "module",
			"apt install ./kvnet-dkms_*.deb linux-headers-$(uname -r); or, from its source: make load",
			"kvnet is neither loaded nor installed for this kernel (%s)", u.release);
	if (lockdown && !strstr(lockdown, "[none]"))
		finding(d, GRADE_NOTE, "module", "sign it with a key that the machine knows (MOK)",
			"this kernel is locked down: it loads signed modules only");
	free(lockdown);
}

/**
 * doctor_module() - is the module there?
 * @d: the examination
 */
void doctor_module(struct doctor *d)
{
	char *version, *instead;

	if (!host_has("/sys/module/kvnet")) {
		report_not_loaded(d);
		return;
	}
	version = host_line("/sys/module/kvnet/version");
	finding(d, GRADE_OK, "module", NULL, "kvnet is loaded%s%s", version ? ", version " : "",
		version ? version : "");
	free(version);
	instead = host_line("/sys/module/kvnet/parameters/replace_vhost_net");
	if (instead && *instead == 'Y')
		finding(d, GRADE_OK, "module", NULL, "kvnet is /dev/vhost-net, too");
	free(instead);
}

static void check_mode(struct doctor *d, const struct stat *st)
{
	const struct passwd *user = getpwuid(st->st_uid);
	const struct group *group = getgrgid(st->st_gid);
	mode_t mode = st->st_mode & 0777;

	if (!(mode & 066))
		finding(d, GRADE_NOTE, "node",
			"as /etc/udev/rules.d/60-kvnet.rules: " UDEV_RULE "; then: udevadm trigger /dev/kvnet",
			"/dev/kvnet is for its owner alone (%s, mode %04o): a VMM that runs as another user cannot open it",
			user ? user->pw_name : "?", mode);
	else if (mode & 06)
		finding(d, GRADE_NOTE, "node", "in a udev rule: " UDEV_RULE,
			"each user may open /dev/kvnet (mode %04o)", mode);
	else
		finding(d, GRADE_OK, "node", NULL, "/dev/kvnet is for %s and the group %s (mode %04o)",
			user ? user->pw_name : "?", group ? group->gr_name : "?", mode);
}

/* QEMU and DPDK read vhost's parameter, also for the node of kvnet */
static void check_regions(struct doctor *d)
{
	uint64_t most;

	if (!host_number(&most, "/sys/module/vhost/parameters/max_mem_regions"))
		finding(d, GRADE_NOTE, "vhost", "modprobe vhost max_mem_regions=509; at each boot: the lines softdep and options vhost in /etc/modprobe.d/kvnet.conf",
			"without vhost, VMMs take 64 for kvnet's max_mem_regions: memory hotplug ends there");
	else if (most < 509)
		finding(d, GRADE_NOTE, "vhost", "modprobe -r vhost_net vhost; modprobe vhost max_mem_regions=509",
			"VMMs take vhost's max_mem_regions, %u, for kvnet's: memory hotplug ends there",
			(unsigned int)most);
}

#define APPARMOR	"/etc/apparmor.d/"
#define APPARMOR_RULE	"\"/dev/kvnet\" rw,"

static bool mentions_node(const char *file)
{
	char *text = host_read(APPARMOR "%s", file);
	bool does = text && strstr(text, "/dev/kvnet");

	free(text);
	return does;
}

/* libvirt's profile has /dev/vhost-net, and of kvnet what is added to it */
static void check_apparmor(struct doctor *d)
{
	char *enabled = host_line("/sys/module/apparmor/parameters/enabled");
	char *profile = host_read(APPARMOR "abstractions/libvirt-qemu");
	bool folder = profile && strstr(profile, "libvirt-qemu.d");

	if (enabled && *enabled == 'Y' && profile && !mentions_node("abstractions/libvirt-qemu") &&
	    !(folder && mentions_node("abstractions/libvirt-qemu.d/kvnet")) &&
	    !mentions_node("local/abstractions/libvirt-qemu"))
		finding(d, GRADE_NOTE, "node",
			folder ? "apt install kvnet-tools; or as " APPARMOR "abstractions/libvirt-qemu.d/kvnet: " APPARMOR_RULE "; then start the VM again" :
			"in " APPARMOR "local/abstractions/libvirt-qemu: " APPARMOR_RULE "; then start the VM again",
			"AppArmor does not let VMs of libvirt use /dev/kvnet: hot plug and a vIOMMU are refused");
	free(profile);
	free(enabled);
}

/**
 * doctor_node() - may the device be opened?
 * @d: the examination
 */
void doctor_node(struct doctor *d)
{
	char *path = host_path("/dev/kvnet");
	struct stat st;

	if (stat(path, &st))
		finding(d, GRADE_BAD, "node", "is /dev a devtmpfs? else: rmmod kvnet; modprobe kvnet",
			"there is no /dev/kvnet, though the module is loaded");
	else if (!S_ISCHR(st.st_mode) && !*host_root)
		finding(d, GRADE_BAD, "node", "rm /dev/kvnet; rmmod kvnet; modprobe kvnet",
			"/dev/kvnet is no device node");
	else if (access(path, R_OK | W_OK))
		finding(d, GRADE_BAD, "node", "run VMMs as root, or in the node's group: usermod -aG kvm USER",
			"no permission to open /dev/kvnet (mode %04o)", st.st_mode & 0777);
	else
		check_mode(d, &st);
	free(path);
	check_apparmor(d);
	check_regions(d);
}

/**
 * doctor_compare_features() - can a guest of kvnet migrate to vhost_net?
 * @d: the examination
 * @kvnet: what kvnet offers
 * @vhost: what vhost_net does
 *
 * Of what kvnet has beyond vhost_net QEMU takes packed rings and IN_ORDER only if told to.
 */
void doctor_compare_features(struct doctor *d, const struct node *kvnet, const struct node *vhost)
{
	unsigned int bit, unasked = 0;
	char *list = NULL, *longer;

	for (bit = 0; bit < 64 * FEATURE_WORDS; bit++) {
		if (!node_has(kvnet, bit) || node_has(vhost, bit))
			continue;
		longer = text_format("%s%s%s", list ? list : "", list ? " " : "",
				     name_feature(bit) ? name_feature(bit) : "?");
		free(list);
		list = longer;
		unasked += bit != VIRTIO_F_RING_PACKED && bit != VIRTIO_F_IN_ORDER;
	}
	if (unasked)
		finding(d, GRADE_NOTE, "vhost",
			"start a guest that is to migrate to vhost_net without them: -device virtio-net-pci,...,queue_reset=off for RING_RESET (vmms.rst)",
			"kvnet offers what vhost_net does not on this kernel: %s", list);
	else if (list)
		finding(d, GRADE_OK, "vhost", NULL,
			"kvnet offers more than vhost_net only if QEMU is told to take it: %s", list);
	free(list);
}

/**
 * doctor_features() - compare both nodes
 * @d: the examination
 *
 * Only if vhost_net is loaded: to open its node would load it.
 */
void doctor_features(struct doctor *d)
{
	struct node kvnet = { .path = "/dev/kvnet" }, vhost = { .path = "/dev/vhost-net" };

	if (*host_root || !host_has("/sys/module/vhost_net"))
		return;
	node_ask(&kvnet);
	node_ask(&vhost);
	if (!kvnet.err && !vhost.err)
		doctor_compare_features(d, &kvnet, &vhost);
}

static void check_tap(struct doctor *d, const char *name, uint64_t tun)
{
	uint64_t flags = 0, carrier = 0, dropped = 0;
	unsigned int before = d->count[GRADE_NOTE] + d->count[GRADE_BAD];

	host_number(&flags, "/sys/class/net/%s/flags", name);
	host_number(&carrier, "/sys/class/net/%s/carrier", name);
	host_number(&dropped, "/sys/class/net/%s/statistics/tx_dropped", name);
	if (!(flags & IFF_UP))
		finding(d, GRADE_NOTE, "tap", "ip link set TAP up", "%s is down", name);
	if (!(tun & IFF_VNET_HDR))
		finding(d, GRADE_NOTE, "tap",
			"ip tuntap add dev TAP mode tap vnet_hdr; and no vnet_hdr=off for QEMU",
			"%s%s has no vnet_hdr: no offloads, so each packet is one of 1500 bytes", name,
			carrier ? ", which is in use," : "");
	if (dropped)
		finding(d, GRADE_NOTE, "tap", "ip link set TAP txqueuelen 10000, if it goes on rising",
			"%s has dropped %llu frames to its guest: its queue was full, or no backend was attached",
			name, (unsigned long long)dropped);
	if (before == d->count[GRADE_NOTE] + d->count[GRADE_BAD])
		finding(d, GRADE_OK, "tap", NULL, "%s: %s, vnet_hdr%s", name,
			carrier ? "in use" : "not in use",
			tun & IFF_MULTI_QUEUE ? ", multi_queue" : "");
}

/* /sys shows the network namespace in which it was mounted; nsenter -n does not do that again */
static bool is_in_other_netns(const char *name)
{
	unsigned int here = if_nametoindex(name);
	uint64_t index;

	return !*host_root && host_number(&index, "/sys/class/net/%s/ifindex", name) && index != here;
}

/**
 * doctor_taps() - are there taps, and are they usable?
 * @d: the examination
 */
void doctor_taps(struct doctor *d)
{
	char *path = host_path("/sys/class/net");
	DIR *dir = opendir(path);
	unsigned int taps = 0, foreign = 0;
	struct dirent *e;
	uint64_t tun;

	while (dir && (e = readdir(dir))) {
		foreign += is_in_other_netns(e->d_name);
		if (*e->d_name == '.' || foreign ||
		    !host_number(&tun, "/sys/class/net/%s/tun_flags", e->d_name) ||
		    !(tun & IFF_TAP))
			continue;
		taps++;
		check_tap(d, e->d_name, tun);
	}
	if (dir)
		closedir(dir);
	free(path);
	if (foreign)
		finding(d, GRADE_NOTE, "tap",
			"nsenter -t PID -n unshare -m sh -c 'mount -t sysfs sysfs /sys && kvnetctl doctor'",
			"/sys shows the interfaces of another network namespace: taps not checked");
	else if (!taps)
		finding(d, GRADE_NOTE, "tap",
			"ip tuntap add dev tap0 mode tap vnet_hdr; or let the VMM make one",
			"there is no tap in this network namespace");
}
