/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one command: a table of rows, and what is common to all of them. To add a command or a
 * measurement, add its file and a row here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "persona/persona.h"

static const struct cmd_row rows[] = {
	{.measure = &measure_tcp}, {.measure = &measure_udp}, {.cmd = &cmd_serve},
	{.cmd = &cmd_lab},         {.cmd = &cmd_list},        {.cmd = &cmd_show},
	{.cmd = &cmd_compare},     {.cmd = &cmd_try},         {.cmd = &cmd_calibrate},
	{.cmd = &cmd_plan},        {.cmd = &cmd_read},        {.cmd = &cmd_import},
	{.cmd = &cmd_wifi},        {.cmd = &cmd_export},      {.cmd = &cmd_rm},
	{.cmd = &cmd_tag},         {.cmd = &cmd_facts},       {.cmd = &cmd_watch},
	{.cmd = &cmd_knobs},       {.cmd = &cmd_set},         {.cmd = &cmd_aliases},
	{.cmd = &cmd_completion},
};

const struct cmd_row *cmd_row_at(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

const char *cmd_row_name(const struct cmd_row *r)
{
	return r->cmd ? r->cmd->name : r->measure->name;
}

const char *cmd_row_summary(const struct cmd_row *r)
{
	return r->cmd ? r->cmd->summary : r->measure->summary;
}

const char *cmd_row_usage(const struct cmd_row *r)
{
	return r->cmd ? r->cmd->usage : r->measure->positional;
}

static size_t cmd_sets(const struct cmd *c, void *cfg, struct opt_set out[CMD_SETS_MAX])
{
	size_t n = c->n_opts > 0;

	out[0] = (struct opt_set){.title = "Options", .rows = c->opts, .n = c->n_opts, .cfg = cfg};
	for (const struct cmd_more *m = c->more; m && m->rows && n < CMD_SETS_MAX; m++, n++) {
		out[n] = (struct opt_set){.title = m->title, .rows = m->rows, .n = *m->n};
		out[n].cfg = cfg ? (char *)cfg + m->offset : NULL;
	}
	return n;
}

size_t cmd_row_sets(const struct cmd_row *r, void *cfg, struct opt_set out[CMD_SETS_MAX])
{
	return r->cmd ? cmd_sets(r->cmd, cfg, out) : cmd_measure_sets(r->measure, cfg, out);
}

static const struct cmd_row *find_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!strcmp(cmd_row_name(&rows[i]), name))
			return &rows[i];
	}
	return NULL;
}

static int print_overview(FILE *to)
{
	fprintf(to,
		"weir %s: what a network path and the hosts at its ends can do\n\n"
		"usage: weir COMMAND [options]\n\n",
		weir_version);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fprintf(to, "  %-12s %s\n", cmd_row_name(&rows[i]), cmd_row_summary(&rows[i]));
	for (size_t i = 0; persona_at(i); i++)
		fprintf(to, "  %-12s %s\n", persona_at(i)->name, persona_at(i)->summary);
	fputs("\n`weir COMMAND --help` tells its options; `man weir` has more.\n", to);
	return to == stdout ? cmd_printed() : CMD_USAGE;
}

static int print_help(const struct cmd_row *r)
{
	struct opt_set sets[CMD_SETS_MAX];
	size_t n = cmd_row_sets(r, NULL, sets);
	struct buf b = {0};
	bool ok;

	buf_printf(&b, "weir %s: %s\n\nusage: weir %s [options] %s\n", cmd_row_name(r),
		   cmd_row_summary(r), cmd_row_name(r), cmd_row_usage(r));
	opt_help(&b, sets, n);
	ok = cmd_flush(&b);
	buf_fini(&b);
	return ok ? CMD_OK : CMD_FAILED;
}

/* A file of options lies between the defaults and the command line, which is read twice: the file's
 * name is on it. */
static int parse_options(const struct cmd_row *r, void *cfg, const struct opt_set *sets, size_t n,
			 int argc, char **argv, struct weir_err *e)
{
	char **config =
		r->cmd && r->cmd->config ? (char **)(void *)((char *)cfg + r->cmd->config) : NULL;
	int rc = opt_defaults(sets, n, e);
	char *file;

	if (rc >= 0)
		rc = opt_parse(sets, n, argc, argv, e);
	if (rc < 0 || !config || !*config)
		return rc;
	file = *config;
	*config = NULL;
	opt_fini(sets, n);
	rc = opt_defaults(sets, n, e);
	if (rc >= 0)
		rc = cmd_config_file(file, sets, n, e);
	free(file);
	return rc < 0 ? rc : opt_parse(sets, n, argc, argv, e);
}

static void hide(const char *secret, int argc, char **argv)
{
	size_t len = strlen(secret);

	for (int i = 1; len && i < argc; i++) {
		size_t n = strlen(argv[i]);

		if (n >= len && !memcmp(argv[i] + n - len, secret, len))
			memset(argv[i] + n - len, '*', len);
	}
}

/* The command line is everybody's to read (/proc/PID/cmdline): what was secret on it is not left
 * there, though it was for a moment. */
static void hide_secrets(const struct opt_set *sets, size_t n, int argc, char **argv)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sets[i].n; k++) {
			const struct opt *o = &sets[i].rows[k];
			char *const *v = (void *)((char *)sets[i].cfg + o->offset);

			if (o->type == OPT_STR && o->flags & OPT_SECRET && *v)
				hide(*v, argc, argv);
		}
	}
}

static int run_row(const struct cmd_row *r, int argc, char **argv)
{
	size_t size = r->cmd ? r->cmd->cfg_size : cmd_measure_cfg_size(r->measure);
	void *cfg = calloc(1, size ? size : 1);
	struct opt_set sets[CMD_SETS_MAX];
	struct weir_err e = {0};
	size_t n;
	int rc;

	if (!cfg)
		return CMD_FAILED;
	n = cmd_row_sets(r, cfg, sets);
	rc = parse_options(r, cfg, sets, n, argc, argv, &e);
	if (rc >= 0)
		hide_secrets(sets, n, argc, argv);
	if (rc == -ECANCELED)
		rc = print_help(r);
	else if (rc < 0)
		rc = cmd_fail(cmd_row_name(r), &e);
	else
		rc = r->cmd ? r->cmd->run(cfg) : cmd_measure(r->measure, cfg);
	opt_fini(sets, n);
	free(cfg);
	return rc;
}

static int unknown_command(const char *name)
{
	char safe[SAFE_MAX];
	struct weir_err e = {0};

	safe_str(safe, sizeof(safe), name, strlen(name));
	err_set(&e, WEIR_USAGE, EINVAL, "\"%s\" is not a command", safe);
	err_hint(&e, "`weir --help` lists them");
	return cmd_fail(NULL, &e);
}

static int help(int argc, char **argv)
{
	const struct persona *other = argc > 2 ? persona_find(argv[2]) : NULL;
	const struct cmd_row *r = argc > 2 ? find_row(argv[2]) : NULL;
	char flag[] = "--help", *line[] = {argv[2], flag, NULL};

	if (other)
		return other->run(2, line);
	if (argc > 2 && !r)
		return unknown_command(argv[2]);
	return r ? print_help(r) : print_overview(stdout);
}

/* A caller that closed standard streams would have our first sockets and pipes take their place. */
static bool take_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(int argc, char **argv)
{
	const struct persona *other;
	const struct cmd_row *r;

	if (!take_standard_fds())
		return CMD_FAILED;
	signal(SIGPIPE, SIG_IGN);
	other = persona_of(argv[0]);
	if (other)
		return other->run(argc, argv);
	if (argc < 2)
		return print_overview(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argc, argv);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v") ||
	    !strcmp(argv[1], "version")) {
		printf("weir %s\n", weir_version);
		return cmd_printed();
	}
	other = persona_find(argv[1]);
	if (other)
		return other->run(argc - 1, argv + 1);
	r = find_row(argv[1]);
	if (!r)
		return unknown_command(argv[1]);
	return run_row(r, argc - 1, argv + 1);
}
