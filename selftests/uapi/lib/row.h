/* SPDX-License-Identifier: GPL-2.0 */
/*
 * row - one ioctl, tried on a device in a given state, and what must come of it.
 *
 * Where in-tree vhost_net answers differently, the row says so, and why; a
 * difference may hold only where vhost_net lacks (or has) something.
 */
#ifndef SELFTESTS_ROW_H
#define SELFTESTS_ROW_H

#include "rig.h"
#include "vhost_abi.h"

/* Without an owner, just with one, set up but for the backend, with it. */
enum row_state { NEW, OWNED, READY, RUNNING };

/* Symbolic file descriptors, opened when the row runs. */
enum row_fd { FD_NONE = -1, FD_CLOSED = -2, FD_HUGE = 1 << 30, FD_FIRST = 1000,
	      FD_EVENT = FD_FIRST, FD_MEM, FD_DIR, FD_PIPE, FD_UDP, FD_DGRAM,
	      FD_SELF, FD_TUN, FD_INET_RAW, FD_UNIX };

/* What the running kernel's vhost_net has, or has not. */
enum row_when { ALWAYS, NO_ARRAY, HAS_ARRAY, NO_FORK, NO_ENDIAN };

struct row_differs {
	const char *why;
	int err;
	enum row_when when;
};

struct row {
	const char *what;
	unsigned long req;
	const void *arg;
	int err;
	struct row_differs vhost[2];
	int without_task;	/* before Linux 6.11, where err has to be 0 */
};

#define VHOST(...)	.vhost = { { __VA_ARGS__ } }
#define STATE(i, n)	(&(const struct vhost_vring_state){ i, n })
#define VFILE(i, n)	(&(const struct vhost_vring_file){ i, n })
#define INT(v)		(&(const int){ v })
#define U8(v)		(&(const uint8_t[4]){ v })
#define U64(v)		(&(const uint64_t){ v })
#define ADDR(...)	(&(const struct vhost_vring_addr){ __VA_ARGS__ })
#define WORDS(...)	(&(const struct abi_features){ __VA_ARGS__ })
#define BAD_INDEX(req)	\
	{ #req ", index 2", req, ADDR(.index = 2), ENOBUFS }, \
	{ #req ", index -1", req, ADDR(.index = -1u), ENOBUFS }

/* struct vhost_memory, and its regions */
struct mem2 {
	struct {
		uint32_t nregions, padding;
	} m;
	struct vhost_memory_region r[2];
};
#define REG(gpa, size, hva)	{ gpa, size, hva, 0 }
#define MEM1(...)	\
	(&(const struct mem2){ { .nregions = 1 }, { __VA_ARGS__ } })
#define MEM2(...)	\
	(&(const struct mem2){ { .nregions = 2 }, { __VA_ARGS__ } })
#define KERNEL_ADDR	0xffff880000000000ull
#define USER_ADDR	0x10000000ull

bool row_when(enum row_when when);
/* The difference that is stated for the vhost_net of this kernel, or NULL. */
const struct row_differs *row_differs(const struct row *row);
/* What 'node' must answer: the errno, positive. */
int row_wants(const struct row *row, bool vhost);
/* 0 or -errno.  compat: as a 32-bit process would ask. */
int row_try(int fd, const struct row *row, bool compat);
/* Has this kernel an entry for 32-bit processes? */
bool row_compat(void);
const char *row_error(int err);
/* What an accepted row may have changed, as it was. */
void row_restore(struct rig *r);

#endif /* SELFTESTS_ROW_H */
