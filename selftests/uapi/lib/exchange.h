/* SPDX-License-Identifier: GPL-2.0 */
/* Frames both ways over a running rig, each one checked. */
#ifndef SELFTESTS_EXCHANGE_H
#define SELFTESTS_EXCHANGE_H

#include "rig.h"

struct exchange {
	struct rig *r;
	unsigned int burst;	/* most frames at once, default 32 */
	unsigned int max_len;	/* default 1400 */
	const struct shape *shape;
	uint32_t rx_seq;
	unsigned long rounds;	/* done, atomic */
	bool stop;
	pthread_t thread;
};

void exchange_tx(struct exchange *x);
void exchange_rx(struct exchange *x);
/* Both ways from a thread, until stopped or failed. */
void exchange_start(struct exchange *x);
void exchange_end(struct exchange *x);
/* Until another round has been done, at least. */
bool exchange_wait(struct exchange *x);

#endif /* SELFTESTS_EXCHANGE_H */
