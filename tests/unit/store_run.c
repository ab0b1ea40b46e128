/* SPDX-License-Identifier: BSD-2-Clause */
/* A run that comes out of the store is the run that went in; lists, names, tags, removal. */
#include "store_help.h"

/* The last to close leaves one file. */
static void assert_alone(const char *path)
{
	static const char *const more[] = {"-wal", "-shm", "-journal"};
	char name[128];
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		snprintf(name, sizeof(name), "%s%s", path, more[i]);
		assert_int_equal(access(name, F_OK), -1);
	}
}

static void whole_run_by_put(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = full_run();
	struct weir_err e = {0};
	put(s, r);
	assert_stored(s, r);
	assert_int_equal(store_put(s, r, &e), -EEXIST);
	assert_int_equal(e.domain, WEIR_DB);
	store_close(s);
	s = open_store(f->path, STORE_READ);
	assert_stored(s, r);
	assert_int_equal(store_sql_exec(s->q, "DELETE FROM runs", NULL), -EROFS);
	store_close(s);
	assert_alone(f->path);
	model_run_free(r);
}

static void whole_run_by_sink(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = full_run();
	struct sink *k = store_sink(s);
	struct weir_err e = {0};
	assert_int_equal(model_replay(r, k), 0);
	assert_int_equal(k->close(k, &e), 0);
	assert_stored(s, r);
	store_close(s);
	model_run_free(r);
}

/* A run of another shape in each list grows under the sink: many chunks, late frames. */
static void growing_run(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run();
	s->period_ns = 3600 * NSEC_PER_SEC; /* so that chunks are as large as they get */
	struct sink *k = store_sink(s);
	k->begin(k, r);
	for (int64_t i = 0; i < 3 * STORE_CHUNK_ROWS + 5; i++) {
		if (i == 100)
			model_add_part(r, PART_PHASE, MODEL_NO_PART, "idle", 100);
		if (i == 200)
			model_end_part(r, 0, 200, OUTCOME_COMPLETE);
		if (i == 300)
			model_add_clock_pair(r, 0, 300, 12345);
		if (i == 400) {
			int ev = model_add_event(r, 0, WARN_STALL, NULL, 1, "x");

			assert_true(ev >= 0);
			k->event(k, r, &r->events[ev]);
		}
		live_tick(r, k, i);
	}
	model_end_part(r, 1, 300, OUTCOME_FAILED);
	r->outcome = OUTCOME_COMPLETE;
	model_add_tag(r, "a", "b");
	k->end(k, r);
	assert_int_equal(k->close(k, NULL), 0);
	assert_stored(s, r);
	assert_int_equal(query_int(s, "SELECT max(rows) FROM chunks"), STORE_CHUNK_ROWS);
	assert_int_equal(query_int(s, "SELECT sum(rows) FROM chunks"), 3 * STORE_CHUNK_ROWS + 5);
	store_close(s);
	model_run_free(r);
}

static void put_headline(const struct model_run *r, struct buf *b)
{
	buf_printf(b, "headline of %s", r->kind);
}

static int take_entry(const struct store_entry *en, void *arg)
{
	assert_string_equal(en->kind, "tcp");
	assert_string_equal(en->near, "pc");
	assert_string_equal(en->far, "198.18.0.2");
	assert_string_equal(en->headline, "headline of tcp");
	assert_string_equal(en->tags, "link=dsl\nroom=a=b");
	assert_string_equal(en->protocol, "weir");
	assert_int_equal(en->outcome, OUTCOME_COMPLETE);
	assert_int_equal(en->start_real_ns, 1796054266123456789);
	++*(int *)arg;
	return 5;
}

static void list_entry(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = full_run();
	struct store_filter all = {.since_real_ns = MODEL_NO_TIME, .until_real_ns = MODEL_NO_TIME};
	int n = 0;
	s->headline = put_headline;
	put(s, r);
	assert_int_equal(store_list(s, &all, take_entry, &n, NULL), 5);
	assert_int_equal(n, 1);
	store_close(s);
	model_run_free(r);
}

/* Runs 0xabc0 to 0xabc3: the second is udp, the third has tags, the fourth no start. */
static struct store *four_runs(const char *path)
{
	struct store *s = open_store(path, STORE_WRITE);
	for (unsigned i = 0; i < 4; i++) {
		struct model_run *r = small_run(0xabc0 + i);
		if (i == 1)
			r->kind = "udp";
		if (i == 2) {
			model_add_tag(r, "link", "dsl");
			model_add_tag(r, "room", "a");
			r->host[MODEL_NEAR].name = "Router7";
		}
		if (i == 3)
			r->start_real_ns = MODEL_NO_TIME;
		put(s, r);
		model_run_free(r);
	}
	return s;
}

static void list_filters(void **state)
{
	struct fixture *f = *state;
	struct store *s = four_runs(f->path);
	struct model_kv link = {"link", NULL}, both[] = {{"link", "dsl"}, {"room", "b"}};
	int64_t second = (1000 + 0xabc1) * NSEC_PER_SEC;
	assert_list(s, (struct store_filter){0}, "abc3 abc2 abc1 abc0");
	assert_list(s, (struct store_filter){.limit = 2}, "abc3 abc2");
	assert_list(s, (struct store_filter){.kind = "udp"}, "abc1");
	assert_list(s, (struct store_filter){.host = "ROUTER"}, "abc2");
	assert_list(s, (struct store_filter){.host = "peer.ex"}, "abc3 abc2 abc1 abc0");
	assert_list(s, (struct store_filter){.host = "%"}, "");
	assert_list(s, (struct store_filter){.tags = &link, .n_tags = 1}, "abc2");
	assert_list(s, (struct store_filter){.tags = both, .n_tags = 1}, "abc2");
	assert_list(s, (struct store_filter){.tags = both, .n_tags = 2}, "");
	assert_list(s, (struct store_filter){.since_real_ns = second}, "abc2 abc1");
	assert_list(s, (struct store_filter){.until_real_ns = second}, "abc0");
	store_close(s);
}

static void assert_resolves(struct store *s, const char *what, const char *suffix)
{
	char id[MODEL_ID_LEN + 1];
	struct weir_err e = {0};
	if (store_resolve(s, what, id, &e) < 0)
		fail_msg("%s: %s", what, e.msg);
	assert_string_equal(id + MODEL_ID_LEN - 4, suffix);
}

static int resolve_error(struct store *s, const char *what, struct weir_err *e)
{
	char id[MODEL_ID_LEN + 1];
	*e = (struct weir_err){0};
	int rc = store_resolve(s, what, id, e);
	assert_true(rc < 0 && e->msg[0] && e->code == -rc);
	return rc;
}

static void resolve_names(void **state)
{
	struct fixture *f = *state;
	struct store *s = four_runs(f->path);
	struct model_run *r = small_run(0xabc1);
	struct weir_err e;
	assert_resolves(s, "last", "abc3");
	assert_resolves(s, "last-1", "abc2");
	assert_resolves(s, "last:udp", "abc1");
	assert_resolves(s, "last-2:tcp", "abc0");
	assert_resolves(s, "abc2", "abc2");
	assert_resolves(s, "ABC2", "abc2");
	assert_resolves(s, "0000abc0", "abc0");
	assert_resolves(s, r->id, "abc1");
	assert_int_equal(resolve_error(s, "last-9", &e), -ENOENT);
	assert_int_equal(resolve_error(s, "last:rtt", &e), -ENOENT);
	assert_int_equal(resolve_error(s, "last-x", &e), -EINVAL);
	assert_int_equal(resolve_error(s, "lastly", &e), -EINVAL);
	assert_int_equal(resolve_error(s, "bc2", &e), -EINVAL);
	assert_int_equal(resolve_error(s, "%bc2", &e), -EINVAL);
	assert_int_equal(e.domain, WEIR_USAGE);
	assert_int_equal(resolve_error(s, "ffff", &e), -ENOENT);
	assert_int_equal(resolve_error(s, "0000", &e), -ENOTUNIQ);
	store_close(s);
	model_run_free(r);
}

static void tags_change(void **state)
{
	struct fixture *f = *state;
	struct store *s = four_runs(f->path);
	char id[MODEL_ID_LEN + 1];
	struct weir_err e = {0};
	assert_int_equal(store_resolve(s, "abc2", id, NULL), 0);
	assert_int_equal(store_tag(s, id, "link", "fibre", &e), 0);
	assert_int_equal(store_tag(s, id, "new", "x=y", &e), 0);
	assert_int_equal(store_untag(s, id, "room", &e), 0);
	assert_int_equal(store_untag(s, id, "room", &e), -ENOENT);
	assert_int_equal(store_tag(s, id, "", "x", &e), -EINVAL);
	assert_int_equal(store_tag(s, "00000000-0000-7000-8000-000000000000", "a", "b", &e),
			 -ENOENT);
	struct model_run *r = load(s, id);
	assert_int_equal(r->n_tags, 2);
	assert_string_equal(r->tags[0].k, "link");
	assert_string_equal(r->tags[0].v, "fibre");
	assert_string_equal(r->tags[1].v, "x=y");
	model_run_free(r);
	store_close(s);
}

static void removal(void **state)
{
	struct fixture *f = *state;
	struct store *s = four_runs(f->path);
	struct model_run *full = full_run();
	char id[MODEL_ID_LEN + 1];
	struct weir_err e = {0};
	put(s, full);
	assert_int_equal(store_remove(s, full->id, &e), 0);
	assert_int_equal(store_remove(s, full->id, &e), -ENOENT);
	assert_int_equal(query_int(s, "SELECT count(*) FROM chunks"), 0);
	assert_int_equal(query_int(s, "SELECT count(*) FROM summaries"), 0);
	assert_int_equal(query_int(s, "PRAGMA freelist_count"), 0);
	assert_int_equal(store_resolve(s, "abc0", id, NULL), 0);
	/* Of those that are old enough one has tags; the one without a start was stored now. */
	assert_int_equal(store_remove_older(s, 5000000 * NSEC_PER_SEC, false, &e), 2);
	assert_list(s, (struct store_filter){0}, "abc3 abc2");
	assert_int_equal(store_remove_older(s, 5000000 * NSEC_PER_SEC, true, &e), 1);
	assert_list(s, (struct store_filter){0}, "abc3");
	store_close(s);
	model_run_free(full);
}

/* A second of a thousand flows is a few bytes a value, with all that is around it. */
static void many_flows_are_compact(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run();
	struct model_row rows[1001] = {0};
	union model_value v[2] = {{.u = 125000}, {.f = 0.000321}};
	const struct model_metric *cols[] = {model_metric("bytes"), model_metric("tcp.rtt")};
	for (uint32_t i = 0; i < 1001; i++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_FLOW, i);
		if (i)
			assert_int_equal(model_add_frame(r, 0, &d, cols, 2), i);
		rows[i] = (struct model_row){i, v, 3};
	}
	for (int64_t t = 0; t < 60; t++) {
		struct model_tick tick = {0,   t * NSEC_PER_SEC, (t + 1) * NSEC_PER_SEC, 0, rows,
					  1001};
		assert_int_equal(model_append(r, &tick), 0);
	}
	model_end_part(r, 0, 60 * NSEC_PER_SEC, OUTCOME_COMPLETE);
	r->outcome = OUTCOME_COMPLETE;
	put(s, r);
	assert_true(query_int(s, "SELECT sum(length(data)) FROM chunks") < 2002 * 60 * 4);
	assert_stored(s, r);
	store_close(s);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_run_by_put, setup, teardown),
		cmocka_unit_test_setup_teardown(whole_run_by_sink, setup, teardown),
		cmocka_unit_test_setup_teardown(growing_run, setup, teardown),
		cmocka_unit_test_setup_teardown(list_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(list_filters, setup, teardown),
		cmocka_unit_test_setup_teardown(resolve_names, setup, teardown),
		cmocka_unit_test_setup_teardown(tags_change, setup, teardown),
		cmocka_unit_test_setup_teardown(removal, setup, teardown),
		cmocka_unit_test_setup_teardown(many_flows_are_compact, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
