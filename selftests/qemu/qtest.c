// SPDX-License-Identifier: GPL-2.0
/* QEMU's own virtio-net device without a guest: see qtest.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_mmio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qtest.h"

/* The machine microvm: transports, of which one has the device; memory around a hole */
#define MMIO_FIRST	0xfeb00000ull
#define MMIO_SPAN	512
#define MMIO_COUNT	24
#define BELOW_HOLE	(3ull << 30)	/* the rest begins at VDEV_GPA */

#define FIRMWARE_SIZE	65536
#define RESET_VECTOR	(FIRMWARE_SIZE - 16)

/* Halts the CPU at its first instruction. */
static int firmware(void)
{
	static const uint8_t code[] = { 0xfa, 0xf4, 0xeb, 0xfc };	/* cli; hlt; jmp to cli */
	int fd = ASSERT_SYS(memfd_create("firmware", 0));

	ASSERT_SYS(ftruncate(fd, FIRMWARE_SIZE));
	ASSERT_EQ(pwrite(fd, code, sizeof(code), RESET_VECTOR), sizeof(code));
	return fd;
}

/* Memory below the hole is QEMU's own, the rest is that of v. */
static void exec_qemu(const struct vdev *v, const char *backend, int net, int commands,
		      int messages)
{
	const char *qemu = getenv("QEMU") ?: "qemu-system-x86_64";
	const char *packed = v->features & F_PACKED ? "on" : "off";
	const char *in_order = v->features & F_ORDER ? ",in_order=on" : "";
	const struct rlimit no_core = { 0 };
	char bios[32], size[32], high[96], netdev[32], device[96];

	snprintf(bios, sizeof(bios), "/proc/self/fd/%d", firmware());
	snprintf(size, sizeof(size), "%zuB", (size_t)BELOW_HOLE + v->mem_size);
	snprintf(high, sizeof(high),
		 "memory-backend-file,id=high,share=on,size=%zu,mem-path=/proc/self/fd/%d",
		 v->mem_size, dup(v->memfd));
	snprintf(netdev, sizeof(netdev), "%s,id=net,fd=%d", backend, dup(net));
	snprintf(device, sizeof(device), "virtio-net-device,netdev=net,packed=%s%s", packed,
		 in_order);
	dup2(commands, STDIN_FILENO);
	dup2(commands, STDOUT_FILENO);
	dup2(messages, STDERR_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	execlp(qemu, qemu, "-nodefaults", "-no-user-config", "-display", "none",
	       "-machine", "microvm", "-accel", "tcg", "-bios", bios,
	       "-qtest", "stdio", "-qtest-log", "none", "-m", size,
	       "-object", "memory-backend-ram,id=low,reserve=off,size=3G",
	       "-numa", "node,memdev=low", "-object", high, "-numa", "node,memdev=high",
	       "-global", "virtio-mmio.force-legacy=false",
	       "-netdev", netdev, "-device", device, NULL);
	fprintf(stderr, "%s: %s\n", qemu, strerror(errno));
	_exit(127);
}

/* Sends a line, and waits for its answer; returns what stands behind "OK". */
static const char *command(struct qtest *q, const char *line)
{
	static char answer[128];
	size_t n = 0;
	ssize_t got;

	q->dead = q->dead || write(q->commands, line, strlen(line)) < 0;
	while (!q->dead && (!n || answer[n - 1] != '\n')) {
		got = read(q->commands, answer + n, sizeof(answer) - 1 - n);
		if (got <= 0)
			q->dead = true;
		else
			n += got;
	}
	answer[n] = 0;
	if (q->dead)
		return "";
	if (strncmp(answer, "OK", 2))
		FAIL("%s%s", line, answer);
	return answer + 2;
}

uint32_t qtest_read(struct qtest *q, unsigned int reg)
{
	char line[64];

	snprintf(line, sizeof(line), "readl 0x%" PRIx64 "\n", q->base + reg);
	return strtoull(command(q, line), NULL, 16);
}

void qtest_write(struct qtest *q, unsigned int reg, uint32_t value)
{
	char line[64];

	snprintf(line, sizeof(line), "writel 0x%" PRIx64 " 0x%x\n", q->base + reg, value);
	command(q, line);
}

static void write_address(struct qtest *q, unsigned int reg, uint64_t address)
{
	qtest_write(q, reg, address);
	qtest_write(q, reg + 4, address >> 32);
}

void qtest_start(struct qtest *q, const struct vdev *v, int tap)
{
	int commands[2], net[2] = { -1, -1 }, i;

	memset(q, 0, sizeof(*q));
	ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, commands));
	if (tap < 0)
		ASSERT_SYS(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, net));
	q->messages = ASSERT_SYS(memfd_create("messages", MFD_CLOEXEC));
	q->pid = ASSERT_SYS(fork());
	if (!q->pid)
		exec_qemu(v, tap < 0 ? "socket" : "tap,vhost=off", tap < 0 ? net[1] : tap,
			  commands[1], q->messages);
	close(commands[1]);
	close(net[1]);
	q->commands = commands[0];
	q->net = net[0];
	for (i = 0; i < MMIO_COUNT; i++) {
		q->base = MMIO_FIRST + i * MMIO_SPAN;
		if (qtest_read(q, VIRTIO_MMIO_DEVICE_ID) == VIRTIO_ID_NET)
			return;
	}
	ksft_skip("%s", qtest_message(q));
}

void qtest_stop(struct qtest *q)
{
	kill(q->pid, SIGKILL);
	waitpid(q->pid, NULL, 0);
	close(q->commands);
	close(q->net);
	close(q->messages);
}

void qtest_set_up(struct qtest *q, const struct vdev *v)
{
	unsigned int status = VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER, i;

	qtest_write(q, VIRTIO_MMIO_STATUS, 0);
	qtest_write(q, VIRTIO_MMIO_STATUS, status);
	for (i = 0; i < 2; i++) {
		qtest_write(q, VIRTIO_MMIO_DRIVER_FEATURES_SEL, i);
		qtest_write(q, VIRTIO_MMIO_DRIVER_FEATURES, v->features >> 32 * i);
	}
	status |= VIRTIO_CONFIG_S_FEATURES_OK;
	qtest_write(q, VIRTIO_MMIO_STATUS, status);
	for (i = 0; i < 2; i++) {
		const struct gr_cfg *cfg = &v->q[i].ring.cfg;

		qtest_write(q, VIRTIO_MMIO_QUEUE_SEL, i);
		qtest_write(q, VIRTIO_MMIO_QUEUE_NUM, cfg->num);
		write_address(q, VIRTIO_MMIO_QUEUE_DESC_LOW, vdev_gpa(v, cfg->desc));
		write_address(q, VIRTIO_MMIO_QUEUE_AVAIL_LOW, vdev_gpa(v, cfg->avail));
		write_address(q, VIRTIO_MMIO_QUEUE_USED_LOW, vdev_gpa(v, cfg->used));
		qtest_write(q, VIRTIO_MMIO_QUEUE_READY, 1);
	}
	status |= VIRTIO_CONFIG_S_DRIVER_OK;
	qtest_write(q, VIRTIO_MMIO_STATUS, status);
	ASSERT_EQ(qtest_read(q, VIRTIO_MMIO_STATUS), status);
}

/*
 * A command is read by QEMU's main loop, which in the same pass reads frames, and begins each
 * pass with what the one before has scheduled: for a kick of the transmit queue, its bottom half.
 */
void qtest_settle(struct qtest *q)
{
	int i;

	for (i = 0; i < 4; i++)
		qtest_read(q, VIRTIO_MMIO_STATUS);
}

const char *qtest_message(struct qtest *q)
{
	static char text[4096];
	off_t end = lseek(q->messages, 0, SEEK_END), room = sizeof(text) - 1;
	ssize_t n = pread(q->messages, text, room, end > room ? end - room : 0);
	char *line;

	text[n < 0 ? 0 : n] = 0;
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = 0;
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}
