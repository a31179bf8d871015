// SPDX-License-Identifier: GPL-2.0
/* Rings in memory of any kind: see pin_rig.h. */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "pin_rig.h"

#define HUGE_NR		"/proc/sys/vm/nr_hugepages"
#define HUGE_SIZE	(2ul << 20)

const char *word_of(const char *path, const char *name)
{
	static char word[256];
	char line[256];
	size_t len = strlen(name);
	FILE *f = fopen(path, "r");

	ASSERT(f);
	word[0] = 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) &&
		    (line[len] == ':' || line[len] == ' '))
			ASSERT(sscanf(line + len + 1, "%255s", word) == 1);
	fclose(f);
	return word;
}

const char *ring_is(const struct rig *r, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->v.fd);
	return word_of(path, name);
}

bool rings_are(const struct rig *r, const char *what)
{
	return !strcmp(ring_is(r, "kvnet.rx.access"), what) &&
	       !strcmp(ring_is(r, "kvnet.tx.access"), what);
}

void expect_rings(const struct rig *r, const char *what)
{
	if (!vdev_is_vhost() && !rings_are(r, what))
		FAIL("rings should be reached as: %s, not %s", what,
		     ring_is(r, "kvnet.tx.access"));
}

unsigned long pinned_kb(void)
{
	return strtoul(word_of("/proc/self/status", "VmPin"), NULL, 10);
}

long pages_pinned(void)
{
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "r");
	long got;

	/* the counters are of each CPU, and added up now and then, or if read */
	if (f) {
		fgetc(f);
		fclose(f);
	}
	got = atol(word_of("/proc/vmstat", "nr_foll_pin_acquired"));

	return got - atol(word_of("/proc/vmstat", "nr_foll_pin_released"));
}

void need_pinned_rings(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin rings");
}

void limit_locked_memory(unsigned long bytes)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	struct rlimit limit = { bytes, bytes };

	ASSERT_SYS(setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_SYS(syscall(SYS_capget, &head, data));
	data[CAP_IPC_LOCK / 32].effective &= ~(1u << CAP_IPC_LOCK % 32);
	data[CAP_IPC_LOCK / 32].permitted &= ~(1u << CAP_IPC_LOCK % 32);
	data[CAP_IPC_LOCK / 32].inheritable &= ~(1u << CAP_IPC_LOCK % 32);
	ASSERT_SYS(syscall(SYS_capset, &head, data));
}

void frames_pass(struct rig *r)
{
	unsigned int i;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		rig_send(r, 100);
		ASSERT_EQ(rig_offer(r, 1), 1);
		rig_inject(r, 1000 + i, 200);
		EXPECT(rig_rx_expect(r, 1000 + i, 200));
	}
}

/* A mapping that begins at a huge page, whatever it is made of. */
static uint8_t *map(size_t size, int fd, int flags)
{
	uint8_t *p, *at;

	p = mmap(NULL, size + HUGE_SIZE, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT(p != MAP_FAILED);
	at = (uint8_t *)(((uintptr_t)p + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1));
	p = mmap(at, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	if (p == MAP_FAILED)
		ksft_skip("memory cannot be mapped: %s", strerror(errno));
	return p;
}

static void unmap_all(struct vdev *v)
{
	vdev_unmap_host(v, v->host);
	munmap(v->ring_host, VDEV_RING_ZONE);
	munmap(v->mem, v->mem_size);
	close(v->memfd);
}

void pin_rig_move(struct rig *r, int fd, int flags)
{
	struct vdev *v = &r->v;
	unsigned int i;

	ASSERT_EQ(v->regions, 1);
	unmap_all(v);
	v->mem_size = (v->mem_size + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
	if (fd >= 0)
		ASSERT_SYS(ftruncate(fd, v->mem_size));
	/* vdev_close() wants one */
	v->memfd = fd >= 0 ? fd : ASSERT_SYS(memfd_create("none", 0));
	v->mem = map(v->mem_size, fd, flags);
	v->host_span = v->mem_size;
	v->ring_host = v->mem;
	v->host = v->mem;
	if (flags & MAP_SHARED && fd >= 0) {
		v->ring_host = map(v->mem_size, fd, flags);
		v->host = map(v->mem_size, fd, flags);
	}
	v->ring_used = 0;
	v->mem_used = VDEV_RING_ZONE;
	vdev_set_mem(v);
	for (i = 0; i < 2; i++) {
		vdev_queue_free(v, i);
		vdev_queue_make(v, i, r->cfg.num);
		vdev_queue_pool(v, i, r->cfg.bufs, i == VDEV_RX ? r->cfg.rx_buf : r->cfg.tx_buf);
		gr_start_at(&v->q[i].ring, 0);
		vdev_queue_tell(v, i, 0);
	}
}

void pin_rig_open(struct rig *r, int fd, int flags)
{
	rig_open(r, &(struct rig_cfg){ .stopped = true, .bufs = 16 });
	pin_rig_move(r, fd, flags);
}

void pin_rig_close(struct rig *r)
{
	rig_close(r);
	EXPECT_EQ(pinned_kb(), 0);
}

unsigned int huge_pages_get(unsigned int n)
{
	FILE *f = fopen(HUGE_NR, "w");

	if (!f)
		return 0;
	fprintf(f, "%u\n", n);
	fclose(f);
	return atoi(word_of("/proc/meminfo", "HugePages_Free"));
}

bool kernel_before(unsigned int major, unsigned int minor)
{
	unsigned int have_major, have_minor;
	struct utsname u;

	ASSERT_SYS(uname(&u));
	ASSERT_EQ(sscanf(u.release, "%u.%u", &have_major, &have_minor), 2);
	return have_major < major || (have_major == major && have_minor < minor);
}
