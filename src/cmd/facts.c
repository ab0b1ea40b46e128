/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir facts: what this machine is and how it is set, as every run keeps it. The text is made of
 * the same JSON, so nothing is in one and not in the other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/observe.h"
#include "host/host.h"

struct facts_cfg {
	bool json;
	char *root, *iface, *observe;
};

#define F(field) offsetof(struct facts_cfg, field)
/* clang-format off */
static const struct opt facts_opts[] = {
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document"},
	{.name = "interface", .letter = 'i', .type = OPT_STR, .offset = F(iface), .metavar = "NAME", .help = "only this interface"},
	{.name = "observe", .type = OPT_STR, .offset = F(observe), .metavar = "HOST", .help = "another host's, by ssh: its /proc and /sys are read, nothing is installed there"},
	{.name = "root", .type = OPT_STR, .offset = F(root), .flags = OPT_FILE, .metavar = "DIR", .help = "read a copy of a machine's /proc, /sys and /etc in DIR"},
};
/* clang-format on */

#define INDENT 2
#define COLUMN 26

/* A name that ends in a unit is shown with the value in it. */
static bool put_unit(struct buf *b, const char *key, int64_t v)
{
	static const struct {
		const char *ending;
		enum unit unit;
		int digits;
	} rows[] = {{"_bytes", UNIT_BYTE, 4}, {"_bps", UNIT_BPS, 3}};
	char text[48];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(key), len = strlen(rows[i].ending);

		if (n <= len || strcmp(key + n - len, rows[i].ending) != 0)
			continue;
		unit_format(text, sizeof(text), (double)v, rows[i].unit, rows[i].digits);
		buf_puts(b, text);
		return true;
	}
	return false;
}

static void put_value(struct buf *b, const char *key, const struct js *v)
{
	const char *s = js_str(v, NULL);
	int64_t n;
	bool yes;

	if (s)
		safe_put(b, s, strlen(s));
	else if (js_type(v) == JS_NULL)
		buf_puts(b, "unknown");
	else if (js_bool(v, &yes))
		buf_puts(b, yes ? "yes" : "no");
	else if (!js_i64(v, &n) || !put_unit(b, key, n))
		js_dump(v, b);
}

/* Members that are all "yes" are a list of names. */
static bool is_list(const struct js *obj)
{
	const struct js *v;
	const char *key;
	void *it = NULL;
	bool yes;

	if (!js_len(obj))
		return false;
	while (js_each(obj, &it, &key, &v)) {
		if (!js_bool(v, &yes) || !yes)
			return false;
	}
	return true;
}

static void put_list(struct buf *b, const struct js *obj, int depth)
{
	const struct js *v;
	const char *key;
	void *it = NULL;
	size_t at = 0;

	while (js_each(obj, &it, &key, &v)) {
		size_t n = strlen(key) + 1;

		if (!at || at + n > 78) {
			if (at)
				buf_putc(b, '\n');
			buf_repeat(b, ' ', (size_t)depth * INDENT);
			at = (size_t)depth * INDENT;
		} else {
			buf_putc(b, ' ');
		}
		safe_put(b, key, strlen(key));
		at += n;
	}
	buf_putc(b, '\n');
}

#define DEPTH_MAX 8

static void put_object(struct buf *b, const struct js *obj, int depth)
{
	const struct js *v;
	const char *key;
	void *it = NULL;

	while (js_each(obj, &it, &key, &v)) {
		size_t from = b->len;

		buf_repeat(b, ' ', (size_t)depth * INDENT);
		safe_put(b, key, strlen(key));
		if (js_type(v) != JS_OBJ || depth == DEPTH_MAX) {
			size_t used = b->len - from;

			buf_repeat(b, ' ', used < COLUMN ? COLUMN - used : 1);
			put_value(b, key, v);
			buf_putc(b, '\n');
			continue;
		}
		if (!js_len(v)) {
			size_t used = b->len - from;

			buf_repeat(b, ' ', used < COLUMN ? COLUMN - used : 1);
			buf_puts(b, "none\n");
			continue;
		}
		buf_putc(b, '\n');
		if (is_list(v))
			put_list(b, v, depth + 1);
		else
			put_object(b, v, depth + 1);
	}
}

static int print(const struct facts_cfg *c, struct buf *facts, struct weir_err *e)
{
	struct buf b = {0};
	struct js_doc *d;
	int rc = js_parse(facts->data, facts->len, &js_limits_file, &d, e);

	if (rc < 0)
		return rc;
	if (c->iface && !js_get(js_get(js_root(d), "interfaces"), c->iface))
		rc = err_set(e, WEIR_OS, ENODEV, "no interface '%.64s'", c->iface);
	else if (c->json)
		buf_puts(&b, facts->data);
	else
		put_object(&b, js_root(d), 0);
	if (c->json)
		buf_putc(&b, '\n');
	js_free(d);
	if (rc >= 0 && !cmd_flush(&b))
		rc = err_set(e, WEIR_OS, EIO, "the output was not written");
	buf_fini(&b);
	return rc;
}

static int elsewhere(const struct facts_cfg *c, struct buf *facts, struct weir_err *e)
{
	struct host_set_cfg none = {.fetch = observe_fetch};
	struct host_set *set = NULL;
	struct observe *o = NULL;
	int rc = c->root ? err_set(e, WEIR_USAGE, EINVAL, "--observe and --root: one of them") : 0;

	if (rc >= 0)
		rc = observe_new(c->observe, &o, e);
	if (rc >= 0)
		rc = host_set_new(&none, &set, e);
	if (rc >= 0)
		rc = observe_start(o, set, e);
	if (rc >= 0)
		rc = observe_facts(o, c->iface, facts, e);
	host_set_free(set);
	observe_free(o);
	return rc;
}

static int run(void *cfg)
{
	const struct facts_cfg *c = cfg;
	struct weir_err e = {0};
	struct buf facts = {0};
	int rc = c->observe ? elsewhere(c, &facts, &e)
			    : host_facts_whole(&facts, c->root, c->iface, &e);

	if (rc >= 0)
		rc = print(c, &facts, &e);
	buf_fini(&facts);
	return rc < 0 ? cmd_fail("facts", &e) : CMD_OK;
}

const struct cmd cmd_facts = {
	.name = "facts",
	.summary = "what this machine is and how it is set",
	.usage = "",
	.opts = facts_opts,
	.n_opts = ARRAY_LEN(facts_opts),
	.cfg_size = sizeof(struct facts_cfg),
	.run = run,
};
