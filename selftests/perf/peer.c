// SPDX-License-Identifier: GPL-2.0
/*
 * peer - another process is the guest, one that never sleeps: how fast do packets go
 * through its tap, and what do they cost the device's worker?
 *
 * PEER_PID is the guest, PEER_TAP its tap. To the guest a burst waits in the tap while
 * the guest is stopped, so that no sender is part of what is timed.  Its threads get
 * the CPU only when nobody else wants it: else it is chance whether a worker that is
 * woken runs at once or after the guest's turn of some milliseconds.
 */
#include <dirent.h>
#include <net/if.h>

#include "links.h"
#include "rig.h"
#include "spec.h"
#include "traffic.h"

#define SLICES		4096u	/* at most */
#define SLICE_MS	3
#define LONGER		4u	/* than other samples: slices are longer, too */
#define BURST		28672u	/* packets that wait in the tap, whose queue takes 32767 */
#define WAIT_MS		30000u

struct peer {
	struct rig r;		/* the tap's name, and a socket into it */
	pid_t pid;
	int packets;		/* the tap's counter of this direction */
};

struct point {
	uint64_t ns;
	uint64_t packets;
	struct worker_time worker;
};

static const char *need(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value)
		ksft_skip("no %s: this is part of tools/bench/inside/dpdk.py", name);
	return value;
}

/* Named as the host sees them: what the guest sends is received by the tap. */
static uint64_t passed(const struct peer *p)
{
	char text[32];
	ssize_t n = ASSERT_SYS(pread(p->packets, text, sizeof(text) - 1, 0));

	text[n] = 0;
	return strtoull(text, NULL, 10);
}

static struct point look(const struct peer *p)
{
	return (struct point) { now_ns(), passed(p), worker_time() };
}

/* All threads but the worker, which may be one of them. */
static void set_policy(pid_t pid, int policy)
{
	const struct sched_param none = { 0 };
	struct dirent *entry;
	char path[300];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	ASSERT(d);
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.' &&
		    !worker_is(path, entry->d_name, pid))
			ASSERT_SYS(sched_setscheduler(atoi(entry->d_name),
						      policy, &none));
	closedir(d);
}

static void peer_open(struct peer *p, const struct spec *s)
{
	char path[96];

	p->pid = atoi(need("PEER_PID"));
	snprintf(p->r.name, sizeof(p->r.name), "%s", need("PEER_TAP"));
	p->r.ifindex = if_nametoindex(p->r.name);
	ASSERT(p->r.ifindex);
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s_packets",
		 p->r.name, s->dirs == SPEC_TX ? "rx" : "tx");
	p->packets = ASSERT_SYS(open(path, O_RDONLY | O_CLOEXEC));
	workers_find(p->pid, 1);
	set_policy(p->pid, SCHED_IDLE);
}

/* samples */

struct samples {
	double rate[SLICES];
	double worker[SLICES];
	unsigned int n;
	struct worker_time last;
};

static void add(struct samples *sum, const struct point *from,
		const struct point *to)
{
	double packets = to->packets - from->packets;

	if (!packets || sum->n == SLICES)
		return;
	sum->rate[sum->n] = packets * 1e9 / (to->ns - from->ns);
	sum->worker[sum->n] = (to->worker.ns - from->worker.ns) / packets;
	sum->last = to->worker;
	sum->n++;
}

static void sample_tx(const struct peer *p, const struct spec *s,
		      struct samples *sum)
{
	uint64_t end = now_ns() + LONGER * s->ns;
	struct point from = look(p), to;

	for (; from.ns < end; from = to) {
		poll(NULL, 0, SLICE_MS);
		to = look(p);
		add(sum, &from, &to);
	}
}

/* to the guest */

/* The letter of each of its threads, after the name in brackets. */
static bool stopped(pid_t pid)
{
	char path[64], line[256] = "", *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	ASSERT(f);
	at = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return at && at[2] == 'T';
}

static void stop(const struct peer *p)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	ASSERT_SYS(kill(p->pid, SIGSTOP));
	while (!stopped(p->pid)) {
		ASSERT(now_ns() < end);
		poll(NULL, 0, SLICE_MS);
	}
}

/* The worker has filled all buffers that the guest has offered, and sleeps. */
static void settle(const struct peer *p)
{
	struct point a = look(p), b;

	for (;; a = b) {
		poll(NULL, 0, SLICE_MS);
		b = look(p);
		if (a.packets == b.packets && a.worker.runs == b.worker.runs)
			return;
	}
}

/*
 * The slices between the guest's first buffers and the end, while packets still wait:
 * the last one, in which they ran out, is not part of it.
 */
static void burst(const struct peer *p, struct samples *sum, uint64_t *sent)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ull, target;
	struct point from, to;

	stop(p);
	settle(p);
	target = passed(p) + BURST;
	traffic_send(p->r.inject, 0, false);
	settle(p);
	ASSERT_SYS(kill(p->pid, SIGCONT));
	for (from = look(p);; from = to) {
		poll(NULL, 0, SLICE_MS);
		to = look(p);
		if (to.packets >= target)
			break;
		add(sum, &from, &to);
		ASSERT(to.ns < end);
	}
	*sent += BURST;
}

static void sample_rx(struct peer *p, const struct spec *s,
		      struct samples *sum)
{
	uint64_t end = now_ns() + 2 * LONGER * s->ns, sent = 0;

	p->r.inject = rig_packet_socket(&p->r, 0, false);
	ASSERT_EQ(link_queue_len(p->r.ifindex, 32767), 0);
	traffic_burst(BURST, s);
	while (now_ns() < end || sum->n < 9)
		burst(p, sum, &sent);
	close(p->r.inject);
	/* so many at least must have come to the guest: its own count says */
	printf("@sent %llu\n", (unsigned long long)sent);
}

CASE_TIMED(peer, 240)
{
	static struct samples sum;
	struct peer p = { 0 };
	struct spec s;

	spec_read(&s);
	ASSERT(s.dirs == SPEC_TX || s.dirs == SPEC_RX);
	peer_open(&p, &s);
	if (s.dirs == SPEC_TX)
		sample_tx(&p, &s, &sum);
	else
		sample_rx(&p, &s, &sum);
	ASSERT(sum.n);
	spec_row("pps", median(sum.rate, sum.n), "1/s");
	if (!worker_time_is_coarse(sum.last))
		spec_row("worker", median(sum.worker, sum.n), "ns");
	/* else it ends only when nobody else wants the CPU, kmemleak included */
	set_policy(p.pid, SCHED_OTHER);
	close(p.packets);
}
