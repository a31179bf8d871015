/* SPDX-License-Identifier: GPL-2.0 */
/*
 * module - the module under test is loaded and unloaded, as insmod and rmmod do it
 */
#ifndef SELFTESTS_MODULE_H
#define SELFTESTS_MODULE_H

/* where test machines have it */
#define MODULE	"/kvnet/kvnet.ko"

/* 0 or -errno. */
int module_load(const char *parameters);
int module_unload(void);
/* Somebody may have a file of it for a moment. */
void module_is_unloaded(void);

#endif /* SELFTESTS_MODULE_H */
