/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iommu - the VMM's half of a device IOTLB (VIRTIO_F_ACCESS_PLATFORM).
 *
 * To the device the guest's memory is a row of I/O virtual pages.  Each of them
 * gets a user address of its own when it is first missed: neighbours for the
 * device are far apart for the VMM, in falling order, with holes between.  A
 * page that is unmapped leaves other memory behind at its old address, so that
 * a late read or write by the device shows.
 */
#ifndef SELFTESTS_IOMMU_H
#define SELFTESTS_IOMMU_H

#include "rig.h"

/* No user address, and far from the guest-physical ones. */
#define IOMMU_BUS	0x00fe000000000000ull
#define IOMMU_PAGE	4096u
#define IOMMU_RO	VHOST_ACCESS_RO
#define IOMMU_WO	VHOST_ACCESS_WO
#define IOMMU_RW	VHOST_ACCESS_RW

struct iommu {
	struct vdev *v;
	int version;		/* of the messages: 1 or 2 */
	bool in_table;		/* pages stay where the memory table has them */
	bool off;		/* the device may refuse messages now */
	size_t pages;
	uint8_t **at;		/* user address of each, NULL: not mapped */
	unsigned int *missed;	/* how often each was */
	unsigned long misses;	/* read from the device */
	unsigned long strays;	/* of them, outside of the guest's memory */
	uint8_t *arena;
	unsigned int *slot;	/* free places in it: a stack */
	unsigned int slots;
	uint8_t **grave;	/* where pages were, now watched */
	unsigned int graves;
	struct vhost_memory *table;
	pthread_mutex_t lock;
	pthread_t thread;
	int stop;		/* eventfd, -1: no thread */
};

void iommu_open(struct iommu *io, struct vdev *v, int version);
void iommu_close(struct iommu *io);
/* A rig with F_PLATFORM, backends not set, used rings not yet mapped. */
void iommu_rig(struct iommu *io, struct rig *r, const struct rig_cfg *cfg,
	       int version);

/* A message of the device's version; 0 or -errno. */
int iommu_send(struct iommu *io, uint8_t type, uint64_t iova, uint64_t size,
	       uint64_t uaddr, uint8_t perm);
/* A message from the device, if one waits. */
bool iommu_read(struct iommu *io, struct vhost_iotlb_msg *m);
bool iommu_readable(const struct iommu *io, unsigned int ms);
uint64_t iommu_iova(const struct iommu *io, size_t page);
size_t iommu_page(const struct iommu *io, const void *ptr);

/*
 * With F_PLATFORM or without.  The answer to a miss that was read before may be refused
 * after F_PLATFORM has been cleared.
 */
void iommu_set_features(struct iommu *io, uint64_t features);
void iommu_map(struct iommu *io, size_t page, uint8_t perm);
/* All pages that hold [ptr, ptr + len). */
void iommu_map_area(struct iommu *io, const void *ptr, size_t len, uint8_t perm);
/* The used rings, or packed ones, which a device may need to set a backend. */
void iommu_map_used(struct iommu *io);
void iommu_unmap(struct iommu *io, size_t page);
void iommu_unmap_area(struct iommu *io, const void *ptr, size_t len);
/* One INVALIDATE for everything: [0, size), or all of it if size is 0. */
void iommu_unmap_all(struct iommu *io, uint64_t size);
/* All of it is unmapped, without a message to the device. */
void iommu_drop_all(struct iommu *io);
/* Has any page been touched by way of an address that is no more? */
void iommu_check_graves(struct iommu *io);

void iommu_answer(struct iommu *io, const struct vhost_iotlb_msg *m);
/*
 * An ioctl after which a queue that waits for an answer has nothing to wait for: the ioctl
 * wakes it, and not the timer, which would after a second.
 */
void iommu_call_wakes(struct iommu *io, unsigned long req, const void *arg);
/* Answer what waits; how many. */
unsigned int iommu_pump(struct iommu *io);
/* The same from a thread, until stopped. */
void iommu_serve(struct iommu *io);
void iommu_serve_end(struct iommu *io);

#endif /* SELFTESTS_IOMMU_H */
