/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The front and the lexer on any bytes: every byte of the result has a place in what came in, places
 * never go back within a line's bytes, tokens lie inside the text and do not overlap.
 */
#include "format/reader.h"
#include "fuzz.h"

static void check_tokens(const struct lex *l)
{
	size_t end = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct lex_tok *t = &l->tok[i];

		FUZZ_CHECK(t->off >= end && t->len > 0);
		end = (size_t)t->off + t->len;
		FUZZ_CHECK(end <= l->len);
		FUZZ_CHECK(t->type != LEX_NUM || t->num >= 0 || isinf(t->num));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demail d = {0};
	struct lex l = {0};

	if (demail_run(&d, (const char *)data, size, true) == 0) {
		size_t last = 0;

		FUZZ_CHECK(lex_run(&l, d.text, d.len) == 0);
		for (size_t i = 0; i < d.len; i++) {
			size_t at = demail_offset(&d, i);

			FUZZ_CHECK(at < size && at + 8 >= last);
			last = at;
		}
		check_tokens(&l);
	}
	lex_fini(&l);
	demail_fini(&d);
	return 0;
}
