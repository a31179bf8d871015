/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doctor - findings: what works, what is slow, what does not work, and how to fix it
 */
#ifndef KVNETCTL_DOCTOR_H
#define KVNETCTL_DOCTOR_H

#include "json.h"
#include "libkvnet.h"
#include "node.h"

enum grade { GRADE_OK, GRADE_NOTE, GRADE_BAD };

/**
 * struct doctor - an examination
 * @w: where findings go
 * @count: how many there were, by grade
 */
struct doctor {
	struct json *w;
	unsigned int count[GRADE_BAD + 1];
};

void finding(struct doctor *d, enum grade grade, const char *check, const char *todo,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* doctor_host.c, doctor_vmm.c, doctor_device.c */
void doctor_module(struct doctor *d);
void doctor_node(struct doctor *d);
void doctor_features(struct doctor *d);
void doctor_compare_features(struct doctor *d, const struct node *kvnet, const struct node *vhost);
void doctor_taps(struct doctor *d);
void doctor_vmms(struct doctor *d);
void doctor_vmm(struct doctor *d, pid_t pid, int argc, char **argv);
void doctor_devices(struct doctor *d, const struct kvnet_devices *all);
char *qemu_option(const char *arg, const char *key);

#endif /* KVNETCTL_DOCTOR_H */
