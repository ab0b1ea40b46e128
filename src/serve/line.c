/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who measured, how fast, and what was odd about it, in one line that people read or programs
 * parse. The same figures fill both forms; a run that never was still makes a line.
 */
#include "serve/priv.h"

#include <string.h>

/* What the line says of one direction. */
struct figures {
	const struct model_summary *rate, *retrans, *flows, *lost, *loss;
	bool received; /* rate is the receiver's */
};

static const struct model_summary *find(const struct model_run *run, const char *metric, int dir)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_DIR, dir);

	return run ? model_find(run, metric, STAT_VALUE, &d, true) : NULL;
}

static struct figures figures_of(const struct model_run *run, int dir)
{
	struct figures f = {.rate = find(run, "goodput", dir),
			    .retrans = find(run, "tcp.retransmits", dir),
			    .flows = find(run, "flows", dir),
			    .lost = find(run, "udp.lost", dir),
			    .loss = find(run, "udp.loss", dir)};

	f.received = f.rate;
	if (!f.rate)
		f.rate = find(run, "throughput.sent", dir);
	return f;
}

static double seconds_of(const struct model_run *run)
{
	for (size_t i = run ? run->n_parts : 0; i--;) {
		const struct model_part *p = &run->parts[i];

		if (p->t1 != MODEL_NO_TIME && p->t1 > p->t0)
			return (double)(p->t1 - p->t0) / 1e9;
	}
	return 0;
}

/* Events of one code are named once. */
static bool first_of_code(const struct model_run *run, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (run->events[k].code == run->events[i].code)
			return false;
	}
	return true;
}

static const char *const dir_names[] = {[MODEL_UP] = "up", [MODEL_DOWN] = "down"};

/* ---- for people ---- */

static void text_figures(struct buf *b, const struct model_run *run)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct figures f = figures_of(run, dir);
		char rate[32];

		if (!f.rate)
			continue;
		unit_format(rate, sizeof(rate), f.rate->value, UNIT_BPS, 3);
		buf_printf(b, ", %s %s%s", dir_names[dir], rate, f.received ? "" : " sent");
		if (f.flows && f.flows->value > 1)
			buf_printf(b, " in %.0f flows", f.flows->value);
		if (f.retrans)
			buf_printf(b, " (%.0f retransmits)", f.retrans->value);
		if (f.loss)
			buf_printf(b, " (%.3g %% lost)", f.loss->value * 100);
	}
	if (seconds_of(run) > 0)
		buf_printf(b, ", %.1f s", seconds_of(run));
}

static void text_warnings(struct buf *b, const struct model_run *run)
{
	const char *lead = "; warnings:";

	for (size_t i = 0; run && i < run->n_events; i++) {
		if (!first_of_code(run, i))
			continue;
		buf_printf(b, "%s %s", lead, model_warn(run->events[i].code)->code);
		lead = "";
	}
}

static void text_line(struct buf *b, const struct serve_line *l, const char *now, const char *peer)
{
	buf_printf(b, "%s %s", now, peer);
	if (l->protocol)
		buf_printf(b, " %s", l->protocol);
	if (l->who && l->who->tool[0] && (!l->protocol || strcmp(l->who->tool, l->protocol) != 0))
		buf_printf(b, " %s", l->who->tool);
	if (l->who && l->who->version[0])
		buf_printf(b, " %s", l->who->version);
	buf_printf(b, " %s", l->outcome);
	text_figures(b, l->run);
	if (l->why && l->why[0])
		buf_printf(b, ": %s", l->why);
	text_warnings(b, l->run);
}

/* ---- for programs ---- */

static void json_figures(struct jw *w, const struct model_run *run)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct figures f = figures_of(run, dir);

		if (!f.rate)
			continue;
		jw_obj(w, dir_names[dir]);
		jw_f64(w, f.received ? "goodput" : "sent", f.rate->value);
		if (f.flows)
			jw_i64(w, "flows", (int64_t)f.flows->value);
		if (f.retrans)
			jw_i64(w, "retransmits", (int64_t)f.retrans->value);
		if (f.lost)
			jw_i64(w, "lost", (int64_t)f.lost->value);
		if (f.loss)
			jw_f64(w, "loss", f.loss->value);
		jw_end_obj(w);
	}
	if (seconds_of(run) > 0)
		jw_f64(w, "seconds", seconds_of(run));
}

static void json_line(struct buf *b, const struct serve_line *l, const char *now, const char *peer)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	jw_str(&w, "time", now);
	jw_str(&w, "peer", peer);
	jw_i64(&w, "port", net_addr_port(l->peer));
	jw_str(&w, "protocol", l->protocol);
	if (l->who) {
		jw_str(&w, "tool", l->who->tool);
		jw_str(&w, "version", l->who->version);
	}
	jw_str(&w, "outcome", l->outcome);
	json_figures(&w, l->run);
	if (l->why && l->why[0])
		jw_str(&w, "why", l->why);
	jw_arr(&w, "warnings");
	for (size_t i = 0; l->run && i < l->run->n_events; i++) {
		if (first_of_code(l->run, i))
			jw_str(&w, NULL, model_warn(l->run->events[i].code)->code);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
}

void serve_line_put(struct buf *b, const struct serve_line *l, bool json)
{
	char now[32], peer[80];

	clk_format_utc(now, sizeof(now), clk_real_ns());
	if (json) {
		net_addr_text(l->peer, peer, sizeof(peer));
		json_line(b, l, now, peer);
	} else {
		net_addr_port_text(l->peer, peer, sizeof(peer));
		text_line(b, l, now, peer);
	}
}

void serve_note_put(struct buf *b, const char *what, const char *why, bool json)
{
	struct jw w = jw_init(b);
	char now[32];

	clk_format_utc(now, sizeof(now), clk_real_ns());
	if (!json) {
		buf_printf(b, "%s %s: %s", now, what, why);
		return;
	}
	jw_obj(&w, NULL);
	jw_str(&w, "time", now);
	jw_str(&w, "outcome", what);
	jw_str(&w, "why", why);
	jw_end_obj(&w);
}

bool serve_line_ok(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	}
	return n > 0 && safe_is_utf8(s, n);
}
