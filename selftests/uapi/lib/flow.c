// SPDX-License-Identifier: GPL-2.0
/* Numbered frames both ways, under change: see flow.h. */
#include "flow.h"

#define BURST	16

const uint32_t flow_lens[4] = { 60, 300, 1000, 1514 };

void flow_sockets(struct rig *r, int ifindex)
{
	r->ifindex = ifindex;
	close(r->sniff);
	close(r->inject);
	r->sniff = rig_packet_socket(r, FRAME_TYPE, false);
	r->inject = rig_packet_socket(r, 0, false);
}

void flow_one(struct rig *r)
{
	static uint32_t seq;

	rig_offer(r, 8);
	rig_inject(r, ++seq, 80);
	rig_rx_expect(r, seq, 80);
	rig_send(r, 90);
}

void flow_swap(struct rig *r, int backend, int far_ifindex)
{
	close(r->tap);
	r->tap = backend;
	flow_sockets(r, far_ifindex);
}

static bool has_dst(const struct flow *f)
{
	static const uint8_t none[6];

	return memcmp(f->dst, none, 6);
}

/* The host's sockets may be down or gone meanwhile. */
static bool inject(struct flow *f, uint32_t len)
{
	uint8_t frame[FRAME_MAX + 1];

	if (f->one_way)
		return false;
	frame_make(frame, f->rx_seq, len);
	if (has_dst(f))
		memcpy(frame, f->dst, 6);
	f->rx_seq++;
	return send(f->r->inject, frame, len, MSG_DONTWAIT) == (ssize_t)len;
}

static void judge(struct flow *f, const char *way, const uint8_t *frame,
		  size_t n, uint32_t *last)
{
	uint32_t words[2];

	if (n < FRAME_MIN) {
		FAIL("%s: a frame of %zu bytes", way, n);
		return;
	}
	memcpy(words, frame + 14, sizeof(words));
	if (!frame_check(frame, n, words[0], words[1]))
		return;
	if (!f->unordered && (int32_t)(words[0] + 1 - *last) <= 0)
		FAIL("%s: number %u after %u", way, words[0], *last - 1);
	*last = words[0] + 1;
}

/* Used buffers without a look at what is in them. */
static bool take_blindly(struct flow *f)
{
	struct vdev_queue *q = &f->r->v.q[VDEV_RX];
	struct gr_done d;
	int ret = gr_get_used(&q->ring, &d);

	if (ret < 0)
		FAIL("RX: %s", q->ring.broken);
	if (ret != 1)
		return false;
	EXPECT_LE(d.len, q->buf_size);
	vdev_buf_put(q, d.token);
	f->rx_seen++;
	return true;
}

static bool take_rx(struct flow *f)
{
	static uint8_t frame[FRAME_MAX + 4096];
	static const uint8_t dst[6] = { 2, 0, 0, 0, 0, 1 };
	ssize_t n;

	if (f->opaque)
		return take_blindly(f);
	if (!gr_used_pending(&f->r->v.q[VDEV_RX].ring))
		return false;
	n = rig_rx(f->r, NULL, frame, sizeof(frame), 3000);
	if (n < 0) {
		FAIL("RX: part of a packet");
		return false;
	}
	if (has_dst(f) && n >= 6 && !memcmp(frame, f->dst, 6))
		memcpy(frame, dst, 6);
	f->rx_seen++;
	judge(f, "RX", frame, n, &f->rx_last);
	return true;
}

static bool take_tx(struct flow *f)
{
	static uint8_t frame[FRAME_MAX + 64];
	ssize_t n = rig_sniff(f->r, frame, sizeof(frame), 0);

	if (n < 0)
		return false;
	f->tx_seen++;
	if (!f->opaque)
		judge(f, "TX", frame, n, &f->tx_last);
	return true;
}

static void take_all(struct flow *f)
{
	while (!ksft_failed() && take_rx(f))
		;
	while (!ksft_failed() && take_tx(f))
		;
	rig_tx_reap(f->r);
}

static void post(struct flow *f)
{
	rig_offer(f->r, 64);
}

static bool all_there(const struct flow *f)
{
	return f->tx_last == f->r->tx_seq && f->rx_last == f->rx_seq;
}

void flow_pump(struct flow *f)
{
	unsigned int i, in = 0;

	post(f);
	for (i = 0; i < BURST; i++) {
		rig_tx(f->r, FRAME_MIN + ksft_below(1400), NULL);
		in += inject(f, FRAME_MIN + ksft_below(1400));
	}
	if (!in && f->lost)
		f->lost(f);
	vdev_kick(&f->r->v.q[VDEV_TX]);
	ksft_relax(0);
	take_all(f);
	if (f->lossless &&
	    !WAIT_FOR(5000, (take_all(f), ksft_failed() || all_there(f))))
		FAIL("frames are lost: %u to the host, %u to the guest",
		     f->r->tx_seq - f->tx_last, f->rx_seq - f->rx_last);
}

void flow_quiesces(struct flow *f)
{
	unsigned long seen = f->tx_seen + f->rx_seen;
	unsigned int calm = 0;

	while (calm < 20 && !ksft_failed()) {
		post(f);
		vdev_kick_always(&f->r->v.q[VDEV_RX]);
		take_all(f);
		calm = seen == f->tx_seen + f->rx_seen ? calm + 1 : 0;
		seen = f->tx_seen + f->rx_seen;
		ksft_relax(1000);
	}
}

void flow_exact(struct flow *f, unsigned int n, const uint32_t *len,
		unsigned int lens)
{
	unsigned int i, k;

	for (k = 0; k < lens && !ksft_failed(); k++) {
		unsigned long tx = f->tx_seen + n;
		unsigned long rx = f->rx_seen + (f->one_way ? 0 : n);

		post(f);
		for (i = 0; i < n; i++) {
			ASSERT_EQ(rig_tx(f->r, len[k], NULL), 0);
			if (!f->one_way)
				ASSERT(inject(f, len[k]));
		}
		vdev_kick(&f->r->v.q[VDEV_TX]);
		WAIT_FOR(5000, (take_all(f), ksft_failed() ||
				(f->tx_seen >= tx && f->rx_seen >= rx)));
		if (f->tx_seen != tx || f->rx_seen != rx)
			FAIL("frames of %u bytes: %ld of %u to the host, %ld to the guest",
			     len[k], f->tx_seen + n - tx, n,
			     f->one_way ? 0 : f->rx_seen + n - rx);
		rig_tx_drain(f->r, 3000);
	}
}

/* The last number sent has arrived, and so has or will never what was before */
static bool passes(struct flow *f)
{
	uint32_t tx;

	post(f);
	inject(f, 80);
	rig_tx(f->r, 90, NULL);
	tx = f->r->tx_seq;
	vdev_kick_always(&f->r->v.q[VDEV_TX]);
	/* thousands of frames may lie in a socket: buffers as soon as there are */
	return WAIT_FOR(100, (take_all(f), post(f), ksft_failed() ||
			(f->tx_last == tx &&
			 (f->one_way || f->rx_last == f->rx_seq))));
}

void flow_recovers(struct flow *f)
{
	unsigned int i;
	bool ok = false;

	for (i = 0; i < 150 && !ok; i++)
		ok = passes(f);
	if (!ok)
		FAIL("no frame passes any more: to the host %d, to the guest %d",
		     f->tx_last == f->r->tx_seq, f->rx_last == f->rx_seq);
	if (!ksft_failed())
		rig_tx_drain(f->r, 3000);
}

void flow_settled(struct flow *f)
{
	flow_recovers(f);
	flow_exact(f, 16, flow_lens, FLOW_LENS);
}

void flow_stop_empty(struct flow *f)
{
	rig_stop(f->r);
	vdev_queue_reset(&f->r->v, VDEV_RX);
	vdev_queue_reset(&f->r->v, VDEV_TX);
	f->r->tx_out = 0;
}

void flow_storm(struct flow *f, unsigned int n, void (*change)(unsigned int i))
{
	unsigned long *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long turn = 0;
	int status = -1;
	pid_t pid;

	ASSERT(turns != MAP_FAILED);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		unsigned int i;

		for (i = 0; i < n && !ksft_failed(); i++) {
			if (i % 4 != 3)	/* mostly let frames pass before */
				WAIT_FOR(5000, __atomic_load_n(turns,
					 __ATOMIC_ACQUIRE) > turn + 1);
			turn = __atomic_load_n(turns, __ATOMIC_ACQUIRE);
			change(i);
		}
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG) && !ksft_failed()) {
		flow_pump(f);
		__atomic_store_n(turns, ++turn, __ATOMIC_RELEASE);
	}
	EXPECT_EQ(status, 0);
	munmap(turns, 4096);
	ksft_note("%lu rounds, %lu frames to the host, %lu to the guest", turn,
		  f->tx_seen, f->rx_seen);
}
