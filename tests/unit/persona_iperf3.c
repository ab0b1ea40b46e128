/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf3's command line: every flag of 3.12 and 3.21 has its row, its place and its range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persona/priv.h"

/* Long names of both versions' help, and the older names that they still take. */
static const char *const flags[] = {"port",
				    "format",
				    "interval",
				    "pidfile",
				    "file",
				    "affinity",
				    "bind",
				    "bind-dev",
				    "verbose",
				    "json",
				    "json-stream",
				    "json-stream-full-output",
				    "logfile",
				    "forceflush",
				    "timestamps",
				    "rcv-timeout",
				    "snd-timeout",
				    "cntl-ka",
				    "mptcp",
				    "debug",
				    "version",
				    "help",
				    "server",
				    "daemon",
				    "one-off",
				    "server-bitrate-limit",
				    "idle-timeout",
				    "server-max-duration",
				    "rsa-private-key-path",
				    "authorized-users-path",
				    "time-skew-threshold",
				    "use-pkcs1-padding",
				    "client",
				    "udp",
				    "connect-timeout",
				    "bitrate",
				    "bandwidth",
				    "pacing-timer",
				    "fq-rate",
				    "no-fq-socket-pacing",
				    "time",
				    "bytes",
				    "blockcount",
				    "length",
				    "cport",
				    "parallel",
				    "reverse",
				    "bidir",
				    "window",
				    "congestion",
				    "linux-congestion",
				    "set-mss",
				    "no-delay",
				    "version4",
				    "version6",
				    "tos",
				    "dscp",
				    "flowlabel",
				    "zerocopy",
				    "skip-rx-copy",
				    "omit",
				    "title",
				    "extra-data",
				    "get-server-output",
				    "udp-counters-64bit",
				    "gsro",
				    "repeating-payload",
				    "dont-fragment",
				    "username",
				    "rsa-public-key-path",
				    "sctp",
				    "xbind",
				    "nstreams"};
static const char letters[] = "pfiIFABVJmdvhsD1cubtnklPRwCMN46SLZOTX";

static const struct opt *row_of(const char *name, char letter)
{
	for (size_t s = 0; s < i3_n_sets; s++) {
		for (size_t i = 0; i < i3_sets[s].n; i++) {
			const struct opt *o = &i3_sets[s].rows[i];

			if ((name && !strcmp(o->name, name)) || (letter && o->letter == letter))
				return o;
		}
	}
	return NULL;
}

static void every_flag(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		const struct opt *o = row_of(flags[i], 0);

		if (!o)
			fail_msg("no --%s", flags[i]);
		assert_true(o && strlen(o->help) > 3);
	}
	for (const char *l = letters; *l; l++) {
		if (!row_of(NULL, *l))
			fail_msg("no -%c", *l);
	}
}

static int parse(struct i3_cfg *c, const char *line, struct i3_error *e)
{
	static char text[512];
	char *argv[64] = {NULL};
	char name[] = "iperf3";
	int argc = 0;

	argv[argc++] = name;
	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok(text, " "); w && argc < 63; w = strtok(NULL, " "))
		argv[argc++] = w;
	return i3_parse(c, argc, argv, e);
}

static void values(void **state)
{
	(void)state;
	struct i3_cfg c;
	struct i3_error e;

	assert_int_equal(parse(&c,
			       "-c h%eth0 -p 7 -f M -i 0.5 -A 1,3 -V -J --timestamps -b 1.5M/20 "
			       "-t 7 -l 8K -P 4 -R -w 2M -C cubic -M 1400 -N -S 0x34 -L 77 -Z -O 2 "
			       "-T x --extra-data y --get-server-output --cport 6000 "
			       "--snd-timeout 500 --rcv-timeout 900 --fq-rate 10M --bind-dev lo",
			       &e),
			 0);
	assert_string_equal(c.host, "h");
	assert_string_equal(c.bind_dev, "eth0"); /* the host's goes before */
	assert_int_equal(c.port, 7);
	assert_int_equal(c.unit, 'M');
	assert_true(c.interval_s > 0.49 && c.interval_s < 0.51);
	assert_int_equal(c.cpu, 1);
	assert_int_equal(c.server_cpu, 3);
	assert_true(c.verbose && c.json && c.reverse && c.nodelay && c.zerocopy);
	assert_string_equal(c.timestamps, "%c ");
	assert_int_equal(c.rate_bps, 1500000);
	assert_int_equal(c.burst, 20);
	assert_int_equal(c.len, 8192);
	assert_int_equal(c.parallel, 4);
	assert_int_equal(c.window, 2 << 20);
	assert_int_equal(c.tos, 0x34);
	assert_int_equal(c.flow_label, 77);
	assert_int_equal(c.snd_timeout_ms, 500);
	assert_int_equal(c.fq_rate, 10000000);
	i3_cfg_fini(&c);
}

static void defaults(void **state)
{
	(void)state;
	struct i3_cfg c;
	struct i3_error e;

	assert_int_equal(parse(&c, "-c h -u", &e), 0);
	assert_int_equal(c.rate_bps, 1048576);
	assert_int_equal(c.time_s, 10);
	assert_int_equal(c.rcv_timeout_ms, 120000);
	i3_cfg_fini(&c);
	assert_int_equal(parse(&c, "-c h -u -b 0 --dscp ef", &e), 0);
	assert_int_equal(c.rate_bps, 0);
	assert_int_equal(c.tos, 46 << 2);
	i3_cfg_fini(&c);
	assert_int_equal(parse(&c, "-s --server-bitrate-limit 1G/10 --style 3.21 -d", &e), 0);
	assert_int_equal(c.limit_bps, 1000000000);
	assert_int_equal(c.limit_s, 10);
	assert_int_equal(c.style, I3_STYLE_321);
	assert_int_equal(c.debug, 4);
	i3_cfg_fini(&c);
	assert_int_equal(parse(&c, "--json-stream-full-output -c fe80::1%eth0", &e), 0);
	assert_true(c.json && c.stream && c.full);
	assert_string_equal(c.host, "fe80::1%eth0");
	i3_cfg_fini(&c);
}

static void wrong(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"-c h -p 65536",
		"-c h -t 86401",
		"-c h -b 1M/1001",
		"-c h -S 0x100",
		"-c h -S 1x",
		"-c h --dscp af99",
		"-c h -L 1048576",
		"-c h -A 1,x",
		"-c h -A -1",
		"-c h --cntl-ka=1/1/1",
		"-c h -u -F x",
		"-s --server-bitrate-limit 1M/0",
		"-s --time-skew-threshold -5",
		"-c h --style 3.13",
		"-c h -X lo",
		"-c h --nstreams 2",
		"-c h --rsa-public-key-path x",
		"-s -c h",
		"",
		"-c h --snd-timeout -1",
		"-c h -i -1",
		"-c h --mptcp",
	};
	struct i3_cfg c;
	struct i3_error e;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		if (parse(&c, lines[i], &e) != -EINVAL)
			fail_msg("\"%s\" was taken", lines[i]);
		assert_true(e.param && !e.told);
		assert_true(e.text[0]);
		i3_cfg_fini(&c);
	}
}

static void numbers(void **state)
{
	(void)state;
	double v;

	assert_true(i3_number("1.5k", 1024, &v) && v > 1535 && v < 1537);
	assert_true(i3_number("2T", 1000, &v) && v > 1.9e12 && v < 2.1e12);
	assert_true(i3_number("7", 1000, &v) && v > 6.9 && v < 7.1);
	assert_true(i3_number("7x", 1000, &v) && v > 6.9 && v < 7.1);
	assert_false(i3_number("x", 1000, &v));
}

/* Of two families the last one holds; how an error is told may stand behind it. */
static void order(void **state)
{
	struct i3_cfg c;
	struct i3_error e;

	(void)state;
	assert_int_equal(parse(&c, "-c h -4 -6", &e), 0);
	assert_true(c.v6 && !c.v4);
	i3_cfg_fini(&c);
	assert_int_equal(parse(&c, "-c h -P 500 -t 90000 -J --style 3.21", &e), -EINVAL);
	assert_true(c.json && c.style == I3_STYLE_321);
	assert_non_null(strstr(e.text, "parallel streams"));
	i3_cfg_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flag), cmocka_unit_test(values),  cmocka_unit_test(defaults),
		cmocka_unit_test(wrong),      cmocka_unit_test(numbers), cmocka_unit_test(order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
