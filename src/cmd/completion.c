/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shell completion and the man pages' option sections, from the same rows as the parser: what
 * they say cannot differ from what the program does.
 */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "persona/persona.h"

struct completion_cfg {
	char *what, *command;
};

#define F(field) offsetof(struct completion_cfg, field)
static const struct opt opts[] = {
	{.name = "what",
	 .type = OPT_STR,
	 .offset = F(what),
	 .flags = OPT_POSITIONAL | OPT_REQUIRED,
	 .metavar = "bash|zsh|man",
	 .help = "a completion script, or the option section of a man page"},
	{.name = "command",
	 .type = OPT_STR,
	 .offset = F(command),
	 .flags = OPT_POSITIONAL,
	 .metavar = "COMMAND",
	 .help = "whose section (man only)"},
};

static void names(struct buf *b)
{
	for (size_t i = 0; cmd_row_at(i); i++)
		buf_printf(b, "%s%s", i ? " " : "", cmd_row_name(cmd_row_at(i)));
	for (size_t i = 0; persona_at(i); i++)
		buf_printf(b, " %s", persona_at(i)->name);
}

static void bash(struct buf *b)
{
	struct opt_set sets[CMD_SETS_MAX];

	buf_puts(b, "# bash completion for weir; made by `weir completion bash`\n"
		    "_weir() {\n"
		    "\tlocal cur prev cmd opts\n"
		    "\tcur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		    "\tcmd=${COMP_WORDS[1]}\n"
		    "\tCOMPREPLY=()\n"
		    "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		    "\t\tCOMPREPLY=($(compgen -W '");
	names(b);
	buf_puts(b, " help' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $cmd in\n");
	for (size_t i = 0; cmd_row_at(i); i++) {
		size_t n = cmd_row_sets(cmd_row_at(i), NULL, sets);

		opt_complete_bash(b, cmd_row_name(cmd_row_at(i)), sets, n);
	}
	for (size_t i = 0; persona_at(i); i++)
		opt_complete_bash(b, persona_at(i)->name, persona_at(i)->sets,
				  persona_at(i)->n_sets);
	buf_puts(b, "\tesac\n"
		    "\t[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -W \"$opts\" -- "
		    "\"$cur\"))\n"
		    "}\n"
		    "complete -F _weir weir\n");
}

static void zsh(struct buf *b)
{
	struct opt_set sets[CMD_SETS_MAX];

	buf_puts(b, "#compdef weir\n# made by `weir completion zsh`\n_weir() {\n"
		    "\tlocal -a commands\n\tcommands=(\n");
	for (size_t i = 0; cmd_row_at(i); i++)
		buf_printf(b, "\t\t'%s'\n", cmd_row_name(cmd_row_at(i)));
	for (size_t i = 0; persona_at(i); i++)
		buf_printf(b, "\t\t'%s'\n", persona_at(i)->name);
	buf_puts(b, "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n"
		    "\t\treturn\n\tfi\n\tlocal cmd=$words[2]\n\tshift words; (( CURRENT-- ))\n"
		    "\tcase $cmd in\n");
	for (size_t i = 0; cmd_row_at(i); i++) {
		const struct cmd_row *r = cmd_row_at(i);
		size_t n = cmd_row_sets(r, NULL, sets);

		opt_complete_zsh(b, cmd_row_name(r), cmd_row_summary(r), sets, n);
	}
	for (size_t i = 0; persona_at(i); i++)
		opt_complete_zsh(b, persona_at(i)->name, persona_at(i)->summary,
				 persona_at(i)->sets, persona_at(i)->n_sets);
	buf_puts(b, "\tesac\n}\n_weir \"$@\"\n");
}

static int man(struct buf *b, const char *command)
{
	const struct persona *other = command ? persona_find(command) : NULL;
	struct opt_set sets[CMD_SETS_MAX];

	if (other)
		opt_man(b, other->sets, other->n_sets);
	if (other)
		return 0;
	for (size_t i = 0; cmd_row_at(i); i++) {
		const struct cmd_row *r = cmd_row_at(i);

		if (!command || strcmp(cmd_row_name(r), command) != 0)
			continue;
		opt_man(b, sets, cmd_row_sets(r, NULL, sets));
		return 0;
	}
	return -ENOENT;
}

static int run(void *cfg)
{
	const struct completion_cfg *c = cfg;
	struct weir_err e = {0};
	struct buf b = {0};
	int rc = 0;

	if (!strcmp(c->what, "bash"))
		bash(&b);
	else if (!strcmp(c->what, "zsh"))
		zsh(&b);
	else if (strcmp(c->what, "man") != 0 || man(&b, c->command) < 0)
		rc = err_set(&e, WEIR_USAGE, EINVAL,
			     "use: weir completion bash, zsh, or man COMMAND");
	if (rc >= 0 && !cmd_flush(&b))
		rc = err_set(&e, WEIR_OS, EIO, "the output was not written");
	buf_fini(&b);
	return rc < 0 ? cmd_fail("completion", &e) : CMD_OK;
}

const struct cmd cmd_completion = {
	.name = "completion",
	.summary = "completion for bash and zsh, option sections for man pages",
	.usage = "bash|zsh|man [COMMAND]",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.cfg_size = sizeof(struct completion_cfg),
	.run = run,
};
