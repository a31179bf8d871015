// SPDX-License-Identifier: GPL-2.0
/*
 * rr - requests and responses, streams and datagrams of a fixed amount, both ways.
 *
 *   rr serve PORT
 *   rr tcp|udp HOST PORT COUNT [SIZE]      latency of request and response
 *   rr conn HOST PORT COUNT                a connection for each request
 *   rr to|from HOST PORT BYTES [STREAMS [WINDOW]]   TCP, to or from the server
 *   rr blast HOST PORT COUNT SIZE [GAP]    UDP to the server, as fast as it goes, or
 *                                          with a pause of GAP us before each
 *   rr draw HOST PORT COUNT SIZE [GAP]     UDP from the server
 *   rr window HOST PORT BYTES              the server's socket buffers from now on
 *
 * Prints one line of name=value words; times in ns. The time of a stream ends when
 * the receiver has all of it, not when the sender has given it away.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rr.h"

enum { STREAMS_MAX = 64, GIVE_UP_S = 300, LOST_MS = 200 };

static struct sockaddr_in server;
static char buf[CHUNK];

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void die(const char *what)
{
	fprintf(stderr, "rr: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* as iperf's -w: both buffers, before the connection is there */
void set_window(int fd, int size)
{
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

void set_nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* nothing is to be lost behind the device, where it would look like its fault */
void set_queue(int fd)
{
	int size = 64 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
}

void send_all(int fd, const void *data, unsigned long len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	const char *at = data;
	ssize_t n;

	while (len) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (n < 0)
			return;
		else
			at += n, len -= n;
	}
}

void blast(int fd, uint64_t count, uint32_t size, uint32_t gap, struct answer *a)
{
	static char data[DATAGRAM_MAX];
	uint64_t begin = now_ns();

	a->count = 0;
	while (count--) {
		if (gap)
			usleep(gap);
		a->count += send(fd, data, size, 0) == (ssize_t)size;
	}
	a->ns = now_ns() - begin;
}

static void read_all(int fd, void *data, unsigned long len)
{
	char *at = data;
	ssize_t n;

	while (len) {
		n = read(fd, at, len);
		if (n <= 0)
			die("the server's answer");
		at += n;
		len -= n;
	}
}

static int connection(int window)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (window)
		set_window(fd, window);
	if (connect(fd, (struct sockaddr *)&server, sizeof(server)))
		die("connect");
	set_nodelay(fd);
	return fd;
}

/* a connection with this request sent */
static int ask_with(const struct request *r, int window)
{
	int fd = connection(window);

	send_all(fd, r, sizeof(*r));
	return fd;
}

static int ask(uint32_t op, uint64_t count, uint32_t size, int window)
{
	struct request r = { .op = op, .size = size, .count = count };

	return ask_with(&r, window);
}

static struct answer answer_to(uint32_t op, uint32_t size)
{
	int fd = ask(op, 0, size, 0);
	struct answer a;

	read_all(fd, &a, sizeof(a));
	close(fd);
	return a;
}

/* latencies */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t *samples(unsigned long count)
{
	uint64_t *t = calloc(count, sizeof(*t));

	if (!t)
		die("calloc");
	return t;
}

/* sorts; the q-th of 1000 parts */
static uint64_t quantile(const uint64_t *t, unsigned long n, unsigned int q)
{
	return t[(n - 1) * q / 1000];
}

/* What has been done since begin(), and nothing of what starts and ends this program. */
static struct {
	unsigned long switches, kernel_turns;
	uint64_t ns, counting_ns;
} from;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* what it takes is told, for who counts this program's time */
static unsigned long turns_so_far(void)
{
	uint64_t before = cpu_ns();
	unsigned long turns = kernel_turns();

	from.counting_ns += cpu_ns() - before;
	return turns;
}

static void begin(void)
{
	from.switches = switches();
	from.kernel_turns = turns_so_far();
	from.ns = now_ns();
}

static void report(uint64_t *t, unsigned long n, unsigned long lost)
{
	uint64_t ns = now_ns() - from.ns;
	unsigned long turns = turns_so_far() - from.kernel_turns, switched = switches() - from.switches;

	if (!n)
		die("no answer at all");
	qsort(t, n, sizeof(*t), by_value);
	printf("n=%lu lost=%lu ns=%lu switches=%lu kernel_turns=%lu counting_ns=%lu min=%lu p50=%lu p99=%lu p999=%lu max=%lu\n",
	       n, lost, ns, switched, turns, from.counting_ns, t[0],
	       quantile(t, n, 500), quantile(t, n, 990), quantile(t, n, 999), t[n - 1]);
}

static void rr_tcp(unsigned long count, uint32_t size)
{
	uint64_t *t = samples(count), at;
	int fd = ask(OP_ECHO, 0, size, 0);
	unsigned long i;

	begin();
	for (i = 0; i < count; i++) {
		at = now_ns();
		send_all(fd, buf, size);
		read_all(fd, buf, size);
		t[i] = now_ns() - at;
	}
	report(t, count, 0);
}

static void rr_conn(unsigned long count)
{
	uint64_t *t = samples(count), at;
	unsigned long i;
	int fd;

	begin();
	for (i = 0; i < count; i++) {
		at = now_ns();
		fd = ask(OP_PING, 0, 0, 0);
		read_all(fd, buf, 1);
		close(fd);
		t[i] = now_ns() - at;
	}
	report(t, count, 0);
}

static int datagrams(void)
{
	struct timeval wait = { .tv_usec = LOST_MS * 1000 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&server, sizeof(server)))
		die("connect");
	return fd;
}

static void rr_udp(unsigned long count, uint32_t size)
{
	uint64_t *t = samples(count), at;
	unsigned long i, n = 0;
	int fd = datagrams();

	buf[0] = ECHO_BYTE;
	begin();
	for (i = 0; i < count; i++) {
		at = now_ns();
		if (send(fd, buf, size, 0) == (ssize_t)size && recv(fd, buf, sizeof(buf), 0) == (ssize_t)size)
			t[n++] = now_ns() - at;
	}
	report(t, n, count - n);
}

/* streams */

static void stream_to(uint64_t bytes, unsigned int streams, int window)
{
	struct pollfd p[STREAMS_MAX];
	uint64_t left[STREAMS_MAX], begin;
	unsigned int i, busy = streams;
	struct answer a;
	ssize_t n;

	for (i = 0; i < streams; i++) {
		left[i] = bytes / streams;
		p[i] = (struct pollfd) { ask(OP_SINK, left[i], 0, window), POLLOUT, 0 };
	}
	begin = now_ns();
	while (busy) {
		if (streams > 1)
			poll(p, streams, -1);
		for (i = 0; i < streams; i++) {
			if (!left[i] || (streams > 1 && !p[i].revents))
				continue;
			n = send(p[i].fd, buf, left[i] < CHUNK ? left[i] : CHUNK, streams > 1 ? MSG_DONTWAIT : 0);
			if (n < 0 && errno != EAGAIN)
				die("send");
			left[i] -= n > 0 ? n : 0;
			if (!left[i]) {
				p[i].events = 0;
				busy--;
			}
		}
	}
	for (i = 0; i < streams; i++)
		read_all(p[i].fd, &a, sizeof(a));
	printf("bytes=%lu ns=%lu\n", bytes / streams * streams, now_ns() - begin);
}

static void stream_from(uint64_t bytes, unsigned int streams, int window)
{
	struct pollfd p[STREAMS_MAX];
	uint64_t left = bytes / streams * streams, begin;
	unsigned int i;
	ssize_t n;

	for (i = 0; i < streams; i++)
		p[i] = (struct pollfd) { connection(window), POLLIN, 0 };
	begin = now_ns();
	for (i = 0; i < streams; i++) {
		struct request r = { .op = OP_SOURCE, .count = bytes / streams };

		send_all(p[i].fd, &r, sizeof(r));
	}
	while (left) {
		if (streams > 1)
			poll(p, streams, -1);
		for (i = 0; i < streams; i++) {
			if (streams > 1 && !p[i].revents)
				continue;
			n = recv(p[i].fd, buf, sizeof(buf), streams > 1 ? MSG_DONTWAIT : 0);
			if (n == 0 || (n < 0 && errno != EAGAIN))
				die("recv");
			left -= n > 0 ? n : 0;
		}
	}
	printf("bytes=%lu ns=%lu\n", bytes / streams * streams, now_ns() - begin);
}

/* datagrams, as fast as they go: what arrives is what counts */

static void print_datagrams(const struct answer *sent, const struct answer *got)
{
	printf("sent=%lu sent_ns=%lu got=%lu ns=%lu\n", sent->count, sent->ns, got->count, got->ns);
}

static void blast_to(unsigned long count, uint32_t size, uint32_t gap)
{
	struct answer sent, got;

	answer_to(OP_RESULT, 0);
	blast(datagrams(), count, size, gap, &sent);
	got = answer_to(OP_RESULT, 0);
	print_datagrams(&sent, &got);
}

/* what is under way when the server has ended still counts */
static void draw(unsigned long count, uint32_t size, uint32_t gap)
{
	struct request r = { .op = OP_BLAST, .size = size, .count = count, .gap = gap };
	struct sockaddr_in self = { .sin_family = AF_INET };
	socklen_t len = sizeof(self);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), tcp;
	struct answer sent, got = { 0 };
	struct pollfd p[2];
	uint64_t first = 0, last = 0;
	bool more = true;

	if (bind(fd, (struct sockaddr *)&self, sizeof(self)) || getsockname(fd, (struct sockaddr *)&self, &len))
		die("bind");
	set_queue(fd);
	r.port = ntohs(self.sin_port);
	tcp = ask_with(&r, 0);
	p[0] = (struct pollfd) { fd, POLLIN, 0 };
	p[1] = (struct pollfd) { tcp, POLLIN, 0 };
	while (more) {
		poll(p, 2, -1);
		more = !(p[1].revents & POLLIN);
		while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0) {
			last = now_ns();
			if (!got.count++)
				first = last;
		}
	}
	read_all(tcp, &sent, sizeof(sent));
	got.ns = last - first;
	print_datagrams(&sent, &got);
}

static unsigned long argument(int argc, char **argv, int i, unsigned long without)
{
	return i < argc ? strtoul(argv[i], NULL, 0) : without;
}

static int usage(void)
{
	fputs("usage: rr serve PORT | tcp|udp|conn|to|from|blast|draw|window HOST PORT AMOUNT [...]\n", stderr);
	return 2;
}

static int run(const char *what, int argc, char **argv)
{
	unsigned long amount = argument(argc, argv, 4, 0), more = argument(argc, argv, 5, 1);

	if (!amount || !more || more > CHUNK)
		return usage();
	if (!strcmp(what, "tcp"))
		rr_tcp(amount, more);
	else if (!strcmp(what, "udp"))
		rr_udp(amount, more);
	else if (!strcmp(what, "conn"))
		rr_conn(amount);
	else if (!strcmp(what, "to") && more <= STREAMS_MAX)
		stream_to(amount, more, argument(argc, argv, 6, 0));
	else if (!strcmp(what, "from") && more <= STREAMS_MAX)
		stream_from(amount, more, argument(argc, argv, 6, 0));
	else if (!strcmp(what, "blast") && more <= DATAGRAM_MAX)
		blast_to(amount, more, argument(argc, argv, 6, 0));
	else if (!strcmp(what, "draw") && more <= DATAGRAM_MAX)
		draw(amount, more, argument(argc, argv, 6, 0));
	else if (!strcmp(what, "window"))
		answer_to(OP_WINDOW, amount);
	else
		return usage();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(strtoul(argv[2], NULL, 0));
	if (argc < 5)
		return usage();
	alarm(GIVE_UP_S);
	server = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons(strtoul(argv[3], NULL, 0)) };
	if (inet_pton(AF_INET, argv[2], &server.sin_addr) != 1)
		return usage();
	return run(argv[1], argc, argv);
}
