/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_SKBUFF_H
#define _KVNET_COMPAT_SKBUFF_H

#include_next <linux/skbuff.h>
#include <linux/bottom_half.h>
#include <linux/version.h>

/*
 * Free what nobody else has, together, on this CPU. napi_consume_skb() does so for less,
 * but since Linux 6.19 leaves it to the CPU that has allocated it, with an interrupt: that
 * of who sends, whose time it then is.
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

#endif /* _KVNET_COMPAT_SKBUFF_H */
