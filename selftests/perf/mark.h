/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mark - tells the emulator of a test host what to count: see scripts/vm/count.c.
 *
 * An instruction that does nothing on any machine, with its operands in registers.
 */
#ifndef SELFTESTS_MARK_H
#define SELFTESTS_MARK_H

#define MARK_SWITCH	1ul	/* value: address of the kernel's __switch_to */
#define MARK_BEGIN	2ul	/* value: whom the following is for, from 0 */
#define MARK_END	3ul

static inline void mark(unsigned long what, unsigned long value)
{
#ifdef __x86_64__
	/* nopl 0x6b766e74(%rax,%rax,1) */
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x74, 0x6e, 0x76, 0x6b"
		     : : "S"(what), "D"(value) : "memory");
#else
	(void)what;
	(void)value;
#endif
}

#endif /* SELFTESTS_MARK_H */
