/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report that was read, shown at once: JSON with stable keys, lines of CSV, text for people. What
 * came from the text goes through the safe encoders.
 */
#include <string.h>

#include "format/priv.h"
#include "format/reader.h"

static const struct model_metric *metric_of(const char *name)
{
	return model_metric(name);
}

static enum unit unit_of(const struct found_fig *g)
{
	const struct model_metric *m = metric_of(g->metric);

	return m ? m->unit : g->unit;
}

/* ---- JSON ---- */

static void dims_json(struct jw *w, const struct model_dims *d)
{
	jw_obj(w, "dims");
	for (int i = 0; i < DIM_MAX; i++) {
		const struct model_dim *m = model_dim(i);

		if (!(d->has >> i & 1))
			continue;
		if (m->type == MODEL_DIM_ENUM)
			jw_str(w, m->name, m->values[d->v[i]]);
		else
			jw_i64(w, m->name, d->v[i]);
	}
	jw_end_obj(w);
}

static void fig_json(struct jw *w, const struct found_fig *g)
{
	const char *unit = unit_name(unit_of(g));

	jw_obj(w, NULL);
	jw_str(w, "metric", g->metric);
	jw_str(w, "stat", model_stat_name(g->stat));
	if (g->dims.has)
		dims_json(w, &g->dims);
	if (g->state == MODEL_KNOWN)
		jw_f64(w, "value", g->value);
	else
		jw_null(w, "value");
	if (*unit)
		jw_str(w, "unit", unit);
	jw_str(w, "state", model_state_names[g->state]);
	jw_str(w, "provenance", model_prov_names[g->prov]);
	if (g->resolution > 0)
		jw_f64(w, "resolution", g->resolution);
	jw_end_obj(w);
}

static void row_json(const struct format_found *f, struct jw *w, const struct found_row *r)
{
	struct model_dims d = found_dims(r->dir, r->view, r->flow);

	jw_obj(w, NULL);
	jw_f64(w, "from", (double)r->t0 / 1e9);
	jw_f64(w, "to", (double)r->t1 / 1e9);
	if (d.has)
		dims_json(w, &d);
	if (r->flags & ROW_OMITTED)
		jw_bool(w, "omitted", true);
	for (size_t i = 0; i < f->n_col; i++)
		if (isfinite(r->v[i]))
			jw_f64(w, f->col[i], r->v[i]);
	jw_end_obj(w);
}

static void warns_json(const struct format_found *f, struct jw *w)
{
	jw_arr(w, "warnings");
	for (size_t i = 0; i < f->n_warn; i++) {
		struct buf b = {0};

		safe_put(&b, f->warn[i].text, strlen(f->warn[i].text));
		jw_obj(w, NULL);
		jw_str(w, "code", model_warn(f->warn[i].code)->code);
		jw_str(w, "text", b.data ? b.data : "");
		jw_end_obj(w);
		buf_fini(&b);
	}
	jw_end_arr(w);
}

void format_found_json(const struct format_found *f, struct jw *w, const char *key)
{
	jw_obj(w, key);
	jw_str(w, "kind", f->kind);
	jw_str(w, "run", f->what);
	jw_str(w, "tool", f->tool[0] ? f->tool : NULL);
	jw_str(w, "version", f->version[0] ? f->version : NULL);
	if (f->title)
		jw_str(w, "title", f->title);
	jw_str(w, "outcome", model_outcome_names[f->partial ? OUTCOME_PARTIAL : OUTCOME_COMPLETE]);
	jw_obj(w, "span");
	jw_u64(w, "from", f->from);
	jw_u64(w, "to", f->to);
	jw_u64(w, "line", f->line);
	jw_end_obj(w);
	jw_obj(w, "params");
	for (size_t i = 0; i < f->n_param; i++)
		jw_str(w, f->param[i].key, f->param[i].value);
	jw_end_obj(w);
	jw_arr(w, "metrics");
	for (size_t i = 0; i < f->n_fig; i++)
		fig_json(w, &f->fig[i]);
	jw_end_arr(w);
	jw_arr(w, "intervals");
	for (size_t i = 0; i < f->n_row; i++)
		row_json(f, w, &f->row[i]);
	jw_end_arr(w);
	warns_json(f, w);
	jw_end_obj(w);
}

/* ---- CSV ---- */

static void dims_put(struct buf *b, const struct model_dims *d, const char *between)
{
	const char *sep = "";

	for (int i = 0; i < DIM_MAX; i++) {
		const struct model_dim *m = model_dim(i);

		if (!(d->has >> i & 1))
			continue;
		buf_puts(b, sep);
		sep = between;
		if (m->type == MODEL_DIM_ENUM)
			buf_puts(b, m->values[d->v[i]]);
		else
			buf_printf(b, "%s=%lld", m->name, (long long)d->v[i]);
	}
}

void format_found_csv(const struct format_found *f, struct buf *b, bool head)
{
	if (head)
		buf_puts(b, "kind,line,from,to,metric,stat,dims,value,unit,state,provenance\n");
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		buf_printf(b, "%s,%llu,%llu,%llu,", f->kind, (unsigned long long)f->line,
			   (unsigned long long)f->from, (unsigned long long)f->to);
		safe_csv(b, g->metric);
		buf_printf(b, ",%s,", model_stat_name(g->stat));
		dims_put(b, &g->dims, " ");
		if (g->state == MODEL_KNOWN)
			buf_printf(b, ",%.15g", g->value);
		else
			buf_puts(b, ",");
		buf_printf(b, ",%s,%s,%s\n", unit_name(unit_of(g)), model_state_names[g->state],
			   model_prov_names[g->prov]);
	}
}

/* ---- text ---- */

static void value_put(struct buf *b, const struct found_fig *g)
{
	char text[64];

	if (g->state != MODEL_KNOWN) {
		buf_puts(b, model_state_names[g->state]);
		return;
	}
	unit_format(text, sizeof(text), g->value, unit_of(g), 6);
	buf_puts(b, text);
}

static void fig_text(struct buf *b, const struct found_fig *g)
{
	size_t from = b->len;

	buf_printf(b, "  %s", g->metric);
	if (g->stat != STAT_VALUE)
		buf_printf(b, ":%s", model_stat_name(g->stat));
	if (g->dims.has) {
		buf_puts(b, " (");
		dims_put(b, &g->dims, ", ");
		buf_puts(b, ")");
	}
	if (b->len - from < 40)
		buf_repeat(b, ' ', 40 - (b->len - from));
	buf_puts(b, "  ");
	value_put(b, g);
	if (g->prov != MODEL_PRINTED && g->state == MODEL_KNOWN)
		buf_printf(b, "  [%s]", model_prov_names[g->prov]);
	buf_putc(b, '\n');
}

static void row_text(const struct format_found *f, struct buf *b, const struct found_row *r)
{
	struct model_dims d = found_dims(r->dir, r->view, r->flow);

	buf_printf(b, "  %8.2f to %8.2f s ", (double)r->t0 / 1e9, (double)r->t1 / 1e9);
	dims_put(b, &d, " ");
	for (size_t i = 0; i < f->n_col; i++) {
		const struct model_metric *m = metric_of(f->col[i]);
		char text[64];

		if (!isfinite(r->v[i]))
			continue;
		unit_format(text, sizeof(text), r->v[i], m ? m->unit : UNIT_NONE, 4);
		buf_printf(b, "  %s %s", f->col[i], text);
	}
	buf_puts(b, r->flags & ROW_OMITTED ? "  (omitted)\n" : "\n");
}

void format_found_text(const struct format_found *f, struct buf *b, bool intervals)
{
	buf_printf(b, "%s, line %llu", f->kind, (unsigned long long)f->line);
	if (f->version[0]) {
		buf_puts(b, ", version ");
		safe_put(b, f->version, strlen(f->version));
	}
	if (f->title) {
		buf_puts(b, ": ");
		safe_put(b, f->title, strlen(f->title));
	}
	buf_putc(b, '\n');
	for (size_t i = 0; i < f->n_fig; i++)
		fig_text(b, &f->fig[i]);
	for (size_t i = 0; intervals && i < f->n_row; i++)
		row_text(f, b, &f->row[i]);
	if (!intervals && f->n_row)
		buf_printf(b, "  %zu interval%s (--intervals shows them)\n", f->n_row,
			   f->n_row == 1 ? "" : "s");
	for (size_t i = 0; i < f->n_warn; i++) {
		const struct model_warn *w = model_warn(f->warn[i].code);

		buf_printf(b, "  %s: %s: %s (", model_severity_names[w->severity], w->code,
			   w->text);
		safe_put(b, f->warn[i].text, strlen(f->warn[i].text));
		buf_puts(b, ")\n");
	}
}
