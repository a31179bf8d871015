/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shortcut_rig - a guest behind port A of a bridge sends bursts of numbered frames to the stations
 * behind B and C: by the short cut, or by the bridge. All of what arrives is compared.
 */
#ifndef SELFTESTS_SHORTCUT_RIG_H
#define SELFTESTS_SHORTCUT_RIG_H

#include "bridge_rig.h"

#define BURST		40	/* frames: with others below 64, a batch of kvnet's */
#define LONG		20000	/* bytes of the longest frame that the guest can send */

enum { A, B, C };
enum { TO_NONE, TO_B = 1 << B, TO_C = 1 << C, TO_HOST = 1 << HOST };

extern struct packet packet, got;
extern uint32_t next_seq;		/* number of the next frame */
/* How the frames of a burst are made, from their numbers. At first: make_short(). */
extern void (*make)(struct packet *p, const uint8_t *dst, uint32_t nr);

/* Of kinds that may take the short cut, and of several lengths. */
void make_short(struct packet *p, const uint8_t *dst, uint32_t nr);
/* Gives the device some frames, without a kick. */
void place(const uint8_t *dst, unsigned int n);
/* The same frame arrives, but that its checksum may be complete. */
void expect_packet(unsigned int nr, struct packet *want);
void expect_nothing(void);
/* n frames arrive at these ports, in this order, and none elsewhere. */
void expect(unsigned int to, const uint8_t *dst, uint32_t from, unsigned int n);
/* A batch; returns how many of it took the short cut. */
long burst(unsigned int to, const uint8_t *dst);
/* Until most of a batch take it: all do but the first one of each jiffy. */
void by_shortcut(unsigned int to, const uint8_t *dst);
/* Bursts of which none takes it, for this reason. */
void by_bridge(unsigned int to, const uint8_t *dst, enum kvnet_shortcut why);

/* The bridge learns that a station is behind a port; that all are behind their own. */
void speak(unsigned int nr, const uint8_t *mac);
void all_speak(void);
/* Frames to B take the short cut then; sent by the worker alone, or as the rig is configured. */
void shortcut_rig_open(void);
void shortcut_rig_open_with(const struct rig_cfg *cfg);
/* And they still do, or do again; also after a port or the bridge was down. */
void shortcut_rig_close(void);
void shortcut_rig_close_forwarding(void);
/*
 * The frames to B pass a qdisc that cannot be bypassed: TCQ_PLUG_*. Skips the case where there is
 * none.
 */
void plug(int action);

#endif /* SELFTESTS_SHORTCUT_RIG_H */
