// SPDX-License-Identifier: GPL-2.0
/*
 * Data integrity over TCP: one side sends a stream that only its seed defines,
 * the other receives it, compares every byte with the same generator, and prints
 * length and hash of what it really got. The sender prints those of what it sent.
 *
 *	stream recv PORT SEED
 *	stream send ADDRESS PORT SEED BYTES
 *
 * And single datagrams, at a rate that anything can carry: the one sends so many, numbered
 * from 0, the other prints the number of each that comes as it was sent, or what is wrong
 * with it, until it is killed.
 *
 *	stream post ADDRESS PORT SEED COUNT LENGTH
 *	stream fetch PORT SEED LENGTH
 *
 * Exit status: 0 all bytes as expected, 1 a difference (its offset is printed),
 * 2 wrong use or a failed system call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_WORDS	16384
#define BLOCK_BYTES	(BLOCK_WORDS * sizeof(uint64_t))
#define GRAM_BYTES	65536
#define GRAM_NS		2000000L	/* from one datagram to the next */

struct generator {
	uint64_t state;
};

static void fail(const char *what)
{
	fprintf(stderr, "stream: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* xorshift64*: fast, and no period that a ring or a page size could divide */
static uint64_t next_word(struct generator *gen)
{
	uint64_t x = gen->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	gen->state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

static void fill_block(struct generator *gen, uint64_t *block)
{
	for (size_t i = 0; i < BLOCK_WORDS; i++)
		block[i] = next_word(gen);
}

/* order-sensitive, eight bytes a step; the last block may be partial */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	for (; len; p++, len--)
		hash = (hash ^ *p) * 0x100000001b3ULL;
	return hash;
}

static struct generator new_generator(const char *seed)
{
	/* zero is the one state that the generator cannot leave */
	return (struct generator){ .state = strtoull(seed, NULL, 0) * 2 + 1 };
}

static void report(const char *verb, uint64_t bytes, uint64_t hash)
{
	printf("%s %" PRIu64 " bytes, hash %016" PRIx64 "\n", verb, bytes, hash);
}

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0)
			fail("write");
		p += n;
		len -= n;
	}
}

static int do_send(const char *address, const char *port, const char *seed, uint64_t bytes)
{
	static uint64_t block[BLOCK_WORDS];
	struct generator gen = new_generator(seed);
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	uint64_t left = bytes, hash = 0;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &sin.sin_addr) != 1)
		fail(address);
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		fail("connect");
	while (left) {
		size_t len = left < BLOCK_BYTES ? left : BLOCK_BYTES;

		fill_block(&gen, block);
		hash = hash_bytes(hash, block, len);
		write_all(fd, block, len);
		left -= len;
	}
	close(fd);
	report("sent", bytes, hash);
	return 0;
}

static int listen_on(const char *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 1))
		fail("listen");
	return fd;
}

/* reads until a whole block is there or the stream ends */
static size_t read_block(int fd, void *block)
{
	size_t got = 0;

	while (got < BLOCK_BYTES) {
		ssize_t n = read(fd, (char *)block + got, BLOCK_BYTES - got);

		if (n < 0)
			fail("read");
		if (!n)
			break;
		got += n;
	}
	return got;
}

static int first_difference(const void *a, const void *b, size_t len)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	while (i < len && x[i] == y[i])
		i++;
	return i;
}

static int do_recv(const char *port, const char *seed)
{
	static uint64_t block[BLOCK_WORDS], want[BLOCK_WORDS];
	struct generator gen = new_generator(seed);
	int fd = accept(listen_on(port), NULL, NULL);
	uint64_t bytes = 0, hash = 0;
	size_t len;

	if (fd < 0)
		fail("accept");
	while ((len = read_block(fd, block))) {
		fill_block(&gen, want);
		if (memcmp(block, want, len)) {
			printf("first wrong byte at offset %" PRIu64 "\n",
			       bytes + first_difference(block, want, len));
			return 1;
		}
		hash = hash_bytes(hash, block, len);
		bytes += len;
	}
	report("received", bytes, hash);
	return 0;
}

/* Its number, and words that only number and seed define. */
static void fill_gram(const char *seed, uint64_t number, uint64_t *gram)
{
	struct generator gen = { .state = (strtoull(seed, NULL, 0) + number) * 2 + 1 };

	gram[0] = number;
	for (size_t i = 1; i < GRAM_BYTES / sizeof(*gram); i++)
		gram[i] = next_word(&gen);
}

static int do_post(const char *address, const char *port, const char *seed, uint64_t count,
		   size_t len)
{
	static uint64_t gram[GRAM_BYTES / sizeof(uint64_t)];
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	const struct timespec gap = { .tv_nsec = GRAM_NS };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &sin.sin_addr) != 1)
		fail(address);
	for (uint64_t i = 0; i < count; i++) {
		fill_gram(seed, i, gram);
		if (sendto(fd, gram, len, 0, (struct sockaddr *)&sin, sizeof(sin)) != (ssize_t)len)
			fail("sendto");
		nanosleep(&gap, NULL);
	}
	printf("posted %" PRIu64 "\n", count);
	return 0;
}

static void do_fetch(const char *port, const char *seed, size_t len)
{
	static uint64_t gram[GRAM_BYTES / sizeof(uint64_t)], want[GRAM_BYTES / sizeof(uint64_t)];
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	ssize_t n;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof(sin)))
		fail("bind");
	/* each line at once: the reader is killed */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		n = recv(fd, gram, sizeof(gram), 0);
		if (n < 0)
			fail("recv");
		fill_gram(seed, gram[0], want);
		if (n != (ssize_t)len)
			printf("wrong: %zd bytes\n", n);
		else if (memcmp(gram, want, len))
			printf("wrong: byte %d of number %" PRIu64 "\n", first_difference(gram, want, len), gram[0]);
		else
			printf("%" PRIu64 "\n", gram[0]);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "recv"))
		return do_recv(argv[2], argv[3]);
	if (argc == 6 && !strcmp(argv[1], "send"))
		return do_send(argv[2], argv[3], argv[4], strtoull(argv[5], NULL, 0));
	if (argc == 7 && !strcmp(argv[1], "post") && atol(argv[6]) >= 8 && atol(argv[6]) < GRAM_BYTES)
		return do_post(argv[2], argv[3], argv[4], strtoull(argv[5], NULL, 0), atol(argv[6]));
	if (argc == 5 && !strcmp(argv[1], "fetch"))
		do_fetch(argv[2], argv[3], atol(argv[4]));
	fprintf(stderr, "usage: stream recv PORT SEED | stream send ADDRESS PORT SEED BYTES |\n"
		"stream post ADDRESS PORT SEED COUNT LENGTH | stream fetch PORT SEED LENGTH\n");
	return 2;
}
