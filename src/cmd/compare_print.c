/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as people read it: the runs themselves as dots on one scale, a line a metric, then
 * the verdict in words and what else differed. The same for a mail (ASCII), for a wiki (Markdown),
 * for programs (JSON).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/compare.h"

#define PLOT_WIDTH 56
#define WRAP       72

/* ---- pieces ---- */

static void put_value(struct buf *b, const struct compare_row *r, double v)
{
	char text[48];

	if (isnan(v)) {
		buf_puts(b, "-");
	} else if (r->metric || r->unit != UNIT_NONE) {
		unit_format(text, sizeof(text), v, r->unit, 3);
		buf_puts(b, text);
	} else {
		buf_printf(b, "%.4g", v);
	}
}

static void put_effect(struct buf *b, const struct model_judgement *j)
{
	if (isnan(j->effect)) {
		buf_puts(b, "-");
		return;
	}
	if (isinf(j->effect)) {
		buf_puts(b, "from 0");
		return;
	}
	buf_printf(b, "%+.2f %%", 100 * j->effect);
	if (!isnan(j->lo))
		buf_printf(b, " (%+.2f to %+.2f)", 100 * j->lo, 100 * j->hi);
}

/* ASCII for a mail, in which names may stand in any language. */
static void put_ascii(struct buf *b, const char *s)
{
	static const struct {
		const char *from, *to;
	} known[] = {{"±", "+/-"}, {"…", "..."}, {"µ", "u"}, {"−", "-"}};
	size_t n, k;

	for (; *s; s += n) {
		for (n = 1; ((unsigned char)s[n] & 0xc0) == 0x80; n++)
			;
		for (k = 0; k < ARRAY_LEN(known) && strncmp(s, known[k].from, n) != 0; k++)
			;
		if ((unsigned char)*s < 0x80)
			buf_putc(b, *s);
		else
			buf_puts(b, k < ARRAY_LEN(known) ? known[k].to : "?");
	}
}

static size_t columns_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* A word, and a % sign that belongs to the number before it. */
static size_t word_length(const char *s)
{
	size_t n = strcspn(s, " \n");

	return s[n] == ' ' && s[n + 1] == '%' ? n + 1 + strcspn(s + n + 1, " \n") : n;
}

static void put_wrapped(struct buf *b, const char *text, size_t width)
{
	size_t at = 0;

	while (*text) {
		char word[256];
		size_t n = word_length(text), shown;

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		shown = columns_of(word);
		if (at && at + 1 + shown > width) {
			buf_putc(b, '\n');
			at = 0;
		}
		buf_printf(b, "%s%s", at ? " " : "", word);
		at += shown + (at ? 1 : 0);
		text += n;
		text += strspn(text, " \n");
	}
	buf_putc(b, '\n');
}

static void put_verdict(const struct compare_cfg *c, const struct compare_set *s,
			const struct compare_row *r, struct buf *b)
{
	struct buf text = {0}, ascii = {0};
	char a[2] = {s->v[0].letter, 0}, other[2] = {s->v[r->b].letter, 0};

	model_judgement_text(&r->j, r->metric, a, other, &text);
	if (text.data && c->paste) {
		put_ascii(&ascii, text.data);
		put_wrapped(b, ascii.data ? ascii.data : "", WRAP);
	} else if (text.data && c->markdown) {
		buf_printf(b, "%s\n", text.data);
	} else if (text.data) {
		put_wrapped(b, text.data, 80);
	}
	buf_fini(&text);
	buf_fini(&ascii);
}

/* ---- dots ---- */

static void range_of(const double *x, size_t n, double *lo, double *hi)
{
	for (size_t i = 0; i < n; i++) {
		*lo = fmin(*lo, x[i]);
		*hi = fmax(*hi, x[i]);
	}
}

static void put_dots(struct buf *b, char letter, const double *x, size_t n, double lo, double hi)
{
	static const char marks[] = " .o8@";
	size_t count[PLOT_WIDTH] = {0};

	for (size_t i = 0; i < n; i++) {
		double at = hi > lo ? (x[i] - lo) / (hi - lo) : 0.5;

		count[(size_t)(at * (PLOT_WIDTH - 1) + 0.5)]++;
	}
	buf_printf(b, "  %c |", letter);
	for (size_t i = 0; i < PLOT_WIDTH; i++)
		buf_putc(b, marks[count[i] < 4 ? count[i] : 4]);
	buf_puts(b, "|\n");
}

static void put_plot(const struct compare_set *s, const struct compare_row *r, struct buf *b)
{
	double lo = (double)INFINITY, hi = -(double)INFINITY;
	struct buf left = {0}, right = {0};
	size_t gap;

	range_of(r->xa, r->na, &lo, &hi);
	range_of(r->xb, r->nb, &lo, &hi);
	if (!isfinite(lo) || !isfinite(hi))
		return;
	put_dots(b, s->v[0].letter, r->xa, r->na, lo, hi);
	put_dots(b, s->v[r->b].letter, r->xb, r->nb, lo, hi);
	put_value(&left, r, lo);
	put_value(&right, r, hi);
	gap = left.len + right.len < PLOT_WIDTH ? PLOT_WIDTH - left.len - right.len : 1;
	buf_printf(b, "     %s", left.data ? left.data : "");
	buf_repeat(b, ' ', gap);
	buf_printf(b, "%s\n\n", right.data ? right.data : "");
	buf_fini(&left);
	buf_fini(&right);
}

/* ---- the table ---- */

enum { CELL_METRIC, CELL_A, CELL_B, CELL_EFFECT, CELL_OUTCOME, CELLS };
static const char *const heads[CELLS] = {"metric", "A", "B", "effect (interval)", "outcome"};

static void put_cell(const struct compare_cfg *c, const struct compare_set *s,
		     const struct compare_row *r, int cell, struct buf *b)
{
	struct buf word = {0};

	switch (cell) {
	case CELL_METRIC:
		buf_printf(b, "%s%s", r->metric ? r->metric : "value",
			   r->primary && !c->values ? " *" : "");
		if (s->n > 2)
			buf_printf(b, " %c", s->v[r->b].letter);
		break;
	case CELL_A:
		put_value(b, r, r->j.a);
		break;
	case CELL_B:
		put_value(b, r, r->j.b);
		break;
	case CELL_EFFECT:
		put_effect(b, &r->j);
		break;
	default:
		model_judgement_word(&r->j, &word);
		buf_puts(b, word.data ? word.data : "");
		buf_fini(&word);
	}
}

/* The cell's text, padded to a width; the width alone when b is NULL. */
static size_t cell_width(const struct compare_cfg *c, const struct compare_set *s,
			 const struct compare_row *r, int cell, struct buf *b, size_t width)
{
	struct buf text = {0};
	size_t n;

	put_cell(c, s, r, cell, &text);
	n = text.data ? columns_of(text.data) : 0;
	if (b) {
		buf_puts(b, text.data ? text.data : "");
		buf_repeat(b, ' ', cell < CELL_OUTCOME && width > n ? width - n : 0);
	}
	buf_fini(&text);
	return n;
}

static void put_table(const struct compare_cfg *c, const struct compare_set *s,
		      const struct compare_rows *rows, struct buf *b)
{
	const char *sep = c->markdown ? " | " : "  ";
	size_t width[CELLS];

	for (int k = 0; k < CELLS; k++) {
		width[k] = strlen(heads[k]);
		for (size_t i = 0; i < rows->n; i++) {
			size_t n = cell_width(c, s, &rows->v[i], k, NULL, 0);

			width[k] = n > width[k] ? n : width[k];
		}
	}
	for (int k = 0; k < CELLS; k++)
		buf_printf(b, "%s%-*s",
			   k             ? sep
			   : c->markdown ? "| "
					 : "",
			   k < CELL_OUTCOME ? (int)width[k] : 0, heads[k]);
	buf_puts(b, c->markdown ? " |\n|---|---|---|---|---|\n" : "\n");
	for (size_t i = 0; i < rows->n; i++) {
		for (int k = 0; k < CELLS; k++) {
			buf_puts(b, k ? sep : c->markdown ? "| " : "");
			cell_width(c, s, &rows->v[i], k, b, width[k]);
		}
		buf_puts(b, c->markdown ? " |\n" : "\n");
	}
	buf_putc(b, '\n');
}

/* A mail has no room for the table: two lines a metric. */
static void put_list(const struct compare_cfg *c, const struct compare_set *s,
		     const struct compare_rows *rows, struct buf *b)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct compare_row *r = &rows->v[i];

		put_cell(c, s, r, CELL_METRIC, b);
		buf_puts(b, ": ");
		put_cell(c, s, r, CELL_A, b);
		buf_puts(b, " -> ");
		put_cell(c, s, r, CELL_B, b);
		buf_puts(b, "\n    ");
		put_cell(c, s, r, CELL_EFFECT, b);
		buf_puts(b, ": ");
		put_cell(c, s, r, CELL_OUTCOME, b);
		buf_putc(b, '\n');
	}
	buf_putc(b, '\n');
}

/* ---- what else ---- */

static size_t overlapped(const struct compare_side *s)
{
	size_t n = 0;

	for (size_t i = 0; s->runs && i < s->n; i++) {
		bool found = false;

		for (size_t k = 0; k < s->runs[i]->n_events; k++)
			found = found || s->runs[i]->events[k].code == WARN_OVERLAP;
		n += found;
	}
	return n;
}

static void put_others(const struct compare_cfg *c, const struct compare_set *s, struct buf *b)
{
	for (size_t i = 1; i < s->n; i++) {
		struct buf text = {0};

		if (compare_differences(c, &s->v[0], &s->v[i], &text, NULL) && text.data)
			buf_printf(b,
				   "\nAlso different between %c and %c, and not declared "
				   "(--varied):\n%s\n",
				   s->v[0].letter, s->v[i].letter, text.data);
		buf_fini(&text);
	}
	for (size_t i = 0; i < s->n; i++) {
		size_t n = overlapped(&s->v[i]);

		if (n)
			buf_printf(b,
				   "\n%zu of the %zu runs of %c overlapped with other tests on "
				   "the server.\n",
				   n, s->v[i].n, s->v[i].letter);
	}
}

/* What limited most of a side's runs: one of them, and how many it was; NULL: nothing did. */
static const struct model_run *limited(const struct compare_side *s, size_t *most)
{
	const struct model_run *found = NULL;

	*most = 0;
	for (size_t i = 0; s->runs && i < s->n; i++) {
		const char *code = s->runs[i]->limited_code;
		size_t n = 0;

		for (size_t k = 0; code && k < s->n; k++)
			n += s->runs[k]->limited_code && !strcmp(code, s->runs[k]->limited_code);
		if (n > *most) {
			*most = n;
			found = s->runs[i];
		}
	}
	return found;
}

static void put_limits(const struct compare_cfg *c, const struct compare_set *s, struct buf *b)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		struct buf line = {0};
		size_t n;
		const struct model_run *r = limited(&s->v[i], &n);

		if (!r)
			continue;
		if (!any)
			buf_puts(b, "\nLimited by\n");
		any = true;
		buf_printf(&line, "%s%c (%zu of %zu): ", c->markdown ? "- " : "", s->v[i].letter, n,
			   s->v[i].n);
		safe_put(&line, r->limited, strlen(r->limited));
		if (c->markdown || c->paste)
			buf_printf(b, "%s\n", line.data ? line.data : "");
		else
			put_wrapped(b, line.data ? line.data : "", 80);
		buf_fini(&line);
	}
}

/* A run without the metric is in no figure above. */
static void put_lacking(const struct compare_set *s, const struct compare_rows *rows, struct buf *b)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct compare_row *r = &rows->v[i];

		for (int k = 0; k < 2; k++) {
			const struct compare_side *side = &s->v[k ? r->b : 0];

			if (r->lacking[k] && r->lacking[k] < side->n)
				buf_printf(b, "\n%zu of the %zu runs of %c %s no %s.\n",
					   r->lacking[k], side->n, side->letter,
					   r->lacking[k] == 1 ? "has" : "have", r->metric);
		}
	}
}

/* A metric is told once, though it may have been compared with several sides. */
static void put_floors(const struct compare_rows *rows, struct buf *b)
{
	const struct cmd_floor *last = NULL;
	char when[24];

	for (size_t i = 0; i < rows->n; i++) {
		const struct cmd_floor *f = &rows->v[i].floor;

		if (!(f->ratio > 0) || !f->when_ns ||
		    (i && !strcmp(rows->v[i - 1].floor.metric, f->metric)))
			continue;
		buf_printf(b, "%s%s %.2g %%",
			   last ? ", " : "\nNoise floor of this testbed: ", f->metric,
			   100 * f->ratio);
		last = f;
	}
	if (!last)
		return;
	clk_format_utc(when, sizeof(when), last->when_ns);
	buf_printf(b, " (weir calibrate of %.10s).\n", when);
}

static void put_sides(const struct compare_set *s, const char *line_end, struct buf *b)
{
	for (size_t i = 0; i < s->n; i++) {
		buf_printf(b, "%c  ", s->v[i].letter);
		safe_put(b, s->v[i].name, strlen(s->v[i].name));
		buf_printf(b, " (%zu run%s)%s\n", s->v[i].n, s->v[i].n == 1 ? "" : "s", line_end);
	}
	buf_putc(b, '\n');
}

/* A gate that no sentence above has told. */
static bool is_gated_alone(const struct compare_rows *rows, size_t at)
{
	uint64_t gates = rows->v[at].j.reasons & MODEL_REASON_GATES, told = 0;

	for (size_t i = 0; i < rows->n; i++)
		told |= rows->v[i].primary ? rows->v[i].j.reasons : 0;
	return gates & ~told;
}

static void print_all(const struct compare_cfg *c, const struct compare_set *s,
		      const struct compare_rows *rows, struct buf *out)
{
	put_sides(s, c->markdown ? "  " : "", out);
	for (size_t i = 0; i < rows->n && !c->markdown; i++) {
		if (rows->v[i].primary)
			put_plot(s, &rows->v[i], out);
	}
	(c->paste ? put_list : put_table)(c, s, rows, out);
	/* The usual metrics stand in the table; what was asked for gets its sentence. */
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].primary || c->metrics.n || is_gated_alone(rows, i))
			put_verdict(c, s, &rows->v[i], out);
	}
	put_lacking(s, rows, out);
	put_limits(c, s, out);
	put_others(c, s, out);
	put_floors(rows, out);
}

/* A line for a mail: what is too long goes on below, indented; where there is no blank it is cut. */
static void put_mail_line(struct buf *b, const char *line, size_t n)
{
	const size_t indent = 4;
	size_t room = WRAP, cut;

	while (n > room) {
		for (cut = room; cut && line[cut] != ' '; cut--)
			;
		cut = cut > indent ? cut : room;
		buf_printf(b, "%.*s\n", (int)cut, line);
		while (cut < n && line[cut] == ' ')
			cut++;
		line += cut;
		n -= cut;
		buf_repeat(b, ' ', indent);
		room = WRAP - indent;
	}
	buf_printf(b, "%.*s\n", (int)n, line);
}

void compare_print(const struct compare_cfg *c, const struct compare_set *s,
		   const struct compare_rows *rows, struct buf *out)
{
	struct buf all = {0}, ascii = {0};

	if (!c->paste) {
		print_all(c, s, rows, out);
		return;
	}
	print_all(c, s, rows, &all);
	put_ascii(&ascii, all.data ? all.data : "");
	for (const char *p = ascii.data; p && *p;) {
		size_t n = strcspn(p, "\n");

		put_mail_line(out, p, n);
		p += n + (p[n] == '\n');
	}
	out->failed |= all.failed || ascii.failed;
	buf_fini(&all);
	buf_fini(&ascii);
}

/* ---- JSON ---- */

static void json_values(struct jw *w, const char *key, const double *x, size_t n)
{
	jw_arr(w, key);
	for (size_t i = 0; i < n; i++)
		jw_f64(w, NULL, x[i]);
	jw_end_arr(w);
}

static void json_row(const struct compare_set *s, const struct compare_row *r, bool undeclared,
		     struct jw *w)
{
	char a[2] = {s->v[0].letter, 0}, other[2] = {s->v[r->b].letter, 0};
	struct buf text = {0};

	jw_str(w, "metric", r->metric);
	jw_str(w, "unit", unit_name(r->unit));
	jw_str(w, "better", model_better_names[r->j.better]);
	jw_bool(w, "primary", r->primary && !undeclared);
	jw_str(w, "side", other);
	model_judgement_json(&r->j, w);
	model_judgement_text(&r->j, r->metric, a, other, &text);
	jw_str(w, "text", text.data);
	jw_arr(w, "lacking");
	jw_u64(w, NULL, r->lacking[0]);
	jw_u64(w, NULL, r->lacking[1]);
	jw_end_arr(w);
	json_values(w, "values_a", r->xa, r->na);
	json_values(w, "values_b", r->xb, r->nb);
	buf_fini(&text);
}

static void json_sides(const struct compare_cfg *c, const struct compare_set *s, struct jw *w)
{
	jw_arr(w, "sides");
	for (size_t i = 0; i < s->n; i++) {
		char letter[2] = {s->v[i].letter, 0};
		struct buf text = {0};
		char *save = NULL;
		size_t n;
		const struct model_run *r = limited(&s->v[i], &n);

		jw_obj(w, NULL);
		jw_str(w, "side", letter);
		jw_str(w, "name", s->v[i].name);
		jw_u64(w, "n", s->v[i].n);
		jw_arr(w, "runs");
		for (size_t k = 0; s->v[i].runs && k < s->v[i].n; k++)
			jw_str(w, NULL, s->v[i].runs[k]->id);
		jw_end_arr(w);
		jw_u64(w, "overlapped", overlapped(&s->v[i]));
		if (r) {
			jw_obj(w, "limited");
			jw_str(w, "code", r->limited_code);
			jw_str(w, "text", r->limited);
			jw_u64(w, "runs", n);
			jw_end_obj(w);
		}
		jw_arr(w, "undeclared");
		if (i && compare_differences(c, &s->v[0], &s->v[i], &text, NULL) && text.data) {
			for (char *l = strtok_r(text.data, "\n", &save); l;
			     l = strtok_r(NULL, "\n", &save))
				jw_str(w, NULL, l);
		}
		jw_end_arr(w);
		jw_end_obj(w);
		buf_fini(&text);
	}
	jw_end_arr(w);
}

/* The primary comparison's members stand at the top, so that a script needs no search. */
void compare_json(const struct compare_cfg *c, const struct compare_set *s,
		  const struct compare_rows *rows, struct buf *out)
{
	struct jw w = jw_init(out);

	jw_obj(&w, NULL);
	jw_i64(&w, "schema", MODEL_SCHEMA);
	jw_str(&w, "type", "comparison");
	json_row(s, &rows->v[0], rows->undeclared, &w);
	json_sides(c, s, &w);
	jw_arr(&w, "comparisons");
	for (size_t i = 0; i < rows->n; i++) {
		jw_obj(&w, NULL);
		json_row(s, &rows->v[i], rows->undeclared, &w);
		jw_end_obj(&w);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
	buf_putc(out, '\n');
}
