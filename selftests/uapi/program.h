/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program - a list of operations as numbers; as a text by which it can be repeated; and
 * how new ones are made of some that have shown something new.  What an operation is,
 * follows from a gene and a place in it alone (abuse.h).
 */
#ifndef SELFTESTS_PROGRAM_H
#define SELFTESTS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_GENES		8	/* of one that is new */
#define PROGRAM_PER_GENE	64
#define PROGRAM_OPS		(PROGRAM_GENES * PROGRAM_PER_GENE)
#define PROGRAM_TEXT		900	/* a line of the kernel's log */
#define PROGRAMS_KEPT		256

/*
 * The text: genes in hexadecimal with dots between them, each with the places that
 * are of it, if these are not all: "1f3a.20c:7-12.20c:3".
 */
struct program {
	unsigned int n;
	struct {
		uint64_t gene;
		uint8_t place;
	} op[PROGRAM_OPS];
	char text[PROGRAM_TEXT];
};

/* How one is made: by chance, half by chance, of others with some changes. */
enum { PROGRAM_NEW, PROGRAM_HALF, PROGRAM_CHILD, PROGRAM_WAYS };

struct programs {
	/* Of each way lately; the way of the last one. */
	unsigned int tried[PROGRAM_WAYS], paid[PROGRAM_WAYS], way;
	unsigned int n;
	unsigned long kept;	/* some of them have made room for others */
	struct program kept_one[PROGRAMS_KEPT];
};

typedef uint32_t (*program_dice)(void);

void program_random(struct program *p, program_dice dice);
/* One from a text, as far as it is one; false if that is nothing. */
bool program_read(struct program *p, const char *text);
/* Writes the text; what does not fit is cut off the program, too. */
void program_name(struct program *p);
/* Made in the way that has paid most lately, mostly. */
void program_next(struct program *p, struct programs *all, program_dice dice);
/* The last one had something new. */
void program_keep(struct programs *all, const struct program *p, program_dice dice);

#endif /* SELFTESTS_PROGRAM_H */
