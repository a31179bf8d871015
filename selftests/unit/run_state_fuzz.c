// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to events, polls and task_work, one after the other: one context has the work, or none,
 * and then the events that the last poll has enabled schedule it, in the context that may serve
 * them. (run_state_test has several threads at once.)
 */
#include <linux/kernel.h>
#include <linux/types.h>

#include "fuzz.h"
#include "litmus.h"
#include "unit.h"

#include <linux/atomic.h>

#include "run_state.h"

const char fuzz_name[] = "run_state";

/* All that is stored is in memory. */
uint64_t litmus_load(const void *p, size_t size)
{
	return *(const int *)p;
}

void litmus_store(void *p, size_t size, uint64_t value)
{
	*(int *)p = value;
}

void litmus_mb(void)
{
}

void litmus_atomic(void)
{
}

static struct kvnet_run_state rs;
static enum kvnet_run_context holder;
static bool missed;
static int enabled;

static void raise_event(int event, int offer)
{
	enum kvnet_run_context want = KVNET_RUN_NONE;

	if (holder != KVNET_RUN_NONE)
		missed |= event == KVNET_EV_CTRL;
	else if (enabled & offer & KVNET_EV_VCPU(event) && enabled & event)
		want = KVNET_RUN_VCPU;
	else if (enabled & offer && enabled & event)
		want = KVNET_RUN_SOFTIRQ;
	else if (enabled & event || event == KVNET_EV_CTRL)
		want = KVNET_RUN_WORKER;
	if (holder == KVNET_RUN_NONE)
		EXPECT_EQ(kvnet_run_state_inline_hint(&rs, event),
			  enabled & (KVNET_EV_VCPU(event) | KVNET_EV_SOFTIRQ(event)));
	EXPECT_EQ(kvnet_run_state_schedule_prep(&rs, event, offer), want);
	if (want != KVNET_RUN_NONE)
		holder = want;
}

static void complete(int events)
{
	EXPECT_EQ(kvnet_run_state_has_missed(&rs), missed);
	EXPECT_EQ(kvnet_run_state_complete(&rs, events), !missed);
	holder = missed ? KVNET_RUN_WORKER : KVNET_RUN_NONE;
	enabled = events;
	missed = false;
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	int event;
	u8 op;

	kvnet_run_state_reset(&rs);
	holder = KVNET_RUN_NONE;
	missed = false;
	enabled = 0;
	while (in.left) {
		op = take8(&in);
		event = BIT(op >> 4 & 3);
		if ((op & 3) == 0) {
			raise_event(event, op & 64 ? KVNET_EV_VCPU(event) :
				    op & 128 ? KVNET_EV_SOFTIRQ(event) : 0);
		} else if ((op & 3) == 1 && holder != KVNET_RUN_NONE && holder != KVNET_RUN_VCPU) {
			/* an inline context serves no change of the set-up */
			complete((take8(&in) & 7) | (take16(&in) & 0x770));
		} else if ((op & 3) == 2) {
			EXPECT_EQ(kvnet_run_state_reschedule(&rs), holder == KVNET_RUN_NONE);
			holder = holder == KVNET_RUN_NONE ? KVNET_RUN_WORKER : holder;
		} else {
			EXPECT_EQ(kvnet_run_state_grab_task_work(&rs), holder == KVNET_RUN_VCPU);
			holder = holder == KVNET_RUN_VCPU ? KVNET_RUN_WORKER : holder;
		}
	}
}

#ifndef UNIT_LIBFUZZER
CASE(fuzz_events)
{
	fuzz_random(30000, 200);
}
#endif
