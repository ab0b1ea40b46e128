/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of report forms, and what every writer's sink begins as. A new form is a file and
 * a row here.
 */
#include "format/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct format forms[] = {
	{"text", "for people at a terminal", "text/plain", "txt", format_text, NULL, NULL},
	{"json", "the whole run as one object", "application/json", "json", format_json,
	 format_json_probe, format_json_read},
	{"ndjson", "one object a line, as it happens", "application/x-ndjson", "ndjson",
	 format_ndjson, format_ndjson_probe, format_ndjson_read},
	{"csv", "one value a line: samples, summaries, events", "text/csv", "csv", format_csv, NULL,
	 NULL},
	{"paste", "72 columns of ASCII for a mail", "text/plain", "txt", format_paste, NULL, NULL},
	{"markdown", "a table for an issue or a page", "text/markdown", "md", format_markdown, NULL,
	 NULL},
};

const struct format *format_at(size_t i)
{
	return i < ARRAY_LEN(forms) ? &forms[i] : NULL;
}

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

static void no_begin(struct sink *s, const struct model_run *r)
{
	(void)s, (void)r;
}

static void no_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	(void)s, (void)r, (void)t;
}

static void no_event(struct sink *s, const struct model_run *r, const struct model_event *e)
{
	(void)s, (void)r, (void)e;
}

static int close_sink(struct sink *s, struct weir_err *e)
{
	struct format_sink *f = (struct format_sink *)s;
	bool failed = f->out->failed;
	free(f);
	return failed ? err_set(e, WEIR_LIMIT, ENOMEM, "the report does not fit in memory") : 0;
}

struct format_sink *format_sink_new(size_t size, struct buf *out, const struct format_opts *o)
{
	struct format_sink *f = calloc(1, size > sizeof(*f) ? size : sizeof(*f));
	if (!f)
		return NULL;
	f->sink = (struct sink){no_begin, no_sample, no_event, no_begin, close_sink};
	f->out = out;
	if (o)
		f->o = *o;
	if (f->o.width <= 0)
		f->o.width = 80;
	return f;
}
