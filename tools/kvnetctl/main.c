// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kvnetctl: the table of commands
 */
#include "kvnetctl.h"
#include "policy.h"
#include "text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	int (*run)(struct ctl *c);
	const char *args;
	int min, max;
	const char *options;
	const char *help;
};

#define ANY	1000

static const struct command commands[] = {
	{ "list", cmd_list, "", 0, 0, "jp", "one line per device" },
	{ "show", cmd_show, "[DEV]", 0, 1, "jp",
	  "details of devices, queues and workers" },
	{ "stats", cmd_stats, "[DEV]", 0, 1, "jpPain",
	  "counters per queue; with -i rates" },
	{ "top", cmd_top, "", 0, 0, "binjps", "live rates, busiest device first" },
	{ "set", cmd_set, "DEV SETTING VALUE [SETTING VALUE]...", 3, ANY, "",
	  "configure a device" },
	{ "monitor", cmd_monitor, "", 0, 0, "jpn",
	  "report devices and queues as they start, stop and break" },
	{ "rules", cmd_rules, "check|apply|run [FILE]", 1, 2, "jpD",
	  "apply policies of " RULES_FILE " to devices as they appear" },
	{ "features", cmd_features, "", 0, 0, "jp",
	  "features offered by kvnet and vhost_net, and acked by each guest" },
	{ "doctor", cmd_doctor, "", 0, 0, "jp", "check for problems and suggest fixes" },
	{ 0 }
};

static void usage(FILE *f)
{
	const struct command *cmd;

	fputs("Usage: kvnetctl [OPTIONS] COMMAND [ARGUMENTS]\n"
	      "Show and configure kvnet's devices.\n\n", f);
	for (cmd = commands; cmd->name; cmd++)
		fprintf(f, "  %-9s %s\n", cmd->name, cmd->help);
	fputs("\nDEV is a device's id, the name of its tap, pid:N or vm:NAME.\n\n", f);
	opts_help(f, "jphV");
	fputs("\n\"kvnetctl COMMAND -h\" has the command's options; kvnetctl(8) has details.\n", f);
}

static void command_help(const struct command *cmd)
{
	const struct policy_key *key;

	printf("Usage: kvnetctl %s%s%s%s\n%s.\n\n", cmd->name,
	       *cmd->options ? " [OPTIONS]" : "", *cmd->args ? " " : "", cmd->args, cmd->help);
	if (strstr(cmd->args, "DEV"))
		puts("DEV is a device's id, the name of its tap, pid:N or vm:NAME.\n");
	if (cmd->run == cmd_set) {
		for (key = policy_keys; key->name; key++)
			printf("  %-12s %-25s %s\n", key->name, key->value, key->help);
		putchar('\n');
	}
	opts_help(stdout, cmd->options);
	opts_help(stdout, "h");
}

static const struct command *find_command(const char *name)
{
	const struct command *cmd;

	for (cmd = commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, name))
			return cmd;
	return NULL;
}

static void begin_output(struct ctl *c)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	c->w.f = stdout;
	c->w.mode = c->opt.pretty ? JSON_PRETTY : c->opt.json ? JSON_COMPACT : JSON_TEXT;
	c->w.colour = c->w.mode == JSON_TEXT && isatty(STDOUT_FILENO) &&
		      !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static int run_command(struct ctl *c)
{
	const struct command *cmd = find_command(c->argv[0]);
	char *why;
	int ret;

	c->name = c->argv[0];
	if (!cmd)
		return ctl_fail(STATUS_USAGE, "unknown command '%s'; see kvnetctl -h", c->name);
	c->argc--;
	c->argv++;
	if (c->opt.help) {
		command_help(cmd);
		return STATUS_OK;
	}
	if (!opts_allowed(&c->opt, cmd->options, &why)) {
		ret = ctl_fail(STATUS_USAGE, "%s: %s; see kvnetctl %s -h", c->name, why, c->name);
		free(why);
		return ret;
	}
	if (c->argc < cmd->min)
		return ctl_fail(STATUS_USAGE, "%s: needs %s; see kvnetctl %s -h", c->name,
				cmd->args, c->name);
	if (c->argc > cmd->max)
		return ctl_fail(STATUS_USAGE, "%s: '%s' is one argument too many; see kvnetctl %s -h",
				c->name, c->argv[cmd->max], c->name);
	begin_output(c);
	return cmd->run(c);
}

/* A standard descriptor that the caller has closed must not become our socket: output would go there. */
static void keep_closed(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int run(struct ctl *c)
{
	static char *stats[] = { "stats", NULL };
	char *why;
	int ret;

	if (!opts_parse(&c->opt, &c->argc, c->argv, &why)) {
		ret = ctl_fail(STATUS_USAGE, "%s; see kvnetctl -h", why);
		free(why);
		return ret;
	}
	if (c->opt.version) {
		puts("kvnetctl " KVNETCTL_VERSION);
		return STATUS_OK;
	}
	if (!c->argc && c->opt.help) {
		usage(stdout);
		return STATUS_OK;
	}
	if (!c->argc && c->opt.prometheus) {
		c->argv = stats;
		c->argc = 1;
	}
	if (!c->argc) {
		usage(stderr);
		return STATUS_USAGE;
	}
	return run_command(c);
}

int main(int argc, char **argv)
{
	struct ctl c = { .argc = argc - 1, .argv = argv + 1 };
	int ret;

	if (argc < 1)
		return STATUS_USAGE;
	keep_closed();
	text_begin();
	ret = run(&c);
	if ((fflush(stdout) || ferror(stdout)) && ret == STATUS_OK)
		ret = ctl_fail(STATUS_FAILED, "writing the output failed");
	return ret;
}
