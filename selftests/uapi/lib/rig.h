/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rig - a device, a tap, and numbered frames between them.
 *
 * Each rig lives in a network namespace of its own, which goes with the
 * process.  Frames carry an experimental EtherType (IEEE 802 local experimental
 * 1), a number and a pattern made from it, so that nothing else on the tap can
 * be taken for one of them and every lost, doubled or damaged one is seen.
 *
 * KVNET_LAYOUT=packed,in_order (or one of them) has drivers of virtio 1.0 and
 * later negotiate those.
 */
#ifndef SELFTESTS_RIG_H
#define SELFTESTS_RIG_H

#include "vdev.h"

#define FRAME_TYPE	0x88b5
#define FRAME_MIN	26	/* Ethernet header, number, length, check */
#define FRAME_MAX	65535
#define RX_CANARY	0xa5

enum rig_tap {
	TAP_BARE	= 1,	/* no IFF_VNET_HDR: the backend makes headers */
	TAP_SNDBUF	= 2,	/* finite send buffer: no batching by sendmsg */
	TAP_TUN_ONLY	= 4,	/* no device, only the tap and the sniffer */
	TAP_QUEUES	= 8,	/* may have several */
};

struct rig_cfg {
	uint64_t features;	/* default: V1 | MRG | IND | EVENT */
	unsigned int num;	/* ring size, default 256 */
	unsigned int rx_num;	/* default num */
	uint16_t base;		/* of both rings */
	unsigned int tap;	/* enum rig_tap */
	unsigned int regions;	/* default 1 */
	unsigned int bufs;	/* in each pool, default num, at most 256 */
	unsigned int tx_buf;	/* bytes of one, default 4096 */
	unsigned int rx_buf;
	bool stopped;		/* do not attach the tap */
	bool here;		/* in the caller's network namespace */
	bool kept;		/* receive buffers keep their contents: no canary */
	uint64_t bus;		/* see struct vdev */
};

struct rig {
	struct vdev v;
	struct rig_cfg cfg;
	int tap;
	int sniff;		/* what the host gets from the tap */
	int inject;		/* what the host sends into the tap */
	int ifindex;
	char name[16];
	uint32_t tx_seq;	/* next number to send */
	uint32_t tx_done;	/* buffers given back */
	unsigned int tx_out;	/* buffers with the device */
	unsigned int rx_bufs;	/* that the last rig_rx() took */
};

/* How a buffer is cut into descriptors. */
struct shape {
	unsigned int piece;	/* bytes per descriptor, 0: all in one */
	unsigned int direct;	/* descriptors in the ring itself, 0: all */
	bool indirect;		/* the others in an indirect table */
	bool split_hdr;		/* the header has a descriptor of its own */
};

/*
 * Attaches a file of tun's, or one more queue of it, to the tap of this name ("x%d": a new one),
 * which is in 'name' then: 16 bytes. Flags are those of TUNSETIFF.
 */
void rig_tap_attach(int fd, char *name, unsigned int flags, int hdr_len);
int rig_tap_new(struct rig *r, unsigned int flags);
int rig_packet_socket(const struct rig *r, int proto, bool vnet);
/* For the frames that leave by that TX queue of the device. */
int rig_queue_socket(const struct rig *r, unsigned int queue);
void rig_link(const struct rig *r, bool up);
void rig_enter_netns(void);
void rig_open(struct rig *r, const struct rig_cfg *cfg);
/* The ring size to try next: powers of two; packed: others in between. */
static inline unsigned int rig_next_num(unsigned int num)
{
	bool packed = vdev_layout(F_V1) & F_PACKED;

	if (packed && num > 1 && !(num & (num - 1)))
		return num + num / 2 - (num > 8);	/* 3, 6, 12, 23, ... */
	for (num++; num & (num - 1);)
		num++;
	return num;
}

/* Features, memory and empty rings, for a device that has an owner again and knows nothing. */
void rig_set_up_again(struct rig *r);
void rig_start(struct rig *r);
/* Throws away the frames that wait in the tap, and those that came from it to the host. */
void rig_flush(struct rig *r);
/* The receive queue as new; what waits in the tap is thrown away. */
void rig_start_again(struct rig *r);
/* All that has been placed in a split ring, published, in the other byte order. */
void rig_swap_ring(struct rig *r, unsigned int q);
void rig_stop(struct rig *r);
/* Another tap, and sockets for it, not attached yet; *old has those before, which still are. */
void rig_another_tap(struct rig *r, struct rig *old);
/* Closes tap and sockets: the tap is deleted when the device has let it go, too. */
void rig_close_tap(const struct rig *old);
/* A new device in place of a stopped one, which has no owner yet: rig_take_over() in a child. */
void rig_disown(struct rig *r);
void rig_take_over(struct rig *r);
void rig_close(struct rig *r);
/* A counter of kvnet's ("kvnet.rx.packets"), from fdinfo; -1: there is none. */
long rig_counter(const struct rig *r, const char *name);

void frame_make(uint8_t *f, uint32_t seq, uint32_t len);
bool frame_is_ours(const uint8_t *f, size_t len);
uint32_t frame_seq(const uint8_t *f);
/* Right number, right length, right pattern. */
bool frame_check(const uint8_t *f, size_t len, uint32_t seq, uint32_t want);

/* Guest to host: place (not yet publish); 0 or -ENOSPC. */
int rig_tx_raw(struct rig *r, const void *hdr, const void *frame, uint32_t len,
	       const struct shape *shape);
int rig_tx(struct rig *r, uint32_t len, const struct shape *shape);
/* Take what the device gave back; -EPROTO when it broke a rule. */
int rig_tx_reap(struct rig *r);
bool rig_tx_drain(struct rig *r, unsigned int ms);
/* Next frame of ours at the host, or -1 after the deadline. */
ssize_t rig_sniff(struct rig *r, uint8_t *f, size_t size, unsigned int ms);
bool rig_expect(struct rig *r, uint32_t seq, uint32_t len);
/* One frame, with a kick: it arrives, and its buffer comes back. */
void rig_send(struct rig *r, uint32_t len);

/* Host to guest. */
void rig_inject(struct rig *r, uint32_t seq, uint32_t len);
int rig_rx_post(struct rig *r, unsigned int count, const struct shape *shape);
/* So many in one piece each, with a kick; how many there was room for. */
int rig_offer(struct rig *r, unsigned int count);
/*
 * One packet off the RX ring into f, over as many buffers as it has; returns
 * the frame's length without header, -1 when none came in time.
 */
ssize_t rig_rx(struct rig *r, void *hdr, uint8_t *f, size_t size,
	       unsigned int ms);
bool rig_rx_expect(struct rig *r, uint32_t seq, uint32_t len);

#endif /* SELFTESTS_RIG_H */
