/* SPDX-License-Identifier: BSD-2-Clause */
/* Help, man page and completion, from one table. */
#include "base/base.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const ways[] = {"off", "sendfile", "msg", NULL};
static const char *const many[] = {"bitrate", "throughput", "goodput", "latency", NULL};

static const struct opt own[] = {
	{"time", 't', OPT_TIME, 0, 0, "TIME",
	 .help = "how long to send, in a text that is longer than what is left of a line",
	 .fallback = "10s"},
	{"zerocopy", 'Z', OPT_ENUM, 0, OPT_OPTARG, NULL, .help = "how to send", .choices = ways,
	 .fallback = "off"},
	{"sort", 0, OPT_ENUM, 0, 0, NULL, .help = "first by", .choices = many},
	{"reverse", 'R', OPT_FLAG, 0, .help = "the server's data"},
	{"a-very-long-name-of-an-option", 0, OPT_STR, 0, 0, "TEXT", .help = "text_with *marks*"},
	{"old", 0, OPT_FLAG, 0, OPT_HIDDEN, NULL, .help = "not shown"},
	{"host", 0, OPT_STR, 0, OPT_POSITIONAL | OPT_REQUIRED, "HOST", .help = "the server"},
	{"port", 0, OPT_STR, 0, OPT_POSITIONAL, "PORT", .help = "its port"},
};
static const struct opt common[] = {
	{"store", 0, OPT_FLAG, 0, .help = "keep the run", .fallback = "true"},
	{"key", 0, OPT_STR, 0, OPT_SECRET, "KEY", .help = "shared key", .fallback = "hunter2"},
	{"db", 0, OPT_STR, 0, OPT_FILE, "FILE", .help = "the database"},
	{"tag", 0, OPT_LIST, 0, 0, "KEY=VALUE", .help = "a tag [said]: once"},
	{"rest", 0, OPT_LIST, 0, OPT_POSITIONAL | OPT_REST, "COMMAND", .help = "to run"},
};
static const struct opt_set sets[] = {{"Own options", own, ARRAY_LEN(own), NULL},
				      {"Common options", common, ARRAY_LEN(common), NULL}};

static void help(void **state)
{
	(void)state;
	struct buf b = {0};
	opt_help(&b, sets, 2);
	assert_string_equal(
		b.data,
		"Arguments:\n"
		"  HOST                 the server\n"
		"  PORT                 its port\n"
		"  COMMAND              to run\n"
		"\n"
		"Own options:\n"
		"  -t, --time TIME      how long to send, in a text that is longer than what is\n"
		"                       left of a line (default: 10s)\n"
		"  -Z, --zerocopy[=off|sendfile|msg]\n"
		"                       how to send (default: off)\n"
		"      --sort VALUE     first by: bitrate, throughput, goodput, latency\n"
		"  -R, --reverse        the server's data\n"
		"      --a-very-long-name-of-an-option TEXT\n"
		"                       text_with *marks*\n"
		"\n"
		"Common options:\n"
		"      --[no-]store     keep the run\n"
		"      --key KEY        shared key\n"
		"      --db FILE        the database\n"
		"      --tag KEY=VALUE  a tag [said]: once (may be repeated)\n");
	buf_fini(&b);
}

static void usage(void **state)
{
	(void)state;
	struct buf b = {0};
	opt_usage(&b, sets, 2);
	assert_string_equal(b.data, "[options] HOST [PORT] [-- COMMAND...]");
	buf_fini(&b);
}

static void lines_fit(void **state)
{
	(void)state;
	struct buf b = {0};
	opt_help(&b, sets, 2);
	for (const char *line = b.data; *line;) {
		size_t len = strcspn(line, "\n");
		assert_true(len <= 80);
		line += len + 1;
	}
	buf_fini(&b);
}

static void contains(const struct buf *b, const char *text)
{
	if (!strstr(b->data, text))
		fail_msg("no \"%s\" in:\n%s", text, b->data);
}

static void man(void **state)
{
	(void)state;
	struct buf b = {0};
	opt_man(&b, sets, 2);
	contains(&b, "# OPTIONS\n\n## Own options\n\n*-t*, *--time* _TIME_\n\thow long to send");
	contains(&b, "(default: 10s).\n");
	contains(&b, "*-Z*, *--zerocopy*[=_off|sendfile|msg_]\n");
	contains(&b, "\n\ttext\\_with \\*marks\\*.\n");
	contains(&b, "*--[no-]store*\n");
	contains(&b, "_HOST_\n\tthe server.\n");
	assert_null(strstr(b.data, "--old"));
	assert_null(strstr(b.data, "hunter2"));
	buf_fini(&b);
}

static void bash(void **state)
{
	(void)state;
	struct buf b = {0};
	opt_complete_bash(&b, "tcp", sets, 2);
	contains(&b, "\ttcp)\n\t\topts='-t --time -Z --zerocopy --sort -R --reverse ");
	contains(&b, " --store --no-store ");
	contains(&b, "\t\t-t | --time) return ;;\n");
	contains(&b, "\t\t--sort) COMPREPLY=($(compgen -W 'bitrate throughput goodput latency' "
		     "-- \"$cur\")); return ;;\n");
	contains(&b, "\t\t--db) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
	assert_null(strstr(b.data, "--zerocopy)")); /* its value never is the next word */
	assert_null(strstr(b.data, "--old"));
	assert_null(strstr(b.data, "hunter2"));
	buf_fini(&b);
}

static void zsh(void **state)
{
	(void)state;
	struct buf b = {0};
	opt_complete_zsh(&b, "tcp", "measures TCP", sets, 2);
	contains(&b, "\ttcp) # measures TCP\n\t\t_arguments -s -S \\\n");
	contains(&b, "'(-t --time)-t+[how long");
	contains(&b, "'(-t --time)--time=[how long");
	contains(&b, "'(-Z --zerocopy)-Z[how to send]'");
	contains(&b, "'(-Z --zerocopy)--zerocopy=-[how to send]::VALUE:(off sendfile msg)'");
	contains(&b, "'(-R --reverse)-R[the server'\\''s data]'");
	contains(&b, "'*--tag=[a tag \\[said\\]\\: once]:KEY=VALUE: '");
	contains(&b, "'--db=[the database]:FILE:_files'");
	contains(&b, "'1:HOST: '");
	contains(&b, "'2::PORT: '");
	contains(&b, "'*::COMMAND:_normal'");
	assert_null(strstr(b.data, "--old"));
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help), cmocka_unit_test(usage), cmocka_unit_test(lines_fit),
		cmocka_unit_test(man),  cmocka_unit_test(bash),  cmocka_unit_test(zsh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
