// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to a file of rules: each line is refused with its number, or says something
 * that reads the same when it is written down.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy.h"
#include "rules.h"
#include "unit.h"

const char fuzz_name[] = "rules";

static unsigned int parse(struct rules *r, const char *text, size_t len, char **said)
{
	FILE *f = fmemopen((void *)text, len, "r"), *err;
	unsigned int bad;
	size_t n;

	err = open_memstream(said, &n);
	bad = rules_parse(r, f, "f", err);
	fclose(f);
	fclose(err);
	return bad;
}

static void reads_the_same(const struct kvnet_policy *p)
{
	char *text = policy_text(p), *line, *said;
	struct rules r;

	if (asprintf(&line, "any set %s\n", text) < 0)
		abort();
	unit_context("%s", line);
	EXPECT_EQ(parse(&r, line, strlen(line), &said), 0);
	if (EXPECT_EQ(r.n, 1))
		EXPECT_TRUE(policy_same(p, &r.rule[0].policy) && p->has == r.rule[0].policy.has);
	rules_free(&r);
	free(said);
	free(line);
	free(text);
}

static unsigned int lines(const char *s)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static const struct subject web = {
		{ "qemu-system-x86", "/machine.slice/web.scope", "web0", "web" }
	};
	struct kvnet_policy p;
	struct rules r;
	unsigned int bad, i;
	char *said;

	if (!size)
		return;
	bad = parse(&r, (const char *)data, size, &said);
	EXPECT_EQ(bad, lines(said));
	for (i = 0; i < r.n && !unit_failed(); i++)
		reads_the_same(&r.rule[i].policy);
	rules_policy(&r, &web, &p);
	if (p.has)
		reads_the_same(&p);
	kvnet_policy_free(&p);
	rules_free(&r);
	free(said);
}

#ifndef UNIT_LIBFUZZER
CASE_ROW(fuzz_rules, fuzz_random(2000, 200))
#endif
