/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_KVNETCTL_VALID_JSON_H
#define SELFTESTS_KVNETCTL_VALID_JSON_H

#include <stdbool.h>

/* Is it one value of JSON (RFC 8259), and nothing else? */
bool valid_json(const char *text);

#endif /* SELFTESTS_KVNETCTL_VALID_JSON_H */
