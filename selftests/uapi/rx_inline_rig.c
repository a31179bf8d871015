// SPDX-License-Identifier: GPL-2.0
/* A guest whose lone frames are received in place, see rx_inline_rig.h. */
#include "rx_inline_rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"

struct rig rig;
struct vdev_queue *rx = &rig.v.q[VDEV_RX];
uint32_t seq;

long place_counter(const char *name)
{
	return rig_counter(&rig, name);
}

char place_in_place(char value)
{
	return vdev_parameter("rx_inline", value);
}

void place_need_kvnet(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net wakes its worker");
}

/* Where the device is told that this is, which the guest has in its first region. */
uint8_t *place_of(const void *ptr)
{
	struct vhost_memory *m = vdev_table(&rig.v);
	uintptr_t at = m->regions[0].userspace_addr + ((const uint8_t *)ptr - rig.v.mem);

	free(m);
	return (uint8_t *)at;
}

/* The same of the receive buffers, whole pages. */
uint8_t *place_pool(size_t *len)
{
	uintptr_t at = (uintptr_t)place_of(rx->bufs);
	size_t n = (size_t)rx->buf_num * rx->buf_size;

	*len = (n + at % PAGE + PAGE - 1) / PAGE * PAGE;
	return (uint8_t *)(at - at % PAGE);
}

/* The pages are there, for the device, too; what is not is not brought in for it. */
void place_touch(void)
{
	volatile uint8_t *at;
	size_t len, i;

	at = place_pool(&len);
	for (i = 0; i < len; i += PAGE)
		at[i] = at[i];
}

void place_ready(void)
{
	vdev_no_spin(&rig.v);
	place_touch();
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick_always(rx);
	seq = 0;
}

void place_begin(void)
{
	place_need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ 0 });
	place_ready();
}

void place_begin_private(void)
{
	place_need_kvnet();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	place_ready();
}

/* One frame, and its buffer back to the device. */
void place_one(uint32_t len, unsigned int ms)
{
	static uint8_t f[FRAME_MAX];
	ssize_t n;

	rig_inject(&rig, seq, len);
	n = rig_rx(&rig, NULL, f, sizeof(f), ms);
	if (n < 0)
		FAIL("frame %u has not come", seq);
	else
		EXPECT(frame_check(f, n, seq, len));
	seq++;
	rig_rx_post(&rig, rig.rx_bufs, NULL);
	vdev_kick(rx);
}

/* The guest sends something: what it receives is no stream then. */
void place_answer(void)
{
	uint32_t at = rig.tx_seq;

	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, at, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
}

void place_some(unsigned int n, uint32_t len)
{
	while (n-- && !ksft_failed()) {
		place_one(len, 3000);
		place_answer();
		worker_rests();
	}
}

/* Until frames are received in place, one after the other. */
void place_warm_up(void)
{
	unsigned int i;
	long soft;

	for (i = 0; i < 200 && !ksft_failed(); i++) {
		soft = place_counter("kvnet.rx.polls_inline");
		place_some(4, 60);
		if (place_counter("kvnet.rx.polls_inline") == soft + 4 &&
		    !ksft_failed())
			return;
	}
	FAIL("no frame is received in place");
}
