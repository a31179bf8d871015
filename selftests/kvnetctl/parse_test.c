// SPDX-License-Identifier: GPL-2.0
/* Messages of the kernel's, good and bad, into structures. */
#include "fake.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEN	8192

static struct nlmsghdr *begin(void *buf)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(memset(buf, 0, LEN));

	nlh->nlmsg_type = FAKE_FAMILY;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct genlmsghdr));
	return nlh;
}

CASE(a_device)
{
	_Alignas(8) char buf[LEN];
	struct nlmsghdr *nlh = begin(buf);
	struct kvnet_device dev = { 0 };

	fake_device(nlh, 0);
	EXPECT_EQ(parse_device(nlh, &dev), 0);
	EXPECT_EQ(dev.id, 1);
	EXPECT_EQ(dev.pid, 4001);
	EXPECT_TRUE(HAS(&dev, KVNET_A_DEV_OWNER_PID) && !HAS(&dev, KVNET_A_DEV_OWNER_DEAD));
	EXPECT_TRUE(!strcmp(dev.tap, "tap0") && !strcmp(dev.command, "qemu-system-x86"));
	EXPECT_EQ(dev.features[0], 0x0000000d30008000);
	EXPECT_EQ(dev.features[1], 2);
	EXPECT_EQ(dev.layout, KVNET_RING_LAYOUT_PACKED);
	EXPECT_TRUE(HAS(&dev, KVNET_A_DEV_IN_ORDER));
	EXPECT_TRUE(!HAS(&dev, KVNET_A_DEV_MEMORY_NODE));
	EXPECT_TRUE(!(dev.policy.has & POLICY_OF_THREADS));
	EXPECT_EQ(dev.policy.poll_us, 50);
	EXPECT_TRUE(HAS(&dev.policy, KVNET_A_POLICY_SHORTCUT) && dev.policy.shortcut == 1);
	kvnet_free_device(&dev);
}

CASE(a_device_without_an_owner)
{
	_Alignas(8) char buf[LEN];
	struct nlmsghdr *nlh = begin(buf);
	struct kvnet_device dev = { 0 };

	fake_device(nlh, 2);
	EXPECT_EQ(parse_device(nlh, &dev), 0);
	EXPECT_TRUE(!HAS(&dev, KVNET_A_DEV_OWNER_PID) && HAS(&dev, KVNET_A_DEV_OWNER_DEAD));
	EXPECT_TRUE(!dev.tap && !dev.cgroup);
	kvnet_free_device(&dev);
}

CASE(a_queue)
{
	_Alignas(8) char buf[LEN];
	struct nlmsghdr *nlh = begin(buf);
	struct kvnet_queue q = { 0 };

	fake_queue(nlh, 3, 1);
	EXPECT_EQ(parse_queue(nlh, &q), 0);
	EXPECT_EQ(q.dev, 300);
	EXPECT_EQ(q.index, 1);
	EXPECT_EQ(q.counters, 6);
	EXPECT_EQ(kvnet_counter_value(&q, "packets"), 5000);
	EXPECT_EQ(kvnet_counter_value(&q, "from-the-future"), 1);
	EXPECT_EQ(kvnet_counter_value(&q, "not there"), 0);
	EXPECT_EQ(kvnet_drops(&q), 12);
	EXPECT_EQ(q.histograms, 3);
	EXPECT_TRUE(!strcmp(q.histogram[0].name, "poll_packets"));
	EXPECT_EQ(q.histogram[0].sum, 250);
	EXPECT_EQ(q.histogram[0].buckets, 4);
	EXPECT_EQ(q.histogram[0].bucket[3], 30);
	EXPECT_EQ(q.histogram[1].bucket[31], 1);
	EXPECT_TRUE(!HAS(&q, KVNET_A_QUEUE_ERROR) && !HAS(&q, KVNET_A_QUEUE_BACKLOG));
	EXPECT_EQ(q.shortcut, KVNET_SHORTCUT_ACTIVE);
	EXPECT_EQ(q.shortcut_ifindex, 2000000000);
	free_queue(&q);
}

CASE(a_bucket_too_many)
{
	_Alignas(8) char buf[LEN];
	struct nlmsghdr *nlh = begin(buf);
	struct kvnet_queue q = { 0 };
	struct nlattr *nest;
	unsigned int i;

	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_DEV, 1);
	mnl_attr_put_u32(nlh, KVNET_A_QUEUE_INDEX, 1);
	nest = mnl_attr_nest_start(nlh, KVNET_A_QUEUE_HISTOGRAMS);
	mnl_attr_put_strz(nlh, KVNET_A_HISTOGRAM_NAME, "long");
	for (i = 0; i <= HISTOGRAM_BUCKETS; i++)
		mnl_attr_put_u64(nlh, KVNET_A_HISTOGRAM_BUCKETS, 1);
	mnl_attr_nest_end(nlh, nest);
	EXPECT_EQ(parse_queue(nlh, &q), -EBADMSG);
	EXPECT_EQ(q.histograms, 0);
	free_queue(&q);
}

CASE(what_is_in_a_bucket)
{
	EXPECT_TRUE(kvnet_histogram_bucket_min(0) == 0 && kvnet_histogram_bucket_max(0) == 0);
	EXPECT_TRUE(kvnet_histogram_bucket_min(1) == 1 && kvnet_histogram_bucket_max(1) == 1);
	EXPECT_TRUE(kvnet_histogram_bucket_min(3) == 4 && kvnet_histogram_bucket_max(3) == 7);
	EXPECT_TRUE(kvnet_histogram_bucket_min(31) == 1 << 30 &&
		    kvnet_histogram_bucket_max(31) == UINT64_MAX);
}

CASE(a_worker)
{
	_Alignas(8) char buf[LEN];
	struct nlmsghdr *nlh = begin(buf);
	struct kvnet_worker w = { 0 };

	fake_worker(nlh, 1, 0);
	EXPECT_EQ(parse_worker(nlh, &w), 0);
	EXPECT_EQ(w.dev, 2);
	EXPECT_EQ(w.nice, -3);
	EXPECT_EQ(w.queues, 1);
	EXPECT_TRUE(!strcmp(w.cpus, "0-1"));
	free_worker(&w);
}

static int refused(void (*put)(struct nlmsghdr *nlh))
{
	_Alignas(8) char buf[LEN];
	struct nlmsghdr *nlh = begin(buf);
	struct kvnet_device dev = { 0 };
	int ret;

	put(nlh);
	ret = parse_device(nlh, &dev);
	kvnet_free_device(&dev);
	return ret;
}

static void no_id(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, KVNET_A_DEV_OWNER_PID, 1);
}

static void short_id(struct nlmsghdr *nlh)
{
	mnl_attr_put_u16(nlh, KVNET_A_DEV_ID, 1);
}

static void no_end(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, 1);
	mnl_attr_put(nlh, KVNET_A_DEV_IFNAME, 4, "tap0");
}

static void bad_nest(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, 1);
	mnl_attr_put_u8(nlh, KVNET_A_DEV_POLICY, 1);
}

static void bad_word(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, 1);
	mnl_attr_put_u32(nlh, KVNET_A_DEV_FEATURES, 1);
}

static void twice(struct nlmsghdr *nlh)
{
	unsigned int i;

	mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, 1);
	for (i = 0; i < 9; i++) {
		mnl_attr_put_strz(nlh, KVNET_A_DEV_IFNAME, "tap0");
		mnl_attr_put_u64(nlh, KVNET_A_DEV_FEATURES, 1);
	}
}

CASE(what_makes_no_sense_is_refused)
{
	EXPECT_EQ(refused(no_id), -EBADMSG);
	EXPECT_EQ(refused(short_id), -EBADMSG);
	EXPECT_EQ(refused(no_end), -EBADMSG);
	EXPECT_EQ(refused(bad_nest), -EBADMSG);
	EXPECT_EQ(refused(bad_word), -EBADMSG);
	/* the last name counts, words beyond ours do not */
	EXPECT_EQ(refused(twice), 0);
}

/* bytes of a good message changed, at random: whatever that gives, no harm is done */
CASE(garbled_messages_do_no_harm)
{
	_Alignas(8) char buf[LEN];
	struct kvnet_device dev;
	struct kvnet_worker w;
	struct kvnet_queue q;
	struct nlmsghdr *nlh;
	unsigned int i, n, end;
	char *copy;

	for (i = 0; i < 20000; i++) {
		nlh = begin(buf);
		if (i % 3 == 0)
			fake_device(nlh, unit_below(FAKE_DEVICES));
		else if (i % 3 == 1)
			fake_queue(nlh, unit_below(FAKE_DEVICES), unit_below(2));
		else
			fake_worker(nlh, unit_below(FAKE_DEVICES), 0);
		end = nlh->nlmsg_len;
		for (n = unit_below(6); n; n--)
			buf[sizeof(*nlh) + unit_below(end - sizeof(*nlh))] = unit_rand();
		nlh->nlmsg_len = sizeof(*nlh) + sizeof(struct genlmsghdr) +
				 unit_below(end - sizeof(*nlh) - sizeof(struct genlmsghdr) + 1);
		/* just as long as it says and no longer, for the sanitizer; libmnl rounds up */
		end = MNL_ALIGN(nlh->nlmsg_len);
		copy = memcpy(malloc(end), buf, end);
		memset(&dev, 0, sizeof(dev));
		memset(&q, 0, sizeof(q));
		memset(&w, 0, sizeof(w));
		parse_device((struct nlmsghdr *)copy, &dev);
		parse_queue((struct nlmsghdr *)copy, &q);
		parse_worker((struct nlmsghdr *)copy, &w);
		kvnet_free_device(&dev);
		free_queue(&q);
		free_worker(&w);
		free(copy);
	}
	EXPECT_EQ(i, 20000);
}

/* the fake kernel through the whole client */
CASE(devices_with_their_queues_and_workers)
{
	struct kvnet_devices all;
	struct kvnet k;

	EXPECT_EQ(kvnet_open(&k), 0);
	EXPECT_EQ(kvnet_get(&k, 0, &all), 0);
	EXPECT_EQ(all.n, FAKE_DEVICES);
	EXPECT_EQ(all.dev[3].id, 300);
	EXPECT_EQ(all.dev[3].queues, 2);
	EXPECT_EQ(all.dev[3].queue[1].index, 1);
	EXPECT_EQ(all.dev[3].workers, 2);
	EXPECT_EQ(all.dev[3].queue[1].worker, 1);
	kvnet_free(&all);
	EXPECT_EQ(kvnet_get(&k, 7, &all), 0);
	EXPECT_EQ(all.n, 1);
	kvnet_free(&all);
	EXPECT_EQ(kvnet_get(&k, 8, &all), -ENODEV);
	EXPECT_TRUE(!strcmp(k.why, "no such device"));
	kvnet_close(&k);
}

CASE(a_dump_that_was_interrupted_is_repeated)
{
	struct kvnet_devices all;
	struct kvnet k;

	setenv("FAKE", "intr", 1);
	EXPECT_EQ(kvnet_open(&k), 0);
	EXPECT_EQ(kvnet_get(&k, 0, &all), 0);
	EXPECT_EQ(all.n, FAKE_DEVICES);
	EXPECT_EQ(all.dev[0].queues, 2);
	kvnet_free(&all);
	kvnet_close(&k);
	unsetenv("FAKE");
}

CASE(events)
{
	static const int want[] = { 0, 0, 0, 0, -EAGAIN, 0, 0 };
	struct kvnet_event ev;
	struct kvnet k;
	unsigned int i;

	EXPECT_EQ(kvnet_open(&k), 0);
	EXPECT_EQ(kvnet_listen(&k), 0);
	for (i = 0; i < 7; i++) {
		EXPECT_EQ(kvnet_event(&k, &ev), want[i]);
		if (ev.cmd == KVNET_CMD_QUEUE_BROKEN_NTF)
			EXPECT_EQ(ev.queue.error, EINVAL);
		if (ev.cmd == KVNET_CMD_WORKERS_START_NTF)
			EXPECT_EQ(ev.dev.id, 300);
		kvnet_event_free(&ev);
	}
	kvnet_close(&k);
}
