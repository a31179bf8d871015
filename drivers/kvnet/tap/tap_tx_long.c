// SPDX-License-Identifier: GPL-2.0
/*
 * tap_tx_long.c - direct TX of frames longer than a fragment (frag.h), one by one
 *
 * For such a frame, one of GSO as a rule, sendmsg() allocates pages, which most kernels clear: for
 * 64 KiB that costs as much as the copy. Here the memory is fragments of the queue's chunks.
 */
#include "tap.h"

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/virtio_net.h>

#include "frag.h"
#include "vnet_hdr.h"

/* Bytes of a packet, from @at on. Returns false if they cannot be read. */
static bool copy_bytes(void *to, const struct kvnet_tap_msg *from, size_t at, size_t len)
{
	const struct kvnet_tap_msg part = {
		.iov = from->iov, .n = from->n, .skip = from->skip + at, .len = len,
	};

	return !kvnet_tap_msg_copy(to, &part);
}

/* Bytes of a packet as the next fragment of @skb. Returns false also without memory. */
static bool copy_to_frag(struct kvnet_tap *tap, struct sk_buff *skb,
			 const struct kvnet_tap_msg *from, size_t at, size_t len)
{
	const size_t size = SKB_DATA_ALIGN(len);
	void *frag = kvnet_frag_alloc(&tap->frags, size);
	struct page *page;

	if (!frag)
		return false;
	page = virt_to_head_page(frag);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, frag - page_address(page), len, size);
	return copy_bytes(frag, from, at, len);
}

/* Returns a copy of the frame, of which the first @linear bytes are linear; or NULL. */
static struct sk_buff *build_long_skb(struct kvnet_tap *tap, const struct kvnet_tap_msg *from,
				      unsigned int linear)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + KVNET_TAP_LINEAR_MAX,
					GFP_KERNEL);
	size_t at = tap->hdr_len, len;
	bool ok;

	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	ok = copy_bytes(skb_put(skb, linear), from, at, linear);
	for (at += linear; ok && at < from->len; at += len) {
		len = min(from->len - at, KVNET_FRAG_MAX);
		ok = copy_to_frag(tap, skb, from, at, len);
	}
	if (ok)
		return skb;
	consume_skb(skb);
	return NULL;
}

/*
 * Worker; the batch is empty, and @from longer than KVNET_TAP_LINEAR_MAX. Returns false if the
 * frame was not sent: it is left to sendmsg(), which also counts errors.
 */
bool kvnet_tap_tx_long_send(struct kvnet_tap *tap, const struct kvnet_tap_msg *from)
{
	struct virtio_net_hdr hdr = {};
	struct sk_buff *skb;

	if (!kvnet_tap_tx_direct_is_ready(tap) ||
	    !copy_bytes(&hdr, from, 0, min(tap->hdr_len, sizeof(hdr))) ||
	    kvnet_vnet_hdr_fix(&hdr, from->len - tap->hdr_len, true) || kvnet_vnet_hdr_is_odd(&hdr))
		return false;
	skb = build_long_skb(tap, from, kvnet_vnet_hdr_linear_len(&hdr, KVNET_TAP_LINEAR_MAX));
	if (!skb)
		return false;
	/* A frame that is due goes to sendmsg(), as the last one of a batch does. */
	if (tap->has_queues)
		kvnet_tap_tx_direct_check_flow(tap, skb->data, skb_headlen(skb));
	if (!tap->due_flow && !virtio_net_hdr_to_skb(skb, &hdr, true) &&
	    kvnet_tap_tx_direct_pass(tap, skb))
		return true;
	consume_skb(skb);
	return false;
}
