/* SPDX-License-Identifier: GPL-2.0 */
/* What the two layouts of mischief.c share, and nobody else. */
#ifndef SELFTESTS_MISCHIEF_RING_H
#define SELFTESTS_MISCHIEF_RING_H

#include "mischief.h"

#define NUM	256u
#define PIECES	1024u		/* of a packet: the most there may be */
#define LEN	72u		/* bytes of a packet, header included */

static inline struct guest_ring *ring_of(struct mischief *m)
{
	return &m->v->q[m->queue].ring;
}

/* In a packed ring, mischief_packed.c; as the functions of mischief.c without that word. */
void packed_lay_table(struct mischief *m);
void packed_lay_receive(struct mischief *m);
unsigned int packed_send_more(struct mischief *m);
void packed_lay_bad(struct mischief *m);
void packed_offer(struct mischief *m);
void packed_take_back(struct mischief *m);

#endif /* SELFTESTS_MISCHIEF_RING_H */
