/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run grows while it is measured; the store must keep up without looking at all of it again.
 * The encoder remembers how far it has come in each list, and keeps a private run that holds
 * only the rows since the last chunk, so that the model's own columns do the packing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

struct part_seen {
	int64_t t1;
	enum model_outcome outcome;
};
struct enc {
	struct buf rows, chunks;
	struct model_run *stage;
	struct part_seen *parts;
	size_t *pairs; /* a clock each */
	size_t n_parts, n_clocks, n_axes, n_frames, n_sums, n_events, n_tags;
	uint32_t n_pairs, n_chunks;
	bool failed;
};

struct enc *store_enc_new(void)
{
	static const uint8_t no_id[10];
	struct enc *c = calloc(1, sizeof(*c));

	if (c)
		c->stage = model_run_new("stage", 0, no_id);
	if (c && !c->stage) {
		free(c);
		return NULL;
	}
	if (c)
		c->stage->mem_cap = SIZE_MAX / 2;
	return c;
}

void store_enc_free(struct enc *c)
{
	if (!c)
		return;
	model_run_free(c->stage);
	buf_fini(&c->rows);
	buf_fini(&c->chunks);
	free(c->parts);
	free(c->pairs);
	free(c);
}

struct buf *store_enc_rows(struct enc *c)
{
	return &c->rows;
}

struct buf *store_enc_chunks(struct enc *c)
{
	return &c->chunks;
}

static bool grow(struct enc *c, void *array, size_t n, size_t size)
{
	void **a = array;
	void *p = reallocarray(*a, n + 1, size);

	if (!p)
		c->failed = true;
	else
		*a = p;
	return p != NULL;
}

/* New parts, and those that have ended since they were written. */
static void sync_parts(struct enc *c, const struct model_run *r)
{
	for (size_t i = 0; i < r->n_parts && !c->failed; i++) {
		const struct model_part *p = &r->parts[i];
		struct part_seen now = {p->t1, p->outcome};

		if (i == c->n_parts) {
			if (!grow(c, &c->parts, i, sizeof(*c->parts)))
				return;
			c->n_parts++;
		} else if (c->parts[i].t1 == now.t1 && c->parts[i].outcome == now.outcome) {
			continue;
		}
		c->parts[i] = now;
		store_row_put(&c->rows, r, TABLE_PART, (uint32_t)i, p);
	}
}

static void sync_clocks(struct enc *c, const struct model_run *r)
{
	for (; c->n_clocks < r->n_clocks; c->n_clocks++) {
		if (!grow(c, &c->pairs, c->n_clocks, sizeof(*c->pairs)))
			return;
		c->pairs[c->n_clocks] = 0;
		store_row_put(&c->rows, r, TABLE_CLOCK, (uint32_t)c->n_clocks,
			      &r->clocks[c->n_clocks]);
	}
	for (size_t i = 0; i < c->n_clocks; i++) {
		for (; c->pairs[i] < r->clocks[i].n_pairs; c->pairs[i]++) {
			struct row_pair p = {(uint32_t)i, r->clocks[i].pairs[c->pairs[i]]};

			store_row_put(&c->rows, r, TABLE_PAIR, c->n_pairs++, &p);
		}
	}
}

static void stage_frame(struct enc *c, const struct model_frame *f)
{
	const struct model_metric *m[MODEL_COLS_MAX];

	for (size_t i = 0; i < f->n_cols; i++)
		m[i] = f->cols[i].metric;
	c->failed |= model_add_frame(c->stage, f->axis, NULL, m, f->n_cols) < 0;
}

/* The stage has the same axes and frames under the same ids. */
static void sync_frames(struct enc *c, const struct model_run *r)
{
	for (; c->n_axes < r->n_axes && !c->failed; c->n_axes++) {
		c->failed |= model_add_axis(c->stage, MODEL_NO_PART, 0) < 0;
		store_row_put(&c->rows, r, TABLE_AXIS, (uint32_t)c->n_axes, r->axes[c->n_axes]);
	}
	for (; c->n_frames < r->n_frames && !c->failed; c->n_frames++) {
		stage_frame(c, r->frames[c->n_frames]);
		store_row_put(&c->rows, r, TABLE_FRAME, (uint32_t)c->n_frames,
			      r->frames[c->n_frames]);
	}
}

static void sync_events(struct enc *c, const struct model_run *r)
{
	for (; c->n_events < r->n_events; c->n_events++)
		store_row_put(&c->rows, r, TABLE_EVENT, (uint32_t)c->n_events,
			      &r->events[c->n_events]);
}

static void sync_tags(struct enc *c, const struct model_run *r)
{
	for (; c->n_tags < r->n_tags; c->n_tags++)
		store_row_put(&c->rows, r, TABLE_TAG, (uint32_t)c->n_tags, &r->tags[c->n_tags]);
}

static void sync_summaries(struct enc *c, const struct model_run *r)
{
	for (; c->n_sums < r->n_sums; c->n_sums++)
		store_row_put(&c->rows, r, TABLE_SUMMARY, (uint32_t)c->n_sums, &r->sums[c->n_sums]);
}

static void sync(struct enc *c, const struct model_run *r)
{
	sync_parts(c, r);
	sync_clocks(c, r);
	sync_frames(c, r);
	sync_events(c, r);
	sync_tags(c, r);
}

void store_enc_begin(struct enc *c, const struct model_run *r, const struct row_store *x)
{
	store_row_put_run(&c->rows, r, x);
	sync(c, r);
}

bool store_enc_tick(struct enc *c, const struct model_run *r, const struct model_tick *t)
{
	if (c->n_axes < r->n_axes || c->n_frames < r->n_frames)
		sync(c, r);
	return !c->failed && model_append(c->stage, t) == 0;
}

bool store_enc_full(const struct enc *c)
{
	for (size_t i = 0; i < c->n_axes; i++) {
		if (c->stage->axes[i]->n >= STORE_CHUNK_ROWS)
			return true;
	}
	return false;
}

static void flush_axis(struct enc *c, const struct model_run *r, uint32_t axis)
{
	struct buf blob = {0};
	struct row_chunk chunk = {.axis = axis, .rows = (uint32_t)c->stage->axes[axis]->n};

	store_blob_put_chunk(&blob, c->stage, axis);
	store_blob_clear_stage(c->stage, axis);
	chunk.data = store_val_blob(blob.data, blob.len);
	store_row_put(&c->chunks, r, TABLE_CHUNK, c->n_chunks++, &chunk);
	c->failed |= blob.failed;
	buf_fini(&blob);
}

uint64_t store_enc_flush(struct enc *c, const struct model_run *r)
{
	uint64_t rows = 0;

	if (r) {
		sync(c, r);
		sync_summaries(c, r);
	}
	for (size_t i = 0; i < c->n_axes && !c->failed; i++) {
		rows += c->stage->axes[i]->n;
		if (c->stage->axes[i]->n)
			flush_axis(c, r, (uint32_t)i);
	}
	return rows;
}

static void put_lost(struct enc *c, const struct model_run *r, uint64_t lost)
{
	char text[120];
	struct model_event ev = {
		.part = MODEL_NO_PART,
		.code = WARN_NOT_STORED,
		.severity = model_warn(WARN_NOT_STORED)->severity,
		.t = MODEL_NO_TIME,
		.text = text,
	};

	snprintf(text, sizeof(text), "%llu rows of samples: the database was too slow",
		 (unsigned long long)lost);
	store_row_put(&c->rows, r, TABLE_EVENT, (uint32_t)r->n_events, &ev);
}

/* What may still have changed after it was first written is written again. */
void store_enc_end(struct enc *c, const struct model_run *r, const struct row_store *x,
		   uint64_t lost)
{
	struct model_run last = *r;

	c->n_tags = c->n_sums = c->n_events = 0;
	sync(c, r);
	sync_summaries(c, r);
	for (size_t i = 0; i < r->n_clocks; i++)
		store_row_put(&c->rows, r, TABLE_CLOCK, (uint32_t)i, &r->clocks[i]);
	for (size_t i = 0; i < r->n_parts; i++)
		store_row_put(&c->rows, r, TABLE_PART, (uint32_t)i, &r->parts[i]);
	for (size_t i = 0; i < r->n_hists; i++)
		store_row_put(&c->rows, r, TABLE_HIST, (uint32_t)i, &r->hists[i]);
	for (size_t i = 0; i < r->n_verdicts; i++)
		store_row_put(&c->rows, r, TABLE_VERDICT, (uint32_t)i, &r->verdicts[i]);
	if (lost)
		put_lost(c, r, lost);
	if (lost && last.outcome == OUTCOME_COMPLETE)
		last.outcome = OUTCOME_PARTIAL;
	store_row_put_run(&c->rows, &last, x);
}
