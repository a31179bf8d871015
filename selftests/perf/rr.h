/* SPDX-License-Identifier: GPL-2.0 */
/* What rr's two ends say to each other; both are built for the same machine. */
#ifndef SELFTESTS_PERF_RR_H
#define SELFTESTS_PERF_RR_H

#include <stdint.h>

enum op {
	OP_ECHO = 1,	/* size bytes back for size bytes, until the end */
	OP_PING,	/* one byte back */
	OP_SINK,	/* count bytes follow; an answer when all are there */
	OP_SOURCE,	/* send me count bytes */
	OP_BLAST,	/* send count datagrams of size bytes to my port, gap us apart */
	OP_RESULT,	/* how many datagrams came, in what time; forget them */
	OP_WINDOW,	/* buffers of size bytes for connections from now on */
};

struct request {
	uint32_t op;
	uint32_t size;
	uint64_t count;
	uint32_t port;
	uint32_t gap;
};

struct answer {
	uint64_t count;
	uint64_t ns;
};

enum { CHUNK = 128 * 1024, DATAGRAM_MAX = 65507 };
#define ECHO_BYTE 'E'	/* a datagram that begins so is sent back */

int serve(uint16_t port);

/* context switches of all CPUs so far; turns that the kernel's own threads have had: rr_switches.c */
unsigned long switches(void);
unsigned long kernel_turns(void);

uint64_t now_ns(void);
void die(const char *what) __attribute__((noreturn));
void set_window(int fd, int size);
void set_nodelay(int fd);
void set_queue(int fd);
void send_all(int fd, const void *data, unsigned long len);
void blast(int fd, uint64_t count, uint32_t size, uint32_t gap, struct answer *a);

#endif
