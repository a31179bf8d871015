/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvnetctl - show and configure the devices of kvnet
 */
#ifndef KVNETCTL_H
#define KVNETCTL_H

#include "json.h"
#include "libkvnet.h"
#include "opts.h"

#ifndef KVNETCTL_VERSION
#define KVNETCTL_VERSION	"unknown"
#endif

#define RULES_FILE	"/etc/kvnet/rules.conf"

/* how it ends; kvnetctl.8 has them */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_NO_MODULE = 3,
	STATUS_NO_DEVICE = 4,
	STATUS_NOT_ALLOWED = 5,
};

/**
 * struct ctl - a run of a command
 * @name: the command's
 * @opt: options
 * @argc, @argv: arguments behind the command's name
 * @w: where its output goes
 */
struct ctl {
	const char *name;
	struct opts opt;
	int argc;
	char **argv;
	struct json w;
};

int cmd_list(struct ctl *c);
int cmd_show(struct ctl *c);
int cmd_stats(struct ctl *c);
int cmd_top(struct ctl *c);
int cmd_set(struct ctl *c);
int cmd_monitor(struct ctl *c);
int cmd_rules(struct ctl *c);
int cmd_features(struct ctl *c);
int cmd_doctor(struct ctl *c);

int ctl_fail(enum status status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int ctl_module_fails(const struct kvnet *k, int err);
int ctl_open(struct kvnet *k);
int ctl_devices(struct kvnet *k, const char *word, struct kvnet_devices *all);

#endif /* KVNETCTL_H */
