/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another host's counters by ssh: one shell there that prints the files whenever it is sent a line,
 * each ended by a NUL. Nothing is installed or written there. What comes back is foreign: bounded in
 * size and time, and parsed as any text of /proc.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/observe.h"
#include "sys/sys.h"

#define BATCH_MAX  ((size_t)8 << 20)
#define FIRST_NS   (30 * NSEC_PER_SEC) /* ssh logs in */
#define ANSWER_NS  (10 * NSEC_PER_SEC)
#define GRACE_NS   NSEC_PER_SEC
#define HOST_CHARS "-_.:@%[]"

struct observe {
	char *host;
	struct sys_child child;
	bool started, answered;
	int ask; /* write end of ssh's standard input */
	size_t n_paths;
};

/* A name that ssh cannot take for an option, nor a shell for anything else. */
static bool is_host(const char *host)
{
	size_t n = strlen(host);

	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)host[i]) && !strchr(HOST_CHARS, host[i]))
			return false;
	}
	return n && n < 256 && host[0] != '-';
}

int observe_new(const char *host, struct observe **out, struct weir_err *e)
{
	struct observe *o;

	*out = NULL;
	if (!is_host(host))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--observe: that is no name of a host for ssh, as user@host");
	o = calloc(1, sizeof(*o));
	if (o)
		o->host = strdup(host);
	if (!o || !o->host) {
		free(o);
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	}
	o->ask = -1;
	*out = o;
	return 0;
}

static char *script(struct observe *o, const struct host_set *s)
{
	struct buf b = {0};

	buf_puts(&b, "PATH=$PATH:/usr/sbin:/sbin; while read -r x; do if [ \"$x\" = facts ]; then");
	host_facts_ask(&b);
	buf_puts(&b, " else :;");
	for (o->n_paths = 0; host_set_path(s, o->n_paths); o->n_paths++) {
		const char *what = host_set_path(s, o->n_paths);

		buf_printf(&b, " { %s%s; } 2>/dev/null; printf '\\000';",
			   *what == '/' ? "cat " : "", what);
	}
	buf_puts(&b, " fi; done");
	return buf_take(&b);
}

/* Our own standard input, which is not used, becomes the pipe that ssh reads. */
static int give_input(struct observe *o, struct weir_err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_os(e, errno, "a pipe");
	if (dup2(p[0], STDIN_FILENO) < 0) {
		close(p[0]);
		close(p[1]);
		return err_os(e, errno, "a pipe");
	}
	close(p[0]);
	o->ask = p[1];
	return 0;
}

int observe_start(struct observe *o, const struct host_set *s, struct weir_err *e)
{
	char ssh[] = "ssh", batch[] = "-oBatchMode=yes", tty[] = "-T", end[] = "--";
	char *text = script(o, s), *argv[] = {ssh, batch, tty, end, o->host, text, NULL};
	int rc = text ? give_input(o, e) : err_set(e, WEIR_OS, ENOMEM, "out of memory");

	if (rc >= 0)
		rc = sys_child_start(&o->child, argv,
				     SYS_CHILD_PIPE_OUT | SYS_CHILD_DIE_WITH_PARENT, NULL, -1, -1,
				     e);
	o->started = rc >= 0;
	free(text);
	return rc < 0 ? err_wrap(e, "--observe") : 0;
}

static size_t nuls(const char *p, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += !p[i];
	return found;
}

static int ended(const struct observe *o, struct weir_err *e)
{
	err_set(e, WEIR_PEER, EPIPE, "--observe %s: ssh ended", o->host);
	return err_hint(e, "does `ssh %.64s true` work without a question?", o->host);
}

static int read_some(struct observe *o, struct buf *b, int64_t deadline, size_t *got,
		     struct weir_err *e)
{
	struct pollfd p = {.fd = o->child.out, .events = POLLIN};
	int64_t left = deadline - clk_mono_ns();
	char chunk[16384];
	ssize_t n;

	if (left <= 0)
		return err_set(e, WEIR_PEER, ETIMEDOUT, "--observe %s: no answer", o->host);
	if (poll(&p, 1, (int)(left / NSEC_PER_MSEC) + 1) <= 0)
		return 0;
	n = read(o->child.out, chunk, sizeof(chunk));
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return ended(o, e);
	*got += nuls(chunk, (size_t)n);
	buf_put(b, chunk, (size_t)n);
	return b->len > BATCH_MAX || b->failed
		       ? err_set(e, WEIR_PEER, EFBIG, "--observe %s: too much came", o->host)
		       : 0;
}

/* Sends a line, and takes as many texts as are the answer to it. */
static int ask(struct observe *o, const char *line, size_t texts, struct buf *b, struct weir_err *e)
{
	int64_t deadline = clk_mono_ns() + (o->answered ? ANSWER_NS : FIRST_NS);
	size_t got = 0;
	int rc = 0;

	if (write(o->ask, line, strlen(line)) != (ssize_t)strlen(line))
		return ended(o, e);
	while (rc >= 0 && got < texts)
		rc = read_some(o, b, deadline, &got, e);
	o->answered |= rc >= 0;
	return rc;
}

int observe_fetch(void *observe, struct buf *b, struct weir_err *e)
{
	struct observe *o = observe;

	return ask(o, "\n", o->n_paths, b, e);
}

int observe_facts(struct observe *o, const char *iface, struct buf *facts, struct weir_err *e)
{
	struct buf answer = {0};
	int rc = ask(o, "facts\n", host_facts_answers(), &answer, e);

	if (rc >= 0)
		rc = host_facts_answered(facts, answer.data ? answer.data : "", answer.len, iface,
					 e);
	buf_fini(&answer);
	return rc;
}

void observe_free(struct observe *o)
{
	if (!o)
		return;
	if (o->ask >= 0)
		close(o->ask);
	if (o->started)
		sys_child_stop(&o->child, GRACE_NS);
	free(o->host);
	free(o);
}

/* ---- around a measurement ----------------------------------------------------------- */

struct observe_run {
	struct observe *o;
	struct host_set *set;
	struct host_reading r[2];
	struct buf facts;
	bool failed;
};

int observe_run_new(const char *host, struct observe_run **out, struct weir_err *e)
{
	struct observe_run *r = calloc(1, sizeof(*r));
	struct host_set_cfg cfg = {.groups =
					   HOST_ALL & ~(HOST_BIT(HOST_IRQ) | HOST_BIT(HOST_THREAD)),
				   .fetch = observe_fetch};
	int rc = r ? observe_new(host, &r->o, e) : err_set(e, WEIR_OS, ENOMEM, "out of memory");

	if (rc >= 0) {
		cfg.arg = r->o;
		rc = host_set_new(&cfg, &r->set, e);
	}
	if (rc >= 0)
		rc = observe_start(r->o, r->set, e);
	/* It answers before anything is measured, or nothing is. */
	if (rc >= 0)
		rc = host_set_read(r->set, &r->r[0], e);
	if (rc >= 0)
		rc = observe_facts(r->o, NULL, &r->facts, e);
	if (rc < 0) {
		observe_run_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

/* A host that stops answering costs its figures, not the run. */
static void say_failed(struct observe_run *r, const struct weir_err *e)
{
	if (!r->failed)
		fprintf(stderr, "weir: %s: nothing of it is in the run\n", e->msg);
	r->failed = true;
}

/* Into our own host's facts, as a member: what a comparison looks at. */
static void put_facts(const struct observe_run *r, struct model_run *run)
{
	const char *own = run->host[MODEL_NEAR].facts;
	size_t n = own ? strlen(own) : 0;
	struct buf b = {0};

	if (n < 2 || own[n - 1] != '}' || !r->facts.data || strstr(own, "\"observed\":"))
		return;
	buf_printf(&b, "%.*s%s\"observed\":%s}", (int)(n - 1), own, n > 2 ? "," : "",
		   r->facts.data);
	if (!b.failed)
		run->host[MODEL_NEAR].facts = model_run_str(run, b.data);
	buf_fini(&b);
}

void observe_run_around(void *observe_run, struct model_run *run, uint32_t part)
{
	struct observe_run *r = observe_run;
	struct host_period p = {.set = r->set, .from = &r->r[0], .to = &r->r[1], .nf_rules = -1};
	bool over = part != MODEL_NO_PART;
	struct weir_err e = {0};

	if (r->failed)
		return;
	if (host_set_read(r->set, &r->r[over], &e) < 0) {
		say_failed(r, &e);
		return;
	}
	p.irq_time = host_set_irq_time(r->set, &r->r[over]);
	if (over)
		put_facts(r, run);
	if (over)
		host_figures(run, part, model_dims_with(DIMS_NONE, DIM_VIEW, MODEL_DEVICE),
			     MODEL_MEASURED, &p);
}

void observe_run_free(struct observe_run *r)
{
	if (!r)
		return;
	host_set_free(r->set);
	observe_free(r->o);
	buf_fini(&r->facts);
	host_reading_fini(&r->r[0]);
	host_reading_fini(&r->r[1]);
	free(r);
}
