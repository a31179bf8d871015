// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_stats.c - counters of each queue, or their rates
 */
#include "kvnetctl.h"
#include "names.h"
#include "prometheus.h"
#include "rate.h"
#include "event_wait.h"
#include "text.h"
#include "write.h"

#include <inttypes.h>
#include <stdlib.h>

/* as text a word for each size that there was, "2-3:17" */
static void histogram(struct json *w, const struct kvnet_histogram *h)
{
	uint64_t least, most;
	unsigned int i;
	char *word;

	if (w->mode != JSON_TEXT) {
		json_object(w, h->name);
		json_u64(w, "sum", h->sum);
		json_list(w, "buckets", JSON_FIELDS);
		for (i = 0; i < h->buckets; i++)
			json_u64(w, NULL, h->bucket[i]);
		json_end(w);
		json_end(w);
		return;
	}
	json_list(w, h->name, JSON_FIELDS);
	for (i = 0; i < h->buckets; i++) {
		least = kvnet_histogram_bucket_min(i);
		most = kvnet_histogram_bucket_max(i);
		if (!h->bucket[i])
			continue;
		word = most == UINT64_MAX ? text_format("%" PRIu64 "-:%" PRIu64, least, h->bucket[i]) :
		       least == most ? text_format("%" PRIu64 ":%" PRIu64, least, h->bucket[i]) :
		       text_format("%" PRIu64 "-%" PRIu64 ":%" PRIu64, least, most, h->bucket[i]);
		json_str(w, NULL, word);
		free(word);
	}
	json_end(w);
}

static void histograms(struct json *w, const struct kvnet_queue *q, bool all)
{
	unsigned int i;

	json_names(w, "histograms");
	for (i = 0; i < q->histograms; i++)
		if (all || q->histogram[i].buckets)
			histogram(w, &q->histogram[i]);
	json_end(w);
}

static void stats_queue(struct ctl *c, const struct kvnet_device *dev,
			const struct kvnet_queue *q)
{
	bool all = c->opt.all || c->w.mode != JSON_TEXT;
	char *title = device_text(dev, ": ");
	struct json *w = &c->w;
	unsigned int i;

	json_object(w, NULL);
	json_title(w, "%s %s", title, name_queue(q->index));
	free(title);
	json_u64(w, "id", dev->id);
	write_tap(w, dev);
	json_str(w, "queue", name_queue(q->index));
	write_state(w, "state", q);
	if (HAS(q, KVNET_A_QUEUE_BACKLOG))
		json_u64(w, "backlog", q->backlog);
	else
		json_null(w, "backlog");
	json_names(w, "counters");
	json_u64(w, "kicks", q->kicks);
	json_u64(w, "wakeups", q->wakeups);
	for (i = 0; i < q->counters; i++)
		if (all || q->counter[i].value)
			json_u64(w, q->counter[i].name, q->counter[i].value);
	json_end(w);
	histograms(w, q, all);
	json_end(w);
}

static int stats_totals(struct ctl *c, struct kvnet *k)
{
	struct kvnet_devices all;
	unsigned int i, j;
	int ret;

	ret = ctl_devices(k, c->argv[0], &all);
	if (ret)
		return ret;
	if (c->opt.prometheus) {
		prometheus_write(c->w.f, &all);
	} else {
		json_list(&c->w, NULL, JSON_FIELDS);
		for (i = 0; i < all.n; i++)
			for (j = 0; j < all.dev[i].queues; j++)
				stats_queue(c, &all.dev[i], &all.dev[i].queue[j]);
		json_end(&c->w);
	}
	kvnet_free(&all);
	return STATUS_OK;
}

static void rate_row(struct json *w, const struct rate *r)
{
	json_object(w, NULL);
	json_u64(w, "id", r->dev->id);
	json_paint(w, PAINT_NAME);
	write_tap(w, r->dev);
	json_str(w, "queue", name_queue(r->queue->index));
	write_state(w, "state", r->queue);
	json_si(w, "pps", r->pps);
	json_si(w, "bps", r->bps);
	json_si(w, "kicks", r->kicks);
	json_si(w, "calls", r->calls);
	json_paint(w, r->drops > 0 ? PAINT_BAD : PAINT_NONE);
	json_si(w, "drops", r->drops);
	json_real(w, "batch", r->batch, 1);
	if (HAS(r->queue, KVNET_A_QUEUE_BACKLOG))
		json_u64(w, "backlog", r->queue->backlog);
	else
		json_null(w, "backlog");
	json_real(w, "cpu", r->cpu, 1);
	json_end(w);
}

/**
 * stats_rates() - a table of rates
 * @w: where to
 * @then: the earlier look
 * @now: the later one
 */
void stats_rates(struct json *w, const struct kvnet_devices *then,
		 const struct kvnet_devices *now)
{
	struct rate *r;
	unsigned int i, n;

	r = rates(then, now, &n);
	json_list(w, NULL, JSON_TABLE);
	for (i = 0; i < n; i++)
		rate_row(w, &r[i]);
	json_end(w);
	free(r);
}

/**
 * stats_repeat() - rates at each interval
 * @c: the run
 * @k: the connection
 * @word: which devices, or NULL: all
 *
 * Return: how the program is to end.
 */
int stats_repeat(struct ctl *c, struct kvnet *k, const char *word)
{
	uint64_t ns = c->opt.interval * 1e9, next = now_ns() + ns;
	struct kvnet_devices then, now;
	unsigned long n = 0;
	int ret;

	event_wait_begin(false);
	ret = ctl_devices(k, word, &then);
	if (ret)
		return ret;
	while (!c->opt.count || n < c->opt.count) {
		if (event_wait(-1, next) & EVENT_WAIT_END)
			break;
		if (now_ns() < next)
			continue;
		next = now_ns() + ns;
		ret = ctl_devices(k, word, &now);
		if (ret)
			break;
		if (n++ && c->w.mode == JSON_TEXT)
			fputc('\n', c->w.f);
		stats_rates(&c->w, &then, &now);
		kvnet_free(&then);
		then = now;
		if (ferror(c->w.f))
			break;
	}
	kvnet_free(&then);
	return ret;
}

/**
 * cmd_stats() - "kvnetctl stats"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_stats(struct ctl *c)
{
	struct kvnet k;
	int ret;

	if (c->opt.count && !c->opt.interval)
		return ctl_fail(STATUS_USAGE, "stats: --count goes with --interval");
	if (c->opt.prometheus && c->opt.interval)
		return ctl_fail(STATUS_USAGE, "stats: --prometheus has no --interval: it counts, and Prometheus makes rates of it");
	ret = ctl_open(&k);
	if (ret)
		return ret;
	ret = c->opt.interval ? stats_repeat(c, &k, c->argv[0]) : stats_totals(c, &k);
	kvnet_close(&k);
	return ret;
}
