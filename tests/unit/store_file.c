/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose file, of which layout, in what state: each is told apart and none is harmed. */
#include "store_help.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct sql *raw_open(const char *path)
{
	struct weir_err e = {0};
	struct sql *q = NULL;
	close(open(path, O_CREAT | O_WRONLY, 0600));
	if (store_sql_open(path, 0, 1000, &q, &e) < 0)
		fail_msg("%s", e.msg);
	return q;
}

static void raw_exec(const char *path, const char *sql)
{
	struct weir_err e = {0};
	struct sql *q = raw_open(path);
	if (store_sql_exec(q, sql, &e) < 0)
		fail_msg("%s", e.msg);
	store_sql_close(q);
}

static mode_t mode_of(const char *path)
{
	struct stat st = {0};
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

static void made_for_the_user_alone(void **state)
{
	struct fixture *f = *state;
	char path[200], dir[150];
	snprintf(dir, sizeof(dir), "%s/a", f->dir);
	snprintf(path, sizeof(path), "%s/b/runs.db", dir);
	mode_t old = umask(0);
	struct store *s = open_store(path, STORE_WRITE);
	assert_int_equal(query_int(s, "PRAGMA application_id"), STORE_APP_ID);
	assert_int_equal(query_int(s, "PRAGMA user_version"), STORE_VERSION);
	assert_int_equal(query_int(s, "PRAGMA auto_vacuum"), 2);
	umask(old);
	assert_int_equal(mode_of(dir), 0700);
	assert_int_equal(mode_of(path), 0600);
	strcat(path, "-wal");
	assert_int_equal(mode_of(path), 0600);
	store_close(s);
	snprintf(path, sizeof(path), "%s/b/runs.db", dir);
	unlink(path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void missing_to_read(void **state)
{
	struct fixture *f = *state;
	struct weir_err e;
	assert_int_equal(open_error(f->path, STORE_READ, &e), -ENOENT);
	assert_int_equal(access(f->path, F_OK), -1);
	assert_int_equal(open_error(f->dir, STORE_READ, &e), -EINVAL);
	assert_int_equal(open_error(f->dir, STORE_WRITE, &e), -EINVAL);
}

static void blank_becomes_ours(void **state)
{
	struct fixture *f = *state;
	raw_exec(f->path, "PRAGMA page_size=1024; PRAGMA application_id=0x57454952");
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = full_run();
	assert_int_equal(query_int(s, "PRAGMA page_size"), 1024);
	put(s, r);
	assert_stored(s, r);
	store_close(s);
	model_run_free(r);
}

static void blank_to_read(void **state)
{
	struct fixture *f = *state;
	store_sql_close(raw_open(f->path));
	struct store *s = open_store(f->path, STORE_READ);
	assert_list(s, (struct store_filter){0}, "");
	store_close(s);
}

static void foreign_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct weir_err e;
	raw_exec(f->path, "CREATE TABLE places(url TEXT)");
	assert_int_equal(open_error(f->path, STORE_WRITE, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "another program"));
	assert_int_equal(open_error(f->path, STORE_READ, &e), -EBADMSG);
	struct sql *q = raw_open(f->path);
	int64_t n = 0;
	assert_int_equal(store_sql_int(q, "SELECT count(*) FROM sqlite_schema", NULL, 0, &n, NULL),
			 1);
	assert_int_equal(n, 1);
	store_sql_close(q);
}

static void no_database_at_all(void **state)
{
	struct fixture *f = *state;
	struct weir_err e;
	FILE *text = fopen(f->path, "w");
	for (int i = 0; i < 200; i++)
		fprintf(text, "This is a letter, not a database.\n");
	fclose(text);
	assert_int_equal(open_error(f->path, STORE_WRITE, &e), -EBADMSG);
	assert_int_equal(open_error(f->path, STORE_READ, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "not a database"));
}

static void odd_schema_is_refused(void **state)
{
	struct fixture *f = *state;
	struct weir_err e;
	store_close(open_store(f->path, STORE_WRITE));
	raw_exec(f->path, "CREATE VIEW v AS SELECT * FROM runs");
	assert_int_equal(open_error(f->path, STORE_READ, &e), -EBADMSG);
	raw_exec(f->path, "DROP VIEW v; CREATE TRIGGER t AFTER INSERT ON tags BEGIN"
			  " DELETE FROM runs; END");
	assert_int_equal(open_error(f->path, STORE_WRITE, &e), -EBADMSG);
}

static void newer_is_read_only(void **state)
{
	struct fixture *f = *state;
	struct weir_err e = {0};
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = full_run();
	put(s, r);
	store_close(s);
	raw_exec(f->path, "ALTER TABLE runs ADD COLUMN news TEXT; PRAGMA user_version=2");
	s = open_store(f->path, STORE_WRITE);
	assert_true(store_read_only(s));
	assert_stored(s, r);
	assert_int_equal(store_put(s, r, &e), -EROFS);
	assert_non_null(strstr(e.msg, "newer weir"));
	assert_int_equal(store_remove(s, r->id, &e), -EROFS);
	struct sink *k = store_sink(s);
	assert_int_equal(model_replay(r, k), 0);
	assert_int_equal(k->close(k, &e), -EROFS);
	assert_stored(s, r);
	store_close(s);
	model_run_free(r);
}

/* Whatever is wrong with the file, a load ends with the run or an error. */
static void use_damaged(const char *path)
{
	struct store_cfg cfg = {.path = path, .mode = STORE_READ};
	struct model_run *want = full_run(), *r;
	struct weir_err e = {0};
	struct store *s;
	if (store_open(&cfg, &s, &e) < 0) {
		assert_true(e.msg[0] != '\0');
	} else if (store_load(s, want->id, &r, &e) < 0) {
		assert_true(e.msg[0] != '\0' && !r);
	} else {
		assert_string_equal(r->id, want->id);
		model_run_free(r);
	}
	store_close(s);
	model_run_free(want);
}

static size_t read_all(const char *path, char *dst, size_t cap)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t n = fread(dst, 1, cap, f);
	fclose(f);
	return n;
}

static void write_all(const char *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

static size_t full_database(const char *path, char *dst, size_t cap)
{
	raw_exec(path, "PRAGMA page_size=512");
	struct store *s = open_store(path, STORE_WRITE);
	struct model_run *r = full_run();
	put(s, r);
	store_close(s);
	model_run_free(r);
	return read_all(path, dst, cap);
}

#define BIG (1 << 20)

static void damaged(void **state)
{
	struct fixture *f = *state;
	char *good = malloc(BIG), *bad = malloc(BIG);
	size_t n = full_database(f->path, good, BIG);
	for (size_t at = 0; at + 64 < n; at += 200) {
		memcpy(bad, good, n);
		memset(bad + at, (int)(at * 7 & 0xff), 64);
		write_all(f->path, bad, n);
		use_damaged(f->path);
	}
	free(good);
	free(bad);
}

static void cut_short(void **state)
{
	struct fixture *f = *state;
	char *good = malloc(BIG);
	size_t n = full_database(f->path, good, BIG);
	for (size_t len = 0; len < n; len += 300) {
		write_all(f->path, good, len);
		use_damaged(f->path);
	}
	free(good);
}

/* Cells that weir never writes. */
static void hostile_cells(void **state)
{
	static const char *const changes[] = {
		"UPDATE runs SET near_facts='{\"a\":'",
		"UPDATE runs SET outcome='brilliant'",
		"UPDATE runs SET kind=x'00'",
		"UPDATE runs SET source_line='seven'",
		"UPDATE runs SET title='a'||char(0)||'b'",
		"UPDATE parts SET parent=7 WHERE n=1",
		"UPDATE parts SET parent=1 WHERE n=1",
		"UPDATE parts SET kind=3",
		"UPDATE clock_pairs SET clock=2",
		"UPDATE frames SET axis=-1",
		"UPDATE frames SET dims='[]'",
		"UPDATE frames SET dims='{\"dir\":\"sideways\"}'",
		"UPDATE frames SET dims='{\"flow\":\"x\"}'",
		"UPDATE frames SET metrics='[\"no.such\"]'",
		"UPDATE frames SET metrics='[\"bytes\",\"bytes\"]'",
		"UPDATE frames SET metrics='[1]'",
		"UPDATE hists SET data=x'ff'",
		"UPDATE hists SET exp10=100000",
		"UPDATE summaries SET metric='no.such'",
		"UPDATE summaries SET part=99",
		"UPDATE summaries SET value='much'",
		"UPDATE verdicts SET inputs='{'",
		"UPDATE chunks SET axis=5",
		"UPDATE chunks SET data=zeroblob(100)",
		"UPDATE chunks SET data=x'0101000000'",
		"UPDATE chunks SET data=substr(data,1,length(data)-1)",
	};
	struct fixture *f = *state;
	char *good = malloc(BIG);
	size_t n = full_database(f->path, good, BIG);
	struct model_run *want = full_run();
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct weir_err e = {0};
		struct model_run *r;
		write_all(f->path, good, n);
		raw_exec(f->path, changes[i]);
		struct store *s = open_store(f->path, STORE_READ);
		assert_list(s, (struct store_filter){0}, "0809");
		if (store_load(s, want->id, &r, &e) == 0)
			fail_msg("accepted: %s", changes[i]);
		assert_true(e.code == EBADMSG || e.code == EINVAL);
		store_close(s);
	}
	model_run_free(want);
	free(good);
}

/* A word of a newer weir's does not make the run unreadable. */
static void newer_words(void **state)
{
	struct fixture *f = *state;
	char *good = malloc(BIG);
	struct model_run *want = full_run();
	full_database(f->path, good, BIG);
	raw_exec(f->path, "UPDATE events SET code='not-invented-yet' WHERE n=0;"
			  "UPDATE summaries SET metric='future.thing:s:f64' WHERE n=0");
	struct store *s = open_store(f->path, STORE_READ);
	struct model_run *r = load(s, want->id);
	assert_int_equal(r->events[0].code, WARN_OTHER);
	assert_non_null(strstr(r->sums[0].metric->name, "future.thing"));
	assert_int_equal(r->sums[0].metric->unit, UNIT_SECOND);
	store_close(s);
	model_run_free(r);
	model_run_free(want);
	free(good);
}

static void full_disk_by_pages(void **state)
{
	struct fixture *f = *state;
	struct weir_err e = {0};
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = small_run(1), *big = small_run(2);
	char *text = calloc(1, 600000);
	memset(text, 'x', 599999);
	big->title = text;
	put(s, r);
	query_int(s, "PRAGMA max_page_count=100");
	assert_int_equal(store_put(s, big, &e), -ENOSPC);
	assert_non_null(strstr(e.msg, "full"));
	assert_stored(s, r);
	assert_list(s, (struct store_filter){0}, "0001");
	store_close(s);
	free(text);
	model_run_free(r);
	model_run_free(big);
}

/* ---- with a file system of one's own: in a child ---- */

#define CHILD_SKIP 77

static int in_child(int (*fn)(const struct fixture *), const struct fixture *f)
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(fn(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_SKIP) {
		print_message("skipped: needs root to mount a tmpfs\n");
		skip();
	}
	return WEXITSTATUS(status);
}

static bool mount_small(const struct fixture *f)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", f->dir, "tmpfs", 0, "size=400k") == 0;
}

/* The measurement goes on, the error names the disk, and what was stored is a partial run. */
static int fill_disk(const struct fixture *f)
{
	struct weir_err e = {0};
	if (!mount_small(f))
		return CHILD_SKIP;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = live_run(), *back = NULL;
	s->period_ns = 0;
	struct sink *k = store_sink(s);
	k->begin(k, r);
	for (int64_t i = 0; i < 300000; i++)
		live_tick(r, k, i);
	r->outcome = OUTCOME_COMPLETE;
	k->end(k, r);
	if (k->close(k, &e) != -ENOSPC || !strstr(e.msg, "full"))
		return 1;
	store_close(s);
	s = open_store(f->path, STORE_READ);
	if (store_load(s, r->id, &back, &e) == 0 && back->outcome != OUTCOME_PARTIAL)
		return 2;
	store_close(s);
	model_run_free(back);
	model_run_free(r);
	return 0;
}

static void full_disk(void **state)
{
	assert_int_equal(in_child(fill_disk, *state), 0);
}

static int read_on_read_only_disk(const struct fixture *f)
{
	struct weir_err e = {0};
	if (!mount_small(f))
		return CHILD_SKIP;
	struct store *s = open_store(f->path, STORE_WRITE);
	struct model_run *r = small_run(1);
	put(s, r);
	store_close(s);
	if (mount(NULL, f->dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return CHILD_SKIP;
	s = open_store(f->path, STORE_READ);
	assert_stored(s, r);
	store_close(s);
	model_run_free(r);
	return open_error(f->path, STORE_WRITE, &e) == 0 || !e.msg[0];
}

static void read_only_disk(void **state)
{
	assert_int_equal(in_child(read_on_read_only_disk, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(made_for_the_user_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(missing_to_read, setup, teardown),
		cmocka_unit_test_setup_teardown(blank_becomes_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(blank_to_read, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(no_database_at_all, setup, teardown),
		cmocka_unit_test_setup_teardown(odd_schema_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(newer_is_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(cut_short, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_cells, setup, teardown),
		cmocka_unit_test_setup_teardown(newer_words, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk_by_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(read_only_disk, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
