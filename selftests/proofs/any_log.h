/* SPDX-License-Identifier: GPL-2.0 */
/* any_log.h - pages of the dirty log: a pinned one has bits, and one bit is looked at */
#ifndef PROOFS_ANY_LOG_H
#define PROOFS_ANY_LOG_H

#include "dirty_log.h"

#include <linux/mm.h>

static struct page log_page;
static char log_map;		/* its address stands for the page's; it has no content */
static uintptr_t log_addr;	/* the owner's address of the page that is pinned */
static int log_pins;
static bool log_fails;
static uintptr_t log_byte;	/* a byte of the log that is watched, */
static unsigned int log_bit;	/* and a bit of it */
static bool log_has_bit;	/* it has been set, or found set */
static uintptr_t log_first, log_last;	/* bytes that may be written */

int shim_kmap_live;

int shim_pin(uintptr_t addr, struct page **page)
{
	ASSERT(!log_pins);
	*page = &log_page;
	if (any_bool()) {
		log_fails = true;
		return -EFAULT;
	}
	log_page.host = &log_map;
	log_addr = addr;
	log_pins++;
	return 1;
}

void shim_unpin(struct page *page, bool dirty)
{
	ASSERT(page == &log_page && dirty && log_pins == 1);
	log_pins--;
}

static void log_use_bit(unsigned long nr, const void *map)
{
	uintptr_t byte = log_addr + nr / 8;

	ASSERT(map == &log_map && log_pins == 1 && nr < PAGE_SIZE * 8);
	ASSERT(byte >= log_first && byte <= log_last);
	if (byte == log_byte && nr % 8 == log_bit)
		log_has_bit = true;
}

/* Others set and clear bits, too. */
bool log_test_bit(unsigned long nr, const void *map)
{
	bool is_set = any_bool();

	if (is_set)
		log_use_bit(nr, map);
	return is_set;
}

void log_set_bit(unsigned long nr, const void *map)
{
	log_use_bit(nr, map);
}

#endif /* PROOFS_ANY_LOG_H */
