/* SPDX-License-Identifier: BSD-2-Clause */
/* Anonymising: what must go is gone everywhere, what must stay is left, and it is consistent. */
#include "model_full.h"

#include <stdlib.h>

static const char *scrub(const char *text)
{
	static char out[512];
	struct model_run *r = model_run_new("t", 0, full_rnd);
	r->host[MODEL_NEAR].name = "Alpha.example.org";
	r->host[MODEL_FAR].name = "beta";
	r->title = text;
	model_anonymise(r);
	assert_true(strlen(r->title) < sizeof(out));
	strcpy(out, r->title);
	model_run_free(r);
	return out;
}

static void test_texts(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"from alpha.example.org to beta", "from host-1 to host-2"},
		{"ALPHA is not alphabet", "host-3 is not alphabet"},
		{"beta.lan, beta.", "host-2, host-2."},
		{"alpha-2 and xbeta", "alpha-2 and xbeta"},
		{"10.0.0.1 10.0.0.2 10.0.0.1.", "addr-1 addr-2 addr-1."},
		{"10.0.0.1:5201, 10.0.0.0/24", "addr-1:5201, addr-2/24"},
		{"10.0.0.1-10.0.0.9", "addr-1-addr-2"},
		{"fe80::1%eth0 and FE80:0::1", "addr-1 and addr-1"},
		{"[2001:db8::5]:5201", "[addr-1]:5201"},
		{"::ffff:10.0.0.1", "addr-1"},
		{"02:00:5e:AA:bb:01 02-00-5e-aa-BB-01", "mac-1 mac-1"},
		{"enx02005eaabb01 wlan0", "mac-1 wlan0"},
		{"/srv/me/x y", "path-1"},
		{"see /srv/me/x, /etc", "see path-1, path-2"},
		{"http://10.0.0.1/x", "http://addr-1/x"},
		{"943 Mbit/s at 12:34:56, 2026-11-30T15:57:46Z",
		 "943 Mbit/s at 12:34:56, 2026-11-30T15:57:46Z"},
		{"Linux 6.1.0-13, weir 0.1.0, 1.2.3.4.5", "Linux 6.1.0-13, weir 0.1.0, 1.2.3.4.5"},
		{"a / b, and/or, 300.1.2.3", "a / b, and/or, 300.1.2.3"},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(scrub(cases[i].in), cases[i].out);
}

static struct model_run *private_run(void)
{
	struct model_run *r = full_run();
	const char *why[] = {"beta differs"};
	r->host[MODEL_NEAR] = (struct model_host){
		"{\"hostname\":\"alpha\",\"nic\":{\"mac\":\"02:00:5e:aa:bb:01\"},\"mtu\":1500,"
		"\"routes\":{\"198.18.0.2\":[\"via 198.18.0.1\"]},\"bin\":\"/opt/w\\\"x y/weir\"}",
		"alpha", "weir", "0.0.0"};
	r->host[MODEL_FAR].name = "198.18.0.2";
	r->request = "{\"host\":\"beta.example.org\",\"note\":\"at beta\"}";
	r->title = "alpha to beta";
	r->error = "198.18.0.2 refused";
	r->parts[0].params = "{\"to\":\"198.18.0.2\"}";
	model_add_tag(r, "where", "beta's room");
	model_add_event(r, 0, WARN_STALL, NULL, 0, "198.18.0.2 stalls, see /var/log/x");
	model_add_verdict(r, &(struct model_verdict){
				     .advice = "replace alpha", .reasons = why, .n_reasons = 1});
	model_add_summary(r,
			  &(struct model_summary){
				  .part = MODEL_NO_PART,
				  .metric = model_metric("bytes"),
				  .dims = model_dims_with(DIMS_NONE, DIM_IFACE,
							  model_run_intern(r, "enx02005eaabb01"))});
	return r;
}

static void test_whole_run(void **state)
{
	(void)state;
	static const char *const gone[] = {"alpha", "beta",  "198.18", "02:00", "02005eaabb01",
					   "/opt",  "/var/", "mail",   "/srv",  "example.org"};
	struct model_run *r = private_run(), *back = NULL;
	struct js_doc *doc = NULL;
	struct buf b = {0};
	model_anonymise(r);
	model_to_json(r, &b);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		if (strstr(b.data, gone[i]))
			fail_msg("%s is still in %s", gone[i], b.data);
	}
	assert_string_equal(r->host[MODEL_NEAR].name, "host-1");
	assert_string_equal(r->host[MODEL_FAR].name, "addr-1");
	assert_string_equal(r->error, "addr-1 refused");
	assert_string_equal(r->title, "host-1 to host-3");
	assert_non_null(strstr(r->request, "\"note\":\"at host-3\""));
	assert_non_null(strstr(r->host[MODEL_NEAR].facts, "\"mtu\":1500"));
	assert_non_null(strstr(r->host[MODEL_NEAR].facts, "\"addr-1\":["));
	assert_string_equal(model_run_interned(r, r->sums[2].dims.v[DIM_IFACE]), "mac-1");
	assert_int_equal(model_run_intern(r, "mac-1"), r->sums[2].dims.v[DIM_IFACE]);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &doc, NULL), 0);
	assert_int_equal(model_from_json(js_root(doc), &back, NULL), 0);
	js_free(doc);
	buf_fini(&b);
	model_run_free(back);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_whole_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
