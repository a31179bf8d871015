/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hist.h - how often values of each size came: a bucket for each power of two
 *
 * One writer at a time. Who reads meanwhile may find a value in its bucket that is
 * not in the sum yet.
 */
#ifndef _KVNET_HIST_H
#define _KVNET_HIST_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* Bucket 0 is for 0, n for values of n bits; the last also for all that are longer. */
#define KVNET_HIST_BUCKETS	32

/**
 * struct kvnet_hist - how often values of each size came
 * @bucket: how often
 * @sum: of the values
 */
struct kvnet_hist {
	u64 bucket[KVNET_HIST_BUCKETS];
	u64 sum;
};

/**
 * kvnet_hist_bucket_of() - where does a value belong?
 * @value: the value
 *
 * Return: its bucket.
 */
static inline unsigned int kvnet_hist_bucket_of(u64 value)
{
	unsigned int bits = fls64(value);

	return bits < KVNET_HIST_BUCKETS ? bits : KVNET_HIST_BUCKETS - 1;
}

/**
 * kvnet_hist_bucket_min() - what is the least value of a bucket?
 * @bucket: in range
 *
 * Return: the value.
 */
static inline u64 kvnet_hist_bucket_min(unsigned int bucket)
{
	return bucket ? 1ULL << (bucket - 1) : 0;
}

/**
 * kvnet_hist_add() - a value has come
 * @h: the histogram
 * @value: the value
 */
static inline void kvnet_hist_add(struct kvnet_hist *h, u64 value)
{
	u64 *bucket = &h->bucket[kvnet_hist_bucket_of(value)];

	WRITE_ONCE(*bucket, *bucket + 1);
	WRITE_ONCE(h->sum, h->sum + value);
}

/**
 * kvnet_hist_copy() - look at a histogram that somebody writes
 * @h: the histogram
 * @to: filled in
 */
static inline void kvnet_hist_copy(const struct kvnet_hist *h, struct kvnet_hist *to)
{
	unsigned int i;

	for (i = 0; i < KVNET_HIST_BUCKETS; i++)
		to->bucket[i] = READ_ONCE(h->bucket[i]);
	to->sum = READ_ONCE(h->sum);
}

/**
 * kvnet_hist_used_buckets() - which buckets are worth showing?
 * @h: the histogram, a copy
 *
 * Return: how many: those from there on are empty.
 */
static inline unsigned int kvnet_hist_used_buckets(const struct kvnet_hist *h)
{
	unsigned int n = KVNET_HIST_BUCKETS;

	while (n && !h->bucket[n - 1])
		n--;
	return n;
}

#endif /* _KVNET_HIST_H */
