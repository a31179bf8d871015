/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvnet_floor - /dev/kvnet-floor: the frames of a test through a tap, with no virtqueue.
 *
 * A thread named after its owner, as a backend's worker is, has two queues of work:
 * frames to make and hand to the tap, and frames to take from it. Numbered as
 * virtio-net's queues are: 0 is from the tap, 1 to it.
 */
#ifndef KVNET_FLOOR_H
#define KVNET_FLOOR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KVNET_FLOOR_MAX		65535	/* bytes of a frame */
#define KVNET_FLOOR_GUEST	(-2)	/* for a tap: a second guest's ring */

struct kvnet_floor_tap {
	__s32 tap;		/* -1: none */
	__u32 size;		/* of each frame to it */
	__u64 frame;		/* its bytes, without virtio-net's header */
};

struct kvnet_floor_work {
	__u32 queue;
	__u32 frames;
};

/* The thread has to have nothing to do. */
#define KVNET_FLOOR_TAP		_IOW('f', 1, struct kvnet_floor_tap)
/* So many more frames; returns at once. */
#define KVNET_FLOOR_START	_IOW('f', 2, struct kvnet_floor_work)
/* Sleeps until that queue has none left; its frames are not looked at. */
#define KVNET_FLOOR_WAIT	_IOW('f', 3, struct kvnet_floor_work)

#endif /* KVNET_FLOOR_H */
