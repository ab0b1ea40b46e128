/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader must be able to give up a report without a trace, and the same report becomes a part of a
 * run, a run of its own, JSON or lines. So it is kept as plain figures, rows and warnings until it
 * is whole.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

#define FIGS_MAX  (1u << 20)
#define ROWS_MAX  (1u << 21)
#define WARNS_MAX 256

/* Names live as long as their report, so they share blocks. */
struct found_names {
	struct found_names *next;
	size_t used;
	char text[4000];
};
#define NAME_MAX_LEN 96

void found_init(struct format_found *f, const char *kind)
{
	memset(f, 0, offsetof(struct format_found, param)); /* which n_param tells of */
	f->kind = f->what = kind;
}

static void free_names(struct found_names *b)
{
	while (b) {
		struct found_names *next = b->next;

		free(b);
		b = next;
	}
}

static void free_texts(struct format_found *f)
{
	for (size_t i = 0; i < f->n_warn; i++)
		free(f->warn[i].text);
	free(f->title);
	free(f->lead);
}

void found_reset(struct format_found *f, const char *kind)
{
	struct found_fig *fig = f->fig;
	struct found_row *row = f->row;
	struct found_warn *warn = f->warn;
	struct found_names *names = f->names;
	size_t cap_fig = f->cap_fig, cap_row = f->cap_row, cap_warn = f->cap_warn;

	free_texts(f);
	if (names) {
		free_names(names->next);
		names->next = NULL;
		names->used = 0;
	}
	found_init(f, kind);
	f->fig = fig;
	f->cap_fig = cap_fig;
	f->row = row;
	f->cap_row = cap_row;
	f->warn = warn;
	f->cap_warn = cap_warn;
	f->names = names;
}

void found_fini(struct format_found *f)
{
	free_texts(f);
	free_names(f->names);
	free(f->warn);
	free(f->fig);
	free(f->row);
	memset(f, 0, sizeof(*f));
}

struct model_dims found_dims(int dir, int view, int64_t flow)
{
	const struct {
		int id;
		int64_t v;
	} set[] = {{DIM_FLOW, flow}, {DIM_DIR, dir}, {DIM_VIEW, view}};
	struct model_dims d = DIMS_NONE;

	for (size_t i = 0; i < ARRAY_LEN(set); i++)
		if (set[i].v >= 0) {
			d.has |= 1u << set[i].id;
			d.v[set[i].id] = set[i].v;
		}
	return d;
}

/* What is more than a report may have is left out; the rest is as good as it was. */
static void *too_many(struct format_found *f, size_t max)
{
	f->partial = true;
	if (!found_warned(f, WARN_MEMORY_CAP))
		found_warn(f, WARN_MEMORY_CAP, "more than %zu figures or rows in one report", max);
	return NULL;
}

/* A new element, all zero; NULL and failed when there is no room. */
static void *grow(struct format_found *f, void *array, size_t *n, size_t *cap, size_t size,
		  size_t max)
{
	char *v;

	if (*n >= max)
		return too_many(f, max);
	memcpy(&v, array, sizeof(v));
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 16;
		void *p = reallocarray(v, more, size);

		if (!p) {
			f->failed = true;
			return NULL;
		}
		v = p;
		memcpy(array, &v, sizeof(v));
		*cap = more;
	}
	v += (*n)++ * size;
	return memset(v, 0, size);
}

static struct found_fig *add_fig(struct format_found *f, const char *metric, enum model_stat stat,
				 struct model_dims dims)
{
	struct found_fig *g = grow(f, &f->fig, &f->n_fig, &f->cap_fig, sizeof(*g), FIGS_MAX);

	if (g) {
		g->metric = metric;
		g->stat = stat;
		g->dims = dims;
		g->prov = MODEL_PRINTED;
	}
	return g;
}

void found_ext(struct format_found *f, const char *name, enum unit unit, enum model_stat stat,
	       struct model_dims dims, double value, double resolution)
{
	struct found_fig *g = isfinite(value) ? add_fig(f, name, stat, dims) : NULL;

	if (g) {
		g->unit = unit;
		g->value = value;
		g->resolution = resolution;
	}
}

void found_fig(struct format_found *f, const char *metric, enum model_stat stat,
	       struct model_dims dims, double value, double resolution)
{
	found_ext(f, metric, UNIT_NONE, stat, dims, value, resolution);
}

void found_unknown(struct format_found *f, const char *metric, struct model_dims dims)
{
	struct found_fig *g = add_fig(f, metric, STAT_VALUE, dims);

	if (g)
		g->state = MODEL_UNKNOWN;
}

void found_prov(struct format_found *f, enum model_prov prov)
{
	if (f->n_fig)
		f->fig[f->n_fig - 1].prov = prov;
}

struct found_row *found_row(struct format_found *f, double t0_s, double t1_s)
{
	struct found_row *r = grow(f, &f->row, &f->n_row, &f->cap_row, sizeof(*r), ROWS_MAX);

	if (!r)
		return NULL;
	r->t0 = (int64_t)llround(t0_s * 1e9);
	r->t1 = (int64_t)llround(t1_s * 1e9);
	r->flow = r->dir = r->view = -1;
	for (size_t i = 0; i < FOUND_COLS; i++)
		r->v[i] = UNSET;
	return r;
}

void found_warn(struct format_found *f, enum model_warn_code code, const char *fmt, ...)
{
	struct found_warn *w;
	va_list ap;
	char text[256];

	if (f->n_warn >= WARNS_MAX) /* more say nothing new */
		return;
	w = grow(f, &f->warn, &f->n_warn, &f->cap_warn, sizeof(*w), WARNS_MAX);
	if (!w)
		return;
	va_start(ap, fmt);
	if (strchr(fmt, '%'))
		vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->code = code;
	w->text = strdup(strchr(fmt, '%') ? text : fmt);
	f->failed = f->failed || !w->text;
}

/* Room for a name of n bytes; NULL and failed when there is none. */
static char *name_room(struct format_found *f, size_t n)
{
	struct found_names *b = f->names;

	if (!b || b->used + n > sizeof(b->text)) {
		b = malloc(sizeof(*b));
		if (!b) {
			f->failed = true;
			return NULL;
		}
		b->next = f->names;
		b->used = 0;
		f->names = b;
	}
	b->used += n;
	return b->text + b->used - n;
}

static bool name_char(char c)
{
	return (uint8_t)((c | 32) - 'a') < 26 || (uint8_t)(c - '0') < 10 || c == '.';
}

const char *found_join(struct format_found *f, const char *a, const char *b, const char *c)
{
	const char *const parts[] = {a, b, c};
	size_t n = 0, len[3];
	char *dst;

	for (size_t i = 0; i < 3; n += len[i++])
		len[i] = strnlen(parts[i], NAME_MAX_LEN - 1 - n);
	dst = name_room(f, n + 1);
	if (!dst)
		return "ext.unknown";
	n = 0;
	for (size_t i = 0; i < 3; n += len[i++])
		memcpy(dst + n, parts[i], len[i]);
	for (size_t i = 0; i < n; i++)
		dst[i] = name_char(dst[i]) ? dst[i] : '_';
	dst[n] = '\0';
	return dst;
}

const char *found_name(struct format_found *f, const char *fmt, ...)
{
	char text[NAME_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return found_join(f, text, "", "");
}

bool found_warned(const struct format_found *f, enum model_warn_code code)
{
	for (size_t i = 0; i < f->n_warn; i++)
		if (f->warn[i].code == code)
			return true;
	return false;
}

static void copy(char *dst, size_t cap, const char *s)
{
	size_t n = strnlen(s, cap - 1);

	memcpy(dst, s, n);
	dst[n] = '\0';
}

void found_param(struct format_found *f, const char *key, const char *fmt, ...)
{
	va_list ap;
	size_t i = 0;

	while (i < f->n_param && strcmp(f->param[i].key, key) != 0)
		i++;
	if (i == ARRAY_LEN(f->param))
		return;
	f->n_param += i == f->n_param;
	copy(f->param[i].key, sizeof(f->param[i].key), key);
	va_start(ap, fmt);
	if (!strcmp(fmt, "%s")) /* as most are */
		copy(f->param[i].value, sizeof(f->param[i].value), va_arg(ap, const char *));
	else
		vsnprintf(f->param[i].value, sizeof(f->param[i].value), fmt, ap);
	va_end(ap);
}

void found_mark(struct format_found *f, uint64_t value)
{
	uint64_t h = f->mark ? f->mark : UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ value) * UINT64_C(0xff51afd7ed558ccd);
	f->mark = (h ^ h >> 32) | 1;
}

double found_resolution(const struct lex_tok *t, double scale)
{
	double step = scale;

	for (int i = 0; i < t->decimals && i < 300; i++)
		step /= 10;
	return step;
}

void found_check_rate(struct format_found *f, double bytes, double bytes_step, double seconds,
		      double seconds_step, double bps, double bps_step)
{
	double lo, hi, t0 = fmax(seconds - seconds_step, 0), t1 = seconds + seconds_step;

	if (!(t0 > 0) || !isfinite(bytes) || !isfinite(bps))
		return;
	/* A whole step on each side: some tools round, some cut. */
	lo = (bytes - bytes_step) * 8 / t1;
	hi = (bytes + bytes_step) * 8 / t0;
	if (bps + bps_step < lo * 0.999 || bps - bps_step > hi * 1.001)
		found_warn(f, WARN_MISMATCH, "%.4g bit/s is not %.4g bytes in %.4g s", bps, bytes,
			   seconds);
}

void found_intended(struct format_found *f, double bps)
{
	size_t n = f->n_fig;

	for (size_t i = 0; i < n && bps > 0; i++) {
		const struct found_fig g = f->fig[i];

		if (strcmp(g.metric, "throughput.sent") != 0 || g.stat != STAT_VALUE ||
		    g.dims.has >> DIM_FLOW & 1)
			continue;
		found_fig(f, "load.intended", STAT_VALUE, g.dims, bps, 0);
	}
}

/* Payload rates that Ethernet carries at most, with and without time stamps. */
static const double line_rates[] = {94.1e6, 94.9e6, 941e6, 949e6, 2353e6, 2373e6, 9414e6, 9490e6};

void found_check_line(struct format_found *f, double sent, double got)
{
	for (size_t i = 0; i < ARRAY_LEN(line_rates) && !isnan(got); i++) {
		double r = line_rates[i];

		if ((!isnan(sent) && fabs(sent / r - 1) >= 0.015) || fabs(got / r - 1) >= 0.015)
			continue;
		found_warn(f, WARN_LINE_RATE, "%.4g Mbit/s", r / 1e6);
		return;
	}
}

/* ---- into the model ---- */

const char *format_found_kind(const struct format_found *f)
{
	return f->kind;
}

uint64_t format_found_line(const struct format_found *f)
{
	return f->line;
}

const char *format_found_title(const struct format_found *f)
{
	return f->title;
}

const char *format_found_lead(const struct format_found *f)
{
	return f->lead;
}

const char *format_found_param(const struct format_found *f, const char *key)
{
	for (size_t i = 0; i < f->n_param; i++)
		if (!strcmp(f->param[i].key, key))
			return f->param[i].value;
	return NULL;
}

static const char *params(const struct format_found *f, struct model_run *r, uint64_t offset)
{
	struct buf b = {0};
	struct jw w = jw_init(&b);
	const char *s;

	jw_obj(&w, NULL);
	jw_str(&w, "kind", f->kind);
	if (f->tool[0])
		jw_str(&w, "tool", f->tool);
	if (f->version[0])
		jw_str(&w, "version", f->version);
	if (f->title)
		jw_str(&w, "title", f->title);
	jw_u64(&w, "from", f->from + offset);
	jw_u64(&w, "to", f->to + offset);
	jw_u64(&w, "line", f->line);
	for (size_t i = 0; i < f->n_param; i++)
		jw_str(&w, f->param[i].key, f->param[i].value);
	jw_end_obj(&w);
	s = b.failed ? NULL : model_run_str(r, b.data);
	buf_fini(&b);
	return s;
}

static int add_figs(const struct format_found *f, struct model_run *r, uint32_t part)
{
	int rc = 0;

	for (size_t i = 0; i < f->n_fig && rc >= 0; i++) {
		const struct found_fig *g = &f->fig[i];
		const struct model_metric *m = model_metric(g->metric);
		struct model_summary s = {.part = part, .dims = g->dims, .stat = g->stat};

		s.metric = m ? m : model_run_metric(r, g->metric, g->unit, MODEL_F64);
		if (!s.metric)
			return -ENOMEM;
		s.state = g->state;
		s.prov = g->prov;
		s.value = g->state == MODEL_KNOWN ? g->value : 0;
		s.resolution = g->resolution;
		rc = model_add_summary(r, &s);
	}
	return rc < 0 ? rc : 0;
}

/* Rows of one flow, direction and view are one frame on an axis of its own: what was printed for
 * several flows was not read at one instant. */
struct series {
	int flow, dir, view;
	uint32_t axis;
};

static int add_series(const struct format_found *f, struct model_run *r, uint32_t part,
		      uint32_t clock, const struct found_row *row, struct series *s)
{
	const struct model_metric *m[FOUND_COLS];
	struct model_dims d = found_dims(row->dir, row->view, row->flow);
	int axis = model_add_axis(r, part, clock), rc;

	if (axis < 0)
		return axis;
	for (size_t i = 0; i < f->n_col; i++) {
		m[i] = model_metric(f->col[i]);
		m[i] = m[i] ? m[i] : model_run_metric(r, f->col[i], UNIT_NONE, MODEL_F64);
		if (!m[i])
			return -ENOMEM;
	}
	rc = model_add_frame(r, (uint32_t)axis, &d, m, f->n_col);
	*s = (struct series){row->flow, row->dir, row->view, (uint32_t)axis};
	return rc < 0 ? rc : 0;
}

static int append(const struct format_found *f, struct model_run *r, const struct found_row *row,
		  uint32_t axis)
{
	union model_value v[FOUND_COLS];
	struct model_row mr = {.v = v};
	struct model_tick t = {.axis = axis, .t0 = row->t0, .t1 = row->t1, .flags = row->flags};
	int rc;

	mr.frame = r->axes[axis]->frames[0];
	for (size_t i = 0; i < f->n_col; i++) {
		const struct model_metric *m = r->frames[mr.frame]->cols[i].metric;

		if (!isfinite(row->v[i]) || fabs(row->v[i]) > 9e18)
			continue;
		if (m->type == MODEL_F64)
			v[i].f = row->v[i];
		else if (m->type == MODEL_I64)
			v[i].i = llround(row->v[i]);
		else
			v[i].u = row->v[i] > 0 ? (uint64_t)llround(row->v[i]) : 0;
		mr.valid |= UINT64_C(1) << i;
	}
	t.rows = &mr;
	t.n_rows = 1;
	rc = model_append(r, &t);
	return rc == -ENOSPC ? 0 : rc;
}

#define SERIES_MAX 1024
static int add_rows(const struct format_found *f, struct model_run *r, uint32_t part)
{
	struct series *s = f->n_row ? calloc(SERIES_MAX, sizeof(*s)) : NULL;
	int clock = r->n_clocks ? 0 : model_add_clock(r, MODEL_NEAR, CLOCK_KIND_VIRTUAL), rc = 0;
	size_t n = 0, last = 0;

	if ((f->n_row && !s) || clock < 0)
		rc = -ENOMEM;
	for (size_t i = 0; i < f->n_row && rc >= 0; i++) {
		const struct found_row *row = &f->row[i];
		size_t k = 0, at = last;

		for (; k < n; k++, at = (at + 1) % n)
			if (s[at].flow == row->flow && s[at].dir == row->dir &&
			    s[at].view == row->view)
				break;
		if (k == n) {
			if (n == SERIES_MAX)
				continue;
			at = n;
			rc = add_series(f, r, part, (uint32_t)clock, row, &s[n]);
			n += rc >= 0;
		}
		rc = rc < 0 ? rc : append(f, r, row, s[at].axis);
		last = at;
	}
	free(s);
	return rc;
}

static int64_t end_of(const struct format_found *f)
{
	int64_t t1 = 0;

	for (size_t i = 0; i < f->n_row; i++)
		t1 = f->row[i].t1 > t1 ? f->row[i].t1 : t1;
	for (size_t i = 0; i < f->n_fig; i++)
		if (!strcmp(f->fig[i].metric, "duration") && f->fig[i].value < 1e9 &&
		    f->fig[i].value * 1e9 > (double)t1)
			t1 = (int64_t)llround(f->fig[i].value * 1e9);
	return t1;
}

int format_found_add(const struct format_found *f, struct model_run *r)
{
	int part = model_add_part(r, PART_REPORT, MODEL_NO_PART, f->kind, 0), rc;

	if (part < 0)
		return part;
	r->parts[part].params = params(f, r, 0);
	rc = add_figs(f, r, (uint32_t)part);
	rc = rc < 0 ? rc : add_rows(f, r, (uint32_t)part);
	for (size_t i = 0; i < f->n_warn && rc >= 0; i++) {
		struct buf b = {0};

		safe_put(&b, f->warn[i].text, strlen(f->warn[i].text));
		rc = model_add_event(r, (uint32_t)part, f->warn[i].code, NULL, MODEL_NO_TIME,
				     b.data ? b.data : "");
		rc = rc == -ENOSPC ? 0 : rc;
		buf_fini(&b);
	}
	model_end_part(r, (uint32_t)part, end_of(f),
		       f->partial ? OUTCOME_PARTIAL : OUTCOME_COMPLETE);
	return rc < 0 ? rc : part;
}

struct model_run *format_found_head(const struct format_found *first, const uint8_t *hash)
{
	struct model_run *r = model_run_new(first->what, MODEL_NO_TIME, hash);

	if (!r)
		return NULL;
	if (first->start_s > 0 && first->start_s < 9e9)
		r->start_real_ns = (int64_t)(first->start_s * 1e3) * NSEC_PER_MSEC;
	r->protocol = model_run_str(r, first->protocol);
	r->outcome = first->partial ? OUTCOME_PARTIAL : OUTCOME_COMPLETE;
	r->source.tool = first->tool[0] ? model_run_str(r, first->tool) : NULL;
	r->source.version = first->version[0] ? model_run_str(r, first->version) : NULL;
	return r;
}

int format_found_join(const struct format_found *f, struct model_run *r, bool text)
{
	struct format_found plain = *f;
	int rc;

	if (found_warned(f, WARN_DUPLICATE))
		return 0;
	if (strcmp(f->what, r->kind) != 0)
		r->kind = "reports";
	if (r->protocol && (!f->protocol || strcmp(f->protocol, r->protocol) != 0))
		r->protocol = NULL;
	r->outcome = f->partial ? OUTCOME_PARTIAL : r->outcome;
	plain.title = text ? f->title : NULL;
	rc = format_found_add(&plain, r);
	return rc < 0 ? rc : 1;
}

struct model_run *format_found_run(const struct format_found *f, const uint8_t rnd[10])
{
	struct model_run *r = format_found_head(f, rnd);

	if (!r)
		return NULL;
	r->title = model_run_str(r, f->title);
	r->source.span_from = (int64_t)f->from;
	r->source.span_to = (int64_t)f->to;
	r->source.line = (int64_t)f->line;
	if (format_found_add(f, r) < 0) {
		model_run_free(r);
		return NULL;
	}
	return r;
}
