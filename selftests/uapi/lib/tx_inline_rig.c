// SPDX-License-Identifier: GPL-2.0
/* A guest with inline TX, see tx_inline_rig.h. */
#include "tx_inline_rig.h"

#include "procfs.h"

static uint32_t injected;

void tx_inline_need_kvnet(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net's guests do not send");
}

void tx_inline_begin(struct rig *r, unsigned int tx_buf)
{
	tx_inline_need_kvnet();
	rig_open(r, &(struct rig_cfg){ .tx_buf = tx_buf });
	vdev_no_spin(&r->v);
	rig_rx_post(r, 200, NULL);
	vdev_kick_always(&r->v.q[VDEV_RX]);
	injected = 0;
}

void tx_inline_reply(struct rig *r)
{
	rig_inject(r, injected, 60);
	rig_rx_expect(r, injected, 60);
	injected++;
}

void tx_inline_sent(struct rig *r, uint32_t len)
{
	rig_expect(r, r->tx_seq - 1, len);
	ASSERT(rig_tx_drain(r, 3000));
}

void tx_inline_send(struct rig *r, uint32_t len)
{
	ASSERT_EQ(rig_tx(r, len, NULL), 0);
	vdev_kick(&r->v.q[VDEV_TX]);
	tx_inline_sent(r, len);
}

void tx_inline_settle(struct rig *r)
{
	tx_inline_send(r, 60);
	tx_inline_reply(r);
	wait_worker_idle();
}
