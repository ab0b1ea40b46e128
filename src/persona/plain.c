/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A measurement as another tool's client runs it: options of weir's own by name, a sink that prints, and
 * the run kept where others are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "persona/priv.h"

#define STORE_CAP ((uint64_t)1 << 30)

int plain_init(struct plain *p, const struct measure *m, struct weir_err *e)
{
	*p = (struct plain){.m = m, .e = e};
	p->cfg = calloc(1, m->cfg_size);
	if (!p->cfg)
		return p->rc = err_set(e, WEIR_OS, ENOMEM, "out of memory");
	p->set = (struct opt_set){.rows = m->opts, .n = m->n_opts, .cfg = p->cfg};
	return p->rc = opt_defaults(&p->set, 1, e);
}

void plain_want(struct plain *p, bool given, const char *name, const char *value)
{
	if (given && p->rc >= 0)
		p->rc = opt_set_value(&p->set, 1, name, value, p->e);
}

void plain_want_number(struct plain *p, bool given, const char *name, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	plain_want(p, given, name, text);
}

void plain_want_ns(struct plain *p, bool given, const char *name, int64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%lldus", (long long)(ns / NSEC_PER_USEC));
	plain_want(p, given, name, text);
}

/* The printed result matters more than its copy. */
static struct store *open_store(void)
{
	struct cmd_db_cfg db = {0};
	struct store_cfg cfg = {
		.mode = STORE_WRITE, .cap_bytes = STORE_CAP, .headline = format_headline};
	struct store *st = NULL;
	char *path = store_supported() ? cmd_db_path(&db) : NULL;

	cfg.path = path;
	if (path && store_open(&cfg, &st, NULL) < 0)
		st = NULL;
	free(path);
	return st;
}

int plain_run(struct plain *p, struct sink *take_sink, bool keep, struct model_run **run)
{
	struct store *st = keep ? open_store() : NULL;
	struct sink *sinks[2] = {take_sink, st ? store_sink(st) : NULL};
	struct measure_ctx ctx = {.stop_fd = i3_stop_fd(), .hooks = &p->hooks};

	ctx.sink = sinks[1] ? sink_tee(sinks, 2) : take_sink;
	if (p->rc >= 0 && p->m->check)
		p->rc = p->m->check(p->cfg, p->e);
	if (p->rc >= 0)
		p->rc = p->m->run(&ctx, p->cfg, p->e);
	ctx.sink->close(ctx.sink, NULL);
	store_close(st);
	*run = ctx.run;
	return p->rc;
}

void plain_fini(struct plain *p)
{
	if (p->cfg)
		opt_fini(&p->set, 1);
	free(p->cfg);
}

/* ---- a sink for who prints when all is known ------------------------------------------------ */

static void quiet(struct sink *s, const struct model_run *r)
{
	(void)s, (void)r;
}

static void quiet_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	(void)s, (void)r, (void)t;
}

static void quiet_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	(void)s, (void)r, (void)ev;
}

static int quiet_close(struct sink *s, struct weir_err *e)
{
	(void)e;
	free(s);
	return 0;
}

struct sink *plain_quiet(void)
{
	struct sink *s = malloc(sizeof(*s));

	if (s)
		*s = (struct sink){quiet, quiet_sample, quiet_event, quiet, quiet_close};
	return s;
}

int plain_bounce(const struct measure_bounce *b, struct weir_err *e)
{
	struct store *st = open_store();
	struct sink *sink = st ? store_sink(st) : plain_quiet();
	struct measure_ctx ctx = {.stop_fd = i3_stop_fd(), .sink = sink};
	int rc;

	if (!sink)
		return err_os(e, ENOMEM, "bounce-back");
	rc = measure_bounce_run(&ctx, b, e);
	sink->close(sink, NULL);
	store_close(st);
	model_run_free(ctx.run);
	return rc;
}
