// SPDX-License-Identifier: GPL-2.0
/*
 * order - frames of a guest that overtake each other: it sends many with one kick, for the worker,
 * then single ones, which the vCPU thread may send on another CPU.
 *
 * port=nic: the tap's bridge has a NIC with a TX queue for each CPU (XPS), which is a pass behind,
 * and then takes a frame of each queue in turn. Packet sockets are its queues. port=veth: frames
 * leave by a pair, whose other end gets them by the backlog of the CPU that sends.
 *
 * With moves=1 the worker runs on the two CPUs in turn, and moves before the single frames.
 */
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/mount.h>

#include "port.h"
#include "turns.h"

#define MANY		500u	/* frames of one kick */
#define SINGLES		12u	/* each when the last one is used */
#define PASS		(MANY + SINGLES)
#define QUEUES_MAX	2u
#define PATIENCE_MS	5000

static struct {
	struct ports p;
	struct port *port;
	struct pollfd queue[QUEUES_MAX];	/* of the NIC, or the pair's other end */
	unsigned int queues;
	unsigned int cpu;	/* the worker's, if it moves */
	unsigned long each;	/* passes of a slice */
	unsigned long frames;
	unsigned long late;	/* of these, behind one that was sent later */
	long n_inline;		/* counted before */
} sample;

static void shell(const char *command)
{
	ASSERT_EQ(system(command), 0);
}

static void open_nic(void)
{
	struct rig nic = { 0 };
	unsigned int i;

	shell("modprobe -qa dummy; ip link add out numtxqueues 2 type dummy");
	/* with the devices of this network namespace */
	ASSERT_SYS(unshare(CLONE_NEWNS));
	ASSERT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_SYS(mount("none", "/sys", "sysfs", 0, NULL));
	shell("cd /sys/class/net/out/queues && echo 1 > tx-0/xps_cpus && echo 2 > tx-1/xps_cpus");
	nic.ifindex = if_nametoindex("out");
	sample.queues = 2;
	for (i = 0; i < sample.queues; i++)
		sample.queue[i].fd = rig_queue_socket(&nic, i);
}

static void open_veth(void)
{
	struct rig r = { 0 };

	shell("modprobe -qa veth; ip link add out type veth peer name end && ip link set end up");
	r.ifindex = if_nametoindex("end");
	sample.queues = 1;
	sample.queue[0].fd = rig_packet_socket(&r, FRAME_TYPE, false);
}

/* Without multicast snooping it sends no frames of its own. */
static void open_bridge(const char *tap)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "modprobe -qa bridge; ip link add br0 type bridge mcast_snooping 0 && "
		 "ip link set out up && ip link set out master br0 && "
		 "ip link set %s master br0 && ip link set br0 up", tap);
	shell(command);
}

static void send_frames(unsigned int n)
{
	port_tx_start(sample.port, n);
	port_wait(sample.port, VDEV_TX);
}

/* The next frame of a queue, or if it has none, of the other; its number. */
static uint32_t take_frame(unsigned int *turn)
{
	uint8_t f[2048];
	unsigned int i;
	ssize_t n;

	do
		for (i = 0; i < sample.queues; i++) {
			*turn = (*turn + 1) % sample.queues;
			n = recv(sample.queue[*turn].fd, f, sizeof(f), MSG_DONTWAIT);
			if (n < 0)
				continue;
			ASSERT(frame_is_ours(f, n));
			return frame_seq(f);
		}
	while (poll(sample.queue, sample.queues, PATIENCE_MS) > 0);
	FAIL("a frame was lost");
	ksft_abort();
}

static void run_pass(void)
{
	const struct quick *q = &sample.port->q[VDEV_TX];
	uint32_t begin = q->shown, at, next = 0;
	unsigned int i, turn = 0;

	send_frames(MANY);
	if (sample.p.s.moves)
		workers_put(sample.cpu ^= 1);
	for (i = 0; i < SINGLES; i++)
		send_frames(1);
	for (i = 0; i < PASS; i++) {
		at = (take_frame(&turn) - begin) & q->mask;
		ASSERT(at < PASS);
		if (at < next)
			sample.late++;
		else
			next = at + 1;
	}
	sample.frames += PASS;
}

static uint64_t run(unsigned long passes)
{
	uint64_t begin = now_ns();

	while (passes--)
		run_pass();
	return now_ns() - begin;
}

/* A port of a bridge does not forward at once. */
static bool is_forwarding(void)
{
	send_frames(1);
	return poll(sample.queue, sample.queues, 10) > 0;
}

static void throw_away(void)
{
	uint8_t f[2048];
	unsigned int i;

	while (poll(sample.queue, sample.queues, 100) > 0)
		for (i = 0; i < sample.queues; i++)
			recv(sample.queue[i].fd, f, sizeof(f), MSG_DONTWAIT);
}

/* Of kvnet; vhost_net's guests send none. */
static long inline_frames(void)
{
	return rig_counter(&sample.port->r, "kvnet.tx.packets_inline");
}

static unsigned int order_open(const struct spec *s)
{
	unsigned long passes = 2;
	unsigned int i;
	uint64_t ns;

	ports_open(&sample.p, s);
	sample.port = sample.p.port;
	if (s->veth)
		open_veth();
	else
		open_nic();
	open_bridge(sample.port->r.name);
	for (i = 0; i < sample.queues; i++)
		sample.queue[i].events = POLLIN;
	ports_name_queues(&sample.p);
	port_attach(sample.port, VDEV_TX, true);
	workers_find(getpid(), sample.p.n);
	if (s->apart)
		workers_apart();
	ASSERT(WAIT_FOR(PATIENCE_MS, is_forwarding()));
	throw_away();
	while ((ns = run(passes)) < s->ns / 8)
		passes *= 2;
	sample.frames = 0;
	sample.late = 0;
	sample.n_inline = inline_frames();
	return turns_slices(s, passes * (double)s->ns / ns + 1, &sample.each);
}

static void order_slice(unsigned int i)
{
	run(sample.each);
}

static void order_close(unsigned int slices)
{
	spec_row("reordered", 1e7 * sample.late / sample.frames, "count");
	spec_row("frames", sample.frames, "count");
	if (sample.n_inline >= 0)
		spec_row("inline", (double)(inline_frames() - sample.n_inline) / sample.frames,
			 "1");
	port_attach(sample.port, VDEV_TX, false);
	ports_close(&sample.p);
}

TURNS(order, 240)
