// SPDX-License-Identifier: GPL-2.0
/*
 * rr's server: one thread and epoll. All tests are asked for by the other end, in
 * both directions, so that nothing needs to be started here in between.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rr.h"

struct conn {
	int fd;
	unsigned int got;	/* of the request */
	struct request req;
	uint64_t left;
};

struct server {
	int ep, listener, udp;
	uint64_t count, first, last;
};

static char buf[CHUNK];

static void watch(struct server *s, int fd, void *ptr, int how, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	if (epoll_ctl(s->ep, how, fd, &ev))
		die("epoll_ctl");
}

static void end(struct conn *c)
{
	close(c->fd);
	free(c);
}

static void accept_one(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK);
	struct conn *c;

	if (fd < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c)
		die("calloc");
	c->fd = fd;
	set_nodelay(fd);
	watch(s, fd, c, EPOLL_CTL_ADD, EPOLLIN);
}

static void blast_back(struct conn *c)
{
	struct answer a;
	struct sockaddr_in to;
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || getpeername(c->fd, (struct sockaddr *)&to, &len))
		die("blast");
	to.sin_port = htons(c->req.port);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("connect");
	blast(fd, c->req.count, c->req.size, c->req.gap, &a);
	close(fd);
	send_all(c->fd, &a, sizeof(a));
}

static void result(struct server *s, int fd)
{
	struct answer a = { s->count, s->last - s->first };

	s->count = 0;
	send_all(fd, &a, sizeof(a));
}

/* the request is complete */
static void begin(struct server *s, struct conn *c)
{
	struct answer a = { 0 };

	c->got = sizeof(c->req);
	c->left = c->req.count;
	switch (c->req.op) {
	case OP_PING:
		send_all(c->fd, "", 1);
		break;
	case OP_SOURCE:
		watch(s, c->fd, c, EPOLL_CTL_MOD, EPOLLOUT);
		break;
	case OP_BLAST:
		blast_back(c);
		break;
	case OP_RESULT:
		result(s, c->fd);
		break;
	case OP_WINDOW:
		set_window(s->listener, c->req.size);
		send_all(c->fd, &a, sizeof(a));
		break;
	}
}

/* returns false at the connection's end */
static bool read_some(struct server *s, struct conn *c)
{
	struct answer a = { c->req.count, 0 };
	ssize_t n;

	if (c->got < sizeof(c->req)) {
		n = read(c->fd, (char *)&c->req + c->got, sizeof(c->req) - c->got);
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		c->got += n;
		if (c->got == sizeof(c->req))
			begin(s, c);
		return true;
	}
	n = read(c->fd, buf, sizeof(buf));
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	if (c->req.op == OP_ECHO)
		send_all(c->fd, buf, n);
	if (c->req.op != OP_SINK)
		return true;
	c->left -= n;
	if (!c->left)
		send_all(c->fd, &a, sizeof(a));
	return true;
}

static bool write_some(struct server *s, struct conn *c)
{
	ssize_t n = write(c->fd, buf, c->left < CHUNK ? c->left : CHUNK);

	if (n < 0)
		return errno == EAGAIN;
	c->left -= n;
	if (!c->left)
		watch(s, c->fd, c, EPOLL_CTL_MOD, EPOLLIN);
	return true;
}

static void take_datagrams(struct server *s)
{
	static char data[DATAGRAM_MAX];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(s->udp, data, sizeof(data), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len)) > 0) {
		if (data[0] == ECHO_BYTE) {
			sendto(s->udp, data, n, 0, (struct sockaddr *)&from, len);
			continue;
		}
		s->last = now_ns();
		if (!s->count++)
			s->first = s->last;
	}
}

static void handle(struct server *s, struct epoll_event *ev)
{
	struct conn *c = ev->data.ptr;

	if (ev->data.ptr == &s->listener)
		accept_one(s);
	else if (ev->data.ptr == &s->udp)
		take_datagrams(s);
	else if (!(ev->events & EPOLLOUT ? write_some(s, c) : read_some(s, c)))
		end(c);
}

static int bound(int type, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, type, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)))
		die("bind");
	return fd;
}

int serve(uint16_t port)
{
	struct server s = { .ep = epoll_create1(0) };
	struct epoll_event ev[16];
	int i, n;

	s.udp = bound(SOCK_DGRAM, port);
	set_queue(s.udp);
	s.listener = bound(SOCK_STREAM, port);
	if (listen(s.listener, 64))
		die("listen");
	watch(&s, s.listener, &s.listener, EPOLL_CTL_ADD, EPOLLIN);
	watch(&s, s.udp, &s.udp, EPOLL_CTL_ADD, EPOLLIN);
	for (;;) {
		n = epoll_wait(s.ep, ev, 16, -1);
		for (i = 0; i < n; i++)
			handle(&s, ev + i);
	}
}
