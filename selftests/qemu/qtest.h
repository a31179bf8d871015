/* SPDX-License-Identifier: GPL-2.0 */
/*
 * qtest - QEMU's own virtio-net device, driven without a guest.
 *
 * QEMU's option -qtest makes it read commands (readl, writel) that access the machine's
 * registers; the emulated CPU is halted. The machine is microvm, the device has virtio-mmio,
 * its network backend is a socket pair or a tap. Guest memory is that of a struct vdev, so that
 * the rows and rings of the uapi tests work on it unchanged. Needs neither KVM nor, without a
 * tap, root.
 *
 * $QEMU is the program (qemu-system-x86_64), which ends with the case.
 */
#ifndef SELFTESTS_QTEST_H
#define SELFTESTS_QTEST_H

#include <sys/types.h>

#include "vdev.h"

struct qtest {
	pid_t pid;
	int commands;
	int net;		/* a datagram is a frame; -1 with a tap */
	int messages;		/* what QEMU prints */
	uint64_t base;		/* of the device's registers */
	bool dead;		/* QEMU has ended by itself */
};

/* With the memory and ring layout of v, and a tap or -1; skips the case if QEMU refuses. */
void qtest_start(struct qtest *q, const struct vdev *v, int tap);
void qtest_stop(struct qtest *q);
/* A register (VIRTIO_MMIO_*); 0 if QEMU is dead. */
uint32_t qtest_read(struct qtest *q, unsigned int reg);
void qtest_write(struct qtest *q, unsigned int reg, uint32_t value);
/* Resets the device, and starts it with the features and rings of v. */
void qtest_set_up(struct qtest *q, const struct vdev *v);
/* Returns when QEMU has served all kicks and frames. */
void qtest_settle(struct qtest *q);
/* The last line that QEMU has printed. */
const char *qtest_message(struct qtest *q);

#endif /* SELFTESTS_QTEST_H */
