/* SPDX-License-Identifier: GPL-2.0 */
/*
 * top - the busiest devices, live
 */
#ifndef KVNETCTL_TOP_H
#define KVNETCTL_TOP_H

#include "json.h"
#include "libkvnet.h"

enum top_column {
	TOP_ID, TOP_TAP, TOP_PID, TOP_NAME, TOP_RX_PPS, TOP_RX_BPS, TOP_TX_PPS,
	TOP_TX_BPS, TOP_DROPS, TOP_BATCH, TOP_CPU, TOP_STATE,
	TOP_COLUMNS
};

/**
 * struct top_row - a device
 * @dev: it
 * @name: of its VM, or else its owner's command
 * @state: the worst of its queues'
 * @val: of the columns that are rates
 */
struct top_row {
	const struct kvnet_device *dev;
	char *name;
	uint32_t state;
	double val[TOP_COLUMNS];
};

/**
 * struct top_view - how rows are shown
 * @sort: by this column
 * @reverse: the other way round
 * @first: the row on top
 * @paused, @help: whether
 * @width, @height: of the terminal, in characters
 * @interval: seconds
 */
struct top_view {
	enum top_column sort;
	bool reverse, paused, help;
	unsigned int first, width, height;
	double interval;
};

struct top_row *top_rows(const struct kvnet_devices *then, const struct kvnet_devices *now,
			 const struct top_view *v, unsigned int *n);
void top_free(struct top_row *rows, unsigned int n);
bool top_column(const char *name, enum top_column *column);
const char *top_name(enum top_column column);
void top_write(struct json *w, const struct top_row *rows, unsigned int n);

/* top_draw.c: a screen */
void top_draw(const struct json *w, const struct top_row *rows, unsigned int n,
	      const struct top_view *v);

/* top_key.c: what a key does */
bool top_key(struct top_view *v, const char *keys, unsigned int rows);

#endif /* KVNETCTL_TOP_H */
