/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One file, many runs: documents one after the other as `weir show --json` prints them, an array
 * as jq makes it, lines of several runs on end, and all of it mixed. The text is cut where a run
 * begins, by brackets and by the first word of a line; each piece has its form's own reader.
 */
#include "format/priv.h"

#include <errno.h>
#include <string.h>

static const char line_run[] = "{\"type\":\"run\"", line_any[] = "{\"type\":";

struct text {
	const char *s;
	size_t n, at;
	struct format_take take;
	int runs;
};

static bool begins(const struct text *t, size_t at, const char *with)
{
	size_t n = strlen(with);

	return t->n - at >= n && !memcmp(t->s + at, with, n);
}

static size_t skip_blank(const struct text *t, size_t at)
{
	while (at < t->n && strchr(" \t\r\n", t->s[at]) && t->s[at])
		at++;
	return at;
}

/* What comes after the value that begins here; the end of the text when it is not closed. */
static size_t after_value(const struct text *t)
{
	bool quoted = false;
	size_t depth = 0;

	for (size_t i = t->at; i < t->n; i++) {
		char c = t->s[i];
		if (quoted) {
			quoted = c != '"';
			i += c == '\\';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if ((c == '}' || c == ']') && --depth == 0) {
			return i + 1;
		}
	}
	return t->n;
}

/* The lines of one run: up to the next that begins one, or that is no such line at all. */
static size_t after_lines(const struct text *t)
{
	size_t at = t->at;

	do {
		const char *end = memchr(t->s + at, '\n', t->n - at);
		at = end ? (size_t)(end - t->s) + 1 : t->n;
	} while (at < t->n && begins(t, at, line_any) && !begins(t, at, line_run));
	return at;
}

static int give(struct text *t, struct model_run *r)
{
	int rc = t->take.run(r, t->take.arg);

	t->runs++;
	return rc < 0 ? rc : 0;
}

static int read_elements(struct text *t, const struct js *list, struct weir_err *e)
{
	int rc = 0;

	for (size_t i = 0; i < js_len(list) && rc >= 0; i++) {
		struct model_run *r;

		rc = model_from_json(js_at(list, i), &r, e);
		if (rc >= 0)
			rc = give(t, r);
	}
	return rc;
}

static int read_value(struct text *t, size_t end, struct weir_err *e)
{
	struct js_doc *d;
	struct model_run *r;
	int rc = js_parse(t->s + t->at, end - t->at, &js_limits_file, &d, e);

	if (rc < 0)
		return rc;
	if (js_type(js_root(d)) == JS_ARR) {
		rc = read_elements(t, js_root(d), e);
	} else {
		rc = model_from_json(js_root(d), &r, e);
		rc = rc < 0 ? rc : give(t, r);
	}
	js_free(d);
	return rc;
}

static int read_piece(struct text *t, struct weir_err *e)
{
	bool lines = begins(t, t->at, line_run);
	size_t end = lines ? after_lines(t) : after_value(t);
	struct model_run *r;
	int rc;

	if (lines) {
		rc = format_ndjson_read(t->s + t->at, end - t->at, &r, e);
		rc = rc < 0 ? rc : give(t, r);
	} else {
		rc = read_value(t, end, e);
	}
	t->at = end;
	return rc;
}

/* The reader that is surest of the first bytes. */
static const struct format *reader_of(const char *text, size_t n)
{
	const struct format *best = NULL, *f;
	int most = 0;

	for (size_t i = 0; (f = format_at(i)); i++) {
		int sure = f->probe && f->read ? f->probe(text, n) : 0;

		if (sure > most) {
			most = sure;
			best = f;
		}
	}
	return best;
}

static int read_one(struct text *t, struct weir_err *e)
{
	const struct format *f = reader_of(t->s, t->n);
	struct model_run *r;
	int rc;

	if (!f)
		return err_set(e, WEIR_FORMAT, ENOMSG, "no reader knows this");
	rc = f->read(t->s, t->n, &r, e);
	return rc < 0 ? rc : give(t, r);
}

/* An array that may hold runs, and not "[  5]". */
static bool is_list(const struct text *t, size_t at)
{
	for (at++; at < t->n && strchr(" \t\r\n[", t->s[at]) && t->s[at]; at++)
		;
	return at < t->n && t->s[at] && strchr("{]", t->s[at]);
}

bool format_is_ours(const char *text, size_t n)
{
	struct text t = {.s = text, .n = n};

	t.at = skip_blank(&t, 0);
	return reader_of(text, n) || (t.at < n && text[t.at] == '[' && is_list(&t, t.at));
}

int format_read_all(const char *text, size_t n, const struct format_take *take, struct weir_err *e)
{
	struct text t = {.s = text, .n = n, .take = *take};
	int rc = 0;

	t.at = skip_blank(&t, 0);
	if (!format_is_ours(text, n))
		return format_read_pasted(text, n, take, e);
	if (t.at == n || (text[t.at] != '{' && text[t.at] != '['))
		rc = read_one(&t, e);
	else {
		while (t.at < n && rc >= 0) {
			rc = read_piece(&t, e);
			t.at = skip_blank(&t, t.at);
		}
		if (rc < 0 && t.runs && e && e->msg[0])
			err_wrap(e, "run %d", t.runs + 1);
	}
	if (rc >= 0 && !t.runs)
		rc = err_set(e, WEIR_FORMAT, ENOMSG, "there is no run in it");
	return rc < 0 ? rc : t.runs;
}
