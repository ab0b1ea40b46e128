/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blobs of a database from elsewhere. The first byte chooses: a chunk of samples for an axis
 * with every column type, or a histogram. What was accepted must come out again the same.
 */
#include "fuzz.h"
#include "store/priv.h"

#include <string.h>

static struct model_run *run_for_chunks(void)
{
	static const uint8_t rnd[10];
	const struct model_metric *m[] = {model_metric("bytes"), model_metric("tcp.cwnd"),
					  model_metric("tcp.rtt")};
	struct model_run *r = model_run_new("tcp", 0, rnd);
	FUZZ_CHECK(r && model_add_axis(r, MODEL_NO_PART, 0) == 0);
	FUZZ_CHECK(model_add_frame(r, 0, NULL, m, 3) == 0);
	FUZZ_CHECK(model_add_frame(r, 0, NULL, m + 1, 2) == 1);
	return r;
}

/* Rows that were taken are packed, read, and packed again: the two packings are equal. */
static void chunk_again(const struct model_run *r)
{
	struct model_run *second = run_for_chunks();
	struct buf a = {0}, b = {0};
	store_blob_put_chunk(&a, r, 0);
	FUZZ_CHECK(store_blob_get_chunk(second, 0, a.data, a.len, NULL) == 0);
	store_blob_put_chunk(&b, second, 0);
	FUZZ_CHECK(a.len == b.len && !memcmp(a.data, b.data, a.len));
	buf_fini(&a);
	buf_fini(&b);
	model_run_free(second);
}

static void chunk(const uint8_t *data, size_t size)
{
	struct model_run *r = run_for_chunks();
	struct weir_err e = {0};
	if (store_blob_get_chunk(r, 0, data, size, &e) == 0)
		chunk_again(r);
	else
		FUZZ_CHECK(e.code && e.msg[0]);
	model_run_free(r);
}

static void hist(const uint8_t *data, size_t size)
{
	struct hist *h = store_blob_get_hist(data, size), *second;
	struct buf a = {0}, b = {0};
	if (!h)
		return;
	store_blob_put_hist(&a, h);
	second = store_blob_get_hist(a.data, a.len);
	FUZZ_CHECK(second);
	store_blob_put_hist(&b, second);
	FUZZ_CHECK(a.len == b.len && !memcmp(a.data, b.data, a.len));
	hist_free(h);
	hist_free(second);
	buf_fini(&a);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		hist(data + 1, size - 1);
	else
		chunk(data + 1, size - 1);
	return 0;
}
