// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - reads and prints the counters, see stats.h
 *
 * Readers take no lock and do not slow down the data path.
 */
#include "stats.h"

#include <linux/seq_file.h>

#define STAT_NAME(name)	[KVNET_STAT_##name] = #name,
static const char * const stat_names[] = {
	KVNET_STATS(STAT_NAME)
};

#define HIST_NAME(name)	[KVNET_HIST_##name] = #name,
static const char * const hist_names[] = {
	KVNET_HISTS(HIST_NAME)
};

void kvnet_stats_init(struct kvnet_stats *stats)
{
	u64_stats_init(&stats->syncp);
}

const char *kvnet_stats_name(enum kvnet_stat which)
{
	return stat_names[which];
}

u64 kvnet_stats_read(const struct kvnet_stats *stats, enum kvnet_stat which)
{
	unsigned int start;
	u64 val;

	do {
		start = u64_stats_fetch_begin(&stats->syncp);
		val = u64_stats_read(&stats->count[which]);
	} while (u64_stats_fetch_retry(&stats->syncp, start));
	return val;
}

const char *kvnet_stats_hist_name(enum kvnet_hist_id which)
{
	return hist_names[which];
}

void kvnet_stats_hist_read(const struct kvnet_stats *stats, enum kvnet_hist_id which,
			   struct kvnet_hist *hist)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&stats->syncp);
		kvnet_hist_copy(&stats->hist[which], hist);
	} while (u64_stats_fetch_retry(&stats->syncp, start));
}

/* "MIN:COUNT" for each bucket that is not empty; MIN is the least value of the bucket. */
static void show_histogram(struct seq_file *m, const char *prefix,
			   const struct kvnet_stats *stats, enum kvnet_hist_id which)
{
	struct kvnet_hist hist;
	const char *before = "";
	unsigned int i;

	kvnet_stats_hist_read(stats, which, &hist);
	seq_printf(m, "%s.%s:\t", prefix, hist_names[which]);
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
		seq_printf(m, "%s.%s:\t%llu\n", prefix, stat_names[i],
			   kvnet_stats_read(stats, i));
	for (i = 0; i < KVNET_HIST_MAX; i++)
		show_histogram(m, prefix, stats, i);
}
