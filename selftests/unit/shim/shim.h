/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shim - the kernel that the pure rooms see when they run in a test
 *
 * User memory is what a test has declared with shim_window() or shim_map();
 * anything else is -EFAULT. A hook sees every access and barrier in program
 * order: it may fail an access, change memory behind the device's back, count,
 * or keep a record.
 */
#ifndef UNIT_SHIM_H
#define UNIT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_op {
	SHIM_LOAD,
	SHIM_STORE,
	SHIM_COPY_IN,
	SHIM_COPY_OUT,
	SHIM_RMB,
	SHIM_WMB,
	SHIM_MB,
};

struct shim_event {
	enum shim_op op;
	bool done;		/* called after the access, not before */
	uintptr_t addr;		/* where the test has the memory */
	size_t len;
};

/* Before an access, true makes it fault. */
typedef bool (*shim_hook_t)(void *ctx, const struct shim_event *ev);

void shim_reset(void);
void shim_hook(shim_hook_t hook, void *ctx);
void shim_window(const void *p, size_t len);
/* A window of which the user's address is another than the test's. */
void shim_map(uintptr_t user, const void *p, size_t len);
/* Accesses outside all windows since shim_reset(). */
unsigned int shim_outside(void);

/* access_ok() holds below this address. */
extern uint64_t shim_user_end;
/* Bits of an address that the processor ignores. */
extern uint64_t shim_tag;
/* Allocations that succeed before one fails; negative: all succeed. */
extern int shim_alloc_budget;
/* Allocations not yet freed. */
extern int shim_alloc_live;

/* Pins of a page: as for allocations; and made since shim_reset(). */
extern int shim_pin_budget;
extern int shim_pin_live;
extern unsigned int shim_pins;
/* Pages mapped by the kernel. */
extern int shim_kmap_live;
/* Of what unpinning was told that it had not been written. */
extern unsigned int shim_unpin_clean;

/* For linux/uaccess.h, linux/mm.h and asm/barrier.h */
struct page;
int shim_pin(uintptr_t addr, struct page **page);
void shim_unpin(struct page *page, bool dirty);
/* Where the test has the memory; NULL for an access that faults. */
void *shim_before(enum shim_op op, const volatile void *p, size_t len);
void shim_after(enum shim_op op, const volatile void *p, size_t len);
void shim_barrier(enum shim_op op);
size_t shim_copy(void *dst, const void *src, size_t len, enum shim_op op);
bool shim_store_releases(void);

#endif /* UNIT_SHIM_H */
