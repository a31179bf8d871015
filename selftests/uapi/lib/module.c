// SPDX-License-Identifier: GPL-2.0
/* The module under test is loaded and unloaded: see module.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ksft.h"
#include "module.h"

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
