// SPDX-License-Identifier: GPL-2.0
/*
 * Operators look at devices, and set them, while devices come and go.
 *
 * @tier: all
 * @hosts: 6.1
 */
#include "netlink_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

#define DEVICES	3

static uint64_t deadline;
static unsigned long seen;

static bool over(void)
{
	return ksft_now_ms() >= deadline || ksft_failed();
}

static void device_answers(struct attrs answer, void *arg)
{
	*(uint32_t *)arg = attr_u32(answer, KVNET_A_DEV_ID);
	EXPECT_OP(*(uint32_t *)arg, >, 0);
	EXPECT(*attr_text(answer, KVNET_A_DEV_OWNER_COMM));
	__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
}

static void part_answers(struct attrs answer, void *arg)
{
	if (arg)
		EXPECT_EQ(attr_u32(answer, KVNET_A_QUEUE_DEV), *(uint32_t *)arg);
}

/* The answer depends on whether the request or the device's end comes first. */
static void may_be(int ret)
{
	if (ret && ret != -ENODEV && ret != -EOWNERDEAD)
		FAIL("a request is answered: %s", strerror(-ret));
}

static void set_something(struct genl *g, uint32_t id, unsigned int i)
{
	struct nlattr *nest;
	struct ask a;

	ask_begin(&a, g, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, id);
	nest = ask_nest(&a, KVNET_A_DEV_POLICY);
	ask_u32(&a, KVNET_A_POLICY_POLL_US, i % 100);
	ask_u8(&a, KVNET_A_POLICY_RX_DIRECT, i % 2);
	ask_u8(&a, KVNET_A_POLICY_SHORTCUT, i / 2 % 2);
	ask_nest_end(&a, nest);
	may_be(genl_do(g, &a, false, NULL, NULL));
}

static void *look(void *arg)
{
	unsigned int i;
	uint32_t id = 0;
	struct genl g;
	struct ask a;

	genl_open(&g);
	for (i = 0; !over(); i++) {
		ask_begin(&a, &g, KVNET_CMD_DEV_GET);
		EXPECT_EQ(genl_do(&g, &a, true, device_answers, &id), 0);
		ask_begin(&a, &g, KVNET_CMD_QUEUE_GET);
		EXPECT_EQ(genl_do(&g, &a, true, part_answers, NULL), 0);
		ask_begin(&a, &g, KVNET_CMD_WORKER_GET);
		ask_u32(&a, KVNET_A_WORKER_DEV, id);
		may_be(genl_do(&g, &a, true, part_answers, &id));
		if (i % 4 == 0)
			set_something(&g, id, i / 4);
	}
	genl_close(&g);
	return arg;
}

/* Reads events slowly: some may get lost, with ENOBUFS. */
static void *listen_now_and_then(void *arg)
{
	uint8_t buf[8192];
	struct genl g;

	genl_open(&g);
	EXPECT_EQ(genl_join(&g), 0);
	while (!over()) {
		if (recv(g.fd, buf, sizeof(buf), MSG_DONTWAIT) < 0 && errno != EAGAIN &&
		    errno != ENOBUFS)
			FAIL("events: %s", strerror(errno));
		ksft_relax(0);
	}
	genl_close(&g);
	return arg;
}

static void come_and_go(int tap)
{
	unsigned int i;

	for (i = 0; !over(); i++) {
		vdev_backend(&vmm.v, VDEV_TX, tap);
		vdev_backend(&vmm.v, VDEV_RX, tap);
		rig_stop(&vmm);
		if (i % 4 == 0) {
			vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
			vdev_own(vmm.v.fd);
			rig_set_up_again(&vmm);
		}
	}
}

CASE_TIMED(requests_while_devices_come_and_go_survived, 60)
{
	unsigned int before;
	pthread_t thread[3];
	unsigned int i;
	struct rig_cfg cfg = { .stopped = true };

	netlink_need();
	before = workers();
	deadline = ksft_now_ms() + 4000;
	rig_open(&vmm, &cfg);
	ASSERT_EQ(pthread_create(&thread[0], NULL, look, NULL), 0);
	ASSERT_EQ(pthread_create(&thread[1], NULL, look, NULL), 0);
	ASSERT_EQ(pthread_create(&thread[2], NULL, listen_now_and_then, NULL), 0);
	come_and_go(vmm.tap);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	EXPECT_OP(seen, >, 10);
	rig_close(&vmm);
	no_worker_left(before);
	no_leak_found();
}

/* The owners are in the readers' namespace. */
CASE_TIMED(requests_while_owners_are_killed_survived, 60)
{
	pid_t pid[DEVICES] = { 0 };
	unsigned int i, before;
	pthread_t thread;
	int fd;

	netlink_need();
	before = workers();
	deadline = ksft_now_ms() + 4000;
	rig_enter_netns();
	ASSERT_EQ(pthread_create(&thread, NULL, look, NULL), 0);
	for (i = 0; !over(); i = (i + 1) % DEVICES) {
		if (pid[i])
			kill_child(pid[i]);
		pid[i] = ASSERT_SYS(fork());
		if (!pid[i]) {
			fd = vdev_open_node();
			for (;;) {
				vdev_own(fd);
				vdev_ioctl(fd, VHOST_RESET_OWNER, NULL);
			}
		}
		ksft_relax(1000);
	}
	for (i = 0; i < DEVICES; i++)
		if (pid[i])
			kill_child(pid[i]);
	pthread_join(thread, NULL);
	no_worker_left(before);
	no_leak_found();
}

KSFT_MAIN()
