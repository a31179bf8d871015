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
#include "write.h"

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
	char *tap = tap_text(dev);

	fprintf(f, "%s{device=\"%u\",", metric, dev->id);
	label(f, "tap", tap);
	free(tap);
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

	heading(f, "kvnet_device_info", "gauge", "Owner of a device.");
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
		fprintf(f, ",layout=\"%s\"} 1\n", name_layout(dev->layout));
		process_free(&p);
	}
}

static void queue_sample(FILE *f, const char *metric, const struct kvnet_device *dev,
			 const struct kvnet_queue *q, uint64_t value)
{
	labels(f, metric, dev);
	fprintf(f, ",queue=\"%s\"} %" PRIu64 "\n", name_queue(q->index), value);
}

static void write_states(FILE *f, const struct kvnet_devices *all)
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

	heading(f, "kvnet_queue_backlog", "gauge", "Frames queued in the tap for the guest.");
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
	if (!strcmp(name, "wakeups")) {
		*value = q->wakeups;
		return true;
	}
	c = kvnet_counter(q, name);
	if (c)
		*value = c->value;
	return c;
}

/* what the format lets stand in a name */
static void sanitize(char *metric)
{
	for (; *metric; metric++)
		if (!isalnum((unsigned char)*metric))
			*metric = '_';
}

static void write_counter(FILE *f, const struct kvnet_devices *all, const char *name)
{
	char *metric = text_format("kvnet_queue_%s_total", name);
	const struct kvnet_queue *q;
	unsigned int i, j;
	uint64_t value;

	sanitize(metric);
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
	write_counter(f, all, "wakeups");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			q = &all->dev[i].queue[j];
			for (n = 0; n < q->counters; n++)
				if (!is_known(all, q, q->counter[n].name))
					write_counter(f, all, q->counter[n].name);
		}
	}
}

/* How a histogram is shown: by the end of its name; the same buckets each time. */
struct scale {
	const char *end, *unit;
	unsigned int first, last;
	double divisor;
};

static struct scale scale_of(const char *name)
{
	static const struct scale scales[] = {
		{ "_ns", "_seconds", 10, 30, 1e9 },
		{ "_packets", "_packets", 0, 9, 1 },
	};
	size_t len = strlen(name), end;
	unsigned int i;

	for (i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		end = strlen(scales[i].end);
		if (len > end && !strcmp(name + len - end, scales[i].end))
			return scales[i];
	}
	return (struct scale) { "", "", 0, HISTOGRAM_BUCKETS - 2, 1 };
}

/* what a sample of a histogram begins with: its name and labels but for the last brace */
static void begin_sample(FILE *f, const char *metric, const char *part,
			 const struct kvnet_device *dev, const struct kvnet_queue *q)
{
	char *name = text_format("%s_%s", metric, part);

	labels(f, name, dev);
	fprintf(f, ",queue=\"%s\"", name_queue(q->index));
	free(name);
}

static void write_buckets(FILE *f, const char *metric, const struct scale *s,
			  const struct kvnet_device *dev, const struct kvnet_queue *q,
			  const struct kvnet_histogram *h)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		n += i < h->buckets ? h->bucket[i] : 0;
		if (i < s->first || i > s->last)
			continue;
		begin_sample(f, metric, "bucket", dev, q);
		fprintf(f, ",le=\"%.10g\"} %" PRIu64 "\n", kvnet_histogram_bucket_max(i) / s->divisor, n);
	}
	begin_sample(f, metric, "bucket", dev, q);
	fprintf(f, ",le=\"+Inf\"} %" PRIu64 "\n", n);
	begin_sample(f, metric, "sum", dev, q);
	fprintf(f, "} %.*f\n", s->divisor > 1 ? 9 : 0, h->sum / s->divisor);
	begin_sample(f, metric, "count", dev, q);
	fprintf(f, "} %" PRIu64 "\n", n);
}

static const struct kvnet_histogram *find_histogram(const struct kvnet_queue *q, const char *name)
{
	unsigned int i;

	for (i = 0; i < q->histograms; i++)
		if (!strcmp(q->histogram[i].name, name))
			return &q->histogram[i];
	return NULL;
}

static void write_histogram(FILE *f, const struct kvnet_devices *all, const char *name)
{
	struct scale s = scale_of(name);
	char *metric = text_format("kvnet_queue_%.*s%s", (int)(strlen(name) - strlen(s.end)), name, s.unit);
	const struct kvnet_histogram *h;
	unsigned int i, j;

	sanitize(metric);
	heading(f, metric, "histogram", "See Documentation/debugging.rst.");
	for (i = 0; i < all->n; i++) {
		for (j = 0; j < all->dev[i].queues; j++) {
			h = find_histogram(&all->dev[i].queue[j], name);
			if (h)
				write_buckets(f, metric, &s, &all->dev[i], &all->dev[i].queue[j], h);
		}
	}
	free(metric);
}

/* those of the first queue: all queues have the same */
static void write_histograms(FILE *f, const struct kvnet_devices *all)
{
	const struct kvnet_queue *q;
	unsigned int i, n;

	for (i = 0; i < all->n && !all->dev[i].queues; i++)
		;
	if (i == all->n)
		return;
	q = &all->dev[i].queue[0];
	for (n = 0; n < q->histograms; n++)
		write_histogram(f, all, q->histogram[n].name);
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
	write_states(f, all);
	write_backlog(f, all);
	write_counters(f, all);
	write_histograms(f, all);
	write_workers(f, all);
}
