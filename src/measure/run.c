/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every measurement's run begins with, and the one way to add an event: to the run and to
 * whoever listens.
 */
#include <errno.h>
#include <stdio.h>

#include "host/host.h"
#include "measure/priv.h"

static void add_facts(struct model_run *run, const char *facts)
{
	struct buf b = {0};

	if (!facts)
		host_facts_whole(&b, NULL, NULL, NULL);
	if (!b.failed)
		run->host[MODEL_NEAR].facts = model_run_str(run, facts ? facts : b.data);
	buf_fini(&b);
}

struct model_run *measure_run_new(const char *kind, const char *facts, const struct model_kv *tags,
				  size_t n_tags)
{
	uint8_t rnd[10];
	struct model_run *run;

	clk_random(rnd, sizeof(rnd));
	run = model_run_new(kind, clk_real_ns(), rnd);
	if (!run)
		return NULL;
	run->host[MODEL_NEAR].tool = "weir";
	run->host[MODEL_NEAR].version = weir_version;
	add_facts(run, facts);
	for (size_t i = 0; i < n_tags; i++)
		model_add_tag(run, tags[i].k, tags[i].v);
	model_add_clock(run, MODEL_NEAR, CLOCK_KIND_MONO);
	return run;
}

void measure_note_link(struct model_run *run, int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	char iface[IF_NAMESIZE];
	struct buf b = {0};

	if (getpeername(fd, (struct sockaddr *)&ss, &len) < 0 ||
	    !host_iface_to((const struct sockaddr *)&ss, iface))
		return;
	if (host_facts_whole(&b, NULL, iface, NULL) >= 0)
		run->host[MODEL_NEAR].facts = model_run_str(run, b.data);
	buf_fini(&b);
}

void measure_set_experiment(struct model_run *run, const struct model_experiment *exp)
{
	if (!exp)
		return;
	run->exp = *exp;
	run->exp.id = model_run_str(run, exp->id);
	run->exp.factors = model_run_str(run, exp->factors);
	run->exp.plan = model_run_str(run, exp->plan);
	run->exp.primary = model_run_str(run, exp->primary);
	run->exp.variant = model_run_str(run, exp->variant);
}

void measure_event(struct model_run *run, struct sink *sink, uint32_t part,
		   enum model_warn_code code, int64_t t, const char *fmt, ...)
{
	char text[SAFE_MAX] = "";
	va_list ap;
	int i;

	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
	}
	i = model_add_event(run, part, code, &DIMS_NONE, t, text[0] ? text : NULL);
	if (i >= 0 && sink && sink->event)
		sink->event(sink, run, &run->events[i]);
}
