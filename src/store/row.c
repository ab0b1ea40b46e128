/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run has a dozen kinds of things in it, and each must become a row and come back the same.
 * One table of columns per kind {name, how it is written, where it is in its struct} makes the
 * SQL, the cells and the way back; enumerations are words, so a row outlives their order.
 */
#include "store/priv.h"

static const char *const end_names[] = {"near", "far", NULL};

#define AT(type, field) .off = offsetof(struct type, field)
#define RUN(field)      AT(model_run, field)

static const struct col run_cols[] = {
	{"id", COL_UUID, RUN(id)},
	{"kind", COL_TEXT, RUN(kind)},
	{"weir", COL_TEXT, RUN(weir)},
	{"title", COL_TEXT, RUN(title)},
	{"start_ns", COL_TIME, RUN(start_real_ns)},
	{"outcome", COL_ENUM, RUN(outcome), .names = model_outcome_names},
	{"request", COL_JSON, RUN(request)},
	{"protocol", COL_TEXT, RUN(protocol)},
	{"error", COL_TEXT, RUN(error)},
	{"limited", COL_TEXT, RUN(limited)},
	{"limited_code", COL_TEXT, RUN(limited_code)},
	{"near_name", COL_TEXT, RUN(host[0].name)},
	{"near_tool", COL_TEXT, RUN(host[0].tool)},
	{"near_version", COL_TEXT, RUN(host[0].version)},
	{"near_facts", COL_JSON, RUN(host[0].facts)},
	{"far_name", COL_TEXT, RUN(host[1].name)},
	{"far_tool", COL_TEXT, RUN(host[1].tool)},
	{"far_version", COL_TEXT, RUN(host[1].version)},
	{"far_facts", COL_JSON, RUN(host[1].facts)},
	{"source_file", COL_TEXT, RUN(source.file)},
	{"source_sha256", COL_TEXT, RUN(source.sha256)},
	{"source_tool", COL_TEXT, RUN(source.tool)},
	{"source_version", COL_TEXT, RUN(source.version)},
	{"source_from", COL_INT, RUN(source.span_from)},
	{"source_to", COL_INT, RUN(source.span_to)},
	{"source_line", COL_INT, RUN(source.line)},
	{"exp_id", COL_TEXT, RUN(exp.id)},
	{"exp_factors", COL_TEXT, RUN(exp.factors)},
	{"exp_plan", COL_TEXT, RUN(exp.plan)},
	{"exp_primary", COL_TEXT, RUN(exp.primary)},
	{"exp_variant", COL_TEXT, RUN(exp.variant)},
	{"exp_seed", COL_INT, RUN(exp.seed)},
	{"exp_block", COL_INT, RUN(exp.block)},
	{"exp_position", COL_INT, RUN(exp.position)},
	{"exp_margin", COL_REAL, RUN(exp.margin)},
};
static const struct col tag_cols[] = {
	{"k", COL_TEXT, AT(model_kv, k)},
	{"v", COL_TEXT, AT(model_kv, v)},
};
static const struct col part_cols[] = {
	{"parent", COL_PART, AT(model_part, parent)},
	{"kind", COL_ENUM, AT(model_part, kind), .names = model_part_kind_names},
	{"name", COL_TEXT, AT(model_part, name)},
	{"params", COL_JSON, AT(model_part, params)},
	{"t0", COL_TIME, AT(model_part, t0)},
	{"t1", COL_TIME, AT(model_part, t1)},
	{"outcome", COL_ENUM, AT(model_part, outcome), .names = model_outcome_names},
};
static const struct col clock_cols[] = {
	{"end", COL_ENUM, AT(model_clock, end), .names = end_names},
	{"kind", COL_ENUM, AT(model_clock, kind), .names = model_clock_kind_names},
	{"offset_known", COL_BOOL, AT(model_clock, offset_known)},
	{"offset_ns", COL_INT, AT(model_clock, offset_ns)},
	{"offset_err_ns", COL_INT, AT(model_clock, offset_err_ns)},
	{"method", COL_TEXT, AT(model_clock, method)},
};
static const struct col pair_cols[] = {
	{"clock", COL_CLOCK, AT(row_pair, clock)},
	{"t", COL_INT, AT(row_pair, at.t)},
	{"real_ns", COL_INT, AT(row_pair, at.real_ns)},
};
static const struct col axis_cols[] = {
	{"part", COL_PART, AT(model_axis, part)},
	{"clock", COL_U32, AT(model_axis, clock)},
};
static const struct col frame_cols[] = {
	{"axis", COL_AXIS, AT(model_frame, axis)},
	{"dims", COL_DIMS, AT(model_frame, dims)},
	{"metrics", COL_METRICS, .off = 0},
};
static const struct col hist_cols[] = {
	{"part", COL_PART, AT(model_hist, part)}, {"metric", COL_METRIC, AT(model_hist, metric)},
	{"dims", COL_DIMS, AT(model_hist, dims)}, {"exp10", COL_INT32, AT(model_hist, exp10)},
	{"data", COL_HIST, AT(model_hist, h)},
};
static const struct col summary_cols[] = {
	{"part", COL_PART, AT(model_summary, part)},
	{"metric", COL_METRIC, AT(model_summary, metric)},
	{"dims", COL_DIMS, AT(model_summary, dims)},
	{"stat", COL_ENUM, AT(model_summary, stat), .names = model_stat_names},
	{"state", COL_ENUM, AT(model_summary, state), .names = model_state_names},
	{"bound", COL_ENUM, AT(model_summary, bound), .names = model_bound_names},
	{"prov", COL_ENUM, AT(model_summary, prov), .names = model_prov_names},
	{"value", COL_REAL, AT(model_summary, value)},
	{"resolution", COL_REAL, AT(model_summary, resolution)},
};
static const struct col event_cols[] = {
	{"part", COL_PART, AT(model_event, part)},
	{"code", COL_WARN, AT(model_event, code)},
	{"severity", COL_ENUM, AT(model_event, severity), .names = model_severity_names},
	{"subject", COL_DIMS, AT(model_event, subject)},
	{"t", COL_TIME, AT(model_event, t)},
	{"text", COL_TEXT, AT(model_event, text)},
};
static const struct col verdict_cols[] = {
	{"method", COL_TEXT, AT(model_verdict, method)},
	{"metric", COL_TEXT, AT(model_verdict, metric)},
	{"advice", COL_TEXT, AT(model_verdict, advice)},
	{"outcome", COL_ENUM, AT(model_verdict, outcome), .names = model_verdict_names},
	{"effect", COL_REAL, AT(model_verdict, effect)},
	{"lo", COL_REAL, AT(model_verdict, lo)},
	{"hi", COL_REAL, AT(model_verdict, hi)},
	{"inputs", COL_LIST, AT(model_verdict, inputs),
	 .more = offsetof(struct model_verdict, n_inputs)},
	{"reasons", COL_LIST, AT(model_verdict, reasons),
	 .more = offsetof(struct model_verdict, n_reasons)},
};
static const struct col chunk_cols[] = {
	{"axis", COL_AXIS, AT(row_chunk, axis)},
	{"rows", COL_U32, AT(row_chunk, rows)},
	{"data", COL_BLOB, AT(row_chunk, data)},
};

#define TABLE(name, cols) name, cols, ARRAY_LEN(cols)
const struct row_table store_row_tables[] = {
	[TABLE_RUN] = {TABLE("runs", run_cols)},
	[TABLE_TAG] = {TABLE("tags", tag_cols)},
	[TABLE_PART] = {TABLE("parts", part_cols)},
	[TABLE_CLOCK] = {TABLE("clocks", clock_cols)},
	[TABLE_PAIR] = {TABLE("clock_pairs", pair_cols)},
	[TABLE_AXIS] = {TABLE("axes", axis_cols)},
	[TABLE_FRAME] = {TABLE("frames", frame_cols)},
	[TABLE_HIST] = {TABLE("hists", hist_cols)},
	[TABLE_SUMMARY] = {TABLE("summaries", summary_cols)},
	[TABLE_EVENT] = {TABLE("events", event_cols)},
	[TABLE_VERDICT] = {TABLE("verdicts", verdict_cols)},
	[TABLE_CHUNK] = {TABLE("chunks", chunk_cols)},
};

const char *const store_row_extra[ROW_EXTRA] = {"owner", "headline", "stored_ns"};

/* ---- SQL ---- */

static void put_columns(struct buf *b, enum table_id t, const char *fmt)
{
	for (size_t i = 0; i < store_row_tables[t].n; i++) {
		const char *name = store_row_tables[t].cols[i].name;

		if (i)
			buf_putc(b, ',');
		for (const char *f = fmt; *f; f++) {
			if (*f == '@')
				buf_printf(b, "\"%s\"", name);
			else
				buf_putc(b, *f);
		}
	}
}

static void write_run(struct buf *b)
{
	buf_puts(b, "INSERT INTO runs(seq,");
	put_columns(b, TABLE_RUN, "@");
	for (size_t i = 0; i < ROW_EXTRA; i++)
		buf_printf(b, ",%s", store_row_extra[i]);
	buf_puts(b, ") VALUES(?");
	for (size_t i = 0; i < ARRAY_LEN(run_cols) + ROW_EXTRA; i++)
		buf_puts(b, ",?");
	buf_puts(b, ") ON CONFLICT(seq) DO UPDATE SET ");
	put_columns(b, TABLE_RUN, "@=excluded.@");
	for (size_t i = 0; i < ROW_EXTRA; i++)
		buf_printf(b, ",%s=excluded.%s", store_row_extra[i], store_row_extra[i]);
}

void store_row_sql_write(struct buf *b, enum table_id t)
{
	if (t == TABLE_RUN) {
		write_run(b);
		return;
	}
	buf_printf(b, "INSERT OR REPLACE INTO %s(run,n,", store_row_tables[t].name);
	put_columns(b, t, "@");
	buf_puts(b, ") VALUES(?,?");
	for (size_t i = 0; i < store_row_tables[t].n; i++)
		buf_puts(b, ",?");
	buf_putc(b, ')');
}

void store_row_sql_read(struct buf *b, enum table_id t)
{
	buf_puts(b, "SELECT ");
	put_columns(b, t, "@");
	if (t == TABLE_RUN)
		buf_puts(b, " FROM runs WHERE seq=?");
	else
		buf_printf(b, " FROM %s WHERE run=? ORDER BY n", store_row_tables[t].name);
}
