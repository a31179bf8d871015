// SPDX-License-Identifier: GPL-2.0
/* Rules and settings: what they say, and what is refused. */
#include "policy.h"
#include "rules.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* what is wrong with the text, or "" */
static char *parse(struct rules *r, const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r"), *err;
	size_t len;
	char *said;

	err = open_memstream(&said, &len);
	rules_parse(r, f, "f", err);
	fclose(f);
	fclose(err);
	return said;
}

static bool policy_is(const char *text, struct subject s, const char *want)
{
	struct kvnet_policy p;
	struct rules r;
	char *said = parse(&r, text), *have;
	bool is;

	rules_policy(&r, &s, &p);
	have = policy_text(&p);
	is = !*said && !strcmp(have, want);
	unit_context("wanted '%s', have '%s', said '%s'", want, have, said);
	free(said);
	free(have);
	kvnet_policy_free(&p);
	rules_free(&r);
	return is;
}

static const struct subject web = {
	{ "qemu-system-x86", "/machine.slice/web.scope", "web0", "web" }
};
static const struct subject unnamed = { { "dpdk-testpmd", NULL, "tap9", NULL } };

CASE(patterns)
{
	EXPECT_TRUE(policy_is("tap web* set nice 3\n", web, "nice 3"));
	EXPECT_TRUE(policy_is("tap web* set nice 3\n", unnamed, ""));
	EXPECT_TRUE(policy_is("tap web? vm w* command qemu-* set nice 3\n", web, "nice 3"));
	EXPECT_TRUE(policy_is("tap web? vm w* command dpdk-* set nice 3\n", web, ""));
	/* a slash is a letter as any other */
	EXPECT_TRUE(policy_is("cgroup /machine*.scope set nice 3\n", web, "nice 3"));
	EXPECT_TRUE(policy_is("tap [v-w]eb[0-9] set nice 3", web, "nice 3"));
	EXPECT_TRUE(policy_is("any set nice 3", web, "nice 3"));
}

CASE(what_is_not_known_fits_no_pattern)
{
	EXPECT_TRUE(policy_is("vm * set nice 3", unnamed, ""));
	EXPECT_TRUE(policy_is("cgroup * set nice 3", unnamed, ""));
	EXPECT_TRUE(policy_is("tap * set nice 3", unnamed, "nice 3"));
}

CASE(the_first_that_says_it_counts)
{
	static const char text[] =
		"# comment\n"
		"\n"
		"  vm web   set cpus 2-3 node auto nice -5   # of the web\n"
		"tap web* set nice 1 poll-us 0\n"
		"any set sched fifo rt-priority 7 poll-us 20 cpus all tx-inline off rx-direct on rx-inline off shortcut off\n";

	EXPECT_TRUE(policy_is(text, web, "cpus 2-3 node auto nice -5 sched fifo rt-priority 7 poll-us 0 tx-inline off rx-direct on rx-inline off shortcut off"));
	EXPECT_TRUE(policy_is(text, unnamed, "cpus all sched fifo rt-priority 7 poll-us 20 tx-inline off rx-direct on rx-inline off shortcut off"));
}

/* Each rule is right by itself: together they say nothing that one may not. */
CASE(later_rules_do_not_contradict)
{
	EXPECT_TRUE(policy_is("vm web set sched batch\nany set sched fifo rt-priority 2 nice 1\n", web,
			      "nice 1 sched batch"));
	EXPECT_TRUE(policy_is("vm web set sched batch\nany set rt-priority 2\n", web, "sched batch"));
	EXPECT_TRUE(policy_is("vm web set rt-priority 2\nany set sched batch nice 1\n", web,
			      "nice 1 rt-priority 2"));
	EXPECT_TRUE(policy_is("vm web set rt-priority 2\nany set sched rr\n", web,
			      "sched rr rt-priority 2"));
}

CASE(quotes)
{
	struct subject s = { { "my vmm", NULL, "t#0", NULL } };

	EXPECT_TRUE(policy_is("command \"my vmm\" set nice 3", s, "nice 3"));
	EXPECT_TRUE(policy_is("tap t#0 set nice 3", s, "nice 3"));
	EXPECT_TRUE(policy_is("tap \"t#0\" set nice 3", s, "nice 3"));
	EXPECT_TRUE(policy_is("tap \"t#0\"#x\nany set nice 3", s, "nice 3") == false);
}

CASE(bad_lines)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "set nice 1\n", "f:1: nothing to match before 'set': say any for all devices\n" },
		{ "any\n", "f:1: there is no 'set'\n" },
		{ "any set\n", "f:1: nothing is set\n" },
		{ "\nany set nice\n", "f:2: nice needs a value: -20..19\n" },
		{ "any tap x set nice 1\n", "f:1: any, and yet more to match: leave out one\n" },
		{ "tap set nice 1\n", "f:1: 'nice': neither command, cgroup, tap, vm, any nor set\n" },
		{ "tap a tap b set nice 1\n", "f:1: tap is there twice\n" },
		{ "tap \"\" set nice 1\n", "f:1: tap needs a pattern\n" },
		{ "colour red set nice 1\n", "f:1: 'colour': neither command, cgroup, tap, vm, any nor set\n" },
		{ "tap \"a set nice 1\n", "f:1: quotes that do not match\n" },
		{ "tap a\"b set nice 1\n", "f:1: quotes that do not match\n" },
		{ "any set nice \"1\n", "f:1: quotes that do not match\n" },
		{ "any set nice 20\n", "f:1: nice '20': not a number from -20 to 19\n" },
		{ "any set nice -21\n", "f:1: nice '-21': not a number from -20 to 19\n" },
		{ "any set nice 1 nice 1\n", "f:1: nice is set twice\n" },
		{ "any set sched other rt-priority 5\n", "f:1: rt-priority goes with sched fifo or rr, not with other\n" },
		{ "any set rt-priority 5 nice 1 sched idle\n", "f:1: rt-priority goes with sched fifo or rr, not with idle\n" },
		{ "any set cpus 3-1\n", "f:1: cpus '3-1': not a list of CPUs, as 0-3,8, or all\n" },
		{ "any set cpus 1,\n", "f:1: cpus '1,': not a list of CPUs, as 0-3,8, or all\n" },
		{ "any set cpus \"\"\n", "f:1: cpus '': not a list of CPUs, as 0-3,8, or all\n" },
		{ "any set node none node auto\n", "f:1: node is set twice\n" },
		{ "any set node -1\n", "f:1: node '-1': not the number of a NUMA node, auto or none\n" },
		{ "any set node 9999\n", "f:1: no NUMA node 9999 here\n" },
		{ "any set sched deadline\n", "f:1: sched 'deadline': none of other|batch|idle|fifo|rr\n" },
		{ "any set rt-priority 0\n", "f:1: rt-priority '0': not a number from 1 to 99\n" },
		{ "any set poll-us 5000000000\n", "f:1: poll-us '5000000000': not a number of microseconds\n" },
		{ "any set tx-inline yes\n", "f:1: tx-inline 'yes': neither on nor off\n" },
		{ "any set weight 3\n", "f:1: unknown setting 'weight'; there are: cpus node nice sched rt-priority poll-us tx-inline rx-direct rx-inline shortcut\n" },
		{ "any set nice 1\nany set poll-us 1 nice 2\n", "f:2: matches the same devices as line 1, and sets other values\n" },
		{ "tap a vm b set nice 1\nvm b tap a set nice 2\n", "f:2: matches the same devices as line 1, and sets other values\n" },
		{ "any set nice x\ntap set\n", "f:1: nice 'x': not a number from -20 to 19\nf:2: there is no 'set'\n" },
		{ "\033[1mx set nice 1\n", "f:1: '?[1mx': neither command, cgroup, tap, vm, any nor set\n" },
	};
	struct rules r;
	unsigned int i;
	char *said;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		said = parse(&r, rows[i].text);
		unit_context("%s said: %s", rows[i].text, said);
		EXPECT_TRUE(!strcmp(said, rows[i].why));
		free(said);
		rules_free(&r);
	}
}

CASE(the_same_twice_is_no_conflict)
{
	EXPECT_TRUE(policy_is("any set nice 1\nany set nice 1 poll-us 3\n", web, "nice 1 poll-us 3"));
	EXPECT_TRUE(policy_is("vm web set nice 1\nvm w* set nice 2\n", web, "nice 1"));
}

CASE(a_zero_byte_is_refused)
{
	static const char text[] = "any set nice 1\nany set\0nice 2\n";
	FILE *f = fmemopen((void *)text, sizeof(text) - 1, "r"), *err = fopen("/dev/null", "w");
	struct rules r;

	EXPECT_EQ(rules_parse(&r, f, "f", err), 1);
	EXPECT_EQ(r.n, 1);
	rules_free(&r);
	fclose(f);
	fclose(err);
}

/* anything at all: no harm, and what is accepted says something */
CASE(random_text_does_no_harm)
{
	static const char * const words[] = {
		"any", "set", "tap", "vm", "cgroup", "command", "nice", "cpus", "poll-us", "1",
		"0-3", "\"", "\"a b\"", "#", "\n", "x*", "on", "tx-inline", "\\", "[", "all",
	};
	struct kvnet_policy p;
	struct rules r;
	char text[512], *said;
	unsigned int i, n, k;

	for (i = 0; i < 5000; i++) {
		text[0] = 0;
		for (n = unit_below(30); n; n--) {
			strcat(text, words[unit_below(sizeof(words) / sizeof(words[0]))]);
			strcat(text, unit_chance(8) ? "" : " ");
		}
		strcat(text, "\n");
		said = parse(&r, text);
		for (k = 0; k < r.n; k++)
			EXPECT_TRUE(r.rule[k].policy.has);
		rules_policy(&r, &web, &p);
		kvnet_policy_free(&p);
		rules_free(&r);
		free(said);
	}
}
