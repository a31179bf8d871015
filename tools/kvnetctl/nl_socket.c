// SPDX-License-Identifier: GPL-2.0
/*
 * nl_socket.c - the socket, see nl.h
 */
#include "nl.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

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
	if (!s->mnl || mnl_socket_bind(s->mnl, 0, MNL_SOCKET_AUTOPID) < 0) {
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
 * nl_socket_join() - hear the events of a group
 * @s: the socket
 * @group: as the kernel numbers it
 *
 * Return: 0, or -1 with errno.
 */
int nl_socket_join(struct nl_socket *s, uint32_t group)
{
	int id = group;

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
 * Return: bytes of messages, or -1 with errno.
 */
ssize_t nl_socket_recv(struct nl_socket *s, void *buf, size_t len)
{
	return mnl_socket_recvfrom(s->mnl, buf, len);
}
