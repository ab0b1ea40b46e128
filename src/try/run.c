/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run: the weir program as a process of its own, which stores what it measured under the
 * experiment and prints it as JSON, from which it is taken over here. What a run leaves behind
 * in a process (warm caches, sockets, memory) cannot reach the next.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "try/priv.h"

#define OUT_MAX   ((size_t)64 << 20)
#define GRACE_NS  (5 * NSEC_PER_SEC)
#define READ_SIZE 65536
#define HEAD_MAX  16 /* words before the command's own, but for tags */

enum { EXIT_USAGE = 2, EXIT_VERDICT = 3, EXIT_SKIPPED = 77 };

/* ---- the command line ---- */

static void place_json(const struct try_exp *x, size_t slot, size_t variant, struct buf *b)
{
	struct jw w = jw_init(b);
	struct buf name = {0};

	try_variant_name(x->design, variant, &name);
	jw_obj(&w, NULL);
	jw_str(&w, "id", x->exp.id);
	jw_str(&w, "variant", name.data);
	jw_u64(&w, "block", slot / try_block(x->design));
	jw_u64(&w, "position", slot);
	jw_u64(&w, "seed", x->design->seed);
	jw_str(&w, "factors", x->exp.factors);
	jw_str(&w, "plan", x->exp.plan);
	jw_str(&w, "primary", x->exp.primary);
	jw_f64(&w, "margin", x->exp.margin);
	jw_end_obj(&w);
	b->failed |= name.failed;
	buf_fini(&name);
}

static size_t count_tags(const struct try_exp *x)
{
	size_t n = 0;

	while (x->tags && x->tags[n])
		n++;
	return n;
}

struct line {
	const char **argv; /* borrowed words */
	struct buf place, arm;
	char **words;
};

static void line_fini(struct line *l)
{
	free(l->argv);
	buf_fini(&l->place);
	buf_fini(&l->arm);
	try_words_free(l->words);
}

static const char **put_store(const struct try_exp *x, const struct line *l, const char **p)
{
	*p++ = "--experiment";
	*p++ = l->place.data;
	if (x->db) {
		*p++ = "--db";
		*p++ = x->db;
	} else {
		*p++ = "--no-store";
	}
	for (size_t i = 0; i < count_tags(x); i++) {
		*p++ = "--tag";
		*p++ = x->tags[i];
	}
	*p++ = "--tag";
	*p++ = l->arm.data;
	return p;
}

static int line_init(struct line *l, const struct try_exp *x, size_t slot, size_t variant)
{
	const char **p;

	*l = (struct line){.words = try_words(x->design, variant, x->command, x->n_command)};
	buf_puts(&l->arm, "arm=");
	try_variant_name(x->design, variant, &l->arm);
	if (slot != SIZE_MAX)
		place_json(x, slot, variant, &l->place);
	l->argv = calloc(HEAD_MAX + 2 * count_tags(x) + x->n_command + TRY_FACTORS_MAX,
			 sizeof(*l->argv));
	if (!l->words || !l->argv || l->arm.failed || l->place.failed)
		return -ENOMEM;
	p = l->argv;
	*p++ = x->program;
	*p++ = l->words[0];
	*p++ = "--json";
	if (slot == SIZE_MAX)
		*p++ = "--no-store";
	else
		p = put_store(x, l, p);
	for (size_t i = 1; l->words[i]; i++)
		*p++ = l->words[i];
	return 0;
}

/* ---- the process ---- */

static int wait_for(int out, int stop, int64_t until)
{
	struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
	int64_t left = until - clk_mono_ns();
	struct timespec ts = {.tv_sec = left / NSEC_PER_SEC, .tv_nsec = left % NSEC_PER_SEC};

	if (left <= 0)
		return -ETIMEDOUT;
	if (ppoll(p, 2, &ts, NULL) < 0 && errno != EINTR)
		return -errno;
	if (p[1].revents)
		return -ECANCELED;
	return p[0].revents ? 1 : 0;
}

int try_sleep(const struct try_exp *x, int64_t ns)
{
	int64_t until = clk_mono_ns() + ns;
	int rc;

	do {
		rc = wait_for(-1, x->stop_fd, until);
	} while (rc >= 0);
	return rc == -ETIMEDOUT ? 0 : rc;
}

/* Until its output ends. */
static int read_all(struct sys_child *c, const struct try_exp *x, struct buf *b)
{
	int64_t until = clk_mono_ns() + x->run_max_ns;
	ssize_t n;
	int rc;

	b->max = OUT_MAX;
	for (;;) {
		rc = wait_for(c->out, x->stop_fd, until);
		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		if (!buf_reserve(b, READ_SIZE))
			return -EFBIG;
		n = read(c->out, b->data + b->len, READ_SIZE);
		if (n <= 0 && !(n < 0 && errno == EINTR))
			return n < 0 ? -errno : 0;
		b->len += n > 0 ? (size_t)n : 0;
	}
}

static int failed(struct weir_err *e, const char *why)
{
	err_set(e, WEIR_OS, EAGAIN, "%s", why);
	return -EAGAIN;
}

static int take_json(const struct buf *b, struct model_run **out, struct weir_err *e)
{
	struct js_doc *doc = NULL;
	int rc = js_parse(b->data ? b->data : "", b->len, &js_limits_file, &doc, e);

	if (rc >= 0)
		rc = model_from_json(js_root(doc), out, e);
	js_free(doc);
	return rc < 0 ? failed(e, "its result is not readable") : 0;
}

/* What the process said with its exit status, and whether there is a whole run. */
static int take_result(int status, const struct buf *b, struct model_run **out, struct weir_err *e)
{
	int rc;

	if (status == EXIT_USAGE || status == EXIT_SKIPPED)
		return err_set(e, status == EXIT_USAGE ? WEIR_USAGE : WEIR_MISSING, EINVAL,
			       "the measurement is refused (see above)");
	if (status != 0 && status != EXIT_VERDICT) {
		err_set(e, WEIR_OS, EAGAIN, "exit status %d", status);
		return -EAGAIN;
	}
	rc = take_json(b, out, e);
	if (rc < 0 || try_is_whole(*out))
		return rc;
	model_run_free(*out);
	*out = NULL;
	return failed(e, "it was cut short");
}

static int run_line(const struct try_exp *x, char *const argv[], struct model_run **out,
		    struct weir_err *e)
{
	struct sys_child c;
	struct buf b = {0};
	int rc = sys_child_start(&c, argv,
				 SYS_CHILD_PIPE_OUT | SYS_CHILD_NULL_IN | SYS_CHILD_NEW_SESSION |
					 SYS_CHILD_DIE_WITH_PARENT,
				 NULL, -1, -1, e);

	if (rc < 0)
		return rc;
	rc = read_all(&c, x, &b);
	if (rc >= 0)
		rc = sys_child_wait(&c, GRACE_NS);
	sys_child_stop(&c, GRACE_NS);
	if (rc >= 0)
		rc = take_result(rc, &b, out, e);
	else if (rc == -ECANCELED)
		err_set(e, WEIR_OS, ECANCELED, "stopped");
	else
		rc = failed(e, rc == -ETIMEDOUT ? "it took too long" : "its output was cut off");
	buf_fini(&b);
	return rc;
}

int try_run(const struct try_exp *x, size_t slot, size_t variant, struct model_run **out,
	    struct weir_err *e)
{
	struct line l;
	int rc = line_init(&l, x, slot, variant);

	*out = NULL;
	if (rc < 0)
		err_set(e, WEIR_OS, ENOMEM, "out of memory");
	else
		rc = run_line(x, (char *const *)(uintptr_t)l.argv, out, e);
	line_fini(&l);
	return rc;
}
