// SPDX-License-Identifier: GPL-2.0
/*
 * kvnet_hosttime - the CPU time that the machine has given to User-Mode Linux.
 *
 * Its clocks are the machine's, and go on while the machine runs somebody else. What is
 * taken away so is not to be seen from inside: no steal time is counted. But the
 * kernel is a process of the machine, and each memory of its processes is another, and
 * the machine says of any process what it has used.
 *
 * The parameter cpu_ns is their sum, in ns. Those that are gone are no longer in it:
 * it means something between two moments with the same processes.
 */
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/time64.h>

#define HOST_CLOCK_GETTIME	228	/* of the machine, x86-64 */
#define OWN_CPU			2	/* CLOCK_PROCESS_CPUTIME_ID */
/* what clock_getcpuclockid() says of a process: what the scheduler gave to it */
#define CPU_OF(pid)		((~(pid) << 3) | 2)

/* A call of the machine's kernel, which nobody traces: the kernel is a process. */
static u64 host_clock(int clock)
{
	struct { s64 sec, nsec; } at = { 0 };
	long ret;

	asm volatile("syscall"
		     : "=a" (ret)
		     : "0" ((long)HOST_CLOCK_GETTIME), "D" ((long)clock), "S" (&at)
		     : "rcx", "r11", "memory");
	return ret ? 0 : at.sec * NSEC_PER_SEC + at.nsec;
}

static int cpu_ns_get(char *buffer, const struct kernel_param *kp)
{
	u64 sum = host_clock(OWN_CPU);
	struct task_struct *p;

	rcu_read_lock();
	for_each_process(p) {
		task_lock(p);
		if (p->mm && p->mm->context.id.pid > 0)
			sum += host_clock(CPU_OF(p->mm->context.id.pid));
		task_unlock(p);
	}
	rcu_read_unlock();
	return sysfs_emit(buffer, "%llu\n", sum);
}

static const struct kernel_param_ops cpu_ns_ops = { .get = cpu_ns_get };
module_param_cb(cpu_ns, &cpu_ns_ops, NULL, 0400);
MODULE_PARM_DESC(cpu_ns, "CPU time of all of this User-Mode Linux, ns");

MODULE_DESCRIPTION("CPU time that the machine has given to User-Mode Linux");
MODULE_LICENSE("GPL");
