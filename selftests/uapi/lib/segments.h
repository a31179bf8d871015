/* SPDX-License-Identifier: GPL-2.0 */
/* Frames that get to a tap one right after the other. */
#ifndef SELFTESTS_SEGMENTS_H
#define SELFTESTS_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#define SEGMENTS_HEADERS	54	/* of each: Ethernet, IPv4, TCP */
#define SEGMENTS_MAX		8192	/* bytes in all of them */

/*
 * n frames of TCP, this much in each, sent as one that is cut up on its way to the tap;
 * gso is a packet socket with headers.  True if it was sent.
 */
bool segments_send(int gso, unsigned int segment, unsigned int n);
/* The same of 8 bytes in each, which are these. */
bool segments_send_words(int gso, const uint8_t word[8], unsigned int n);

#endif /* SELFTESTS_SEGMENTS_H */
