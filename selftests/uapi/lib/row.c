// SPDX-License-Identifier: GPL-2.0
/* One ioctl and what must come of it: see row.h. */
#include "procfs.h"
#include "row.h"

#define COMPAT_IOCTL	54	/* of the table for 32-bit x86 */
#define COMPAT_GETPID	20

static bool has_fd(unsigned long req)
{
	return req == VHOST_SET_VRING_KICK || req == VHOST_SET_VRING_CALL ||
	       req == VHOST_SET_VRING_ERR || req == VHOST_NET_SET_BACKEND;
}

static int open_symbol(int symbol, int self)
{
	static int pipes[2];

	switch (symbol) {
	case FD_EVENT:
		return vdev_eventfd();
	case FD_MEM:
		return memfd_create("x", MFD_CLOEXEC);
	case FD_DIR:
		return open("/", O_RDONLY | O_DIRECTORY);
	case FD_PIPE:
		if (!pipes[0])
			ASSERT_SYS(pipe(pipes));
		return dup(pipes[1]);
	case FD_UDP:
		return socket(AF_INET, SOCK_DGRAM, 0);
	case FD_INET_RAW:
		return socket(AF_INET, SOCK_RAW, 255);
	case FD_UNIX:
		return socket(AF_UNIX, SOCK_RAW, 0);
	case FD_DGRAM:
		return socket(AF_PACKET, SOCK_DGRAM, 0);
	case FD_TUN:
		return open("/dev/net/tun", O_RDWR);
	case FD_SELF:
		return dup(self);
	case FD_CLOSED:		/* -2 itself, and never a real one */
	default:
		return symbol;
	}
}

static size_t arg_size(unsigned long req)
{
	if (req == VHOST_SET_MEM_TABLE)
		return sizeof(struct mem2);
	if (req == VHOST_SET_FEATURES_ARRAY || req == VHOST_GET_FEATURES_ARRAY)
		return sizeof(struct abi_features);
	return (req >> _IOC_SIZESHIFT) & _IOC_SIZEMASK;
}

/*
 * A 64-bit process may use the 32-bit entry, if its pointers fit.  On a machine
 * without one the processor raises an exception, or the call does not exist.
 */
#ifdef __x86_64__
static long int80(long nr, long a, long b, long c)
{
	long ret = -ENOSYS;

	__asm__ volatile("int $0x80" : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}
#else
#define int80(nr, a, b, c)	((void)(nr), (void)(a), (void)(b), (void)(c), -ENOSYS)
#endif

/*
 * Where a 32-bit process can point to, too.  Nothing is mapped behind it: what is
 * read or written until the owner's memory ends comes to its end here.
 */
static void *low_page(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	static void *page;

#ifdef MAP_32BIT
	flags |= MAP_32BIT;
#endif
	if (!page) {
		page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags, -1, 0);
		ASSERT(page != MAP_FAILED);
		ASSERT_SYS(mprotect((char *)page + 4096, 4096, PROT_NONE));
	}
	return page;
}

static int ask(int fd, unsigned long req, const void *arg, bool compat)
{
	/* the kernel may write into what is const here */
	void *p = low_page();

	memset(p, 0, 4096);
	if (arg)
		memcpy(p, arg, arg_size(req));
	else
		p = NULL;
	if (!compat)
		return __vdev_ioctl(fd, req, p);
	return int80(COMPAT_IOCTL, fd, req, (long)p);
}

int row_try(int fd, const struct row *row, bool compat)
{
	bool log_fd = row->req == VHOST_SET_LOG_FD;
	struct vhost_vring_file f;
	int ret, symbol;

	if (!row->arg || (!has_fd(row->req) && !log_fd))
		return ask(fd, row->req, row->arg, compat);
	if (log_fd)
		f.fd = *(const int *)row->arg;
	else
		f = *(const struct vhost_vring_file *)row->arg;
	symbol = f.fd;
	f.fd = open_symbol(symbol, fd);
	ret = ask(fd, row->req, log_fd ? (void *)&f.fd : &f, compat);
	if (symbol >= FD_FIRST && symbol < FD_HUGE)
		close(f.fd);
	return ret;
}

/* Where there is no such entry the asking may kill, or call something else. */
bool row_compat(void)
{
	int status;
	pid_t pid = ASSERT_SYS(fork());

	if (!pid)
		_exit(int80(COMPAT_GETPID, 0, 0, 0) != getpid());
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	return !status;
}

static int probe(unsigned long req, const void *arg, bool owner)
{
	struct row row = { .req = req, .arg = arg };
	int fd = open("/dev/vhost-net", O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	if (owner)
		__vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
	ret = row_try(fd, &row, false);
	close(fd);
	return ret;
}

bool row_when(enum row_when when)
{
	switch (when) {
	case NO_ARRAY:
		return probe(VHOST_GET_FEATURES_ARRAY, WORDS(2), false);
	case HAS_ARRAY:
		return !row_when(NO_ARRAY);
	case NO_FORK:
		return probe(VHOST_GET_FORK_FROM_OWNER, U8(0), false);
	case NO_ENDIAN:
		return probe(VHOST_GET_VRING_ENDIAN, STATE(0, 0), true);
	default:
		return true;
	}
}

const struct row_differs *row_differs(const struct row *row)
{
	static int8_t known[NO_ENDIAN + 1];	/* 1: yes, -1: no */
	unsigned int i;

	for (i = 0; i < 2 && row->vhost[i].why; i++) {
		enum row_when when = row->vhost[i].when;

		if (!known[when])
			known[when] = row_when(when) ? 1 : -1;
		if (known[when] > 0)
			return &row->vhost[i];
	}
	return NULL;
}

int row_wants(const struct row *row, bool vhost)
{
	const struct row_differs *d = vhost ? row_differs(row) : NULL;

	if (d)
		return d->err;
	if (row->without_task && !kernel_has_vhost_task())
		return row->without_task;
	return row->err;
}

const char *row_error(int err)
{
	const char *name = strerrorname_np(err);

	return err ? name ? name : "?" : "ok";
}

void row_restore(struct rig *r)
{
	struct vhost_vring_state s = { 0 };
	struct vhost_vring_addr a;
	struct vdev *v = &r->v;

	vdev_set_mem(v);
	vdev_set_features(v, r->cfg.features);
	for (s.index = 0; s.index < 2; s.index++) {
		vdev_queue_addr(v, s.index, &a);
		vdev_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a);
		vdev_ioctl(v->fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
		__vdev_ioctl(v->fd, VHOST_SET_VRING_ENDIAN, &s);
	}
}
