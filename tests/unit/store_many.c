/* SPDX-License-Identifier: BSD-2-Clause */
/* Several processes, killed processes, a lock held elsewhere, a cap, a queue that overflows. */
#include "store_help.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define WRITERS 8
#define RUNS    5

static int write_runs(const char *path, unsigned writer)
{
	struct store_cfg cfg = {.path = path, .mode = STORE_WRITE};
	struct store *s = NULL;
	struct weir_err e = {0};
	int rc = store_open(&cfg, &s, &e);
	for (unsigned i = 0; i < RUNS && rc >= 0; i++) {
		struct model_run *r = small_run(0x1000 * (writer + 1) + i);
		struct sink *k = store_sink(s);
		model_replay(r, k);
		rc = k->close(k, &e);
		model_run_free(r);
	}
	store_close(s);
	if (rc < 0)
		print_error("writer %u: %d: %s\n", writer, rc, e.msg);
	return rc < 0;
}

/* From nothing: they also race to make the file and its tables. */
static void eight_writers(void **state)
{
	struct fixture *f = *state;
	pid_t pids[WRITERS];
	for (unsigned i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(write_runs(f->path, i));
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		int status = -1;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	struct store *s = open_store(f->path, STORE_READ);
	assert_int_equal(query_int(s, "SELECT count(*) FROM runs"), WRITERS * RUNS);
	assert_int_equal(query_int(s, "SELECT count(DISTINCT id) FROM runs"), WRITERS * RUNS);
	store_close(s);
}

/* ---- killed ---- */

/* Measures for ever; the parent kills it. */
static void measure_for_ever(const char *path)
{
	struct store *s = open_store(path, STORE_WRITE);
	struct model_run *r = live_run();
	s->period_ns = 5 * NSEC_PER_MSEC;
	struct sink *k = store_sink(s);
	k->begin(k, r);
	for (int64_t i = 0;; i++) {
		if (i < 100000)
			live_tick(r, k, i);
		poll(NULL, 0, 1);
	}
}

static int64_t stored_rows(struct store *s)
{
	return query_int(s, "SELECT coalesce(sum(rows),0) FROM chunks");
}

static void wait_for_rows(struct store *s)
{
	int64_t until = clk_mono_ns() + 20 * NSEC_PER_SEC;
	while (stored_rows(s) < 20 && clk_mono_ns() < until)
		poll(NULL, 0, 5);
	assert_true(stored_rows(s) >= 20);
}

static int take_outcome(const struct store_entry *en, void *arg)
{
	*(enum model_outcome *)arg = en->outcome;
	return 0;
}

static enum model_outcome listed_outcome(struct store *s)
{
	struct store_filter all = {.since_real_ns = MODEL_NO_TIME, .until_real_ns = MODEL_NO_TIME};
	enum model_outcome o = OUTCOME_COMPLETE;
	assert_int_equal(store_list(s, &all, take_outcome, &o, NULL), 0);
	return o;
}

static void assert_cut_off(const struct model_run *r, int64_t rows)
{
	assert_int_equal(r->outcome, OUTCOME_PARTIAL);
	assert_int_equal(r->events[r->n_events - 1].code, WARN_INCOMPLETE);
	assert_int_equal(r->parts[0].outcome, OUTCOME_PARTIAL);
	assert_int_equal(r->axes[0]->n, rows);
	assert_int_equal(r->parts[0].t1, rows * NSEC_PER_MSEC);
}

static void killed_in_the_middle(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *want = live_run(), *r;
	struct weir_err e = {0};
	pid_t pid = fork();
	if (pid == 0) {
		measure_for_ever(f->path);
		_exit(1);
	}
	wait_for_rows(s);
	assert_int_equal(listed_outcome(s), OUTCOME_RUNNING);
	r = load(s, want->id);
	assert_int_equal(r->outcome, OUTCOME_RUNNING);
	model_run_free(r);
	assert_int_equal(store_remove(s, want->id, &e), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(listed_outcome(s), OUTCOME_PARTIAL);
	r = load(s, want->id);
	assert_cut_off(r, stored_rows(s));
	model_run_free(r);
	assert_int_equal(store_remove(s, want->id, &e), 0);
	store_close(s);
	model_run_free(want);
}

static void closed_without_end(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run(), *back;
	struct sink *k = store_sink(s);
	k->begin(k, r);
	live_tick(r, k, 0); /* sooner than the next transaction */
	assert_int_equal(k->close(k, NULL), 0);
	back = load(s, r->id);
	assert_cut_off(back, 1);
	model_run_free(back);
	model_run_free(r);
	store_close(s);
}

static void removed_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run();
	struct sink *k = store_sink(s);
	struct weir_err e = {0};
	int64_t until = clk_mono_ns() + 10 * NSEC_PER_SEC;
	k->begin(k, r);
	while (query_int(s, "SELECT count(*) FROM runs") == 0 && clk_mono_ns() < until)
		poll(NULL, 0, 1);
	assert_int_equal(store_sql_exec(s->q, "DELETE FROM runs", NULL), 0);
	live_tick(r, k, 0);
	k->end(k, r);
	assert_int_equal(k->close(k, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "removed"));
	assert_list(s, (struct store_filter){0}, "");
	store_close(s);
	model_run_free(r);
}

static void owners(void **state)
{
	char mine[STORE_OWNER_MAX], other[STORE_OWNER_MAX + 1];
	(void)state;
	store_owner_self(mine);
	assert_true(store_owner_alive(mine));
	assert_false(store_owner_alive(NULL));
	assert_false(store_owner_alive(""));
	assert_false(store_owner_alive("garbage"));
	/* The same pid with another start is another process; so is one of another boot. */
	snprintf(other, sizeof(other), "%s0", mine);
	assert_false(store_owner_alive(other));
	memcpy(other, mine, sizeof(mine));
	other[0] = other[0] == '0' ? '1' : '0';
	assert_false(store_owner_alive(other));
}

/* ---- a lock held by another process ---- */

struct holder {
	pid_t pid;
	int go; /* closing it lets go */
};

static struct holder hold_lock(const char *path)
{
	int ready[2], go[2];
	char c = 0;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	struct holder h = {fork(), go[1]};
	if (h.pid == 0) {
		struct sql *q = NULL;
		close(go[1]);
		if (store_sql_open(path, 0, 1000, &q, NULL) < 0 ||
		    store_sql_exec(q, "BEGIN IMMEDIATE", NULL) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		_exit(read(go[0], &c, 1) != 0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	return h;
}

static void let_go(struct holder h)
{
	int status = -1;
	close(h.go);
	assert_int_equal(waitpid(h.pid, &status, 0), h.pid);
	assert_int_equal(status, 0);
}

static void locked_for_good(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = small_run(1);
	struct weir_err e = {0};
	s->busy_ms = 10;
	s->close_ns = 300 * NSEC_PER_MSEC;
	struct holder h = hold_lock(f->path);
	struct sink *k = store_sink(s);
	int64_t from = clk_mono_ns();
	assert_int_equal(model_replay(r, k), 0);
	assert_true(clk_mono_ns() - from < 200 * NSEC_PER_MSEC);
	assert_int_equal(k->close(k, &e), -EBUSY);
	assert_non_null(strstr(e.msg, "locked by another process"));
	assert_list(s, (struct store_filter){0}, "");
	let_go(h);
	store_close(s);
	model_run_free(r);
}

static void locked_for_a_while(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run();
	s->busy_ms = 10;
	s->period_ns = 0;
	struct holder h = hold_lock(f->path);
	struct sink *k = store_sink(s);
	k->begin(k, r);
	for (int64_t i = 0; i < 50; i++)
		live_tick(r, k, i);
	let_go(h);
	r->outcome = OUTCOME_COMPLETE;
	model_end_part(r, 0, 50 * NSEC_PER_MSEC, OUTCOME_COMPLETE);
	k->end(k, r);
	assert_int_equal(k->close(k, NULL), 0);
	assert_stored(s, r);
	store_close(s);
	model_run_free(r);
}

/* Samples are dropped beyond the bound and the stored run says so; the rest is whole. */
static void queue_overflows(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run(), *back;
	s->busy_ms = 10;
	s->period_ns = 0;
	s->queue_max = 4096;
	struct holder h = hold_lock(f->path);
	struct sink *k = store_sink(s);
	k->begin(k, r);
	for (int64_t i = 0; i < 1000; i++)
		live_tick(r, k, i);
	let_go(h);
	r->outcome = OUTCOME_COMPLETE;
	k->end(k, r);
	assert_int_equal(k->close(k, NULL), 0);
	back = load(s, r->id);
	assert_int_equal(back->outcome, OUTCOME_PARTIAL);
	assert_int_equal(back->n_events, 1);
	assert_int_equal(back->events[0].code, WARN_NOT_STORED);
	assert_true(back->axes[0]->n > 0 && back->axes[0]->n < 1000);
	assert_int_equal(atoi(back->events[0].text), 1000 - (int)back->axes[0]->n);
	model_run_free(back);
	store_close(s);
	model_run_free(r);
}

/* ---- claims ---- */

/* Claims the run and says so; the parent kills it. */
static void claim_and_wait(const char *path, const char *id, int fd)
{
	struct store *s = open_store(path, STORE_WRITE);
	char ok = store_claim(s, id, NULL) == 0 ? 'y' : 'n';

	if (write(fd, &ok, 1) == 1)
		pause();
}

static void claimed_by_one_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = small_run(1), *back;
	struct weir_err e = {0};
	char ok = 0, want[64];
	int fd[2];

	r->outcome = OUTCOME_PARTIAL;
	put(s, r);
	assert_int_equal(pipe(fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		claim_and_wait(f->path, r->id, fd[1]);
		_exit(1);
	}
	assert_int_equal(read(fd[0], &ok, 1), 1);
	assert_int_equal(ok, 'y');
	assert_int_equal(listed_outcome(s), OUTCOME_RUNNING);
	assert_int_equal(store_claim(s, r->id, &e), -EBUSY);
	snprintf(want, sizeof(want), "process %d is at it", (int)pid);
	assert_string_equal(e.msg, want);
	assert_int_equal(store_remove(s, r->id, &e), -EBUSY);
	assert_int_equal(store_release(s, r->id, &e), 0); /* it is not ours */
	assert_int_equal(listed_outcome(s), OUTCOME_RUNNING);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(listed_outcome(s), OUTCOME_PARTIAL);
	assert_int_equal(store_claim(s, r->id, &e), 0);
	assert_int_equal(store_claim(s, r->id, &e), 0);
	assert_int_equal(store_release(s, r->id, &e), 0);
	back = load(s, r->id);
	assert_int_equal(back->outcome, OUTCOME_PARTIAL);
	assert_int_equal(back->n_events, 0); /* nothing was cut off */
	model_run_free(back);
	assert_int_equal(store_claim(s, "0", &e), -ENOENT);
	store_close(s);
	model_run_free(r);
}

/* The new one is there alone, claimed or not; without an old one it is added. */
static void replaced_at_once(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = small_run(1), *other = small_run(2), *back;
	struct weir_err e = {0};

	assert_int_equal(store_replace(s, r, &e), 0);
	put(s, other);
	assert_int_equal(store_claim(s, r->id, &e), 0);
	r->title = "anew";
	assert_int_equal(store_replace(s, r, &e), 0);
	assert_int_equal(query_int(s, "SELECT count(*) FROM runs"), 2);
	assert_int_equal(query_int(s, "SELECT count(*) FROM runs WHERE owner IS NOT NULL"), 0);
	back = load(s, r->id);
	assert_string_equal(back->title, "anew");
	assert_int_equal(back->outcome, OUTCOME_COMPLETE);
	model_run_free(back);
	store_close(s);
	model_run_free(r);
	model_run_free(other);
}

/* ---- the cap ---- */

static void put_big(struct store *s, unsigned i, bool tagged)
{
	struct model_run *r = small_run(i);
	char *text = malloc(100001);
	memset(text, 'x', 100000);
	text[100000] = '\0';
	r->title = text;
	if (tagged)
		model_add_tag(r, "keep", "yes");
	put(s, r);
	free(text);
	model_run_free(r);
}

static void cap_trims_oldest_untagged(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct weir_err e = {0};
	for (unsigned i = 0; i < 10; i++)
		put_big(s, i, i == 1);
	assert_int_equal(store_trim(s, &e), 0); /* no cap */
	s->cap_bytes = 900000;
	int n = store_trim(s, &e);
	assert_true(n >= 4 && n <= 8);
	assert_true(query_int(s, "PRAGMA page_count") * 4096 <= 900000);
	assert_int_equal(query_int(s, "SELECT count(*) FROM runs"), 10 - n);
	assert_int_equal(query_int(s, "SELECT min(seq) FROM runs"), 2); /* the tagged one */
	assert_int_equal(query_int(s, "SELECT max(seq) FROM runs"), 10);
	assert_int_equal(store_trim(s, &e), 0);
	s->cap_bytes = 1;
	store_trim(s, &e);
	assert_list(s, (struct store_filter){0}, "0009 0001");
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(eight_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_without_end, setup, teardown),
		cmocka_unit_test_setup_teardown(removed_meanwhile, setup, teardown),
		cmocka_unit_test(owners),
		cmocka_unit_test_setup_teardown(locked_for_good, setup, teardown),
		cmocka_unit_test_setup_teardown(locked_for_a_while, setup, teardown),
		cmocka_unit_test_setup_teardown(queue_overflows, setup, teardown),
		cmocka_unit_test_setup_teardown(claimed_by_one_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(replaced_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(cap_trims_oldest_untagged, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
