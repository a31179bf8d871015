// SPDX-License-Identifier: GPL-2.0
/*
 * The feature table: what kvnet offers, what this kernel's vhost_net offers,
 * and what upstream's did.  kvnet lacks nothing that any of them has.
 *
 * @hosts: 6.1 newest
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "links.h"
#include "row.h"

enum { IN_6_1 = 1, IN_6_12 = 2, IN_6_17 = 4,
       ALL = IN_6_1 | IN_6_12 | IN_6_17 };

/* drivers/vhost/net.c of each; that of 6.17.13 and of 7.3.4 is the same */
static const struct feature {
	const char *name;
	unsigned int bit;
	unsigned int in;
	bool backend;		/* a backend feature */
} features[] = {
	{ "MRG_RXBUF", VIRTIO_NET_F_MRG_RXBUF, ALL },
	{ "NOTIFY_ON_EMPTY", VIRTIO_F_NOTIFY_ON_EMPTY, ALL },
	{ "LOG_ALL", VHOST_F_LOG_ALL, ALL },
	{ "ANY_LAYOUT, NET_HDR", VHOST_NET_F_VIRTIO_NET_HDR, ALL },
	{ "INDIRECT_DESC", VIRTIO_RING_F_INDIRECT_DESC, ALL },
	{ "EVENT_IDX", VIRTIO_RING_F_EVENT_IDX, ALL },
	{ "VERSION_1", VIRTIO_F_VERSION_1, ALL },
	{ "ACCESS_PLATFORM", VIRTIO_F_ACCESS_PLATFORM, ALL },
	{ "IN_ORDER", VIRTIO_F_IN_ORDER, IN_6_17 },
	{ "RING_RESET", VIRTIO_F_RING_RESET, IN_6_12 | IN_6_17 },
	{ "RING_PACKED", VIRTIO_F_RING_PACKED, 0 },
	{ "GUEST_UDP_TUNNEL_GSO", VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO, IN_6_17 },
	{ "HOST_UDP_TUNNEL_GSO", VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO, IN_6_17 },
	{ "backend IOTLB_MSG_V2", VHOST_BACKEND_F_IOTLB_MSG_V2, ALL, true },
};

#define N_FEATURES	(sizeof(features) / sizeof(features[0]))

struct offer {
	bool there;
	bool array;		/* GET_FEATURES_ARRAY is known */
	bool fork;		/* GET_FORK_FROM_OWNER is known */
	uint64_t word[4];
	uint64_t backend;
};

static struct offer ask(const char *path)
{
	struct abi_features a = { .count = 4, .word = { 1, 1, 1, 1 } };
	struct offer o = { 0 };
	uint64_t low = 0;
	uint8_t fork;
	int fd;

	ASSERT_SYS(setenv("KVNET_DEV", path, 1));
	if (access(path, F_OK))
		return o;
	o.there = true;
	fd = vdev_open_node();
	vdev_ioctl(fd, VHOST_GET_FEATURES, &low);
	vdev_ioctl(fd, VHOST_GET_BACKEND_FEATURES, &o.backend);
	o.array = !__vdev_ioctl(fd, VHOST_GET_FEATURES_ARRAY, &a);
	o.fork = !__vdev_ioctl(fd, VHOST_GET_FORK_FROM_OWNER, &fork);
	if (o.array) {
		memcpy(o.word, a.word, sizeof(o.word));
		EXPECT_EQ(a.count, 4);
		EXPECT_EQ(o.word[0], low);
	} else {
		o.word[0] = low;
	}
	close(fd);
	return o;
}

static bool offers(const struct offer *o, const struct feature *f)
{
	uint64_t word = f->backend ? o->backend : o->word[f->bit / 64];

	return word & BIT64(f->bit % 64);
}

/* Which column of the table is about this kernel; 0: none. */
static unsigned int this_kernel(void)
{
	unsigned int major, minor;
	struct utsname u;

	ASSERT_SYS(uname(&u));
	ASSERT(sscanf(u.release, "%u.%u", &major, &minor) == 2);
	if (major == 6 && minor == 1)
		return IN_6_1;
	if (major == 6 && minor == 12)
		return IN_6_12;
	if (major > 6 || (major == 6 && minor >= 17))
		return IN_6_17;
	return 0;
}

static const char *mark(bool there, bool yes)
{
	return !there ? "?" : yes ? "yes" : "-";
}

static void print_row(const char *name, int bit, const char *kvnet,
		      const char *vhost, unsigned int in)
{
	char number[12] = "";

	if (bit >= 0)
		snprintf(number, sizeof(number), "%d", bit);
	ksft_note("feature: %-22s %3s  %-5s  %-9s  %-3s  %-4s  %s", name,
		  number, kvnet, vhost, mark(true, in & IN_6_1),
		  mark(true, in & IN_6_12), mark(true, in & IN_6_17));
}

CASE(features_offered_are_those_of_the_table)
{
	unsigned int here = this_kernel(), i;
	struct offer v, k;

	link_module("vhost_net");
	vdev_allow_choice();
	v = ask("/dev/vhost-net");
	k = ask("/dev/kvnet");
	if (!k.there)
		ksft_skip("no /dev/kvnet");
	ksft_note("feature: %-22s bit  kvnet  vhost_net  6.1  6.12  6.17+",
		  "name");
	for (i = 0; i < N_FEATURES; i++) {
		const struct feature *f = &features[i];

		print_row(f->name, f->bit, mark(true, offers(&k, f)),
			  mark(v.there, offers(&v, f)), f->in);
		if (!offers(&k, f))
			FAIL("kvnet lacks %s", f->name);
		if (v.there && here && offers(&v, f) != !!(f->in & here))
			FAIL("%s: this kernel's vhost_net is not as stated",
			     f->name);
	}
	print_row("(FEATURES_ARRAY ioctls)", -1, mark(true, k.array),
		  mark(v.there, v.array), IN_6_17);
	/* a stable update has brought it to 6.12; here it depends on .config */
	print_row("(FORK_FROM_OWNER)", -1, mark(true, k.fork),
		  mark(v.there, v.fork), IN_6_12 | IN_6_17);
	if (!k.array || !k.fork)
		FAIL("kvnet lacks GET_FEATURES_ARRAY or GET_FORK_FROM_OWNER");
	if (v.there && here && v.array != !!(here & IN_6_17))
		FAIL("FEATURES_ARRAY: this vhost_net is not as stated");
}

static void no_other(const char *path)
{
	struct offer o = ask(path), known = { 0 };
	unsigned int i;

	for (i = 0; i < N_FEATURES; i++) {
		const struct feature *f = &features[i];

		if (f->backend)
			known.backend |= BIT64(f->bit);
		else
			known.word[f->bit / 64] |= BIT64(f->bit % 64);
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(o.word[i] & ~known.word[i], 0);
	EXPECT_EQ(o.backend & ~known.backend, 0);
}

/* Nothing is offered that is not in the table: no half of a feature. */
CASE(features_outside_of_the_table_not_offered)
{
	link_module("vhost_net");
	no_other("/dev/vhost-net");
	no_other("/dev/kvnet");
}

/*
 * What is offered can be set, all at once and each bit alone, but for packed
 * rings, which a legacy driver cannot have.
 */
CASE(features_offered_can_be_set)
{
	struct offer o;
	const char *node = vdev_path();
	unsigned int i;
	uint64_t all;
	int fd;

	o = ask(node);
	if (!o.there)
		ksft_skip("no %s", node);
	fd = vdev_open_node();
	vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
	vdev_ioctl(fd, VHOST_SET_FEATURES, &o.word[0]);
	vdev_ioctl(fd, VHOST_SET_BACKEND_FEATURES, &o.backend);
	for (i = 0; i < 256; i++) {
		struct abi_features a = { .count = i < 128 ? 2 : 4 };
		int want = o.word[i / 64] & BIT64(i % 64) ? 0 : -EOPNOTSUPP;

		if (i == VIRTIO_F_RING_PACKED && !want)
			want = -EOPNOTSUPP;
		all = BIT64(i % 64);
		a.word[i / 64] = all;
		if (i < 64 && __vdev_ioctl(fd, VHOST_SET_FEATURES, &all) != want)
			FAIL("SET_FEATURES, bit %u", i);
		if (o.array &&
		    __vdev_ioctl(fd, VHOST_SET_FEATURES_ARRAY, &a) != want)
			FAIL("SET_FEATURES_ARRAY, bit %u", i);
	}
	close(fd);
}

/* As many words as are asked for, and not one more. */
CASE(features_array_of_every_length_is_filled)
{
	struct offer o = ask(vdev_path());
	unsigned int n, i;
	int fd;

	if (!o.array)
		ksft_skip("no FEATURES_ARRAY");
	fd = vdev_open_node();
	for (n = 0; n <= 4; n++) {
		struct abi_features a = { .count = n };

		memset(a.word, 0xa5, sizeof(a.word));
		vdev_ioctl(fd, VHOST_GET_FEATURES_ARRAY, &a);
		EXPECT_EQ(a.count, n);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(a.word[i], i < n ? o.word[i] :
				  0xa5a5a5a5a5a5a5a5ull);
	}
	close(fd);
}

KSFT_MAIN()
