/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flow - numbered frames both ways, while a test changes the backend.
 *
 * Frames may get lost then; what arrives is whole, has not been seen before and
 * is not older than the one before it.
 */
#ifndef SELFTESTS_FLOW_H
#define SELFTESTS_FLOW_H

#include "rig.h"

struct flow {
	struct rig *r;
	uint8_t dst[6];		/* of injected frames; all zero: as they are */
	bool unordered;		/* several queues */
	bool opaque;		/* headers do not fit: do not look inside */
	bool one_way;		/* from the guest only */
	bool lossless;		/* what happens is no reason to lose any */
	void (*lost)(struct flow *f);	/* the host's sockets are of no use */
	uint32_t rx_seq;	/* next number to inject */
	uint32_t rx_last;	/* last one seen + 1, and so on */
	uint32_t tx_last;
	unsigned long rx_seen;
	unsigned long tx_seen;
};

/* One frame each way arrives; the device must be running. */
void flow_one(struct rig *r);
/* Another backend than the rig's own tap: r->tap, sniff, inject are set. */
void flow_swap(struct rig *r, int backend, int far_ifindex);
/* Sockets of the rig anew, after its device was elsewhere. */
void flow_sockets(struct rig *r, int ifindex);
/* n frames of each length both ways; all arrive, whole and in order. */
void flow_exact(struct flow *f, unsigned int n, const uint32_t *len,
		unsigned int lens);
/* Some frames, which may get lost. */
void flow_pump(struct flow *f);
/* All that was under way has arrived, whatever it is; also when stopped up. */
void flow_quiesces(struct flow *f);
/* Frames pass again, and every buffer has come back. */
void flow_recovers(struct flow *f);
/* Recovered, and no more is lost. */
void flow_settled(struct flow *f);
/* Backend off, rings as new: buffers in them are dropped. */
void flow_stop_empty(struct flow *f);
/* 'change' n times in another process, under flow_pump(). */
void flow_storm(struct flow *f, unsigned int n, void (*change)(unsigned int i));

extern const uint32_t flow_lens[4];	/* for an MTU of 1500 */
#define FLOW_LENS	(sizeof(flow_lens) / sizeof(flow_lens[0]))

#endif /* SELFTESTS_FLOW_H */
