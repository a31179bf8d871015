// SPDX-License-Identifier: GPL-2.0
/*
 * nl_socket.c - the socket, see nl.h
 */
#include "nl.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* receive buffer for events, in bytes, if permitted */
#define EVENT_ROOM	(1 << 20)

static const struct sockaddr_nl kernel_addr = { .nl_family = AF_NETLINK };

struct nl_socket {
	struct mnl_socket *mnl;
};

/**
 * nl_socket_open() - a socket of generic netlink, with the kernel's reasons
 *
 * Return: the socket, or NULL with errno.
 */
struct nl_socket *nl_socket_open(void)
{
	struct nl_socket *s = need(calloc(1, sizeof(*s)));
	int one = 1;

	s->mnl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	/* root of a network namespace may send to others' sockets there: not to one that is connected */
	if (!s->mnl || mnl_socket_bind(s->mnl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    connect(nl_socket_fd(s), (const struct sockaddr *)&kernel_addr, sizeof(kernel_addr))) {
		nl_socket_close(s);
		return NULL;
	}
	mnl_socket_setsockopt(s->mnl, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(s->mnl, NETLINK_CAP_ACK, &one, sizeof(one));
	return s;
}

/**
 * nl_socket_close() - the end of a socket; errno stays
 * @s: the socket
 */
void nl_socket_close(struct nl_socket *s)
{
	int err = errno;

	if (s->mnl)
		mnl_socket_close(s->mnl);
	free(s);
	errno = err;
}

/**
 * nl_socket_fd() - for poll()
 * @s: the socket
 *
 * Return: the descriptor.
 */
int nl_socket_fd(const struct nl_socket *s)
{
	return mnl_socket_get_fd(s->mnl);
}

/**
 * nl_socket_join() - subscribe to the events of a group
 * @s: the socket
 * @group: as the kernel numbers it
 *
 * Return: 0, or -1 with errno.
 */
int nl_socket_join(struct nl_socket *s, uint32_t group)
{
	int id = group, room = EVENT_ROOM;

	/* without CAP_NET_ADMIN the default stays */
	setsockopt(nl_socket_fd(s), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return mnl_socket_setsockopt(s->mnl, NETLINK_ADD_MEMBERSHIP, &id,
				     sizeof(id));
}

/**
 * nl_socket_send() - to the kernel
 * @s: the socket
 * @buf: messages
 * @len: bytes of them
 *
 * Return: @len, or -1 with errno.
 */
ssize_t nl_socket_send(struct nl_socket *s, const void *buf, size_t len)
{
	return mnl_socket_sendto(s->mnl, buf, len);
}

/**
 * nl_socket_recv() - from the kernel; waits
 * @s: the socket
 * @buf: for messages
 * @len: bytes there
 *
 * Return: bytes of messages, or -1 with errno; EAGAIN: what came was not the kernel's;
 * ENOSPC: it was longer.
 */
ssize_t nl_socket_recv(struct nl_socket *s, void *buf, size_t len)
{
	struct sockaddr_nl from = { 0 };
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from),
		.msg_iov = &iov, .msg_iovlen = 1,
	};
	ssize_t n = recvmsg(nl_socket_fd(s), &msg, 0);

	if (n < 0)
		return n;
	errno = msg.msg_flags & MSG_TRUNC ? ENOSPC : EAGAIN;
	return from.nl_pid || msg.msg_flags & MSG_TRUNC ? -1 : n;
}

/**
 * nl_socket_drain() - discard what is queued; errno stays
 * @s: the socket
 *
 * A socket that has overrun gets no event until it is empty, and no error for those that are
 * lost meanwhile.
 */
void nl_socket_drain(struct nl_socket *s)
{
	unsigned int most = EVENT_ROOM / sizeof(struct nlmsghdr);
	int err = errno;
	char byte;

	/* bounded, since new ones may come as fast */
	while (most-- && (recv(nl_socket_fd(s), &byte, sizeof(byte), MSG_DONTWAIT) >= 0 ||
			  errno == ENOBUFS || errno == EINTR))
		;
	errno = err;
}
