/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Report files of strangers: every form that can be read gets the bytes, and a run that
 * comes out goes through every writer, where nothing but printable UTF-8 and newlines may leave.
 */
#include "format/format.h"
#include "fuzz.h"

#include <string.h>

static void check_output(const struct format *f, const struct buf *b)
{
	size_t column = 0;
	bool paste = !strcmp(f->name, "paste");
	if (b->failed)
		return;
	FUZZ_CHECK(!b->len || b->data[b->len - 1] == '\n');
	FUZZ_CHECK(!b->len || (strlen(b->data) == b->len && safe_is_utf8(b->data, b->len)));
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];
		FUZZ_CHECK(c == '\n' || (c >= 0x20 && c != 0x7f));
		column = c == '\n' ? 0 : column + 1;
		FUZZ_CHECK(!paste || (c < 0x80 && column <= 72));
	}
}

static void write_all(const struct model_run *r)
{
	static const struct format_opts opts[] = {
		{.intervals = true, .unicode = true, .width = 40},
		{.quiet = true},
		{0},
	};
	for (size_t i = 0; i < ARRAY_LEN(opts); i++)
		for (size_t k = 0; format_at(k); k++) {
			struct buf b = {.max = 4 << 20};
			struct sink *s = format_at(k)->writer(&b, &opts[i]);
			if (!s)
				continue;
			model_replay(r, s);
			s->close(s, NULL);
			check_output(format_at(k), &b);
			buf_fini(&b);
		}
}

static void write_lines(const struct model_run *r)
{
	const struct model_run *const runs[] = {r, r, r};
	struct buf b = {.max = 4 << 20};
	format_headline(r, &b);
	buf_putc(&b, '\n');
	format_table(runs, ARRAY_LEN(runs), NULL, &b);
	format_spread(runs, ARRAY_LEN(runs), NULL, &b);
	check_output(format_find("text"), &b);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	for (size_t k = 0; format_at(k); k++) {
		const struct format *f = format_at(k);
		struct model_run *r = NULL;
		struct weir_err e = {0};
		if (!f->read)
			continue;
		int sure = f->probe(text, size);
		FUZZ_CHECK(sure >= 0 && sure <= 100);
		if (f->read(text, size, &r, &e) < 0) {
			FUZZ_CHECK(!r && e.code && e.msg[0]);
			continue;
		}
		write_all(r);
		write_lines(r);
		model_run_free(r);
	}
	return 0;
}
