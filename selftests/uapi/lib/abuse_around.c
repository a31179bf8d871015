// SPDX-License-Identifier: GPL-2.0
/*
 * What happens around a device: to the memory, the descriptors, the process, the tap,
 * and by operators.  See abuse.h.
 */
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/userfaultfd.h>
#include <sys/resource.h>

#include "abuse.h"
#include "inject.h"
#include "links.h"
#include "procfs.h"

/*** memory ***/

/* Some pages of those that the device knows. */
static uint8_t *some_pages(struct abused *a, struct draw *d, size_t *len)
{
	struct vdev *v = &a->r.v;
	size_t span = v->mem_size, at;
	uint8_t *base = v->host;

	switch (draw(d, 4)) {
	case 0:
		base = v->ring_host;
		span = v->ring_used;	/* at the beginning */
		break;
	case 1:
		base = a->spare;
		break;
	}
	at = draw(d, span / 4096);
	*len = one_in(d, 6) ? span - at * 4096 : (1 + draw(d, 8)) * 4096;
	if (*len > span - at * 4096)
		*len = span - at * 4096;
	return base + at * 4096;
}

static bool op_munmap(struct world *w, struct abused *a, struct draw *d)
{
	size_t len;
	uint8_t *at = some_pages(a, d, &len);

	return !munmap(at, len);
}

static bool op_mmap(struct world *w, struct abused *a, struct draw *d)
{
	size_t len;
	uint8_t *at = some_pages(a, d, &len);

	if (one_in(d, 2))	/* other memory */
		return mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			    MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	return mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    a->r.v.memfd, draw(d, 64) * 4096) != MAP_FAILED;
}

static bool op_mprotect(struct world *w, struct abused *a, struct draw *d)
{
	static const int prot[] = {
		PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE,
	};
	size_t len;
	uint8_t *at = some_pages(a, d, &len);

	return !mprotect(at, len, prot[draw(d, 4)]);
}

/*
 * A hole in a file that is mapped: User-Mode Linux then walks address spaces without
 * their lock (flush_tlb_mm), and warns about itself.
 */
static bool may_punch(void)
{
	static int may = -1;

	if (may < 0)
		may = !is_user_mode_linux();
	return may;
}

static bool op_madvise(struct world *w, struct abused *a, struct draw *d)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT,
		MADV_DONTFORK, MADV_DOFORK, MADV_POPULATE_WRITE, MADV_MERGEABLE,
		MADV_HUGEPAGE, MADV_WIPEONFORK,
	};
	size_t len;
	uint8_t *at = some_pages(a, d, &len);

	return !madvise(at, len, advice[draw(d, 10)]);
}

static bool op_mremap(struct world *w, struct abused *a, struct draw *d)
{
	size_t len;
	uint8_t *at = some_pages(a, d, &len), *to;

	len = len > 65536 ? 65536 : len;
	to = a->spare + draw(d, a->r.v.mem_size / 65536) * 65536;
	return mremap(at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

static bool op_mlock(struct world *w, struct abused *a, struct draw *d)
{
	struct rlimit lim = { 1 << (12 + draw(d, 14)), RLIM_INFINITY };
	size_t len;
	uint8_t *at = some_pages(a, d, &len);

	switch (draw(d, 4)) {
	case 0:
		return !mlock(at, len);
	case 1:
		return !munlock(at, len);
	case 2:
		lim.rlim_cur = RLIM_INFINITY;
	}
	return !setrlimit(RLIMIT_MEMLOCK, &lim);
}

static bool op_uffd(struct world *w, struct abused *a, struct draw *d)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	size_t len;
	uint8_t *at = some_pages(a, d, &len);

	if (w->uffd < 0)
		return false;
	/* memory that has no pages yet */
	if (one_in(d, 2) && mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE |
				 MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	reg.range.start = (uintptr_t)at;
	reg.range.len = len;
	if (one_in(d, 4))
		return !ioctl(w->uffd, UFFDIO_UNREGISTER, &reg.range);
	if (ioctl(w->uffd, UFFDIO_REGISTER, &reg))
		return false;
	return !madvise(at, len, may_punch() ? MADV_REMOVE : MADV_DONTNEED);
}

static bool op_punch(struct world *w, struct abused *a, struct draw *d)
{
	size_t from = draw(d, a->r.v.mem_size / 4096) * 4096;

	return may_punch() &&
	       !fallocate(a->r.v.memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  from, a->r.v.mem_size - from);
}

/*** descriptors ***/

static bool op_dup(struct world *w, struct abused *a, struct draw *d)
{
	int *slot = &a->fd[1 + draw(d, ABUSE_FDS - 1)], old = *slot;

	*slot = -1;
	if (old >= 0)
		close(old);
	if (one_in(d, 2))
		return false;
	*slot = one_in(d, 3) ? open(vdev_path(), O_RDWR | O_NONBLOCK | O_CLOEXEC) :
			       fcntl(a->r.v.fd, F_DUPFD, 300);
	return *slot >= 0;
}

/* Another device takes the number, and maybe that was the last close of the old one. */
static bool op_replace(struct world *w, struct abused *a, struct draw *d)
{
	int fd = open(vdev_path(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
	bool ok = dup2(fd, a->r.v.fd) >= 0;

	close(fd);
	if (one_in(d, 2))
		__vdev_ioctl(a->r.v.fd, VHOST_SET_OWNER, NULL);
	return ok;
}

/* There and back again, through a socket. */
static bool op_pass(struct world *w, struct abused *a, struct draw *d)
{
	union { struct cmsghdr c; char b[CMSG_SPACE(sizeof(int))]; } u = { 0 };
	char byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u,
		.msg_controllen = sizeof(u),
	};
	int fd = abuse_fd(a, d), got = -1;

	if (one_in(d, 2)) {
		u.c.cmsg_level = SOL_SOCKET;
		u.c.cmsg_type = SCM_RIGHTS;
		u.c.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.c), &fd, sizeof(fd));
		return sendmsg(w->sock[0], &m, MSG_DONTWAIT) > 0;
	}
	if (recvmsg(w->sock[1], &m, MSG_DONTWAIT) <= 0)
		return false;
	if (u.c.cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&got, CMSG_DATA(&u.c), sizeof(got));
	return got >= 0 && !close(got);
}

/*** processes ***/

/* What a child does: a few calls, to a device that may be its parent's. */
static void child(struct world *w, struct abused *a, struct draw *d)
{
	unsigned int n = draw(d, 6);

	if (one_in(d, 4))
		__vdev_ioctl(a->r.v.fd, VHOST_SET_OWNER, NULL);
	for (; n; n--)
		abuse_set_up[draw(d, ABUSE_SET_UP)].fn(w, a, d);
	if (one_in(d, 4))
		kill(getpid(), SIGKILL);
	_exit(0);
}

static bool reap_child(pid_t pid, bool kill_it)
{
	int status;

	if (pid < 0)
		return false;
	if (kill_it)
		kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid;
}

static bool op_fork(struct world *w, struct abused *a, struct draw *d)
{
	bool kill_it = one_in(d, 2);
	pid_t pid = fork();

	if (!pid)
		child(w, a, d);
	return reap_child(pid, kill_it);
}

static bool op_exec(struct world *w, struct abused *a, struct draw *d)
{
	bool inherit = one_in(d, 2), own = one_in(d, 2);
	pid_t pid = fork();

	if (!pid) {
		if (inherit)
			fcntl(a->r.v.fd, F_SETFD, 0);
		if (own) {	/* the child owns it when the memory goes */
			__vdev_ioctl(a->r.v.fd, VHOST_RESET_OWNER, NULL);
			__vdev_ioctl(a->r.v.fd, VHOST_SET_OWNER, NULL);
		}
		if (freopen("/dev/null", "w", stdout))
			execl("/proc/self/exe", "list", "-l", NULL);
		_exit(1);
	}
	return reap_child(pid, false);
}

static bool op_signal(struct world *w, struct abused *a, struct draw *d)
{
	/* whichever thread: what it waits for is interrupted */
	return !kill(getpid(), SIGUSR1);
}

static bool op_yield(struct world *w, struct abused *a, struct draw *d)
{
	unsigned int n = draw(d, 4);

	while (n--)
		sched_yield();
	return true;
}

/*
 * One call, of whose allocations and copies the n-th fails, if it has as many.  A signal
 * whose frame cannot be written would be the end.
 */
static bool op_fail(struct world *w, struct abused *a, struct draw *d)
{
	unsigned int nth = 1 + draw(d, one_in(d, 2) ? 4 : 40);
	sigset_t set, before;
	struct injector in;
	bool ok;

	if (!w->may_fail)
		return false;
	injector_open(&in, gettid(), false);
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	injector_nth(&in, nth);
	ok = abuse_set_up[draw(d, ABUSE_SET_UP)].fn(w, a, d);
	injector_nth(&in, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	injector_close(&in);
	return ok;
}

/*** the tap ***/

static bool op_link(struct world *w, struct abused *a, struct draw *d)
{
	bool ok;

	switch (draw(d, 8)) {
	case 0:		/* but not while it is being made */
		pthread_mutex_lock(&a->guest);
		ok = !link_delete(a->r.ifindex);
		pthread_mutex_unlock(&a->guest);
		return ok;
	case 1:
		return !link_mtu(a->r.ifindex, 68 + draw(d, 9000));
	case 2:
	case 3:
		return !link_up(a->r.ifindex, false);
	default:
		return !link_up(a->r.ifindex, true);
	}
}

static bool op_tap(struct world *w, struct abused *a, struct draw *d)
{
	struct ifreq ifr = {
		.ifr_flags = draw(d, 2) ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE,
	};
	int hdr = one_in(d, 2) ? 10 : 12, buf = 1 << draw(d, 21);
	char frame[1600];

	switch (draw(d, 6)) {
	case 0:
		return !ioctl(a->r.tap, TUNSETVNETHDRSZ, &hdr);
	case 1:
		return !ioctl(a->r.tap, TUNSETSNDBUF, &buf);
	case 2:
		return !ioctl(a->r.tap, TUNSETOFFLOAD, draw(d, 64));
	case 3:
		return !ioctl(a->r.tap, TUNSETQUEUE, &ifr);
	case 4:		/* another reader */
		fcntl(a->r.tap, F_SETFL, O_NONBLOCK);
		return read(a->r.tap, frame, sizeof(frame)) > 0;
	default:
		memset(frame, draw(d, 256), sizeof(frame));
		return write(a->r.tap, frame, draw(d, sizeof(frame))) > 0;
	}
}

/* How frames pass from now on. */
static bool op_traffic(struct world *w, struct abused *a, struct draw *d)
{
	__atomic_store_n(&a->traffic, draw(d, TRAFFIC_WAYS), __ATOMIC_RELAXED);
	return true;
}

/* So that there is something to abuse. */
static bool op_repair(struct world *w, struct abused *a, struct draw *d)
{
	return world_repair(w, a);
}

/*** operators ***/

static uint32_t id_of(struct abused *a)
{
	char path[64], line[64];
	unsigned int id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", a->r.v.fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f) && !sscanf(line, "kvnet.id: %u", &id))
		;
	fclose(f);
	return id;
}

static bool op_netlink_get(struct world *w, struct abused *a, struct draw *d)
{
	static const uint8_t cmds[] = {
		KVNET_CMD_DEV_GET, KVNET_CMD_QUEUE_GET, KVNET_CMD_WORKER_GET,
	};
	static const uint8_t filter[] = {
		KVNET_A_DEV_ID, KVNET_A_QUEUE_DEV, KVNET_A_WORKER_DEV,
	};
	unsigned int which = draw(d, 3);
	struct ask ask;

	if (!d->genl)
		return false;
	ask_begin(&ask, d->genl, cmds[which]);
	if (one_in(d, 2)) {
		ask_u32(&ask, filter[which], one_in(d, 4) ? draw(d, 1000) : id_of(a));
		return !genl_do(d->genl, &ask, which != 0, NULL, NULL);
	}
	return !genl_do(d->genl, &ask, true, NULL, NULL);
}

static bool op_netlink_set(struct world *w, struct abused *a, struct draw *d)
{
	static const int ways[] = {
		KVNET_A_POLICY_RX_DIRECT, KVNET_A_POLICY_RX_INLINE,
		KVNET_A_POLICY_TX_INLINE, KVNET_A_POLICY_SHORTCUT,
	};
	struct nlattr *nest;
	struct ask ask;
	unsigned int i;

	if (!d->genl)
		return false;
	ask_begin(&ask, d->genl, KVNET_CMD_DEV_SET);
	ask_u32(&ask, KVNET_A_DEV_ID, id_of(a));
	nest = ask_nest(&ask, KVNET_A_DEV_POLICY);
	if (one_in(d, 2))
		ask_u32(&ask, KVNET_A_POLICY_POLL_US, draw(d, 200));
	for (i = 0; i < 4; i++)
		if (one_in(d, 3))
			ask_u8(&ask, ways[i], draw(d, 2));
	if (one_in(d, 20))
		ask_u32(&ask, draw(d, 12), draw(d, 1 << 30));
	ask_nest_end(&ask, nest);
	return !genl_do(d->genl, &ask, false, NULL, NULL);
}

const char *const abuse_parameters[ABUSE_PARAMETERS] = {
	"rx_direct", "tx_direct", "tx_inline", "rx_inline", "pin_rings",
	"poll_us", "tx_usecs", "rx_usecs", "shortcut", "max_iotlb_entries",
};

static bool op_parameter(struct world *w, struct abused *a, struct draw *d)
{
	static const char *const values[] = { "0", "1", "1", "2" };
	unsigned int which = draw(d, ABUSE_PARAMETERS);
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/kvnet/parameters/%s",
		 abuse_parameters[which]);
	/* a device without any IOTLB entry would carry nothing */
	return inject_put(path, which == ABUSE_MAX_ENTRIES ? "2" : values[draw(d, 4)]);
}

const struct abuse_op abuse_around[] = {
	{ "munmap", 4, op_munmap },
	{ "mmap", 4, op_mmap },
	{ "mprotect", 6, op_mprotect },
	{ "madvise", 8, op_madvise },
	{ "mremap", 2, op_mremap },
	{ "mlock", 3, op_mlock },
	{ "userfaultfd", 5, op_uffd },
	{ "punch", 2, op_punch },
	{ "dup", 6, op_dup },
	{ "replace", 2, op_replace },
	{ "pass", 4, op_pass },
	{ "fork", 2, op_fork },
	{ "exec", 1, op_exec },
	{ "signal", 4, op_signal },
	{ "fail", 16, op_fail },
	{ "yield", 20, op_yield },
	{ "traffic", 4, op_traffic },
	{ "repair", 8, op_repair },
	{ "link", 3, op_link },
	{ "tap", 4, op_tap },
	{ "netlink_get", 4, op_netlink_get },
	{ "netlink_set", 4, op_netlink_set },
	{ "parameter", 2, op_parameter },
	{ 0 },
};
