/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - tracepoints
 *
 * Events name a queue by the PID of the owner and the index of the queue.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvnet

#if !defined(_KVNET_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KVNET_TRACE_H

#include <linux/tracepoint.h>

#ifndef _KVNET_TRACE_ONCE
#define _KVNET_TRACE_ONCE
#include "worker/work.h"
#include "vq/vq.h"
#endif

/* Exports the values to user space, for the __print_symbolic() formats below. */
TRACE_DEFINE_ENUM(KVNET_WORK_IDLE);
TRACE_DEFINE_ENUM(KVNET_WORK_REPOLL);
TRACE_DEFINE_ENUM(KVNET_WORK_COMPLETE);
TRACE_DEFINE_ENUM(KVNET_STAT_drop_short);
TRACE_DEFINE_ENUM(KVNET_STAT_drop_long);
TRACE_DEFINE_ENUM(KVNET_STAT_drop_header);
TRACE_DEFINE_ENUM(KVNET_STAT_drop_fault);
TRACE_DEFINE_ENUM(KVNET_STAT_drop_oversize);
TRACE_DEFINE_ENUM(KVNET_STAT_drop_tap);

/* A descriptor chain was popped. */
TRACE_EVENT(kvnet_pop,
	TP_PROTO(const struct kvnet_vq *vq, u16 id, unsigned int segs,
		 size_t len),
	TP_ARGS(vq, id, segs, len),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(u16, index)
		__field(u16, id)
		__field(unsigned int, segs)
		__field(size_t, len)
	),
	TP_fast_assign(
		__entry->owner = vq->owner;
		__entry->index = vq->index;
		__entry->id = id;
		__entry->segs = segs;
		__entry->len = len;
	),
	TP_printk("owner=%d vq=%u id=%u segs=%u len=%zu", __entry->owner,
		  __entry->index, __entry->id, __entry->segs, __entry->len)
);

/* Used buffers were published; call: the driver is interrupted now. */
TRACE_EVENT(kvnet_flush,
	TP_PROTO(const struct kvnet_vq *vq, unsigned int n, bool call),
	TP_ARGS(vq, n, call),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(u16, index)
		__field(unsigned int, n)
		__field(bool, call)
	),
	TP_fast_assign(
		__entry->owner = vq->owner;
		__entry->index = vq->index;
		__entry->n = n;
		__entry->call = call;
	),
	TP_printk("owner=%d vq=%u n=%u call=%d", __entry->owner,
		  __entry->index, __entry->n, __entry->call)
);

/* The virtio spec was violated, guest memory is not accessible, or the owner died. */
TRACE_EVENT(kvnet_vq_broken,
	TP_PROTO(const struct kvnet_vq *vq, int err),
	TP_ARGS(vq, err),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(u16, index)
		__field(u16, last_avail)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->owner = vq->owner;
		__entry->index = vq->index;
		__entry->last_avail = vq->ring.last_avail;
		__entry->err = err;
	),
	TP_printk("owner=%d vq=%u last_avail=%u err=%d", __entry->owner,
		  __entry->index, __entry->last_avail, __entry->err)
);

/* The queue waits for an IOTLB update; perm is VHOST_ACCESS_*: 1 read, 2 write. */
TRACE_EVENT(kvnet_iotlb_miss,
	TP_PROTO(const struct kvnet_vq *vq, u64 iova, u8 perm),
	TP_ARGS(vq, iova, perm),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(u16, index)
		__field(u8, perm)
		__field(u64, iova)
	),
	TP_fast_assign(
		__entry->owner = vq->owner;
		__entry->index = vq->index;
		__entry->perm = perm;
		__entry->iova = iova;
	),
	TP_printk("owner=%d vq=%u iova=%#llx perm=%u", __entry->owner,
		  __entry->index, __entry->iova, __entry->perm)
);

/* The VMM sent an IOTLB update. */
TRACE_EVENT(kvnet_iotlb_update,
	TP_PROTO(const struct kvnet_iotlb_entry *e, int ret),
	TP_ARGS(e, ret),
	TP_STRUCT__entry(
		__field(u64, iova)
		__field(u64, last)
		__field(u64, hva)
		__field(u8, perm)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->iova = e->iova;
		__entry->last = e->last;
		__entry->hva = e->hva;
		__entry->perm = e->perm;
		__entry->ret = ret;
	),
	TP_printk("iova=%#llx last=%#llx hva=%#llx perm=%u ret=%d",
		  __entry->iova, __entry->last, __entry->hva, __entry->perm,
		  __entry->ret)
);

/* The VMM invalidated a range of the IOTLB. */
TRACE_EVENT(kvnet_iotlb_invalidate,
	TP_PROTO(u64 iova, u64 last, int ret),
	TP_ARGS(iova, last, ret),
	TP_STRUCT__entry(
		__field(u64, iova)
		__field(u64, last)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->iova = iova;
		__entry->last = last;
		__entry->ret = ret;
	),
	TP_printk("iova=%#llx last=%#llx ret=%d", __entry->iova, __entry->last,
		  __entry->ret)
);

/* A packet was dropped; reason: KVNET_STAT_drop_*. */
TRACE_EVENT(kvnet_drop,
	TP_PROTO(const struct kvnet_vq *vq, enum kvnet_stat reason),
	TP_ARGS(vq, reason),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(u16, index)
		__field(int, reason)
	),
	TP_fast_assign(
		__entry->owner = vq->owner;
		__entry->index = vq->index;
		__entry->reason = reason;
	),
	TP_printk("owner=%d vq=%u reason=%s", __entry->owner, __entry->index,
		  __print_symbolic(__entry->reason,
				   { KVNET_STAT_drop_short, "short" },
				   { KVNET_STAT_drop_long, "long" },
				   { KVNET_STAT_drop_header, "header" },
				   { KVNET_STAT_drop_fault, "fault" },
				   { KVNET_STAT_drop_oversize, "oversize" },
				   { KVNET_STAT_drop_tap, "tap" }))
);

DECLARE_EVENT_CLASS(kvnet_work_class,
	TP_PROTO(pid_t owner, unsigned int work, unsigned int event),
	TP_ARGS(owner, work, event),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(unsigned int, index)
		__field(unsigned int, event)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__entry->index = work;
		__entry->event = event;
	),
	TP_printk("owner=%d vq=%u event=%s", __entry->owner, __entry->index,
		  __print_symbolic(__entry->event,
				   { KVNET_EV_KICK, "kick" },
				   { KVNET_EV_TAP, "tap" },
				   { KVNET_EV_TIMER, "timer" },
				   { KVNET_EV_CTRL, "ctrl" }))
);

/* An event scheduled the queue's work: to run inline, or on its worker. */
DEFINE_EVENT(kvnet_work_class, kvnet_work_event,
	TP_PROTO(pid_t owner, unsigned int work, unsigned int event), TP_ARGS(owner, work, event));

/* The work was queued to its worker. */
DEFINE_EVENT(kvnet_work_class, kvnet_worker_wake,
	TP_PROTO(pid_t owner, unsigned int work, unsigned int event), TP_ARGS(owner, work, event));

/* A poll ended: by the worker, a vCPU thread or a softirq. */
TRACE_EVENT(kvnet_poll,
	TP_PROTO(pid_t owner, unsigned int work, int result),
	TP_ARGS(owner, work, result),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(unsigned int, index)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__entry->index = work;
		__entry->result = result;
	),
	TP_printk("owner=%d vq=%u result=%s", __entry->owner, __entry->index,
		  __print_symbolic(__entry->result,
				   { KVNET_WORK_IDLE, "idle" },
				   { KVNET_WORK_REPOLL, "repoll" },
				   { KVNET_WORK_COMPLETE, "complete" }))
);

/* The worker stopped busy polling; hit: it found work. */
TRACE_EVENT(kvnet_busy_poll,
	TP_PROTO(pid_t owner, u64 spun_ns, u64 window_ns, bool hit),
	TP_ARGS(owner, spun_ns, window_ns, hit),
	TP_STRUCT__entry(
		__field(pid_t, owner)
		__field(u64, spun_ns)
		__field(u64, limit_ns)
		__field(bool, hit)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__entry->spun_ns = spun_ns;
		__entry->limit_ns = window_ns;
		__entry->hit = hit;
	),
	TP_printk("owner=%d spun=%llu window=%llu hit=%d", __entry->owner,
		  __entry->spun_ns, __entry->limit_ns, __entry->hit)
);

#endif /* _KVNET_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
