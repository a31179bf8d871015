// SPDX-License-Identifier: GPL-2.0
/* Memory that comes late: see pager.h. */
#include <linux/userfaultfd.h>

#include "ksft.h"
#include "pager.h"

struct pager pager;

void pager_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	pager.fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (pager.fd < 0)
		ksft_skip("userfaultfd: %s", strerror(errno));
	ASSERT_SYS(ioctl(pager.fd, UFFDIO_API, &api));
}

static void deliver(uint64_t addr)
{
	size_t off = (addr & ~(PAGE - 1)) - (uintptr_t)pager.at;
	struct uffdio_copy copy = {
		.dst = (uintptr_t)pager.at + off,
		.src = (uintptr_t)pager.copy + off,
		.len = PAGE,
	};

	if (!ioctl(pager.fd, UFFDIO_COPY, &copy))
		pager.pages++;
	else
		EXPECT_EQ(errno, EEXIST);
}

void pager_tell(int to)
{
	ASSERT_EQ(write(to, &pager.fd, sizeof(pager.fd)), sizeof(pager.fd));
}

static void hold_back(uint64_t addr)
{
	pager.wanted = addr;
	__atomic_add_fetch(&pager.asked, 1, __ATOMIC_RELEASE);
	if (pager.told)
		pager_tell(pager.told);
}

static void *pager_thread(void *arg)
{
	struct pollfd p = { .fd = pager.fd, .events = POLLIN };
	struct uffd_msg msg;

	while (poll(&p, 1, -1) == 1) {
		if (read(pager.fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		if (__atomic_load_n(&pager.holds, __ATOMIC_ACQUIRE))
			hold_back(msg.arg.pagefault.address);
		else
			deliver(msg.arg.pagefault.address);
	}
	return arg;
}

static void take(void *at, size_t len)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)at, len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	ASSERT_EQ((uintptr_t)at % PAGE, 0);
	pager.at = at;
	pager.len = len;
	pager.copy = malloc(len);
	ASSERT(pager.copy);
	memcpy(pager.copy, at, len);
	ASSERT_SYS(madvise(at, len, MADV_DONTNEED));
	ASSERT_SYS(ioctl(pager.fd, UFFDIO_REGISTER, &reg));
}

void pager_take_away(void *at, size_t len)
{
	take(at, len);
	ASSERT_EQ(pthread_create(&pager.thread, NULL, pager_thread, NULL), 0);
}

void pager_take_away_for_ever(void *at, size_t len)
{
	take(at, len);
}

void pager_take_again(void *at, size_t len)
{
	memcpy(pager.copy + ((uint8_t *)at - pager.at), at, len);
	ASSERT_SYS(madvise(at, len, MADV_DONTNEED));
}

bool pager_asked(unsigned int n, unsigned int ms)
{
	return WAIT_FOR(ms, __atomic_load_n(&pager.asked, __ATOMIC_ACQUIRE) >=
			n);
}

void pager_go_on(void)
{
	__atomic_store_n(&pager.holds, false, __ATOMIC_RELEASE);
	deliver(pager.wanted);
}

void pager_bring_one(void)
{
	deliver(pager.wanted);
}
