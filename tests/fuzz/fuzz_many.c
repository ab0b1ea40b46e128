/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files with several runs: each run that comes out is whole enough to be written, and written
 * twice it is read as two.
 */
#include "format/format.h"
#include "fuzz.h"

#include <string.h>

struct seen {
	struct buf again;
	int runs;
};

static int take(struct model_run *r, void *arg)
{
	struct seen *s = arg;

	s->runs++;
	model_to_json(r, &s->again);
	buf_putc(&s->again, s->runs % 2 ? '\n' : ' ');
	model_run_free(r);
	return 0;
}

static int read_all(const char *text, size_t n, struct seen *s)
{
	struct format_take t = {take, s};
	struct weir_err e = {0};
	int rc = format_read_all(text, n, &t, &e);

	FUZZ_CHECK(rc < 0 ? e.msg[0] && !strchr(e.msg, '\n') : rc > 0 && rc == s->runs);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen first = {.again = {.max = 4 << 20}}, second = {.again = {.max = 4 << 20}};
	char *text = malloc(size + 1);

	if (text) {
		memcpy(text, data, size);
		text[size] = '\0';
		read_all(text, size, &first);
		if (first.runs && !first.again.failed) {
			buf_putc(&first.again, '\0');
			FUZZ_CHECK(read_all(first.again.data, first.again.len - 1, &second) ==
				   first.runs);
		}
	}
	free(text);
	buf_fini(&first.again);
	buf_fini(&second.again);
	return 0;
}
