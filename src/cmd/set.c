/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir set KNOB=VALUE… -- COMMAND: changes settings while COMMAND runs, or until Ctrl-C, and puts
 * them back. The problem: nobody may be left with a changed machine, also not who was cut off by
 * the change itself. The idea: everything is checked before the first change; each change is in the
 * undo journal first; a guardian undoes it when weir dies; and who came by ssh and no longer
 * answers is taken for cut off.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sys/sys.h"

#define GRACE_NS   (5 * NSEC_PER_SEC)
#define LOOK_NS    NSEC_PER_SEC
#define CUT_OFF_NS (10 * NSEC_PER_SEC)
#define KNOBS_MAX  256

struct set_cfg {
	int64_t time_ns, max_ns;
	bool restore;
	char *root;
	struct opt_list knobs, command;
};

#define F(field) offsetof(struct set_cfg, field)
/* clang-format off */
static const struct opt set_opts[] = {
	{.name = "time", .letter = 't', .type = OPT_TIME, .offset = F(time_ns), .metavar = "TIME", .help = "put back after this long, and end COMMAND; 0 = when COMMAND ends, or on Ctrl-C", .fallback = "0"},
	{.name = "max-time", .type = OPT_TIME, .offset = F(max_ns), .min = NSEC_PER_MSEC, .max = 30 * 24 * 3600 * NSEC_PER_SEC, .metavar = "TIME", .help = "the guardian puts back after this long, whatever weir does", .fallback = "24h"},
	{.name = "restore", .type = OPT_FLAG, .offset = F(restore), .help = "put back what a weir that is gone has left, and nothing else"},
	{.name = "root", .type = OPT_STR, .offset = F(root), .flags = OPT_FILE, .metavar = "DIR", .help = "a folder that stands for /; programs in it are run"},
	{.name = "knob", .type = OPT_LIST, .offset = F(knobs), .flags = OPT_POSITIONAL, .metavar = "KNOB=VALUE", .help = "what weir knobs lists; a name with * or ? is all that match"},
	{.name = "command", .type = OPT_LIST, .offset = F(command), .flags = OPT_POSITIONAL | OPT_REST, .metavar = "COMMAND", .help = "what to run meanwhile"},
};
/* clang-format on */

enum end { COMMAND_ENDED, STOPPED, TIME_UP, CUT_OFF, UNDONE };

struct change {
	struct sys_ref ref;
	const char *value;
};
struct work {
	const struct set_cfg *o;
	char *dir;
	struct change *v;
	size_t n;
	const char *value; /* of the pattern that is being expanded */
	struct sys_journal *j;
	struct sys_contact who;
	bool remote; /* who is somebody */
	enum end end;
	int stop_fd, say_fd;
};

/* ---- what is to be set ---------------------------------------------------- */

static int add_change(const struct sys_ref *r, void *arg)
{
	struct work *w = arg;

	if (w->n == KNOBS_MAX)
		return -E2BIG;
	w->v[w->n++] = (struct change){.ref = *r, .value = w->value};
	return 0;
}

static int add_matching(struct work *w, const char *pattern, struct weir_err *e)
{
	size_t before = w->n;
	int rc = sys_knob_list(w->o->root, pattern, add_change, w, e);

	if (rc == -E2BIG)
		return err_set(e, WEIR_USAGE, E2BIG, "over %d knobs at once", KNOBS_MAX);
	if (rc == 0 && w->n == before)
		return err_set(e, WEIR_USAGE, ENOENT, "no knob here matches %.100s", pattern);
	return rc;
}

/* The name ends at the first '='. */
static int add_word(struct work *w, char *word, struct weir_err *e)
{
	struct sys_ref ref = {.root = w->o->root};
	char *eq = strchr(word, '=');
	int rc;

	if (!eq || eq == word)
		return err_set(e, WEIR_USAGE, EINVAL, "\"%.80s\" is not KNOB=VALUE", word);
	w->value = eq + 1;
	*eq = '\0';
	if (strpbrk(word, "*?["))
		return add_matching(w, word, e);
	rc = sys_ref_parse(&ref, word, strlen(word), e);
	if (rc == 0 && add_change(&ref, w) < 0)
		rc = err_set(e, WEIR_USAGE, E2BIG, "over %d knobs at once", KNOBS_MAX);
	return rc;
}

static int collect(struct work *w, struct weir_err *e)
{
	int rc = 0;

	if (!w->o->knobs.n)
		return err_set(e, WEIR_USAGE, EINVAL, "nothing to set: KNOB=VALUE is missing");
	w->v = calloc(KNOBS_MAX, sizeof(*w->v));
	if (!w->v)
		return err_os(e, ENOMEM, "weir set");
	for (size_t i = 0; i < w->o->knobs.n && rc == 0; i++)
		rc = add_word(w, w->o->knobs.v[i], e);
	for (size_t i = 0; i < w->n && rc == 0; i++)
		rc = sys_knob_check(&w->v[i].ref, w->v[i].value, e);
	return rc;
}

/* ---- what was left -------------------------------------------------------- */

static void say_replay(int fd, const struct sys_replay *r, const char *whose)
{
	if (r->restored)
		cmd_say(fd, "weir set: %u %s put back\n", r->restored, whose);
	if (r->changed_since)
		cmd_say(fd, "weir set: %u left alone: changed by somebody else since, or gone\n",
			r->changed_since);
	if (r->void_boot)
		cmd_say(fd, "weir set: %u of another boot: void\n", r->void_boot);
	if (r->busy)
		cmd_say(fd, "weir set: %u of another weir that still runs\n", r->busy);
}

static int recover(const struct work *w, struct weir_err *e)
{
	struct sys_replay r = {0};
	int rc = sys_journal_recover(w->dir, w->o->root, &r, e);

	if (!w->o->restore)
		r.busy = 0; /* no concern of ours, unless it is the same knob */
	say_replay(w->say_fd, &r, "left by a weir that is gone:");
	return rc;
}

/* ---- setting, waiting, putting back ---------------------------------------- */

static int set_one(struct work *w, const struct change *c, struct weir_err *e)
{
	char before[SYS_VALUE_CAP] = "?", name[SYS_REF_TEXT];

	sys_ref_text(&c->ref, name);
	sys_knob_get(&c->ref, before, sizeof(before), NULL);
	int rc = sys_journal_set(w->j, &c->ref, c->value, e);
	if (rc == 0)
		cmd_say(w->say_fd, "%s: %s -> %s\n", name, before, c->value);
	/* It may be said already, without its "sysctl:". */
	const char *bare = strncmp(name, "sysctl:", 7) ? name : name + 7;
	return rc < 0 && !strstr(e->msg, bare) ? err_wrap(e, "%s", name) : rc;
}

static int set_all(struct work *w, struct weir_err *e)
{
	int64_t most = w->o->max_ns;
	int rc = sys_journal_open(w->dir, w->o->root, &w->j, e);

	if (w->o->time_ns && w->o->time_ns < most)
		most = w->o->time_ns + 2 * GRACE_NS;
	if (rc == 0)
		rc = sys_journal_guard(w->j, most, w->remote ? &w->who : NULL, e);
	for (size_t i = 0; i < w->n && rc == 0; i++)
		rc = set_one(w, &w->v[i], e);
	return rc;
}

/* Who came by ssh, also through sudo or su; what cannot be looked after is said. */
static void find_operator(struct work *w)
{
	const char *own = getenv("SSH_CONNECTION");

	w->remote = sys_contact_init(&w->who, own) || (!own && sys_contact_of_parents(&w->who));
	if (w->remote && !isatty(STDERR_FILENO))
		cmd_say(w->say_fd, "weir set: without a terminal a cut connection shows only while "
				   "COMMAND prints; --max-time puts back in any case\n");
}

/* A command that Ctrl-Z stopped goes on: nobody could end it any more. */
static void go_on(const struct work *w, const struct sys_child *c)
{
	siginfo_t si = {0};

	if (!c || waitid(P_PID, (id_t)c->pid, &si, WSTOPPED | WNOHANG) < 0 || si.si_pid != c->pid ||
	    si.si_status != SIGTSTP)
		return;
	kill(0, SIGCONT); /* what it has started was stopped with it */
	cmd_say(w->say_fd, "weir set: goes on while something is set; Ctrl-C ends it\n");
}

/* Until the command (NULL: there is none) ends, a signal, the time is up, or nobody is there. */
static enum end await(struct work *w, const struct sys_child *c)
{
	struct pollfd p[2] = {{.fd = w->stop_fd, .events = POLLIN},
			      {.fd = c ? c->pidfd : -1, .events = POLLIN}};
	int64_t limit =
		w->o->time_ns && w->o->time_ns < w->o->max_ns ? w->o->time_ns : w->o->max_ns;
	int64_t until = clk_mono_ns() + limit;

	for (;;) {
		int64_t now = clk_mono_ns(), ns = until - now;
		if (ns <= 0)
			return TIME_UP;
		if (w->remote && sys_contact_lost(&w->who, now, CUT_OFF_NS))
			return CUT_OFF;
		/* Whether it is acknowledged tells if anybody is there. */
		if (w->remote && isatty(STDERR_FILENO))
			cmd_knock(w->say_fd);
		go_on(w, c);
		if (sys_journal_guard_gone(w->j))
			return UNDONE;
		if (ns > LOOK_NS)
			ns = LOOK_NS;
		struct timespec ts = {.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};
		ppoll(p, 2, &ts, NULL);
		if (p[0].revents)
			return STOPPED;
		if (p[1].revents)
			return COMMAND_ENDED;
	}
}

static void say_end(const struct work *w)
{
	static const char *const text[] = {
		[COMMAND_ENDED] = NULL,
		[STOPPED] = NULL,
		[TIME_UP] = "the time is up",
		[CUT_OFF] = "nobody answers at the other end of ssh: put back",
		[UNDONE] = "the guardian has put back, or is gone",
	};

	if (text[w->end])
		cmd_say(w->say_fd, "weir set: %s\n", text[w->end]);
}

static int run_command(struct work *w, struct weir_err *e)
{
	struct sys_child c;
	int rc = sys_child_start(&c, w->o->command.v, SYS_CHILD_DIE_WITH_PARENT, NULL, -1, -1, e);

	if (rc < 0)
		return rc;
	w->end = await(w, &c);
	if (w->end != COMMAND_ENDED)
		kill(c.pid, SIGTERM);
	rc = sys_child_wait(&c, w->end == COMMAND_ENDED ? -1 : GRACE_NS);
	sys_child_stop(&c, 0);
	return rc == -ETIMEDOUT ? 128 + SIGKILL : rc;
}

static int hold(struct work *w)
{
	cmd_say(w->say_fd, w->o->time_ns ? "Held until then; Ctrl-C puts back.\n"
					 : "Held; Ctrl-C puts back.\n");
	w->end = await(w, NULL);
	return 0;
}

static int put_back(struct work *w, struct weir_err *e)
{
	struct sys_replay r = {0};
	int rc = w->j ? sys_journal_undo(w->j, &r, e) : 0;

	say_end(w);
	say_replay(w->say_fd, &r, r.restored == 1 ? "setting" : "settings");
	sys_journal_close(w->j);
	return rc;
}

/*
 * With a command Ctrl-C is the command's, which gets it from the terminal itself; without one it is
 * the end.
 */
static int own_signals(bool command)
{
	sigset_t blocked, told;

	sigemptyset(&told);
	sigaddset(&told, SIGTERM);
	sigaddset(&told, SIGHUP);
	if (!command)
		sigaddset(&told, SIGINT);
	blocked = told;
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGQUIT);
	sigaddset(&blocked, SIGTSTP); /* a stopped weir would hold for ever */
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return signalfd(-1, &told, SFD_CLOEXEC);
}

static void say_trouble(const struct work *w, const char *what, const struct weir_err *e)
{
	cmd_say(w->say_fd, "weir set: %s%s\n", what, e->msg);
	if (e->hint[0])
		cmd_say(w->say_fd, "  %s\n", e->hint);
}

static int change_and_run(struct work *w, struct weir_err *e)
{
	struct weir_err undo = {0};
	int rc = collect(w, e);

	w->stop_fd = own_signals(w->o->command.n);
	if (rc == 0 && recover(w, &undo) < 0 && undo.domain != WEIR_MISSING) /* said once, below */
		say_trouble(w, "", &undo); /* of another namespace, say */
	if (rc == 0)
		find_operator(w);
	if (rc == 0)
		rc = set_all(w, e);
	if (rc == 0)
		rc = w->o->command.n ? run_command(w, e) : hold(w);
	if (put_back(w, &undo) < 0) {
		say_trouble(w, "not put back: ", &undo);
		rc = rc > 0 ? rc : CMD_FAILED;
	}
	if (w->stop_fd >= 0)
		close(w->stop_fd);
	return rc;
}

static int run(void *cfg)
{
	struct work w = {.o = cfg, .stop_fd = -1, .say_fd = cmd_say_open()};
	struct weir_err e = {0};

	w.dir = cmd_journal_dir(w.o->root);
	int rc = w.o->restore && (w.o->knobs.n || w.o->command.n)
			 ? err_set(&e, WEIR_USAGE, EINVAL, "--restore goes alone")
		 : w.o->restore ? recover(&w, &e)
				: change_and_run(&w, &e);
	free(w.v);
	free(w.dir);
	if (w.say_fd != STDERR_FILENO)
		close(w.say_fd);
	return rc < 0 ? cmd_fail("set", &e) : rc;
}

const struct cmd cmd_set = {
	.name = "set",
	.summary = "change settings while a command runs, and put them back",
	.usage = "KNOB=VALUE… [-- COMMAND…]",
	.opts = set_opts,
	.n_opts = ARRAY_LEN(set_opts),
	.cfg_size = sizeof(struct set_cfg),
	.run = run,
};
