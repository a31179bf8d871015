// SPDX-License-Identifier: GPL-2.0
/*
 * rules.c - policies for devices, see rules.h
 */
#include "rules.h"
#include "policy.h"
#include "text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char * const key_names[RULE_KEYS] = { "command", "cgroup", "tap", "vm" };

/*
 * The next word of a line, taken out of it; NULL at the end. What is in double quotes
 * is one word; they do not nest, and nothing is escaped.
 */
static char *next_word(char **line, bool *bad)
{
	char *s = *line + strspn(*line, " \t\r\n"), *word;

	if (!*s || *s == '#') {
		*line = s;
		return NULL;
	}
	if (*s == '"') {
		word = s + 1;
		s = strchr(word, '"');
		*bad = !s || (s[1] && !strchr(" \t\r\n#", s[1]));
		if (*bad)
			return NULL;
	} else {
		word = s;
		s += strcspn(s, " \t\r\n");
		/* a quote in the middle of a word is a mistake */
		*bad = memchr(word, '"', s - word);
		if (*bad)
			return NULL;
	}
	if (*s)
		*s++ = 0;
	*line = s;
	return word;
}

static int find_key(const char *word)
{
	int i;

	for (i = 0; i < RULE_KEYS; i++)
		if (!strcmp(word, key_names[i]))
			return i;
	return -1;
}

#define QUOTES	"quotes that do not match"

/* up to and with "set" */
static char *parse_match(struct rule *rule, char **line)
{
	bool bad = false, any = false, some = false;
	char *word, *pattern;
	int key;

	while ((word = next_word(line, &bad)) && strcmp(word, "set")) {
		if (!strcmp(word, "any")) {
			any = true;
			continue;
		}
		key = find_key(word);
		if (key < 0)
			return text_format("'%s': neither command, cgroup, tap, vm, any nor set", word);
		pattern = next_word(line, &bad);
		if (bad)
			break;
		if (!pattern || !*pattern)
			return text_format("%s needs a pattern", word);
		if (rule->pattern[key])
			return text_format("%s is there twice", word);
		rule->pattern[key] = need(strdup(pattern));
		some = true;
	}
	if (bad)
		return text_format(QUOTES);
	if (!word)
		return text_format("there is no 'set'");
	if (any == some)
		return text_format(any ? "any, and yet more to match: leave out one" :
				   "nothing to match before 'set': say any for all devices");
	return NULL;
}

static char *parse_settings(struct rule *rule, char **line)
{
	char *key, *value, *why;
	bool bad = false;

	while ((key = next_word(line, &bad))) {
		value = next_word(line, &bad);
		if (bad)
			break;
		if (!policy_word(&rule->policy, key, value, &why))
			return why;
	}
	if (bad)
		return text_format(QUOTES);
	return rule->policy.has ? policy_problem(&rule->policy) : text_format("nothing is set");
}

static bool same_pattern(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* do two rules want different things of the same devices? */
static char *find_conflict(const struct rule *rule, const struct rule *before)
{
	uint64_t both = rule->policy.has & before->policy.has;
	struct kvnet_policy a = rule->policy, b = before->policy;
	unsigned int i;

	for (i = 0; i < RULE_KEYS; i++)
		if (!same_pattern(rule->pattern[i], before->pattern[i]))
			return NULL;
	a.has = both;
	b.has = both;
	if (!both || policy_same(&a, &b))
		return NULL;
	return text_format("matches the same devices as line %u, and sets other values", before->line);
}

static void free_rule(struct rule *rule)
{
	unsigned int i;

	for (i = 0; i < RULE_KEYS; i++)
		free(rule->pattern[i]);
	kvnet_policy_free(&rule->policy);
}

/* what is wrong, or NULL */
static char *add_line(struct rules *r, char *line, unsigned int number)
{
	struct rule rule = { .line = number };
	char *why;
	unsigned int i;

	why = parse_match(&rule, &line);
	if (!why)
		why = parse_settings(&rule, &line);
	for (i = 0; i < r->n && !why; i++)
		why = find_conflict(&rule, &r->rule[i]);
	if (why) {
		free_rule(&rule);
		return why;
	}
	r->rule = need(reallocarray(r->rule, r->n + 1, sizeof(rule)));
	r->rule[r->n++] = rule;
	return NULL;
}

/**
 * rules_parse() - read rules
 * @r: theirs, for rules_free() whatever is returned
 * @f: the file
 * @file: its name
 * @err: gets a line "FILE:LINE: what is wrong" for each line that is wrong
 *
 * Return: how many lines are wrong.
 */
unsigned int rules_parse(struct rules *r, FILE *f, const char *file, FILE *err)
{
	unsigned int number = 0, wrong = 0;
	char *line = NULL, *rest, *why;
	size_t size = 0;
	ssize_t len;

	memset(r, 0, sizeof(*r));
	while ((len = getline(&line, &size, f)) >= 0) {
		number++;
		rest = line + strspn(line, " \t\r\n");
		if (strlen(line) != (size_t)len)
			why = text_format("a zero byte");
		else if (*rest && *rest != '#')
			why = add_line(r, line, number);
		else
			continue;
		if (!why)
			continue;
		fprintf(err, "%s:%u: ", file, number);
		text_put(err, why, TEXT_TERMINAL);
		fputc('\n', err);
		free(why);
		wrong++;
	}
	free(line);
	if (ferror(f)) {
		fprintf(err, "%s: cannot be read\n", file);
		wrong++;
	}
	return wrong;
}

/**
 * rules_free() - the end of rules
 * @r: these
 */
void rules_free(struct rules *r)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		free_rule(&r->rule[i]);
	free(r->rule);
	memset(r, 0, sizeof(*r));
}

/**
 * rule_fits() - is a rule for a device?
 * @rule: the rule
 * @s: the device
 *
 * Return: is it?
 */
bool rule_fits(const struct rule *rule, const struct subject *s)
{
	unsigned int i;

	for (i = 0; i < RULE_KEYS; i++)
		if (rule->pattern[i] &&
		    (!s->name[i] || fnmatch(rule->pattern[i], s->name[i], 0)))
			return false;
	return true;
}

/* Settings that the rule adds, without those that contradict earlier ones. */
static struct kvnet_policy drop_contradictions(struct kvnet_policy next, const struct kvnet_policy *p)
{
	if (HAS(p, POLICY_SCHED) && !policy_is_realtime(p->sched))
		next.has &= ~(UINT64_C(1) << POLICY_RT_PRIORITY);
	if (HAS(p, POLICY_RT_PRIORITY) && !policy_is_realtime(next.sched))
		next.has &= ~(UINT64_C(1) << POLICY_SCHED);
	return next;
}

/**
 * rules_policy() - what rules say of a device
 * @r: the rules
 * @s: the device
 * @p: the policy, for kvnet_policy_free(); empty if they say nothing
 */
void rules_policy(const struct rules *r, const struct subject *s, struct kvnet_policy *p)
{
	struct kvnet_policy next;
	unsigned int i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < r->n; i++) {
		if (!rule_fits(&r->rule[i], s))
			continue;
		next = drop_contradictions(r->rule[i].policy, p);
		policy_merge(p, &next);
	}
}
