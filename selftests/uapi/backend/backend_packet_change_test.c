// SPDX-License-Identifier: GPL-2.0
/*
 * What can happen to a packet socket, and to its device, while it is a backend:
 * frames may get lost, none is damaged, and afterwards all goes on.
 *
 * @hosts: 6.1
 * @seconds: 4
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "links.h"
#include "packet_rig.h"
#include "procfs.h"

static struct packet_rig p;

static void one_end_down_and_up(unsigned int i)
{
	int which = ksft_below(2) ? p.near : p.far;

	EXPECT_EQ(link_up(which, false), 0);
	if (i % 3)
		ksft_relax(100);
	EXPECT_EQ(link_up(which, true), 0);
}

CASE_TIMED(link_goes_down_and_up, 40)
{
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, ksft_rounds(15), one_end_down_and_up);
	if (vdev_is_vhost()) {	/* stops to listen when the socket says so */
		rig_stop(&p.r);
		packet_attach(&p, p.r.tap);
	}
	flow_settled(&p.flow);
}

/* One that has something to tell its owner first is refused, and no matter afterwards. */
CASE(in_error_when_attached)
{
	socklen_t len = sizeof(int);
	int err;

	packet_open(&p, &packet_bare);
	rig_stop(&p.r);
	ASSERT_EQ(link_up(p.near, false), 0);
	EXPECT_EQ(__vdev_backend(&p.r.v, VDEV_RX, p.r.tap), -EINVAL);
	ASSERT_EQ(link_up(p.near, true), 0);
	ASSERT_SYS(getsockopt(p.r.tap, SOL_SOCKET, SO_ERROR, &err, &len));
	EXPECT_EQ(err, ENETDOWN);
	packet_attach(&p, p.r.tap);
	flow_recovers(&p.flow);
	rig_close(&p.r);
}

/* Its device is down for a while: that it is in error is no reason to listen no more. */
CASE(in_error_while_another_is_refused)
{
	unsigned int i;
	int other;

	if (vdev_is_vhost())
		ksft_skip("vhost_net stops to listen when the socket says so");
	packet_open(&p, &packet_bare);
	flow_settled(&p.flow);
	other = packet_backend(&p, p.near, &packet_bare);
	EXPECT_EQ(link_up(p.near, false), 0);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(__vdev_backend(&p.r.v, i, other), -EINVAL);
	EXPECT_EQ(link_up(p.near, true), 0);
	flow_settled(&p.flow);
	close(other);
}

static void steal(unsigned int i)
{
	uint8_t f[PACKET_MTU + 100];
	int fd = dup(p.r.tap);
	int flags = i % 2 ? MSG_DONTWAIT : MSG_DONTWAIT | MSG_PEEK;

	for (i = 0; i < 20; i++)
		if (recv(fd, f, sizeof(f), flags) < 0)
			ksft_relax(0);
	close(fd);
}

/* What another reader takes is lost; what it leaves is whole. */
CASE_TIMED(another_reader_of_the_socket, 40)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net measures one frame and reads another");
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, ksft_rounds(40), steal);
	flow_settled(&p.flow);
}

static void toggle_header(unsigned int i)
{
	int on = !(i % 2);

	ASSERT_SYS(setsockopt(p.r.tap, SOL_PACKET, PACKET_VNET_HDR, &on,
			      sizeof(on)));
}

CASE_TIMED(header_comes_and_goes, 40)
{
	packet_open(&p, &packet_bare);
	p.flow.opaque = true;
	flow_storm(&p.flow, 2 * ksft_rounds(10), toggle_header);
	packet_header(p.r.tap, 0);
	flow_stop_empty(&p.flow);
	packet_attach(&p, p.r.tap);
	flow_quiesces(&p.flow);
	p.flow.opaque = false;
	flow_settled(&p.flow);
}

static void toggle_ring(unsigned int i)
{
	struct tpacket_req req = {
		.tp_block_size = 65536, .tp_block_nr = 1,
		.tp_frame_size = 2048, .tp_frame_nr = 32,
	};

	if (i % 2)
		memset(&req, 0, sizeof(req));
	ASSERT_SYS(setsockopt(p.r.tap, SOL_PACKET, PACKET_RX_RING, &req,
			      sizeof(req)));
}

/* Then frames go to memory that the two share, and none to the queue. */
CASE_TIMED(owner_maps_a_ring, 40)
{
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, 2 * ksft_rounds(8), toggle_ring);
	flow_settled(&p.flow);
}

static void bind_to(unsigned int i)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(i % 2 ? ETH_P_ALL : ETH_P_LOOPBACK),
		.sll_ifindex = i % 2 ? p.near : 1,
	};

	ASSERT_SYS(bind(p.r.tap, (struct sockaddr *)&sll, sizeof(sll)));
}

CASE_TIMED(bound_elsewhere_and_back, 40)
{
	packet_open(&p, &packet_bare);
	flow_storm(&p.flow, 2 * ksft_rounds(10), bind_to);
	flow_settled(&p.flow);
}

static void delete_it(unsigned int i)
{
	EXPECT_EQ(link_delete(i % 2 ? p.near : p.far), 0);
}

CASE(interface_deleted)
{
	unsigned int i;
	int fd;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		packet_open(&p, &packet_bare);
		flow_storm(&p.flow, 1, delete_it);
		flow_pump(&p.flow);
		flow_stop_empty(&p.flow);
		packet_veth(&p);
		fd = packet_backend(&p, p.near, &packet_bare);
		flow_swap(&p.r, fd, p.far);
		packet_attach(&p, fd);
		flow_settled(&p.flow);
		rig_close(&p.r);
		ASSERT_EQ(link_delete(p.far), 0);
	}
}

CASE(descriptor_closed_by_its_owner)
{
	packet_open(&p, &packet_bare);
	close(p.r.tap);
	p.r.tap = -1;
	flow_settled(&p.flow);
}

/* Taken out of the socket's queue, given back, and taken out once more. */
CASE(frames_that_wait_keep_their_order)
{
	unsigned int round, i, n = 100;
	long waits;

	packet_open(&p, &packet_bare);
	flow_stop_empty(&p.flow);
	for (round = 0; round < 5 && !ksft_failed(); round++) {
		for (i = 0; i < n; i++)
			rig_inject(&p.r, p.flow.rx_seq + i, 100 + i);
		waits = rig_counter(&p.r, "kvnet.rx.no_buf");
		packet_attach(&p, p.r.tap);
		/* by then it has taken as many as it can, and found no buffer */
		if (!vdev_is_vhost())
			ASSERT(WAIT_FOR(3000, rig_counter(&p.r,
				"kvnet.rx.no_buf") > waits));
		rig_stop(&p.r);
		packet_attach(&p, p.r.tap);
		rig_rx_post(&p.r, n, NULL);
		vdev_kick_always(&p.r.v.q[VDEV_RX]);
		for (i = 0; i < n && !ksft_failed(); i++)
			rig_rx_expect(&p.r, p.flow.rx_seq++, 100 + i);
		rig_stop(&p.r);
	}
}

static int reader;	/* thread that waits for a frame */
static bool readable;

static void *wait_for_frame(void *arg)
{
	struct pollfd wait = { .fd = p.r.tap, .events = POLLIN };

	__atomic_store_n(&reader, gettid(), __ATOMIC_RELEASE);
	__atomic_store_n(&readable, poll(&wait, 1, -1) == 1, __ATOMIC_RELEASE);
	return arg;
}

static bool reader_waits(void)
{
	return task_state(getpid(), __atomic_load_n(&reader, __ATOMIC_ACQUIRE)) == 'S';
}

/* That come to the socket from now on, all of them. */
static bool have_come(unsigned int n, unsigned int *there)
{
	struct tpacket_stats st;
	socklen_t len = sizeof(st);

	ASSERT_SYS(getsockopt(p.r.tap, SOL_PACKET, PACKET_STATISTICS, &st, &len));
	return (*there += st.tp_packets) >= n;
}

/* What is given back is there for who waits for the socket meanwhile. */
CASE(frames_given_back_wake_a_reader)
{
	unsigned int i, there = 0;
	pthread_t thread;
	long waits;

	if (vdev_is_vhost())
		ksft_skip("vhost_net takes one frame at a time");
	packet_open(&p, &packet_bare);
	flow_stop_empty(&p.flow);
	/* what has been read begins anew */
	have_come(0, &there);
	there = 0;
	for (i = 0; i < 10; i++)
		rig_inject(&p.r, p.flow.rx_seq + i, 100);
	ASSERT(WAIT_FOR(3000, have_come(10, &there)));
	waits = rig_counter(&p.r, "kvnet.rx.no_buf");
	packet_attach(&p, p.r.tap);
	/* by then it has taken them all, and found no buffer */
	ASSERT(WAIT_FOR(3000, rig_counter(&p.r, "kvnet.rx.no_buf") > waits));
	ASSERT_EQ(pthread_create(&thread, NULL, wait_for_frame, NULL), 0);
	ASSERT(WAIT_FOR(3000, reader_waits()));
	EXPECT(!readable);
	rig_stop(&p.r);
	ASSERT(WAIT_FOR(3000, __atomic_load_n(&readable, __ATOMIC_ACQUIRE)));
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

static void join_fanout(int fd)
{
	int how = PACKET_FANOUT_ROLLOVER << 16 | 1, size = 16384;

	ASSERT_SYS(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	ASSERT_SYS(setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &how, sizeof(how)));
}

/* Two sockets that share what comes: one that was full gets frames again when it is not. */
CASE(full_one_of_a_fanout)
{
	static uint8_t f[FRAME_MAX];
	unsigned int i, n = 0;
	int other;

	packet_open(&p, &packet_bare);
	flow_stop_empty(&p.flow);
	other = packet_backend(&p, p.near, &packet_bare);
	p.r.ifindex = p.far;
	join_fanout(other);	/* the first to get any */
	join_fanout(p.r.tap);
	packet_attach(&p, p.r.tap);
	for (i = 0; i < 200; i++)
		rig_inject(&p.r, i, 300);
	rig_rx_post(&p.r, 200, NULL);
	vdev_kick_always(&p.r.v.q[VDEV_RX]);
	do {
		while (rig_rx(&p.r, NULL, f, sizeof(f), n ? 100 : 3000) >= 0)
			n++;
		wait_worker_idle();
	} while (gr_used_pending(&p.r.v.q[VDEV_RX].ring));
	EXPECT_OP(n, >, 0);
	EXPECT_OP(n, <, 190);
	for (i = 200; i < 205 && !ksft_failed(); i++) {
		rig_inject(&p.r, i, 300);
		rig_rx_expect(&p.r, i, 300);
	}
	close(other);
}

/* From a tap to a socket and back, as a VMM may do between two guests. */
CASE(socket_and_tap_take_turns)
{
	struct rig other;
	unsigned int i;
	int fd, bare_tap;

	packet_open(&p, &packet_bare);
	other = (struct rig){ .v.hdr_len = 12 };
	bare_tap = rig_tap_new(&other, TAP_BARE);
	fd = dup(p.r.tap);
	for (i = 0; i < 6 && !ksft_failed(); i++) {
		flow_swap(&p.r, dup(i % 2 ? fd : bare_tap),
			  i % 2 ? p.far : other.ifindex);
		packet_attach(&p, p.r.tap);
		flow_settled(&p.flow);
	}
}

KSFT_MAIN()
