/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole run as one JSON object at its end. What it holds is the model's own form
 * (model/codec.c), so that it reads back exactly.
 */
#include "format/priv.h"

#include <string.h>

static void json_end(struct sink *s, const struct model_run *r)
{
	struct format_sink *f = (struct format_sink *)s;
	model_to_json(r, f->out);
	buf_putc(f->out, '\n');
}

struct sink *format_json(struct buf *out, const struct format_opts *o)
{
	struct format_sink *f = format_sink_new(0, out, o);
	if (!f)
		return NULL;
	f->sink.end = json_end;
	return &f->sink;
}

/* Ours begins with the schema number; a tool may have sorted the members. */
int format_json_probe(const char *head, size_t n)
{
	static const char key[] = "\"schema\"";
	size_t i = 0;
	while (i < n && strchr(" \t\r\n", head[i]))
		i++;
	if (i == n || head[i++] != '{')
		return 0;
	while (i < n && strchr(" \t\r\n", head[i]))
		i++;
	if (n - i >= sizeof(key) - 1 && !memcmp(head + i, key, sizeof(key) - 1))
		return 90;
	return memmem(head, n, key, sizeof(key) - 1) ? 40 : 0;
}

int format_json_read(const char *text, size_t n, struct model_run **out, struct weir_err *e)
{
	struct js_doc *d;
	int rc = js_parse(text, n, &js_limits_file, &d, e);
	if (rc < 0)
		return rc;
	rc = model_from_json(js_root(d), out, e);
	js_free(d);
	return rc;
}
