/* SPDX-License-Identifier: GPL-2.0 */
/*
 * genl - kvnet's generic-netlink family: requests, lists, events.
 *
 * Not by libmnl, so that wrong messages can be made, too.
 */
#ifndef SELFTESTS_GENL_H
#define SELFTESTS_GENL_H

#include <linux/kvnet.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A socket, and what the kernel said last: errno's text is in said, if it gave one. */
struct genl {
	int fd;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
	char said[128];
	int bad;		/* place in the request of the wrong attribute, or -1 */
	size_t piece;		/* most bytes that are read at once: so large are a list's pieces */
};

/* Attributes side by side. */
struct attrs {
	const uint8_t *at;
	size_t len;
};

/* A request under construction. */
struct ask {
	struct nlmsghdr n;
	uint8_t rest[1500];
};

/* In the caller's network namespace; skips the case without the family. */
void genl_open(struct genl *g);
/* Lists come in pieces of so many bytes, from 8 to 32 KiB. */
void genl_open_pieces(struct genl *g, size_t piece);
void genl_close(struct genl *g);

void ask_begin(struct ask *a, const struct genl *g, uint8_t cmd);
struct nlattr *ask_put(struct ask *a, unsigned int type, const void *data, size_t len);
void ask_u8(struct ask *a, unsigned int type, uint8_t value);
void ask_u32(struct ask *a, unsigned int type, uint32_t value);
void ask_text(struct ask *a, unsigned int type, const char *text);
struct nlattr *ask_nest(struct ask *a, unsigned int type);
void ask_nest_end(struct ask *a, struct nlattr *nest);

/*
 * 0 or -errno. A list: 'each' for every message, whose command is that of the
 * request. Otherwise: once for the answer, if there is one.
 */
int genl_do(struct genl *g, struct ask *a, bool list,
	    void (*each)(struct attrs answer, void *arg), void *arg);
/* So many messages; -errno. */
int genl_count(struct genl *g, uint8_t cmd);

/* 0 or -errno. */
int genl_join(struct genl *g);
/* The next event, which stays until the next call; 0 when none came. */
uint8_t genl_event(struct genl *g, unsigned int ms, struct attrs *event);

/* The nth attribute of a type: its payload; false without it. */
bool attr_nth(struct attrs in, unsigned int type, unsigned int nth, struct attrs *found);
bool attr_has(struct attrs in, unsigned int type);
/* 0 or "" without it. */
uint32_t attr_u32(struct attrs in, unsigned int type);
uint64_t attr_u64(struct attrs in, unsigned int type);
const char *attr_text(struct attrs in, unsigned int type);
struct attrs attr_nest(struct attrs in, unsigned int type);

#endif /* SELFTESTS_GENL_H */
