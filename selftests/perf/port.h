/* SPDX-License-Identifier: GPL-2.0 */
/*
 * port - devices with taps, and rings that cost the guest next to nothing.
 *
 * A batch is made available with one kick, and the last of its buffers calls the
 * guest, which sleeps until then. KVNET_LAYOUT (see rig.h) says what the rings are.
 */
#ifndef SELFTESTS_PORT_H
#define SELFTESTS_PORT_H

#include "quick.h"
#include "rig.h"
#include "spec.h"

#define PORTS_MAX	64u

struct port {
	struct rig r;		/* device, tap, and a socket into the tap */
	unsigned int number;	/* frames to it carry this */
	uint8_t *floor;		/* no device: its frame (see floor.h), else NULL */
	unsigned int size;	/* of that */
	bool pair;		/* it goes to a second guest's ring, not to a tap */
	unsigned int buf[2];	/* bytes of a buffer of each queue */
	struct quick q[2];
	unsigned int burst;	/* frames that wait in the tap */
	unsigned int per_frame;	/* receive buffers that a frame takes */
	unsigned int introduced; /* frames of port_tx_introduce() */
	unsigned int left;	/* of those offered: by frames that were merged */
	unsigned long kicks;
	unsigned long calls;
};

struct ports {
	struct spec s;
	unsigned int n;
	struct port *port;
};

/* Devices as the spec says, with their frames laid out; nothing attached. */
void ports_open(struct ports *p, const struct spec *s);
void ports_close(struct ports *p);
void port_attach(struct port *p, unsigned int queue, bool on);

/* Guest to host: make 'count' frames available, kick, and later wait. */
void port_tx_start(struct port *p, unsigned int count);
/*
 * Before the first of them: with spec.gso a short frame to the host, which no bridge forwards. It
 * shows kvnet the tap's device, as the first frames of any guest do.
 */
void port_tx_introduce(struct port *p, const struct spec *s);
/* Host to guest: fill the tap, offer buffers for all of it; later wait. */
void port_rx_fill(struct ports *all, struct port *p);
void port_rx_start(struct port *p);
/* Sleep until the device has used all that was started. */
void port_wait(struct port *p, unsigned int queue);
/*
 * If the tap has several queues each receives, as those of a guest do, which tells kvnet its number.
 * All receive queues are attached then.
 */
void ports_name_queues(struct ports *all);
/*
 * The same of a burst with spec.notso, of which a merged frame takes fewer buffers than its
 * segments would; returns how many frames it came in.
 */
unsigned int port_wait_segments(struct port *p, const struct spec *s);
/* Adds the kicks and calls since it was last asked. */
void port_events(struct port *p, unsigned long *kicks, unsigned long *calls);
/* The last pass: every buffer once, in order, as long as it should be, intact. */
void port_check(const struct ports *all, const struct port *p, unsigned int queue);
/* What port_tx_start() has brought to the host, and what an XDP program dropped of it. */
struct arrived { unsigned long packets, dropped; };
struct arrived port_arrived(const struct port *p);

#endif /* SELFTESTS_PORT_H */
