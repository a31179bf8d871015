// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - what several commands show, see write.h
 */
#include "write.h"
#include "host.h"
#include "names.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

/**
 * tap_text() - a tap's name as people read it
 * @dev: the device
 *
 * Return: for free(): the name, and @ with its network namespace behind it if that is not
 * the owner's; NULL if there is no tap.
 */
char *tap_text(const struct kvnet_device *dev)
{
	if (!dev->tap)
		return NULL;
	if (kvnet_tap_of_owner_netns(dev))
		return text_format("%s", dev->tap);
	return text_format("%s@%u", dev->tap, dev->tap_netns);
}

/**
 * device_text() - a device as people read of it
 * @dev: the device
 * @between: what is between its number and its tap
 *
 * Return: for free().
 */
char *device_text(const struct kvnet_device *dev, const char *between)
{
	char *tap = tap_text(dev), *text;

	text = text_format("device %u%s%s", dev->id, tap ? between : "", tap ? tap : "");
	free(tap);
	return text;
}

/**
 * write_tap() - the tap of a device
 * @w: where to; JSON has its name alone
 * @dev: the device
 */
void write_tap(struct json *w, const struct kvnet_device *dev)
{
	char *text = tap_text(dev);

	json_str(w, "tap", w->mode == JSON_TEXT ? text : dev->tap);
	free(text);
}

/**
 * write_owner() - tap, process, command and VM of a device
 * @w: where to
 * @dev: the device
 */
void write_owner(struct json *w, const struct kvnet_device *dev)
{
	struct process p = { 0 };
	bool seen = HAS(dev, KVNET_A_DEV_OWNER_PID) && process_read(&p, dev->pid);

	json_paint(w, PAINT_NAME);
	write_tap(w, dev);
	if (HAS(dev, KVNET_A_DEV_OWNER_PID))
		json_u64(w, "pid", dev->pid);
	else
		json_null(w, "pid");
	if (HAS(dev, KVNET_A_DEV_OWNER_DEAD))
		json_paint(w, PAINT_BAD);
	json_str(w, "command", dev->command);
	json_str(w, "vm", seen ? p.vm : NULL);
	process_free(&p);
}

/**
 * write_state() - what a queue does
 * @w: where to
 * @key: its name there
 * @q: the queue
 */
void write_state(struct json *w, const char *key, const struct kvnet_queue *q)
{
	json_paint(w, q->state == KVNET_QUEUE_STATE_RUNNING ? PAINT_GOOD :
		      q->state == KVNET_QUEUE_STATE_BROKEN ? PAINT_BAD : PAINT_WARN);
	json_str(w, key, name_state(q->state));
}

/**
 * write_features() - feature bits by name
 * @w: where to
 * @key: their name there
 * @words: FEATURE_WORDS of them; a bit without a name is its number
 */
void write_features(struct json *w, const char *key, const uint64_t *words)
{
	unsigned int bit;
	char number[16];

	json_list(w, key, JSON_FIELDS);
	for (bit = 0; bit < 64 * FEATURE_WORDS; bit++) {
		if (!(words[bit / 64] >> (bit % 64) & 1))
			continue;
		snprintf(number, sizeof(number), "bit%u", bit);
		json_str(w, NULL, name_feature(bit) ? name_feature(bit) : number);
	}
	json_end(w);
}
