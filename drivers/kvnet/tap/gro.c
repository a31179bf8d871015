// SPDX-License-Identifier: GPL-2.0
/*
 * gro.c - GRO of what guests send, for direct TX (tap_tx_direct.c)
 *
 * A guest without TSO sends segments, which bridge, firewall and the next tap would handle one
 * by one. So the segments of a batch are merged by the stack's GRO, as those of a NIC are. The
 * socket buffers' device is the tap: what "ethtool -K" says of it applies (gro, rx-gro-list,
 * rx-udp-gro-forwarding).
 *
 * GRO keeps its frames in a NAPI instance. There is one for each CPU, which no softirq polls: a
 * batch owns it while softirqs are off, and completes it, which flushes all frames. So no frame
 * is held between batches, and none overtakes another one of its flow, but for those that GRO
 * itself does not keep in order: fragments and IPv4 options among TCP segments, as on a NIC.
 *
 * Where nothing can be merged GRO only costs time. Where packets leave by a device that cannot
 * segment them, the stack does it, which costs more than GRO saves: by a tap whose guest does not
 * take TSO, or that lacks tx-tcp-mangleid-segmentation while the sender's IPv4 ID is constant
 * (FreeBSD). So GRO is tried for one batch in 64, of those that could gain. It stays on while it
 * halves the number of packets, and a frame takes less time than in the last batch without GRO.
 */
#include "gro.h"

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/skbuff.h>

#include "tap.h"

/* A batch that could gain has so many frames, which have so many bytes in the mean. */
#define GRO_MIN_FRAMES		4
#define GRO_MIN_LEN		512

/* Such batches that go without GRO before it is tried again; of the last the time is taken. */
#define GRO_OFF_BATCHES		63

/* Such batches with GRO before the time without it is taken again. */
#define GRO_ON_BATCHES		64

static struct net_device *gro_dev;	/* not registered: the owner of the instances */
static struct napi_struct __percpu *gro_napi;

/*
 * At the begin of a batch, softirqs off. Returns NULL for a batch without GRO, else what
 * kvnet_gro_receive() takes for each frame. kvnet_gro_end() follows before softirqs are on.
 */
struct napi_struct *kvnet_gro_start(struct kvnet_tap *tap, const struct net_device *dev)
{
	struct napi_struct *napi = this_cpu_ptr(gro_napi);

	tap->gro_merged = 0;
	tap->gro_begin = 0;
	if (tap->n_xdp < GRO_MIN_FRAMES || tap->xdp_bytes < tap->n_xdp * GRO_MIN_LEN ||
	    netif_elide_gro(dev))
		return NULL;
	if (tap->gro_off && --tap->gro_off)
		return NULL;
	tap->gro_begin = local_clock();
	if (!tap->gro_on)
		return NULL;
	compat_napi_set_skb_id(napi, tap->sender_cpu);
	return napi_schedule_prep(napi) ? napi : NULL;
}

void kvnet_gro_receive(struct kvnet_tap *tap, struct napi_struct *napi, struct sk_buff *skb)
{
	gro_result_t ret = napi_gro_receive(napi, skb);

	if (ret == GRO_MERGED || ret == GRO_MERGED_FREE)
		tap->gro_merged++;
}

/* Passes to the stack what GRO has kept of the batch, of which @n frames were delivered. */
void kvnet_gro_end(struct kvnet_tap *tap, struct napi_struct *napi, unsigned int n)
{
	u32 ns;

	if (napi)
		napi_complete(napi);
	if (!tap->gro_begin || !n)
		return;
	ns = (u32)(local_clock() - tap->gro_begin) / n;
	if (!napi) {
		tap->gro_plain_ns = ns;
		tap->gro_on = GRO_ON_BATCHES;
	} else if (tap->gro_merged < n - tap->gro_merged || ns >= tap->gro_plain_ns) {
		tap->gro_off = GRO_OFF_BATCHES;
		tap->gro_on = 0;
	} else {
		tap->gro_on--;
	}
}

/* Never called, since nothing puts an instance on a CPU's poll list. */
static int poll_gro(struct napi_struct *napi, int budget)
{
	napi_complete(napi);
	return 0;
}

/* Returns 0 or -ENOMEM. */
int __init kvnet_gro_init(void)
{
	struct napi_struct *napi;
	int cpu;

	gro_dev = compat_alloc_netdev_dummy();
	gro_napi = alloc_percpu(struct napi_struct);
	if (!gro_dev || !gro_napi) {
		if (gro_dev)
			compat_free_netdev_dummy(gro_dev);
		free_percpu(gro_napi);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		napi = per_cpu_ptr(gro_napi, cpu);
		/* _tx: no busy polling */
		netif_napi_add_tx(gro_dev, napi, poll_gro);
		napi_enable(napi);
	}
	return 0;
}

/* After the last session: no device has a backend. */
void kvnet_gro_exit(void)
{
	struct napi_struct *napi;
	int cpu;

	for_each_possible_cpu(cpu) {
		napi = per_cpu_ptr(gro_napi, cpu);
		napi_disable(napi);
		__netif_napi_del(napi);
	}
	/* Once for all of them, as __netif_napi_del() wants it. */
	synchronize_net();
	compat_free_netdev_dummy(gro_dev);
	free_percpu(gro_napi);
}
