// SPDX-License-Identifier: GPL-2.0
/* A port without a virtqueue: see floor.h. */
#include "floor.h"
#include "floor/kvnet_floor.h"

#define NODE	"kvnet-floor"

bool floor_is(void)
{
	const char *path = vdev_path(), *last = strrchr(path, '/');

	return !strcmp(last ? last + 1 : path, NODE);
}

void floor_open(struct port *p, const struct spec *s)
{
	ASSERT(s->size <= KVNET_FLOOR_MAX);
	p->pair = s->devices == 2;
	p->r.v.fd = open(vdev_path(), O_RDWR | O_CLOEXEC);
	if (p->r.v.fd < 0)
		ksft_skip("%s: %s", vdev_path(), strerror(errno));
	p->size = s->size;
	p->floor = malloc(s->size);
	ASSERT(p->floor);
	frame_make(p->floor, 0, s->size);
	p->r.v.q[VDEV_TX].num = s->ring;
	p->r.v.q[VDEV_RX].num = s->ring;
}

void floor_close(struct port *p)
{
	close(p->r.v.fd);
	free(p->floor);
}

void floor_attach(struct port *p, bool on)
{
	struct kvnet_floor_tap t = {
		.tap = !on ? -1 : p->pair ? KVNET_FLOOR_GUEST : p->r.tap,
		.size = p->size,
		.frame = (uintptr_t)p->floor,
	};

	vdev_ioctl(p->r.v.fd, KVNET_FLOOR_TAP, &t);
}

void floor_start(struct port *p, unsigned int queue, unsigned int frames)
{
	struct kvnet_floor_work w = { queue, frames };

	vdev_ioctl(p->r.v.fd, KVNET_FLOOR_START, &w);
}

void floor_wait(struct port *p, unsigned int queue)
{
	struct kvnet_floor_work w = { .queue = queue };

	vdev_ioctl(p->r.v.fd, KVNET_FLOOR_WAIT, &w);
}
