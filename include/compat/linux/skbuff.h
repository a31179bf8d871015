/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_SKBUFF_H
#define _KVNET_COMPAT_SKBUFF_H

#include_next <linux/skbuff.h>
#include <linux/bottom_half.h>
#include <linux/version.h>

/*
 * Drop the last references of a list of socket buffers together, on this CPU.
 * napi_consume_skb() is cheaper, but since Linux 6.19 it defers the free to the CPU that has
 * allocated the buffer, by an interrupt: that is the sender's CPU, and its time.
 */
static inline void compat_consume_skbs(struct sk_buff *list, bool softirq_session)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	kfree_skb_list_reason(list, SKB_CONSUMED);
#else
	struct sk_buff *next;

	if (!softirq_session)
		local_bh_disable();
	for (; list; list = next) {
		next = list->next;
		skb_mark_not_on_list(list);
		napi_consume_skb(list, 1);
	}
	if (!softirq_session)
		local_bh_enable();
#endif
}

/* Linux 6.12 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif /* _KVNET_COMPAT_SKBUFF_H */
