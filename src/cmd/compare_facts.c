/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two sides that differ in more than was declared are compared in all of it. Every member of the
 * requests, the host facts and the tags is looked at; what is one thing on one side and another
 * on the other is told, and what changes the thing that is measured forbids a verdict.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"

/* Members of a request that say what is measured, not how the hosts are set. */
static const char *const essential[] = {"reverse", "bidir",  "each-way", "parallel", "length",
					"bytes",   "blocks", "bitrate",  NULL};
/* What differs from run to run by itself. */
static const char *const changing[] = {
	"title",       "cport",       "boot",       "steal_since_boot", "signal_dbm", "noise_dbm",
	"tx_rate_bps", "rx_rate_bps", "busy_share", "key_digest",       NULL};

static bool among(const char *const *list, const char *word)
{
	for (; *list; list++) {
		if (!strcmp(*list, word))
			return true;
	}
	return false;
}

/* Values of one name on one side: the first, and whether all are it. */
struct fact {
	char name[128];
	char value[2][SAFE_MAX + 1];
	size_t seen[2];
	bool one[2];
	size_t in; /* the object that it is in: its index + 1; 0 = none that is known to be whole */
};
struct facts {
	struct fact *v;
	size_t n;
};

/* Its index + 1; 0 = not there. */
static size_t place_of(const struct facts *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!strncmp(l->v[i].name, name, sizeof(l->v[i].name) - 1))
			return i + 1;
	}
	return 0;
}

static struct fact *fact_of(struct facts *l, const char *name)
{
	size_t at = place_of(l, name);
	struct fact *v;

	if (at)
		return &l->v[at - 1];
	v = reallocarray(l->v, l->n + 1, sizeof(*v));
	if (!v)
		return NULL;
	l->v = v;
	v[l->n] = (struct fact){.one = {true, true}};
	safe_str(v[l->n].name, sizeof(v[l->n].name), name, strlen(name));
	return &v[l->n++];
}

static void note(struct facts *l, int side, const char *name, const char *value)
{
	struct fact *f = fact_of(l, name);
	char safe[SAFE_MAX + 1];

	if (!f)
		return;
	safe_str(safe, sizeof(safe), value, strlen(value));
	if (!f->seen[side])
		memcpy(f->value[side], safe, sizeof(safe));
	else if (strcmp(f->value[side], safe) != 0)
		f->one[side] = false;
	f->seen[side]++;
}

#define DEPTH_MAX 6

/* The members of an object, those of nested ones under its name. What is null is not known. */
static void note_members(struct facts *l, int side, const char *prefix, const struct js *obj,
			 size_t in, int depth)
{
	const struct js *v;
	const char *key;
	void *it = NULL;

	while (js_each(obj, &it, &key, &v)) {
		struct buf name = {0}, text = {0};
		bool nested = js_type(v) == JS_OBJ && depth < DEPTH_MAX;
		size_t at;

		buf_printf(&name, "%s.%s", prefix, key);
		if (nested)
			buf_puts(&text, "(present)");
		else if (js_str(v, NULL))
			buf_puts(&text, js_str(v, NULL));
		else
			js_dump(v, &text);
		if (js_type(v) == JS_NULL || among(changing, key) || name.failed || text.failed)
			goto next;
		note(l, side, name.data, text.data ? text.data : "");
		at = place_of(l, name.data);
		if (at)
			l->v[at - 1].in = in;
		if (nested)
			note_members(l, side, name.data, v, at, depth + 1);
	next:
		buf_fini(&name);
		buf_fini(&text);
	}
}

static void note_object(struct facts *l, int side, const char *prefix, const char *json)
{
	struct js_doc *d;

	if (!json || js_parse(json, strlen(json), &js_limits_file, &d, NULL) < 0)
		return;
	note_members(l, side, prefix, js_root(d), 0, 0);
	js_free(d);
}

static void note_text(struct facts *l, int side, const char *name, const char *value)
{
	if (value)
		note(l, side, name, value);
}

static void note_run(struct facts *l, int side, const struct model_run *r)
{
	static const char *const ends[] = {"near", "far"};

	note_text(l, side, "kind", r->kind);
	note_text(l, side, "protocol", r->protocol);
	note_object(l, side, "request", r->request);
	for (int end = 0; end < 2; end++) {
		char name[32];

		note_object(l, side, ends[end], r->host[end].facts);
		snprintf(name, sizeof(name), "%s.tool", ends[end]);
		note_text(l, side, name, r->host[end].tool);
		snprintf(name, sizeof(name), "%s.version", ends[end]);
		note_text(l, side, name, r->host[end].version);
	}
	for (size_t i = 0; i < r->n_tags; i++) {
		struct buf name = {0};

		buf_printf(&name, "tag.%s", r->tags[i].k);
		if (name.data)
			note_text(l, side, name.data, r->tags[i].v);
		buf_fini(&name);
	}
}

/* A side that is tag:KEY=VALUE was chosen by that tag. */
static bool is_asked_for(const struct compare_side *s, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = s->name; p && (p = strstr(p, "tag:")); p += 4) {
		if ((p == s->name || p[-1] == ',') && !strncmp(p + 4, key, n) && p[4 + n] == '=')
			return true;
	}
	return false;
}

/* Tags that weir gave its own runs, and those that say which sides are meant, are no difference. */
static bool is_plain_tag(const struct compare_side *a, const struct compare_side *b,
			 const char *name)
{
	static const char *const own[] = {"try", "boot", NULL};

	if (strncmp(name, "tag.", 4) != 0)
		return false;
	return among(own, name + 4) || (is_asked_for(a, name + 4) && is_asked_for(b, name + 4));
}

/* name is what, or something of it ("sysctl" has "sysctl.net.core.rmem_max"). */
static bool is_of(const char *name, const char *what)
{
	size_t n = strlen(what);

	return !strncmp(name, what, n) && (!name[n] || name[n] == '.');
}

/* "kernel" declares near.kernel, far.kernel and tag.kernel; "sysctl" all of near.sysctl;
 * "net.core.rmem_max" that one of near and far. */
static bool is_declared(const struct compare_cfg *c, const char *name)
{
	const char *dot = strchr(name, '.');

	for (size_t i = 0; i < c->varied.n; i++) {
		const char *what = c->varied.v[i];
		size_t n = strlen(what), len = strlen(name);

		if (is_of(name, what) || (dot && is_of(dot + 1, what)) ||
		    (n < len && name[len - n - 1] == '.' && !strcmp(name + len - n, what)))
			return true;
	}
	return false;
}

/* All that its object has was looked at, in every run of both sides. */
static bool is_whole(const struct facts *l, const struct fact *f, const size_t runs[2])
{
	const struct fact *in = f->in ? &l->v[f->in - 1] : NULL;

	return in && in->seen[0] == runs[0] && in->seen[1] == runs[1];
}

/* A default is left out of a request, so absence counts there, and in an object that both sides
 * have; of any other fact it says nothing. */
static bool differs(const struct facts *l, const struct fact *f, const size_t runs[2])
{
	bool request = !strncmp(f->name, "request.", 8) || is_whole(l, f, runs);

	for (int side = 0; side < 2; side++) {
		if (f->seen[side] && f->seen[side] != runs[side])
			return false;
		if (!f->seen[side] && !request)
			return false;
		if (!f->one[side])
			return false;
	}
	return f->seen[0] != runs[0] || f->seen[1] != runs[1] ||
	       strcmp(f->value[0], f->value[1]) != 0;
}

static bool is_essential(const char *name)
{
	if (!strcmp(name, "kind"))
		return true;
	return !strncmp(name, "request.", 8) && among(essential, name + 8);
}

static const char *absent(const struct fact *f)
{
	return !strncmp(f->name, "request.", 8) || strstr(f->name, ".sysctl.") ? "(default)"
									       : "(absent)";
}

size_t compare_differences(const struct compare_cfg *c, const struct compare_side *a,
			   const struct compare_side *b, struct buf *out, uint64_t *gate)
{
	size_t runs[2] = {a->n, b->n}, found = 0;
	struct facts l = {0};

	for (size_t i = 0; a->runs && i < a->n; i++)
		note_run(&l, 0, a->runs[i]);
	for (size_t i = 0; b->runs && i < b->n; i++)
		note_run(&l, 1, b->runs[i]);
	for (size_t i = 0; i < l.n; i++) {
		const struct fact *f = &l.v[i];

		if (!differs(&l, f, runs) || is_declared(c, f->name) || is_plain_tag(a, b, f->name))
			continue;
		buf_printf(out, "%s%s: %s | %s", found++ ? "\n" : "", f->name,
			   f->seen[0] ? f->value[0] : absent(f),
			   f->seen[1] ? f->value[1] : absent(f));
		if (gate && is_essential(f->name))
			*gate |= MODEL_R(REASON_REQUEST);
	}
	free(l.v);
	return found;
}
