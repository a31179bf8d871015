/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fuzz - what the fuzz targets share
 *
 * A target is fuzz_one(), which makes of any bytes something that a guest or a VMM
 * may come up with, and says by EXPECT_* what may not come of it. With
 * -DUNIT_LIBFUZZER it is libFuzzer's; else a test, which replays the inputs that were
 * found before (corpus/) and makes some of its own.
 */
#ifndef UNIT_FUZZ_H
#define UNIT_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *p;
	size_t left;
};

/* Zeroes behind the end. */
static inline uint8_t take8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint16_t take16(struct input *in)
{
	uint16_t lo = take8(in);

	return lo | take8(in) << 8;
}

static inline uint32_t take32(struct input *in)
{
	uint32_t lo = take16(in);

	return lo | (uint32_t)take16(in) << 16;
}

static inline uint64_t take64(struct input *in)
{
	uint64_t lo = take32(in);

	return lo | (uint64_t)take32(in) << 32;
}

/* The target's name, and the target. */
extern const char fuzz_name[];
void fuzz_one(const uint8_t *data, size_t size);

/* As the target, and tells the input if it fails. */
void fuzz_check(const uint8_t *data, size_t size);
/* So many inputs of up to so many bytes. */
void fuzz_random(unsigned int inputs, size_t max);

#endif /* UNIT_FUZZ_H */
