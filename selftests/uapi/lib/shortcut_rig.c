// SPDX-License-Identifier: GPL-2.0
/* Bursts of frames by the short cut or by the bridge: see shortcut_rig.h. */
#include <linux/pkt_sched.h>
#include <linux/netlink.h>

#include "links.h"
#include "shortcut_rig.h"

struct packet packet, got;
uint32_t next_seq;
void (*make)(struct packet *p, const uint8_t *dst, uint32_t nr) = make_short;

void make_short(struct packet *p, const uint8_t *dst, uint32_t nr)
{
	static const uint32_t len[] = { PACKET_MIN, 128, 1514, 601, 81 };

	packet_make(p, nr % PACKET_SHORT_CUT, dst, station(A), len[nr % 5], nr);
}

void place(const uint8_t *dst, unsigned int n)
{
	while (n--) {
		make(&packet, dst, next_seq++);
		bridge_rig_place(&packet);
	}
}

void expect_packet(unsigned int nr, struct packet *want)
{
	uint32_t number = packet_seq(want);

	if (!bridge_rig_read(nr, &got, 3000)) {
		FAIL("port %u: frame %u has not arrived", nr, number);
		return;
	}
	if (nr == HOST) {
		/* no header, and no need to look at checksums */
		memset(&want->h, 0, sizeof(want->h));
	} else {
		packet_complete(want);
		packet_complete(&got);
	}
	if (!packet_is_same(&got, want))
		FAIL("port %u: frame %u is another: %u bytes, not %u, number %u", nr, number,
		     got.len, want->len, packet_seq(&got));
}

void expect_nothing(void)
{
	unsigned int nr;

	for (nr = 1; nr <= HOST; nr++)
		if ((nr < ports || nr == HOST) && bridge_rig_read(nr, &got, 0))
			FAIL("port %u: a frame of %u bytes, number %u", nr, got.len,
			     packet_seq(&got));
}

void expect(unsigned int to, const uint8_t *dst, uint32_t from, unsigned int n)
{
	unsigned int nr;
	uint32_t i;

	for (nr = 1; nr <= HOST; nr++)
		for (i = from; to & 1 << nr && i < from + n && !ksft_failed(); i++) {
			make(&packet, dst, i);
			expect_packet(nr, &packet);
		}
	expect_nothing();
}

long burst(unsigned int to, const uint8_t *dst)
{
	long before = bridge_rig_shortcuts();
	uint32_t from = next_seq;

	place(dst, BURST);
	bridge_rig_kick();
	expect(to, dst, from, BURST);
	return bridge_rig_shortcuts() - before;
}

static uint32_t shown(unsigned int attr)
{
	return attr_u32(the_queue(VDEV_TX), attr);
}

/* None does before the tap's device is found. */
void by_shortcut(unsigned int to, const uint8_t *dst)
{
	unsigned int i;

	for (i = 0; i < 100 && !ksft_failed(); i++) {
		if (burst(to, dst) < BURST / 2)
			continue;
		EXPECT_EQ(shown(KVNET_A_QUEUE_SHORTCUT), KVNET_SHORTCUT_ACTIVE);
		EXPECT_EQ(shown(KVNET_A_QUEUE_SHORTCUT_IFINDEX), port[to == TO_C ? C : B].ifindex);
		return;
	}
	FAIL("no frame takes the short cut: state %u", shown(KVNET_A_QUEUE_SHORTCUT));
}

void by_bridge(unsigned int to, const uint8_t *dst, enum kvnet_shortcut why)
{
	unsigned int i;

	for (i = 0; i < 3 && !ksft_failed(); i++)
		EXPECT_EQ(burst(to, dst), 0);
	EXPECT_EQ(shown(KVNET_A_QUEUE_SHORTCUT), why);
	EXPECT_EQ(shown(KVNET_A_QUEUE_SHORTCUT_IFINDEX), 0);
}

void speak(unsigned int nr, const uint8_t *mac)
{
	packet_make(&got, PACKET_UDP4, station(A), mac, 100, 0);
	ASSERT_EQ(bridge_rig_write(nr, &got), 0);
}

/* A does not speak, but is known, so that no frame is flooded. */
void all_speak(void)
{
	ASSERT_EQ(bridge_fdb_set(port[A].ifindex, station(A), NUD_REACHABLE), 0);
	speak(B, station(B));
	speak(C, station(C));
}

void shortcut_rig_open_with(const struct rig_cfg *cfg)
{
	bridge_rig_open(3, cfg);
	bridge_rig_connect();
	all_speak();
	by_shortcut(TO_B, station(B));
}

void shortcut_rig_open(void)
{
	/* a batch stays whole */
	vdev_parameter("tx_inline", 'N');
	shortcut_rig_open_with(&(struct rig_cfg){ .tx_buf = LONG + 64 });
}

void shortcut_rig_close(void)
{
	by_shortcut(TO_B, station(B));
	bridge_rig_close();
}

void shortcut_rig_close_forwarding(void)
{
	ASSERT_EQ(bridge_port_forwards(port[A].ifindex), 0);
	ASSERT_EQ(bridge_port_forwards(port[B].ifindex), 0);
	all_speak();
	shortcut_rig_close();
}

static int change_plug(int flags, int action)
{
	const struct tc_plug_qopt options = { .action = action, .limit = 16 << 20 };

	return link_qdisc(port[B].ifindex, flags, "plug", &options, sizeof(options));
}

void plug(int action)
{
	const int first = NLM_F_CREATE | NLM_F_REPLACE;
	static bool is_there;
	int ret;

	if (!is_there) {
		ret = change_plug(first, TCQ_PLUG_LIMIT);
		if (ret == -ENOENT && link_module("sch_plug"))
			ret = change_plug(first, TCQ_PLUG_LIMIT);
		if (ret)
			ksft_skip("no queue that can be plugged: %s", strerror(-ret));
		is_there = true;
	}
	ASSERT_EQ(change_plug(0, action), 0);
}
