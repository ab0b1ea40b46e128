/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a command leaves behind. The problem: who went into a session of its own outlives the command
 * and keeps its namespace. The idea: while the command runs its orphans become our children (a
 * subreaper has them), and all that were not there before it are ended after it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/priv.h"

#define LIST_MAX (1U << 20)
#define LOOK_NS  (2 * NSEC_PER_MSEC)
#define TERM_NS  (5 * NSEC_PER_SEC) /* a guardian may have something to put back */
#define KILL_NS  (2 * NSEC_PER_SEC)

/* The kernel's list of our children, as text; empty where it has none. */
static void read_children(struct buf *b)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	sys_read_file(path, LIST_MAX, b, NULL);
}

static bool is_known(const struct lab_orphans *o, pid_t pid)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->known[i] == pid)
			return true;
	return false;
}

/* Reaps those that have ended, tells the others; how many are left. */
static size_t tell(const struct lab_orphans *o, int sig)
{
	struct buf b = {0};
	size_t left = 0;
	char *end;

	read_children(&b);
	for (const char *s = b.data; s && *s && !o->too_many; s = end) {
		pid_t pid = (pid_t)strtol(s, &end, 10);
		if (end == s)
			break;
		if (is_known(o, pid) || waitpid(pid, NULL, WNOHANG) != 0)
			continue;
		left++;
		if (sig)
			kill(pid, sig);
		if (sig) /* also who was stopped */
			kill(pid, SIGCONT);
	}
	buf_fini(&b);
	return left;
}

static bool end_by(const struct lab_orphans *o, int sig, int64_t within_ns)
{
	int64_t until = clk_mono_ns() + within_ns;

	while (tell(o, sig)) {
		if (clk_mono_ns() > until)
			return false;
		clk_sleep_until(clk_mono_ns() + LOOK_NS);
	}
	return true;
}

void lab_orphans_take(struct lab_orphans *o)
{
	struct buf b = {0};
	char *end;

	*o = (struct lab_orphans){0};
	if (prctl(PR_GET_CHILD_SUBREAPER, &o->before) < 0)
		o->before = 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	read_children(&b);
	for (const char *s = b.data; s && *s; s = end) {
		pid_t pid = (pid_t)strtol(s, &end, 10);
		if (end == s)
			break;
		if (o->n + 1 < ARRAY_LEN(o->known)) /* one is left for the command */
			o->known[o->n++] = pid;
		else
			o->too_many = true;
	}
	buf_fini(&b);
}

void lab_orphans_reap(struct lab_orphans *o, pid_t command)
{
	o->known[o->n++] = command;
	tell(o, 0);
	o->n--;
}

void lab_orphans_end(struct lab_orphans *o)
{
	if (!end_by(o, SIGTERM, TERM_NS))
		end_by(o, SIGKILL, KILL_NS);
	prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)o->before);
}
