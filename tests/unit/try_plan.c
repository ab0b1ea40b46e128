/* SPDX-License-Identifier: BSD-2-Clause */
/* What varies and in which order: parsed, balanced, the same from the same seed, kept as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "try/try.h"

static struct try_design design_of(const char *one, const char *two)
{
	struct try_design d = {.seed = 7, .blocks = 40};
	struct weir_err e = {0};

	assert_int_equal(try_factor_parse(&d.factors[d.n_factors++], one, "tcp", &e), 0);
	if (two)
		assert_int_equal(try_factor_parse(&d.factors[d.n_factors++], two, "tcp", &e), 0);
	return d;
}

static void option_is_parsed(void **state)
{
	struct try_design d = design_of("tcp.congestion=cubic,bbr", NULL);
	const struct try_factor *f = &d.factors[0];

	(void)state;
	assert_int_equal(f->kind, TRY_OPTION);
	assert_string_equal(f->name, "congestion");
	assert_int_equal(f->n_levels, 2);
	assert_string_equal(f->levels[0], "cubic");
	assert_string_equal(f->levels[1], "bbr");
	try_design_fini(&d);
}

static void knobs_are_checked(void **state)
{
	static const char *const good[] = {
		"sysctl:net.ipv4.tcp_rmem=4096 8192 16384,4096 131072 6291456",
		"iface:eth0.5.mtu=1500,9000",
		"net.ipv4.tcp_sack=0,1",
		"iface:eth0.rx-usecs=0,50",
		"iface:eth0.gro=on,off",
		"iface:eth0.rps_cpus:0=0,f",
		"iface:eth0.qdisc=pfifo limit 10,default",
		"cpu:0.governor=performance,powersave",
		"service:irqbalance.state=running,stopped",
	};
	static const char *const bad[] = {
		"sysctl:net.ipv4.tcp_rmem=4096,8192",
		"sysctl:kernel.panic=1,2",
		"sysctl:../../etc=1,2",
		"sysctl:iface.mtu=1500,9000",
		"iface:mtu=1500,9000",
		"iface:eth1.mtu=1500,x",
		"iface:eth1/..mtu=1500,9000",
		"boot:mitigations=auto,off",
		"service:sshd.state=running,stopped",
		"iface:eth0.gro=on,maybe",
	};
	struct try_factor f;
	struct weir_err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(try_factor_parse(&f, good[i], "tcp", &e), 0);
		assert_int_equal(f.kind, TRY_KNOB);
		assert_int_equal(f.n_levels, 2);
		try_factor_fini(&f);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_true(try_factor_parse(&f, bad[i], "tcp", &e) < 0);
		assert_true(e.msg[0]);
	}
}

static void nonsense_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"=1,2",
		"window",
		"window=",
		"window=1M",
		"window=1M,",
		"window=,",
		"udp.window=1M,2M",
		"l=1,2,3,4,5,6,7,8,9",
		"window=1M,2M,1M",
	};
	struct try_factor f;
	struct weir_err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = (struct weir_err){0};
		assert_true(try_factor_parse(&f, bad[i], "tcp", &e) < 0);
		assert_int_equal(e.domain, WEIR_USAGE);
	}
}

static void arms_have_names(void **state)
{
	static const char *const commands[] = {"true", "false"};
	struct try_factor f;
	struct weir_err e = {0};

	(void)state;
	assert_int_equal(try_factor_arms(&f, NULL, commands, 2, &e), 0);
	assert_string_equal(f.levels[1], "B");
	assert_string_equal(f.commands[1], "false");
	try_factor_fini(&f);
	assert_int_equal(try_factor_arms(&f, "stock,patched", NULL, 0, &e), 0);
	assert_int_equal(f.kind, TRY_HAND);
	try_factor_fini(&f);
	assert_true(try_factor_arms(&f, "a,b,c", commands, 2, &e) < 0);
}

static void pairs_are_tossed(void **state)
{
	struct try_design d = design_of("window=1M,2M", NULL);
	size_t order[TRY_VARIANTS_MAX], first = 0, changes = 0, last = 2;

	(void)state;
	for (size_t b = 0; b < d.blocks; b++) {
		try_order(&d, b, order);
		assert_int_equal(order[0] + order[1], 1);
		assert_int_equal(try_variant_at(&d, 2 * b), order[0]);
		first += order[0] == 0;
		changes += order[0] != last;
		last = order[0];
	}
	assert_in_range(first, 10, 30);
	assert_in_range(changes, 8, 32);
	try_design_fini(&d);
}

static void same_seed_same_order(void **state)
{
	struct try_design d = design_of("window=1M,2M", NULL),
			  other = design_of("window=1M,2M", NULL);
	size_t same = 0;

	(void)state;
	other.seed = 8;
	for (size_t i = 0; i < 2 * d.blocks; i++) {
		assert_int_equal(try_variant_at(&d, i), try_variant_at(&d, i));
		same += try_variant_at(&d, i) == try_variant_at(&other, i);
	}
	assert_true(same < 2 * d.blocks);
	try_design_fini(&d);
	try_design_fini(&other);
}

static void more_levels_are_mirrored(void **state)
{
	struct try_design d = design_of("window=1M,2M,4M", NULL);
	size_t there[TRY_VARIANTS_MAX], back[TRY_VARIANTS_MAX];

	(void)state;
	for (size_t b = 0; b < d.blocks; b += 2) {
		size_t seen = 0;

		try_order(&d, b, there);
		try_order(&d, b + 1, back);
		for (size_t i = 0; i < 3; i++) {
			seen |= (size_t)1 << there[i];
			assert_int_equal(there[i], back[2 - i]);
		}
		assert_int_equal(seen, 7);
	}
	try_design_fini(&d);
}

static void two_factors_are_crossed(void **state)
{
	struct try_design d = design_of("window=1M,2M", "length=1K,2K,4K");
	char *command[] = {(char[]){"tcp"}, (char[]){"h"}};
	struct buf b = {0};
	char **w;

	(void)state;
	assert_int_equal(try_variants(&d), 6);
	assert_int_equal(try_level(&d, 4, 0), 1);
	assert_int_equal(try_level(&d, 4, 1), 1);
	try_variant_name(&d, 5, &b);
	assert_string_equal(b.data, "2M+4K");
	w = try_words(&d, 5, command, 2);
	assert_string_equal(w[0], "tcp");
	assert_string_equal(w[2], "--window=2M");
	assert_string_equal(w[3], "--length=4K");
	assert_null(w[4]);
	try_words_free(w);
	buf_fini(&b);
	try_design_fini(&d);
}

static void options_stand_before_dashes(void **state)
{
	struct try_design d = design_of("window=1M,2M", NULL);
	char *command[] = {(char[]){"tcp"}, (char[]){"--"}, (char[]){"h"}};
	char **w = try_words(&d, 0, command, 3);

	(void)state;
	assert_string_equal(w[1], "--window=1M");
	assert_string_equal(w[2], "--");
	assert_string_equal(w[3], "h");
	try_words_free(w);
	try_design_fini(&d);
}

static void same_has_one_level(void **state)
{
	struct try_design d = design_of("window=1M,2M", NULL);
	struct buf b = {0};

	(void)state;
	d.same = true;
	assert_int_equal(try_variants(&d), 2);
	assert_int_equal(try_level(&d, 0, 0), 0);
	assert_int_equal(try_level(&d, 1, 0), 0);
	try_variant_name(&d, 1, &b);
	assert_string_equal(b.data, "A2");
	buf_fini(&b);
	try_design_fini(&d);
}

static void text_is_read_back(void **state)
{
	struct try_design d = design_of("window=1M,2M", "length=1K,2K,4K"), back = {0};
	struct buf text = {0}, again = {0};
	struct weir_err e = {0};

	(void)state;
	try_design_json(&d, &text);
	assert_int_equal(try_design_read(&back, text.data, &e), 0);
	try_design_json(&back, &again);
	assert_string_equal(text.data, again.data);
	buf_fini(&text);
	buf_fini(&again);
	try_design_fini(&d);
	try_design_fini(&back);
}

/* A database is no place to take commands or kernel settings from. */
static void text_runs_nothing(void **state)
{
	static const char *const bad[] = {
		"[{\"kind\":\"shell\",\"name\":\"arm\",\"levels\":[\"A\",\"B\"],"
		"\"commands\":[\"touch x\",\"touch y\"]}]",
		"[{\"kind\":\"knob\",\"name\":\"net.ipv4.tcp_ecn\",\"levels\":[\"0\",\"1\"]}]",
	};
	static const char *const broken[] = {
		"",
		"{}",
		"[1]",
		"[{\"kind\":\"option\",\"name\":\"-x\",\"levels\":[\"0\",\"1\"]}]",
		"[{\"kind\":\"option\",\"name\":\"a=b\",\"levels\":[\"0\",\"1\"]}]",
		"[{\"kind\":\"option\",\"name\":\"a\",\"levels\":[\"0\"]}]",
		"[{\"kind\":\"option\",\"name\":\"a\"}]",
		"[{\"kind\":\"no\",\"name\":\"a\",\"levels\":[\"0\",\"1\"]}]",
		"[{},{},{}]",
	};
	struct try_design d;
	struct weir_err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		d = (struct try_design){0};
		assert_int_equal(try_design_read(&d, bad[i], &e), -EPERM);
		assert_int_equal(d.n_factors, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		d = (struct try_design){0};
		assert_true(try_design_read(&d, broken[i], &e) < 0);
		assert_int_equal(d.n_factors, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(option_is_parsed),
		cmocka_unit_test(knobs_are_checked),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(arms_have_names),
		cmocka_unit_test(pairs_are_tossed),
		cmocka_unit_test(same_seed_same_order),
		cmocka_unit_test(more_levels_are_mirrored),
		cmocka_unit_test(two_factors_are_crossed),
		cmocka_unit_test(options_stand_before_dashes),
		cmocka_unit_test(same_has_one_level),
		cmocka_unit_test(text_is_read_back),
		cmocka_unit_test(text_runs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
