// SPDX-License-Identifier: GPL-2.0
/* The grammar of options. */
#include "opts.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* splits a line into arguments; what is wrong with it, or NULL */
static char *parse(struct opts *o, char *line, int *argc, char **argv)
{
	char *why = NULL;

	for (*argc = 0; (argv[*argc] = strtok(*argc ? NULL : line, " ")); ++*argc)
		;
	return opts_parse(o, argc, argv, &why) ? NULL : why;
}

CASE(options_stand_anywhere)
{
	char line[] = "-j show tap0 -p --interval 0.5 --count=3 -a", *argv[20];
	struct opts o;
	int argc;

	EXPECT_TRUE(!parse(&o, line, &argc, argv));
	EXPECT_EQ(argc, 2);
	EXPECT_TRUE(!strcmp(argv[0], "show") && !strcmp(argv[1], "tap0") && !argv[2]);
	EXPECT_TRUE(o.json && o.pretty && o.all && !o.help && !o.prometheus);
	EXPECT_TRUE(o.interval == 0.5);
	EXPECT_EQ(o.count, 3);
}

CASE(letters_together_and_values_attached)
{
	char line[] = "stats -jai2 -n7", *argv[20];
	struct opts o;
	int argc;

	EXPECT_TRUE(!parse(&o, line, &argc, argv));
	EXPECT_TRUE(o.json && o.all && o.interval == 2 && o.count == 7);
	EXPECT_EQ(argc, 1);
}

CASE(a_negative_number_is_no_option)
{
	char line[] = "set tap0 nice -5", *argv[20];
	struct opts o;
	int argc;

	EXPECT_TRUE(!parse(&o, line, &argc, argv));
	EXPECT_EQ(argc, 4);
	EXPECT_TRUE(!strcmp(argv[3], "-5"));
}

CASE(two_dashes_end_options)
{
	char line[] = "show -j -- -p", *argv[20];
	struct opts o;
	int argc;

	EXPECT_TRUE(!parse(&o, line, &argc, argv));
	EXPECT_TRUE(o.json && !o.pretty);
	EXPECT_EQ(argc, 2);
	EXPECT_TRUE(!strcmp(argv[1], "-p"));
}

CASE(bad_options)
{
	static const struct {
		const char *line, *why;
	} rows[] = {
		{ "list -x", "unknown option -x" },
		{ "list -P", "unknown option -P" },
		{ "list -jx", "unknown option -x" },
		{ "list --frob=3", "unknown option --frob" },
		{ "list --", NULL },
		{ "list --json=3", "option --json takes no value" },
		{ "stats -i", "option -i needs SECONDS" },
		{ "stats --count", "option --count needs N" },
		{ "stats -i 0", "--interval '0': give seconds, from 0.01 to 86400" },
		{ "stats -i nan", "--interval 'nan': give seconds, from 0.01 to 86400" },
		{ "stats -i 1x", "--interval '1x': give seconds, from 0.01 to 86400" },
		{ "stats -i 1e9", "--interval '1e9': give seconds, from 0.01 to 86400" },
		{ "stats -n 0", "--count '0': give a number from 1 on" },
		{ "stats -n 1.5", "--count '1.5': give a number from 1 on" },
	};
	char line[100], *argv[20], *why;
	struct opts o;
	unsigned int i;
	int argc;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(line, rows[i].line);
		why = parse(&o, line, &argc, argv);
		unit_context("%s said: %s", rows[i].line, why ? why : "nothing");
		EXPECT_TRUE(rows[i].why ? why && !strcmp(why, rows[i].why) : !why);
		free(why);
	}
}

CASE(a_command_knows_its_options)
{
	struct opts o = { .json = true, .interval = 1 };
	char *why;

	EXPECT_TRUE(opts_allowed(&o, "ji", &why));
	EXPECT_TRUE(!opts_allowed(&o, "j", &why) && !strcmp(why, "takes no option --interval"));
	free(why);
	o = (struct opts) { .json = true, .prometheus = true };
	EXPECT_TRUE(!opts_allowed(&o, "jP", &why));
	free(why);
	o = (struct opts) { .help = true };
	EXPECT_TRUE(opts_allowed(&o, "", &why));
}
