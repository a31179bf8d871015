// SPDX-License-Identifier: GPL-2.0
/* A bucket for each power of two. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "hist.h"
#include "unit.h"

CASE(each_value_has_its_bucket)
{
	unsigned int i;

	EXPECT_EQ(kvnet_hist_bucket_of(0), 0);
	EXPECT_EQ(kvnet_hist_bucket_of(1), 1);
	EXPECT_EQ(kvnet_hist_bucket_of(2), 2);
	EXPECT_EQ(kvnet_hist_bucket_of(3), 2);
	EXPECT_EQ(kvnet_hist_bucket_of(256), 9);
	for (i = 1; i < KVNET_HIST_BUCKETS; i++) {
		EXPECT_EQ(kvnet_hist_bucket_of(kvnet_hist_bucket_min(i)), i);
		EXPECT_EQ(kvnet_hist_bucket_of(kvnet_hist_bucket_min(i) - 1), i - 1);
	}
}

CASE(the_last_bucket_has_no_end)
{
	EXPECT_EQ(kvnet_hist_bucket_of(1ULL << 31), KVNET_HIST_BUCKETS - 1);
	EXPECT_EQ(kvnet_hist_bucket_of(1ULL << 32), KVNET_HIST_BUCKETS - 1);
	EXPECT_EQ(kvnet_hist_bucket_of(~0ULL), KVNET_HIST_BUCKETS - 1);
}

CASE(the_least_of_the_first_ones)
{
	EXPECT_EQ(kvnet_hist_bucket_min(0), 0);
	EXPECT_EQ(kvnet_hist_bucket_min(1), 1);
	EXPECT_EQ(kvnet_hist_bucket_min(2), 2);
	EXPECT_EQ(kvnet_hist_bucket_min(3), 4);
}

CASE(each_value_is_counted_once_and_summed_up)
{
	static const u64 values[] = { 0, 1, 1, 5, 7, 256, 1ULL << 40 };
	struct kvnet_hist h = { .sum = 0 }, copy;
	u64 sum = 0, n = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		kvnet_hist_add(&h, values[i]);
		sum += values[i];
	}
	kvnet_hist_copy(&h, &copy);
	EXPECT_EQ(copy.sum, sum);
	EXPECT_EQ(copy.bucket[0], 1);
	EXPECT_EQ(copy.bucket[1], 2);
	EXPECT_EQ(copy.bucket[3], 2);
	EXPECT_EQ(copy.bucket[9], 1);
	EXPECT_EQ(copy.bucket[KVNET_HIST_BUCKETS - 1], 1);
	for (i = 0; i < KVNET_HIST_BUCKETS; i++)
		n += copy.bucket[i];
	EXPECT_EQ(n, ARRAY_SIZE(values));
}

CASE(empty_buckets_at_the_end_are_not_shown)
{
	struct kvnet_hist h = { .sum = 0 };

	EXPECT_EQ(kvnet_hist_used_buckets(&h), 0);
	kvnet_hist_add(&h, 0);
	EXPECT_EQ(kvnet_hist_used_buckets(&h), 1);
	kvnet_hist_add(&h, 100);
	EXPECT_EQ(kvnet_hist_used_buckets(&h), 8);
	kvnet_hist_add(&h, ~0ULL);
	EXPECT_EQ(kvnet_hist_used_buckets(&h), KVNET_HIST_BUCKETS);
}
