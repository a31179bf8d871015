// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_rules.c - policies for devices as they appear
 */
#include "kvnetctl.h"
#include "host.h"
#include "policy.h"
#include "rules.h"
#include "sleeper.h"
#include "text.h"
#include "write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A VMM can cause events as fast as it likes. A device is looked at again after this time at the
 * earliest, and after twice as long for each time in a row that something was refused.
 */
#define LOOK_GAP_NS	UINT64_C(100000000)
#define MOST_DOUBLED	9

/**
 * struct keeper - the state of "rules apply" and "rules run"
 * @c: the run
 * @file: the rules' name
 * @rules: these
 * @ask: a connection
 * @done: devices that have been seen to, n of them, and one with the id 0 that stands for all:
 *	what was set last, whether it was refused, how often in a row something was, when it may be
 *	looked at again, and whether it is to be
 */
struct keeper {
	struct ctl *c;
	const char *file;
	struct rules rules;
	struct kvnet ask;
	struct done {
		uint32_t id;
		char *text;
		bool failed, wanted;
		unsigned int refusals;
		uint64_t next;
	} *done;
	unsigned int n;
};

static int load(struct keeper *kp, struct rules *r)
{
	FILE *f = fopen(kp->file, "re");
	unsigned int wrong;

	if (!f)
		return ctl_fail(STATUS_USAGE, "rules: %s: %s", kp->file, strerror(errno));
	wrong = rules_parse(r, f, kp->file, stderr);
	fclose(f);
	if (!wrong)
		return STATUS_OK;
	rules_free(r);
	return ctl_fail(STATUS_USAGE, "rules: %u line%s of %s wrong; nothing is applied", wrong,
			wrong == 1 ? "" : "s", kp->file);
}

static struct done *remember(struct keeper *kp, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < kp->n; i++)
		if (kp->done[i].id == id)
			return &kp->done[i];
	kp->done = need(reallocarray(kp->done, kp->n + 1, sizeof(*kp->done)));
	kp->done[kp->n] = (struct done) { .id = id };
	return &kp->done[kp->n++];
}

static void forget(struct keeper *kp, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < kp->n; i++) {
		if (kp->done[i].id != id)
			continue;
		free(kp->done[i].text);
		kp->done[i] = kp->done[--kp->n];
		return;
	}
}

static void report(struct keeper *kp, const struct kvnet_device *dev,
		   const struct kvnet_policy *p, const char *error)
{
	struct json *w = &kp->c->w;

	json_line(w);
	json_u64(w, "device", dev->id);
	write_tap(w, dev);
	json_paint(w, error ? PAINT_BAD : PAINT_NONE);
	json_str(w, "result", error ? "failed" : kp->c->opt.dry_run ? "would-set" : "set");
	if (error)
		json_str(w, "error", error);
	if (w->mode == JSON_TEXT) {
		char *text = policy_text(p);

		json_str(w, "policy", text);
		free(text);
	} else {
		policy_write(w, "policy", p);
	}
	json_end(w);
}

/*
 * What has been set already stays as it is, so that a "set" by hand does, too. What was
 * refused is tried again, and is not told of twice.
 */
static int set_device(struct keeper *kp, const struct kvnet_device *dev,
		      const struct kvnet_policy *p)
{
	struct done *done = remember(kp, dev->id);
	char *text = policy_text(p), *why = NULL;
	bool again = done->text && !strcmp(done->text, text);
	int ret = 0;

	if (!p->has || (again && !done->failed)) {
		free(text);
		return STATUS_OK;
	}
	free(done->text);
	done->text = text;
	if (!kp->c->opt.dry_run)
		ret = policy_set(&kp->ask, dev, p, &why);
	done->failed = ret;
	/* it went as it came, or its worker's thread has ended */
	if (ret == -ENODEV || ret == -ESRCH)
		ret = 0;
	else if (!ret || !again)
		report(kp, dev, p, why);
	free(why);
	return ret ? STATUS_FAILED : STATUS_OK;
}

static bool matters(const struct rules *r, enum rule_key key)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		if (r->rule[i].pattern[key])
			return true;
	return false;
}

/*
 * The path of a cgroup that is too deep, or outside of this cgroup namespace, is not told. Such a
 * device would fit no rule that is for its cgroup, and get what is for others: it gets nothing.
 */
static bool in_hiding(const struct keeper *kp, const struct kvnet_device *dev)
{
	return HAS(dev, KVNET_A_DEV_CGROUP_ID) && !dev->cgroup && matters(&kp->rules, RULE_CGROUP);
}

static int set_nothing(struct keeper *kp, const struct kvnet_device *dev, const char *why)
{
	static const struct kvnet_policy nothing;
	struct done *done = remember(kp, dev->id);

	if (!done->failed)
		report(kp, dev, &nothing, why);
	done->failed = true;
	return STATUS_FAILED;
}

static int look_at(struct keeper *kp, const struct kvnet_device *dev)
{
	bool alive = HAS(dev, KVNET_A_DEV_OWNER_PID);
	struct process p = { 0 };
	struct kvnet_policy policy;
	struct subject s = { { NULL } };
	int ret;

	if (HAS(dev, KVNET_A_DEV_OWNER_DEAD))
		return STATUS_OK;
	if (in_hiding(kp, dev))
		return set_nothing(kp, dev, "the path of its cgroup is not told (too long, or outside of this cgroup namespace): no rule is applied");
	/* the process can delay this: not without need */
	if (alive && matters(&kp->rules, RULE_VM))
		process_read(&p, dev->pid);
	if (p.stalled) {
		process_free(&p);
		return set_nothing(kp, dev, "its command line cannot be read in time: no rule is applied");
	}
	s.name[RULE_COMMAND] = dev->command;
	s.name[RULE_CGROUP] = dev->cgroup;
	s.name[RULE_TAP] = kvnet_own_tap(dev);
	s.name[RULE_VM] = p.vm;
	rules_policy(&kp->rules, &s, &policy);
	ret = set_device(kp, dev, &policy);
	kvnet_policy_free(&policy);
	process_free(&p);
	return ret;
}

static int apply_to(struct keeper *kp, const struct kvnet_device *dev)
{
	struct done *done = remember(kp, dev->id);
	int ret;

	if (done->next > now_ns()) {
		done->wanted = true;
		return STATUS_OK;
	}
	ret = look_at(kp, dev);
	done = remember(kp, dev->id);
	if (!ret)
		done->refusals = 0;
	else if (done->refusals < MOST_DOUBLED)
		done->refusals++;
	done->next = now_ns() + (LOOK_GAP_NS << done->refusals);
	return ret;
}

/* the event that tells that they went may be lost */
static void forget_others(struct keeper *kp, const struct kvnet_devices *all)
{
	unsigned int i, j;

	for (i = kp->n; i--; ) {
		if (!kp->done[i].id)
			continue;
		for (j = 0; j < all->n && all->dev[j].id != kp->done[i].id; j++)
			;
		if (j == all->n)
			forget(kp, kp->done[i].id);
	}
}

/* @id, or 0: all */
static int apply(struct keeper *kp, uint32_t id)
{
	struct kvnet_devices all;
	int ret, status = STATUS_OK;
	unsigned int i;

	ret = kvnet_get(&kp->ask, id, &all);
	if (ret == -ENODEV && id) {
		forget(kp, id);
		return STATUS_OK;
	}
	if (ret)
		return ctl_module_fails(&kp->ask, ret);
	for (i = 0; i < all.n; i++)
		if (apply_to(kp, &all.dev[i]))
			status = STATUS_FAILED;
	if (!id)
		forget_others(kp, &all);
	kvnet_free(&all);
	return status;
}

static void forget_all(struct keeper *kp)
{
	while (kp->n)
		forget(kp, kp->done[0].id);
}

/* rules that are wrong leave those that there were */
static void reload(struct keeper *kp)
{
	struct rules r;

	if (load(kp, &r))
		return;
	rules_free(&kp->rules);
	kp->rules = r;
	forget_all(kp);
	apply(kp, 0);
}

/* at once, unless it was looked at a short while ago */
static void want(struct keeper *kp, uint32_t id)
{
	remember(kp, id)->wanted = true;
}

/* the one whose time comes first, or NULL */
static struct done *first_wanted(const struct keeper *kp)
{
	struct done *first = NULL;
	unsigned int i;

	for (i = 0; i < kp->n; i++)
		if (kp->done[i].wanted && (!first || kp->done[i].next < first->next))
			first = &kp->done[i];
	return first;
}

/* One look, so that signals and events get their turn. Only that of all tells that the module has gone. */
static int apply_wanted(struct keeper *kp)
{
	struct done *done = first_wanted(kp);
	uint32_t id;
	int ret;

	if (!done || done->next > now_ns())
		return STATUS_OK;
	id = done->id;
	done->wanted = false;
	/* that of a device is set when it has been looked at */
	if (!id)
		done->next = now_ns() + LOOK_GAP_NS;
	ret = apply(kp, id);
	return id || ret == STATUS_FAILED ? STATUS_OK : ret;
}

/* for sleeper_wait() */
static uint64_t wake_up_at(const struct keeper *kp)
{
	const struct done *done = first_wanted(kp);

	return !done ? 0 : done->next ? done->next : 1;
}

static int take_event(struct keeper *kp, struct kvnet *k)
{
	struct kvnet_event ev;
	int ret = kvnet_event(k, &ev);

	if (!ret && ev.cmd == KVNET_CMD_DEV_DEL_NTF)
		forget(kp, ev.dev.id);
	else if (!ret && ev.cmd == KVNET_CMD_WORKERS_START_NTF)
		want(kp, ev.dev.id);
	else if (!ret && ev.cmd == KVNET_CMD_QUEUE_START_NTF)
		want(kp, ev.queue.dev);
	kvnet_event_free(&ev);
	if (ret == -ENOBUFS) {
		kvnet_drain(k);
		want(kp, 0);
		ret = 0;
	}
	if (ret && ret != -EAGAIN && ret != -EINTR)
		return ctl_module_fails(k, ret);
	return STATUS_OK;
}

static int keep(struct keeper *kp)
{
	struct kvnet k;
	int ret, woken;

	ret = ctl_open(&k);
	if (ret)
		return ret;
	sleeper_begin(true);
	/* first listen, then look: nobody comes in between */
	ret = kvnet_listen(&k);
	ret = ret ? ctl_module_fails(&k, ret) : apply(kp, 0);
	if (ret == STATUS_FAILED)
		ret = STATUS_OK;
	while (!ret) {
		woken = sleeper_wait(kvnet_fd(&k), wake_up_at(kp));
		if (woken & WOKEN_END)
			break;
		if (woken & WOKEN_RELOAD)
			reload(kp);
		if (woken & WOKEN_READ)
			ret = take_event(kp, &k);
		if (!ret)
			ret = apply_wanted(kp);
	}
	kvnet_close(&k);
	return ret;
}

/**
 * cmd_rules() - "kvnetctl rules"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_rules(struct ctl *c)
{
	struct keeper kp = { .c = c, .file = c->argc > 1 ? c->argv[1] : RULES_FILE };
	bool check = !strcmp(c->argv[0], "check"), run = !strcmp(c->argv[0], "run");
	int ret;

	if (!check && !run && strcmp(c->argv[0], "apply"))
		return ctl_fail(STATUS_USAGE, "rules: '%s': neither check, apply nor run", c->argv[0]);
	if (check && c->opt.dry_run)
		return ctl_fail(STATUS_USAGE, "rules: check does nothing anyway: no --dry-run");
	ret = load(&kp, &kp.rules);
	if (ret)
		return ret;
	if (check) {
		json_line(&c->w);
		json_str(&c->w, "file", kp.file);
		json_u64(&c->w, "rules", kp.rules.n);
		json_end(&c->w);
	} else {
		ret = ctl_open(&kp.ask);
		if (!ret)
			ret = run ? keep(&kp) : apply(&kp, 0);
		kvnet_close(&kp.ask);
	}
	forget_all(&kp);
	free(kp.done);
	rules_free(&kp.rules);
	return ret;
}
