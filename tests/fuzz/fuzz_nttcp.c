/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nttcp's request, and the format in it: whatever is taken is within its bounds, and a row is never
 * longer than it may be.
 */
#include <string.h>

#include "fuzz.h"
#include "proto/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct nttcp_row row = {.bytes = UINT64_MAX,
				      .buffers = 1,
				      .len = 2,
				      .calls = 3,
				      .real_s = 1e9,
				      .cpu_s = 1e-9};
	struct nttcp_request q;
	struct buf b = {0};
	char text[1024];

	if (nttcp_request_read((const char *)data, size, &q, NULL) == 0) {
		FUZZ_CHECK(q.len >= 1 && q.len < 100000000 && q.n < 1000000000 && q.number < 10);
		FUZZ_CHECK(q.window <= 1ULL << 30 && q.gap_ns < 10 * NSEC_PER_SEC);
		FUZZ_CHECK(memchr(q.format, '\0', sizeof(q.format)));
	}
	if (size < sizeof(text)) {
		memcpy(text, data, size);
		text[size] = '\0';
		if (nttcp_row_put(&b, text, &row) == 0)
			FUZZ_CHECK(b.len <= NTTCP_ROW_MAX);
		nttcp_title_put(&b, text);
	}
	buf_fini(&b);
	return 0;
}
