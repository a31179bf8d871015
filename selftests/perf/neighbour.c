// SPDX-License-Identifier: GPL-2.0
/*
 * neighbour - what a guest notices of another one, which has its device do as much as
 * it can: beside one that is just as busy and behaves.
 *
 * The other guest is a process with a device, a tap and workers of its own; its virtual
 * CPU never sleeps. In a slice it is each of the two for a while, and the guest beside
 * it sends frames that come back, then bursts, and its VMM asks for things. What the other
 * guest's own VMM asks of the queue that is left alone counts, too.
 *
 * Each guest has a control group, as with libvirt: so a share is a guest's, however many of
 * its threads are busy. "slower" are times more that it took; 1 is the share that is one's own.
 * "worst" and "other" are of those times only that nobody waited for a CPU: what is left are
 * other waits. "other-waited" is the part of them that are left out for that.
 */
#include <sys/prctl.h>

#include "cgroup.h"
#include "mischief.h"
#include "single.h"
#include "turns.h"

#define SLICE_FACTOR	2u	/* of a sample elsewhere; a turn of the scheduler is long */
#define FEW_SLICES	6u
#define LEAST_SLICES	2u	/* where they take long */
#define ASKED		20u	/* times in a row, of each thing */
#define ROUNDS		64u	/* of the other guest, between two looks */
#define RING		256u	/* of the other guest: mischief.h */

enum { PEACE, ATTACK, PHASES };

/* What was seen in a phase. */
struct seen {
	double echo;		/* ns of a round trip */
	double bulk;		/* ns of a packet of a burst */
	double ask;		/* ns of an ioctl of one's own, one after the other */
	double worst;
	double other;		/* of the other guest's VMM, for its quiet queue */
	double waited;		/* part of those that waited for a CPU */
};

static struct {
	struct spec s;
	struct ports p;
	struct port *port;
	struct cgroup group[2];	/* the guest's, and of that beside it */
	pid_t pid;		/* the other guest */
	int fd;
	struct seen seen[PHASES][SLICES];
} all;

/* Times of ioctls of a queue that did not wait for a CPU. */
struct asked {
	uint64_t n, ns, worst;
	uint64_t waited;	/* the others */
};

/* How long the calling thread has waited for a CPU. */
static uint64_t waited_ns(void)
{
	unsigned long ns = 0, times = 0;
	static int fd = -1;
	char text[64];
	ssize_t n;

	if (fd < 0)
		fd = ASSERT_SYS(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
	n = ASSERT_SYS(pread(fd, text, sizeof(text) - 1, 0));
	text[n] = 0;
	ASSERT_EQ(sscanf(text, "%*u %lu %lu", &ns, &times), 2);
	ASSERT(times);	/* else it is not counted */
	return ns;
}

static void ask_one(const struct vdev *v, unsigned int queue, unsigned int what)
{
	static const unsigned long reqs[] = {
		VHOST_GET_VRING_BASE, VHOST_SET_VRING_BASE, VHOST_SET_VRING_CALL,
	};
	/* both have 8 bytes; the base of a running queue cannot be set, and is not */
	struct vhost_vring_file f = { .index = queue, .fd = v->q[queue].call };

	__vdev_ioctl(v->fd, reqs[what % 3], &f);
}

static void ask(struct asked *a, const struct vdev *v, unsigned int queue)
{
	uint64_t from, ns, waited;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		waited = waited_ns();
		from = now_ns();
		ask_one(v, queue, i);
		ns = now_ns() - from;
		if (waited_ns() != waited) {
			a->waited++;
			continue;
		}
		a->n++;
		a->ns += ns;
		a->worst = ns > a->worst ? ns : a->worst;
	}
}

/* The device's thread is where its share comes from. */
static bool has_worker(const struct cgroup *g, pid_t owner)
{
	char path[96], tid[16];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.threads", g->path);
	f = fopen(path, "re");
	while (f && !found && fscanf(f, "%15s", tid) == 1)
		found = worker_is("/proc", tid, owner);
	if (f)
		fclose(f);
	return found;
}

/* the other guest */

static void __attribute__((noreturn)) be_neighbour(int fd)
{
	static struct rig rig;
	struct asked asked = { 0 };
	struct mischief m;
	int32_t kind;
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cgroup_join(&all.group[1], getpid());
	rig_open(&rig, &(struct rig_cfg){ .num = RING });
	ASSERT(has_worker(&all.group[1], getpid()));
	mischief_init(&m, &rig.v, rig.tap);
	while (read(fd, &kind, sizeof(kind)) == sizeof(kind)) {
		if (kind < 0)
			break;
		mischief_begin(&m, kind);
		asked = (struct asked){ 0 };
		ASSERT_EQ(write(fd, &kind, sizeof(kind)), sizeof(kind));
		/* until there is something to read */
		while (recv(fd, &kind, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
			for (i = 0; i < ROUNDS; i++) {
				mischief_round(&m);
				if (kind == MISCHIEF_BAD)
					break;
			}
			ask(&asked, &rig.v, !m.queue);
		}
		ASSERT_EQ(read(fd, &kind, sizeof(kind)), sizeof(kind));
		mischief_end(&m);
		ASSERT_EQ(write(fd, &asked, sizeof(asked)), sizeof(asked));
	}
	rig_close(&rig);
	_exit(KSFT_PASS);
}

static void start_neighbour(void)
{
	int fd[2];

	ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
	all.pid = ASSERT_SYS(fork());
	if (!all.pid) {
		close(fd[0]);
		be_neighbour(fd[1]);
	}
	close(fd[1]);
	all.fd = fd[0];
}

static void neighbour_is(int32_t kind)
{
	ASSERT_EQ(write(all.fd, &kind, sizeof(kind)), sizeof(kind));
	ASSERT_EQ(read(all.fd, &kind, sizeof(kind)), sizeof(kind));
}

static struct asked neighbour_idle(void)
{
	int32_t any = 0;
	struct asked a;

	ASSERT_EQ(write(all.fd, &any, sizeof(any)), sizeof(any));
	ASSERT_EQ(read(all.fd, &a, sizeof(a)), sizeof(a));
	return a;
}

/* the guest beside it */

/* In a packed ring what has been sent is seen to have been before a lap is over. */
static void round_trip(void)
{
	single_round_trip(&all.p, all.port);
	quick_done(&all.port->q[VDEV_TX]);
}

static double echoes(uint64_t ns)
{
	uint64_t begin = now_ns(), n = 0;

	do {
		round_trip();
		n++;
	} while (now_ns() - begin < ns);
	return (double)(now_ns() - begin) / n;
}

static double bursts(uint64_t ns)
{
	uint64_t begin = now_ns(), n = 0;
	unsigned int count = all.s.ring / 2;
	uint8_t f[2048];

	do {
		port_tx_start(all.port, count);
		port_wait(all.port, VDEV_TX);
		n += count;
	} while (now_ns() - begin < ns);
	ns = now_ns() - begin;
	while (recv(all.port->r.sniff, f, sizeof(f), MSG_DONTWAIT) >= 0)
		;
	return (double)ns / n;
}

/* Waits for a CPU and all. */
static double asks(uint64_t ns)
{
	uint64_t begin = now_ns(), n = 0;

	do {
		ask_one(&all.port->r.v, n / 3 % 2, n);
		n++;
	} while (now_ns() - begin < ns);
	return (double)(now_ns() - begin) / n;
}

static double worst_of_some(void)
{
	struct asked a = { 0 };
	unsigned int i;

	for (i = 0; i < ASKED; i++) {
		ask(&a, &all.port->r.v, i % 2);
		/* so that it meets its device at work */
		round_trip();
	}
	return a.worst;
}

static void phase(struct seen *seen, enum mischief_kind kind)
{
	struct asked other;

	neighbour_is(kind);
	seen->echo = echoes(SLICE_FACTOR * all.s.ns);
	seen->bulk = bursts(SLICE_FACTOR * all.s.ns);
	seen->ask = asks(SLICE_FACTOR * all.s.ns);
	seen->worst = worst_of_some();
	other = neighbour_idle();
	seen->other = (double)other.ns / (other.n ? other.n : 1);
	seen->waited = (double)other.waited / (other.n + other.waited);
}

static unsigned int neighbour_open(const struct spec *s)
{
	all.s = *s;
	cgroup_make(&all.group[0], "cpu");
	cgroup_make(&all.group[1], "cpu");
	start_neighbour();
	cgroup_join(&all.group[0], getpid());
	all.port = single_begin(&all.p, s);
	ASSERT(has_worker(&all.group[0], getpid()));
	single_round_trip(&all.p, all.port);
	return spec_virtual() ? LEAST_SLICES : FEW_SLICES;
}

static void neighbour_slice(unsigned int i)
{
	enum mischief_kind kind = all.s.attack;

	if (i % 2)
		phase(&all.seen[ATTACK][i], kind);
	phase(&all.seen[PEACE][i], MISCHIEF_NONE);
	if (i % 2 == 0)
		phase(&all.seen[ATTACK][i], kind);
}

#define FIELD(array, i, at)	(*(double *)((char *)&(array)[i] + (at)))

/* Beside the attack. */
static void row(const char *metric, size_t at, unsigned int slices, const char *unit)
{
	double seen[SLICES] = { 0 };
	unsigned int i;

	for (i = 0; i < slices; i++)
		seen[i] = FIELD(all.seen[ATTACK], i, at);
	spec_slices(metric, seen, slices, unit);
}

/* What it took, and how many times more that is. */
static void rows(const char *metric, size_t at, unsigned int slices)
{
	double slower[SLICES];
	char name[32];
	unsigned int i;

	row(metric, at, slices, "ns");
	for (i = 0; i < slices; i++)
		slower[i] = FIELD(all.seen[ATTACK], i, at) / FIELD(all.seen[PEACE], i, at);
	snprintf(name, sizeof(name), "%s-slower", metric);
	spec_slices(name, slower, slices, "1");
}

static void neighbour_close(unsigned int slices)
{
	const int32_t no_more = -1;
	int status;

	ASSERT_EQ(write(all.fd, &no_more, sizeof(no_more)), sizeof(no_more));
	ASSERT_EQ(waitpid(all.pid, &status, 0), all.pid);
	ASSERT_EQ(status, 0);
	rows("echo", offsetof(struct seen, echo), slices);
	rows("bulk", offsetof(struct seen, bulk), slices);
	rows("ioctl", offsetof(struct seen, ask), slices);
	rows("worst", offsetof(struct seen, worst), slices);
	rows("other", offsetof(struct seen, other), slices);
	row("other-waited", offsetof(struct seen, waited), slices, "1");
	single_end(&all.p);
	cgroup_leave(getpid());
	cgroup_remove(&all.group[0]);
	cgroup_remove(&all.group[1]);
}

TURNS(neighbour, 600)
