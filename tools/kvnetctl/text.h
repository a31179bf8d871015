/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text - untrusted strings, escaped for a terminal, for JSON, for a metric's label
 *
 * Users choose the names of their processes, cgroups and VMs: no control character of
 * these reaches a terminal.
 */
#ifndef KVNETCTL_TEXT_H
#define KVNETCTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum text_for {
	TEXT_TERMINAL,		/* control characters become '?', and what it may take for some */
	TEXT_JSON,		/* escaped, without the quotes around it */
	TEXT_LABEL,		/* escaped as Prometheus reads it, likewise */
};

void text_begin(void);
void text_put(FILE *f, const char *s, enum text_for what);
size_t text_width(const char *s);
void text_cut(char *s, size_t width);
char *text_si(double value, char *buf, size_t len);
bool text_number(const char *s, uint64_t max, uint64_t *value);
void *need(void *p);
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* KVNETCTL_TEXT_H */
