/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Help, man page and completion say the same as the parser because they are made from the
 * same rows. Everything is written to a buffer; the caller prints.
 */
#include "base/priv.h"

#include <stdio.h>
#include <string.h>

#define WIDTH      80
#define LEFT_MAX   28 /* a longer left column gets a line of its own */
#define CHOICE_MAX 24 /* choices longer than this are listed in the text */

static bool is_place(const struct opt *o)
{
	return o->flags & OPT_POSITIONAL;
}

static bool takes_value(const struct opt *o)
{
	return o->type != OPT_FLAG;
}

static bool on_by_default(const struct opt *o)
{
	return o->type == OPT_FLAG && o->fallback && !strcmp(o->fallback, "true");
}

static size_t choices_len(const struct opt *o)
{
	size_t len = 0;
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		len += strlen(o->choices[i]) + 1;
	return len;
}

static void put_choices(struct buf *b, const struct opt *o, const char *between)
{
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		buf_printf(b, "%s%s", i ? between : "", o->choices[i]);
}

static bool choices_in_metavar(const struct opt *o)
{
	return o->type == OPT_ENUM && !o->metavar && choices_len(o) <= CHOICE_MAX;
}

static void put_metavar(struct buf *b, const struct opt *o)
{
	if (choices_in_metavar(o))
		put_choices(b, o, "|");
	else
		buf_puts(b, opt_metavar(o));
}

/* The help text with what the table knows beside it. */
static void put_text(struct buf *b, const struct opt *o)
{
	buf_puts(b, o->help);
	if (o->type == OPT_ENUM && !choices_in_metavar(o)) {
		buf_puts(b, ": ");
		put_choices(b, o, ", ");
	}
	if (o->type == OPT_LIST && !is_place(o))
		buf_puts(b, " (may be repeated)");
	if (o->fallback && *o->fallback && o->type != OPT_FLAG && !(o->flags & OPT_SECRET))
		buf_printf(b, " (default: %s)", o->fallback);
}

/* ---- help -------------------------------------------------------------------- */

static void put_left(struct buf *b, const struct opt *o)
{
	if (is_place(o)) {
		buf_puts(b, "  ");
		put_metavar(b, o);
		return;
	}
	buf_puts(b, "  ");
	if (o->letter)
		buf_printf(b, "-%c, ", o->letter);
	else
		buf_puts(b, "    ");
	buf_printf(b, "--%s%s", on_by_default(o) ? "[no-]" : "", o->name);
	if (!takes_value(o))
		return;
	buf_puts(b, o->flags & OPT_OPTARG ? "[=" : " ");
	put_metavar(b, o);
	buf_puts(b, o->flags & OPT_OPTARG ? "]" : "");
}

static size_t left_width(const struct opt_set *sets, size_t n)
{
	size_t width = 0;
	struct buf left = {0};
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (r.o->flags & OPT_HIDDEN)
			continue;
		buf_clear(&left);
		put_left(&left, r.o);
		if (left.len > width && left.len <= LEFT_MAX)
			width = left.len;
	}
	buf_fini(&left);
	return width + 2;
}

/* Words of text from column `indent` on; the cursor is already there. */
static void put_wrapped(struct buf *b, const char *text, size_t indent)
{
	size_t column = indent;
	while (*text) {
		size_t len = strcspn(text, " ");
		if (column > indent && column + 1 + len > WIDTH) {
			buf_putc(b, '\n');
			buf_repeat(b, ' ', indent);
			column = indent;
		} else if (column > indent) {
			buf_putc(b, ' ');
			column++;
		}
		buf_put(b, text, len);
		column += len;
		text += len + strspn(text + len, " ");
	}
	buf_putc(b, '\n');
}

static void put_help_row(struct buf *b, const struct opt *o, size_t indent)
{
	struct buf text = {0};
	size_t start = b->len;
	put_left(b, o);
	size_t used = b->len - start;
	if (used + 2 > indent) {
		buf_putc(b, '\n');
		used = 0;
	}
	buf_repeat(b, ' ', indent - used);
	put_text(&text, o);
	put_wrapped(b, text.data ? text.data : "", indent);
	buf_fini(&text);
}

/* The rows of one kind under a heading, which is written once. */
static void put_help_rows(struct buf *b, const struct opt_set *s, bool places, size_t indent,
			  bool *headed)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct opt *o = &s->rows[i];
		if (o->flags & OPT_HIDDEN || is_place(o) != places)
			continue;
		if (!*headed)
			buf_printf(b, "%s%s:\n", b->len ? "\n" : "",
				   places ? "Arguments" : s->title);
		*headed = true;
		put_help_row(b, o, indent);
	}
}

void opt_help(struct buf *b, const struct opt_set *sets, size_t n)
{
	size_t indent = left_width(sets, n);
	bool arguments = false;
	for (size_t i = 0; i < n; i++)
		put_help_rows(b, &sets[i], true, indent, &arguments);
	for (size_t i = 0; i < n; i++) {
		bool headed = false;
		put_help_rows(b, &sets[i], false, indent, &headed);
	}
}

void opt_usage(struct buf *b, const struct opt_set *sets, size_t n)
{
	buf_puts(b, "[options]");
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (!is_place(r.o) || r.o->flags & OPT_HIDDEN)
			continue;
		bool needed = r.o->flags & OPT_REQUIRED;
		buf_puts(b, needed ? " " : " [");
		if (r.o->flags & OPT_REST)
			buf_puts(b, "-- ");
		put_metavar(b, r.o);
		buf_puts(b, r.o->type == OPT_LIST ? "..." : "");
		buf_puts(b, needed ? "" : "]");
	}
}

/* ---- man page ------------------------------------------------------------------ */

/* Text in which scdoc sees no markup. */
static void put_scdoc(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\*_<>#~", *s))
			buf_putc(b, '\\');
		buf_putc(b, *s);
	}
}

static void put_marked(struct buf *b, char mark, const char *s)
{
	buf_putc(b, mark);
	put_scdoc(b, s);
	buf_putc(b, mark);
}

static void put_man_value(struct buf *b, const struct opt *o)
{
	struct buf value = {0};
	put_metavar(&value, o);
	buf_puts(b, o->flags & OPT_OPTARG ? "[=" : " ");
	put_marked(b, '_', value.data ? value.data : "");
	buf_puts(b, o->flags & OPT_OPTARG ? "]" : "");
	buf_fini(&value);
}

static void put_man_row(struct buf *b, const struct opt *o)
{
	struct buf text = {0};
	if (is_place(o)) {
		put_marked(b, '_', o->metavar ? o->metavar : o->name);
	} else {
		if (o->letter)
			buf_printf(b, "*-%c*, ", o->letter);
		buf_puts(b, "*--");
		buf_puts(b, on_by_default(o) ? "[no-]" : "");
		put_scdoc(b, o->name);
		buf_putc(b, '*');
		if (takes_value(o))
			put_man_value(b, o);
	}
	put_text(&text, o);
	buf_puts(b, "\n\t");
	put_scdoc(b, text.data ? text.data : "");
	buf_puts(b, ".\n\n");
	buf_fini(&text);
}

void opt_man(struct buf *b, const struct opt_set *sets, size_t n)
{
	buf_puts(b, "# OPTIONS\n\n");
	for (size_t i = 0; i < n; i++) {
		if (n > 1) {
			buf_puts(b, "## ");
			put_scdoc(b, sets[i].title);
			buf_puts(b, "\n\n");
		}
		for (size_t k = 0; k < sets[i].n; k++)
			if (!(sets[i].rows[k].flags & OPT_HIDDEN))
				put_man_row(b, &sets[i].rows[k]);
	}
}

/* ---- completion ------------------------------------------------------------------ */

/* Inside single quotes of a shell. */
static void put_quoted(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, *s);
	}
}

static void put_bash_words(struct buf *b, const struct opt_set *sets, size_t n)
{
	const char *between = "";
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (r.o->flags & OPT_HIDDEN || is_place(r.o))
			continue;
		buf_puts(b, between);
		between = " ";
		if (r.o->letter)
			buf_printf(b, "-%c ", r.o->letter);
		buf_printf(b, "--%s", r.o->name);
		if (on_by_default(r.o))
			buf_printf(b, " --no-%s", r.o->name);
	}
}

/* What may follow the option that stands before the cursor: choices, files, or nothing that
 * could be guessed. */
static void put_bash_value(struct buf *b, const struct opt *o)
{
	buf_puts(b, "\t\t");
	if (o->letter)
		buf_printf(b, "-%c | ", o->letter);
	buf_printf(b, "--%s) ", o->name);
	if (o->type == OPT_ENUM) {
		buf_puts(b, "COMPREPLY=($(compgen -W '");
		put_choices(b, o, " ");
		buf_puts(b, "' -- \"$cur\")); ");
	} else if (o->flags & OPT_FILE)
		buf_puts(b, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
	buf_puts(b, "return ;;\n");
}

static bool wants_next_word(const struct opt *o)
{
	return takes_value(o) && !is_place(o) && !(o->flags & (OPT_HIDDEN | OPT_OPTARG));
}

static bool has_file_place(const struct opt_set *sets, size_t n)
{
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);)
		if (is_place(r.o) && r.o->flags & OPT_FILE)
			return true;
	return false;
}

/*
 * An arm of `case $cmd in`, within a function that has $prev and $cur. It returns when it
 * has answered in COMPREPLY; else it leaves $opts, the options that may stand there.
 */
void opt_complete_bash(struct buf *b, const char *cmd, const struct opt_set *sets, size_t n)
{
	buf_printf(b, "\t%s)\n\t\topts='", cmd);
	put_bash_words(b, sets, n);
	buf_puts(b, "'\n\t\tcase $prev in\n");
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);)
		if (wants_next_word(r.o))
			put_bash_value(b, r.o);
	buf_puts(b, "\t\tesac\n");
	if (has_file_place(sets, n))
		buf_puts(b, "\t\t[[ $cur == -* ]] || { COMPREPLY=($(compgen -f -- \"$cur\")); "
			    "return; }\n");
	buf_puts(b, "\t\t;;\n");
}

/* In an _arguments spec brackets and colons mean something. */
static void put_zsh_text(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (strchr("[]:\\", *s))
			buf_putc(b, '\\');
		put_quoted(b, (char[]){*s, '\0'});
	}
}

static void put_zsh_action(struct buf *b, const struct opt *o)
{
	buf_putc(b, ':');
	put_zsh_text(b, opt_metavar(o));
	buf_putc(b, ':');
	if (o->flags & OPT_REST)
		buf_puts(b, "_normal");
	else if (o->flags & OPT_FILE)
		buf_puts(b, "_files");
	else if (o->type == OPT_ENUM) {
		buf_putc(b, '(');
		put_choices(b, o, " ");
		buf_putc(b, ')');
	} else
		buf_putc(b, ' ');
}

/* One spec a spelling: '(-t --time)'-t+'[...]:TIME: ' */
static void put_zsh_spelling(struct buf *b, const struct opt *o, const char *spelling,
			     const char *attach)
{
	bool repeat = o->type == OPT_LIST;
	buf_puts(b, " \\\n\t\t\t'");
	if (o->letter && !repeat)
		buf_printf(b, "(-%c --%s)", o->letter, o->name);
	buf_printf(b, "%s%s%s[", repeat ? "*" : "", spelling, takes_value(o) ? attach : "");
	put_zsh_text(b, o->help);
	buf_putc(b, ']');
	if (takes_value(o)) {
		buf_puts(b, o->flags & OPT_OPTARG ? ":" : "");
		put_zsh_action(b, o);
	}
	buf_putc(b, '\'');
}

static void put_zsh_option(struct buf *b, const struct opt *o)
{
	struct buf name = {0};
	bool optarg = o->flags & OPT_OPTARG;
	if (o->letter) {
		struct opt alone = *o;
		if (optarg)
			alone.type = OPT_FLAG; /* the letter takes no value */
		put_zsh_spelling(b, &alone, (char[]){'-', o->letter, '\0'}, "+");
	}
	buf_printf(&name, "--%s", o->name);
	put_zsh_spelling(b, o, name.data ? name.data : "", optarg ? "=-" : "=");
	buf_fini(&name);
	if (!on_by_default(o))
		return;
	buf_printf(b, " \\\n\t\t\t'--no-%s[not: ", o->name);
	put_zsh_text(b, o->help);
	buf_puts(b, "]'");
}

static void put_zsh_place(struct buf *b, const struct opt *o, int place)
{
	buf_puts(b, " \\\n\t\t\t'");
	if (o->type == OPT_LIST)
		buf_puts(b, o->flags & OPT_REST ? "*:" : "*");
	else
		buf_printf(b, "%d", place);
	if (!(o->flags & OPT_REQUIRED) && o->type != OPT_LIST)
		buf_putc(b, ':');
	put_zsh_action(b, o);
	buf_putc(b, '\'');
}

/* An arm of `case $words[1] in`, within a function that _arguments may be called from. */
void opt_complete_zsh(struct buf *b, const char *cmd, const char *what, const struct opt_set *sets,
		      size_t n)
{
	int place = 1;
	buf_printf(b, "\t%s) # %s\n\t\t_arguments -s -S", cmd, what);
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (r.o->flags & OPT_HIDDEN)
			continue;
		if (is_place(r.o))
			put_zsh_place(b, r.o, place++);
		else
			put_zsh_option(b, r.o);
	}
	buf_puts(b, "\n\t\t;;\n");
}
