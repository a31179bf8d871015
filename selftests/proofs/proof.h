/* SPDX-License-Identifier: GPL-2.0 */
/* proof.h - what a harness says to CBMC */
#ifndef PROOFS_PROOF_H
#define PROOFS_PROOF_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>

/* A variable that is not set has any value. */
#define PROOF_ANY(name, type)			\
static inline type any_##name(void)		\
{						\
	type any;				\
						\
	return any;				\
}

PROOF_ANY(bool, bool)
PROOF_ANY(u8, u8)
PROOF_ANY(u16, u16)
PROOF_ANY(u32, u32)
PROOF_ANY(u64, u64)
PROOF_ANY(long, unsigned long)

#define ASSUME(cond)	__CPROVER_assume(cond)
#define ASSERT(cond)	__CPROVER_assert(cond, #cond)
#define IMPLIES(a, b)	(!(a) || (b))

#endif /* PROOFS_PROOF_H */
