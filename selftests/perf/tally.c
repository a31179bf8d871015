// SPDX-License-Identifier: GPL-2.0
/*
 * tally - events of the test host's kernel while a command runs.
 *
 *   tally COMMAND [ARGUMENT...]
 *
 * Adds words to what the command prints. What this kernel has no tracepoint for has none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events.h"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The counters run while the command does; it has been started before. */
static int run(char **argv)
{
	int go[2], status = 0;
	pid_t pid;
	char c = 0;

	if (pipe(go))
		die("pipe");
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) != 1)
			_exit(127);
		close(go[0]);
		close(go[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	events_count(true);
	if (pid < 0 || write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid)
		die(argv[0]);
	events_count(false);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"kick", "call", "wakeup", "anywakeup", "switch", "exit", "timer",
	};
	unsigned int i;
	uint64_t sum;
	int status;

	if (argc < 2) {
		fputs("usage: tally COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	if (!events_open())
		die("tally");
	status = run(argv + 1);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (events_sum(names[i], &sum))
			printf("tally_%s=%llu\n", names[i], (unsigned long long)sum);
	return status;
}
