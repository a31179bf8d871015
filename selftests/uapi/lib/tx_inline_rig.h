/* SPDX-License-Identifier: GPL-2.0 */
/* A guest with inline TX. */
#ifndef SELFTESTS_TX_INLINE_RIG_H
#define SELFTESTS_TX_INLINE_RIG_H

#include "rig.h"

void tx_inline_need_kvnet(void);
/* With send buffers of that size, 0: the usual one; without busy polling. Not of vhost_net. */
void tx_inline_begin(struct rig *r, unsigned int tx_buf);
/* A frame to the host, with a kick of its own. */
void tx_inline_send(struct rig *r, uint32_t len);
/* The last frame of the guest arrives, and all buffers come back. */
void tx_inline_sent(struct rig *r, uint32_t len);
/* A frame to the guest: what it sends is no stream then. */
void tx_inline_reply(struct rig *r);
/* Until the worker has polled the queue after its start, and is idle. */
void tx_inline_settle(struct rig *r);

#endif /* SELFTESTS_TX_INLINE_RIG_H */
