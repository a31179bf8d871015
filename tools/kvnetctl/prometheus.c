// SPDX-License-Identifier: GPL-2.0
/*
 * prometheus.c - counters for Prometheus, see prometheus.h
 *
 * All samples of a metric stand together, as the format wants it; so the devices are
 * gone through once for each metric.
 */
#include "prometheus.h"
#include "host.h"
#include "names.h"
#include "text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void label(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%s=\"", name);
	text_put(f, value ? value : "", TEXT_LABEL);
	fputc('"', f);
}

static void labels(FILE *f, const char *metric, const struct kvnet_device *dev)
{
	fprintf(f, "%s{device=\"%u\",", metric, dev->id);
	label(f, "tap", dev->tap);
}

static void heading(FILE *f, const char *metric, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static void write_info(FILE *f, const struct kvnet_devices *all)
{
	const struct kvnet_device *dev;
	struct process p;
	unsigned int i;

	heading(f, "kvnet_device_info", "gauge", "Who a device belongs to.");
	for (i = 0; i < all->n; i++) {
		dev = &all->dev[i];
		memset(&p, 0, sizeof(p));
		if (HAS(dev, KVNET_A_DEV_OWNER_PID))
			process_read(&p, dev->pid);
		labels(f, "kvnet_device_info", dev);
		fprintf(f, ",pid=\"%u\",", dev->pid);
		label(f, "command", dev->command);
		fputc(',', f);
		label(f, "vm", p.vm);
		fputc(',', f);
		label(f, "cgroup", dev->cgroup);
		fprintf(f, ",ring=\"%s\"} 1\n", name_layout(dev->layout));
		process_free(&p);
	}
}

static void queue_sample(FILE *f, const char *metric, const struct kvnet_device *dev,
			 const struct kvnet_queue *q, uint64_t value)
{
	labels(f, metric, dev);
	fprintf(f, ",queue=\"%s\"} %" PRIu64 "\n", name_queue(q->index), value);
}

static void write_state(FILE *f, const struct kvnet_devices *all)
{
	const struct kvnet_queue *q;
	unsigned int i, j;
	uint32_t state;

	heading(f, "kvnet_queue_state", "gauge", "1 for the state that a queue is in.");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			q = &all->dev[i].queue[j];
			for (state = 0; state <= KVNET_QUEUE_STATE_WAITING; state++) {
				labels(f, "kvnet_queue_state", &all->dev[i]);
				fprintf(f, ",queue=\"%s\",state=\"%s\"} %d\n",
					name_queue(q->index), name_state(state),
					q->state == state);
			}
		}
	}
}

static void write_backlog(FILE *f, const struct kvnet_devices *all)
{
	const struct kvnet_queue *q;
	unsigned int i, j;

	heading(f, "kvnet_queue_backlog", "gauge", "Frames that wait for the guest.");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			q = &all->dev[i].queue[j];
			if (HAS(q, KVNET_A_QUEUE_BACKLOG))
				queue_sample(f, "kvnet_queue_backlog", &all->dev[i], q, q->backlog);
		}
	}
}

/* of the module's own counters, and of the two that are attributes */
static bool value_of(const struct kvnet_queue *q, const char *name, uint64_t *value)
{
	const struct kvnet_counter *c;

	if (!strcmp(name, "kicks")) {
		*value = q->kicks;
		return true;
	}
	if (!strcmp(name, "wakes")) {
		*value = q->wakes;
		return true;
	}
	c = kvnet_counter(q, name);
	if (c)
		*value = c->value;
	return c;
}

static void write_counter(FILE *f, const struct kvnet_devices *all, const char *name)
{
	char *metric = text_format("kvnet_queue_%s_total", name);
	const struct kvnet_queue *q;
	unsigned int i, j;
	uint64_t value;
	char *p;

	for (p = metric; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	heading(f, metric, "counter", "See Documentation/debugging.rst.");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			q = &all->dev[i].queue[j];
			if (value_of(q, name, &value))
				queue_sample(f, metric, &all->dev[i], q, value);
		}
	}
	free(metric);
}

/* was there one of that name in a queue before this? */
static bool is_known(const struct kvnet_devices *all, const struct kvnet_queue *here,
		     const char *name)
{
	unsigned int i, j;

	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			if (&all->dev[i].queue[j] == here)
				return false;
			if (kvnet_counter(&all->dev[i].queue[j], name))
				return true;
		}
	}
	return false;
}

static void write_counters(FILE *f, const struct kvnet_devices *all)
{
	const struct kvnet_queue *q;
	unsigned int i, j, n;

	write_counter(f, all, "kicks");
	write_counter(f, all, "wakes");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			q = &all->dev[i].queue[j];
			for (n = 0; n < q->counters; n++)
				if (!is_known(all, q, q->counter[n].name))
					write_counter(f, all, q->counter[n].name);
		}
	}
}

static void write_workers(FILE *f, const struct kvnet_devices *all)
{
	const struct kvnet_worker *w;
	unsigned int i, j;

	heading(f, "kvnet_worker_run_seconds_total", "counter", "Time that a worker has run.");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].workers; j++) {
			w = &all->dev[i].worker[j];
			if (!HAS(w, KVNET_A_WORKER_RUN_NS))
				continue;
			labels(f, "kvnet_worker_run_seconds_total", &all->dev[i]);
			fprintf(f, ",worker=\"%u\"} %.6f\n", w->index, w->run_ns / 1e9);
		}
	}
}

/**
 * prometheus_write() - everything that is a figure
 * @f: where to
 * @all: devices
 */
void prometheus_write(FILE *f, const struct kvnet_devices *all)
{
	heading(f, "kvnet_devices", "gauge", "Devices of kvnet in this network namespace.");
	fprintf(f, "kvnet_devices %u\n", all->n);
	write_info(f, all);
	write_state(f, all);
	write_backlog(f, all);
	write_counters(f, all);
	write_workers(f, all);
}
