/* SPDX-License-Identifier: GPL-2.0 */
/* any_chain.h - room for a chain, and a reader of indirect tables that change */
#ifndef PROOFS_ANY_CHAIN_H
#define PROOFS_ANY_CHAIN_H

#include "proof.h"
#include "chain.h"

#define CHAIN_MAX	3	/* segments */

static struct kvnet_seg chain_seg[CHAIN_MAX];
static u64 table_addr;		/* of the table that may be read, */
static u32 table_len;		/* in bytes */
static bool table_known;
static unsigned int table_reads;

/* The error of a reader is none of the ring's own. */
#define READER_ERROR	(-11)

static int read_table(void *ctx, u64 addr, void *dst, u32 len)
{
	ASSERT(len && len % sizeof(struct vring_desc) == 0);
	ASSERT(addr + (len - 1) >= addr);
	if (table_known)
		ASSERT(addr - table_addr < table_len && len <= table_len - (addr - table_addr));
	table_reads++;
	ASSERT(__CPROVER_w_ok(dst, len));
	/* all of the caller's array: it has not read what is behind @len */
	__CPROVER_havoc_object(dst);
	return any_bool() ? READER_ERROR : 0;
}

static const struct kvnet_reader reader = { .read = read_table };

/* The segments beyond @cap are not the chain's: they lie behind its array. */
static struct kvnet_chain any_chain(void)
{
	struct kvnet_chain chain;

	ASSUME(chain.cap <= CHAIN_MAX);
	chain.seg = chain_seg + (CHAIN_MAX - chain.cap);
	return chain;
}

#endif /* PROOFS_ANY_CHAIN_H */
