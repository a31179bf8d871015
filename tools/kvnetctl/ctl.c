// SPDX-License-Identifier: GPL-2.0
/*
 * ctl.c - what all commands share: how they fail, and which devices they mean
 */
#include "kvnetctl.h"
#include "host.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/**
 * ctl_fail() - say in one line what is wrong
 * @status: how the program is to end
 * @fmt: as of printf
 *
 * Return: @status.
 */
int ctl_fail(enum status status, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	fputs("kvnetctl: ", stderr);
	text_put(stderr, need(s), TEXT_TERMINAL);
	fputc('\n', stderr);
	free(s);
	return status;
}

/**
 * ctl_module_fails() - say why the module does not do what it was asked for
 * @k: the connection, which knows
 * @err: negative errno of the call
 *
 * Return: how the program is to end.
 */
int ctl_module_fails(const struct kvnet *k, int err)
{
	switch (err) {
	case -ENOENT:
	case -EPROTO:
		return ctl_fail(STATUS_NO_MODULE, "%s", k->why);
	case -ENODEV:
		return ctl_fail(STATUS_NO_DEVICE, "%s", k->why);
	case -EPERM:
	case -EACCES:
		return ctl_fail(STATUS_NOT_ALLOWED, "not permitted: this takes CAP_NET_ADMIN; run it as root");
	default:
		return ctl_fail(STATUS_FAILED, "%s", k->why);
	}
}

/**
 * ctl_open() - connect to the module, or say why not
 * @k: the connection, for kvnet_close() if STATUS_OK is returned
 *
 * Return: how the program is to end, or STATUS_OK.
 */
int ctl_open(struct kvnet *k)
{
	int ret = kvnet_open(k), status;

	if (!ret)
		return STATUS_OK;
	status = ctl_module_fails(k, ret);
	kvnet_close(k);
	return status;
}

static bool has_vm(const struct kvnet_device *dev, const char *name)
{
	struct process p;
	bool has;

	if (!HAS(dev, KVNET_A_DEV_OWNER_PID) || !process_read(&p, dev->pid))
		return false;
	has = p.vm && !strcmp(p.vm, name);
	process_free(&p);
	return has;
}

struct choice {
	const char *word;
	bool is_id, is_pid, is_vm;
	uint64_t number;
};

static bool chosen(const struct choice *c, const struct kvnet_device *dev)
{
	if (c->is_id)
		return dev->id == c->number;
	if (c->is_pid)
		return HAS(dev, KVNET_A_DEV_OWNER_PID) && dev->pid == c->number;
	if (c->is_vm)
		return has_vm(dev, c->word + 3);
	return kvnet_tap_of_owner_netns(dev) && !strcmp(kvnet_tap_of_owner_netns(dev), c->word);
}

static int no_device(const struct choice *c)
{
	if (c->is_id)
		return ctl_fail(STATUS_NO_DEVICE, "no device with the id %s; kvnetctl list shows those that there are", c->word);
	if (c->is_pid && !host_has("/proc/%u", (unsigned int)c->number))
		return ctl_fail(STATUS_NO_DEVICE, "there is no process %u", (unsigned int)c->number);
	if (c->is_pid)
		return ctl_fail(STATUS_NO_DEVICE, "process %u has no device of kvnet here", (unsigned int)c->number);
	if (c->is_vm)
		return ctl_fail(STATUS_NO_DEVICE, "no VM '%s' has a device of kvnet here", c->word + 3);
	return ctl_fail(STATUS_NO_DEVICE, "no device has a tap '%s' in its network namespace; kvnetctl list shows those that there are", c->word);
}

static int choose(struct kvnet_devices *all, const struct choice *c)
{
	unsigned int i, left = 0;

	for (i = 0; i < all->n; i++) {
		if (chosen(c, &all->dev[i]))
			all->dev[left++] = all->dev[i];
		else
			kvnet_free_device(&all->dev[i]);
	}
	all->n = left;
	return left ? STATUS_OK : no_device(c);
}

/**
 * ctl_devices() - get devices, or say why not
 * @k: the connection
 * @word: which: an id, the name of a tap, pid:N or vm:NAME; or NULL: all
 * @all: theirs, for kvnet_free() if STATUS_OK is returned
 *
 * With a word there is at least one: a guest's queue pairs are devices with one tap.
 *
 * Return: how the program is to end, or STATUS_OK.
 */
int ctl_devices(struct kvnet *k, const char *word, struct kvnet_devices *all)
{
	struct choice c = { .word = word };
	int ret;

	if (word && !*word)
		return ctl_fail(STATUS_USAGE, "'' is no device: give its id, the name of its tap, pid:N or vm:NAME");
	if (word && !strncmp(word, "pid:", 4)) {
		c.is_pid = text_number(word + 4, INT32_MAX, &c.number);
		if (!c.is_pid)
			return ctl_fail(STATUS_USAGE, "'%s': what comes after pid: is no process number", word);
	} else if (word && !strncmp(word, "vm:", 3)) {
		c.is_vm = true;
	} else if (word) {
		c.is_id = text_number(word, UINT32_MAX, &c.number);
	}
	ret = kvnet_get(k, 0, all);
	if (ret)
		return ctl_module_fails(k, ret);
	if (!word)
		return STATUS_OK;
	ret = choose(all, &c);
	if (ret)
		kvnet_free(all);
	return ret;
}
