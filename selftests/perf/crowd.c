// SPDX-License-Identifier: GPL-2.0
/*
 * crowd - many guests, each a process with a device, a tap and workers of its own, that
 * are all busy for the same time: what they do together, and how evenly.
 *
 * tx: each sends all the time. rx: each gets what it has put into its tap itself, which
 * is part of the time. A slice is much longer than a turn of the scheduler.
 */
#include <sys/prctl.h>

#include "port.h"
#include "stolen.h"
#include "turns.h"

#define GUESTS_MAX	64u
#define SLICE_FACTOR	10u	/* of a sample elsewhere; there are few of them */
#define CROWD_SLICES	3u

static struct {
	struct spec s;
	struct { pid_t pid; int fd; } guest[GUESTS_MAX];
	double rate[SLICES];	/* all guests' packets per second */
	double worst[SLICES];
	double uneven[SLICES];	/* the best over the worst */
} all;

/* Packets until then. */
static uint64_t busy_until(struct ports *p, uint64_t end)
{
	struct port *port = &p->port[0];
	uint64_t n = 0;

	while (now_ns() < end) {
		if (p->s.dirs & SPEC_RX) {
			port_rx_fill(p, port);
			port_rx_start(port);
			port_wait(port, VDEV_RX);
			n += port->burst;
		}
		if (p->s.dirs & SPEC_TX) {
			port_tx_start(port, p->s.ring);
			port_wait(port, VDEV_TX);
			n += p->s.ring;
		}
	}
	return n;
}

static void __attribute__((noreturn)) be_guest(int fd)
{
	uint64_t end, n;
	struct ports p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ports_open(&p, &all.s);
	if (p.s.dirs & SPEC_TX)
		port_attach(&p.port[0], VDEV_TX, true);
	if (p.s.dirs & SPEC_RX)
		port_attach(&p.port[0], VDEV_RX, true);
	n = busy_until(&p, now_ns() + 1);
	ASSERT_EQ(write(fd, &n, sizeof(n)), sizeof(n));
	while (read(fd, &end, sizeof(end)) == sizeof(end) && end) {
		n = busy_until(&p, end);
		ASSERT_EQ(write(fd, &n, sizeof(n)), sizeof(n));
	}
	if (p.s.dirs & SPEC_RX)
		port_check(&p, &p.port[0], VDEV_RX);
	if (p.s.dirs & SPEC_TX)
		port_check(&p, &p.port[0], VDEV_TX);
	ports_close(&p);
	_exit(KSFT_PASS);
}

static uint64_t answer_of(unsigned int i)
{
	uint64_t n;

	ASSERT_EQ(read(all.guest[i].fd, &n, sizeof(n)), sizeof(n));
	return n;
}

static unsigned int crowd_open(const struct spec *s)
{
	unsigned int i;
	int fd[2];

	all.s = *s;
	ASSERT(s->guests && s->guests <= GUESTS_MAX);
	for (i = 0; i < s->guests; i++) {
		ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
		all.guest[i].pid = ASSERT_SYS(fork());
		if (!all.guest[i].pid) {
			close(fd[0]);
			be_guest(fd[1]);
		}
		close(fd[1]);
		all.guest[i].fd = fd[0];
		answer_of(i);
	}
	return CROWD_SLICES;
}

static void crowd_slice(unsigned int slice)
{
	uint64_t end = now_ns() + SLICE_FACTOR * all.s.ns;
	uint64_t from = given_ns(), n, sum = 0, least = UINT64_MAX, most = 0;
	unsigned int i;

	for (i = 0; i < all.s.guests; i++)
		ASSERT_EQ(write(all.guest[i].fd, &end, sizeof(end)), sizeof(end));
	for (i = 0; i < all.s.guests; i++) {
		n = answer_of(i);
		sum += n;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	/* the last one's last pass is over; a slice is long, and much of it others' turn */
	n = given_ns() - from;
	all.rate[slice] = sum * 1e9 / n;
	all.worst[slice] = least * 1e9 / n;
	all.uneven[slice] = (double)most / (least ? least : 1);
}

static void crowd_close(unsigned int slices)
{
	const uint64_t no_more = 0;
	unsigned int i;
	int status;

	for (i = 0; i < all.s.guests; i++) {
		ASSERT_EQ(write(all.guest[i].fd, &no_more, sizeof(no_more)), sizeof(no_more));
		ASSERT_EQ(waitpid(all.guest[i].pid, &status, 0), all.guest[i].pid);
		ASSERT_EQ(status, 0);
	}
	spec_slices("pps", all.rate, slices, "1/s");
	spec_slices("worst", all.worst, slices, "1/s");
	spec_slices("uneven", all.uneven, slices, "1");
}

TURNS(crowd, 240)
