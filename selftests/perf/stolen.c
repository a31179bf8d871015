// SPDX-License-Identifier: GPL-2.0
/* Time that the machine gave to others: see stolen.h. */
#include "ksft.h"
#include "spec.h"
#include "stolen.h"

#define GIVEN		"/sys/module/kvnet_hosttime/parameters/cpu_ns"
/* What is not stolen, but takes its time unseen: the machine's switches between us. */
#define SHARE		20u	/* this part of a piece */
#define ALWAYS_NS	20000u	/* and this */

static int fd = -1;
static uint64_t wall, given;	/* when the piece began */
static uint64_t took, got;	/* by all pieces */

/* False: nobody knows. */
static bool read_given(uint64_t *ns)
{
	char text[32];
	ssize_t n;

	/* once, and not again where there is none */
	if (fd == -1) {
		fd = open(GIVEN, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -2;
	}
	if (fd < 0)
		return false;
	n = ASSERT_SYS(pread(fd, text, sizeof(text) - 1, 0));
	text[n] = 0;
	*ns = strtoull(text, NULL, 10);
	return true;
}

void stolen_begin(void)
{
	given = 0;
	if (read_given(&given))
		wall = now_ns();
}

void stolen_end(void)
{
	uint64_t now;

	if (fd < 0)
		return;
	took += now_ns() - wall;
	if (read_given(&now))
		got += now - given;
}

bool stolen_much(void)
{
	uint64_t most = took / SHARE + ALWAYS_NS;
	bool much = took > got + most;

	took = got = 0;
	return much;
}

uint64_t given_ns(void)
{
	uint64_t ns;

	return read_given(&ns) ? ns : now_ns();
}
