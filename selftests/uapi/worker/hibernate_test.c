// SPDX-License-Identifier: GPL-2.0
/*
 * The machine hibernates while frames are on their way to a guest whose memory is
 * in the swap space, and goes on: all of them arrive, and the memory is as it was.
 *
 * With test_resume the machine writes the image, reads it again and goes on from it.
 * Needs a disk to swap to, see scripts/vm.sh --disk, and half a minute or more.  That
 * the worker does nothing meanwhile, freezer_test sees: what it would do between
 * snapshot and end is forgotten here, but for swap space that is used anew.
 *
 * @tier: all
 * @hosts: 6.12
 * @skip: uapi-(uml|smp-).* | .*: the kernel has no test .* | make uapi TESTS=hibernate_test
 * @skip: .*-6\.1 | .*: Linux before 6\.4 .* | newer kernels do
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "links.h"
#include "pin_rig.h"
#include "swap.h"

#define FRAMES	250
#define LEN	1000

static struct rig rig;

static void sh(const char *what, const char *command)
{
	if (system(command))
		ksft_skip("%s", what);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static void need_hibernation(void)
{
	if (access("/sys/power/disk", W_OK) ||
	    !put("/sys/power/disk", "test_resume"))
		ksft_skip("the kernel has no test of hibernation");
	swap_need();
}

/*
 * From now on frames to the guest come late, and one after the other: by netem, as
 * "tc qdisc add dev ... root netem delay 2s rate 150kbit" would have it.
 */
static void come_late(void)
{
	struct {
		struct tc_netem_qopt opt;
		struct rtattr latency;
		int64_t ns;
		struct rtattr rate_attr;
		struct tc_netem_rate rate;
	} __attribute__((packed)) netem = {
		.opt = { .limit = 1000 },
		.latency = { RTA_LENGTH(sizeof(netem.ns)), TCA_NETEM_LATENCY64 },
		.ns = 2000000000,
		.rate_attr = { RTA_LENGTH(sizeof(netem.rate)), TCA_NETEM_RATE },
		.rate = { .rate = 150000 / 8 },
	};

	sh("no netem", "modprobe sch_netem");
	ASSERT_EQ(link_qdisc(rig.ifindex, NLM_F_CREATE | NLM_F_EXCL, "netem", &netem,
			     sizeof(netem)), 0);
}

CASE_TIMED(memory_in_swap, 300)
{
	struct vdev_queue *rx = &rig.v.q[VDEV_RX];
	uint32_t i;
	bool done;

	need_hibernation();
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	frames_pass(&rig);
	come_late();
	ASSERT_EQ(rig_rx_post(&rig, FRAMES, NULL), FRAMES);
	ASSERT_SYS(madvise(rx->bufs, rx->buf_size * rx->buf_num,
			   MADV_PAGEOUT));
	ASSERT(swapped_kb() >= FRAMES * 2);
	vdev_kick(rx);
	for (i = 0; i < FRAMES; i++)
		rig_inject(&rig, i, LEN);
	done = put("/sys/power/state", "disk");
	if (!done && errno == EBUSY)
		ksft_skip("Linux before 6.4 does not read an image while it swaps");
	if (!done)
		FAIL("the machine does not hibernate: %s", strerror(errno));
	/* what is behind each frame is as it was, too */
	for (i = 0; i < FRAMES && !ksft_failed(); i++)
		if (WAIT_FOR(20000, gr_used_pending(&rx->ring)))
			rig_rx_expect(&rig, i, LEN);
		else
			FAIL("frame %u does not come", i);
	rig_close(&rig);
}

KSFT_MAIN()
