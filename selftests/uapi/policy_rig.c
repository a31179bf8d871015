// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "policy_rig.h"

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

int policy_set_one(struct genl *own, uint32_t id)
{
	struct nlattr *policy;
	struct ask a;

	ask_begin(&a, own, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, id);
	policy = ask_nest(&a, KVNET_A_DEV_POLICY);
	ask_u32(&a, KVNET_A_POLICY_POLL_US, 1);
	ask_nest_end(&a, policy);
	return genl_do(own, &a, false, NULL, NULL);
}

int policy_set_often(uint32_t id, unsigned int *done)
{
	struct genl own;
	int ret;

	genl_open(&own);
	do {
		ret = policy_set_one(&own, id);
		__atomic_add_fetch(done, !ret, __ATOMIC_RELAXED);
	} while (!ret);
	genl_close(&own);
	return ret;
}

static bool all_have(const unsigned int *done, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!__atomic_load_n(&done[i], __ATOMIC_RELAXED))
			return false;
	return true;
}

/* Who asks for the family's number has the kernel's lock of all families. */
void policy_operators(pid_t *pid, unsigned int n, uint32_t id)
{
	unsigned int *done, i;

	done = mmap(NULL, n * sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(done != MAP_FAILED);
	for (i = 0; i < n; i++) {
		pid[i] = ASSERT_SYS(fork());
		if (pid[i])
			continue;
		ASSERT_SYS(close_range(3, ~0U, 0));
		_exit(-policy_set_often(id, &done[i]));
	}
	EXPECT(WAIT_FOR(3000, all_have(done, n)));
	munmap(done, n * sizeof(*done));
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
