// SPDX-License-Identifier: GPL-2.0
/* The state behind the shim headers, see shim.h. */
#include "shim.h"

#include <string.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNIT_TSAN
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define UNIT_TSAN
#endif

#ifdef UNIT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define MAX_WINDOWS	8

static struct { uintptr_t start; size_t len; } windows[MAX_WINDOWS];
static unsigned int n_windows, n_outside;
static shim_hook_t the_hook;
static void *the_ctx;

uint64_t shim_user_end = 1ULL << 47;
int shim_alloc_budget = -1;
int shim_alloc_live;

void shim_reset(void)
{
	n_windows = 0;
	n_outside = 0;
	the_hook = NULL;
	shim_user_end = 1ULL << 47;
	shim_alloc_budget = -1;
}

void shim_hook(shim_hook_t hook, void *ctx)
{
	the_hook = hook;
	the_ctx = ctx;
}

void shim_window(const void *p, size_t len)
{
	windows[n_windows].start = (uintptr_t)p;
	windows[n_windows].len = len;
	n_windows++;
}

unsigned int shim_outside(void)
{
	return n_outside;
}

static bool inside(uintptr_t addr, size_t len)
{
	unsigned int i;

	for (i = 0; i < n_windows; i++)
		if (addr - windows[i].start <= windows[i].len &&
		    len <= windows[i].len - (addr - windows[i].start))
			return true;
	return false;
}

static bool tell(enum shim_op op, bool done, const volatile void *p,
		 size_t len)
{
	struct shim_event ev = {
		.op = op, .done = done, .addr = (uintptr_t)p, .len = len,
	};

	return the_hook && the_hook(the_ctx, &ev);
}

#ifdef UNIT_TSAN
/*
 * ThreadSanitizer does not model fences, so give them the meaning that they
 * have here: a read barrier acquires what the last load saw, a write barrier
 * makes the next store a release. A missing barrier is then a reported race.
 */
static __thread const volatile void *last_load;
static __thread bool release_next;
static __thread int fence;

bool shim_store_releases(void)
{
	bool ret = release_next;

	release_next = false;
	return ret;
}

static void model_barrier(enum shim_op op)
{
	if (op != SHIM_WMB && last_load)
		__tsan_acquire((void *)last_load);
	if (op != SHIM_RMB)
		release_next = true;
	if (op == SHIM_MB)
		__atomic_fetch_add(&fence, 1, __ATOMIC_SEQ_CST);
}

static void note_load(const volatile void *p)
{
	last_load = p;
}
#else
bool shim_store_releases(void)
{
	return false;
}

static void model_barrier(enum shim_op op)
{
	if (op == SHIM_MB)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else if (op == SHIM_RMB)
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	else
		__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void note_load(const volatile void *p)
{
}
#endif

bool shim_before(enum shim_op op, const volatile void *p, size_t len)
{
	if (!inside((uintptr_t)p, len)) {
		n_outside++;
		return false;
	}
	return !tell(op, false, p, len);
}

void shim_after(enum shim_op op, const volatile void *p, size_t len)
{
	if (op == SHIM_LOAD)
		note_load(p);
	tell(op, true, p, len);
}

void shim_barrier(enum shim_op op)
{
	model_barrier(op);
	tell(op, true, NULL, 0);
}

/* Returns what was not copied. A copy that faults gets half-way, as they do. */
size_t shim_copy(void *dst, const void *src, size_t len, enum shim_op op)
{
	const void *user = op == SHIM_COPY_IN ? src : dst;
	size_t half = len / 2;

	if (!inside((uintptr_t)user, len)) {
		n_outside++;
		half = 0;
	} else if (!tell(op, false, user, len)) {
		memcpy(dst, src, len);
		shim_after(op, user, len);
		return 0;
	}
	memcpy(dst, src, half);
	if (op == SHIM_COPY_IN)
		memset((char *)dst + half, 0, len - half);
	return len - half;
}
