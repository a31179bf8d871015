// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_rules.c - policies for devices as they appear
 */
#include "kvnetctl.h"
#include "host.h"
#include "policy.h"
#include "rules.h"
#include "event_wait.h"
#include "text.h"
#include "write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A VMM can cause events at any rate. Rules are applied again to its device after this time at
 * the earliest, which doubles with each refusal in a row.
 */
#define APPLY_INTERVAL_NS	UINT64_C(100000000)
#define MAX_BACKOFF_SHIFT	9

/**
 * struct rules_run - the state of "rules apply" and "rules run"
 * @c: the run
 * @file: the rules' name
 * @rules: these
 * @conn: a connection
 * @applied: devices that rules were applied to, @n_applied of them, and one with the id 0 that
 *	stands for all: policy set last, whether it was refused, refusals in a row, earliest time
 *	of the next application, and whether one is pending
 */
struct rules_run {
	struct ctl *c;
	const char *file;
	struct rules rules;
	struct kvnet conn;
	struct applied {
		uint32_t id;
		char *text;
		bool failed, pending;
		unsigned int refusals;
		uint64_t not_before;
	} *applied;
	unsigned int n_applied;
};

static int load_rules(struct rules_run *run, struct rules *r)
{
	FILE *f = fopen(run->file, "re");
	unsigned int wrong;

	if (!f)
		return ctl_fail(STATUS_USAGE, "rules: %s: %s", run->file, strerror(errno));
	wrong = rules_parse(r, f, run->file, stderr);
	fclose(f);
	if (!wrong)
		return STATUS_OK;
	rules_free(r);
	return ctl_fail(STATUS_USAGE, "rules: %u line%s of %s wrong; nothing is applied", wrong,
			wrong == 1 ? "" : "s", run->file);
}

static struct applied *find_or_add_applied(struct rules_run *run, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < run->n_applied; i++)
		if (run->applied[i].id == id)
			return &run->applied[i];
	run->applied = need(reallocarray(run->applied, run->n_applied + 1, sizeof(*run->applied)));
	run->applied[run->n_applied] = (struct applied) { .id = id };
	return &run->applied[run->n_applied++];
}

static void remove_applied(struct rules_run *run, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < run->n_applied; i++) {
		if (run->applied[i].id != id)
			continue;
		free(run->applied[i].text);
		run->applied[i] = run->applied[--run->n_applied];
		return;
	}
}

static void report_device(struct rules_run *run, const struct kvnet_device *dev,
			  const struct kvnet_policy *p, const char *error)
{
	struct json *w = &run->c->w;

	json_line(w);
	json_u64(w, "device", dev->id);
	write_tap(w, dev);
	json_paint(w, error ? PAINT_BAD : PAINT_NONE);
	json_str(w, "result", error ? "failed" : run->c->opt.dry_run ? "would-set" : "set");
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
 * A policy that is set already is not set again, so that a later "set" by hand stays. A refused
 * one is tried again, and reported once.
 */
static int apply_policy_to_device(struct rules_run *run, const struct kvnet_device *dev,
				  const struct kvnet_policy *p)
{
	struct applied *applied = find_or_add_applied(run, dev->id);
	char *text = policy_text(p), *why = NULL;
	bool is_unchanged = applied->text && !strcmp(applied->text, text);
	int ret = 0;

	if (!p->has || (is_unchanged && !applied->failed)) {
		free(text);
		return STATUS_OK;
	}
	free(applied->text);
	applied->text = text;
	if (!run->c->opt.dry_run)
		ret = policy_set(&run->conn, dev, p, &why);
	applied->failed = ret;
	/* the device is gone, or a worker has exited */
	if (ret == -ENODEV || ret == -ESRCH)
		ret = 0;
	else if (!ret || !is_unchanged)
		report_device(run, dev, p, why);
	free(why);
	return ret ? STATUS_FAILED : STATUS_OK;
}

static bool is_used_by_rules(const struct rules *r, enum rule_key key)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		if (r->rule[i].pattern[key])
			return true;
	return false;
}

/*
 * The module reports no cgroup path that is too long or outside of this cgroup namespace. Such a
 * device would match no rule for its cgroup, and get the settings of later rules: it gets none.
 */
static bool is_cgroup_unknown(const struct rules_run *run, const struct kvnet_device *dev)
{
	return HAS(dev, KVNET_A_DEV_CGROUP_ID) && !dev->cgroup && is_used_by_rules(&run->rules, RULE_CGROUP);
}

static int refuse_device(struct rules_run *run, const struct kvnet_device *dev, const char *why)
{
	static const struct kvnet_policy nothing;
	struct applied *applied = find_or_add_applied(run, dev->id);

	if (!applied->failed)
		report_device(run, dev, &nothing, why);
	applied->failed = true;
	return STATUS_FAILED;
}

static int apply_rules_to_device(struct rules_run *run, const struct kvnet_device *dev)
{
	bool alive = HAS(dev, KVNET_A_DEV_OWNER_PID);
	struct process p = { 0 };
	struct kvnet_policy policy;
	struct subject s = { { NULL } };
	int ret;

	if (HAS(dev, KVNET_A_DEV_OWNER_DEAD))
		return STATUS_OK;
	if (is_cgroup_unknown(run, dev))
		return refuse_device(run, dev, "cgroup path unknown (too long, or outside this cgroup namespace): no rule applied");
	/* the process can delay this: only if a rule needs it */
	if (alive && is_used_by_rules(&run->rules, RULE_VM))
		process_read(&p, dev->pid);
	if (p.stalled) {
		process_free(&p);
		return refuse_device(run, dev, "reading its command line timed out: no rule applied");
	}
	s.name[RULE_COMMAND] = dev->command;
	s.name[RULE_CGROUP] = dev->cgroup;
	s.name[RULE_TAP] = kvnet_tap_of_owner_netns(dev);
	s.name[RULE_VM] = p.vm;
	rules_policy(&run->rules, &s, &policy);
	ret = apply_policy_to_device(run, dev, &policy);
	kvnet_policy_free(&policy);
	process_free(&p);
	return ret;
}

static int apply_rules_rate_limited(struct rules_run *run, const struct kvnet_device *dev)
{
	struct applied *applied = find_or_add_applied(run, dev->id);
	int ret;

	if (applied->not_before > now_ns()) {
		applied->pending = true;
		return STATUS_OK;
	}
	ret = apply_rules_to_device(run, dev);
	applied = find_or_add_applied(run, dev->id);
	if (!ret)
		applied->refusals = 0;
	else if (applied->refusals < MAX_BACKOFF_SHIFT)
		applied->refusals++;
	applied->not_before = now_ns() + (APPLY_INTERVAL_NS << applied->refusals);
	return ret;
}

/* their dev-del-ntf may have been lost */
static void remove_gone_devices(struct rules_run *run, const struct kvnet_devices *all)
{
	unsigned int i, j;

	for (i = run->n_applied; i--; ) {
		if (!run->applied[i].id)
			continue;
		for (j = 0; j < all->n && all->dev[j].id != run->applied[i].id; j++)
			;
		if (j == all->n)
			remove_applied(run, run->applied[i].id);
	}
}

/* @id, or 0: all */
static int apply_rules(struct rules_run *run, uint32_t id)
{
	struct kvnet_devices all;
	int ret, status = STATUS_OK;
	unsigned int i;

	ret = kvnet_get(&run->conn, id, &all);
	if (ret == -ENODEV && id) {
		remove_applied(run, id);
		return STATUS_OK;
	}
	if (ret)
		return ctl_module_fails(&run->conn, ret);
	for (i = 0; i < all.n; i++)
		if (apply_rules_rate_limited(run, &all.dev[i]))
			status = STATUS_FAILED;
	if (!id)
		remove_gone_devices(run, &all);
	kvnet_free(&all);
	return status;
}

static void remove_all_applied(struct rules_run *run)
{
	while (run->n_applied)
		remove_applied(run, run->applied[0].id);
}

/* an invalid file leaves the rules as they are */
static void reload_rules(struct rules_run *run)
{
	struct rules r;

	if (load_rules(run, &r))
		return;
	rules_free(&run->rules);
	run->rules = r;
	remove_all_applied(run);
	apply_rules(run, 0);
}

/* at once, unless rules were applied to it a short time ago */
static void mark_pending(struct rules_run *run, uint32_t id)
{
	find_or_add_applied(run, id)->pending = true;
}

/* the one with the earliest time, or NULL */
static struct applied *first_pending(const struct rules_run *run)
{
	struct applied *first = NULL;
	unsigned int i;

	for (i = 0; i < run->n_applied; i++)
		if (run->applied[i].pending && (!first || run->applied[i].not_before < first->not_before))
			first = &run->applied[i];
	return first;
}

/* One at a time, so that signals and events are handled in between. Only that of all devices finds that the module is gone. */
static int apply_first_pending(struct rules_run *run)
{
	struct applied *applied = first_pending(run);
	uint32_t id;
	int ret;

	if (!applied || applied->not_before > now_ns())
		return STATUS_OK;
	id = applied->id;
	applied->pending = false;
	/* that of a device is set once rules have been applied to it */
	if (!id)
		applied->not_before = now_ns() + APPLY_INTERVAL_NS;
	ret = apply_rules(run, id);
	return id || ret == STATUS_FAILED ? STATUS_OK : ret;
}

/* for event_wait() */
static uint64_t pending_deadline(const struct rules_run *run)
{
	const struct applied *applied = first_pending(run);

	return !applied ? 0 : applied->not_before ? applied->not_before : 1;
}

static int handle_event(struct rules_run *run, struct kvnet *k)
{
	struct kvnet_event ev;
	int ret = kvnet_event(k, &ev);

	if (!ret && ev.cmd == KVNET_CMD_DEV_DEL_NTF)
		remove_applied(run, ev.dev.id);
	else if (!ret && ev.cmd == KVNET_CMD_WORKERS_START_NTF)
		mark_pending(run, ev.dev.id);
	else if (!ret && ev.cmd == KVNET_CMD_QUEUE_START_NTF)
		mark_pending(run, ev.queue.dev);
	kvnet_event_free(&ev);
	if (ret == -ENOBUFS) {
		kvnet_drain(k);
		mark_pending(run, 0);
		ret = 0;
	}
	if (ret && ret != -EAGAIN && ret != -EINTR)
		return ctl_module_fails(k, ret);
	return STATUS_OK;
}

static int follow_devices(struct rules_run *run)
{
	struct kvnet k;
	int ret, woken;

	ret = ctl_open(&k);
	if (ret)
		return ret;
	event_wait_begin(true);
	/* listen before the dump, so that no device is missed in between */
	ret = kvnet_listen(&k);
	ret = ret ? ctl_module_fails(&k, ret) : apply_rules(run, 0);
	if (ret == STATUS_FAILED)
		ret = STATUS_OK;
	while (!ret) {
		woken = event_wait(kvnet_fd(&k), pending_deadline(run));
		if (woken & EVENT_WAIT_END)
			break;
		if (woken & EVENT_WAIT_RELOAD)
			reload_rules(run);
		if (woken & EVENT_WAIT_READ)
			ret = handle_event(run, &k);
		if (!ret)
			ret = apply_first_pending(run);
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
	struct rules_run kp = { .c = c, .file = c->argc > 1 ? c->argv[1] : RULES_FILE };
	bool check = !strcmp(c->argv[0], "check"), run = !strcmp(c->argv[0], "run");
	int ret;

	if (!check && !run && strcmp(c->argv[0], "apply"))
		return ctl_fail(STATUS_USAGE, "rules: '%s': neither check, apply nor run", c->argv[0]);
	if (check && c->opt.dry_run)
		return ctl_fail(STATUS_USAGE, "rules: check does nothing anyway: no --dry-run");
	ret = load_rules(&kp, &kp.rules);
	if (ret)
		return ret;
	if (check) {
		json_line(&c->w);
		json_str(&c->w, "file", kp.file);
		json_u64(&c->w, "rules", kp.rules.n);
		json_end(&c->w);
	} else {
		ret = ctl_open(&kp.conn);
		if (!ret)
			ret = run ? follow_devices(&kp) : apply_rules(&kp, 0);
		kvnet_close(&kp.conn);
	}
	remove_all_applied(&kp);
	free(kp.applied);
	rules_free(&kp.rules);
	return ret;
}
