/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir knobs: what can be changed here, what it is now, what it may be, how it comes back and what
 * privilege it takes. It only reads, and replays nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sys/sys.h"

struct knobs_cfg {
	bool json, all;
	char *root;
	struct opt_list patterns;
};

#define F(field) offsetof(struct knobs_cfg, field)
/* clang-format off */
static const struct opt knobs_opts[] = {
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document"},
	{.name = "all", .letter = 'a', .type = OPT_FLAG, .offset = F(all), .help = "also what is not here, or not readable, and why"},
	{.name = "root", .type = OPT_STR, .offset = F(root), .flags = OPT_FILE, .metavar = "DIR", .help = "a folder that stands for /; programs in it are run"},
	{.name = "pattern", .type = OPT_LIST, .offset = F(patterns), .flags = OPT_POSITIONAL, .metavar = "PATTERN", .help = "only names with this in them, or that match it where it has * ? or ["},
};
/* clang-format on */

/* ---- one knob ------------------------------------------------------------ */

struct row {
	char name[SYS_REF_TEXT], value[SYS_VALUE_CAP], range[120];
	struct weir_err why; /* why there is no value */
	bool known, missing; /* a privilege is missing */
};

static const char *const revert_text[] = {
	[SYS_RUNTIME] = "run time", [SYS_REBOOT] = "reboot", [SYS_REBUILD] = "rebuild"};
static const char *const how_text[] = {[SYS_RUNTIME] = "at run time",
				       [SYS_REBOOT] = "by a reboot",
				       [SYS_REBUILD] = "by a rebuild"};
static const char *const scope_text[] = {
	[SYS_NETNS] = "namespace", [SYS_HOST] = "machine", [SYS_IFACE] = "interface"};

/* A capability is only a guess at what the kernel will say, but a good one. */
static bool is_missing(const struct sys_ref *r)
{
	if (r->root || r->knob->revert != SYS_RUNTIME)
		return false;
	if (r->knob->scope == SYS_HOST)
		return geteuid() != 0 || !sys_on_machine();
	return !sys_cap_have(CAP_NET_ADMIN);
}

/* How it is changed: at run time, or as the text of another way. */
static const char *way_of(const struct sys_ref *r, const char *const text[], const char *reload)
{
	return sys_knob_writable(r) ? text[r->knob->revert] : reload;
}

static void look(const struct sys_ref *r, struct row *row)
{
	*row = (struct row){0};
	sys_ref_text(r, row->name);
	sys_knob_range(r->knob, row->range, sizeof(row->range));
	row->known = sys_knob_get(r, row->value, sizeof(row->value), &row->why) >= 0;
	row->missing = is_missing(r);
}

/* What is not of this kernel or interface is left out. */
static bool is_here(const struct row *row)
{
	int code = row->why.code;

	return row->known || (code != ENOENT && code != EOPNOTSUPP && code != ENODEV &&
			      code != EINVAL && code != EXDEV);
}

/* ---- JSON ---------------------------------------------------------------- */

static void put_choices(struct jw *w, const struct sys_knob *k)
{
	const char *s = k->words;

	if (!s)
		return;
	jw_arr(w, "choices");
	while (*s) {
		size_t n = strcspn(s, " ");
		jw_strn(w, NULL, s, n);
		s += n + (s[n] == ' ');
	}
	jw_end_arr(w);
}

static void put_json(struct jw *w, const struct sys_ref *r, const struct row *row)
{
	const struct sys_knob *k = r->knob;

	jw_obj(w, NULL);
	jw_str(w, "knob", row->name);
	jw_str(w, "value", row->known ? row->value : NULL);
	if (!row->known)
		jw_str(w, "why", row->why.msg);
	jw_str(w, "range", row->range);
	if (k->type == SYS_INT || k->type == SYS_PAIR || k->type == SYS_TRIPLE) {
		jw_i64(w, "min", k->min);
		jw_i64(w, "max", k->max);
	}
	put_choices(w, k);
	jw_str(w, "reversible", way_of(r, revert_text, "reload"));
	jw_str(w, "scope", scope_text[k->scope]);
	jw_str(w, "needs", sys_knob_needs(k));
	jw_bool(w, "missing", row->missing);
	jw_str(w, "affects", k->affects);
	jw_end_obj(w);
}

/* ---- text ---------------------------------------------------------------- */

static void put_text(struct buf *b, const struct sys_ref *r, const struct row *row)
{
	buf_printf(b, "%-38s %-18s %s\n", row->name, row->known ? row->value : "?",
		   r->knob->affects);
	buf_printf(b, "%-38s %s; %s; needs %s%s\n", "", row->range,
		   way_of(r, how_text, "by loading the module anew"), sys_knob_needs(r->knob),
		   row->missing ? " (missing)" : "");
	if (!row->known)
		buf_printf(b, "%-38s %s\n", "", row->why.msg);
}

/* ---- the list ------------------------------------------------------------ */

struct list {
	const struct knobs_cfg *o;
	struct buf b;
	struct jw w;
	size_t n, hidden;
};

static int take(const struct sys_ref *r, void *arg)
{
	struct list *l = arg;
	struct row row;

	look(r, &row);
	if (!l->o->all && !is_here(&row)) {
		l->hidden++;
		return 0;
	}
	l->n++;
	if (l->o->json)
		put_json(&l->w, r, &row);
	else
		put_text(&l->b, r, &row);
	return 0;
}

static int run_patterns(struct list *l, struct weir_err *e)
{
	const struct opt_list *p = &l->o->patterns;
	int rc = 0;

	if (!p->n)
		return sys_knob_list(l->o->root, NULL, take, l, e);
	for (size_t i = 0; i < p->n && rc == 0; i++)
		rc = sys_knob_list(l->o->root, p->v[i], take, l, e);
	return rc;
}

static int run(void *cfg)
{
	struct list l = {.o = cfg};
	struct weir_err e = {0};

	l.w = jw_init(&l.b);
	if (l.o->json) {
		jw_obj(&l.w, NULL);
		jw_arr(&l.w, "knobs");
	}
	int rc = run_patterns(&l, &e);
	if (rc == 0 && !l.n) {
		rc = err_set(&e, WEIR_USAGE, ENOENT, "no knob here has such a name");
		if (l.hidden)
			err_hint(&e,
				 "--all tells of %zu that this kernel or interface does not have",
				 l.hidden);
	}
	if (l.o->json) {
		jw_end_arr(&l.w);
		jw_end_obj(&l.w);
		buf_putc(&l.b, '\n');
	}
	bool ok = rc < 0 || cmd_flush(&l.b);
	buf_fini(&l.b);
	if (rc < 0)
		return cmd_fail("knobs", &e);
	return ok ? CMD_OK : CMD_FAILED;
}

const struct cmd cmd_knobs = {
	.name = "knobs",
	.summary = "what can be changed here, and put back",
	.usage = "[PATTERN…]",
	.opts = knobs_opts,
	.n_opts = ARRAY_LEN(knobs_opts),
	.cfg_size = sizeof(struct knobs_cfg),
	.run = run,
};
