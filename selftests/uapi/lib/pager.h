/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pager - memory that comes late (userfaultfd), as that of a guest that runs on
 * while its memory is still on its way (post-copy migration).
 */
#ifndef SELFTESTS_PAGER_H
#define SELFTESTS_PAGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE	4096ul

/* The source of a migration: what missing pages are to hold. */
struct pager {
	int fd;
	uint8_t *at;		/* memory that is missing */
	uint8_t *copy;		/* and what it holds */
	size_t len;
	bool holds;		/* does not deliver */
	int told;		/* and writes here, if it is not 0 */
	unsigned int asked;	/* pages that it has held back */
	unsigned int pages;	/* delivered */
	uint64_t wanted;	/* the last one that it held back */
	pthread_t thread;
};

extern struct pager pager;

void pager_open(void);
/* [at, at + len) is missing from now on, and comes from the pager's thread. */
void pager_take_away(void *at, size_t len);
/* The same, and it never comes. */
void pager_take_away_for_ever(void *at, size_t len);
/* Once more, with what it holds now. */
void pager_take_again(void *at, size_t len);
/* Has it held back so many? */
bool pager_asked(unsigned int n, unsigned int ms);
/* The page that was held back last, and from now on each at once. */
void pager_go_on(void);
/* That page, and no other. */
void pager_bring_one(void);
/* Another process may have the pager's file: its number. */
void pager_tell(int to);

#endif /* SELFTESTS_PAGER_H */
