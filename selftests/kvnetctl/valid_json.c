// SPDX-License-Identifier: GPL-2.0
/* The grammar of JSON, as RFC 8259 has it; each function goes on behind what it names. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "valid_json.h"

static const char *value(const char *s);

static const char *space(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

static const char *digits(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n ? s + n : NULL;
}

static const char *number(const char *s)
{
	s += *s == '-';
	if (*s == '0')
		s++;
	else if (!(s = digits(s)))
		return NULL;
	if (*s == '.' && !(s = digits(s + 1)))
		return NULL;
	if (*s == 'e' || *s == 'E') {
		s++;
		return digits(s + (*s == '+' || *s == '-'));
	}
	return s;
}

static const char *string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if ((unsigned char)*s < ' ')
			return NULL;
		if (*s != '\\')
			continue;
		s++;
		if (*s == 'u') {
			if (strspn(s + 1, "0123456789abcdefABCDEF") < 4)
				return NULL;
			s += 4;
		} else if (!*s || !strchr("\"\\/bfnrt", *s)) {
			return NULL;
		}
	}
	return s + 1;
}

static const char *member(const char *s)
{
	s = string(space(s));
	if (!s || *(s = space(s)) != ':')
		return NULL;
	return value(s + 1);
}

/* behind the bracket that opens it */
static const char *members(const char *s, char close, const char *(*one)(const char *))
{
	s = space(s);
	if (*s == close)
		return s + 1;
	for (;; s++) {
		s = one(s);
		if (!s)
			return NULL;
		s = space(s);
		if (*s == close)
			return s + 1;
		if (*s != ',')
			return NULL;
	}
}

static const char *word(const char *s, const char *w)
{
	return strncmp(s, w, strlen(w)) ? NULL : s + strlen(w);
}

static const char *value(const char *s)
{
	s = space(s);
	switch (*s) {
	case '{':
		return members(s + 1, '}', member);
	case '[':
		return members(s + 1, ']', value);
	case '"':
		return string(s);
	case 't':
		return word(s, "true");
	case 'f':
		return word(s, "false");
	case 'n':
		return word(s, "null");
	default:
		return number(s);
	}
}

bool valid_json(const char *text)
{
	text = value(text);
	return text && !*space(text);
}
