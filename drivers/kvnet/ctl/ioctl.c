// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl.c - vhost ioctls: copy the arguments from user space, validate and dispatch them
 *
 * The ABI is <linux/vhost.h>; values and errno are those of vhost_net, see
 * Documentation/uapi.rst. All functions run in process context and may sleep. This file has no
 * state of its own.
 */
#include <linux/err.h>
#include <linux/nospec.h>
#include <linux/sched/vhost_task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vhost.h>

#include "features.h"
#include "kvnet.h"

/* Limit of a feature array, in words. Words from KVNET_FEATURES_WORDS on are 0. */
#define KVNET_IOCTL_FEATURE_WORDS_MAX	64

static long get_features(void __user *words, u64 count)
{
	const struct kvnet_features f = kvnet_features_offered();
	u64 n = min_t(u64, count, KVNET_FEATURES_WORDS);

	if (copy_to_user(words, f.word, n * sizeof(u64)) ||
	    clear_user(words + n * sizeof(u64), (count - n) * sizeof(u64)))
		return -EFAULT;
	return 0;
}

static long set_features(struct kvnet_net *net, const void __user *words, u64 count)
{
	struct kvnet_features f;
	int ret = copy_struct_from_user(f.word, sizeof(f.word), words, count * sizeof(u64));

	/* -E2BIG: a word that kvnet does not know is not 0. */
	if (ret)
		return ret == -E2BIG ? -EOPNOTSUPP : ret;
	return kvnet_iommu_set_features(net, &f);
}

static long ioctl_features_array(struct kvnet_net *net, unsigned int cmd, void __user *argp)
{
	u64 count;

	if (copy_from_user(&count, argp, sizeof(count)))
		return -EFAULT;
	if (count > KVNET_IOCTL_FEATURE_WORDS_MAX)
		return -E2BIG;
	argp += sizeof(count);
	return cmd == VHOST_GET_FEATURES_ARRAY ? get_features(argp, count) :
						 set_features(net, argp, count);
}

static long ioctl_set_backend_features(struct kvnet_net *net, void __user *argp)
{
	u64 features;

	if (copy_from_user(&features, argp, sizeof(features)))
		return -EFAULT;
	if (features & ~KVNET_FEATURES_BACKEND)
		return -EOPNOTSUPP;
	WRITE_ONCE(net->iotlb_misses.v2, features & BIT_ULL(VHOST_BACKEND_F_IOTLB_MSG_V2));
	return 0;
}

/* Only before SET_OWNER, which creates the workers. */
static long ioctl_set_fork_from_owner(struct kvnet_net *net, u8 __user *argp)
{
	int ret = 0;
	u8 mode;

	if (!READ_ONCE(kvnet_param_fork_owner_control))
		return -ENOTTY;
	if (get_user(mode, argp))
		return -EFAULT;
	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	if (net->mm)
		ret = -EBUSY;
	else if (mode != VHOST_FORK_OWNER_TASK && mode != VHOST_FORK_OWNER_KTHREAD)
		ret = -EINVAL;
	else if (mode == VHOST_FORK_OWNER_TASK && !COMPAT_HAVE_VHOST_TASK)
		ret = -EOPNOTSUPP;
	else
		WRITE_ONCE(net->fork_from_owner, mode == VHOST_FORK_OWNER_TASK);
	mutex_unlock(&net->lock);
	return ret;
}

static long ioctl_get_fork_from_owner(const struct kvnet_net *net, u8 __user *argp)
{
	if (!READ_ONCE(kvnet_param_fork_owner_control))
		return -ENOTTY;
	return put_user(READ_ONCE(net->fork_from_owner) ? VHOST_FORK_OWNER_TASK :
							  VHOST_FORK_OWNER_KTHREAD, argp);
}

static long ioctl_set_mem_table(struct kvnet_net *net, void __user *argp)
{
	struct vhost_memory_region *region;
	struct vhost_memory head;
	struct kvnet_memtable *mem;
	size_t size;
	int ret;

	if (copy_from_user(&head, argp, sizeof(head)))
		return -EFAULT;
	if (head.padding)
		return -EOPNOTSUPP;
	if (head.nregions > kvnet_param_max_mem_regions)
		return -E2BIG;
	size = head.nregions * sizeof(*region);
	region = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!region)
		return -ENOMEM;
	mem = ERR_PTR(-EFAULT);
	if (!copy_from_user(region, argp + sizeof(head), size))
		mem = kvnet_memtable_build(region, head.nregions);
	kvfree(region);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	ret = kvnet_backend_set_mem_table(net, mem);
	if (ret)
		kvnet_memtable_free(mem);
	return ret;
}

/*
 * All vring ioctls begin with the queue index. vhost_net reads it for unknown commands, too: a
 * bad index is -ENOBUFS there before the command is found to be unknown.
 */
static long dispatch_vring_ioctl(struct kvnet_net *net, unsigned int cmd, void __user *argp)
{
	union {
		struct vhost_vring_addr addr;
		struct vhost_vring_state state;
		struct vhost_vring_file file;
	} arg = {};
	struct kvnet_queue *q;
	u32 index;

	if (get_user(index, (u32 __user *)argp))
		return -EFAULT;
	if (index >= KVNET_QUEUES)
		return -ENOBUFS;
	index = array_index_nospec(index, KVNET_QUEUES);
	q = &net->q[index];
	/* An unknown command may have any size. */
	if (copy_from_user(&arg, argp, min_t(size_t, _IOC_SIZE(cmd), sizeof(arg))))
		return -EFAULT;

	switch (cmd) {
	case VHOST_SET_VRING_NUM:
		return kvnet_vq_set_num(&q->vq, arg.state.num);
	case VHOST_SET_VRING_BASE:
		return kvnet_vq_set_base(&q->vq, arg.state.num);
	case VHOST_SET_VRING_ENDIAN:
		return kvnet_vq_set_endian(&q->vq, arg.state.num);
	case VHOST_SET_VRING_BUSYLOOP_TIMEOUT:
		WRITE_ONCE(q->work.busy_poll_us, arg.state.num);
		return 0;
	case VHOST_SET_VRING_ADDR:
		return kvnet_backend_set_vring_addr(net, index, &arg.addr);
	case VHOST_SET_VRING_KICK:
		return kvnet_backend_set_kick(net, index, arg.file.fd);
	case VHOST_SET_VRING_CALL:
		return kvnet_vq_set_eventfd(&q->vq, &q->vq.call, arg.file.fd);
	case VHOST_SET_VRING_ERR:
		return kvnet_vq_set_eventfd(&q->vq, &q->vq.error, arg.file.fd);
	case VHOST_NET_SET_BACKEND:
		return kvnet_backend_set(net, index, arg.file.fd);
	case VHOST_GET_VRING_ENDIAN:
		arg.state.num = q->vq.legacy_le ? VHOST_VRING_LITTLE_ENDIAN :
						  VHOST_VRING_BIG_ENDIAN;
		break;
	case VHOST_GET_VRING_BASE:
		arg.state.num = kvnet_vq_get_base(&q->vq);
		break;
	case VHOST_GET_VRING_BUSYLOOP_TIMEOUT:
		arg.state.num = READ_ONCE(q->work.busy_poll_us);
		break;
	default:
		return -ENOIOCTLCMD;
	}
	arg.state.index = index;
	return copy_to_user(argp, &arg.state, sizeof(arg.state)) ? -EFAULT : 0;
}

/* Called with net->lock held. */
static long dispatch_locked_ioctl(struct kvnet_net *net, unsigned int cmd, void __user *argp)
{
	int fd, ret;
	u64 base;

	if (cmd == VHOST_SET_OWNER)
		return kvnet_dev_set_owner(net);
	ret = kvnet_dev_check_owner(net);
	if (ret)
		return ret;
	switch (cmd) {
	case VHOST_SET_MEM_TABLE:
		return ioctl_set_mem_table(net, argp);
	case VHOST_SET_LOG_BASE:
		if (copy_from_user(&base, argp, sizeof(base)) || (unsigned long)base != base)
			return -EFAULT;
		return kvnet_iommu_set_log_base(net, base);
	case VHOST_SET_LOG_FD:
		if (get_user(fd, (int __user *)argp))
			return -EFAULT;
		return kvnet_iommu_set_log_fd(net, fd);
	case VHOST_RESET_OWNER:
		kvnet_dev_reset_owner(net);
		return 0;
	default:
		return dispatch_vring_ioctl(net, cmd, argp);
	}
}

/* Any process that has the file may call it, as with vhost_net. Takes net->lock; may sleep. */
long kvnet_ioctl(struct kvnet_net *net, unsigned int cmd, void __user *argp)
{
	long ret;

	switch (cmd) {
	case VHOST_GET_FEATURES:
		return get_features(argp, 1);
	case VHOST_SET_FEATURES:
		return set_features(net, argp, 1);
	case VHOST_GET_FEATURES_ARRAY:
	case VHOST_SET_FEATURES_ARRAY:
		return ioctl_features_array(net, cmd, argp);
	case VHOST_GET_BACKEND_FEATURES:
		return put_user(KVNET_FEATURES_BACKEND, (u64 __user *)argp);
	case VHOST_SET_BACKEND_FEATURES:
		return ioctl_set_backend_features(net, argp);
	case VHOST_SET_FORK_FROM_OWNER:
		return ioctl_set_fork_from_owner(net, argp);
	case VHOST_GET_FORK_FROM_OWNER:
		return ioctl_get_fork_from_owner(net, argp);
	}
	/*
	 * Only the owner accesses user memory with net->lock held: another process that has the
	 * file cannot hold the lock across a page fault. The owner may fault, and its page may
	 * never come (userfaultfd): hence killable.
	 */
	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	ret = dispatch_locked_ioctl(net, cmd, argp);
	mutex_unlock(&net->lock);
	return ret;
}
