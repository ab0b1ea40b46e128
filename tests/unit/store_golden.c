/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Databases of every past layout still give the runs that were put into them: tests/data/store
 * has vN.db and vN.json. "--write DIR" makes those of today's layout (see make-golden there).
 */
#include "store_help.h"

static char *read_text(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct buf b = {0};
	char part[4096];
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	while ((*n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(&b, part, *n);
	fclose(f);
	*n = b.len;
	return buf_take(&b);
}

static void write_text(const char *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
		fail_msg("%s: %s", path, strerror(errno));
}

/* The JSON as today's model writes it: it may have got more members since. */
static char *todays_json(const char *path)
{
	struct weir_err e = {0};
	struct js_doc *doc;
	struct model_run *r = NULL;
	size_t n;
	char *text = read_text(path, &n);
	if (js_parse(text, n, &js_limits_file, &doc, &e) < 0 ||
	    model_from_json(js_root(doc), &r, &e) < 0)
		fail_msg("%s: %s", path, e.msg);
	free(text);
	text = json_of(r);
	model_run_free(r);
	js_free(doc);
	return text;
}

static int take_id(const struct store_entry *en, void *arg)
{
	memcpy(arg, en->id, sizeof(en->id));
	return 0;
}

static void golden(void **state)
{
	struct fixture *f = *state;
	struct store_filter all = {.since_real_ns = MODEL_NO_TIME, .until_real_ns = MODEL_NO_TIME};
	for (int v = 1; v <= STORE_VERSION; v++) {
		char path[200], id[MODEL_ID_LEN + 1] = "";
		size_t n;
		snprintf(path, sizeof(path), "%s/store/v%d.db", TEST_DATA, v);
		char *db = read_text(path, &n);
		write_text(f->path, db, n);
		struct store *s = open_store(f->path, STORE_READ);
		assert_int_equal(query_int(s, "PRAGMA user_version"), STORE_VERSION);
		assert_int_equal(store_list(s, &all, take_id, id, NULL), 0);
		snprintf(path, sizeof(path), "%s/store/v%d.json", TEST_DATA, v);
		struct model_run *r = load(s, id);
		char *want = todays_json(path), *got = json_of(r);
		assert_string_equal(got, want);
		free(db);
		free(want);
		free(got);
		model_run_free(r);
		store_close(s);
	}
}

static int write_golden(const char *dir)
{
	char path[300];
	struct sql *q = NULL;
	struct store *s = NULL;
	struct model_run *r = full_run();
	char *json = json_of(r);
	snprintf(path, sizeof(path), "%s/v%d.json", dir, STORE_VERSION);
	write_text(path, json, strlen(json));
	snprintf(path, sizeof(path), "%s/v%d.db", dir, STORE_VERSION);
	write_text(path, "", 0);
	struct store_cfg cfg = {.path = path, .mode = STORE_WRITE};
	struct weir_err e = {0};
	int rc = store_sql_open(path, 0, 1000, &q, &e);
	if (rc >= 0)
		rc = store_sql_exec(q, "PRAGMA page_size=512; PRAGMA application_id=0x57454952",
				    &e);
	store_sql_close(q);
	if (rc >= 0)
		rc = store_open(&cfg, &s, &e);
	if (rc >= 0)
		rc = store_put(s, r, &e);
	store_close(s);
	model_run_free(r);
	free(json);
	if (rc < 0)
		fprintf(stderr, "%s: %s\n", path, e.msg);
	return rc < 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(golden, setup, teardown),
	};
	if (argc == 3 && !strcmp(argv[1], "--write"))
		return write_golden(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
