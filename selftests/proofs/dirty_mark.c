// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_dirty_log_mark() sets the bit of each page of a range, sets no bit of a byte of the
 *	log without such a page, has one page of the log pinned at most, and ends
 * @bounds: ranges of up to 3 pages, anywhere; a log anywhere
 * @sources: mem/dirty_log.c
 * @unwind: 5
 * @mutant: mem/dirty_log.c: bit < PAGE_SIZE * 8; (*nr)++, bit++) => bit <= PAGE_SIZE * 8; (*nr)++, bit++)
 * @mutant: mem/dirty_log.c: if (d->page && d->addr == addr) => if (d->page)
 * @mutant: mem/dirty_log.c: last = (gpa + (len - 1)) / KVNET_DIRTY_LOG_PAGE;\n	/* => last = (gpa + (len - 1) / KVNET_DIRTY_LOG_PAGE) / KVNET_DIRTY_LOG_PAGE;\n	/*
 */
#include "guest.h"
#include "any_log.h"

#define PAGES	3

int main(void)
{
	struct kvnet_dirty_log d;
	u64 gpa = any_u64(), len = any_u64(), page = any_u64(), first, last;
	bool is_pinned = any_bool();
	int ret;

	ASSUME(len && gpa + (len - 1) >= gpa);
	first = gpa / 4096;
	last = (gpa + (len - 1)) / 4096;
	ASSUME(last - first < PAGES);
	/* what kvnet_dirty_log_range_ok() has let pass */
	ASSUME(d.base < shim_user_end && d.base + last / 8 < shim_user_end);
	log_first = d.base + first / 8;
	log_last = d.base + last / 8;
	ASSUME(page >= first && page <= last);
	log_byte = d.base + page / 8;
	log_bit = page % 8;
	/* of the last mark */
	d.page = NULL;
	d.n_marked = 0;
	if (is_pinned) {
		ASSUME(d.addr % PAGE_SIZE == 0);
		d.page = &log_page;
		log_page.host = &log_map;
		log_addr = d.addr;
		log_pins = 1;
	}

	ret = kvnet_dirty_log_mark(&d, gpa, len);

	ASSERT(ret == 0 || (ret == -EFAULT && log_fails));
	ASSERT(IMPLIES(ret == 0, log_has_bit));
	ASSERT(log_pins == !!d.page && !shim_kmap_live);
	ASSERT(d.n_marked <= PAGES);
	kvnet_dirty_log_end(&d);
	ASSERT(!log_pins && !d.page);
	return 0;
}
