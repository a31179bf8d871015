// SPDX-License-Identifier: GPL-2.0
/* Frames both ways over a running rig: see exchange.h. */
#include "exchange.h"

#define BURST_MAX	64u

static unsigned int burst(const struct exchange *x)
{
	unsigned int most = x->burst ? x->burst : 32;

	return 1 + ksft_below(most < BURST_MAX ? most : BURST_MAX);
}

static uint32_t frame_len(const struct exchange *x)
{
	unsigned int max = x->max_len ? x->max_len : 1400;

	return FRAME_MIN + ksft_below(max - FRAME_MIN + 1);
}

void exchange_tx(struct exchange *x)
{
	struct rig *r = x->r;
	unsigned int n = burst(x), i;
	uint32_t first = r->tx_seq, len[BURST_MAX];

	for (i = 0; i < n; i++) {
		len[i] = frame_len(x);
		if (rig_tx(r, len[i], x->shape))
			break;
	}
	ASSERT(i);
	n = i;
	vdev_kick(&r->v.q[VDEV_TX]);
	for (i = 0; i < n; i++)
		if (!rig_expect(r, first + i, len[i]))
			return;
	rig_tx_drain(r, 3000);
}

static void refill(struct exchange *x)
{
	struct vdev_queue *q = &x->r->v.q[VDEV_RX];

	if (q->buf_left < q->buf_num / 2)
		return;
	rig_rx_post(x->r, q->buf_num, x->shape);
	vdev_kick(q);
}

void exchange_rx(struct exchange *x)
{
	struct rig *r = x->r;
	unsigned int n = burst(x), i;
	uint32_t first = x->rx_seq, len[BURST_MAX];

	refill(x);
	for (i = 0; i < n; i++) {
		len[i] = frame_len(x);
		rig_inject(r, x->rx_seq++, len[i]);
	}
	for (i = 0; i < n; i++) {
		if (!rig_rx_expect(r, first + i, len[i]))
			return;
		refill(x);
	}
}

static void *guest(void *arg)
{
	struct exchange *x = arg;

	while (!__atomic_load_n(&x->stop, __ATOMIC_ACQUIRE) && !ksft_failed()) {
		exchange_tx(x);
		if (!ksft_failed())
			exchange_rx(x);
		__atomic_fetch_add(&x->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

void exchange_start(struct exchange *x)
{
	x->stop = false;
	ASSERT_EQ(pthread_create(&x->thread, NULL, guest, x), 0);
}

void exchange_end(struct exchange *x)
{
	__atomic_store_n(&x->stop, true, __ATOMIC_RELEASE);
	pthread_join(x->thread, NULL);
}

bool exchange_wait(struct exchange *x)
{
	unsigned long seen = __atomic_load_n(&x->rounds, __ATOMIC_ACQUIRE);

	return WAIT_FOR(8000, ksft_failed() ||
			__atomic_load_n(&x->rounds, __ATOMIC_ACQUIRE) > seen);
}
