/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir aliases DIR: links by the names of the tools that weir stands in for, so that scripts which
 * call those get weir. What is in the folder already and is no link of ours stays.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "persona/persona.h"

#define PATH_LEN 4096

struct aliases_cfg {
	char *dir;
	bool remove;
};

#define F(field) offsetof(struct aliases_cfg, field)
/* clang-format off */
static const struct opt opts[] = {
	{.name = "dir", .type = OPT_STR, .offset = F(dir), .flags = OPT_POSITIONAL | OPT_REQUIRED | OPT_FILE, .metavar = "DIR", .help = "the folder, which has to exist; early in PATH it goes before the tools themselves"},
	{.name = "remove", .type = OPT_FLAG, .offset = F(remove), .help = "take the links away again"},
};
/* clang-format on */

static int own_path(char dst[PATH_LEN], struct weir_err *e)
{
	ssize_t n = readlink("/proc/self/exe", dst, PATH_LEN - 1);

	if (n <= 0)
		return err_os(e, n < 0 ? errno : ENOENT, "where this program is");
	dst[n] = '\0';
	return 0;
}

/* A link to a program called weir, wherever that was. */
static bool is_ours(const char *at)
{
	char to[PATH_LEN];
	ssize_t n = readlink(at, to, sizeof(to) - 1);
	const char *slash;

	if (n <= 0)
		return false;
	to[n] = '\0';
	slash = strrchr(to, '/');
	return !strcmp(slash ? slash + 1 : to, "weir");
}

static int put_link(const char *at, const char *to, bool remove, struct weir_err *e)
{
	struct stat st;
	bool there = !lstat(at, &st);

	if (there && !is_ours(at))
		return err_set(e, WEIR_USAGE, EEXIST,
			       "%.160s is there and is no link to weir: it stays", at);
	if (there && unlink(at))
		return err_os(e, errno, "%.160s", at);
	if (!remove && symlink(to, at))
		return err_os(e, errno, "%.160s", at);
	if (!remove)
		printf("%s -> %s\n", at, to);
	return 0;
}

static int run(void *cfg)
{
	const struct aliases_cfg *c = cfg;
	char self[PATH_LEN], at[PATH_LEN];
	struct weir_err e = {0};
	int rc = own_path(self, &e);

	for (size_t i = 0; rc >= 0 && persona_at(i); i++) {
		snprintf(at, sizeof(at), "%.*s/%s", PATH_LEN / 2, c->dir, persona_at(i)->name);
		rc = put_link(at, self, c->remove, &e);
	}
	return rc < 0 ? cmd_fail("aliases", &e) : cmd_printed();
}

const struct cmd cmd_aliases = {
	.name = "aliases",
	.summary = "links by the names of the tools that weir stands in for",
	.usage = "DIR",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.cfg_size = sizeof(struct aliases_cfg),
	.run = run,
};
