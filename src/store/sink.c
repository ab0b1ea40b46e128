/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measuring must never wait for a disk. The sink's calls only append to buffers and swap them
 * into a bounded queue under a mutex held for a moment; a thread with a connection of its own
 * writes what is there in one transaction a period. When the disk is slower than the samples,
 * samples are dropped and counted; when it fails, the stored copy is lost and nothing else.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/priv.h"

/* Shared by sink and thread; the last one to leave frees it, so that a thread that hangs in
 * the kernel never keeps the program. */
struct work {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int refs;
	/* under the lock */
	struct buf queue;
	size_t writing; /* bytes that the thread has taken */
	bool closing, ended, done, dead;
	bool named;       /* owner is filled in */
	int64_t deadline; /* valid when closing */
	struct weir_err err;
	char owner[STORE_OWNER_MAX]; /* fixed once named */
	/* the thread's own */
	struct store *conf; /* a copy: path and bounds */
	struct sql *q;
	struct apply *apply;
};

struct store_sink {
	struct sink sink;
	struct store *store;
	struct work *w;
	struct enc *enc;
	pthread_t thread;
	bool started, ended;
	int64_t last_ns, stored_ns;
	uint64_t lost;
};

/* ---- the thread ---- */

static void work_unref(struct work *w)
{
	bool last;

	pthread_mutex_lock(&w->lock);
	last = --w->refs == 0;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	store_apply_free(w->apply);
	store_sql_close(w->q);
	store_close(w->conf);
	buf_fini(&w->queue);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void wait_until(struct work *w, int64_t mono_ns)
{
	struct timespec ts = {.tv_sec = mono_ns / NSEC_PER_SEC, .tv_nsec = mono_ns % NSEC_PER_SEC};

	pthread_cond_timedwait(&w->cond, &w->lock, &ts);
}

static void fail(struct work *w, const struct weir_err *e)
{
	pthread_mutex_lock(&w->lock);
	if (!w->dead)
		w->err = *e;
	w->dead = true;
	buf_clear(&w->queue);
	pthread_mutex_unlock(&w->lock);
}

/* Takes what is there, at most once a period; false when there will be nothing more. */
static bool take(struct work *w, struct buf *batch, int64_t not_before)
{
	bool more;

	pthread_mutex_lock(&w->lock);
	while (!w->closing && !w->dead && clk_mono_ns() < not_before)
		wait_until(w, not_before);
	while (!w->closing && !w->dead && !w->queue.len)
		pthread_cond_wait(&w->cond, &w->lock);
	struct buf empty = *batch;
	*batch = w->queue;
	w->queue = empty;
	buf_clear(&w->queue);
	w->writing = batch->len;
	more = batch->len > 0;
	pthread_mutex_unlock(&w->lock);
	return more;
}

/* Locked by another process: again until there is no time left. */
static bool may_retry(struct work *w)
{
	bool yes;

	pthread_mutex_lock(&w->lock);
	yes = !w->closing || clk_mono_ns() < w->deadline;
	pthread_mutex_unlock(&w->lock);
	return yes;
}

static int connect_once(struct work *w, struct weir_err *e)
{
	int rc = w->q ? 0 : store_connect(w->conf, &w->q, e);

	if (rc >= 0 && !w->apply) {
		w->apply = store_apply_new(w->q);
		if (!w->apply)
			rc = err_set(e, WEIR_OS, ENOMEM, "out of memory");
	}
	return rc;
}

static void write_batch(struct work *w, struct buf *batch)
{
	struct weir_err e = {0};
	int rc;

	do {
		rc = connect_once(w, &e);
		if (rc >= 0)
			rc = batch->failed ? err_set(&e, WEIR_OS, ENOMEM, "out of memory")
					   : store_apply_records(w->apply, batch, &e);
	} while (rc == -EBUSY && may_retry(w));
	if (rc < 0)
		fail(w, &e);
	buf_clear(batch);
}

static void tell_name(struct work *w)
{
	pthread_mutex_lock(&w->lock);
	store_owner_self(w->owner);
	w->named = true;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static void *work_main(void *arg)
{
	struct work *w = arg;
	struct buf batch = {0};
	int64_t next = 0;

	tell_name(w);
	while (take(w, &batch, next)) {
		next = clk_mono_ns() + w->conf->period_ns;
		write_batch(w, &batch);
	}
	buf_fini(&batch);
	pthread_mutex_lock(&w->lock);
	bool whole = w->ended && !w->dead;
	pthread_mutex_unlock(&w->lock);
	if (!whole && w->apply)
		store_apply_abandon(w->apply);
	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
	work_unref(w);
	return NULL;
}

/* ---- the sink ---- */

static struct store_sink *of(struct sink *s)
{
	return (struct store_sink *)s;
}

/* Rows and chunks so far to the thread. Chunks are dropped beyond the bound, rows beyond twice
 * of it: then nothing can be kept. */
static void hand_over(struct store_sink *k, const struct model_run *r)
{
	struct work *w = k->w;
	struct buf *rows = store_enc_rows(k->enc), *chunks = store_enc_chunks(k->enc);
	uint64_t samples = store_enc_flush(k->enc, r);
	size_t there;

	pthread_mutex_lock(&w->lock);
	there = w->queue.len + w->writing;
	if (there + rows->len > 2 * w->conf->queue_max && !w->dead) {
		err_set(&w->err, WEIR_DB, ENOBUFS, "the database is too slow for this run");
		w->dead = true;
	}
	if (!w->dead)
		buf_put(&w->queue, rows->data, rows->len);
	if (there + rows->len + chunks->len > w->conf->queue_max)
		k->lost += samples;
	else if (!w->dead)
		buf_put(&w->queue, chunks->data, chunks->len);
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	buf_clear(rows);
	buf_clear(chunks);
	k->last_ns = clk_mono_ns();
}

static void on_begin(struct sink *s, const struct model_run *r)
{
	struct store_sink *k = of(s);
	struct row_store x = {
		.owner = k->w->owner, .headline = r->title, .stored_ns = k->stored_ns};

	if (!k->started)
		return;
	store_enc_begin(k->enc, r, &x);
	hand_over(k, r);
}

/* A tick a second must not slip to every other one by a little jitter. */
static bool is_due(const struct store_sink *k)
{
	int64_t period = k->w->conf->period_ns;

	return clk_mono_ns() - k->last_ns >= period - period / 16 || store_enc_full(k->enc);
}

static void on_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct store_sink *k = of(s);

	if (!k->started)
		return;
	if (!store_enc_tick(k->enc, r, t))
		k->lost++;
	if (is_due(k))
		hand_over(k, r);
}

static void on_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	struct store_sink *k = of(s);

	(void)ev; /* it is in the run's list, which is where it is taken from */
	if (k->started && is_due(k))
		hand_over(k, r);
}

static void on_end(struct sink *s, const struct model_run *r)
{
	struct store_sink *k = of(s);
	struct row_store x = {.stored_ns = k->stored_ns};
	struct buf headline = {0};

	if (!k->started)
		return;
	hand_over(k, r);
	if (k->store->headline)
		k->store->headline(r, &headline);
	x.headline = headline.len && !headline.failed ? headline.data : r->title;
	store_enc_end(k->enc, r, &x, k->lost);
	k->ended = true;
	pthread_mutex_lock(&k->w->lock);
	k->w->ended = true;
	pthread_mutex_unlock(&k->w->lock);
	hand_over(k, r);
	buf_fini(&headline);
}

/* Joined is a moment before gone, and whoever reads the run next must not find its writer. */
static void wait_until_gone(const struct work *w, int64_t until)
{
	while (store_owner_alive(w->owner) && clk_mono_ns() < until)
		poll(NULL, 0, 1);
}

/* Waits for the thread as long as it may take; a thread that hangs is left to itself. */
static int finish(struct store_sink *k, struct weir_err *e)
{
	struct work *w = k->w;
	int64_t until = clk_mono_ns() + w->conf->close_ns;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	w->closing = true;
	w->deadline = until - w->conf->close_ns / 4;
	pthread_cond_broadcast(&w->cond);
	while (!w->done && clk_mono_ns() < until)
		wait_until(w, until);
	bool done = w->done;
	if (w->dead) {
		rc = -w->err.code;
		if (e)
			*e = w->err;
	} else if (!done) {
		rc = err_set(e, WEIR_DB, ETIMEDOUT, "%s: still writing", w->conf->path);
	}
	pthread_mutex_unlock(&w->lock);
	if (!done) {
		pthread_detach(k->thread);
		return rc;
	}
	pthread_join(k->thread, NULL);
	if (rc < 0)
		wait_until_gone(w, until);
	return rc;
}

static int on_close(struct sink *s, struct weir_err *e)
{
	struct store_sink *k = of(s);
	int rc;

	if (k->started) {
		if (!k->ended)
			hand_over(k, NULL);
		rc = finish(k, e);
	} else {
		rc = -k->w->err.code;
		if (e)
			*e = k->w->err;
	}
	work_unref(k->w);
	store_enc_free(k->enc);
	free(k);
	return rc;
}

static struct store *copy_conf(const struct store *s)
{
	struct store *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = *s;
	c->q = NULL;
	c->path = strdup(s->path);
	if (!c->path) {
		free(c);
		return NULL;
	}
	return c;
}

static struct work *work_new(const struct store *s)
{
	struct work *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w || !(w->conf = copy_conf(s))) {
		free(w);
		return NULL;
	}
	w->refs = 1;
	w->queue.max = 4 * s->queue_max;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	return w;
}

static void wait_for_name(struct work *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->named)
		pthread_cond_wait(&w->cond, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

/* Signals are for the measuring thread. */
static int start_thread(struct store_sink *k)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	k->w->refs++;
	rc = pthread_create(&k->thread, NULL, work_main, k->w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		k->w->refs--;
	else
		wait_for_name(k->w);
	return rc;
}

struct sink *store_sink(struct store *s)
{
	struct store_sink *k = calloc(1, sizeof(*k));
	int rc;

	if (!k || !(k->w = work_new(s)) || !(k->enc = store_enc_new())) {
		if (k && k->w)
			work_unref(k->w);
		free(k);
		return NULL;
	}
	k->sink = (struct sink){on_begin, on_sample, on_event, on_end, on_close};
	k->store = s;
	k->stored_ns = clk_real_ns();
	if (store_writable(s, &k->w->err) < 0)
		return &k->sink;
	rc = start_thread(k);
	k->started = rc == 0;
	if (rc)
		err_os(&k->w->err, rc, "starting the store's thread");
	return &k->sink;
}
