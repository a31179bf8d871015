// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_doctor.c - check for problems and suggest fixes
 */
#include "doctor.h"
#include "kvnetctl.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

static void print_finding(struct json *w, enum grade grade, const char *check, const char *what,
			  const char *todo)
{
	static const struct {
		const char *word;
		enum json_paint paint;
	} looks[] = {
		[GRADE_OK] = { "ok", PAINT_GOOD }, [GRADE_NOTE] = { "note", PAINT_WARN },
		[GRADE_BAD] = { "BAD", PAINT_BAD },
	};

	fprintf(w->f, "%s%-4s%s  %-7s ", paint_on(w, looks[grade].paint), looks[grade].word,
		paint_off(w, looks[grade].paint), check);
	text_put(w->f, what, TEXT_TERMINAL);
	if (todo)
		fprintf(w->f, "\n      %7s -> %s", "", todo);
	fputc('\n', w->f);
}

/**
 * finding() - report a finding
 * @d: the examination
 * @grade: is it well?
 * @check: what was checked, a word
 * @todo: what to do about it, or NULL
 * @fmt: as of printf: what has been found
 */
void finding(struct doctor *d, enum grade grade, const char *check, const char *todo,
	     const char *fmt, ...)
{
	static const char * const grades[] = { "ok", "note", "bad" };
	va_list ap;
	char *what;

	d->count[grade]++;
	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	va_end(ap);
	need(what);
	if (d->w->mode == JSON_TEXT) {
		print_finding(d->w, grade, check, what, todo);
	} else {
		json_object(d->w, NULL);
		json_str(d->w, "grade", grades[grade]);
		json_str(d->w, "check", check);
		json_str(d->w, "what", what);
		json_str(d->w, "todo", todo);
		json_end(d->w);
	}
	free(what);
}

static void examine_devices(struct doctor *d)
{
	struct kvnet_devices all;
	struct kvnet k;
	int ret = kvnet_open(&k);

	if (!ret)
		ret = kvnet_get(&k, 0, &all);
	if (!ret) {
		doctor_devices(d, &all);
		kvnet_free(&all);
	} else if (ret == -EPERM || ret == -EACCES) {
		finding(d, GRADE_NOTE, "device", "run it as root",
			"devices not checked: CAP_NET_ADMIN required");
	} else {
		finding(d, GRADE_BAD, "module", "reload the module: rmmod kvnet; modprobe kvnet",
			"%s", k.why);
	}
	kvnet_close(&k);
}

/**
 * cmd_doctor() - "kvnetctl doctor"
 * @c: the run
 *
 * Return: STATUS_OK, or STATUS_FAILED if something does not work.
 */
int cmd_doctor(struct ctl *c)
{
	struct doctor d = { .w = &c->w };

	json_list(&c->w, NULL, JSON_FIELDS);
	doctor_module(&d);
	if (!d.count[GRADE_BAD]) {
		doctor_node(&d);
		doctor_features(&d);
		examine_devices(&d);
	}
	doctor_taps(&d);
	doctor_vmms(&d);
	json_end(&c->w);
	if (c->w.mode == JSON_TEXT)
		fprintf(c->w.f, "%u ok, %u to note, %u bad\n", d.count[GRADE_OK],
			d.count[GRADE_NOTE], d.count[GRADE_BAD]);
	return d.count[GRADE_BAD] ? STATUS_FAILED : STATUS_OK;
}
