/* SPDX-License-Identifier: GPL-2.0 */
/* vmm - a process of its own, with a device that carries frames both ways. */
#ifndef SELFTESTS_VMM_H
#define SELFTESTS_VMM_H

#include "flow.h"

struct vmm_shared {
	unsigned long frames;	/* that arrived, both ways */
	bool asked;		/* to act */
};

struct vmm {
	pid_t pid;
	int sock;		/* to the process */
	struct vmm_shared *shared;
};

/*
 * Starts it. Asked to, it does 'act' in the midst of traffic, and goes on after that:
 * in its own process, with its end of the socket.
 */
void vmm_start(struct vmm *m, void (*act)(struct rig *r, int sock));
void vmm_act(struct vmm *m);
/* Do frames arrive, from now on? */
bool vmm_carries(struct vmm *m);
/* It has ended, or is killed now; its status. */
int vmm_ends(struct vmm *m);
void vmm_kill(struct vmm *m);
/*
 * So often: a process does 'live', closes 'ready' when it is under way, and is killed
 * less than so many us after that. None of their workers is left.
 */
void vmm_killed_often(void (*live)(int ready), unsigned int often, unsigned int below_us);

#endif /* SELFTESTS_VMM_H */
