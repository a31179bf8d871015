// SPDX-License-Identifier: GPL-2.0
/* A backend that is slower by a known share: see slowed.h. */
#include <stdlib.h>

#include "spec.h"
#include "slowed.h"
#include "stolen.h"

#define TIMES	31u		/* that the two are looked at, side by side */
#define TURNS	200000ul	/* of the loop, to learn how long one takes */

static unsigned long turns;	/* of the loop for a pass */

static void spin(unsigned long n)
{
	while (n--)
		asm volatile("" ::: "memory");
}

void slowed_learn(uint64_t (*pass)(void))
{
	const char *said = getenv("BENCH_SLOWED");
	double of_a_pass[TIMES];
	uint64_t begin;
	unsigned int i;

	if (!said || !*said)
		return;
	for (i = 0; i < TIMES; i++) {
		of_a_pass[i] = pass();
		begin = given_ns();
		spin(TURNS);
		of_a_pass[i] *= (double)TURNS / (given_ns() - begin);
	}
	turns = median(of_a_pass, TIMES) * strtod(said, NULL) / 100;
}

void slowed_pass(void)
{
	spin(turns);
}
