/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any measurement, run for a person: its options and the common ones; output through one writer,
 * a copy to the store, a progress line where nothing else moves; repeats and assertions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/observe.h"
#include "format/format.h"
#include "host/host.h"
#include "ui/ui.h"

#define PSK_MAX 4096

struct run_cfg {
	bool json, json_stream, csv, paste, markdown, quiet, explain, no_store;
	int64_t repeat;
	struct opt_list tags, asserts;
	char *psk, *psk_file, *experiment, *observe;
	struct cmd_login login;
	uint64_t store_cap;
};

#define F(field) offsetof(struct run_cfg, field)
/* clang-format off */
static const struct opt run_opts[] = {
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "the whole run as one JSON document at the end"},
	{.name = "json-stream", .type = OPT_FLAG, .offset = F(json_stream), .help = "one JSON object a line as things happen"},
	{.name = "csv", .type = OPT_FLAG, .offset = F(csv), .help = "samples and results as CSV, one value a line"},
	{.name = "paste", .type = OPT_FLAG, .offset = F(paste), .help = "72 columns of ASCII for a mail"},
	{.name = "markdown", .type = OPT_FLAG, .offset = F(markdown), .help = "a table for an issue or a wiki"},
	{.name = "quiet", .letter = 'q', .type = OPT_FLAG, .offset = F(quiet), .help = "only the result"},
	{.name = "explain", .type = OPT_FLAG, .offset = F(explain), .help = "also all that speaks for what limited it, and what is not known"},
	{.name = "observe", .type = OPT_STR, .offset = F(observe), .metavar = "HOST", .help = "also look at a host in the middle, by ssh: its counters of /proc around the load; nothing is installed there"},
	{.name = "repeat", .type = OPT_INT, .offset = F(repeat), .metavar = "N", .help = "run it N times: a line each, then their spread", .min = 1, .max = 10000, .fallback = "1"},
	{.name = "tag", .type = OPT_LIST, .offset = F(tags), .metavar = "KEY=VALUE", .help = "mark the stored run, to be found again"},
	{.name = "assert", .type = OPT_LIST, .offset = F(asserts), .metavar = "EXPR", .help = "exit 3 unless it holds, such as 'goodput>=900M'"},
	{.name = "psk", .type = OPT_STR, .offset = F(psk), .flags = OPT_SECRET, .metavar = "KEY", .help = "pre-shared key of the weir server (better: --psk-file, WEIR_PSK)"},
	{.name = "psk-file", .type = OPT_STR, .offset = F(psk_file), .flags = OPT_FILE, .metavar = "FILE", .help = "file with the pre-shared key"},
	{.name = "username", .type = OPT_STR, .offset = F(login.user), .metavar = "NAME", .help = "log in at an iperf3 server that asks for it; the password from --password-file or IPERF3_PASSWORD"},
	{.name = "rsa-public-key-path", .type = OPT_STR, .offset = F(login.key), .flags = OPT_FILE, .metavar = "FILE", .help = "that server's public key (PEM)"},
	{.name = "password-file", .type = OPT_STR, .offset = F(login.password_file), .flags = OPT_FILE, .metavar = "FILE", .help = "file with the password of the login"},
	{.name = "use-pkcs1-padding", .type = OPT_FLAG, .offset = F(login.pkcs1), .help = "the login as iperf3 before 3.17 reads it"},
	{.name = "no-store", .type = OPT_FLAG, .offset = F(no_store), .help = "do not keep the run"},
	{.name = "experiment", .type = OPT_STR, .offset = F(experiment), .flags = OPT_HIDDEN, .metavar = "JSON", .help = "the place in an experiment (from weir try)"},
	{.name = "store-cap", .type = OPT_SIZE, .offset = F(store_cap), .metavar = "SIZE", .help = "size of the store at which the oldest untagged runs go", .fallback = "1G"},
};
/* clang-format on */

/* One block: the measurement's config, ours, the store's place. */
static size_t run_cfg_at(const struct measure *m)
{
	return (m->cfg_size + 15) & ~(size_t)15;
}

static size_t db_cfg_at(const struct measure *m)
{
	return run_cfg_at(m) + ((sizeof(struct run_cfg) + 15) & ~(size_t)15);
}

size_t cmd_measure_cfg_size(const struct measure *m)
{
	return db_cfg_at(m) + sizeof(struct cmd_db_cfg);
}

size_t cmd_measure_sets(const struct measure *m, void *cfg, struct opt_set out[CMD_SETS_MAX])
{
	char *p = cfg;

	out[0] = (struct opt_set){
		.title = "Measurement", .rows = m->opts, .n = m->n_opts, .cfg = cfg};
	out[1] = (struct opt_set){.title = "Output",
				  .rows = run_opts,
				  .n = ARRAY_LEN(run_opts),
				  .cfg = p ? p + run_cfg_at(m) : NULL};
	out[2] = (struct opt_set){.title = "Store",
				  .rows = cmd_db_opts,
				  .n = cmd_db_n_opts,
				  .cfg = p ? p + db_cfg_at(m) : NULL};
	return 3;
}

/* ---- output ------------------------------------------------------------------------- */

/* Any writer's buffer, written to standard output after each call until that fails once. */
struct out_sink {
	struct sink sink;
	struct sink *writer;
	struct buf buf;
	bool *failed;
};

static void out_put(struct out_sink *o)
{
	if (*o->failed)
		buf_clear(&o->buf);
	else
		*o->failed = !cmd_flush(&o->buf);
}

static void out_begin(struct sink *s, const struct model_run *r)
{
	struct out_sink *o = (struct out_sink *)s;

	o->writer->begin(o->writer, r);
	out_put(o);
}

static void out_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct out_sink *o = (struct out_sink *)s;

	o->writer->sample(o->writer, r, t);
	out_put(o);
}

static void out_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	struct out_sink *o = (struct out_sink *)s;

	o->writer->event(o->writer, r, ev);
	out_put(o);
}

static void out_end(struct sink *s, const struct model_run *r)
{
	struct out_sink *o = (struct out_sink *)s;

	o->writer->end(o->writer, r);
	out_put(o);
}

static int out_close(struct sink *s, struct weir_err *e)
{
	struct out_sink *o = (struct out_sink *)s;
	int rc = o->writer->close(o->writer, e);

	buf_fini(&o->buf);
	free(o);
	return rc;
}

static struct sink *out_new(const struct format *f, const struct format_opts *fo, bool *failed)
{
	struct out_sink *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->sink = (struct sink){out_begin, out_sample, out_event, out_end, out_close};
	o->failed = failed;
	o->writer = f->writer(&o->buf, fo);
	if (!o->writer) {
		free(o);
		return NULL;
	}
	return &o->sink;
}

struct form {
	bool on;
	const char *option, *name;
};
#define FORMS 5

static void forms_of(const struct run_cfg *c, struct form out[FORMS])
{
	const struct form forms[FORMS] = {
		{c->json, "json", "json"},
		{c->json_stream, "json-stream", "ndjson"},
		{c->csv, "csv", "csv"},
		{c->paste, "paste", "paste"},
		{c->markdown, "markdown", "markdown"},
	};

	memcpy(out, forms, sizeof(forms));
}

static const char *form_of(const struct run_cfg *c)
{
	struct form forms[FORMS];

	forms_of(c, forms);
	for (size_t i = 0; i < FORMS; i++) {
		if (forms[i].on)
			return forms[i].name;
	}
	return "text";
}

static int check_forms(const struct run_cfg *c, struct weir_err *e)
{
	struct form forms[FORMS];
	const char *first = NULL;

	forms_of(c, forms);
	for (size_t i = 0; i < FORMS; i++) {
		if (forms[i].on && first)
			return err_set(e, WEIR_USAGE, EINVAL, "--%s and --%s exclude each other",
				       first, forms[i].option);
		if (forms[i].on)
			first = forms[i].option;
	}
	return 0;
}

/* ---- assertions ----------------------------------------------------------------------- */

enum assert_op { ASSERT_GE, ASSERT_LE, ASSERT_GT, ASSERT_LT };
static const char *const assert_ops[] = {">=", "<=", ">", "<"};

struct assertion {
	const char *text;
	char spec[96];
	enum assert_op op;
	double value;
};

/* Before anything is measured: in an empty run a good question has no answer, a bad one no sense. */
static int check_spec(const char *spec, struct weir_err *e)
{
	static const uint8_t rnd[10];
	struct model_run *empty = model_run_new("", 0, rnd);
	struct weir_err mine = {0};

	if (!empty)
		return -ENOMEM;
	model_find_spec(empty, spec, &mine);
	model_run_free(empty);
	if (mine.code != EINVAL)
		return 0;
	*e = mine;
	return -EINVAL;
}

/* "goodput:down" names one of the directions. */
static bool names_direction(const char *spec)
{
	for (const char *w = strchr(spec, ':'); w; w = strchr(w + 1, ':')) {
		size_t n = strcspn(w + 1, ":");

		if ((n == 2 && !strncmp(w + 1, "up", n)) ||
		    (n == 4 && !strncmp(w + 1, "down", n)) || !strncmp(w + 1, "dir=", 4))
			return true;
	}
	return false;
}

static int parse_assertion(const char *text, struct assertion *a, struct weir_err *e)
{
	size_t n = strcspn(text, "<>"), len = n;
	char name[96];
	const char *value;
	const struct model_metric *m;
	int rc;

	if (!n || !text[n] || n >= sizeof(a->spec))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--assert: \"%.80s\" is not METRIC>=VALUE, such as goodput>=900M",
			       text);
	a->text = text;
	while (len && text[len - 1] == ' ')
		len--;
	memcpy(a->spec, text, len);
	a->spec[len] = '\0';
	for (size_t i = ARRAY_LEN(assert_ops); i-- > 0;) {
		if (!strncmp(text + n, assert_ops[i], strlen(assert_ops[i])))
			a->op = (enum assert_op)i;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(a->spec, ":"), a->spec);
	m = model_metric(name);
	if (!m) {
		err_set(e, WEIR_USAGE, EINVAL, "--assert: \"%.80s\" is not a metric", name);
		return err_hint(e, "e.g. goodput, tcp.retransmits, tcp.rtt_loaded:p50, cpu.total");
	}
	value = text + n + strlen(assert_ops[a->op]);
	rc = unit_parse(value + strspn(value, " "), m->unit, &a->value, e);
	if (rc >= 0)
		rc = check_spec(a->spec, e);
	return rc < 0 ? err_wrap(e, "--assert: %.80s", text) : 0;
}

static bool compares(enum assert_op op, double a, double b)
{
	switch (op) {
	case ASSERT_GE:
		return a >= b;
	case ASSERT_LE:
		return a <= b;
	case ASSERT_GT:
		return a > b;
	case ASSERT_LT:
		return a < b;
	}
	return false;
}

static bool assertion_value(const struct assertion *a, const struct model_run *r, const char *dir,
			    bool *held)
{
	char spec[128], text[64];
	const struct model_summary *s;
	struct weir_err e = {0};

	snprintf(spec, sizeof(spec), "%s%s%s", a->spec, dir ? ":" : "", dir ? dir : "");
	s = model_find_spec(r, spec, &e);
	if (!s || s->state != MODEL_KNOWN)
		return false;
	*held = compares(a->op, s->value, a->value);
	if (!*held) {
		unit_format(text, sizeof(text), s->value, s->metric->unit, 3);
		fprintf(stderr, "weir: assertion failed: %s (%s is %s)\n", a->text, spec, text);
	}
	return true;
}

/* Each direction that has the figure must hold; a figure that is unknown holds nothing. */
static bool assertion_holds(const struct assertion *a, const struct model_run *r)
{
	bool up = true, down = true, any = true, one = names_direction(a->spec);
	bool has_up = !one && assertion_value(a, r, "up", &up);
	bool has_down = !one && assertion_value(a, r, "down", &down);

	if (has_up || has_down)
		return up && down;
	if (assertion_value(a, r, NULL, &any))
		return any;
	fprintf(stderr, "weir: assertion failed: %s (%s is unknown)\n", a->text, a->spec);
	return false;
}

/* ---- one run, or many -------------------------------------------------------------------- */

struct runner {
	const struct measure *m;
	void *cfg;
	struct run_cfg *c;
	struct store *store;
	struct model_kv *tags;
	struct assertion *asserts;
	struct proto_login *login;
	struct observe_run *observe;
	char psk[PSK_MAX];
	char exp_id[33];
	struct model_experiment exp; /* of --repeat, or of the experiment that runs us */
	struct js_doc *exp_doc;      /* its texts */
	struct model_run **runs;     /* of --repeat */
	size_t n_runs;
	bool assert_failed, incomplete, interrupted, out_failed;
};

static int parse_tags(struct runner *r, struct weir_err *e)
{
	r->tags = calloc(r->c->tags.n ? r->c->tags.n : 1, sizeof(*r->tags));
	for (size_t i = 0; r->tags && i < r->c->tags.n; i++) {
		char *eq = strchr(r->c->tags.v[i], '=');

		if (cmd_tag_check(r->c->tags.v[i], e) < 0)
			return err_wrap(e, "--tag");
		*eq = '\0';
		r->tags[i] = (struct model_kv){.k = r->c->tags.v[i], .v = eq + 1};
	}
	return r->tags ? 0 : -ENOMEM;
}

static int parse_asserts(struct runner *r, struct weir_err *e)
{
	int rc = 0;

	r->asserts = calloc(r->c->asserts.n ? r->c->asserts.n : 1, sizeof(*r->asserts));
	for (size_t i = 0; r->asserts && i < r->c->asserts.n && rc >= 0; i++)
		rc = parse_assertion(r->c->asserts.v[i], &r->asserts[i], e);
	return r->asserts ? rc : -ENOMEM;
}

/* What `weir try` says of this run's place. */
static int read_experiment(struct runner *r, struct weir_err *e)
{
	const char *text = r->c->experiment;
	const struct js *v;
	int rc;

	if (r->c->repeat > 1 || text)
		r->exp.id = r->exp_id;
	if (!text)
		return 0;
	if (r->c->repeat > 1)
		return err_set(e, WEIR_USAGE, EINVAL, "--repeat: an experiment repeats by itself");
	rc = js_parse(text, strlen(text), &js_limits_file, &r->exp_doc, e);
	if (rc < 0)
		return err_wrap(e, "--experiment");
	v = js_root(r->exp_doc);
	r->exp = (struct model_experiment){.id = js_str(js_get(v, "id"), NULL),
					   .factors = js_str(js_get(v, "factors"), NULL),
					   .plan = js_str(js_get(v, "plan"), NULL),
					   .primary = js_str(js_get(v, "primary"), NULL),
					   .variant = js_str(js_get(v, "variant"), NULL)};
	js_i64(js_get(v, "seed"), &r->exp.seed);
	js_i64(js_get(v, "block"), &r->exp.block);
	js_i64(js_get(v, "position"), &r->exp.position);
	js_f64(js_get(v, "margin"), &r->exp.margin);
	return r->exp.id ? 0 : err_set(e, WEIR_USAGE, EINVAL, "--experiment: there is no id");
}

static int take_psk(struct runner *r, const char *from, const char *key, struct weir_err *e)
{
	size_t n = strlen(key);

	if (!n)
		return err_set(e, WEIR_USAGE, EINVAL, "%s: the key is empty", from);
	if (n >= sizeof(r->psk))
		return err_set(e, WEIR_USAGE, E2BIG, "%s: the key has more than %d bytes", from,
			       PSK_MAX - 1);
	memcpy(r->psk, key, n + 1);
	return 0;
}

static int read_psk(struct runner *r, struct weir_err *e)
{
	const char *env = getenv("WEIR_PSK");

	if (r->c->psk_file) {
		int rc = cmd_read_secret(r->c->psk_file, r->psk, sizeof(r->psk), e);

		if (rc >= 0 && !r->psk[0])
			rc = err_set(e, WEIR_USAGE, EINVAL, "%.160s: the first line is empty",
				     r->c->psk_file);
		return rc < 0 ? err_wrap(e, "--psk-file") : 0;
	}
	if (r->c->psk)
		return take_psk(r, "--psk", r->c->psk, e);
	return env ? take_psk(r, "WEIR_PSK", env, e) : 0;
}

static void open_store(struct runner *r)
{
	struct cmd_db_cfg *db = (void *)((char *)r->cfg + db_cfg_at(r->m));
	struct store_cfg cfg = {
		.mode = STORE_WRITE, .cap_bytes = r->c->store_cap, .headline = format_headline};
	struct weir_err e = {0};
	char *path;

	if (r->c->no_store || !store_supported())
		return;
	path = cmd_db_path(db);
	cfg.path = path;
	/* The result matters more than its stored copy: said, and no failure. */
	if (path && store_open(&cfg, &r->store, &e) < 0)
		fprintf(stderr, "weir: the run will not be stored: %s\n", e.msg);
	free(path);
}

static struct format_opts format_opts_of(const struct runner *r)
{
	return (struct format_opts){.colour = cmd_colour(STDOUT_FILENO),
				    .unicode = cmd_unicode(),
				    .quiet = r->c->quiet,
				    .intervals = true,
				    .live_rows = true,
				    .goes_on = r->n_runs > 0,
				    .width = ui_columns(STDOUT_FILENO)};
}

static bool shows_rows(const struct runner *r)
{
	return !strcmp(form_of(r->c), "text") && !r->c->quiet && r->c->repeat == 1;
}

/* Output, store, progress: whatever of them is wanted. */
static struct sink *make_sink(struct runner *r)
{
	struct format_opts fo = format_opts_of(r);
	const struct format *f = format_find(form_of(r->c));
	bool lines = r->c->repeat > 1 && !strcmp(form_of(r->c), "text");
	struct sink *sinks[3];
	size_t n = 0;

	/* First: it is wiped before the others print. */
	if (!shows_rows(r) && !r->c->experiment && cmd_terminal(STDERR_FILENO))
		sinks[n++] = ui_progress(STDERR_FILENO, 0, fo.unicode);
	if (f && !lines)
		sinks[n++] = out_new(f, &fo, &r->out_failed);
	if (r->store)
		sinks[n++] = store_sink(r->store);
	return sink_tee(sinks, n);
}

/* After an output that failed nothing more is tried. */
static void put(struct runner *r, struct buf *b)
{
	if (!r->out_failed)
		r->out_failed = !cmd_flush(b);
	buf_fini(b);
}

static void say_partial(struct runner *r, const struct model_run *run)
{
	for (size_t i = 0; i < run->n_events; i++) {
		const struct model_event *ev = &run->events[i];
		const struct model_warn *w = model_warn(ev->code);

		if (ev->code != WARN_PEER_GONE && ev->code != WARN_PEER_TERMINATED)
			continue;
		fprintf(stderr, "weir %s: %s%s%s\n", r->m->name, w->text, ev->text ? ": " : "",
			ev->text ? ev->text : "");
		r->incomplete = true;
	}
}

/* Of what a short output leaves out, that another test was run than was asked for. */
static void say_lowered(const struct runner *r, const struct model_run *run)
{
	if (strcmp(form_of(r->c), "text") != 0 || shows_rows(r))
		return;
	for (size_t i = 0; i < run->n_events; i++) {
		const struct model_event *ev = &run->events[i];

		if (ev->code == WARN_CAP)
			fprintf(stderr, "weir %s: %s%s%s\n", r->m->name, model_warn(ev->code)->text,
				ev->text ? ": " : "", ev->text ? ev->text : "");
	}
}

static int finish_run(struct runner *r, struct model_run *run, struct sink *sink)
{
	struct weir_err e = {0};
	struct buf b = {0};

	if (sink->close(sink, &e) < 0)
		fprintf(stderr, "weir: the run was not stored: %s\n", e.msg);
	else if (r->store && shows_rows(r))
		buf_printf(&b, "stored as %s (weir show last)\n", run->id);
	if (r->c->repeat > 1 && !strcmp(form_of(r->c), "text")) {
		buf_printf(&b, "%3zu  ", r->n_runs + 1);
		format_headline(run, &b);
		buf_putc(&b, '\n');
	}
	put(r, &b);
	say_partial(r, run);
	say_lowered(r, run);
	for (size_t i = 0; i < r->c->asserts.n; i++)
		r->assert_failed |= !assertion_holds(&r->asserts[i], run);
	r->runs[r->n_runs++] = run;
	return 0;
}

static bool was_interrupted(const struct model_run *run)
{
	for (size_t i = 0; i < run->n_events; i++) {
		if (run->events[i].code == WARN_INTERRUPTED)
			return true;
	}
	return false;
}

/* A program that reads JSON gets a document also when there is no result. */
static void print_failed(struct runner *r, const struct model_run *run)
{
	struct buf b = {0};

	if (!run || !r->c->json)
		return;
	model_to_json(run, &b);
	buf_putc(&b, '\n');
	put(r, &b);
}

static void print_explained(struct runner *r, const struct model_run *run)
{
	struct buf b = {0};

	if (!r->c->explain || strcmp(form_of(r->c), "text") != 0)
		return;
	host_explain(run, &b);
	put(r, &b);
}

static int run_once(struct runner *r, struct weir_err *e)
{
	struct measure_hooks hooks = {.arg = r->observe, .around = observe_run_around};
	struct measure_ctx ctx = {.sink = make_sink(r),
				  .stop_fd = cmd_stop_fd(),
				  .tags = r->tags,
				  .n_tags = r->c->tags.n,
				  .exp = r->exp.id ? &r->exp : NULL,
				  .psk = r->psk[0] ? r->psk : NULL,
				  .login = r->login,
				  .hooks = r->observe ? &hooks : NULL};
	int rc;

	if (!ctx.sink)
		return err_set(e, WEIR_OS, ENOMEM, "no memory for the output");
	if (!r->c->experiment)
		r->exp.position = (int64_t)r->n_runs;
	rc = r->m->run(&ctx, r->cfg, e);
	if (rc >= 0) {
		rc = finish_run(r, ctx.run, ctx.sink);
		if (rc >= 0)
			print_explained(r, ctx.run);
		return rc;
	}
	ctx.sink->close(ctx.sink, NULL);
	print_failed(r, ctx.run);
	model_run_free(ctx.run);
	return rc;
}

static void print_spread(struct runner *r)
{
	struct format_opts fo = format_opts_of(r);
	struct buf b = {0};

	if (r->n_runs < 2 || strcmp(form_of(r->c), "text") != 0)
		return;
	format_spread((const struct model_run *const *)r->runs, r->n_runs, &fo, &b);
	put(r, &b);
}

static void trim_store(struct runner *r)
{
	struct weir_err e = {0};
	int n = r->store && !store_read_only(r->store) ? store_trim(r->store, &e) : 0;

	if (n > 0)
		fprintf(stderr,
			"weir: the store is at its cap: the %d oldest untagged run%s removed "
			"(--store-cap)\n",
			n, n == 1 ? " was" : "s were");
}

static int run_all(struct runner *r, struct weir_err *e)
{
	int rc = 0;

	r->runs = calloc((size_t)r->c->repeat, sizeof(struct model_run *));
	if (!r->runs)
		return -ENOMEM;
	for (int64_t i = 0; i < r->c->repeat && rc >= 0; i++) {
		rc = run_once(r, e);
		r->interrupted = rc >= 0 && was_interrupted(r->runs[r->n_runs - 1]);
		if (r->interrupted || r->out_failed)
			break;
	}
	r->incomplete |= r->interrupted && r->c->repeat > 1;
	print_spread(r);
	trim_store(r);
	return rc;
}

static int prepare(struct runner *r, struct weir_err *e)
{
	uint8_t rnd[16];
	int rc = r->m->check ? r->m->check(r->cfg, e) : 0;

	if (rc >= 0)
		rc = check_forms(r->c, e);
	if (rc >= 0)
		rc = parse_tags(r, e);
	if (rc >= 0)
		rc = parse_asserts(r, e);
	if (rc >= 0)
		rc = read_experiment(r, e);
	if (rc >= 0)
		rc = read_psk(r, e);
	if (rc >= 0)
		rc = cmd_login_client(&r->c->login, &r->login, e);
	if (rc >= 0 && r->c->observe)
		rc = observe_run_new(r->c->observe, &r->observe, e);
	clk_random(rnd, sizeof(rnd));
	for (size_t i = 0; i < sizeof(rnd); i++)
		snprintf(r->exp_id + 2 * i, 3, "%02x", rnd[i]);
	return rc;
}

static void runner_fini(struct runner *r)
{
	for (size_t i = 0; i < r->n_runs; i++)
		model_run_free(r->runs[i]);
	free(r->runs);
	free(r->tags);
	free(r->asserts);
	store_close(r->store);
	proto_login_free(r->login);
	observe_run_free(r->observe);
	js_free(r->exp_doc);
	explicit_bzero(r->psk, sizeof(r->psk));
}

int cmd_measure(const struct measure *m, void *cfg)
{
	struct runner r = {.m = m, .cfg = cfg, .c = (void *)((char *)cfg + run_cfg_at(m))};
	struct weir_err e = {0};
	int rc = prepare(&r, &e);

	if (rc >= 0) {
		open_store(&r);
		rc = run_all(&r, &e);
	}
	if (rc < 0)
		rc = cmd_fail(m->name, &e);
	else if (r.incomplete || r.out_failed)
		rc = CMD_FAILED;
	else
		rc = r.assert_failed ? CMD_VERDICT : CMD_OK;
	runner_fini(&r);
	return rc;
}
