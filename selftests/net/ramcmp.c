// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the memory of two guests, page by page: after a migration both must
 * be the same. Shows the first pages that differ, with the bytes on both sides:
 * what they hold often tells which side wrote them.
 *
 *	ramcmp FILE FILE
 *
 * Exit status: 0, 1 if a page differs, 2 for a failed system call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES	4096
#define CHUNK_BYTES	(256 * PAGE_BYTES)
#define SHOWN_MAX	8
#define SHOWN_BYTES	32

struct side {
	const char *name;
	int fd;
	unsigned char buf[CHUNK_BYTES];
};

static struct side a, b;

static void fail(const char *what)
{
	fprintf(stderr, "ramcmp: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void open_side(struct side *s, const char *name)
{
	s->name = name;
	s->fd = open(name, O_RDONLY);
	if (s->fd < 0)
		fail(name);
}

/* a whole chunk, or what is left of the file */
static size_t read_chunk(struct side *s)
{
	size_t have = 0;
	ssize_t n;

	while (have < CHUNK_BYTES) {
		n = read(s->fd, s->buf + have, CHUNK_BYTES - have);
		if (n < 0)
			fail(s->name);
		if (!n)
			break;
		have += n;
	}
	return have;
}

static void show_bytes(const char *name, const unsigned char *p, size_t len)
{
	size_t i;

	printf("  %s: ", name);
	for (i = 0; i < len && i < SHOWN_BYTES; i++)
		printf("%02x%s", p[i], i % 8 == 7 ? " " : "");
	puts("");
}

static void show_page(const unsigned char *p, const unsigned char *q,
		      unsigned long long at)
{
	size_t i, first = PAGE_BYTES, count = 0;

	for (i = 0; i < PAGE_BYTES; i++) {
		if (p[i] == q[i])
			continue;
		count++;
		if (first == PAGE_BYTES)
			first = i & ~7UL;
	}
	printf("page %#llx differs in %zu bytes, from %#zx on\n", at, count, first);
	show_bytes(a.name, p + first, PAGE_BYTES - first);
	show_bytes(b.name, q + first, PAGE_BYTES - first);
}

int main(int argc, char **argv)
{
	unsigned long long pages = 0, differ = 0;
	size_t len, i;

	if (argc != 3) {
		fprintf(stderr, "usage: ramcmp FILE FILE\n");
		return 2;
	}
	open_side(&a, argv[1]);
	open_side(&b, argv[2]);
	do {
		len = read_chunk(&a);
		if (read_chunk(&b) != len || len % PAGE_BYTES) {
			puts("the sizes differ, or are not of whole pages");
			return 1;
		}
		for (i = 0; i < len; i += PAGE_BYTES, pages++) {
			if (!memcmp(a.buf + i, b.buf + i, PAGE_BYTES))
				continue;
			if (differ++ < SHOWN_MAX)
				show_page(a.buf + i, b.buf + i, pages * PAGE_BYTES);
		}
	} while (len);
	printf("%llu of %llu pages differ\n", differ, pages);
	return differ || !pages;
}
