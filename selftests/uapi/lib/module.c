// SPDX-License-Identifier: GPL-2.0
/* The module under test: see module.h. */
#include "inject.h"
#include "module.h"
#include "procfs.h"
#include "rig.h"

int module_load(const char *parameters)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return ret;
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "kvnet", O_NONBLOCK) ? -errno : 0;
}

void module_is_unloaded(void)
{
	EXPECT(WAIT_FOR(5000, !module_unload()));
}

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
