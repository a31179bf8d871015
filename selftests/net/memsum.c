// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic that shows lost or stale memory. Every block names itself (sequence
 * number) and carries a checksum of its own, since the receiver's kernel may
 * take the packet's for verified. The receiver also keeps the newest blocks in
 * a region of memory, and checks at the end that they are still the same.
 *
 *	memsum send udp|tcp ADDRESS PORT BLOCKS-PER-SECOND
 *	memsum recv udp|tcp PORT REGION-MIB LAG-KIB
 *
 * Both go on until SIGTERM, a TCP receiver until the end of the stream too. A stream
 * begins and ends with some blocks, however late its sender is in between. With
 * tcp the last LAG-KIB that arrived stay unread in the kernel, until the end;
 * an udp receiver is made to wait by SIGSTOP.
 *
 * Exit status: 0, 1 if a block was wrong, 2 for a failed system call.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAGIC		0x6b766e65746d656dULL
#define BLOCK_BYTES	1400
#define TICK_NS		10000000L
#define TICKS		(1000000000L / TICK_NS)	/* a second */
#define BURST_MAX	64
#define BURST_TCP	32	/* blocks, for large segments */
#define UDP_RCVBUF	(48 << 20)
#define SHOWN_MAX	3

struct block {
	uint64_t magic;
	uint64_t seq;
	uint64_t sum;
	uint64_t payload[(BLOCK_BYTES - 24) / 8];
};

struct receiver {
	struct block *region;
	uint64_t slots;
	uint64_t *kept;		/* which sequence number a slot must hold */
	uint64_t next;		/* expected sequence number; the first is 1 */
	uint64_t good, lost, wrong, stale;
	bool tcp;
};

static volatile sig_atomic_t stopped;

static void fail(const char *what)
{
	fprintf(stderr, "memsum: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void on_term(int sig)
{
	(void)sig;
	stopped = 1;
}

/* order-sensitive, over all but the sum itself */
static uint64_t block_sum(const struct block *b)
{
	uint64_t sum = (b->magic ^ b->seq) * 0x9e3779b97f4a7c15ULL;

	for (size_t i = 0; i < sizeof(b->payload) / 8; i++) {
		sum = (sum ^ b->payload[i]) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 29;
	}
	return sum;
}

static void fill_block(struct block *b, uint64_t seq)
{
	uint64_t x = seq * 2 + 1;

	b->magic = MAGIC;
	b->seq = seq;
	for (size_t i = 0; i < sizeof(b->payload) / 8; i++) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		b->payload[i] = x * 0x2545f4914f6cdd1dULL;
	}
	b->sum = block_sum(b);
}

static bool block_is_whole(const struct block *b)
{
	return b->magic == MAGIC && b->sum == block_sum(b);
}

static void on_signal(int sig, void (*handler)(int))
{
	/* no SA_RESTART: a waiting call must end */
	struct sigaction sa = { .sa_handler = handler };

	sigaction(sig, &sa, NULL);
}

static int open_socket(bool tcp)
{
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0)
		fail("socket");
	return fd;
}

/* sender */

static void send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("write");
		p += n;
		len -= n;
	}
}

static void send_burst(int fd, bool tcp, uint64_t *seq, int count)
{
	static struct block burst[BURST_MAX];
	int i;

	for (i = 0; i < count; i++)
		fill_block(&burst[i], ++*seq);
	if (tcp) {
		/* in one go, for large segments */
		send_all(fd, burst, count * sizeof(burst[0]));
		return;
	}
	/* what cannot be sent now counts as lost */
	for (i = 0; i < count; i++)
		send(fd, &burst[i], sizeof(burst[0]), 0);
}

static int do_send(bool tcp, const char *address, const char *port, long rate)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	struct timespec tick = { .tv_nsec = TICK_NS };
	/* TCP sends a whole burst at once, UDP what is due */
	int fd = open_socket(tcp), count, least = tcp ? BURST_TCP : 1;
	long due = tcp ? BURST_TCP * TICKS : 0;
	uint64_t seq = 0;

	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		fail(address);
	while (!stopped) {
		due += rate;
		count = due / TICKS;
		if (count >= least) {
			count = count < BURST_MAX ? count : BURST_MAX;
			send_burst(fd, tcp, &seq, count);
			due -= count * TICKS;
		}
		nanosleep(&tick, NULL);
	}
	if (tcp)
		send_burst(fd, tcp, &seq, BURST_TCP);
	close(fd);
	printf("sent %" PRIu64 " blocks\n", seq);
	return 0;
}

/* receiver */

static void complain(struct receiver *r, const char *what, const struct block *b)
{
	if (r->wrong + r->stale <= SHOWN_MAX)
		printf("%s: magic %016" PRIx64 " seq %" PRIu64 ", expected %" PRIu64 "\n",
		       what, b->magic, b->seq, r->next);
}

static void take_block(struct receiver *r, const struct block *b)
{
	uint64_t slot;

	if (!block_is_whole(b)) {
		r->wrong++;
		complain(r, "wrong block", b);
		/* a stream has no losses: this was the one expected */
		r->next += r->tcp;
		return;
	}
	/* whole, but from an earlier packet in the same place */
	if (b->seq < r->next || (r->tcp && b->seq != r->next)) {
		r->stale++;
		complain(r, "stale block", b);
		r->next += r->tcp;
		return;
	}
	r->lost += b->seq - r->next;
	r->next = b->seq + 1;
	r->good++;
	slot = b->seq % r->slots;
	r->region[slot] = *b;
	r->kept[slot] = b->seq;
}

/* blocks of the region that are not what was put there */
static uint64_t check_region(const struct receiver *r)
{
	uint64_t bad = 0;

	for (uint64_t i = 0; i < r->slots; i++)
		if (r->kept[i] &&
		    (r->region[i].seq != r->kept[i] || !block_is_whole(&r->region[i])))
			bad++;
	return bad;
}

static void recv_udp(struct receiver *r, int fd)
{
	/* SIGTERM may come just before the wait */
	struct timeval limit = { .tv_usec = 100000 };
	struct block b;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (;;) {
		n = recv(fd, &b, sizeof(b), 0);
		if (n == sizeof(b))
			take_block(r, &b);
		else if (n >= 0)
			r->wrong++;
		else if (errno != EAGAIN && errno != EINTR)
			fail("recv");
		else if (stopped && errno == EAGAIN)
			return;
	}
}

/* true when the stream may be read: there is more than the lag, or it ends */
static bool stream_is_due(int fd, int lag)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };
	struct timespec tick = { .tv_nsec = TICK_NS };
	int waiting = 0;

	if (stopped || !lag || poll(&pfd, 1, 0) > 0)
		return true;
	ioctl(fd, FIONREAD, &waiting);
	if (waiting > lag)
		return true;
	nanosleep(&tick, NULL);
	return false;
}

static void recv_tcp(struct receiver *r, int fd, int lag)
{
	struct block b;
	size_t have = 0;
	ssize_t n;

	for (;;) {
		if (!stream_is_due(fd, lag))
			continue;
		n = read(fd, (char *)&b + have, sizeof(b) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("read");
		if (!n)
			break;
		have += n;
		if (have == sizeof(b)) {
			take_block(r, &b);
			have = 0;
		}
	}
	if (have) {
		puts("the stream ends within a block");
		r->wrong++;
	}
}

static void set_buffer(int fd, int bytes)
{
	if (bytes && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		fail("SO_RCVBUFFORCE");
}

static int bound_socket(bool tcp, const char *port, int buffer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	int one = 1, fd = open_socket(tcp);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	set_buffer(fd, buffer);
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || (tcp && listen(fd, 1)))
		fail("bind");
	return fd;
}

static int report(const struct receiver *r)
{
	uint64_t bad = check_region(r);

	printf("received %" PRIu64 " blocks, lost %" PRIu64 ", wrong %" PRIu64
	       ", stale %" PRIu64 ", damaged in memory %" PRIu64 "\n",
	       r->good, r->lost, r->wrong, r->stale, bad);
	return r->wrong || r->stale || bad;
}

static int do_recv(bool tcp, const char *port, long region_mib, long lag_kib)
{
	struct receiver r = { .next = 1, .tcp = tcp };
	int fd;

	r.slots = region_mib * (1 << 20) / sizeof(struct block);
	r.region = malloc(r.slots * sizeof(struct block));
	r.kept = calloc(r.slots, sizeof(uint64_t));
	if (!r.slots || !r.region || !r.kept)
		fail("region");
	/* the window must be well above the lag */
	fd = bound_socket(tcp, port, tcp ? lag_kib * 4096 : UDP_RCVBUF);
	if (tcp) {
		fd = accept(fd, NULL, NULL);
		if (fd < 0)
			fail("accept");
		recv_tcp(&r, fd, lag_kib * 1024);
	} else {
		recv_udp(&r, fd);
	}
	return report(&r);
}

int main(int argc, char **argv)
{
	bool tcp = argc > 2 && !strcmp(argv[2], "tcp");

	on_signal(SIGTERM, on_term);
	on_signal(SIGPIPE, SIG_IGN);
	if (argc == 6 && !strcmp(argv[1], "recv"))
		return do_recv(tcp, argv[3], atol(argv[4]), atol(argv[5]));
	if (argc == 6 && !strcmp(argv[1], "send"))
		return do_send(tcp, argv[3], argv[4], atol(argv[5]));
	fprintf(stderr, "usage: memsum send udp|tcp ADDRESS PORT RATE | memsum recv udp|tcp PORT MIB LAG-KIB\n");
	return 2;
}
