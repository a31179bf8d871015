// SPDX-License-Identifier: GPL-2.0
/* A guest whose single frames are received inline, see rx_inline_rig.h. */
#include "rx_inline_rig.h"

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "tx_inline_rig.h"

struct rig rig;
struct vdev_queue *rx = &rig.v.q[VDEV_RX];
uint32_t seq;

long rx_inline_counter(const char *name)
{
	return rig_counter(&rig, name);
}

void rx_inline_need_kvnet(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net wakes its worker");
}

/* Where the device is told that this is, which the guest has in its first region. */
uint8_t *rx_inline_hva(const void *ptr)
{
	struct vhost_memory *m = vdev_table(&rig.v);
	uintptr_t at = m->regions[0].userspace_addr + ((const uint8_t *)ptr - rig.v.mem);

	free(m);
	return (uint8_t *)at;
}

/* The same of the receive buffers, whole pages. */
uint8_t *rx_inline_pool(size_t *len)
{
	uintptr_t at = (uintptr_t)rx_inline_hva(rx->bufs);
	size_t n = (size_t)rx->buf_num * rx->buf_size;

	*len = (n + at % PAGE + PAGE - 1) / PAGE * PAGE;
	return (uint8_t *)(at - at % PAGE);
}

/* The pages are there, for the device, too; what is not is not brought in for it. */
void rx_inline_touch(void)
{
	volatile uint8_t *at;
	size_t len, i;

	at = rx_inline_pool(&len);
	for (i = 0; i < len; i += PAGE)
		at[i] = at[i];
}

void rx_inline_ready(void)
{
	vdev_no_spin(&rig.v);
	rx_inline_touch();
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick_always(rx);
	seq = 0;
}

void rx_inline_begin(void)
{
	rx_inline_need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ 0 });
	rx_inline_ready();
}

void rx_inline_begin_private(void)
{
	rx_inline_need_kvnet();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	rx_inline_ready();
}

/* One frame, and its buffer back to the device. */
void rx_inline_one(uint32_t len, unsigned int ms)
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
void rx_inline_reply(void)
{
	tx_inline_send(&rig, 60);
}

void rx_inline_some(unsigned int n, uint32_t len)
{
	while (n-- && !ksft_failed()) {
		rx_inline_one(len, 3000);
		rx_inline_reply();
		wait_worker_idle();
	}
}

/* Until frames are received inline, one after the other. */
void rx_inline_warm_up(void)
{
	unsigned int i;
	long n_inline;

	for (i = 0; i < 200 && !ksft_failed(); i++) {
		n_inline = rx_inline_counter("kvnet.rx.polls_inline");
		rx_inline_some(4, 60);
		if (rx_inline_counter("kvnet.rx.polls_inline") == n_inline + 4 &&
		    !ksft_failed())
			return;
	}
	FAIL("no frame is received inline");
}
