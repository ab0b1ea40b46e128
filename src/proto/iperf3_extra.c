/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What iperf3's messages carry beside the plan and the figures, and only its drop-in wants: the
 * server's own report, a CPU for the server, a text for both reports. Both sides of iperf3
 * ignore members that they do not know, so these are added to a message that is already whole.
 */
#include <string.h>

#include "proto/priv.h"

#define AFFINITY_MAX 1024

static const struct js_limits extra_limits = {
	.max_bytes = (size_t)16 << 20, .max_depth = 64, .lenient = true};

/* The object is opened again for more members. */
static struct jw reopen(struct buf *b)
{
	struct jw w = jw_init(b);

	if (b->len && b->data[b->len - 1] == '}')
		b->data[--b->len] = '\0';
	w.depth = 1;
	w.more[1] = true;
	return w;
}

/* Behind a token's key comes its text, of base64's letters. */
static size_t token_end(const char *text, size_t n, size_t from)
{
	while (from < n && text[from] != '"')
		from++;
	for (from++; from < n && text[from] != '"'; from++)
		;
	return from < n ? from : n;
}

void iperf3_extra_tell(const struct proto_extra *x, const char *what, const char *text, size_t n)
{
	static const char key[] = "\"authtoken\"";
	const char *at = x && x->message ? memmem(text, n, key, sizeof(key) - 1) : NULL;
	struct buf b = {0};

	if (!x || !x->message)
		return;
	if (at) {
		size_t from = (size_t)(at - text) + sizeof(key) - 1, to = token_end(text, n, from);

		buf_put(&b, text, from);
		buf_puts(&b, ":\"(not shown)");
		buf_put(&b, text + to, n - to);
	}
	x->message(x->arg, what, at ? b.data : text, at ? b.len : n);
	buf_fini(&b);
}

void iperf3_extra_put_params(const struct proto_extra *x, struct buf *b)
{
	struct jw w = reopen(b);

	if (x->server_affinity >= 0)
		jw_i64(&w, "server_affinity", x->server_affinity);
	if (x->extra_data[0])
		jw_str(&w, "extra_data", x->extra_data);
	if (x->get_server_output)
		jw_i64(&w, "get_server_output", 1);
	jw_end_obj(&w);
}

void iperf3_extra_get_params(struct proto_extra *x, const char *text, size_t n)
{
	struct js_doc *doc = NULL;
	const struct js *o;
	const char *s;
	size_t len = 0;
	int64_t v;

	x->server_affinity = -1;
	if (js_parse(text, n, &js_limits_params, &doc, NULL) < 0)
		return;
	o = js_root(doc);
	if (js_i64(js_geti(o, "server_affinity"), &v) && v >= 0 && v <= AFFINITY_MAX)
		x->server_affinity = (int)v;
	s = js_str(js_geti(o, "extra_data"), &len);
	if (s && len < sizeof(x->extra_data))
		memcpy(x->extra_data, s, len + 1);
	x->get_server_output = js_type(js_geti(o, "get_server_output")) != JS_NONE;
	js_free(doc);
}

void iperf3_extra_put_results(const struct proto_extra *x, const struct proto_result *mine,
			      struct buf *b)
{
	struct buf report = {.max = PROTO_RESULTS_BASE / 2};
	bool json;
	struct jw w;

	if (!x->get_server_output || !x->output)
		return;
	json = x->output(x->arg, mine, &report);
	if (report.data && !report.failed) {
		w = reopen(b);
		if (json)
			jw_raw(&w, "server_output_json", report.data, report.len);
		else
			jw_str(&w, "server_output_text", report.data);
		jw_end_obj(&w);
	}
	buf_fini(&report);
}

void iperf3_extra_get_results(struct proto_extra *x, const char *text, size_t n)
{
	struct js_doc *doc = NULL;
	const struct js *json, *words;
	const char *s;
	size_t len = 0;

	if (!x->get_server_output || js_parse(text, n, &extra_limits, &doc, NULL) < 0)
		return;
	json = js_geti(js_root(doc), "server_output_json");
	words = js_geti(js_root(doc), "server_output_text");
	s = js_str(words, &len);
	x->server_output_json = js_type(json) == JS_OBJ;
	if (x->server_output_json)
		js_dump(json, &x->server_output);
	else if (s)
		buf_put(&x->server_output, s, len);
	js_free(doc);
}
