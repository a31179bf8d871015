// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of the time stamp counter in kHz. An emulated test host
 * that measures it by itself, on a busy machine, can be wrong by a factor of ten,
 * and so is its clock from then on.
 */
#include <stdio.h>
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

#define NS_PER_SEC	1000000000ull
#define SPAN		(NS_PER_SEC / 20)

static uint64_t now(uint64_t *tsc)
{
	uint64_t before, took, best = ~0ull, ns = 0;
	struct timespec ts;
	int i;

	/* the two clocks read as close together as it gets */
	for (i = 0; i < 16; i++) {
		before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		took = __rdtsc() - before;
		if (took < best) {
			best = took;
			*tsc = before;
			ns = ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
		}
	}
	return ns;
}

int main(void)
{
	uint64_t tsc0, tsc1, ns0 = now(&tsc0), ns1;

	do
		ns1 = now(&tsc1);
	while (ns1 - ns0 < SPAN);
	printf("%llu\n", (unsigned long long)
	       ((tsc1 - tsc0) * 1000000 / (ns1 - ns0)));
	return 0;
}
