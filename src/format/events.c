/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was wrong with a run, in words. A test with a thousand late samples says so once: events
 * of one code and text are one line with a count, the most severe first.
 */
#include "format/priv.h"

#include <string.h>

const char *format_severity(enum model_severity s)
{
	return s == MODEL_ERROR ? "error" : s == MODEL_WARN ? "warning" : "note";
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool of_far_end(const struct model_event *e)
{
	return (e->subject.has & (1U << DIM_END)) && e->subject.v[DIM_END] == MODEL_FAR;
}

static void event_words(const struct model_event *e, size_t n, struct buf *b, bool unicode)
{
	const struct model_warn *w = model_warn(e->code);
	if (of_far_end(e))
		buf_puts(b, "far end: ");
	size_t start = b->len;
	if (w)
		format_words(b, w->text, unicode);
	if (e->text && *e->text) {
		if (b->len > start)
			buf_puts(b, ": ");
		format_foreign(b, e->text, unicode);
	}
	if (n > 1)
		buf_printf(b, " (%zu times)", n);
}

/* One line a code and text; of a code with many texts the first few, then how many more. */
#define EVENT_TEXTS 4

struct event_fold {
	const struct model_event *first[EVENT_TEXTS];
	size_t times[EVENT_TEXTS], n, more;
};

static void fold_event(struct event_fold *f, const struct model_event *e)
{
	for (size_t i = 0; i < f->n; i++)
		if (same_text(f->first[i]->text, e->text) &&
		    of_far_end(f->first[i]) == of_far_end(e)) {
			f->times[i]++;
			return;
		}
	if (f->n == EVENT_TEXTS) {
		f->more++;
		return;
	}
	f->first[f->n] = e;
	f->times[f->n++] = 1;
}

static void put_fold(const struct event_fold *f, bool unicode,
		     void (*put)(void *arg, enum model_severity sev, const char *text), void *arg)
{
	for (size_t i = 0; i < f->n; i++) {
		struct buf b = {0};
		event_words(f->first[i], f->times[i], &b, unicode);
		if (i + 1 == f->n && f->more)
			buf_printf(&b, " (and %zu more)", f->more);
		put(arg, f->first[i]->severity, b.data ? b.data : "");
		buf_fini(&b);
	}
}

void format_events(const struct model_run *r, bool unicode,
		   void (*put)(void *arg, enum model_severity sev, const char *text), void *arg)
{
	for (int sev = MODEL_ERROR; sev >= MODEL_NOTE; sev--) {
		struct event_fold folds[WARN_MAX] = {0};
		for (size_t i = 0; i < r->n_events; i++) {
			const struct model_event *e = &r->events[i];
			/* The outcome has said it. */
			bool said = e->code == WARN_INCOMPLETE && !e->text && format_incomplete(r);
			if ((int)e->severity == sev && (unsigned)e->code < WARN_MAX && !said)
				fold_event(&folds[e->code], e);
		}
		for (int code = 0; code < WARN_MAX; code++)
			put_fold(&folds[code], unicode, put, arg);
	}
}

bool format_outcome(const struct model_run *r, enum model_severity *sev, struct buf *b,
		    bool unicode)
{
	static const struct {
		enum model_severity sev;
		const char *word, *reason; /* the reason when the run tells none */
	} rows[] = {
		[OUTCOME_PARTIAL] = {MODEL_WARN, "incomplete: ", "the test ended early"},
		[OUTCOME_FAILED] = {MODEL_ERROR, "failed: ", "for an unknown reason"},
		[OUTCOME_RUNNING] = {MODEL_WARN, "incomplete: ", "the run was cut off"},
	};
	if (r->outcome == OUTCOME_COMPLETE || (unsigned)r->outcome >= ARRAY_LEN(rows))
		return false;
	*sev = rows[r->outcome].sev;
	buf_puts(b, rows[r->outcome].word);
	format_foreign(b, r->error ? r->error : rows[r->outcome].reason, unicode);
	return true;
}
