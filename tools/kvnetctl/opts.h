/* SPDX-License-Identifier: GPL-2.0 */
/*
 * opts - options, as rows of a table
 */
#ifndef KVNETCTL_OPTS_H
#define KVNETCTL_OPTS_H

#include <stdbool.h>
#include <stdio.h>

/**
 * struct opts - what was asked for
 * @help, @version: and nothing else
 * @json, @pretty, @prometheus: the format; text, if none
 * @all: also what is 0
 * @batch: "top" as text, one table after the other
 * @dry_run: only say what would be done
 * @interval: seconds, or 0: not given
 * @count: how often, or 0: not given
 * @sort: the column to sort by, or NULL
 */
struct opts {
	bool help, version, json, pretty, prometheus, all, batch, dry_run;
	double interval;
	unsigned long count;
	const char *sort;
};

bool opts_parse(struct opts *o, int *argc, char **argv, char **why);
bool opts_allowed(const struct opts *o, const char *letters, char **why);
void opts_help(FILE *f, const char *letters);

#endif /* KVNETCTL_OPTS_H */
