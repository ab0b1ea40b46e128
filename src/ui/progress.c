/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line on a terminal while nothing else moves there: time, the last interval's rate in each
 * direction, and a sparkline of the last ones. It is wiped before the result is printed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ui/ui.h"

#define SPARK_MAX       24
#define COLUMNS_DEFAULT 80

struct progress {
	struct sink sink;
	int fd;
	int64_t total_ns;
	bool unicode, shown;
	double rate[2][SPARK_MAX]; /* up, down: the last intervals, bit/s */
	size_t n;
};

int ui_columns(int fd)
{
	struct winsize ws;

	if (ioctl(fd, TIOCGWINSZ, &ws) < 0 || !ws.ws_col)
		return COLUMNS_DEFAULT;
	return ws.ws_col;
}

static void put(const struct progress *p, const struct buf *b)
{
	/* A terminal that went away costs the line, nothing else. */
	(void)!write(p->fd, b->data, b->len);
}

static void wipe(struct progress *p)
{
	struct buf b = {0};

	if (!p->shown)
		return;
	buf_puts(&b, "\r\033[K");
	put(p, &b);
	buf_fini(&b);
	p->shown = false;
}

static bool is_far(const struct model_frame *f)
{
	return f->dims.has & 1U << DIM_END && f->dims.v[DIM_END] == MODEL_FAR;
}

/* A far end's samples come in ticks of their own. */
static bool is_near(const struct model_run *r, const struct model_tick *t)
{
	return t->n_rows && !is_far(r->frames[t->rows[0].frame]);
}

/* Bytes of one direction in a tick; the view that this end has. */
static double tick_bytes(const struct model_run *r, const struct model_tick *t, int dir)
{
	struct model_dims want = model_dims_with(DIMS_NONE, DIM_DIR, dir);
	double sum = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct model_frame *f = r->frames[t->rows[i].frame];

		if (!model_dims_match(&f->dims, &want))
			continue;
		for (size_t c = 0; c < f->n_cols; c++) {
			if ((t->rows[i].valid & (1ULL << c)) &&
			    !strcmp(f->cols[c].metric->name, "bytes"))
				sum += (double)t->rows[i].v[c].u;
		}
	}
	return sum;
}

static void put_spark(struct buf *b, const double *x, size_t n, bool unicode)
{
	static const char *const utf8[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	double max = 0;

	for (size_t i = 0; i < n; i++)
		max = x[i] > max ? x[i] : max;
	for (size_t i = 0; i < n; i++) {
		int level = max > 0 ? (int)(x[i] / max * 7.0) : 0;

		buf_puts(b, unicode ? utf8[level] : ascii[level]);
	}
}

static void put_direction(struct progress *p, struct buf *b, int dir)
{
	static const char *const names[] = {"up", "down"};
	char rate[32];

	if (!p->n || p->rate[dir][p->n - 1] <= 0)
		return;
	unit_format(rate, sizeof(rate), p->rate[dir][p->n - 1], UNIT_BPS, 3);
	buf_printf(b, "  %s %s ", names[dir], rate);
	put_spark(b, p->rate[dir], p->n, p->unicode);
}

static void progress_begin(struct sink *s, const struct model_run *r)
{
	(void)s;
	(void)r;
}

static void progress_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct progress *p = (struct progress *)s;
	struct buf b = {0};

	if (t->t1 <= t->t0 || !is_near(r, t))
		return;
	if (p->n == SPARK_MAX) {
		for (int dir = 0; dir < 2; dir++)
			memmove(p->rate[dir], p->rate[dir] + 1, (SPARK_MAX - 1) * sizeof(double));
		p->n--;
	}
	for (int dir = 0; dir < 2; dir++)
		p->rate[dir][p->n] = tick_bytes(r, t, dir) * 8e9 / (double)(t->t1 - t->t0);
	p->n++;
	buf_printf(&b, "\r%.0f", (double)t->t1 * 1e-9);
	if (p->total_ns > 0)
		buf_printf(&b, "/%.0f", (double)p->total_ns * 1e-9);
	buf_puts(&b, " s");
	put_direction(p, &b, 0);
	put_direction(p, &b, 1);
	buf_puts(&b, "\033[K");
	put(p, &b);
	buf_fini(&b);
	p->shown = true;
}

static void progress_event(struct sink *s, const struct model_run *r, const struct model_event *e)
{
	(void)s;
	(void)r;
	(void)e;
}

static void progress_end(struct sink *s, const struct model_run *r)
{
	(void)r;
	wipe((struct progress *)s);
}

static int progress_close(struct sink *s, struct weir_err *e)
{
	(void)e;
	wipe((struct progress *)s);
	free(s);
	return 0;
}

struct sink *ui_progress(int fd, int64_t total_ns, bool unicode)
{
	struct progress *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sink = (struct sink){progress_begin, progress_sample, progress_event, progress_end,
				progress_close};
	p->fd = fd;
	p->total_ns = total_ns;
	p->unicode = unicode;
	return &p->sink;
}
