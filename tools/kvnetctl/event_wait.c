// SPDX-License-Identifier: GPL-2.0
/*
 * event_wait.c - wait for time, events and signals, see event_wait.h
 *
 * Signals are blocked but in ppoll(): none comes between the test of the flag that it sets
 * and the sleep.
 */
#include "event_wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t wait_result;
static sigset_t unblocked;
static bool hup_reloads;

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		wait_result |= EVENT_WAIT_RESIZE;
	else if (sig == SIGHUP && hup_reloads)
		wait_result |= EVENT_WAIT_RELOAD;
	else
		wait_result |= EVENT_WAIT_END;
}

/**
 * event_wait_begin() - catch signals from now on
 * @reload: SIGHUP is no end
 */
void event_wait_begin(bool reload)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t block;
	unsigned int i;

	hup_reloads = reload;
	sigemptyset(&block);
	sigemptyset(&sa.sa_mask);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		sigaddset(&block, sigs[i]);
		sigaction(sigs[i], &sa, NULL);
	}
	sigprocmask(SIG_BLOCK, &block, &unblocked);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigdelset(&unblocked, sigs[i]);
}

/**
 * now_ns() - the time
 *
 * Return: ns of CLOCK_MONOTONIC.
 */
uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/**
 * event_wait() - sleep
 * @fd: until there is something to read, or -1
 * @until: until now_ns() is this, or 0: for ever
 *
 * Return: EVENT_WAIT_*, all that happened; 0 when the time is over.
 */
int event_wait(int fd, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec left;
	uint64_t now = now_ns(), ns;
	int ret;

	ns = until > now ? until - now : 0;
	left.tv_sec = ns / 1000000000;
	left.tv_nsec = ns % 1000000000;
	ret = ppoll(&p, 1, until ? &left : NULL, &unblocked);
	if (ret < 0 && errno != EINTR)
		return EVENT_WAIT_END;
	ret = ret > 0 ? EVENT_WAIT_READ : 0;
	ret |= wait_result;
	wait_result &= EVENT_WAIT_END;
	return ret;
}
