/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring_layout.h - the operations of ring.h in both layouts; included by ring.h only
 */
#ifndef _KVNET_RING_LAYOUT_H
#define _KVNET_RING_LAYOUT_H

int kvnet_ring_split_start(struct kvnet_ring *r);
int kvnet_ring_split_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			  const struct kvnet_reader *reader);
bool kvnet_ring_split_read_ahead(struct kvnet_ring *r);
unsigned int kvnet_ring_split_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					  struct kvnet_used *used, unsigned int max,
					  size_t len);
int kvnet_ring_split_put(struct kvnet_ring *r, const struct kvnet_used *used,
			 unsigned int n);
int kvnet_ring_split_kick_off(struct kvnet_ring *r);
int kvnet_ring_split_kick_on(struct kvnet_ring *r);
int kvnet_ring_split_should_call(struct kvnet_ring *r);
bool kvnet_ring_split_pending(const struct kvnet_ring *r);
unsigned int kvnet_ring_split_collect_written(struct kvnet_ring *r,
					      struct kvnet_ring_span *span);

int kvnet_ring_packed_start(struct kvnet_ring *r);
int kvnet_ring_packed_next(struct kvnet_ring *r, struct kvnet_chain *chain,
			   const struct kvnet_reader *reader);
unsigned int kvnet_ring_packed_next_single(struct kvnet_ring *r,
					   struct kvnet_seg *seg,
					   struct kvnet_used *used, unsigned int max,
					   size_t len);
int kvnet_ring_packed_put(struct kvnet_ring *r, const struct kvnet_used *used,
			  unsigned int n);
int kvnet_ring_packed_kick_off(struct kvnet_ring *r);
int kvnet_ring_packed_kick_on(struct kvnet_ring *r);
int kvnet_ring_packed_should_call(struct kvnet_ring *r);
bool kvnet_ring_packed_pending(const struct kvnet_ring *r);
unsigned int kvnet_ring_packed_collect_written(struct kvnet_ring *r,
					       struct kvnet_ring_span *span);
void kvnet_ring_packed_rewind(struct kvnet_ring *r, u16 pos);

#endif /* _KVNET_RING_LAYOUT_H */
