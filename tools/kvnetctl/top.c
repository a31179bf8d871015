// SPDX-License-Identifier: GPL-2.0
/*
 * top.c - the rows of "top", see top.h
 */
#include "top.h"
#include "host.h"
#include "names.h"
#include "rate.h"
#include "text.h"
#include "write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char * const column_names[TOP_COLUMNS] = {
	[TOP_ID] = "id", [TOP_TAP] = "tap", [TOP_PID] = "pid", [TOP_NAME] = "name",
	[TOP_RX_PPS] = "rx_pps", [TOP_RX_BPS] = "rx_bps", [TOP_TX_PPS] = "tx_pps",
	[TOP_TX_BPS] = "tx_bps", [TOP_DROPS] = "drops", [TOP_BATCH] = "batch",
	[TOP_CPU] = "cpu", [TOP_STATE] = "state",
};

/**
 * top_name() - of a column
 * @column: the column
 *
 * Return: its name, as in JSON.
 */
const char *top_name(enum top_column column)
{
	return column_names[column];
}

/**
 * top_column() - the column of a name
 * @name: the name, with "-" or "_", also as a heading in capitals
 * @column: set if true is returned
 *
 * Return: is there one?
 */
bool top_column(const char *name, enum top_column *column)
{
	char *wanted = need(strdup(name)), *p;
	unsigned int i;

	for (p = wanted; *p; p++)
		if (*p == '-')
			*p = '_';
	for (i = 0; i < TOP_COLUMNS && strcasecmp(wanted, column_names[i]); i++)
		;
	free(wanted);
	*column = i < TOP_COLUMNS ? i : 0;
	return i < TOP_COLUMNS;
}

static char *name_of(const struct kvnet_device *dev)
{
	struct process p = { 0 };
	const char *name = dev->command ? dev->command : "-";
	char *copy;

	if (HAS(dev, KVNET_A_DEV_OWNER_PID) && process_read(&p, dev->pid) && p.vm)
		name = p.vm;
	copy = need(strdup(name));
	process_free(&p);
	return copy;
}

/* broken is worse than waiting is worse than stopped is worse than running */
static unsigned int state_severity(uint32_t state)
{
	static const unsigned int worse[] = {
		[KVNET_QUEUE_STATE_STOPPED] = 1, [KVNET_QUEUE_STATE_RUNNING] = 0,
		[KVNET_QUEUE_STATE_BROKEN] = 3, [KVNET_QUEUE_STATE_WAITING] = 2,
	};

	return state < sizeof(worse) / sizeof(worse[0]) ? worse[state] : 0;
}

static void add_queue(struct top_row *row, const struct rate *r)
{
	bool rx = !r->queue->index;

	if (state_severity(r->queue->state) > state_severity(row->state))
		row->state = r->queue->state;
	row->val[rx ? TOP_RX_PPS : TOP_TX_PPS] += r->pps;
	row->val[rx ? TOP_RX_BPS : TOP_TX_BPS] += r->bps;
	row->val[TOP_DROPS] += r->drops;
	if (!isnan(r->batch) && !(row->val[TOP_BATCH] > r->batch))
		row->val[TOP_BATCH] = r->batch;
}

static const struct top_view *sort_view;

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* figures and states: the largest first; else the smallest */
static int compare(const void *x, const void *y)
{
	const struct top_row *a = x, *b = y;
	enum top_column by = sort_view->sort;
	int ret;

	switch (by) {
	case TOP_ID:
		ret = 0;
		break;
	case TOP_TAP:
		ret = compare_text(a->dev->tap, b->dev->tap);
		break;
	case TOP_PID:
		ret = (a->dev->pid > b->dev->pid) - (a->dev->pid < b->dev->pid);
		break;
	case TOP_NAME:
		ret = compare_text(a->name, b->name);
		break;
	case TOP_STATE:
		ret = (int)state_severity(b->state) - (int)state_severity(a->state);
		break;
	default:
		/* what cannot be told is at the end */
		ret = isnan(a->val[by]) || isnan(b->val[by]) ?
		      !!isnan(a->val[by]) - !!isnan(b->val[by]) :
		      (b->val[by] > a->val[by]) - (b->val[by] < a->val[by]);
	}
	if (!ret)
		ret = (a->dev->id > b->dev->id) - (a->dev->id < b->dev->id);
	return sort_view->reverse ? -ret : ret;
}

/**
 * top_rows() - rates of each device, sorted
 * @then: the earlier look
 * @now: the later one, which stays as long as the rows
 * @v: how to sort
 * @n: how many there are
 *
 * Return: rows for top_free().
 */
struct top_row *top_rows(const struct kvnet_devices *then, const struct kvnet_devices *now,
			 const struct top_view *v, unsigned int *n)
{
	struct top_row *rows = need(calloc(now->n + 1, sizeof(*rows)));
	unsigned int i, j, queues;
	struct rate *r = rates(then, now, &queues);

	for (i = 0; i < now->n; i++) {
		rows[i].dev = &now->dev[i];
		rows[i].name = name_of(&now->dev[i]);
		rows[i].state = KVNET_QUEUE_STATE_RUNNING;
		rows[i].val[TOP_BATCH] = NAN;
		rows[i].val[TOP_CPU] = rate_cpu(then, now, &now->dev[i]);
		for (j = 0; j < queues; j++)
			if (r[j].dev == rows[i].dev)
				add_queue(&rows[i], &r[j]);
	}
	free(r);
	sort_view = v;
	qsort(rows, now->n, sizeof(*rows), compare);
	*n = now->n;
	return rows;
}

/**
 * top_free() - the end of rows
 * @rows: these
 * @n: how many
 */
void top_free(struct top_row *rows, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		free(rows[i].name);
	free(rows);
}

/**
 * top_write() - rows as a table, or JSON
 * @w: where to
 * @rows: these
 * @n: how many
 */
void top_write(struct json *w, const struct top_row *rows, unsigned int n)
{
	const struct top_row *r;
	unsigned int col;

	json_list(w, NULL, JSON_TABLE);
	for (r = rows; r < rows + n; r++) {
		json_object(w, NULL);
		json_u64(w, "id", r->dev->id);
		write_tap(w, r->dev);
		if (HAS(r->dev, KVNET_A_DEV_OWNER_PID))
			json_u64(w, "pid", r->dev->pid);
		else
			json_null(w, "pid");
		json_str(w, "name", r->name);
		for (col = TOP_RX_PPS; col <= TOP_DROPS; col++)
			json_si(w, column_names[col], r->val[col]);
		json_real(w, "batch", r->val[TOP_BATCH], 1);
		json_real(w, "cpu", r->val[TOP_CPU], 1);
		json_str(w, "state", name_state(r->state));
		json_end(w);
	}
	json_end(w);
}
