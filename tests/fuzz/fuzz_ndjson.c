/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NDJSON from a peer: any lines, whatever came before. The run so far can always be written as
 * a document that is read again, and replayed into lines that make the same document.
 */
#include "model/model.h"
#include "fuzz.h"

#include <string.h>

/* Errors are for the line alone: the next one is read all the same. */
static void feed(struct model_ndjson_reader *rd, const char *p, size_t n, bool must)
{
	for (const char *end = p + n; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p);
		struct weir_err e = {0};
		int rc = model_ndjson_line(rd, p, len, &e);
		FUZZ_CHECK(rc == 0 || (!must && rc == -e.code && e.msg[0]));
		p += len + 1;
	}
}

static void read_back(const struct buf *json)
{
	struct js_doc *doc = NULL;
	struct model_run *r = NULL;
	struct buf b = {0};
	FUZZ_CHECK(!js_parse(json->data, json->len, &js_limits_file, &doc, NULL));
	FUZZ_CHECK(!model_from_json(js_root(doc), &r, NULL));
	model_to_json(r, &b);
	FUZZ_CHECK(b.len == json->len && !memcmp(b.data, json->data, b.len));
	model_run_free(r);
	js_free(doc);
	buf_fini(&b);
}

static void replay(const struct model_run *r, const struct buf *json)
{
	struct buf lines = {0}, b = {0};
	struct sink *s = model_ndjson_sink(&lines);
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	FUZZ_CHECK(s && rd && !model_replay(r, s) && !s->close(s, NULL));
	feed(rd, lines.data, lines.len, true);
	model_to_json(model_ndjson_run(rd), &b);
	FUZZ_CHECK(b.len == json->len && !memcmp(b.data, json->data, b.len));
	model_ndjson_reader_free(rd);
	buf_fini(&lines);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	struct buf json = {0};
	feed(rd, (const char *)data, size, false);
	struct model_run *r = model_ndjson_run(rd);
	if (r) {
		FUZZ_CHECK(r->mem_bytes <= r->mem_cap);
		model_to_json(r, &json);
		FUZZ_CHECK(!json.failed);
		read_back(&json);
		replay(r, &json);
	}
	buf_fini(&json);
	model_ndjson_reader_free(rd);
	return 0;
}
