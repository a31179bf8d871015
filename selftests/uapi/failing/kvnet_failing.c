// SPDX-License-Identifier: GPL-2.0
/*
 * kvnet_failing - a module whose calls to the kernel fail, or wait, when a test wants it
 * (scripts/failing.sh)
 *
 * The kernel can have allocations and user copies fail, the n-th of a thread's.  What
 * else can fail for kvnet fails here in the same way: pins, tasks, eventfds, files, mappings,
 * notifiers, netlink messages, frames that are taken apart.  The linker has the module
 * call __wrap_x() for x(), which fails as x() does: with nothing done, and what it would
 * have consumed consumed.  And whoever makes a call can be held there, with all locks that he
 * has, so that others come meanwhile.
 */
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/netlink.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/vhost_task.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/task_work.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/genetlink.h>
#include <net/netlink.h>

#define CALLS(CALL)	\
	CALL(fget) \
	CALL(eventfd_fget) \
	CALL(eventfd_ctx_fdget) \
	CALL(pin_user_pages_fast) \
	CALL(get_user_pages_fast) \
	CALL(kthread_create_on_node) \
	CALL(vhost_task_create) \
	CALL(cgroup_attach_task_all) \
	CALL(vmap) \
	CALL(mmu_notifier_get_locked) \
	CALL(task_work_add) \
	CALL(__xa_alloc_cyclic) \
	CALL(genlmsg_put) \
	CALL(nla_put) \
	CALL(netlink_unicast) \
	CALL(netlink_broadcast_filtered) \
	CALL(napi_build_skb) \
	CALL(skb_copy_datagram_iter) \
	CALL(_copy_to_iter) \
	CALL(_copy_from_iter)

#define CALL_NUMBER(x)	CALL_##x,
enum { CALLS(CALL_NUMBER) N_CALLS, LEFT = N_CALLS, INVALIDATE, FOUND, TASKS, N_HOLDS };

/* A thread is held no longer than that, if the test has died. */
#define HELD_S	60

/* WRAP(x): x() as it is, and what is called for it, which is the same to a caller */
#define WRAP(x)	extern typeof(x) __real_##x, __wrap_##x

static atomic_t failed[N_CALLS];
/* The calls of this thread that are left until one fails; 0: none does. */
static pid_t thread;
static unsigned int left;

/* A thread that makes such a call waits there; or that has put the module, in it still, or that changes the owner's memory. */
static bool holds[N_HOLDS];
static atomic_t held[N_HOLDS];
static DECLARE_WAIT_QUEUE_HEAD(let_go);

static void wait_there(unsigned int call)
{
	if (!READ_ONCE(holds[call]))
		return;
	atomic_inc(&held[call]);
	wait_event_timeout(let_go, !READ_ONCE(holds[call]), HELD_S * HZ);
	atomic_dec(&held[call]);
}

static bool fails_for(const struct task_struct *task, unsigned int call)
{
	wait_there(call);
	if (READ_ONCE(thread) != task->pid || !READ_ONCE(left))
		return false;
	WRITE_ONCE(left, left - 1);
	if (left)
		return false;
	atomic_inc(&failed[call]);
	return true;
}

/* In a softirq nobody knows whose turn it is. */
static bool fails(unsigned int call)
{
	return in_task() && fails_for(current, call);
}

/* "TID N", both of the first PID namespace; read: what is left of N. */
static int nth_set(const char *text, const struct kernel_param *kp)
{
	unsigned int n;
	pid_t tid;

	if (sscanf(text, "%d %u", &tid, &n) != 2)
		return -EINVAL;
	WRITE_ONCE(left, 0);
	WRITE_ONCE(thread, tid);
	WRITE_ONCE(left, n);
	return 0;
}

static int nth_get(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(left));
}

static const struct kernel_param_ops nth_ops = { .set = nth_set, .get = nth_get };
module_param_cb(fail_nth, &nth_ops, NULL, 0644);
MODULE_PARM_DESC(fail_nth, "TID N: the thread whose call fails, and which one");

static const char *const call_name[] = {
#define CALL_NAME(x)	#x,
	CALLS(CALL_NAME)
	"left",
	"invalidate",
	"found",
	"tasks"
};

/* "NAME": hold who calls that; "-NAME": let them go on; "": let all go on. */
static int hold_set(const char *text, const struct kernel_param *kp)
{
	const bool hold = *text != '-';
	int i = __sysfs_match_string(call_name, N_HOLDS, hold ? text : text + 1);

	if (i >= 0)
		WRITE_ONCE(holds[i], hold);
	else if (*text && *text != '\n')
		return i;
	else
		for (i = 0; i < N_HOLDS; i++)
			WRITE_ONCE(holds[i], false);
	wake_up_all(&let_go);
	return 0;
}

/* A line for each: name and how many are held there. */
static int hold_get(char *text, const struct kernel_param *kp)
{
	int i, at = 0;

	for (i = 0; i < N_HOLDS; i++)
		at += sysfs_emit_at(text, at, "%s %d\n", call_name[i], atomic_read(&held[i]));
	return at;
}

static const struct kernel_param_ops hold_ops = { .set = hold_set, .get = hold_get };
module_param_cb(hold, &hold_ops, NULL, 0644);
MODULE_PARM_DESC(hold, "NAME: hold a thread that makes that call, has put the module, changes the owner's memory, has found pages, or is going to wait for tasks; -NAME: let those go on; empty: let all");

/* A line for each: name and how often it has failed. */
static int failed_get(char *text, const struct kernel_param *kp)
{
	int i, at = 0;

	for (i = 0; i < N_CALLS; i++)
		at += sysfs_emit_at(text, at, "%s %d\n", call_name[i], atomic_read(&failed[i]));
	return at;
}

static const struct kernel_param_ops failed_ops = { .get = failed_get };
module_param_cb(failed, &failed_ops, NULL, 0444);
MODULE_PARM_DESC(failed, "How often each call has failed");

static unsigned int without_queue;
module_param(without_queue, uint, 0444);
MODULE_PARM_DESC(without_queue, "Which queue of work cannot be had as it is loaded: 1; 0: none");

/* Of later kernels it is a macro, which has what is allocated counted. */
#ifdef alloc_workqueue
#define QUEUE(x)	x##alloc_workqueue_noprof
WRAP(alloc_workqueue_noprof);
#else
#define QUEUE(x)	x##alloc_workqueue
WRAP(alloc_workqueue);
#endif

/* What its name is made of kvnet does not use. */
struct workqueue_struct *QUEUE(__wrap_)(const char *name, unsigned int flags, int most, ...)
{
	static unsigned int n;

	return ++n == without_queue ? NULL : QUEUE(__real_)("%s", flags, most, name);
}

static bool without_family;
module_param(without_family, bool, 0444);
MODULE_PARM_DESC(without_family, "As it is loaded its netlink family cannot be had (default N)");

WRAP(genl_register_family);
int __wrap_genl_register_family(struct genl_family *family)
{
	return without_family ? -ENOMEM : __real_genl_register_family(family);
}

/* Which opens the moment before, for what others do then without the lock. */
static unsigned int lock_late_us;
module_param(lock_late_us, uint, 0644);
MODULE_PARM_DESC(lock_late_us, "How late a lock is taken that keeps softirqs away, in us (default 0)");

WRAP(_raw_spin_lock_bh);
void __wrap__raw_spin_lock_bh(raw_spinlock_t *lock)
{
	udelay(READ_ONCE(lock_late_us));
	__real__raw_spin_lock_bh(lock);
}

WRAP(module_put);
void __wrap_module_put(struct module *module)
{
	__real_module_put(module);
	if (in_task())
		wait_there(LEFT);
}

WRAP(synchronize_rcu_tasks);
void __wrap_synchronize_rcu_tasks(void)
{
	wait_there(TASKS);
	__real_synchronize_rcu_tasks();
}

WRAP(fget);
struct file *__wrap_fget(unsigned int fd)
{
	return fails(CALL_fget) ? NULL : __real_fget(fd);
}

WRAP(eventfd_fget);
struct file *__wrap_eventfd_fget(int fd)
{
	return fails(CALL_eventfd_fget) ? ERR_PTR(-EBADF) : __real_eventfd_fget(fd);
}

WRAP(eventfd_ctx_fdget);
struct eventfd_ctx *__wrap_eventfd_ctx_fdget(int fd)
{
	return fails(CALL_eventfd_ctx_fdget) ? ERR_PTR(-EBADF) : __real_eventfd_ctx_fdget(fd);
}

/* All of them, or the last. */
WRAP(pin_user_pages_fast);
int __wrap_pin_user_pages_fast(unsigned long start, int n, unsigned int flags,
			       struct page **page)
{
	if (fails(CALL_pin_user_pages_fast))
		return -EFAULT;
	if (n > 1 && fails(CALL_pin_user_pages_fast))
		n--;
	return __real_pin_user_pages_fast(start, n, flags, page);
}

WRAP(get_user_pages_fast);
int __wrap_get_user_pages_fast(unsigned long start, int n, unsigned int flags,
			       struct page **page)
{
	if (fails(CALL_get_user_pages_fast))
		return -EFAULT;
	if (n > 1 && fails(CALL_get_user_pages_fast))
		n--;
	n = __real_get_user_pages_fast(start, n, flags, page);
	wait_there(FOUND);
	return n;
}

WRAP(kthread_create_on_node);
struct task_struct *__wrap_kthread_create_on_node(int (*fn)(void *), void *data,
						  int node, const char *format, ...)
{
	char name[TASK_COMM_LEN];
	va_list args;

	if (fails(CALL_kthread_create_on_node))
		return ERR_PTR(-ENOMEM);
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	return __real_kthread_create_on_node(fn, data, node, "%s", name);
}

WRAP(vhost_task_create);
struct vhost_task *__wrap_vhost_task_create(bool (*fn)(void *), void (*kill)(void *),
					    void *arg, const char *name)
{
	if (fails(CALL_vhost_task_create))
		return ERR_PTR(-ENOMEM);
	return __real_vhost_task_create(fn, kill, arg, name);
}

/* A new thread calls it, and its maker waits for that. */
WRAP(cgroup_attach_task_all);
int __wrap_cgroup_attach_task_all(struct task_struct *from, struct task_struct *task)
{
	if (fails_for(from->group_leader, CALL_cgroup_attach_task_all))
		return -ENOMEM;
	return __real_cgroup_attach_task_all(from, task);
}

WRAP(vmap);
void *__wrap_vmap(struct page **page, unsigned int n, unsigned long flags, pgprot_t prot)
{
	return fails(CALL_vmap) ? NULL : __real_vmap(page, n, flags, prot);
}

/* The only ones that there are, and their copy. */
static const struct mmu_notifier_ops *notifier_ops;
static struct mmu_notifier_ops held_ops;

/* A page at a time is what a write does after fork(). */
#define HELD_RANGE	(16 * PAGE_SIZE)

/* The owner's memory is about to change, and does not yet. */
static int invalidate(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	int ret = notifier_ops->invalidate_range_start(notifier, range);

	if (mmu_notifier_range_blockable(range) && range->end - range->start > HELD_RANGE)
		wait_there(INVALIDATE);
	return ret;
}

WRAP(mmu_notifier_get_locked);
struct mmu_notifier *__wrap_mmu_notifier_get_locked(const struct mmu_notifier_ops *ops,
						    struct mm_struct *mm)
{
	if (fails(CALL_mmu_notifier_get_locked))
		return ERR_PTR(-ENOMEM);
	if (!notifier_ops) {
		held_ops = *ops;
		held_ops.invalidate_range_start = invalidate;
		notifier_ops = ops;
	}
	return __real_mmu_notifier_get_locked(&held_ops, mm);
}

WRAP(task_work_add);
int __wrap_task_work_add(struct task_struct *task, struct callback_head *work,
			 enum task_work_notify_mode mode)
{
	return fails(CALL_task_work_add) ? -ESRCH : __real_task_work_add(task, work, mode);
}

/* The kernel tries twice, and leaves the number that it had found. */
WRAP(__xa_alloc_cyclic);
int __wrap___xa_alloc_cyclic(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit,
			     u32 *next, gfp_t gfp)
{
	if (!fails(CALL___xa_alloc_cyclic))
		return __real___xa_alloc_cyclic(xa, id, entry, limit, next, gfp);
	*id = *next;
	return -ENOMEM;
}

/* messages */

WRAP(genlmsg_put);
void *__wrap_genlmsg_put(struct sk_buff *skb, u32 portid, u32 seq,
			 const struct genl_family *family, int flags, u8 cmd)
{
	return fails(CALL_genlmsg_put) ? NULL : __real_genlmsg_put(skb, portid, seq, family, flags, cmd);
}

WRAP(nla_put);
int __wrap_nla_put(struct sk_buff *skb, int type, int len, const void *data)
{
	return fails(CALL_nla_put) ? -EMSGSIZE : __real_nla_put(skb, type, len, data);
}

WRAP(netlink_unicast);
int __wrap_netlink_unicast(struct sock *sk, struct sk_buff *skb, u32 portid, int nonblock)
{
	if (!fails(CALL_netlink_unicast))
		return __real_netlink_unicast(sk, skb, portid, nonblock);
	kfree_skb(skb);
	return -EAGAIN;
}

WRAP(netlink_broadcast_filtered);
int __wrap_netlink_broadcast_filtered(struct sock *sk, struct sk_buff *skb, u32 portid,
				      u32 group, gfp_t allocation,
				      netlink_filter_fn filter, void *data)
{
	if (!fails(CALL_netlink_broadcast_filtered))
		return __real_netlink_broadcast_filtered(sk, skb, portid, group,
							 allocation, filter, data);
	/* as it does: who listens is told */
	netlink_set_err(sk, portid, group, -ENOBUFS);
	kfree_skb(skb);
	return -ENOBUFS;
}

/* frames */

WRAP(napi_build_skb);
struct sk_buff *__wrap_napi_build_skb(void *data, unsigned int size)
{
	return fails(CALL_napi_build_skb) ? NULL : __real_napi_build_skb(data, size);
}

WRAP(skb_copy_datagram_iter);
int __wrap_skb_copy_datagram_iter(const struct sk_buff *skb, int at, struct iov_iter *to,
				  int n)
{
	return fails(CALL_skb_copy_datagram_iter) ? -EFAULT : __real_skb_copy_datagram_iter(skb, at, to, n);
}

WRAP(_copy_to_iter);
size_t __wrap__copy_to_iter(const void *from, size_t n, struct iov_iter *to)
{
	return fails(CALL__copy_to_iter) ? 0 : __real__copy_to_iter(from, n, to);
}

WRAP(_copy_from_iter);
size_t __wrap__copy_from_iter(void *to, size_t n, struct iov_iter *from)
{
	return fails(CALL__copy_from_iter) ? 0 : __real__copy_from_iter(to, n, from);
}
