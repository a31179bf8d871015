// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - read-out of the counters, see stats.h
 */
#include "stats.h"

#include <linux/seq_file.h>

#define STAT_NAME(name)	[KVNET_STAT_##name] = #name,
static const char * const stat_name[] = {
	KVNET_STATS(STAT_NAME)
};

/**
 * kvnet_stats_init() - begin at zero
 * @stats: the counters
 */
void kvnet_stats_init(struct kvnet_stats *stats)
{
	u64_stats_init(&stats->syncp);
}

/**
 * kvnet_stats_show() - print one line for each counter: "<prefix>.<name>:\tN"
 * @m: where to
 * @prefix: the queue's name
 * @stats: the counters
 *
 * Context: any; does not disturb the data path.
 */
void kvnet_stats_show(struct seq_file *m, const char *prefix,
		      const struct kvnet_stats *stats)
{
	unsigned int i, start;
	u64 val;

	for (i = 0; i < KVNET_STAT_MAX; i++) {
		do {
			start = u64_stats_fetch_begin(&stats->syncp);
			val = u64_stats_read(&stats->count[i]);
		} while (u64_stats_fetch_retry(&stats->syncp, start));
		seq_printf(m, "%s.%s:\t%llu\n", prefix, stat_name[i], val);
	}
}
