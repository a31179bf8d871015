// SPDX-License-Identifier: GPL-2.0
/* A process with a device under load: see vmm.h. */
#include "procfs.h"
#include "vmm.h"

#define SOME	200	/* frames */

static void live(struct vmm_shared *s, int sock, void (*act)(struct rig *r, int sock))
{
	static struct rig rig;
	struct flow f = { .r = &rig };

	rig_open(&rig, &(struct rig_cfg){ 0 });
	while (!ksft_failed()) {
		flow_pump(&f);
		__atomic_store_n(&s->frames, f.rx_seen + f.tx_seen, __ATOMIC_RELEASE);
		if (!__atomic_exchange_n(&s->asked, false, __ATOMIC_ACQUIRE))
			continue;
		act(&rig, sock);
	}
	ksft_abort();
}

void vmm_start(struct vmm *m, void (*act)(struct rig *r, int sock))
{
	int pair[2];

	m->shared = mmap(NULL, sizeof(*m->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(m->shared != MAP_FAILED);
	ASSERT_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	m->pid = ASSERT_SYS(fork());
	if (!m->pid) {
		close(pair[0]);
		live(m->shared, pair[1], act);
	}
	close(pair[1]);
	m->sock = pair[0];
	EXPECT(vmm_carries(m));
}

void vmm_act(struct vmm *m)
{
	__atomic_store_n(&m->shared->asked, true, __ATOMIC_RELEASE);
}

static unsigned long frames(const struct vmm *m)
{
	return __atomic_load_n(&m->shared->frames, __ATOMIC_ACQUIRE);
}

bool vmm_carries(struct vmm *m)
{
	unsigned long from = frames(m);

	return WAIT_FOR(10000, frames(m) >= from + SOME || ksft_failed()) &&
	       !ksft_failed();
}

static void release(struct vmm *m)
{
	close(m->sock);
	munmap(m->shared, sizeof(*m->shared));
}

int vmm_ends(struct vmm *m)
{
	int status = -1;

	if (!WAIT_FOR(10000, waitpid(m->pid, &status, WNOHANG) == m->pid)) {
		FAIL("it does not come to its end");
		kill(m->pid, SIGKILL);
		ASSERT_EQ(waitpid(m->pid, &status, 0), m->pid);
	}
	release(m);
	return status;
}

void vmm_kill(struct vmm *m)
{
	int status;

	ASSERT_SYS(kill(m->pid, SIGKILL));
	status = vmm_ends(m);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void killed(void (*live)(int ready), unsigned int us)
{
	int ready[2], status;
	pid_t pid;
	char c;

	ASSERT_SYS(pipe(ready));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		close(ready[0]);
		live(ready[1]);
	}
	close(ready[1]);
	EXPECT_EQ(read(ready[0], &c, 1), 0);
	close(ready[0]);
	usleep(us);
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFSIGNALED(status));
}

void vmm_killed_often(void (*live)(int ready), unsigned int often, unsigned int below_us)
{
	unsigned int before = workers(), i;

	for (i = 0; i < often && !ksft_failed(); i++) {
		killed(live, ksft_below(below_us));
		no_worker_left(before);
	}
}
