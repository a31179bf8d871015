// SPDX-License-Identifier: GPL-2.0
/*
 * kvnet_reached - remembers which parts of the module have run, for selftests/uapi/sysfuzz_test
 *
 * The compiler is told to call in each basic block what the kernel's kcov has it call, and
 * finds it here.  So it is for this module alone, on any kernel, and all that is done for
 * a device counts, whoever does it: kcov follows the calls of one thread, and here
 * workers and softirqs do much of the work.
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "reached.h"

#define TASKS_BITS	14
#define CPUS		64	/* which are in an interrupt */

#ifndef PF_USER_WORKER	/* Linux 6.4 */
#define PF_USER_WORKER	0
#endif

static struct reached_map map;
static struct debugfs_blob_wrapper blob = { .data = &map, .size = sizeof(map) };
static struct dentry *file;
static bool on;

/* The last point of each task, and of each CPU's interrupts. Two may share one: it is a hint. */
static u32 last[(1 << TASKS_BITS) + CPUS];

static u32 *reached_last(void)
{
	if (in_task())
		return &last[hash_ptr(current, TASKS_BITS)];
	return &last[(1 << TASKS_BITS) + raw_smp_processor_id() % CPUS];
}

static void reached_note(unsigned int bit, unsigned long *bits)
{
	if (!test_bit(bit, bits))
		set_bit(bit, bits);
}

void REACHED_ANCHOR(void);

notrace void REACHED_ANCHOR(void)
{
	long at = _RET_IP_ - (unsigned long)REACHED_ANCHOR;
	u32 point = at / REACHED_UNIT + REACHED_POINTS / 2, way, *before;

	if (!READ_ONCE(on) || point >= REACHED_POINTS)
		return;
	reached_note(point, map.point);
	if (in_task() && !(current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		reached_note(point, map.called);
	before = reached_last();
	way = hash_64((u64)READ_ONCE(*before) << 32 | point, ilog2(REACHED_WAYS));
	reached_note(way, map.way);
	WRITE_ONCE(*before, point);
}

/* By a parameter: the module's own init and exit know nothing of it. */
static int reached_set(const char *val, const struct kernel_param *kp)
{
	int ret = kstrtobool(val, &on);

	if (!ret && on && !file)
		file = debugfs_create_blob("kvnet_reached", 0400, NULL, &blob);
	return ret;
}

static void reached_end(void *arg)
{
	debugfs_remove(file);
}

static const struct kernel_param_ops ops = { .set = reached_set, .free = reached_end };
module_param_cb(reached, &ops, NULL, 0);
MODULE_PARM_DESC(reached, "Remember which parts have run, for /sys/kernel/debug/kvnet_reached");
