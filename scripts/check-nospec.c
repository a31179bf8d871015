// SPDX-License-Identifier: GPL-2.0
/*
 * check-nospec.c - what check-nospec.py has to find, and what not: each index but that of answer()
 * is checked by a branch; with MASKED all are masked, and nothing is to be found
 *
 * Compiled as the kernel is, and never linked.
 */
typedef unsigned short u16;
typedef unsigned int u32;

#define ENTRIES	64

#ifdef MASKED
#define INDEX(i, mask)	((i) & (mask))
#else
#define INDEX(i, mask)	(i)
#endif

struct ring {
	const u16 *avail;
	const long *table;
	u32 num;	/* a power of two */
};

struct workers {
	long *worker[ENTRIES];
};

int fill(u32 *to, u32 n);
u32 ask(void);

/* array_index_mask_nospec() of x86 */
static inline unsigned long mask(unsigned long index, unsigned long size)
{
	unsigned long mask;

	asm volatile("cmp %1,%2; sbb %0,%0" : "=r" (mask) : "g" (size), "r" (index) : "cc");
	return mask;
}

/* get_user(): status in ax, value in dx */
static inline u32 get_user(const u32 *from)
{
	register u32 value asm("edx");
	unsigned long at = (unsigned long)from;

	asm volatile("call __get_user_4" : "+a" (at), "=r" (value) : : "cc", "memory");
	return at ? ENTRIES : value;
}

/* 16 bits of memory that the driver writes */
long ring(const struct ring *r, u32 i)
{
	u16 head = r->avail[i & (ENTRIES - 1)];

	return head < r->num ? r->table[INDEX(head, r->num - 1)] : -1;
}

/* a register of the caller's, si; a load, and a store */
long *argument(const struct workers *workers, u32 id)
{
	return id < ENTRIES ? workers->worker[INDEX(id, mask(id, ENTRIES))] : 0;
}

void argument_store(struct workers *workers, u32 id)
{
	if (id < ENTRIES)
		workers->worker[INDEX(id, mask(id, ENTRIES))] = 0;
}

/* what the VMM's memory has */
long *user(const struct workers *workers, const u32 *from)
{
	u32 id = get_user(from);

	return id < ENTRIES ? workers->worker[INDEX(id, mask(id, ENTRIES))] : 0;
}

/* what a call has left on the stack; all entries of it are looked at */
long stack(const struct workers *workers)
{
	u32 id[ENTRIES], i;
	long sum = 0;

	if (fill(id, ENTRIES))
		return -1;
	for (i = 0; i < ENTRIES; i++)
		if (id[i] < ENTRIES)
			sum += *workers->worker[INDEX(id[i], mask(id[i], ENTRIES))];
	return sum;
}

/* what a call returns; masked by a small constant, without a branch */
long *answer(const struct workers *workers)
{
	return workers->worker[INDEX(ask(), ENTRIES - 1)];
}

#ifndef MASKED
/* masked on one of two ways */
long *argument_one_way(const struct workers *workers, u32 id, int way)
{
	if (id >= ENTRIES)
		return 0;
	if (way) {
		fill(&id, 1);
		id &= ENTRIES - 1;
	}
	return workers->worker[id];
}
#endif
