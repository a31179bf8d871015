// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: what kvnet_dirty_log_range_ok() lets pass has the bits of its first and of its last page,
 *	and so of all, in user memory
 * @bounds: none: all addresses and lengths
 * @sources: mem/dirty_log.c
 * @unwind: 3
 * @quick: yes
 * @mutant: mem/dirty_log.c: gpa + (len - 1) < gpa) => gpa + (len - 1) < 0)
 * @mutant: mem/dirty_log.c: return access_ok((void __user *)(unsigned long)at, last - first + 1); => return access_ok((void __user *)(unsigned long)at, last - first);
 */
#include "guest.h"
#include "any_log.h"

int main(void)
{
	u64 base = any_u64(), gpa = any_u64(), len = any_u64(), last = gpa + (len - 1);

	if (!len || !kvnet_dirty_log_range_ok(base, gpa, len))
		return 0;
	ASSERT(last >= gpa);
	ASSERT(base + gpa / 4096 / 8 >= base);
	ASSERT(base + last / 4096 / 8 >= base + gpa / 4096 / 8);
	ASSERT(base + last / 4096 / 8 < shim_user_end);
	return 0;
}
