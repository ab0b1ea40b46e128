/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The undo journal's text. Beyond not crashing: an entry that is accepted is one that weir
 * could have written, so writing it gives text that reads back the same.
 */
#include <string.h>

#include "fuzz.h"
#include "sys/priv.h"

static void write_doc(const struct sys_doc *d, struct buf *b)
{
	buf_puts(b, sys_doc_header);
	if (d->owner)
		sys_doc_put_owner(b, d->owner);
	for (size_t i = 0; i < d->n; i++) {
		sys_doc_put_entry(b, &d->v[i]);
		if (d->v[i].ended)
			sys_doc_put_end(b, d->v[i].seq);
	}
	FUZZ_CHECK(!b->failed);
}

static void check_again(const struct sys_doc *d)
{
	struct buf first = {0}, second = {0};
	struct sys_doc again = {0};

	write_doc(d, &first);
	if (sys_doc_parse(first.data, first.len, &again) == 0) { /* else longer than a journal */
		FUZZ_CHECK(again.bad == 0 && again.n == d->n);
		write_doc(&again, &second);
		FUZZ_CHECK(first.len == second.len && !memcmp(first.data, second.data, first.len));
	}
	sys_doc_fini(&again);
	buf_fini(&first);
	buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sys_doc d;

	if (sys_doc_parse((const char *)data, n, &d) == 0) {
		FUZZ_CHECK(d.whole_len <= n && d.n <= SYS_JOURNAL_MAX_N);
		check_again(&d);
		sys_doc_fini(&d);
	}
	return 0;
}
