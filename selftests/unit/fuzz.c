// SPDX-License-Identifier: GPL-2.0
/* Where the inputs of a fuzz target come from, see fuzz.h. */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#ifdef UNIT_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_one(data, size);
	if (unit_failed()) {
		fflush(stdout);
		abort();
	}
	return 0;
}
#else
#define MAX_SIZE	4096

void fuzz_check(const uint8_t *data, size_t size)
{
	size_t i;

	fuzz_one(data, size);
	if (!unit_failed())
		return;
	printf("# input of %zu bytes:", size);
	for (i = 0; i < size; i++)
		printf(" %02x", data[i]);
	printf("\n");
}

void fuzz_random(unsigned int inputs, size_t max)
{
	uint8_t data[MAX_SIZE];
	size_t size, i;

	while (inputs-- && !unit_failed()) {
		size = unit_below(max + 1);
		for (i = 0; i < size; i++)
			data[i] = unit_rand();
		fuzz_check(data, size);
	}
}

static void check_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t data[MAX_SIZE];
	size_t size;

	if (!EXPECT_TRUE(file))
		return;
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	unit_context("%s", path);
	fuzz_check(data, size);
}

/* What a coverage-guided run has found to lead somewhere, and what has failed once. */
CASE(fuzz_corpus)
{
	/* where it is installed it is beside the program */
	const char *corpus = access("corpus", R_OK) ? FUZZ_CORPUS : "corpus";
	char path[PATH_MAX];
	struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", corpus, fuzz_name);
	dir = opendir(path);
	if (!EXPECT_TRUE(dir))
		return;
	while ((entry = readdir(dir)) && !unit_failed()) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", corpus, fuzz_name,
			 entry->d_name);
		check_file(path);
		n++;
	}
	closedir(dir);
	EXPECT_TRUE(n > 0);
}
#endif
