// SPDX-License-Identifier: GPL-2.0
/*
 * Each call that failing/kvnet_failing.c can make fail has failed in the tests before
 * this one.
 *
 * @tier: all
 * @module: failing
 * @skip: (uapi|test)-.* | .*: a module whose calls .* | uapi-uml-failing has one whose calls do
 */
#include <stdio.h>

#include "vdev.h"

/* Since the module was loaded. */
CASE(each_call_that_can_fail_has_failed)
{
	FILE *f = fopen("/sys/module/kvnet/parameters/failed", "r");
	unsigned int n = 0, times;
	char name[64];

	if (!f)
		ksft_skip("a module whose calls do not fail");
	for (; fscanf(f, "%63s %u", name, &times) == 2; n++) {
		ksft_note("%s: %u", name, times);
		if (!times)
			FAIL("%s has not failed once", name);
	}
	fclose(f);
	EXPECT_OP(n, >, 15);
}

KSFT_MAIN()
