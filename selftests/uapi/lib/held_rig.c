// SPDX-License-Identifier: GPL-2.0
/* Threads that are held in the module: see held_rig.h. */
#include <stdlib.h>
#include <unistd.h>

#include "held_rig.h"
#include "inject.h"
#include "procfs.h"
#include "rig.h"

void hold(const char *call)
{
	ASSERT(inject_put(INJECT_HOLD, call));
}

void let_go(void)
{
	ASSERT(inject_put(INJECT_HOLD, "\n"));
}

unsigned int held(const char *call)
{
	return inject_count(INJECT_HOLD, call);
}

bool waits(pid_t pid, pid_t tid)
{
	static unsigned int looks;

	looks = task_state(pid, tid) == 'D' ? looks + 1 : 0;
	if (looks < 30)
		return false;
	looks = 0;
	return true;
}

void held_begin(const char *kind)
{
	if (access(INJECT_HOLD, R_OK))
		ksft_skip("a module whose calls do not wait");
	let_go();
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	rig_enter_netns();
}
