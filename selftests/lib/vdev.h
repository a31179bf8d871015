/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vdev - a process that is VMM and guest at once, on a vhost-net device node.
 *
 * vdev_x() asserts, __vdev_x() returns 0 or -errno and is for calls that are
 * expected to fail.  The node comes from KVNET_DEV (default /dev/kvnet).
 *
 * Guest memory is a memfd, mapped three times: where the guest works (mem),
 * where the device is told that the memory is (host, in 'regions' pieces that
 * are neighbours for the guest and strangers for the host), and where the
 * device is told that the rings are (ring_host).  No two of these views share
 * an address, and guest-physical addresses are a fourth.
 */
#ifndef SELFTESTS_VDEV_H
#define SELFTESTS_VDEV_H

#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "guest_ring.h"
#include "ksft.h"

#define VDEV_RX		0
#define VDEV_TX		1
#define VDEV_GPA	0x100000000ull
#define VDEV_RING_ZONE	(4u << 20)	/* of the memory, for rings */
#define VDEV_REGIONS	8

#define BIT64(n)	(1ull << (n))
#define F_V1		BIT64(VIRTIO_F_VERSION_1)
#define F_MRG		BIT64(VIRTIO_NET_F_MRG_RXBUF)
#define F_EVENT		BIT64(VIRTIO_RING_F_EVENT_IDX)
#define F_IND		BIT64(VIRTIO_RING_F_INDIRECT_DESC)
#define F_NETHDR	BIT64(VHOST_NET_F_VIRTIO_NET_HDR)
#define F_PLATFORM	BIT64(VIRTIO_F_ACCESS_PLATFORM)
#define F_LOG		BIT64(VHOST_F_LOG_ALL)
#define F_PACKED	BIT64(VIRTIO_F_RING_PACKED)
#define F_ORDER		BIT64(VIRTIO_F_IN_ORDER)

struct vdev_queue {
	struct guest_ring ring;
	unsigned int num;
	int kick;
	int call;
	int err;
	uint8_t *area;		/* of the rings, in the guest's view */
	void *ind;		/* indirect tables */
	uint8_t *bufs;		/* pool of equal buffers, guest's view */
	unsigned int buf_size;
	unsigned int buf_num;
	unsigned int *buf_free;
	unsigned int buf_left;
	unsigned long kicks;	/* sent */
	unsigned long calls;	/* received */
};

struct vdev {
	int fd;
	uint64_t offered;
	uint64_t features;
	unsigned int hdr_len;	/* what the guest sees before a frame */
	uint64_t bus;		/* IOVA of guest-physical 0, with F_PLATFORM */
	bool log_used;		/* tell the device to log its used rings */
	int memfd;
	size_t mem_size;
	size_t mem_used;
	size_t ring_used;
	uint8_t *mem;
	uint8_t *host;
	size_t host_span;
	uint8_t *ring_host;
	unsigned int regions;
	struct vdev_queue q[2];
};

const char *vdev_path(void);
/* Is the node in-tree vhost_net?  For the few documented differences. */
bool vdev_is_vhost(void);
int vdev_open_node(void);
/*
 * Sets a parameter of the module, until the case is over at most: ksft_file_set(). One of
 * one character; returns what it was.
 */
char vdev_parameter(const char *name, char value);
/* One that is more than a letter; returns the first one of what it was. */
char vdev_parameter_text(const char *name, const char *value);
/* A VMM may choose its workers' kind, until the case is over: not so by default. */
void vdev_allow_choice(void);
/* Of the next owner's worker: KVNET_WORKER, see below; 0 or -errno. */
int vdev_set_kind(int fd);
/*
 * SET_OWNER, with the kind of worker that KVNET_WORKER names: "task", a thread
 * of the owner, or "kthread"; else with the device's own choice.
 */
void vdev_own(int fd);
int __vdev_ioctl(int fd, unsigned long req, const void *arg);
void vdev_ioctl_at(int fd, unsigned long req, const void *arg, const char *what,
		   const char *file, int line);
#define vdev_ioctl(fd, req, arg) \
	vdev_ioctl_at(fd, req, arg, #req, __FILE__, __LINE__)

/* Node opened, owner set, features read. */
void vdev_open(struct vdev *v);
void vdev_close(struct vdev *v);
/* Skips the case when the device does not offer one of them. */
void vdev_set_features(struct vdev *v, uint64_t features);
void vdev_memory(struct vdev *v, size_t size, unsigned int regions);
/* A further set of mappings of the same memory; returns the old one. */
uint8_t *vdev_map_host(struct vdev *v);
void vdev_unmap_host(struct vdev *v, uint8_t *host);
void *vdev_alloc(struct vdev *v, size_t size, size_t align);
uint64_t vdev_gpa(const struct vdev *v, const void *ptr);
/* What a descriptor says: an IOVA with F_PLATFORM, else guest-physical. */
uint64_t vdev_bus(const struct vdev *v, const void *ptr);
/* The table for the current mapping; caller frees. */
struct vhost_memory *vdev_table(const struct vdev *v);
void vdev_set_mem(struct vdev *v);
int __vdev_set_mem(struct vdev *v);

/* The ring in memory and the eventfds, not yet told to the device. */
void vdev_queue_make(struct vdev *v, unsigned int i, unsigned int num);
void vdev_queue_free(struct vdev *v, unsigned int i);
void vdev_queue_addr(const struct vdev *v, unsigned int i,
		     struct vhost_vring_addr *addr);
/* NUM, BASE, ADDR, KICK, CALL, ERR; the base is that of gr_start_at(). */
void vdev_queue_tell(struct vdev *v, unsigned int i, uint16_t base);
int __vdev_queue_tell(struct vdev *v, unsigned int i, uint16_t base);
void vdev_queue_pool(struct vdev *v, unsigned int i, unsigned int num,
		     unsigned int size);
/* An empty ring, a full pool, base 0; the device has not been told yet. */
void vdev_queue_renew(struct vdev *v, unsigned int i);
/* The same, told; the backend must be off. */
void vdev_queue_reset(struct vdev *v, unsigned int i);
uint8_t *vdev_buf_get(struct vdev_queue *q);
void vdev_buf_put(struct vdev_queue *q, uint8_t *buf);

int __vdev_backend(const struct vdev *v, unsigned int i, int fd);
void vdev_backend(const struct vdev *v, unsigned int i, int fd);
/* From KVNET_LAYOUT, a list of "packed" and "in_order": more features. */
uint64_t vdev_layout(uint64_t features);
/* Has a stopped device given back all that it took? */
bool vdev_settled(const struct vdev *v, unsigned int i, uint32_t base);
/* As the device says it. */
uint32_t vdev_get_base(const struct vdev *v, unsigned int i);
void vdev_set_base(const struct vdev *v, unsigned int i, uint32_t base);
int __vdev_vring_fd(const struct vdev *v, unsigned long req, unsigned int i,
		    int fd);

/* The worker sleeps as soon as it has nothing to do. */
void vdev_no_spin(const struct vdev *v);

/* Publish what was added and notify if the device asks for it (or always). */
void vdev_kick(struct vdev_queue *q);
void vdev_kick_always(struct vdev_queue *q);
/* Value of an eventfd and back to zero; 0 when it was not signalled. */
uint64_t vdev_eventfd_take(int fd);
bool vdev_eventfd_wait(int fd, unsigned int ms);
int vdev_eventfd(void);

#endif /* SELFTESTS_VDEV_H */
