/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pasted text, for one kind of report, which the program's name says (fuzz_read_ping; without one, for all):
 * its reader is started at every token that it says yes to, moves on, and gives finite figures; then
 * the text goes through all readers, and what they find becomes runs, JSON, CSV and lines, which
 * hold nothing but printable UTF-8.
 */
#include "format/reader.h"
#include "fuzz.h"

#include <string.h>

static const struct reader *only; /* NULL = all of them */

/* Names of programs have no "-". */
static bool named(const char *name, const char *kind)
{
	for (; *name && *kind; name++, kind++)
		if (*name != *kind && !(*name == '_' && *kind == '-'))
			return false;
	return !*name && !*kind;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = *argc ? strstr((*argv)[0], "fuzz_read_") : NULL;

	for (size_t i = 0; name && reader_at(i); i++)
		if (named(name + 10, reader_at(i)->kind))
			only = reader_at(i);
	FUZZ_CHECK(!name || only);
	return 0;
}

static void check_figures(const struct format_found *f)
{
	for (size_t i = 0; i < f->n_fig; i++) {
		FUZZ_CHECK(f->fig[i].metric && f->fig[i].stat < STAT_NUM);
		FUZZ_CHECK(f->fig[i].state != MODEL_KNOWN || isfinite(f->fig[i].value));
	}
	for (size_t i = 0; i < f->n_row; i++)
		FUZZ_CHECK(f->row[i].t1 >= f->row[i].t0);
	FUZZ_CHECK(!f->n_row || f->n_col > 0);
}

static void one_kind(const struct reader *rd, const uint8_t *data, size_t size)
{
	struct demail d = {0};
	struct lex l = {0};

	if (demail_run(&d, (const char *)data, size, true) == 0 &&
	    lex_run(&l, d.text, d.len) == 0) {
		for (size_t i = 0; i < l.n;) {
			struct format_found f;
			size_t end = i + 1;

			if (rd->sniff(&l, i)) {
				found_init(&f, rd->kind);
				end = rd->parse(&l, i, &f);
				FUZZ_CHECK(end > i && end <= l.n);
				check_figures(&f);
				found_fini(&f);
			}
			i = end;
		}
	}
	lex_fini(&l);
	demail_fini(&d);
}

static void check_text(const struct buf *b)
{
	FUZZ_CHECK(b->failed || !b->len || safe_is_utf8(b->data, b->len));
	for (size_t i = 0; i < b->len; i++)
		FUZZ_CHECK((uint8_t)b->data[i] >= ' ' || b->data[i] == '\n');
}

static int on_found(void *arg, const struct format_found *f)
{
	static const uint8_t rnd[10] = {1};
	struct buf b = {.max = 16 << 20}, text = {.max = 16 << 20};
	struct jw w = jw_init(&b);
	struct js_doc *doc = NULL;
	struct model_run *r = format_found_run(f, rnd);

	(void)arg;
	check_figures(f);
	format_found_json(f, &w, NULL);
	if (!b.failed) {
		FUZZ_CHECK(js_parse(b.data, b.len, &js_limits_file, &doc, NULL) == 0);
		js_free(doc);
	}
	format_found_text(f, &text, true);
	format_found_csv(f, &text, true);
	check_text(&text);
	buf_fini(&b);
	buf_fini(&text);
	model_run_free(r);
	return 0;
}

static int on_skipped(void *arg, const struct format_skip *s)
{
	uint64_t *last = arg;

	FUZZ_CHECK(s->from < s->to && s->from >= *last && s->line > 0);
	*last = s->to;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t last = 0;
	struct format_reading r = {.found = on_found, .skipped = on_skipped, .arg = &last};
	struct format_read_sum sum;

	for (size_t i = 0; reader_at(i); i++)
		if (!only || only == reader_at(i))
			one_kind(reader_at(i), data, size);
	FUZZ_CHECK(format_read_string((const char *)data, size, &r, &sum, NULL) == 0);
	FUZZ_CHECK(sum.bytes == size && sum.skipped <= size);
	return 0;
}
