/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest.h - memory that the guest and the VMM change between any two accesses
 *
 * It has addresses, but no content: a read gives any value, the same bytes read again give any
 * other. A user access may also fault, and has then read or written any part. An access outside
 * of the windows refutes the proof, and so does one that does not come here: CBMC knows no
 * object at these addresses.
 *
 * Included by one file of a harness: it defines what shim.h of the unit tests declares.
 */
#ifndef PROOFS_GUEST_H
#define PROOFS_GUEST_H

#include "proof.h"
#include "shim.h"

struct guest_window {
	uintptr_t start;
	size_t len;
};

/* Each starts at another multiple of this; 0 is none. */
#define GUEST_STRIDE	((uintptr_t)1 << 32)
#define GUEST_WINDOWS	3

static struct guest_window guest_windows[GUEST_WINDOWS];
static unsigned int guest_reads;	/* reads of guest memory */
static u64 guest_scratch;		/* of one access by get_user() or put_user() */
static uintptr_t guest_at;		/* its address */

uint64_t shim_user_end = 1ULL << 47;
uint64_t shim_tag;
int shim_alloc_budget = -1;
int shim_alloc_live;

/* The harness may look at what has been read and written, if it defines GUEST_HOOKS. */
#ifdef GUEST_HOOKS
static void guest_has_read(uintptr_t at, const void *val, size_t len);
static void guest_has_written(uintptr_t at, const void *val, size_t len);
#else
static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
}
#endif

/* An address of window @i, which has @len bytes. */
static void *guest_area(unsigned int i, size_t len)
{
	guest_windows[i].start = (i + 1) * GUEST_STRIDE;
	guest_windows[i].len = len;
	return (void *)guest_windows[i].start;
}

static bool guest_has(uintptr_t at, size_t len)
{
	unsigned int i = at / GUEST_STRIDE - 1;
	uintptr_t off = at % GUEST_STRIDE;

	return i < GUEST_WINDOWS && off <= guest_windows[i].len &&
	       len <= guest_windows[i].len - off;
}

void guest_read(void *dst, const volatile void *src, size_t len)
{
	size_t i;

	ASSERT(guest_has((uintptr_t)src, len));
	/* words, and not all at once: CBMC does better with typed stores than with bytes */
	if (len == sizeof(u64) || len == 2 * sizeof(u64)) {
		*(u64 *)dst = any_u64();
		if (len > sizeof(u64))
			((u64 *)dst)[1] = any_u64();
	} else {
		for (i = 0; i < len / sizeof(u16); i++)
			((u16 *)dst)[i] = any_u16();
		ASSERT(len % sizeof(u16) == 0);
	}
	guest_reads++;
	guest_has_read((uintptr_t)src, dst, len);
}

void guest_write(volatile void *dst, const void *src, size_t len)
{
	ASSERT(guest_has((uintptr_t)dst, len));
	ASSERT(!len || __CPROVER_r_ok(src, len));
	guest_has_written((uintptr_t)dst, src, len);
}

/* Addresses that CBMC gives to objects are far above the windows. */
void guest_memcpy(void *dst, const void *src, size_t len)
{
	if ((uintptr_t)src < (GUEST_WINDOWS + 1) * GUEST_STRIDE)
		guest_read(dst, src, len);
	else
		guest_write(dst, src, len);
}

void *shim_before(enum shim_op op, const volatile void *p, size_t len)
{
	ASSERT(guest_has((uintptr_t)p, len));
	guest_at = (uintptr_t)p;
	guest_scratch = any_u64();
	return any_bool() ? NULL : &guest_scratch;
}

void shim_after(enum shim_op op, const volatile void *p, size_t len)
{
	if (op == SHIM_LOAD) {
		guest_reads++;
		guest_has_read(guest_at, &guest_scratch, len);
	} else {
		guest_has_written(guest_at, &guest_scratch, len);
	}
}

bool shim_store_releases(void)
{
	return false;
}

void shim_barrier(enum shim_op op)
{
}

size_t shim_copy(void *dst, const void *src, size_t len, enum shim_op op)
{
	size_t left = any_u32();

	ASSUME(left <= len);
	if (op == SHIM_COPY_IN)
		guest_read(dst, src, len);
	else
		guest_write(dst, src, len);
	return left;
}

#endif /* PROOFS_GUEST_H */
