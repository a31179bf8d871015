/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hist.h - histogram with a bucket for each power of two
 *
 * One writer at a time. A concurrent reader may see a value in its bucket that is not in the
 * sum yet.
 */
#ifndef _KVNET_HIST_H
#define _KVNET_HIST_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* Bucket 0 counts zeroes, bucket n values of n bits; the last one also all larger values. */
#define KVNET_HIST_BUCKETS	32

struct kvnet_hist {
	u64 bucket[KVNET_HIST_BUCKETS];
	u64 sum;
};

static inline unsigned int kvnet_hist_bucket_of(u64 value)
{
	unsigned int bits = fls64(value);

	return bits < KVNET_HIST_BUCKETS ? bits : KVNET_HIST_BUCKETS - 1;
}

static inline u64 kvnet_hist_bucket_min(unsigned int bucket)
{
	return bucket ? 1ULL << (bucket - 1) : 0;
}

static inline void kvnet_hist_add(struct kvnet_hist *h, u64 value)
{
	u64 *bucket = &h->bucket[kvnet_hist_bucket_of(value)];

	WRITE_ONCE(*bucket, *bucket + 1);
	WRITE_ONCE(h->sum, h->sum + value);
}

/* May run concurrently with kvnet_hist_add(). */
static inline void kvnet_hist_copy(const struct kvnet_hist *h, struct kvnet_hist *to)
{
	unsigned int i;

	for (i = 0; i < KVNET_HIST_BUCKETS; i++)
		to->bucket[i] = READ_ONCE(h->bucket[i]);
	to->sum = READ_ONCE(h->sum);
}

/* Buckets from the returned number on are empty. @h is a copy that has no writer. */
static inline unsigned int kvnet_hist_used_buckets(const struct kvnet_hist *h)
{
	unsigned int n = KVNET_HIST_BUCKETS;

	while (n && !h->bucket[n - 1])
		n--;
	return n;
}

#endif /* _KVNET_HIST_H */
