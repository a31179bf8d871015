// SPDX-License-Identifier: GPL-2.0
/* A device, and an operator that asks netlink about it: see netlink_rig.h. */
#include "netlink_rig.h"

struct rig vmm;
struct genl genl;

void keep(struct attrs answer, void *arg)
{
	struct copy *c = arg;

	ASSERT(answer.len <= sizeof(c->buf));
	memcpy(c->buf, answer.at, answer.len);
	c->a = (struct attrs){ c->buf, answer.len };
	c->n++;
}

/* The only device that is to be seen. */
struct attrs the_device(void)
{
	static struct copy c;
	struct ask a;

	c.n = 0;
	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ASSERT_EQ(genl_do(&genl, &a, true, keep, &c), 0);
	ASSERT_EQ(c.n, 1);
	return c.a;
}

uint32_t the_id(void)
{
	return attr_u32(the_device(), KVNET_A_DEV_ID);
}

struct pick {
	unsigned int type;
	uint32_t value;
	struct copy *c;
};

static void keep_one(struct attrs answer, void *arg)
{
	struct pick *p = arg;

	if (attr_u32(answer, p->type) == p->value)
		keep(answer, p->c);
}

/* A queue or a worker, by its index. */
static struct attrs part(uint8_t cmd, unsigned int type, uint32_t index)
{
	static struct copy c;
	struct pick p = { .type = type, .value = index, .c = &c };
	struct ask a;

	c.n = 0;
	ask_begin(&a, &genl, cmd);
	ask_u32(&a, KVNET_A_QUEUE_DEV, rig_counter(&vmm, "kvnet.id"));
	ASSERT_EQ(genl_do(&genl, &a, true, keep_one, &p), 0);
	ASSERT_EQ(c.n, 1);
	return c.a;
}

struct attrs the_queue(unsigned int index)
{
	return part(KVNET_CMD_QUEUE_GET, KVNET_A_QUEUE_INDEX, index);
}

struct attrs the_worker(unsigned int index)
{
	return part(KVNET_CMD_WORKER_GET, KVNET_A_WORKER_INDEX, index);
}

void need_user_namespaces(void)
{
	int status;
	pid_t pid = ASSERT_SYS(fork());

	if (!pid)
		_exit(unshare(CLONE_NEWUSER) != 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		ksft_skip("no user namespaces here");
}

void netlink_need(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net has no netlink");
}

void netlink_begin(const struct rig_cfg *cfg)
{
	netlink_need();
	rig_open(&vmm, cfg);
	genl_open(&genl);
}

/*** requests that set the policy of the only device ***/

/* A request that is not ended yet. */
struct ask policy_request;
static struct nlattr *nest;

void policy_want(void)
{
	ask_begin(&policy_request, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&policy_request, KVNET_A_DEV_ID, the_id());
	nest = ask_nest(&policy_request, KVNET_A_DEV_POLICY);
}

int policy_ask(void)
{
	ask_nest_end(&policy_request, nest);
	return genl_do(&genl, &policy_request, false, NULL, NULL);
}

int policy_u32(unsigned int type, uint32_t value)
{
	policy_want();
	ask_u32(&policy_request, type, value);
	return policy_ask();
}

int policy_u8(unsigned int type, uint8_t value)
{
	policy_want();
	ask_u8(&policy_request, type, value);
	return policy_ask();
}

struct attrs the_policy(void)
{
	return attr_nest(the_device(), KVNET_A_DEV_POLICY);
}

pid_t worker_tid(unsigned int worker)
{
	pid_t t = 0;

	EXPECT(WAIT_FOR(3000, (t = attr_u32(the_worker(worker), KVNET_A_WORKER_TID))));
	return t;
}
