/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table - rows of cells, printed with columns as wide as they need be
 */
#ifndef KVNETCTL_TABLE_H
#define KVNETCTL_TABLE_H

#include "json.h"

struct table *table_new(void);
void table_row(struct table *t);
void table_cell(struct table *t, const char *key, const char *val, bool number,
		enum json_paint paint);
void table_print(struct table *t, const struct json *w, unsigned int indent);
void table_free(struct table *t);

#endif /* KVNETCTL_TABLE_H */
