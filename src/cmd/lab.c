/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir lab -- COMMAND: runs COMMAND in one host of a topology that exists only meanwhile, with
 * `weir serve` in the far ones. The exit status is COMMAND's. weir lab ls, shell, rm: those that run.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lab/lab.h"

struct lab_opts {
	char *topology, *queue, *loss, *action;
	uint64_t rate_bps;
	int64_t mtu, delay_ns;
	bool serve;
	struct opt_list serve_args, which, command;
};

#define F(field) offsetof(struct lab_opts, field)
/* clang-format off */
static const struct opt lab_rows[] = {
	{.name = "topology", .type = OPT_STR, .offset = F(topology), .metavar = "NAME", .help = "pair, router, or dumbbell:N with N hosts at each side", .fallback = "pair"},
	{.name = "rate", .letter = 'b', .type = OPT_RATE, .offset = F(rate_bps), .metavar = "RATE", .help = "shape the narrow link to RATE in both directions; 0 = as fast as it goes", .fallback = "0"},
	{.name = "delay", .type = OPT_TIME, .offset = F(delay_ns), .max = 60 * NSEC_PER_SEC, .metavar = "TIME", .help = "delay in each direction, by the kernel's netem", .fallback = "0"},
	{.name = "loss", .type = OPT_STR, .offset = F(loss), .metavar = "PERCENT", .help = "random loss in each direction, by the kernel's netem"},
	{.name = "queue", .type = OPT_STR, .offset = F(queue), .metavar = "QDISC", .help = "what waits at the narrow link, in tc's words: pfifo limit 100, fq_codel … (default: 50 ms of bytes)"},
	{.name = "mtu", .type = OPT_INT, .offset = F(mtu), .metavar = "BYTES", .help = "MTU of the links", .min = 1280, .max = 65535, .fallback = "1500"},
	{.name = "serve", .type = OPT_FLAG, .offset = F(serve), .help = "run weir serve in the far hosts", .fallback = "true"},
	{.name = "serve-arg", .type = OPT_LIST, .offset = F(serve_args), .metavar = "ARG", .help = "one more argument for weir serve"},
	{.name = "action", .type = OPT_STR, .offset = F(action), .flags = OPT_POSITIONAL, .metavar = "ACTION", .help = "of labs that run: ls; shell [LAB] [HOST]; rm LAB"},
	{.name = "which", .type = OPT_LIST, .offset = F(which), .flags = OPT_POSITIONAL, .metavar = "LAB", .help = "the lab, and the host in it"},
	{.name = "command", .type = OPT_LIST, .offset = F(command), .flags = OPT_POSITIONAL | OPT_REST, .metavar = "COMMAND", .help = "what to run in the near host, with $WEIR_LAB_PEER set; default: a shell"},
};
/* clang-format on */

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

static int run_lab(const struct lab_cfg *cfg, const char *topology, char *const argv[],
		   struct weir_err *e)
{
	struct lab lab;
	int stop_fd = own_signals();
	int ret = lab_start(&lab, cfg, e);

	if (ret == 0) {
		char *dir = cmd_journal_dir(NULL);
		int record = lab_record_open(dir, &lab, topology, NULL); /* at most unlisted */
		lab.stop_fd = stop_fd;
		ret = lab_run(&lab, argv, e);
		lab_record_close(dir, record);
		lab_stop(&lab);
		free(dir);
	}
	if (stop_fd >= 0)
		close(stop_fd);
	return ret;
}

/* ---- labs that run -------------------------------------------------------- */

static int print_lab(const struct lab_seen *s, void *arg)
{
	size_t *n = arg;

	if (!(*n)++)
		printf("%-8s %-12s %s\n", "lab", "topology", "hosts");
	printf("%-8d %-12s", (int)s->pid, s->topology);
	for (size_t i = 0; i < s->n; i++)
		printf(" %s", s->host[i].name);
	putchar('\n');
	return 0;
}

static int parse_lab(const char *text, pid_t *pid, struct weir_err *e)
{
	char *end;
	long v = strtol(text, &end, 10);

	*pid = (pid_t)v;
	if (end == text || *end || v < 2 || v > INT32_MAX)
		return err_set(e, WEIR_USAGE, EINVAL, "\"%.40s\" is no lab; `weir lab ls`", text);
	return 0;
}

struct choice {
	pid_t pid; /* 0 = any */
	size_t n;
	struct lab_seen lab;
};

static int choose(const struct lab_seen *s, void *arg)
{
	struct choice *c = arg;

	if (c->pid && s->pid != c->pid)
		return 0;
	c->lab = *s;
	c->n++;
	return 0;
}

static char **shell_argv(char *argv[2])
{
	argv[0] = getenv("SHELL");
	if (!argv[0] || !argv[0][0])
		argv[0] = (char *)(uintptr_t) "/bin/sh";
	argv[1] = NULL;
	return argv;
}

/* -ENOENT and no message: none runs, and none was named. */
static int enter(const struct lab_opts *o, const char *dir, struct weir_err *e)
{
	char *shell[2];
	struct choice c = {0};
	int ret = o->which.n ? parse_lab(o->which.v[0], &c.pid, e) : 0;

	if (ret == 0)
		ret = lab_each(dir, choose, &c, e);
	if (ret == 0 && !c.n)
		return c.pid ? err_set(e, WEIR_USAGE, ESRCH, "no lab %d runs", (int)c.pid)
			     : -ENOENT;
	if (ret == 0 && c.n > 1)
		return err_set(e, WEIR_USAGE, EINVAL, "%zu labs run: say which; `weir lab ls`",
			       c.n);
	if (ret < 0)
		return ret;
	return lab_enter(&c.lab, o->which.n > 1 ? o->which.v[1] : c.lab.host[0].name,
			 o->command.n ? o->command.v : shell_argv(shell), e);
}

static int end_lab(const struct lab_opts *o, const char *dir, struct weir_err *e)
{
	pid_t pid;
	int ret = o->which.n ? 0 : err_set(e, WEIR_USAGE, EINVAL, "rm: which one? `weir lab ls`");

	for (size_t i = 0; i < o->which.n && ret == 0; i++) {
		ret = parse_lab(o->which.v[i], &pid, e);
		if (ret == 0)
			ret = lab_end(dir, pid, e);
	}
	return ret;
}

static int act(const struct lab_opts *o, struct weir_err *e)
{
	char *dir = cmd_journal_dir(NULL);
	size_t n = 0;
	int ret;

	if (!strcmp(o->action, "ls")) {
		ret = lab_each(dir, print_lab, &n, e);
		ret = ret < 0 ? ret : cmd_printed();
	} else if (!strcmp(o->action, "shell")) {
		ret = enter(o, dir, e);
	} else if (!strcmp(o->action, "rm")) {
		ret = end_lab(o, dir, e);
	} else {
		ret = err_set(e, WEIR_USAGE, EINVAL, "\"%.40s\" is not ls, shell or rm", o->action);
		err_hint(e, "a command stands behind --: weir lab -- %.60s", o->action);
	}
	free(dir);
	return ret;
}

/* ---- a new one ------------------------------------------------------------- */

static int parse_loss(const char *text, uint32_t *ppm, struct weir_err *e)
{
	char *end;
	double v = text ? strtod(text, &end) : 0;

	if (text && (end == text || (*end && strcmp(end, "%") != 0) || !(v >= 0 && v <= 100)))
		return err_set(e, WEIR_USAGE, EINVAL, "--loss: \"%.40s\" is not 0 to 100", text);
	*ppm = (uint32_t)(v * 10000 + 0.5);
	return 0;
}

static int make(const struct lab_opts *o, struct weir_err *e)
{
	struct lab_cfg cfg = {
		.rate_bps = o->rate_bps, .mtu = o->mtu, .delay_ns = o->delay_ns, .queue = o->queue};
	char *shell[2], **command = as_argv(&o->command), **serve_args = as_argv(&o->serve_args);
	int ret = command && serve_args ? 0 : err_os(e, ENOMEM, "starting the lab");

	cfg.serve_args = serve_args;
	if (o->serve)
		cfg.serve_argv0 = "/proc/self/exe";
	if (ret == 0)
		ret = lab_topology_parse(o->topology, &cfg, e);
	if (ret == 0)
		ret = parse_loss(o->loss, &cfg.loss_ppm, e);
	if (ret == 0)
		ret = run_lab(&cfg, o->topology, o->command.n ? command : shell_argv(shell), e);
	free(command);
	free(serve_args);
	return ret;
}

static int run(void *arg)
{
	const struct lab_opts *o = arg;
	struct weir_err e = {0};
	int ret = o->action ? act(o, &e) : -ENOENT;

	if (ret == -ENOENT && !e.code) /* a shell, and no lab runs: one is made for it */
		ret = make(o, &e);
	return ret < 0 ? cmd_fail("lab", &e) : ret;
}

const struct cmd cmd_lab = {
	.name = "lab",
	.summary = "run a command between two hosts made on this machine",
	.usage = "[ls | shell [LAB] [HOST] | rm LAB] [-- COMMAND…]",
	.opts = lab_rows,
	.n_opts = ARRAY_LEN(lab_rows),
	.cfg_size = sizeof(struct lab_opts),
	.run = run,
};
