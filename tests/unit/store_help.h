/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the store: a folder of one's own, stores in it, runs and their JSON. */
#ifndef WEIR_TEST_STORE_HELP_H
#define WEIR_TEST_STORE_HELP_H

#include "model_full.h"
#include "store/priv.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
	char dir[64], path[96];
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->dir, "/tmp/weir-store-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/runs.db", f->dir);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char path[400];
	struct dirent *en;
	DIR *d = opendir(f->dir);
	while (d && (en = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", f->dir, en->d_name);
		if (en->d_name[0] != '.')
			unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(f->dir);
	free(f);
	return 0;
}

static inline struct store *open_store(const char *path, enum store_mode mode)
{
	struct weir_err e = {0};
	struct store *s = NULL;
	struct store_cfg cfg = {.path = path, .mode = mode};
	if (store_open(&cfg, &s, &e) < 0)
		fail_msg("%s", e.msg);
	s->period_ns = 20 * NSEC_PER_MSEC;
	return s;
}

static inline int open_error(const char *path, enum store_mode mode, struct weir_err *e)
{
	struct store *s = NULL;
	struct store_cfg cfg = {.path = path, .mode = mode};
	*e = (struct weir_err){0};
	int rc = store_open(&cfg, &s, e);
	assert_true(rc < 0 ? s == NULL : s != NULL);
	store_close(s);
	return rc;
}

/* A small run: its number makes its id and start. */
static inline struct model_run *small_run(unsigned i)
{
	uint8_t rnd[10] = {
		0,         0, 0, 0, 0, 0, (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8),
		(uint8_t)i};
	struct model_run *r = model_run_new("tcp", (1000 + (int64_t)i) * NSEC_PER_SEC, rnd);
	assert_non_null(r);
	r->outcome = OUTCOME_COMPLETE;
	r->host[MODEL_FAR].name = "peer.example";
	return r;
}

/* A run that is being measured: one axis, one frame of two columns. */
static inline struct model_run *live_run(void)
{
	const struct model_metric *cols[] = {model_metric("bytes"), model_metric("tcp.rtt")};
	struct model_run *r = small_run(7);
	r->outcome = OUTCOME_RUNNING;
	model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0);
	model_add_clock(r, MODEL_NEAR, CLOCK_KIND_MONO);
	model_add_axis(r, 0, 0);
	assert_int_equal(model_add_frame(r, 0, NULL, cols, 2), 0);
	return r;
}

static inline void live_tick(struct model_run *r, struct sink *k, int64_t i)
{
	union model_value v[2] = {{.u = 1000 + (uint64_t)i}, {.f = 1e-6 * (double)(100 + i)}};
	struct model_row row = {0, v, 3};
	struct model_tick t = {0, i * NSEC_PER_MSEC, (i + 1) * NSEC_PER_MSEC, 0, &row, 1};
	assert_int_equal(model_append(r, &t), 0);
	k->sample(k, r, &t);
}

static inline char *json_of(const struct model_run *r)
{
	struct buf b = {0};
	model_to_json(r, &b);
	assert_false(b.failed);
	return buf_take(&b);
}

static inline struct model_run *load(struct store *s, const char *id)
{
	struct weir_err e = {0};
	struct model_run *r = NULL;
	if (store_load(s, id, &r, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

static inline void assert_stored(struct store *s, const struct model_run *r)
{
	struct model_run *back = load(s, r->id);
	char *a = json_of(r), *b = json_of(back);
	assert_string_equal(a, b);
	free(a);
	free(b);
	model_run_free(back);
}

static inline void put(struct store *s, const struct model_run *r)
{
	struct weir_err e = {0};
	if (store_put(s, r, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline int64_t query_int(struct store *s, const char *sql)
{
	int64_t v = -1;
	assert_true(store_sql_int(s->q, sql, NULL, 0, &v, NULL) >= 0);
	return v;
}

/* Lists: ids of the last four characters, newest first, with spaces. */
static inline int add_suffix(const struct store_entry *en, void *arg)
{
	struct buf *b = arg;
	buf_printf(b, "%s%s", b->len ? " " : "", en->id + MODEL_ID_LEN - 4);
	return 0;
}

static inline void assert_list(struct store *s, struct store_filter f, const char *want)
{
	struct buf b = {0};
	f.since_real_ns = f.since_real_ns ? f.since_real_ns : MODEL_NO_TIME;
	f.until_real_ns = f.until_real_ns ? f.until_real_ns : MODEL_NO_TIME;
	assert_int_equal(store_list(s, &f, add_suffix, &b, NULL), 0);
	assert_string_equal(b.len ? b.data : "", want);
	buf_fini(&b);
}

#endif
