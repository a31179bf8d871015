// SPDX-License-Identifier: GPL-2.0
/* What a verb did to the ring's memory, and in which order: see ring_rig.h. */
#include "ring_rig.h"

#include <string.h>

static bool watch_hook(void *ctx, const struct shim_event *ev)
{
	struct rig_watch *w = ctx;

	if (!ev->done)
		return ++w->accesses == w->fail_at;
	if (w->n < ARRAY_SIZE(w->log)) {
		w->log[w->n].op = ev->op;
		w->log[w->n].len = ev->len;
		w->log[w->n++].addr = ev->addr;
	}
	if (w->poison && (ev->op == SHIM_LOAD || ev->op == SHIM_COPY_IN))
		memset((void *)ev->addr, 0xff, ev->len);
	return false;
}

void rig_watch(struct rig_watch *w)
{
	memset(w, 0, sizeof(*w));
	shim_hook(watch_hook, w);
}

int rig_when(const struct rig_watch *w, enum shim_op op, const void *addr)
{
	unsigned int i;

	for (i = 0; i < w->n; i++)
		if (w->log[i].op == op && w->log[i].addr == (uintptr_t)addr)
			return i;
	return -1;
}

static bool hits(const struct rig_watch *w, int i, bool write, const void *addr,
		 size_t len)
{
	enum shim_op op = w->log[i].op;
	uintptr_t a = (uintptr_t)addr, b = w->log[i].addr;

	if (op != (write ? SHIM_STORE : SHIM_LOAD) &&
	    op != (write ? SHIM_COPY_OUT : SHIM_COPY_IN))
		return false;
	return b < a + len && a < b + w->log[i].len;
}

int rig_first(const struct rig_watch *w, bool write, const void *addr,
	      size_t len)
{
	int i;

	for (i = 0; i < (int)w->n; i++)
		if (hits(w, i, write, addr, len))
			return i;
	return -1;
}

int rig_last(const struct rig_watch *w, bool write, const void *addr,
	     size_t len)
{
	int i;

	for (i = (int)w->n - 1; i >= 0; i--)
		if (hits(w, i, write, addr, len))
			break;
	return i;
}

bool rig_barrier(const struct rig_watch *w, enum shim_op op, int from, int to)
{
	int i;

	for (i = from + 1; from >= 0 && i < to; i++)
		if (w->log[i].op == op || w->log[i].op == SHIM_MB)
			return true;
	return false;
}
