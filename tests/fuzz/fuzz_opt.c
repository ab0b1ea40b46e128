/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Option strings: the input's lines are an argv, each also a key=value, and the whole also
 * a JSON object. What was accepted is written as JSON and must be accepted again.
 */
#include "base/base.h"
#include "fuzz.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct cfg {
	bool reverse, store;
	int64_t parallel, offset, time;
	uint64_t length, rate, blocks;
	char *name, *key, *host;
	int zerocopy;
	struct opt_list tags, rest;
	double share;
};

static int parse_share(void *field, const char *arg, struct weir_err *e)
{
	return unit_parse(arg ? arg : "0", UNIT_RATIO, field, e);
}

static void share_json(struct jw *w, const char *key, const void *field)
{
	jw_f64(w, key, *(const double *)field);
}

static const char *const ways[] = {"off", "sendfile", "msg", NULL};

#define AT(f) .offset = offsetof(struct cfg, f)
static const struct opt rows[] = {
	{"reverse", 'R', OPT_FLAG, AT(reverse), .help = "x"},
	{"store", 0, OPT_FLAG, AT(store), .help = "x", .fallback = "true"},
	{"parallel", 'P', OPT_INT, AT(parallel), .help = "x", .min = 1, .max = 128,
	 .fallback = "1"},
	{"offset", 0, OPT_INT, AT(offset), .help = "x", .min = -5, .max = 5},
	{"time", 't', OPT_TIME, AT(time), .help = "x", .fallback = "10s"},
	{"length", 'l', OPT_SIZE, AT(length), .help = "x", .min = 1, .max = 1 << 20,
	 .fallback = "128K"},
	{"rate", 'b', OPT_RATE, AT(rate), .help = "x"},
	{"blocks", 'k', OPT_COUNT, AT(blocks), .help = "x"},
	{"name", 'T', OPT_STR, AT(name), .help = "x"},
	{"key", 0, OPT_STR, AT(key), OPT_SECRET, .help = "x"},
	{"zerocopy", 'Z', OPT_ENUM, AT(zerocopy), OPT_OPTARG, .choices = ways, .help = "x"},
	{"tag", 0, OPT_LIST, AT(tags), .help = "x"},
	{"share", 0, OPT_FUNC, AT(share), .help = "x", .func = parse_share, .func_json = share_json,
	 .fallback = "3%"},
	{"host", 0, OPT_STR, AT(host), OPT_POSITIONAL, "HOST", .help = "x"},
	{"rest", 0, OPT_LIST, AT(rest), OPT_POSITIONAL | OPT_REST, "COMMAND", .help = "x"},
};

static void to_json(const struct opt_set *set, struct buf *b)
{
	struct jw w = jw_init(b);
	jw_obj(&w, NULL);
	opt_to_json(set, 1, &w);
	jw_end_obj(&w);
}

/* The JSON form of what was accepted gives the same JSON form again. */
static void round_trip(const struct opt_set *set)
{
	struct cfg cfg = {0};
	struct opt_set second = {"x", rows, ARRAY_LEN(rows), &cfg};
	struct js_limits lim = {.max_bytes = 8 << 20, .max_depth = 4};
	struct buf one = {0}, two = {0};
	struct js_doc *d;
	struct weir_err e = {0};
	to_json(set, &one);
	FUZZ_CHECK(!opt_defaults(&second, 1, &e));
	FUZZ_CHECK(!js_parse(one.data, one.len, &lim, &d, &e));
	FUZZ_CHECK(!opt_from_json(&second, 1, js_root(d), &e));
	if (((struct cfg *)set->cfg)->key)
		FUZZ_CHECK(strstr(one.data, "\"key\":\"***\"") && !cfg.key);
	else {
		to_json(&second, &two);
		FUZZ_CHECK(one.len == two.len && !memcmp(one.data, two.data, one.len));
	}
	js_free(d);
	buf_fini(&one);
	buf_fini(&two);
	opt_fini(&second, 1);
}

static void check(const struct opt_set *set, int rc, const struct weir_err *e)
{
	if (!rc)
		round_trip(set);
	else if (rc != -ECANCELED)
		FUZZ_CHECK(e->code && e->msg[0] && e->domain == WEIR_USAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[1024], *argv[66] = {(char[]){"x"}};
	int argc = 1;
	struct cfg cfg = {0};
	struct opt_set set = {"x", rows, ARRAY_LEN(rows), &cfg};
	struct weir_err e = {0};
	struct js_doc *d;
	if (size >= sizeof(text))
		return 0;
	FUZZ_CHECK(!opt_defaults(&set, 1, &e));
	if (!js_parse((const char *)data, size, &js_limits_params, &d, &e))
		check(&set, opt_from_json(&set, 1, js_root(d), &e), &e);
	js_free(d);
	memcpy(text, data, size);
	text[size] = '\0';
	char *save = NULL;
	for (char *s = strtok_r(text, "\n", &save); s && argc < 64; s = strtok_r(NULL, "\n", &save))
		argv[argc++] = s;
	check(&set, opt_parse(&set, 1, argc, argv, &e), &e);
	for (int i = 1; i < argc; i++) {
		char *eq = strchr(argv[i], '=');
		if (eq)
			*eq = '\0';
		check(&set, opt_set_value(&set, 1, argv[i], eq ? eq + 1 : NULL, &e), &e);
	}
	opt_fini(&set, 1);
	return 0;
}
