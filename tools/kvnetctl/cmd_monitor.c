// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_monitor.c - events as they come
 */
#include "kvnetctl.h"
#include "names.h"
#include "event_wait.h"
#include "text.h"
#include "write.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static void write_time(struct json *w)
{
	struct timespec now;
	char text[32], zone[8], *whole;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	whole = text_format("%s.%03u%s", text, (unsigned int)(now.tv_nsec / 1000000), zone);
	json_str(w, "time", whole);
	free(whole);
}

static const char *event_name(uint8_t cmd)
{
	switch (cmd) {
	case KVNET_CMD_DEV_ADD_NTF:
		return "device-added";
	case KVNET_CMD_DEV_DEL_NTF:
		return "device-removed";
	case KVNET_CMD_WORKERS_START_NTF:
		return "workers-started";
	case KVNET_CMD_QUEUE_START_NTF:
		return "queue-started";
	case KVNET_CMD_QUEUE_STOP_NTF:
		return "queue-stopped";
	default:
		return "queue-broken";
	}
}

/* the tap of a queue's device, which the event does not name */
static void write_tap_of(struct json *w, struct kvnet *ask, uint32_t id)
{
	const struct kvnet_device none = { 0 };
	struct kvnet_devices all;

	if (kvnet_get(ask, id, &all)) {
		json_null(w, "tap");
		return;
	}
	write_tap(w, all.n ? &all.dev[0] : &none);
	kvnet_free(&all);
}

static void write_event(struct json *w, struct kvnet *ask, const struct kvnet_event *ev)
{
	const struct kvnet_queue *q = &ev->queue;

	/* each event ends, and is flushed, by itself */
	json_line(w);
	write_time(w);
	json_paint(w, ev->cmd == KVNET_CMD_QUEUE_BROKEN_NTF ? PAINT_BAD : PAINT_NAME);
	json_str(w, "event", event_name(ev->cmd));
	if (HAS(&ev->dev, KVNET_A_DEV_ID)) {
		json_u64(w, "device", ev->dev.id);
		if (HAS(&ev->dev, KVNET_A_DEV_OWNER_PID))
			json_u64(w, "pid", ev->dev.pid);
		if (ev->dev.command)
			json_str(w, "command", ev->dev.command);
	} else {
		json_u64(w, "device", q->dev);
		write_tap_of(w, ask, q->dev);
		json_str(w, "queue", name_queue(q->index));
		if (HAS(q, KVNET_A_QUEUE_BACKEND))
			json_str(w, "backend", name_backend(q->backend));
		if (HAS(q, KVNET_A_QUEUE_ERROR))
			json_str(w, "error", name_errno(q->error));
	}
	json_end(w);
}

static int follow(struct ctl *c, struct kvnet *k, struct kvnet *ask)
{
	struct kvnet_event ev;
	unsigned long n = 0;
	int woken, ret;

	while (!c->opt.count || n < c->opt.count) {
		woken = event_wait(kvnet_fd(k), 0);
		if (woken & EVENT_WAIT_END)
			break;
		if (!(woken & EVENT_WAIT_READ))
			continue;
		ret = kvnet_event(k, &ev);
		if (!ret) {
			write_event(&c->w, ask, &ev);
			n++;
		}
		kvnet_event_free(&ev);
		if (ret == -ENOBUFS)
			ctl_fail(STATUS_FAILED, "events were lost: too many at a time");
		else if (ret && ret != -EAGAIN && ret != -EINTR)
			return ctl_module_fails(k, ret);
		if (ferror(c->w.f))
			break;
	}
	return STATUS_OK;
}

/**
 * cmd_monitor() - "kvnetctl monitor"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_monitor(struct ctl *c)
{
	struct kvnet k, ask;
	int ret;

	ret = ctl_open(&k);
	if (ret)
		return ret;
	ret = ctl_open(&ask);
	if (ret)
		goto out;
	event_wait_begin(false);
	ret = kvnet_listen(&k);
	ret = ret ? ctl_module_fails(&k, ret) : follow(c, &k, &ask);
	kvnet_close(&ask);
out:
	kvnet_close(&k);
	return ret;
}
