/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf 2's command line: every flag of 2.1.8's help has a row, its values are read, modes that
 * exclude each other are told so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "persona/iperf.h"

/* Of `iperf -h` and iperf(1), 2.1.8. */
static const char *const flags[] = {
	"bandwidth",
	"enhanced",
	"format",
	"hide-ips",
	"interval",
	"len",
	"print_mss",
	"output",
	"port",
	"permit-key",
	"sum-only",
	"udp",
	"window",
	"realtime",
	"bind",
	"compatibility",
	"mss",
	"nodelay",
	"tos",
	"tcp-congestion",
	"server",
	"singleclient",
	"histograms",
	"permit-key-timeout",
	"tcp-rx-window-clamp",
	"tap-dev",
	"time",
	"udp-histogram",
	"single_udp",
	"sum-dstip",
	"daemon",
	"ipv6_domain",
	"bounceback",
	"bounceback-congest",
	"bounceback-hold",
	"bounceback-period",
	"bounceback-no-quickack",
	"bounceback-txdelay",
	"client",
	"connect-only",
	"connect-retries",
	"dualtest",
	"fq-rate",
	"full-duplex",
	"ipg",
	"isochronous",
	"incr-dstip",
	"incr-dstport",
	"incr-srcip",
	"incr-srcport",
	"local-only",
	"near-congestion",
	"no-connect-sync",
	"no-udp-fin",
	"num",
	"tradeoff",
	"tcp-quickack",
	"tcp-write-prefetch",
	"tcp-write-times",
	"trip-times",
	"txdelay-time",
	"txstart-time",
	"fileinput",
	"ssm-host",
	"stdin",
	"listenport",
	"parallel",
	"reverse",
	"ttl",
	"peer-detect",
	"reportexclude",
	"reportstyle",
	"help",
	"version",
	"burst-size",
	"burst-period",
	"tos-override",
	"l2checks",
	"NUM_REPORT_STRUCTS",
};
static const char letters[] = "befilmopuwzBCMNSZst1UDVcdnrFHILPRTXxyhv";

static bool has_row(const char *name, char letter)
{
	for (size_t s = 0; s < I2_SETS; s++)
		for (size_t i = 0; i < i2_sets[s].n; i++)
			if (name ? !strcmp(i2_sets[s].rows[i].name, name)
				 : i2_sets[s].rows[i].letter == letter)
				return true;
	return false;
}

static void every_flag_has_a_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		assert_true(has_row(flags[i], 0));
	for (size_t i = 0; letters[i]; i++)
		assert_true(has_row(NULL, letters[i]));
}

static int parse(const char *line, struct i2_cfg *c, char *err, size_t cap)
{
	char text[300], *argv[32] = {text}, *save = NULL;
	int argc = 0;

	snprintf(text, sizeof(text), "iperf %s", line);
	for (char *w = strtok_r(text, " ", &save); w && argc < 31; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	return i2_parse(c, argc, argv, err, cap);
}

static void values_are_read(void **state)
{
	struct i2_cfg c;
	char err[300] = "";

	(void)state;
	assert_int_equal(parse("-c h -u -b 10M,1m -l 1000 -S ef -t 2.5 -P 3 -L 5002 -T 4", &c, err,
			       sizeof(err)),
			 0);
	assert_int_equal(c.rate_bps, 10485760);
	assert_float_equal(c.rate_stdev, 1e6, 0);
	assert_int_equal(c.n_tos, 0xb8);
	assert_int_equal(c.time_ns, 2500 * NSEC_PER_MSEC);
	assert_int_equal(c.n_listen, 5002);
	assert_int_equal(c.n_ttl, 4);
	i2_cfg_fini(&c);
	assert_int_equal(parse("-c h --isochronous=30:1m,100k --histograms=50u,2000,10,90", &c, err,
			       sizeof(err)),
			 0);
	assert_float_equal(c.iso_fps, 30, 0);
	assert_float_equal(c.iso_mean, 1e6, 0);
	assert_float_equal(c.iso_stdev, 1e5, 0);
	assert_int_equal(c.hist_bin_ns, 50000);
	assert_int_equal(c.hist_bins, 2000);
	assert_float_equal(c.hist_upper, 90, 0);
	assert_true(c.enhanced);
	i2_cfg_fini(&c);
	assert_int_equal(parse("-c h --isochronous=2:25p", &c, err, sizeof(err)), 0);
	assert_true(c.iso_packets);
	i2_cfg_fini(&c);
	assert_int_equal(
		parse("-c h --bounceback=3 --bounceback-congest=down,2 --bounceback-hold 2.5", &c,
		      err, sizeof(err)),
		0);
	assert_int_equal(c.n_bb, 3);
	assert_int_equal(c.congest, I2_CONGEST_DOWN);
	assert_int_equal(c.n_bb_load, 2);
	assert_int_equal(c.n_bb_hold_us, 2500);
	i2_cfg_fini(&c);
	assert_int_equal(parse("-c h --permit-key sesame --near-congestion -u -b 100pps", &c, err,
			       sizeof(err)),
			 -EINVAL); /* --near-congestion is TCP's */
	i2_cfg_fini(&c);
	assert_int_equal(parse("-c h -d", &c, err, sizeof(err)), 0);
	assert_int_equal(c.n_listen, 5001); /* the port of -p */
	i2_cfg_fini(&c);
}

/* Who asks for a key and has none must not be open to all. */
static void a_server_makes_its_key(void **state)
{
	struct i2_cfg a, b;
	char err[300] = "";

	(void)state;
	assert_int_equal(parse("-s --permit-key", &a, err, sizeof(err)), 0);
	assert_int_equal(parse("-s --permit-key", &b, err, sizeof(err)), 0);
	assert_int_equal(strlen(a.key), 24);
	assert_string_not_equal(a.key, b.key);
	i2_cfg_fini(&a);
	i2_cfg_fini(&b);
	assert_int_equal(parse("-c h --permit-key", &a, err, sizeof(err)), -EINVAL);
	i2_cfg_fini(&a);
}

static void what_cannot_be_is_told(void **state)
{
	static const char *const lines[] = {
		"-s -c h",
		"",
		"-c h -R --full-duplex",
		"-c h -d -r",
		"-c h -d -R",
		"-c h -u -r",
		"-c h -u -F file",
		"-c h -C -R",
		"-c h -U",
		"-c h --isochronous=0:1m",
		"-c h --histograms=0",
		"-c h --burst-size 1K",
		"-c h --style 2.0.5 -e",
		"-c h -S nothing",
		"-c h --permit-key=abc",
		"-c h -H 10.0.0.1",
		"-c h --sum-only",
		"-c h --no-such-flag",
	};
	struct i2_cfg c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		char err[300] = "";

		assert_int_equal(parse(lines[i], &c, err, sizeof(err)), -EINVAL);
		assert_true(err[0]);
		assert_null(strchr(err, '\n'));
		i2_cfg_fini(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flag_has_a_row),
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(a_server_makes_its_key),
		cmocka_unit_test(what_cannot_be_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
