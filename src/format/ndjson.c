/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON object a line, written while the run goes on and readable before its end. The lines
 * are the model's; here they become a form among the others.
 */
#include "format/priv.h"

#include <errno.h>
#include <string.h>

struct sink *format_ndjson(struct buf *out, const struct format_opts *o)
{
	(void)o;
	return model_ndjson_sink(out);
}

int format_ndjson_probe(const char *head, size_t n)
{
	static const char first[] = "{\"type\":\"run\"";
	return n >= sizeof(first) - 1 && !memcmp(head, first, sizeof(first) - 1) ? 100 : 0;
}

/* An incomplete last line is what a killed writer leaves: it is not read. */
static int read_lines(struct model_ndjson_reader *rd, const char *text, size_t n,
		      struct weir_err *e)
{
	size_t number = 1;
	for (size_t at = 0; at < n; number++) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - text) - at : n - at;
		struct weir_err cause = {0};
		int rc = len ? model_ndjson_line(rd, text + at, len, &cause) : 0;
		if (rc < 0 && end) {
			if (e)
				*e = cause;
			return err_wrap(e, "line %zu", number);
		}
		at += len + 1;
	}
	return 0;
}

int format_ndjson_read(const char *text, size_t n, struct model_run **out, struct weir_err *e)
{
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	if (!rd)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	int rc = read_lines(rd, text, n, e);
	if (!rc) {
		*out = model_ndjson_take(rd);
		if (!*out)
			rc = err_set(e, WEIR_FORMAT, EINVAL, "there is no run in these lines");
	}
	model_ndjson_reader_free(rd);
	return rc;
}
