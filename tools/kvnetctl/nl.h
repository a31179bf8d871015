/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nl - requests of generic netlink and their answers
 *
 * nl.c knows messages; nl_socket.c has the socket, and is what tests put another in
 * the place of.
 */
#ifndef KVNETCTL_NL_H
#define KVNETCTL_NL_H

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "libkvnet.h"

#define NL_BUFFER	32768

/* Takes a message of the answer; returns 0 or a negative errno. */
typedef int (*nl_take_t)(const struct nlmsghdr *nlh, void *data);

bool nl_ok(const struct nlmsghdr *nlh, int left);
struct nlmsghdr *nl_message(struct kvnet *k, void *buf, uint16_t type,
			    uint8_t cmd, uint16_t flags);
int nl_talk(struct kvnet *k, struct nlmsghdr *nlh, nl_take_t take, void *data);
int nl_fail(struct kvnet *k, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct nl_socket *nl_socket_open(void);
void nl_socket_close(struct nl_socket *s);
int nl_socket_fd(const struct nl_socket *s);
int nl_socket_join(struct nl_socket *s, uint32_t group);
ssize_t nl_socket_send(struct nl_socket *s, const void *buf, size_t len);
ssize_t nl_socket_recv(struct nl_socket *s, void *buf, size_t len);
void nl_socket_drain(struct nl_socket *s);

/* parse.c: attributes into the structures of libkvnet.h */
int parse_device(const struct nlmsghdr *nlh, struct kvnet_device *dev);
int parse_queue(const struct nlmsghdr *nlh, struct kvnet_queue *q);
int parse_worker(const struct nlmsghdr *nlh, struct kvnet_worker *w);
void free_queue(struct kvnet_queue *q);
void free_worker(struct kvnet_worker *w);

#endif /* KVNETCTL_NL_H */
