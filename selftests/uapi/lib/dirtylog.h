/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dirtylog - the VMM's half of VHOST_F_LOG_ALL: a bitmap with a bit for each
 * 4 KiB page of guest-physical memory, from address 0.  Pages are counted from
 * the start of the rig's memory here.
 */
#ifndef SELFTESTS_DIRTYLOG_H
#define SELFTESTS_DIRTYLOG_H

#include "rig.h"

#define LOG_PAGE	4096u

struct dirtylog {
	struct vdev *v;
	uint64_t *map;
	size_t bytes;
	size_t skew;		/* of the map in its first page */
	size_t pages;		/* of the guest's memory */
};

void dirtylog_open(struct dirtylog *l, struct vdev *v);
void dirtylog_close(struct dirtylog *l);
void dirtylog_protect(struct dirtylog *l, int prot);
/* Another bitmap, told to the device; returns the old one, still mapped. */
uint64_t *dirtylog_replace(struct dirtylog *l);
void dirtylog_unmap(const struct dirtylog *l, uint64_t *map);
int __dirtylog_base(struct vdev *v, uint64_t base);
void dirtylog_base(struct dirtylog *l);
/* Both queues' addresses again, on live rings, too; with v->log_used or not. */
int __dirtylog_addr(struct vdev *v, unsigned int q, uint64_t log_addr);
void dirtylog_addrs(struct vdev *v);
/* In the order that QEMU has: base, features, addresses. */
void dirtylog_on(struct dirtylog *l);
void dirtylog_off(struct dirtylog *l);

void dirtylog_clear(struct dirtylog *l);
bool dirtylog_has(const struct dirtylog *l, size_t page);
/* Bits before the guest's memory or behind it. */
bool dirtylog_strays(const struct dirtylog *l);
/* Copy each page whose bit is taken from 'map' to 'image'; how many. */
unsigned int dirtylog_move(const struct dirtylog *l, uint64_t *map,
			   uint8_t *image);

/* One byte for each page of the guest's memory. */
void pages_mark(const struct dirtylog *l, uint8_t *set, const void *ptr,
		size_t len);
/* The used rings of both queues, or what else the device writes there. */
void pages_mark_used(const struct dirtylog *l, uint8_t *set);

#endif /* SELFTESTS_DIRTYLOG_H */
