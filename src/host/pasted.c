/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was read from other tools' reports, as the figures that the rules look at. mpstat and top tell
 * shares of a processor; softnet_stat, ethtool -S and tc -s count since boot, so two of them are
 * needed, before and after. Whose host it was no report says: it is an observed one.
 */
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define CPUS 1024

/* Where a report's figure goes; those of one metric are summed. */
static const struct counted {
	const char *ext, *metric;
} counted[] = {
	{"ext.softnet.dropped", "softnet.dropped"},
	{"ext.softnet.time_squeeze", "softnet.squeezed"},
	{"ext.tc.dropped", "qdisc.drops"},
	{"ext.tc.overlimits", "qdisc.overlimits"},
	{"ext.tc.requeues", "qdisc.requeues"},
	{"ext.ethtool.rx_errors", "link.errors"},
	{"ext.ethtool.tx_errors", "link.errors"},
};

struct adoption {
	struct model_run *run;
	uint32_t part; /* that the figures are put into: the last one */
};

static void put(const struct adoption *a, const char *metric, double v)
{
	struct model_summary s = {.part = a->part,
				  .dims = model_dims_with(DIMS_NONE, DIM_VIEW, MODEL_DEVICE),
				  .metric = model_metric(metric),
				  .stat = STAT_VALUE,
				  .prov = MODEL_DERIVED,
				  .value = v};

	if (s.metric)
		model_add_summary(a->run, &s);
}

static bool is_known(const struct model_summary *s, const char *metric)
{
	return s->state == MODEL_KNOWN && s->stat == STAT_VALUE && !strcmp(s->metric->name, metric);
}

/* ---- shares of processors --------------------------------------------------------------- */

struct share {
	double sum[2]; /* rows of an interval; means */
	size_t n[2];
};
enum { IDLE, IOWAIT, SOFTIRQ, STEAL, SHARES };
static const char *const shares[SHARES] = {"ext.cpu.idle", "ext.cpu.iowait", "ext.cpu.softirq",
					   "ext.cpu.steal"};

/* The printed mean, or the mean of what was printed; false: the processor has none. */
static bool mean(const struct share *s, double *v)
{
	int k = s->n[1] > 0;

	*v = s->n[k] ? s->sum[k] / (double)s->n[k] : 0;
	return s->n[k] > 0;
}

/* "since boot" is of no run. */
static bool is_of_a_test(const struct model_run *r, uint32_t part)
{
	for (size_t i = 0; i < r->n_events; i++) {
		if (r->events[i].part == part && r->events[i].code == WARN_UNAVAILABLE)
			return false;
	}
	return true;
}

static void add_share(struct share (*cpu)[SHARES], const struct model_run *r,
		      const struct model_summary *s)
{
	int64_t at = s->dims.has >> DIM_CPU & 1 ? s->dims.v[DIM_CPU] : -1;
	int whole = !(s->dims.has >> DIM_STEP & 1);

	if (at < 0 || at >= CPUS)
		return;
	for (size_t k = 0; k < SHARES; k++) {
		if (!is_known(s, shares[k]) || !is_of_a_test(r, s->part))
			continue;
		cpu[at][k].sum[whole] += s->value;
		cpu[at][k].n[whole]++;
	}
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void put_shares(const struct adoption *a, struct share (*cpu)[SHARES])
{
	double busy = -1, softirq = -1, steal = -1, v[SHARES];

	for (size_t i = 0; i < CPUS; i++) {
		if (!mean(&cpu[i][IDLE], &v[IDLE]))
			continue;
		mean(&cpu[i][IOWAIT], &v[IOWAIT]);
		mean(&cpu[i][STEAL], &v[STEAL]);
		busy = larger(busy, 1 - v[IDLE] - v[IOWAIT] - v[STEAL]);
		steal = larger(steal, v[STEAL]);
		if (mean(&cpu[i][SOFTIRQ], &v[SOFTIRQ]))
			softirq = larger(softirq, v[SOFTIRQ]);
	}
	if (busy >= 0) {
		put(a, "cpu.core_max", busy);
		put(a, "cpu.core_steal", steal);
	}
	if (softirq >= 0)
		put(a, "cpu.core_softirq", softirq);
}

static void adopt_shares(const struct adoption *a)
{
	struct share(*cpu)[SHARES] = calloc(CPUS, sizeof(*cpu));
	size_t n = a->run->n_sums;

	for (size_t i = 0; cpu && i < n; i++)
		add_share(cpu, a->run, &a->run->sums[i]);
	if (cpu)
		put_shares(a, cpu);
	free(cpu);
	for (size_t i = 0; i < n; i++) {
		if (is_known(&a->run->sums[i], "ext.cpu.ksoftirqd")) {
			put(a, "cpu.ksoftirqd", a->run->sums[i].value);
			return;
		}
	}
}

/* ---- counters, before and after ---------------------------------------------------------- */

/* The same figure in a later report; NULL: none. The last one counts. */
static const struct model_summary *later(const struct model_run *r, size_t n, size_t i)
{
	const struct model_summary *a = &r->sums[i], *found = NULL;

	for (size_t k = i + 1; k < n; k++) {
		const struct model_summary *b = &r->sums[k];

		if (b->part != a->part && b->metric == a->metric && b->state == MODEL_KNOWN &&
		    model_dims_equal(&a->dims, &b->dims))
			found = b;
	}
	return found;
}

/* There is none before: a third report of the kind is not begun again. */
static bool is_first(const struct model_run *r, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (r->sums[k].metric == r->sums[i].metric &&
		    model_dims_equal(&r->sums[k].dims, &r->sums[i].dims))
			return false;
	}
	return true;
}

/* Growth; what went back was made anew, or wrapped at 32 bits as softnet_stat does. */
static bool grown(const struct model_summary *a, const struct model_summary *b, bool wraps,
		  double *d)
{
	*d = b->value - a->value;
	if (*d < 0 && wraps)
		*d += 4294967296.0;
	return *d >= 0;
}

#define KINDS (ARRAY_LEN(counted) + 1)
#define RINGS ARRAY_LEN(counted)

static size_t kind_of(const char *name)
{
	static const char driver[] = "ext.ethtool.";

	for (size_t k = 0; k < ARRAY_LEN(counted); k++) {
		if (!strcmp(counted[k].ext, name))
			return k;
	}
	return !strncmp(name, driver, sizeof(driver) - 1) && host_is_ring(name + sizeof(driver) - 1)
		       ? RINGS
		       : KINDS;
}

struct packets {
	double all, most;
};

static void adopt_counters(const struct adoption *a)
{
	const struct model_run *r = a->run;
	double sum[KINDS] = {0}, d;
	bool known[KINDS] = {false};
	struct packets packets = {0, 0};
	size_t n = r->n_sums;

	for (size_t i = 0; i < n; i++) {
		const char *name = r->sums[i].metric->name;
		bool processed = !strcmp(name, "ext.softnet.processed");
		size_t k = strncmp(name, "ext.", 4) != 0 ? KINDS : kind_of(name);
		const struct model_summary *b =
			(k < KINDS || processed) && is_first(r, i) ? later(r, n, i) : NULL;

		if (!b || !grown(&r->sums[i], b, !strncmp(name, "ext.softnet.", 12), &d))
			continue;
		if (processed) {
			packets.all += d;
			packets.most = larger(packets.most, d);
		} else {
			/* A driver has several names for one ring's loss. */
			sum[k] = k == RINGS ? larger(sum[k], d) : sum[k] + d;
			known[k] = true;
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(counted); k++) {
		for (size_t m = 0; m < k; m++) {
			if (!strcmp(counted[m].metric, counted[k].metric)) {
				sum[m] += sum[k];
				known[k] = false;
			}
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(counted); k++) {
		if (known[k])
			put(a, counted[k].metric, sum[k]);
	}
	if (known[RINGS])
		put(a, "link.rx_missed", sum[RINGS]);
	if (packets.all > 0) {
		put(a, "softnet.packets", packets.all);
		put(a, "softnet.core_share", packets.most / packets.all);
	}
}

/* ---- whether there is enough ------------------------------------------------------------ */

/* Several loads in one text: nobody says which of them the rest belongs to. */
static size_t loads(const struct model_run *r)
{
	size_t n = 0;
	uint32_t last = MODEL_NO_PART;

	for (size_t i = 0; i < r->n_sums; i++) {
		if (is_known(&r->sums[i], "bytes") && r->sums[i].part != last) {
			last = r->sums[i].part;
			n++;
		}
	}
	return n;
}

void host_judge_read(struct model_run *r)
{
	struct adoption a = {.run = r, .part = (uint32_t)r->n_parts - 1};

	if (!r->n_parts || r->limited || loads(r) > 1)
		return;
	adopt_shares(&a);
	adopt_counters(&a);
	host_judge(r);
}
