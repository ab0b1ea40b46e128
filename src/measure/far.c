/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A native peer sends its own run, line by line. Here it becomes a part of ours: its frames on
 * axes of a clock of their own, its summaries and events, all marked as the far end's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/priv.h"

#define EVENTS_MAX 64

static struct model_dims flipped(const struct model_dims *d)
{
	if (!(d->has & (1U << DIM_END)))
		return *d;
	return model_dims_with(*d, DIM_END, MODEL_FAR);
}

/* Strings of the far run's table mean nothing in ours: frames that need them are left out. */
static bool portable(const struct model_dims *d)
{
	for (int id = 0; id < DIM_MAX; id++) {
		if ((d->has & (1U << id)) && model_dim(id)->type == MODEL_DIM_STR)
			return false;
	}
	return true;
}

#define COLS_MAX 64

static int copy_frame(struct model_run *run, uint32_t axis, const struct model_frame *f)
{
	const struct model_metric *metrics[COLS_MAX];
	struct model_dims d = flipped(&f->dims);

	if (f->n_cols > COLS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < f->n_cols; i++) {
		const struct model_metric *m = f->cols[i].metric;

		metrics[i] = model_run_metric(run, m->name, m->unit, m->type);
		if (!metrics[i])
			return -EINVAL;
	}
	return model_add_frame(run, axis, &d, metrics, f->n_cols);
}

/* Each goes to the sink as well: to the store and the streams it is as new as our own were. */
static int copy_ticks(struct model_run *run, struct sink *sink, const struct model_run *far,
		      uint32_t from, uint32_t to, int64_t first_frame)
{
	struct model_cursor *c = model_cursor_new(far, from);
	struct model_row *rows = calloc(far->n_frames, sizeof(*rows));
	const struct model_tick *t;
	int rc = c && rows ? 0 : -ENOMEM;

	while (rc >= 0 && (rc = model_cursor_next(c, &t)) > 0) {
		struct model_tick mine = *t;

		for (size_t i = 0; i < t->n_rows; i++) {
			rows[i] = t->rows[i];
			rows[i].frame = (uint32_t)first_frame + (uint32_t)i;
		}
		mine.axis = to;
		mine.rows = rows;
		rc = model_append(run, &mine);
		if (rc >= 0 && sink)
			sink->sample(sink, run, &mine);
	}
	free(rows);
	model_cursor_free(c);
	return rc;
}

static bool axis_portable(const struct model_run *far, uint32_t axis)
{
	for (size_t i = 0; i < far->n_frames; i++) {
		if (far->frames[i]->axis == axis && !portable(&far->frames[i]->dims))
			return false;
	}
	return true;
}

static int copy_axis(struct model_run *run, struct sink *sink, const struct model_run *far,
		     uint32_t from, uint32_t part, uint32_t clock)
{
	int axis = model_add_axis(run, part, clock);
	int64_t first = -1;

	if (axis < 0)
		return axis;
	for (size_t i = 0; i < far->n_frames; i++) {
		int f;

		if (far->frames[i]->axis != from)
			continue;
		f = copy_frame(run, (uint32_t)axis, far->frames[i]);
		if (f < 0)
			return f;
		if (first < 0)
			first = f;
	}
	return first < 0 ? 0 : copy_ticks(run, sink, far, from, (uint32_t)axis, first);
}

static void copy_summary(struct model_run *run, const struct model_summary *s, uint32_t part)
{
	struct model_summary mine = *s;

	mine.part = part;
	mine.metric = model_run_metric(run, s->metric->name, s->metric->unit, s->metric->type);
	mine.dims = flipped(&s->dims);
	mine.prov = MODEL_TOLD;
	if (mine.metric && portable(&s->dims))
		model_add_summary(run, &mine);
}

static int far_clock(struct model_run *run, const struct proto_session *ps)
{
	int id = model_add_clock(run, MODEL_FAR, CLOCK_KIND_MONO);

	if (id >= 0 && ps->clock_known) {
		run->clocks[id].offset_known = true;
		run->clocks[id].offset_ns = ps->clock_offset_ns;
		run->clocks[id].offset_err_ns = ps->clock_error_ns;
		run->clocks[id].method = "ping-pong before the test, best of 8";
	}
	return id;
}

/* The phase of ours that a part of the far run belongs to: of the same name, latest first. */
static uint32_t same_part(const struct model_run *run, const struct model_run *far,
			  uint32_t far_part, uint32_t fallback)
{
	const char *name = far_part < far->n_parts ? far->parts[far_part].name : NULL;

	for (size_t i = run->n_parts; name && i-- > 0;) {
		if (run->parts[i].name && !strcmp(run->parts[i].name, name))
			return run->parts[i].id;
	}
	return fallback;
}

/* A far end that has much to say fills no report: the first ones, and how many more. */
static void copy_events(struct model_run *run, const struct model_run *far, uint32_t part)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR);
	char more[64];

	for (size_t i = 0; i < far->n_events && i < EVENTS_MAX; i++)
		model_add_event(run, part, far->events[i].code, &d, MODEL_NO_TIME,
				far->events[i].text);
	if (far->n_events <= EVENTS_MAX)
		return;
	snprintf(more, sizeof(more), "and %zu more of its events", far->n_events - EVENTS_MAX);
	model_add_event(run, part, far->events[EVENTS_MAX].code, &d, MODEL_NO_TIME, more);
}

int measure_merge_far(struct model_run *run, struct sink *sink, const struct model_run *far,
		      uint32_t part, const struct proto_session *ps)
{
	int clock = far_clock(run, ps), rc = 0;

	if (clock < 0)
		return clock;
	for (size_t i = 0; i < far->n_axes && rc >= 0; i++) {
		uint32_t p = same_part(run, far, far->axes[i]->part, part);

		if (axis_portable(far, (uint32_t)i))
			rc = copy_axis(run, sink, far, (uint32_t)i, p, (uint32_t)clock);
	}
	for (size_t i = 0; i < far->n_sums; i++)
		copy_summary(run, &far->sums[i], same_part(run, far, far->sums[i].part, part));
	copy_events(run, far, part);
	return rc < 0 && rc != -ENOSPC ? rc : 0;
}
