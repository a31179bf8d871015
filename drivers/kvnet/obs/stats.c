// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - reads and prints the counters, see stats.h
 *
 * Readers take no lock and do not slow down the data path.
 */
#include "stats.h"

#include <linux/seq_file.h>

#define STAT_NAME(name)	[KVNET_STAT_##name] = #name,
const char * const kvnet_stats_names[] = {
	KVNET_STATS(STAT_NAME)
};

#define HIST_NAME(name)	[KVNET_HIST_##name] = #name,
const char * const kvnet_stats_hist_names[] = {
	KVNET_HISTS(HIST_NAME)
};

/* "MIN:COUNT" for each bucket that is not empty; MIN is the least value of the bucket. */
static void show_histogram(struct seq_file *m, const char *prefix,
			   const struct kvnet_stats *stats, enum kvnet_hist_id which)
{
	struct kvnet_hist hist;
	const char *before = "";
	unsigned int i;

	kvnet_hist_copy(&stats->hist[which], &hist);
	seq_printf(m, "%s.%s:\t", prefix, kvnet_stats_hist_names[which]);
	for (i = 0; i < KVNET_HIST_BUCKETS; i++) {
		if (!hist.bucket[i])
			continue;
		seq_printf(m, "%s%llu:%llu", before, kvnet_hist_bucket_min(i), hist.bucket[i]);
		before = " ";
	}
	seq_putc(m, '\n');
}

/* fdinfo: "PREFIX.NAME:\tN" for each counter, then a line for each histogram. */
void kvnet_stats_show(struct seq_file *m, const char *prefix, const struct kvnet_stats *stats)
{
	unsigned int i;

	for (i = KVNET_STAT_NONE + 1; i < KVNET_STAT_MAX; i++)
		seq_printf(m, "%s.%s:\t%llu\n", prefix, kvnet_stats_names[i],
			   u64_stats_read(&stats->count[i]));
	for (i = 0; i < KVNET_HIST_MAX; i++)
		show_histogram(m, prefix, stats, i);
}
