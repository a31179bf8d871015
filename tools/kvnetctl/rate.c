// SPDX-License-Identifier: GPL-2.0
/*
 * rate.c - rates, from two readings, see rate.h
 */
#include "rate.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>

static const struct kvnet_device *find_device(const struct kvnet_devices *all, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		if (all->dev[i].id == id)
			return &all->dev[i];
	return NULL;
}

static const struct kvnet_queue *find_queue(const struct kvnet_device *dev, uint32_t index)
{
	unsigned int i;

	for (i = 0; dev && i < dev->queues; i++)
		if (dev->queue[i].index == index)
			return &dev->queue[i];
	return NULL;
}

static const struct kvnet_worker *find_worker(const struct kvnet_device *dev, uint32_t index)
{
	unsigned int i;

	for (i = 0; dev && i < dev->workers; i++)
		if (dev->worker[i].index == index)
			return &dev->worker[i];
	return NULL;
}

static double seconds(const struct kvnet_devices *then, const struct kvnet_devices *now)
{
	return now->ns > then->ns ? (now->ns - then->ns) / 1e9 : 1e-9;
}

static double counter_growth(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

static double counter_delta(const struct kvnet_queue *then, const struct kvnet_queue *now,
			    const char *name)
{
	return counter_growth(kvnet_counter_value(then, name), kvnet_counter_value(now, name));
}

/* percent of a CPU; a worker's run time is absent on kernels that do not count it */
static double worker_cpu(const struct kvnet_worker *then, const struct kvnet_worker *now,
			 double s)
{
	if (!then || !now || !HAS(now, KVNET_A_WORKER_RUN_NS))
		return NAN;
	return counter_growth(then->run_ns, now->run_ns) / s / 1e7;
}

static struct rate rate_of(const struct kvnet_device *was, const struct kvnet_device *dev,
			   const struct kvnet_queue *q, double s)
{
	static const struct kvnet_queue nothing;
	const struct kvnet_queue *old = find_queue(was, q->index);
	struct rate r = { .dev = dev, .queue = q };
	double polls;

	/* all that a new one has done was since then */
	if (!old)
		old = &nothing;
	r.pps = counter_delta(old, q, "packets") / s;
	r.bps = counter_delta(old, q, "bytes") * 8 / s;
	r.calls = counter_delta(old, q, "calls") / s;
	r.kicks = counter_growth(old->kicks, q->kicks) / s;
	r.drops = counter_growth(kvnet_drops(old), kvnet_drops(q)) / s;
	polls = counter_delta(old, q, "polls") + counter_delta(old, q, "polls_inline");
	r.batch = polls ? counter_delta(old, q, "packets") / polls : NAN;
	r.cpu = worker_cpu(find_worker(was, q->worker), find_worker(dev, q->worker), s);
	return r;
}

/**
 * rates() - of all queues
 * @then: the earlier look
 * @now: the later one, which stays as long as the rates
 * @n: how many there are
 *
 * Return: rates for free().
 */
struct rate *rates(const struct kvnet_devices *then, const struct kvnet_devices *now,
		   unsigned int *n)
{
	double s = seconds(then, now);
	const struct kvnet_device *dev;
	struct rate *all = NULL;
	unsigned int i, j;

	*n = 0;
	for (i = 0; i < now->n; i++) {
		dev = &now->dev[i];
		for (j = 0; j < dev->queues; j++) {
			all = need(reallocarray(all, *n + 1, sizeof(*all)));
			all[(*n)++] = rate_of(find_device(then, dev->id), dev, &dev->queue[j], s);
		}
	}
	return all;
}

/**
 * rate_cpu() - of all workers of a device
 * @then: the earlier look
 * @now: the later one
 * @dev: the device, of the later one
 *
 * Return: percent of a CPU; NAN if it cannot be told.
 */
double rate_cpu(const struct kvnet_devices *then, const struct kvnet_devices *now,
		const struct kvnet_device *dev)
{
	const struct kvnet_device *was = find_device(then, dev->id);
	double s = seconds(then, now), sum = 0, cpu;
	unsigned int i;

	if (!dev->workers)
		return NAN;
	for (i = 0; i < dev->workers; i++) {
		cpu = worker_cpu(find_worker(was, dev->worker[i].index), &dev->worker[i], s);
		if (isnan(cpu))
			return NAN;
		sum += cpu;
	}
	return sum;
}
