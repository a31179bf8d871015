// SPDX-License-Identifier: GPL-2.0
/*
 * pps - how long the device takes for many packets, each way.
 *
 * Every case is one sample and prints one line:
 *
 *   @pps <case> <packets> <nanoseconds> <kicks> <calls>
 *
 * The guest's share is as small as can be: descriptors are laid out once, a batch
 * is made available by one store, the last of its buffers calls the guest, which
 * sleeps until then.  A case fails when a packet got lost, was damaged or came
 * back twice, never for being slow.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

#define RING		1024u
#define BURST		900u	/* that wait in the tap */
#define TAP_QUEUE	1000
#define BUF		2048u
#define TX_BATCHES	2000u	/* of RING: a third of a second and more */
#define RX_BURSTS	1200u

struct pps {
	struct rig r;
	struct vdev_queue *q;
	unsigned int len;	/* of each frame */
	uint16_t done;		/* used index when all is quiet */
	unsigned long kicks;
	unsigned long calls;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static uint8_t *buffer(const struct pps *p, unsigned int i)
{
	return p->q->bufs + (size_t)i * BUF;
}

/* Each descriptor is a buffer, for ever; the avail ring names them in order. */
static void lay_out(struct pps *p, uint32_t len, uint16_t flags)
{
	struct guest_ring *ring = &p->q->ring;
	unsigned int i;

	for (i = 0; i < RING; i++) {
		gr_raw_set(gr_raw_desc(ring, i),
			   vdev_gpa(&p->r.v, buffer(p, i)), len, flags, 0);
		gr_raw_avail(ring, i, i);
	}
}

static void start(struct pps *p, unsigned int queue, unsigned int len)
{
	const struct rig_cfg cfg = {
		.num = RING,
		.bufs = RING,
		.tx_buf = BUF,
		.rx_buf = BUF,
		.stopped = true,
	};

	memset(p, 0, sizeof(*p));
	rig_open(&p->r, &cfg);
	close(p->r.sniff);	/* the host drops what nobody listens to */
	p->r.sniff = -1;
	p->q = &p->r.v.q[queue];
	p->len = len;
	ASSERT_SYS(fcntl(p->q->call, F_SETFL, 0));	/* block */
}

/* Sleep until the device has used all buffers up to 'until'. */
static void wait_used(struct pps *p, uint16_t until)
{
	uint64_t n;

	while (gr_raw_used_idx(&p->q->ring) != until) {
		ASSERT_EQ(read(p->q->call, &n, sizeof(n)), sizeof(n));
		p->calls += n;
	}
	p->done = until;
}

/* What the last pass used: each buffer once, in order, as long as expected. */
static void check_used(const struct pps *p, unsigned int n, uint32_t len)
{
	struct gr_used_elem e;
	uint16_t pos;

	for (pos = p->done - n; pos != p->done; pos++) {
		e = gr_raw_used(&p->q->ring, pos);
		ASSERT_EQ(e.id, pos % RING);
		ASSERT_EQ(e.len, len);
	}
}

static void report(const struct pps *p, const char *name, unsigned long packets,
		   uint64_t ns)
{
	char path[64], line[128];
	FILE *f;

	printf("@pps %s %lu %llu %lu %lu\n", name, packets,
	       (unsigned long long)ns, p->kicks, p->calls);
	/* the module's own counters; vhost_net has none */
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p->r.v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "kvnet.", 6) && !strstr(line, ":\t0\n"))
			printf("@counter %s %s", name, line);
	fclose(f);
}

/* guest to host */

static void tx_pass(struct pps *p, unsigned int batches)
{
	struct guest_ring *ring = &p->q->ring;
	uint64_t one = 1;
	uint16_t until;

	while (batches--) {
		until = p->done + RING;
		gr_raw_used_event(ring, until - 1);
		gr_raw_avail_idx(ring, until);
		ASSERT_EQ(write(p->q->kick, &one, sizeof(one)), sizeof(one));
		p->kicks++;
		wait_used(p, until);
	}
}

/* Packets that came to the host from the tap, in this network namespace. */
static unsigned long tap_packets(const struct pps *p)
{
	FILE *f = fopen("/proc/self/net/dev", "r");
	unsigned long n = 0;
	char line[256], *at;

	ASSERT(f);
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, p->r.name);
		if (at)
			sscanf(at + strlen(p->r.name), ": %*u %lu", &n);
	}
	fclose(f);
	return n;
}

static void tx(const char *name, unsigned int len)
{
	unsigned int i, batches = ksft_rounds(TX_BATCHES);
	uint64_t begin, end;
	struct pps p;

	start(&p, VDEV_TX, len);
	lay_out(&p, p.r.v.hdr_len + len, 0);
	for (i = 0; i < RING; i++) {
		memset(buffer(&p, i), 0, p.r.v.hdr_len);
		frame_make(buffer(&p, i) + p.r.v.hdr_len, i, len);
	}
	vdev_backend(&p.r.v, VDEV_TX, p.r.tap);
	tx_pass(&p, 8);
	p.kicks = 0;
	p.calls = 0;
	begin = now_ns();
	tx_pass(&p, batches);
	end = now_ns();
	vdev_backend(&p.r.v, VDEV_TX, -1);
	check_used(&p, RING, 0);
	ASSERT_EQ(tap_packets(&p), (batches + 8ul) * RING);
	report(&p, name, (unsigned long)batches * RING, end - begin);
	rig_close(&p.r);
}

/* host to guest */

static void set_tap_queue(const struct rig *r, int len)
{
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	struct ifreq ifr = { .ifr_qlen = len };

	memcpy(ifr.ifr_name, r->name, sizeof(r->name));
	ASSERT_SYS(ioctl(fd, SIOCSIFTXQLEN, &ifr));
	close(fd);
}

/* what the host sends: BURST frames, numbered from 0 */
static struct mmsghdr burst[BURST];

static void make_burst(unsigned int len)
{
	static struct iovec iov[BURST];
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		iov[i] = (struct iovec) { malloc(len), len };
		ASSERT(iov[i].iov_base);
		frame_make(iov[i].iov_base, i, len);
		burst[i].msg_hdr.msg_iov = &iov[i];
		burst[i].msg_hdr.msg_iovlen = 1;
	}
}

static void fill_tap(const struct pps *p)
{
	unsigned int i;
	int n;

	for (i = 0; i < BURST; i += n) {
		n = sendmmsg(p->r.inject, burst + i, BURST - i, 0);
		ASSERT(n > 0);
	}
}

static void check_frames(const struct pps *p)
{
	unsigned int h = p->r.v.hdr_len, i;
	uint16_t first = p->done - BURST;

	for (i = 0; i < BURST; i++)
		ASSERT(frame_check(buffer(p, (uint16_t)(first + i) % RING) + h,
				   p->len, i, p->len));
}

/*
 * The clock runs from the attaching of the tap, in which a burst waits, to the
 * last used buffer.
 */
static uint64_t rx_pass(struct pps *p, unsigned int bursts)
{
	struct guest_ring *ring = &p->q->ring;
	uint64_t begin, sum = 0;
	uint16_t until;

	while (bursts--) {
		fill_tap(p);
		until = p->done + BURST;
		gr_raw_used_event(ring, until - 1);
		gr_raw_avail_idx(ring, p->done + RING);
		begin = now_ns();
		vdev_backend(&p->r.v, VDEV_RX, p->r.tap);
		wait_used(p, until);
		sum += now_ns() - begin;
		vdev_backend(&p->r.v, VDEV_RX, -1);
	}
	return sum;
}

static void rx(const char *name, unsigned int len)
{
	unsigned int bursts = ksft_rounds(RX_BURSTS);
	struct pps p;
	uint64_t ns;

	start(&p, VDEV_RX, len);
	set_tap_queue(&p.r, TAP_QUEUE);
	make_burst(len);
	memset(p.q->bufs, 0, (size_t)RING * BUF);
	lay_out(&p, BUF, GR_DESC_F_WRITE);
	rx_pass(&p, 4);
	check_used(&p, BURST, p.r.v.hdr_len + len);
	check_frames(&p);
	p.calls = 0;
	ns = rx_pass(&p, bursts);
	check_used(&p, BURST, p.r.v.hdr_len + len);
	check_frames(&p);
	report(&p, name, (unsigned long)bursts * BURST, ns);
	rig_close(&p.r);
}

CASE_TIMED(tx60, 120)
{
	tx("tx60", 60);
}

CASE_TIMED(tx1400, 120)
{
	tx("tx1400", 1400);
}

CASE_TIMED(rx60, 120)
{
	rx("rx60", 60);
}

CASE_TIMED(rx1400, 120)
{
	rx("rx1400", 1400);
}

KSFT_MAIN()
