/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Run documents from anywhere: what is accepted must be written, read and written again the
 * same, replayed to its end and anonymised, within the memory cap.
 */
#include "model/model.h"
#include "fuzz.h"

#include <string.h>

static struct model_run *read_run(const char *text, size_t n)
{
	struct weir_err e = {0};
	struct js_doc *doc = NULL;
	struct model_run *r = NULL;
	int rc = js_parse(text, n, &js_limits_file, &doc, &e);
	if (!rc)
		rc = model_from_json(js_root(doc), &r, &e);
	FUZZ_CHECK(rc ? !r && e.code == -rc && e.msg[0] : r != NULL);
	js_free(doc);
	return r;
}

static void write_again(const struct model_run *r)
{
	struct buf a = {0}, b = {0};
	model_to_json(r, &a);
	FUZZ_CHECK(!a.failed);
	struct model_run *back = read_run(a.data, a.len);
	FUZZ_CHECK(back);
	model_to_json(back, &b);
	FUZZ_CHECK(a.len == b.len && !memcmp(a.data, b.data, a.len));
	model_run_free(back);
	buf_fini(&a);
	buf_fini(&b);
}

static void replay(const struct model_run *r)
{
	struct buf b = {0};
	struct sink *s = model_ndjson_sink(&b);
	FUZZ_CHECK(s && !model_replay(r, s) && !s->close(s, NULL));
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_run *r = read_run((const char *)data, size);
	if (!r)
		return 0;
	FUZZ_CHECK(r->mem_bytes <= r->mem_cap);
	write_again(r);
	replay(r);
	model_find_spec(r, "goodput:up", NULL);
	model_anonymise(r);
	write_again(r);
	model_run_free(r);
	return 0;
}
