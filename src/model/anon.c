/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * People want to show a result without showing their network. Host names, addresses, MACs and
 * paths become numbered words, the same thing always the same word, wherever text of the run
 * may hold them. Matching needs no regular expression: one pass, a few matchers a position.
 */
#include "model/priv.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { HOST, ADDR, MAC, PATH, KINDS };
static const char *const kind_words[KINDS] = {"host", "addr", "mac", "path"};

struct anon {
	struct model_run *r;
	struct model_symbols seen[KINDS]; /* canonical forms, in order of appearance */
};

/* ---- characters ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* ---- matchers: length of what begins at s (0 = nothing), its canonical form in out ---- */

#define FORM_MAX 256

static size_t match_v4(const char *s, char *out)
{
	struct in_addr a;
	size_t n = strspn(s, "0123456789.");
	while (n && s[n - 1] == '.')
		n--;
	if (n < 7 || n > 15 || is_word(s[n]))
		return 0;
	memcpy(out, s, n);
	out[n] = '\0';
	return inet_pton(AF_INET, out, &a) == 1 ? n : 0;
}

static size_t match_v6(const char *s, char *out)
{
	struct in6_addr a;
	size_t n = strspn(s, "0123456789abcdefABCDEF:.");
	while (n && (s[n - 1] == '.' || (s[n - 1] == ':' && n > 1 && s[n - 2] != ':')))
		n--;
	if (n < 2 || n >= INET6_ADDRSTRLEN || is_word(s[n]))
		return 0;
	memcpy(out, s, n);
	out[n] = '\0';
	if (inet_pton(AF_INET6, out, &a) != 1)
		return 0;
	inet_ntop(AF_INET6, &a, out, INET6_ADDRSTRLEN);
	if (s[n] != '%')
		return n;
	n++; /* the scope: an interface's name */
	while (is_word(s[n]) || s[n] == '-' || s[n] == '.')
		n++;
	return n;
}

static size_t match_mac(const char *s, char *out)
{
	char sep = is_hex(s[0]) && is_hex(s[1]) ? s[2] : 0;
	if (sep != ':' && sep != '-')
		return 0;
	for (int i = 0; i < 6; i++) {
		if (!is_hex(s[3 * i]) || !is_hex(s[3 * i + 1]) || (i < 5 && s[3 * i + 2] != sep))
			return 0;
		out[2 * i] = (char)(s[3 * i] | 0x20);
		out[2 * i + 1] = (char)(s[3 * i + 1] | 0x20);
	}
	out[12] = '\0';
	return is_word(s[17]) || s[17] == sep ? 0 : 17;
}

/* Interface names made from the MAC: enx, wlx, wwx and 12 hexadecimal digits. */
static size_t match_mac_name(const char *s, char *out)
{
	if (strncmp(s, "enx", 3) != 0 && strncmp(s, "wlx", 3) != 0 && strncmp(s, "wwx", 3) != 0)
		return 0;
	if (strspn(s + 3, "0123456789abcdef") != 12 || is_word(s[15]))
		return 0;
	memcpy(out, s + 3, 12);
	out[12] = '\0';
	return 15;
}

/* An absolute path of at least one name. One that is the whole text may hold blanks. */
static size_t match_path(const char *text, const char *s, char *out)
{
	if (s[0] != '/' || (!is_word(s[1]) && s[1] != '.'))
		return 0;
	size_t n = s == text ? strlen(s) : strcspn(s, " \t\n,;\"'()<>|");
	size_t keep = n < FORM_MAX ? n : FORM_MAX - 1;
	memcpy(out, s, keep);
	out[keep] = '\0';
	return n;
}

/* The longest known name here, with the domain that may follow it. */
static size_t match_host(const struct anon *a, const char *s, char *out)
{
	size_t best = 0;
	for (size_t i = 0; i < a->seen[HOST].n; i++) {
		const char *name = a->seen[HOST].v[i];
		size_t n = strlen(name);
		if (n <= best || strncasecmp(s, name, n) != 0 || is_word(s[n]) || s[n] == '-')
			continue;
		best = n;
		memcpy(out, name, n + 1);
	}
	while (best && s[best] == '.' && is_word(s[best + 1])) {
		do
			best++;
		while (is_word(s[best]) || s[best] == '-');
	}
	return best;
}

static size_t match(const struct anon *a, const char *text, const char *s, enum kind *kind,
		    char *out)
{
	size_t n;
	bool start = s == text || (!is_word(s[-1]) && s[-1] != '-' && s[-1] != '.');
	if (!start && s[-1] != '-')
		return 0;
	*kind = MAC;
	if (start && ((n = match_mac(s, out)) || (n = match_mac_name(s, out))))
		return n;
	*kind = ADDR;
	if ((n = match_v6(s, out)) || (n = match_v4(s, out)))
		return n;
	*kind = PATH;
	if (start && (s == text || s[-1] != '/') && (n = match_path(text, s, out)))
		return n;
	*kind = HOST;
	return start ? match_host(a, s, out) : 0;
}

/* ---- the names given ---- */

static size_t number_of(struct anon *a, enum kind kind, const char *form)
{
	int64_t i = model_symbol_find(&a->seen[kind], form);
	if (i < 0)
		i = model_symbol_add(a->r, &a->seen[kind], form);
	return (size_t)(i + 1); /* 0 when there are too many to tell apart */
}

static void scrub_into(struct anon *a, struct buf *b, const char *text)
{
	char form[FORM_MAX];
	enum kind kind;
	for (const char *s = text; *s;) {
		size_t n = match(a, text, s, &kind, form);
		if (!n) {
			buf_putc(b, *s++);
			continue;
		}
		buf_printf(b, "%s-%zu", kind_words[kind], number_of(a, kind, form));
		s += n;
	}
}

/* The run's own copy of b's text, NULL when out of memory; frees b. */
static const char *keep(struct anon *a, struct buf *b)
{
	const char *s = b->failed ? NULL : model_run_strn(a->r, b->data ? b->data : "", b->len);
	buf_fini(b);
	return s;
}

static void scrub_text(struct anon *a, const char **s)
{
	struct buf b = {0};
	if (!*s)
		return;
	scrub_into(a, &b, *s);
	*s = keep(a, &b);
	if (!*s)
		*s = "";
}

/* ---- JSON: values and keys as plain text, so that no escape is in the way ---- */

static void scrub_value(struct anon *a, struct jw *w, const char *key, const struct js *v);

static void scrub_members(struct anon *a, struct jw *w, const struct js *o)
{
	const struct js *v;
	const char *key;
	void *it = NULL;
	while (js_each(o, &it, &key, &v)) {
		struct buf b = {0};
		scrub_into(a, &b, key);
		scrub_value(a, w, b.data ? b.data : "", v);
		buf_fini(&b);
	}
}

static void scrub_scalar(struct anon *a, struct jw *w, const char *key, const struct js *v)
{
	struct buf b = {0};
	const char *s = js_str(v, NULL);
	if (s)
		scrub_into(a, &b, s);
	else
		js_dump(v, &b);
	if (s)
		jw_str(w, key, b.data ? b.data : "");
	else
		jw_raw(w, key, b.data, b.len);
	buf_fini(&b);
}

static void scrub_value(struct anon *a, struct jw *w, const char *key, const struct js *v)
{
	switch (js_type(v)) {
	case JS_OBJ:
		jw_obj(w, key);
		scrub_members(a, w, v);
		jw_end_obj(w);
		break;
	case JS_ARR:
		jw_arr(w, key);
		for (size_t i = 0; i < js_len(v); i++)
			scrub_value(a, w, NULL, js_at(v, i));
		jw_end_arr(w);
		break;
	default:
		scrub_scalar(a, w, key, v);
		break;
	}
}

static const struct js_limits limits = {.max_bytes = 64 << 20, .max_depth = JW_DEPTH - 2};

/* Text that is no JSON is not kept: nobody can say what is in it. */
static void scrub_json(struct anon *a, const char **s)
{
	struct js_doc *doc = NULL;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	if (!*s)
		return;
	if (js_parse(*s, strlen(*s), &limits, &doc, NULL)) {
		*s = NULL;
		return;
	}
	scrub_value(a, &w, NULL, js_root(doc));
	js_free(doc);
	*s = keep(a, &b);
}

static void scrub_either(struct anon *a, const char **s)
{
	if (*s && **s == '{')
		scrub_json(a, s);
	else
		scrub_text(a, s);
}

/* ---- which words are host names ---- */

static bool is_address(const char *s)
{
	char out[FORM_MAX];
	return match_v4(s, out) || match_v6(s, out);
}

static void learn_host(struct anon *a, const char *name)
{
	char low[FORM_MAX];
	size_t n = name ? strlen(name) : 0;
	if (!n || n >= sizeof(low) || is_address(name) || !strcasecmp(name, "localhost"))
		return;
	for (size_t i = 0; i <= n; i++)
		low[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
	number_of(a, HOST, low);
}

/* "pc.example.org" is also said as "pc". */
static void learn_short(struct anon *a, const char *name)
{
	const char *dot = name ? strchr(name, '.') : NULL;
	if (dot && dot - name >= 2 && !is_address(name))
		learn_host(a, model_run_strn(a->r, name, (size_t)(dot - name)));
}

static bool names_host(const char *key)
{
	static const char *const keys[] = {"host", "hostname", "nodename", "server",
					   "peer", "target",   "bind"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!strcmp(key, keys[i]))
			return true;
	}
	return false;
}

/* Members that hold a host's name, at any depth. */
static void learn_object(struct anon *a, const struct js *o)
{
	const struct js *v;
	const char *key;
	void *it = NULL;
	while (js_type(o) == JS_OBJ && js_each(o, &it, &key, &v)) {
		learn_object(a, v);
		if (!js_str(v, NULL) || !names_host(key))
			continue;
		learn_host(a, js_str(v, NULL));
		learn_short(a, js_str(v, NULL));
	}
}

static void learn_json(struct anon *a, const char *text)
{
	struct js_doc *doc = NULL;
	if (!text || js_parse(text, strlen(text), &limits, &doc, NULL))
		return;
	learn_object(a, js_root(doc));
	js_free(doc);
}

static void learn(struct anon *a)
{
	const struct model_run *r = a->r;
	for (int end = 0; end < 2; end++)
		learn_host(a, r->host[end].name);
	for (int end = 0; end < 2; end++) {
		learn_short(a, r->host[end].name);
		learn_json(a, r->host[end].facts);
	}
	learn_json(a, r->request);
}

/* ---- all texts of a run ---- */

static void scrub_head(struct anon *a)
{
	struct model_run *r = a->r;
	for (int end = 0; end < 2; end++) {
		scrub_json(a, &r->host[end].facts);
		scrub_text(a, &r->host[end].name);
	}
	scrub_json(a, &r->request);
	scrub_text(a, &r->title);
	scrub_text(a, &r->error);
	scrub_text(a, &r->limited);
	scrub_either(a, &r->exp.factors);
	scrub_either(a, &r->exp.plan);
	scrub_either(a, &r->exp.variant);
	for (size_t i = 0; i < r->n_tags; i++)
		scrub_text(a, &r->tags[i].v);
}

/* A file's name tells who it came from, with or without its folder. */
static void scrub_source(struct anon *a)
{
	struct buf b = {0};
	if (!a->r->source.file)
		return;
	buf_printf(&b, "path-%zu", number_of(a, PATH, a->r->source.file));
	a->r->source.file = keep(a, &b);
}

static void scrub_lists(struct anon *a)
{
	struct model_run *r = a->r;
	for (size_t i = 0; i < r->n_parts; i++) {
		scrub_text(a, &r->parts[i].name);
		scrub_json(a, &r->parts[i].params);
	}
	for (size_t i = 0; i < r->n_clocks; i++)
		scrub_text(a, &r->clocks[i].method);
	for (size_t i = 0; i < r->n_events; i++)
		scrub_text(a, &r->events[i].text);
	for (size_t i = 0; i < r->priv->strings.n; i++) {
		const char *name = r->priv->strings.v[i];
		scrub_text(a, &name);
		model_symbol_rename(&r->priv->strings, i, name);
	}
	for (size_t i = 0; i < r->n_verdicts; i++) {
		struct model_verdict *v = &r->verdicts[i];
		scrub_text(a, &v->advice);
		for (size_t k = 0; k < v->n_reasons; k++)
			scrub_text(a, &v->reasons[k]);
	}
}

void model_anonymise(struct model_run *r)
{
	struct anon a = {.r = r};
	learn(&a);
	scrub_head(&a);
	scrub_source(&a);
	scrub_lists(&a);
	for (int k = 0; k < KINDS; k++)
		model_symbols_fini(&a.seen[k]);
}
