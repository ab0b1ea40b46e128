/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir lab -- COMMAND: runs COMMAND in one host of a pair that exists only meanwhile, with
 * `weir serve` in the other. The exit status is COMMAND's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lab/lab.h"

struct lab_opts {
	uint64_t rate_bps;
	int64_t mtu;
	bool serve;
	struct opt_list serve_args, command;
};

static const struct opt lab_rows[] = {
	{.name = "rate",
	 .letter = 'b',
	 .type = OPT_RATE,
	 .offset = offsetof(struct lab_opts, rate_bps),
	 .metavar = "RATE",
	 .help = "shape the link to RATE in both directions; 0 = as fast as it goes",
	 .fallback = "0"},
	{.name = "mtu",
	 .type = OPT_INT,
	 .offset = offsetof(struct lab_opts, mtu),
	 .metavar = "BYTES",
	 .help = "MTU of the link",
	 .min = 1280,
	 .max = 65535,
	 .fallback = "1500"},
	{.name = "serve",
	 .type = OPT_FLAG,
	 .offset = offsetof(struct lab_opts, serve),
	 .help = "run weir serve in the far host",
	 .fallback = "true"},
	{.name = "serve-arg",
	 .type = OPT_LIST,
	 .offset = offsetof(struct lab_opts, serve_args),
	 .metavar = "ARG",
	 .help = "one more argument for weir serve"},
	{.name = "command",
	 .type = OPT_LIST,
	 .offset = offsetof(struct lab_opts, command),
	 .flags = OPT_POSITIONAL | OPT_REST,
	 .metavar = "COMMAND",
	 .help = "what to run in the near host, with $WEIR_LAB_PEER set; default: a shell"},
};

/* A copy ended by NULL, as exec wants it; the strings stay the list's. */
static char **as_argv(const struct opt_list *l)
{
	char **argv = calloc(l->n + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < l->n; i++)
		argv[i] = l->v[i];
	return argv;
}

/*
 * Ctrl-C is for the command, which gets it from the terminal itself; SIGTERM and SIGHUP reach
 * only us and are handed on through the descriptor.
 */
static int own_signals(void)
{
	sigset_t blocked, handed_on;

	sigemptyset(&handed_on);
	sigaddset(&handed_on, SIGTERM);
	sigaddset(&handed_on, SIGHUP);
	blocked = handed_on;
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGQUIT);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return signalfd(-1, &handed_on, SFD_CLOEXEC);
}

static int run_pair(const struct lab_cfg *cfg, char *const argv[], struct weir_err *e)
{
	struct lab lab;
	int stop_fd = own_signals();
	int ret = lab_pair_start(&lab, cfg, e);

	if (ret == 0) {
		lab.stop_fd = stop_fd;
		ret = lab_run(&lab, argv, e);
		lab_stop(&lab);
	}
	if (stop_fd >= 0)
		close(stop_fd);
	return ret;
}

static int run(void *arg)
{
	const struct lab_opts *o = arg;
	char *shell[] = {getenv("SHELL"), NULL}, fallback[] = "/bin/sh";
	struct lab_cfg cfg = {.rate_bps = o->rate_bps, .mtu = o->mtu};
	char **command = as_argv(&o->command), **serve_args = as_argv(&o->serve_args);
	struct weir_err e = {0};
	int ret = command && serve_args ? 0 : err_os(&e, ENOMEM, "starting the lab");

	if (!shell[0] || !shell[0][0])
		shell[0] = fallback;
	cfg.serve_args = serve_args;
	if (o->serve)
		cfg.serve_argv0 = "/proc/self/exe";
	if (ret == 0)
		ret = run_pair(&cfg, o->command.n ? command : shell, &e);
	free(command);
	free(serve_args);
	return ret < 0 ? cmd_fail("lab", &e) : ret;
}

const struct cmd cmd_lab = {
	.name = "lab",
	.summary = "run a command between two hosts made on this machine",
	.usage = "[--] [COMMAND…]",
	.opts = lab_rows,
	.n_opts = ARRAY_LEN(lab_rows),
	.cfg_size = sizeof(struct lab_opts),
	.run = run,
};
