/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampler: one thread that reads all counters on absolute deadlines and says when it really
 * did. Values are cumulative, so a tick that nobody took in time is merged with the next one
 * instead of holding anything up.
 */
#include "net/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define RING 64

struct net_sampler {
	struct net_engine *en;
	int64_t interval_ns;
	pthread_t thread;
	bool started, stop;
	pthread_mutex_t lock; /* all below; workers never take it */
	pthread_cond_t wake;
	int64_t base_ns, k; /* the next deadline is base + k * interval */
	int64_t last_ns;    /* t1 of the last reading */
	int64_t until_ns;   /* a cut is expected about then; 0 = not known */
	struct net_cpu_sample cpu0;
	int64_t *worker_ns; /* CPU of each worker at the last reading */
	int64_t worker_max_ns;
	struct net_tick *ring[RING];
	size_t head, n;
	int fd;
};

/* ---- one reading ---------------------------------------------------------- */

static int64_t timeval_ns(struct timeval tv)
{
	return tv.tv_sec * NSEC_PER_SEC + tv.tv_usec * NSEC_PER_USEC;
}

static struct net_cpu_sample process_cpu(void)
{
	struct net_cpu_sample c = {.process_ns = clk_process_cpu_ns()};
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	c.user_ns = timeval_ns(ru.ru_utime);
	c.system_ns = timeval_ns(ru.ru_stime);
	return c;
}

/* The most that one worker used since the last reading. */
static int64_t busiest_worker(struct net_sampler *s)
{
	int64_t most = 0;

	for (unsigned i = 0; i < s->en->n_workers; i++) {
		int64_t now = net_worker_cpu_ns(&s->en->workers[i]);

		most = now - s->worker_ns[i] > most ? now - s->worker_ns[i] : most;
		s->worker_ns[i] = now;
	}
	return most;
}

static void read_cpu(struct net_sampler *s, struct net_cpu_sample *c)
{
	*c = process_cpu();
	c->process_ns -= s->cpu0.process_ns;
	c->user_ns -= s->cpu0.user_ns;
	c->system_ns -= s->cpu0.system_ns;
	s->worker_max_ns += busiest_worker(s);
	c->worker_max_ns = s->worker_max_ns;
}

/* All counters first: TCP_INFO takes each socket's lock, which may take its time. */
static void read_all(struct net_sampler *s, struct net_tick *t)
{
	t->t1 = clk_mono_ns();
	for (size_t i = 0; i < t->n; i++) {
		net_flow_counters(s->en->flows[i], &t->s[i]);
		net_timing_interval(s->en->flows[i]);
	}
	read_cpu(s, &t->cpu);
	for (size_t i = 0; i < t->n; i++)
		net_flow_info(s->en->flows[i], &t->s[i]);
}

/* A new tick, or with a full ring the newest one again, which then covers both intervals. */
static struct net_tick *tick_for_reading(struct net_sampler *s)
{
	struct net_tick *t = NULL;
	size_t n = s->en->n;

	if (s->n < RING)
		t = malloc(sizeof(*t) + n * sizeof(t->s[0]));
	if (!t && s->n) {
		t = s->ring[(s->head + s->n - 1) % RING];
		t->late = true;
		return t;
	}
	if (!t)
		return NULL;
	*t = (struct net_tick){.t0 = s->last_ns, .n = n};
	s->ring[(s->head + s->n++) % RING] = t;
	return t;
}

/* With the lock held. */
static int64_t take_reading(struct net_sampler *s, int64_t deadline_ns, bool cut)
{
	struct net_tick *t = tick_for_reading(s);
	uint64_t one = 1;

	if (!t) /* out of memory with nothing waiting: the next tick covers this interval */
		return clk_mono_ns();
	read_all(s, t);
	t->cut |= cut;
	t->late |= !cut && t->t1 - deadline_ns > s->interval_ns / 10;
	s->last_ns = t->t1;
	while (write(s->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return t->t1;
}

/* ---- the thread -------------------------------------------------------------- */

static void wait_until(struct net_sampler *s, int64_t deadline_ns)
{
	struct timespec ts = {deadline_ns / NSEC_PER_SEC, deadline_ns % NSEC_PER_SEC};

	if (s->interval_ns)
		pthread_cond_timedwait(&s->wake, &s->lock, &ts);
	else
		pthread_cond_wait(&s->wake, &s->lock);
}

/* A reading right before the one that ends the phase would leave an interval of nothing. */
static void skip_before_cut(struct net_sampler *s)
{
	int64_t deadline = s->base_ns + s->k * s->interval_ns;

	if (s->until_ns && deadline > s->until_ns - s->interval_ns / 10 &&
	    deadline < s->until_ns + s->interval_ns / 2)
		s->k++;
}

static void *sampler_main(void *arg)
{
	struct net_sampler *s = arg;

	net_thread_short_slice();
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		int64_t deadline, now = clk_mono_ns();

		skip_before_cut(s);
		deadline = s->base_ns + s->k * s->interval_ns;
		if (!s->interval_ns || now < deadline) {
			wait_until(s, deadline);
			continue;
		}
		take_reading(s, deadline, false);
		s->k = (now - s->base_ns) / s->interval_ns + 1;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the control thread's side -------------------------------------------------- */

static int init_sync(struct net_sampler *s)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}

int net_sampler_new(struct net_engine *en, int64_t interval_ns, struct net_sampler **out,
		    struct weir_err *e)
{
	struct net_sampler *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	s->en = en;
	s->interval_ns = interval_ns;
	rc = init_sync(s);
	s->worker_ns = calloc(en->n_workers + 1, sizeof(*s->worker_ns));
	if (rc == 0 && !s->worker_ns)
		rc = -ENOMEM;
	if (rc) {
		net_sampler_free(s);
		return err_os(e, -rc, "cannot make the sampler");
	}
	s->cpu0 = process_cpu();
	busiest_worker(s);
	s->last_ns = clk_mono_ns();
	*out = s;
	return 0;
}

int net_sampler_start(struct net_sampler *s, int64_t start_ns, struct weir_err *e)
{
	int rc;

	s->base_ns = start_ns;
	s->k = 1;
	rc = net_thread_start(&s->thread, "weir-sampler", -1, sampler_main, s);
	if (rc)
		return err_os(e, -rc, "cannot start the sampler");
	s->started = true;
	return 0;
}

int net_sampler_fd(const struct net_sampler *s)
{
	return s->fd;
}

struct net_tick *net_sampler_next(struct net_sampler *s)
{
	struct net_tick *t = NULL;
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	if (s->n) {
		t = s->ring[s->head];
		s->head = (s->head + 1) % RING;
		s->n--;
	}
	if (s->n == 0)
		while (read(s->fd, &n, sizeof(n)) < 0 && errno == EINTR)
			;
	pthread_mutex_unlock(&s->lock);
	return t;
}

void net_tick_free(struct net_tick *t)
{
	free(t);
}

int64_t net_sampler_cut(struct net_sampler *s)
{
	int64_t t1;

	pthread_mutex_lock(&s->lock);
	t1 = take_reading(s, 0, true);
	s->base_ns = t1;
	s->k = 1;
	s->until_ns = 0;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return t1;
}

void net_sampler_until(struct net_sampler *s, int64_t mono_ns)
{
	pthread_mutex_lock(&s->lock);
	s->until_ns = mono_ns;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

void net_sampler_stop(struct net_sampler *s)
{
	if (!s->started)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->started = false;
}

void net_sampler_free(struct net_sampler *s)
{
	if (!s)
		return;
	net_sampler_stop(s);
	for (; s->n; s->n--, s->head++)
		free(s->ring[s->head % RING]);
	if (s->fd >= 0)
		close(s->fd);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s->worker_ns);
	free(s);
}
