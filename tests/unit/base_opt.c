/* SPDX-License-Identifier: BSD-2-Clause */
/* Options from a command line, key=value and JSON; complaints; the way back to JSON. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct cfg {
	bool reverse, store;
	int64_t parallel, offset, time;
	uint64_t length, rate, blocks;
	char *name, *key, *host, *port;
	int zerocopy;
	struct opt_list tags, rest;
	double share;
	bool time_given;
};

static int parse_share(void *field, const char *arg, struct weir_err *e)
{
	if (arg && !strcmp(arg, "odd"))
		return -EINVAL; /* leaves the wording to the table */
	return unit_parse(arg ? arg : "100%", UNIT_RATIO, field, e);
}

static void share_json(struct jw *w, const char *key, const void *field)
{
	if (*(const double *)field != 0.03)
		jw_f64(w, key, *(const double *)field);
}

static const char *const ways[] = {"off", "sendfile", "msg", NULL};

#define AT(f) .offset = offsetof(struct cfg, f)
static const struct opt own[] = {
	{"reverse", 'R', OPT_FLAG, AT(reverse), .help = "the other way"},
	{"parallel", 'P', OPT_INT, AT(parallel), .metavar = "N", .help = "flows", .min = 1,
	 .max = 128, .fallback = "1"},
	{"offset", 0, OPT_INT, AT(offset), .metavar = "N", .help = "x", .min = -5, .max = 5},
	{"time", 't', OPT_TIME, AT(time), .metavar = "TIME", .help = "how long",
	 .min = NSEC_PER_MSEC, .max = 86400 * NSEC_PER_SEC, .fallback = "10s",
	 .given = offsetof(struct cfg, time_given)},
	{"length", 'l', OPT_SIZE, AT(length), .metavar = "SIZE", .help = "of a write", .min = 1,
	 .max = 1 << 20, .fallback = "128K"},
	{"rate", 'b', OPT_RATE, AT(rate), .metavar = "RATE", .help = "of a flow"},
	{"blocks", 'k', OPT_COUNT, AT(blocks), .metavar = "N", .help = "to send"},
	{"zerocopy", 'Z', OPT_ENUM, AT(zerocopy), OPT_OPTARG, .choices = ways, .help = "how"},
	{"share", 0, OPT_FUNC, AT(share), OPT_OPTARG, "SHARE", .help = "of all",
	 .func = parse_share, .func_json = share_json, .fallback = "3%"},
	{"host", 0, OPT_STR, AT(host), OPT_POSITIONAL | OPT_REQUIRED, "HOST", .help = "the server"},
	{"port", 0, OPT_STR, AT(port), OPT_POSITIONAL, "PORT", .help = "its port"},
	{"rest", 0, OPT_LIST, AT(rest), OPT_POSITIONAL | OPT_REST, "COMMAND", .help = "to run"},
};
static const struct opt common[] = {
	{"store", 0, OPT_FLAG, AT(store), .help = "keep it", .fallback = "true"},
	{"title", 'T', OPT_STR, AT(name), .metavar = "TEXT", .help = "said about it"},
	{"key", 0, OPT_STR, AT(key), OPT_SECRET, "KEY", .help = "shared key"},
	{"tag", 0, OPT_LIST, AT(tags), .metavar = "KEY=VALUE", .help = "a tag",
	 .fallback = "by=hand"},
};

struct fixture {
	struct cfg cfg;
	struct opt_set sets[2];
	struct weir_err e;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){.sets = {{"Own", own, ARRAY_LEN(own), &f->cfg},
				       {"Common", common, ARRAY_LEN(common), &f->cfg}}};
	assert_int_equal(opt_defaults(f->sets, 2, &f->e), 0);
}

static int parse(struct fixture *f, const char *line)
{
	char text[400], *argv[32] = {(char[]){"weir"}}, *save = NULL;
	int argc = 1;
	snprintf(text, sizeof(text), "%s", line);
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		argv[argc++] = s;
	return opt_parse(f->sets, 2, argc, argv, &f->e);
}

static void accept(struct fixture *f, const char *line)
{
	start(f);
	if (parse(f, line))
		fail_msg("%s: %s", line, f->e.msg);
}

static void refuse(const char *line, const char *message)
{
	struct fixture f;
	start(&f);
	assert_true(parse(&f, line) < 0);
	assert_string_equal(f.e.msg, message);
	assert_int_equal(f.e.domain, WEIR_USAGE);
	opt_fini(f.sets, 2);
}

static void as_json(struct fixture *f, const char *want)
{
	struct buf b = {0};
	struct jw w = jw_init(&b);
	jw_obj(&w, NULL);
	opt_to_json(f->sets, 2, &w);
	jw_end_obj(&w);
	assert_string_equal(b.data, want);
	buf_fini(&b);
}

static void defaults(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(f.cfg.parallel, 1);
	assert_true(f.cfg.time == 10 * NSEC_PER_SEC);
	assert_int_equal(f.cfg.length, 131072);
	assert_true(f.cfg.store && !f.cfg.reverse);
	assert_null(f.cfg.name);
	assert_string_equal(f.cfg.tags.v[0], "by=hand");
	assert_true(f.cfg.share == 0.03);
	as_json(&f, "{}");
	opt_fini(f.sets, 2);
	assert_null(f.cfg.tags.v);
}

static void long_names(void **state)
{
	(void)state;
	struct fixture f;
	accept(&f, "--time=500ms --parallel 4 --rate 1.5Gbit --length=64K --blocks 2k --reverse "
		   "--no-store --zerocopy=msg --share=5% --title x --offset -3 h");
	assert_true(f.cfg.time == 500 * NSEC_PER_MSEC);
	assert_int_equal(f.cfg.parallel, 4);
	assert_int_equal(f.cfg.rate, 1500000000);
	assert_int_equal(f.cfg.length, 65536);
	assert_int_equal(f.cfg.blocks, 2000);
	assert_true(f.cfg.reverse && !f.cfg.store);
	assert_int_equal(f.cfg.zerocopy, 2);
	assert_true(f.cfg.share == 0.05);
	assert_string_equal(f.cfg.name, "x");
	assert_int_equal(f.cfg.offset, -3);
	opt_fini(f.sets, 2);
}

static void letters_bundle(void **state)
{
	(void)state;
	struct fixture f;
	accept(&f, "-RP4 -Zt 2m h -b1M");
	assert_true(f.cfg.reverse);
	assert_int_equal(f.cfg.parallel, 4);
	assert_int_equal(f.cfg.zerocopy, 1); /* alone: the second choice */
	assert_true(f.cfg.time == 120 * NSEC_PER_SEC);
	assert_int_equal(f.cfg.rate, 1000000);
	opt_fini(f.sets, 2);
}

static void last_one_counts(void **state)
{
	(void)state;
	struct fixture f;
	accept(&f, "-T a h --title=b --store=no --store -P 3 -P 2 --share");
	assert_string_equal(f.cfg.name, "b");
	assert_true(f.cfg.store);
	assert_int_equal(f.cfg.parallel, 2);
	assert_true(f.cfg.share == 1);
	opt_fini(f.sets, 2);
}

static void lists_replace_their_default(void **state)
{
	(void)state;
	struct fixture f;
	accept(&f, "--tag a=1 h --tag=b=2 --tag c --tag d --tag e --tag f --tag g");
	assert_int_equal(f.cfg.tags.n, 7);
	assert_string_equal(f.cfg.tags.v[0], "a=1");
	assert_string_equal(f.cfg.tags.v[1], "b=2");
	assert_string_equal(f.cfg.tags.v[6], "g");
	assert_null(f.cfg.tags.v[7]);
	opt_fini(f.sets, 2);
}

static void places_in_order(void **state)
{
	(void)state;
	struct fixture f;
	accept(&f, "h -R 5201 cmd -P 9 --help -- -x");
	assert_string_equal(f.cfg.host, "h");
	assert_string_equal(f.cfg.port, "5201");
	assert_true(f.cfg.reverse);
	assert_int_equal(f.cfg.parallel, 1); /* -P belongs to the command */
	assert_int_equal(f.cfg.rest.n, 6);
	assert_string_equal(f.cfg.rest.v[1], "-P");
	assert_string_equal(f.cfg.rest.v[4], "--");
	assert_null(f.cfg.rest.v[6]);
	opt_fini(f.sets, 2);
}

static void dashes_lead_to_the_rest(void **state)
{
	(void)state;
	struct fixture f;
	accept(&f, "h -- cmd -x"); /* the optional PORT is passed over */
	assert_null(f.cfg.port);
	assert_int_equal(f.cfg.rest.n, 2);
	assert_string_equal(f.cfg.rest.v[1], "-x");
	opt_fini(f.sets, 2);
	accept(&f, "-- h cmd"); /* the required HOST is not */
	assert_string_equal(f.cfg.host, "h");
	assert_string_equal(f.cfg.rest.v[0], "cmd");
	opt_fini(f.sets, 2);
	accept(&f, "-");
	assert_string_equal(f.cfg.host, "-");
	opt_fini(f.sets, 2);
}

static void help_is_its_own_answer(void **state)
{
	(void)state;
	static const char *const lines[] = {"-h", "--help", "-Rh", "h --help"};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct fixture f;
		start(&f);
		assert_int_equal(parse(&f, lines[i]), -ECANCELED);
		assert_int_equal(f.e.code, ECANCELED);
		opt_fini(f.sets, 2);
	}
}

static void complaints(void **state)
{
	(void)state;
	refuse("h --time 5x", "--time: \"5x\" is not a time; use e.g. 10, 500ms, 2m");
	refuse("h -t 5x", "--time: \"5x\" is not a time; use e.g. 10, 500ms, 2m");
	refuse("h -t 2d", "--time: 2d is out of range; use 1ms to 1d");
	refuse("h -P 0", "--parallel: 0 is out of range; use 1 to 128");
	refuse("h -P x", "--parallel: \"x\" is not a whole number; use 1 to 128");
	refuse("h -P 99999999999999999999",
	       "--parallel: \"99999999999999999999\" is not a whole number; use 1 to 128");
	refuse("h --offset -6", "--offset: -6 is out of range; use -5 to 5");
	refuse("h -l 2M", "--length: 2M is out of range; use 1 to 1M");
	refuse("h -b fast", "--rate: \"fast\" is not a rate; use e.g. 200M, 1.5Gbit, 900kbit/s");
	refuse("h --zerocopy=x", "--zerocopy: \"x\" is not known; use off, sendfile, msg");
	refuse("h --store=perhaps", "--store: \"perhaps\" is neither yes nor no");
	refuse("h --share=odd", "--share: \"odd\" is not valid");
	refuse("h -t", "--time: the value TIME is missing");
	refuse("-R", "HOST is missing: the server");
	refuse("h --no-store=1", "--no-store takes no value");
	refuse("h --no-time", "--no-time: no such option");
}

static void one_argument_too_many(void **state)
{
	(void)state;
	static const struct opt rows[] = {
		{"host", 0, OPT_STR, AT(host), OPT_POSITIONAL, "HOST", .help = "the server"}};
	struct cfg cfg = {0};
	struct opt_set set = {"x", rows, 1, &cfg};
	struct weir_err e;
	char *argv[] = {(char[]){"weir"}, (char[]){"a"}, (char[]){"b"}};
	assert_int_equal(opt_parse(&set, 1, 3, argv, &e), -EINVAL);
	assert_string_equal(e.msg, "\"b\" is one argument too many");
	opt_fini(&set, 1);
}

static void suggests_the_nearest(void **state)
{
	(void)state;
	refuse("h --tiem 3", "--tiem: no such option; did you mean --time?");
	refuse("h --paralel=3", "--paralel: no such option; did you mean --parallel?");
	refuse("h --zero", "--zero: no such option; did you mean --zerocopy?");
	refuse("h --frobnicate", "--frobnicate: no such option");
	refuse("h -x", "-x: no such option");
	refuse("h -R\x1b", "-\\x1b: no such option");
}

static void secrets_stay_secret(void **state)
{
	(void)state;
	static const struct opt rows[] = {{"pin", 0, OPT_INT, AT(parallel), OPT_SECRET, "PIN",
					   .help = "x", .min = 1, .max = 9}};
	struct cfg cfg = {0};
	struct opt_set set = {"x", rows, 1, &cfg};
	struct weir_err e;
	assert_true(opt_set_value(&set, 1, "pin", "hunter2", &e) < 0);
	assert_string_equal(e.msg, "pin: the value is not valid");
	struct fixture f;
	accept(&f, "h --key hunter2");
	assert_string_equal(f.cfg.key, "hunter2");
	as_json(&f, "{\"host\":\"h\",\"key\":\"***\"}");
	opt_fini(f.sets, 2);
}

static void key_and_value(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(opt_set_value(f.sets, 2, "time", "1.5m", &f.e), 0);
	assert_true(f.cfg.time == 90 * NSEC_PER_SEC);
	assert_int_equal(opt_set_value(f.sets, 2, "host", "h", &f.e), 0);
	assert_int_equal(opt_set_value(f.sets, 2, "reverse", NULL, &f.e), 0);
	assert_true(f.cfg.reverse);
	assert_int_equal(opt_set_value(f.sets, 2, "store", "no", &f.e), 0);
	assert_false(f.cfg.store);
	assert_int_equal(opt_set_value(f.sets, 2, "time", NULL, &f.e), -EINVAL);
	assert_int_equal(opt_set_value(f.sets, 2, "parallel", "0x10", &f.e), 0);
	assert_int_equal(f.cfg.parallel, 16);
	assert_int_equal(opt_set_value(f.sets, 2, "rat", "1", &f.e), -EINVAL);
	assert_string_equal(f.e.msg, "rat: no such option; did you mean rate?");
	opt_fini(f.sets, 2);
}

/* Also when what is given is what would hold anyway. */
static void what_was_given_is_known(void **state)
{
	struct fixture f;

	(void)state;
	accept(&f, "h");
	assert_false(f.cfg.time_given);
	opt_fini(f.sets, 2);
	accept(&f, "h -t 10");
	assert_true(f.cfg.time_given);
	assert_true(f.cfg.time == 10 * NSEC_PER_SEC);
	opt_fini(f.sets, 2);
}

static int from_json(struct fixture *f, const char *text)
{
	struct js_doc *d;
	start(f);
	assert_int_equal(js_parse(text, strlen(text), &js_limits_params, &d, &f->e), 0);
	int rc = opt_from_json(f->sets, 2, js_root(d), &f->e);
	js_free(d);
	return rc;
}

static void json_both_ways(void **state)
{
	(void)state;
	static const char text[] =
		"{\"reverse\":true,\"parallel\":4,\"offset\":-3,\"time\":0.5,\"length\":1000,"
		"\"rate\":1500000000,\"blocks\":7,\"zerocopy\":\"msg\",\"share\":0.05,"
		"\"host\":\"h\",\"rest\":[\"a\",\"-b\"],\"store\":false,\"title\":\"x\","
		"\"tag\":[\"c\"]}";
	struct fixture f;
	assert_int_equal(from_json(&f, text), 0);
	assert_true(f.cfg.time == 500 * NSEC_PER_MSEC);
	as_json(&f, text);
	opt_fini(f.sets, 2);
	assert_int_equal(from_json(&f, "{\"time\":\"2m\",\"rate\":\"1M\",\"tag\":\"more\"}"), 0);
	assert_true(f.cfg.time == 120 * NSEC_PER_SEC && f.cfg.rate == 1000000);
	opt_fini(f.sets, 2);
}

static void json_leaves_out(void **state)
{
	(void)state;
	struct fixture f;
	assert_int_equal(from_json(&f, "{\"key\":\"***\",\"title\":null,\"time\":null}"), 0);
	assert_null(f.cfg.key);
	assert_null(f.cfg.name);
	as_json(&f, "{}");
	opt_fini(f.sets, 2);
}

static void json_complaints(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"[]", "the options are not a JSON object"},
		{"{\"tiem\":1}", "tiem: no such option; did you mean time?"},
		{"{\"parallel\":0}", "parallel: 0 is out of range; use 1 to 128"},
		{"{\"parallel\":1.5}", "parallel: the value should be a number in range"},
		{"{\"time\":1e300}", "time: the value should be a number in range"},
		{"{\"time\":1e6}", "time: 1000000s is out of range; use 1ms to 1d"},
		{"{\"rate\":-1}", "rate: -1 is out of range; use 0 or more"},
		{"{\"reverse\":1}", "reverse: the value should be true or false"},
		{"{\"title\":{}}", "title: the value should be text"},
		{"{\"tag\":[1]}", "tag: the value should be an array of strings"},
		{"{\"time\":\"x\"}", "time: \"x\" is not a time; use e.g. 10, 500ms, 2m"},
		{"{\"host\":[]}", "HOST: the value should be text"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		assert_true(from_json(&f, rows[i].text) < 0);
		assert_string_equal(f.e.msg, rows[i].message);
		assert_int_equal(f.e.domain, WEIR_USAGE);
		opt_fini(f.sets, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(long_names),
		cmocka_unit_test(letters_bundle),
		cmocka_unit_test(last_one_counts),
		cmocka_unit_test(lists_replace_their_default),
		cmocka_unit_test(places_in_order),
		cmocka_unit_test(dashes_lead_to_the_rest),
		cmocka_unit_test(help_is_its_own_answer),
		cmocka_unit_test(complaints),
		cmocka_unit_test(one_argument_too_many),
		cmocka_unit_test(suggests_the_nearest),
		cmocka_unit_test(secrets_stay_secret),
		cmocka_unit_test(key_and_value),
		cmocka_unit_test(what_was_given_is_known),
		cmocka_unit_test(json_both_ways),
		cmocka_unit_test(json_leaves_out),
		cmocka_unit_test(json_complaints),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
