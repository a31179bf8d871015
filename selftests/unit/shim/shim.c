// SPDX-License-Identifier: GPL-2.0
/* The state behind the shim headers, see shim.h. */
#include "shim.h"

#include <linux/mm.h>
#include <stdlib.h>
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

#define MAX_WINDOWS	400

static struct window {
	uintptr_t start;
	size_t len;
	uint8_t *host;
} windows[MAX_WINDOWS];
static unsigned int n_windows, n_outside;
static shim_hook_t the_hook;
static void *the_ctx;

uint64_t shim_user_end = 1ULL << 47;
uint64_t shim_tag;
int shim_alloc_budget = -1;
int shim_alloc_live;
int shim_pin_budget = -1;
int shim_pin_live;
unsigned int shim_pins;
int shim_kmap_live;
unsigned int shim_unpin_clean;

void shim_reset(void)
{
	n_windows = 0;
	n_outside = 0;
	the_hook = NULL;
	shim_user_end = 1ULL << 47;
	shim_tag = 0;
	shim_alloc_budget = -1;
	shim_pin_budget = -1;
	shim_pins = 0;
	shim_unpin_clean = 0;
}

void shim_hook(shim_hook_t hook, void *ctx)
{
	the_hook = hook;
	the_ctx = ctx;
}

void shim_map(uintptr_t user, const void *p, size_t len)
{
	if (n_windows == MAX_WINDOWS)
		abort();
	windows[n_windows++] = (struct window) {
		.start = user, .len = len, .host = (uint8_t *)p,
	};
}

void shim_window(const void *p, size_t len)
{
	shim_map((uintptr_t)p, p, len);
}

unsigned int shim_outside(void)
{
	return n_outside;
}

static void *host_of(uintptr_t addr, size_t len)
{
	const struct window *w;

	for (w = windows; w < windows + n_windows; w++)
		if (addr - w->start <= w->len &&
		    len <= w->len - (addr - w->start))
			return w->host + (addr - w->start);
	return NULL;
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

void *shim_before(enum shim_op op, const volatile void *p, size_t len)
{
	void *host = host_of((uintptr_t)p, len);

	if (!host)
		n_outside++;
	else if (tell(op, false, host, len))
		host = NULL;
	return host;
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
	bool in = op == SHIM_COPY_IN;
	void *host = host_of((uintptr_t)(in ? src : dst), len);
	size_t half = host ? len / 2 : 0;

	if (!host) {
		n_outside++;
	} else if (!tell(op, false, host, len)) {
		memcpy(in ? dst : host, in ? host : src, len);
		shim_after(op, host, len);
		return 0;
	}
	if (half)
		memcpy(in ? dst : host, in ? host : src, half);
	if (in)
		memset((char *)dst + half, 0, len - half);
	return len - half;
}

/* A page is good until it is unpinned: then it is freed, and ASan sees to it. */
int shim_pin(uintptr_t addr, struct page **page)
{
	void *host = host_of(addr, PAGE_SIZE);

	if (!host || !shim_pin_budget) {
		/* nothing to go by */
		*page = (struct page *)0x5a5a;
		return -EFAULT;
	}
	if (shim_pin_budget > 0)
		shim_pin_budget--;
	*page = malloc(sizeof(**page));
	(*page)->host = host;
	shim_pin_live++;
	shim_pins++;
	return 1;
}

void shim_unpin(struct page *page, bool dirty)
{
	shim_pin_live--;
	shim_unpin_clean += !dirty;
	free(page);
}
