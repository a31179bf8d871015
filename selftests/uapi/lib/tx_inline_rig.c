// SPDX-License-Identifier: GPL-2.0
/* A guest with inline TX, see tx_inline_rig.h. */
#include "tx_inline_rig.h"

#include "procfs.h"

static uint32_t injected;

void tx_inline_begin(struct rig *r, unsigned int tx_buf)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net's guests do not send");
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

void tx_inline_settle(struct rig *r)
{
	ASSERT_EQ(rig_tx(r, 60, NULL), 0);
	vdev_kick(&r->v.q[VDEV_TX]);
	rig_expect(r, r->tx_seq - 1, 60);
	ASSERT(rig_tx_drain(r, 3000));
	tx_inline_reply(r);
	wait_worker_idle();
}
