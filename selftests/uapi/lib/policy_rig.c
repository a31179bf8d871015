// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
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
