/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules that look at the hosts: what their processors did, what their kernels dropped and where, who
 * else was there.
 */
#include <stdio.h>
#include <string.h>

#include "host/rules.h"

#define STOLEN    0.05 /* of a core, by the host of a virtual machine */
#define WAITED    0.05 /* of the time, for a core */
#define TICKS     0.2  /* s */
#define LINE_RATE 0.90
#define RULE_NS   10.0 /* of a packet filter rule that does not match, about */
#define A_CORE    1.2  /* and no more than that: the time of a rule is an estimate */
#define MOST_OF   0.90
#define UNEVEN    2.0 /* the most that a core took against the mean of all */

#define SMALL_BATCH  2.0
#define MANY_PACKETS 50000.0 /* a second */

/* UDP: what of the loss a counter explains. TCP: a loss that was seen. 0, or how sure. */
static int explains_loss(const struct model_run *r, int dir, double dropped)
{
	double lost, loss, drops, segs, resent, share;

	if (dropped < 10)
		return 0;
	if (host_udp_lost(r, dir, &lost, &loss, &drops))
		return dropped >= lost / 2 ? 98 : 40;
	if (host_value(r, "tcp.segments", STAT_VALUE, dir, MODEL_SENDER, -1, &segs))
		return dropped >= segs * HOST_LOSSY ? 85 : 40;
	if (host_tcp_resent(r, dir, &resent, &share))
		return dropped >= resent / 10 ? 85 : 40;
	return 40;
}

/* ---- facts of a host ------------------------------------------------------------------- */

static const struct js *facts_open(const struct model_run *r, int who, struct js_doc **d)
{
	const char *facts = who < HOST_OBSERVED ? r->host[who].facts : NULL;

	*d = NULL;
	if (!facts || js_parse(facts, strlen(facts), &js_limits_file, d, NULL) < 0)
		return NULL;
	return js_root(*d);
}

/* Packets are meant to be spread: several receive queues, or RPS. */
static bool spreads(const struct model_run *r, int who, int64_t *queues, int64_t *cpus)
{
	struct js_doc *d;
	const struct js *root = facts_open(r, who, &d), *dev;
	const char *iface = js_str(js_get(root, "iface"), NULL), *rps = NULL;

	*queues = *cpus = 0;
	js_i64(js_get(root, "cpus"), cpus);
	if (iface) {
		dev = js_get(js_get(root, "interfaces"), iface);
		js_i64(js_get(dev, "rx_queues"), queues);
		rps = js_str(js_get(dev, "rps_cpus"), NULL);
	}
	bool on = *queues > 1 || (rps && rps[strspn(rps, "0, ")]);
	js_free(d);
	return on;
}

/* ---- a figure that says it all --------------------------------------------------------- */

static int count_at(const struct host_count *c, const struct model_run *r, int dir, int who,
		    char *text, size_t cap)
{
	double v, seconds;
	int64_t queues, cpus;
	int sure = c->sure;

	if (!host_of(r, c->metric, who, &v) || v < c->least)
		return 0;
	if (c->per_second > 0 && (!host_seconds(r, dir, &seconds) || v / seconds <= c->per_second))
		return 0;
	if (c->queues && !spreads(r, who, &queues, &cpus))
		return 0;
	if (!sure)
		sure = explains_loss(r, dir, v);
	if (sure)
		snprintf(text, cap, "%s: %s %.0f %s", host_name_of(who), c->before,
			 c->share ? v * 100 : v, c->after);
	return sure;
}

int host_judge_count(const struct host_count *c, const struct model_run *r, int dir, char *text,
		     size_t cap)
{
	const struct {
		unsigned bit;
		int who;
	} at[] = {{HOST_AT_RECEIVER, host_end_of(dir, MODEL_RECEIVER)},
		  {HOST_AT_SENDER, host_end_of(dir, MODEL_SENDER)},
		  {HOST_AT_OBSERVED, HOST_OBSERVED}};
	int sure = 0;

	for (size_t i = 0; i < ARRAY_LEN(at) && !sure; i++) {
		if (c->who & at[i].bit)
			sure = count_at(c, r, dir, at[i].who, text, cap);
	}
	return sure;
}

/* Shares of a processor grow by 10 ms; what lasted a few of those they do not tell. */
static bool ticks_tell(const struct model_run *r, int dir)
{
	double seconds;

	return !host_seconds(r, dir, &seconds) || seconds >= TICKS;
}

/* ---- processors ------------------------------------------------------------------------ */

int host_softirq_core(const struct model_run *r, int dir, char *text, size_t cap)
{
	const int hosts[] = {host_end_of(dir, MODEL_RECEIVER), host_end_of(dir, MODEL_SENDER),
			     HOST_OBSERVED};
	char spread[64] = "";
	double busy, deferred, share;

	if (!ticks_tell(r, dir))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		if (!host_of(r, "cpu.core_softirq", hosts[i], &busy))
			busy = 0;
		/* Put off to a thread, they are the same. */
		if (host_of(r, "cpu.ksoftirqd", hosts[i], &deferred) && deferred > busy)
			busy = deferred;
		if (busy < HOST_FULL_CORE)
			continue;
		if (host_of(r, "softnet.core_share", hosts[i], &share))
			snprintf(spread, sizeof(spread), ", with %.0f %% of all packets",
				 share * 100);
		snprintf(text, cap,
			 "one core of %s: %.0f %% in software interrupts%s; spread by RSS or RPS, "
			 "larger packets, GRO",
			 host_name_of(hosts[i]), busy * 100, spread);
		return 94;
	}
	return 0;
}

/* A core that others had. A thread that wanted nearly all the time and did not get it is the case;
 * one that slept a while as well may have waited for its own starved peer. */
int host_contention(const struct model_run *r, int dir, char *text, size_t cap)
{
	double stolen, core, want, wait;

	for (int who = MODEL_NEAR; who < HOST_MOST; who++) {
		if (ticks_tell(r, dir) && host_of(r, "cpu.core_steal", who, &stolen) &&
		    stolen >= STOLEN && host_of(r, "cpu.core_max", who, &core) &&
		    core + stolen >= HOST_FULL_CORE) {
			snprintf(text, cap,
				 "other virtual machines: %s was refused %.0f %% of a core's time; "
				 "not to be trusted, repeat",
				 host_name_of(who), stolen * 100);
			return 77;
		}
		if (!host_of(r, "sched.want", who, &want) ||
		    !host_of(r, "sched.wait", who, &wait) || wait < WAITED || want < 0.5)
			continue;
		snprintf(
			text, cap,
			"other programs: on %s a thread of the test waited %.0f %% of the time for "
			"a core; not to be trusted, repeat",
			host_name_of(who), wait * 100);
		if (want >= HOST_FULL_CORE)
			return 74;
		return wait >= 0.2 ? 53 : 35;
	}
	return 0;
}

/* A box in the middle (--observe), or one whose figures came without a load: what has no rule of its
 * own above. Programs of its own take no packet's time; of a report nobody knows which are its own. */
int host_middle(const struct model_run *r, int dir, char *text, size_t cap)
{
	double core;

	(void)dir;
	if (host_of(r, "cpu.core_kernel", HOST_OBSERVED, &core)) {
		if (core < HOST_FULL_CORE)
			return 0;
		snprintf(text, cap,
			 "the observed host: one of its cores was %.0f %% in the kernel: system "
			 "calls and interrupts",
			 core * 100);
		return 54;
	}
	if (!host_of(r, "cpu.core_max", HOST_OBSERVED, &core) || core < 0.95)
		return 0;
	snprintf(text, cap, "the observed host: one of its cores was %.0f %% busy", core * 100);
	return 54;
}

/* A clock that is not held: the same run may come out otherwise. */
int host_governor(const struct model_run *r, int dir, char *text, size_t cap)
{
	int sure = 0;

	(void)dir;
	for (int who = MODEL_NEAR; who <= MODEL_FAR && !sure; who++) {
		struct js_doc *d;
		const struct js *root = facts_open(r, who, &d);
		const char *word = js_str(js_get(js_get(root, "processor"), "governor"), NULL);

		if (word && strcmp(word, "performance") != 0) {
			snprintf(text, cap,
				 "the clock: %s has the governor %.32s; runs vary less with "
				 "performance",
				 host_name_of(who), word);
			sure = 20;
		}
		js_free(d);
	}
	return sure;
}

/* Each packet wakes somebody: what a request and its response, or a slow trickle, are made of. */
int host_wake_ups(const struct model_run *r, int dir, char *text, size_t cap)
{
	double switches, packets, seconds, rate;

	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (!host_of(r, "sched.switches", end, &switches) ||
		    !host_of(r, "ip.packets", end, &packets) || packets < 1 ||
		    !host_seconds(r, dir, &seconds) || packets / seconds < 5000 ||
		    switches <= packets)
			continue;
		snprintf(text, cap,
			 "wake-ups: %.1f context switches a packet on %s, of all its programs; "
			 "busy polling "
			 "(net.core.busy_read), --pin, larger -l",
			 switches / packets, host_name_of(end));
		return host_value(r, "rr.rate", STAT_VALUE, dir, -1, -1, &rate) ? 60 : 40;
	}
	return 0;
}

/* ---- packets --------------------------------------------------------------------------- */

static bool said_line_rate(const struct model_run *r)
{
	for (size_t i = 0; i < r->n_events; i++) {
		if (r->events[i].code == WARN_LINE_RATE)
			return true;
	}
	return false;
}

int host_link_rate(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, bps;
	char rate[32];

	for (int who = MODEL_NEAR; who < HOST_MOST; who++) {
		if (!host_of(r, "link.utilisation", who, &share) || share < LINE_RATE)
			continue;
		snprintf(text, cap, "the link's own rate: the interface of %s was %.0f %% full",
			 host_name_of(who), share * 100);
		return 92;
	}
	/* A report that says nothing of an interface, and the rate that Ethernet carries at most. */
	if (!said_line_rate(r) ||
	    !host_value(r, "goodput", STAT_VALUE, dir, MODEL_RECEIVER, -1, &bps))
		return 0;
	unit_format(rate, sizeof(rate), bps, UNIT_BPS, 3);
	snprintf(text, cap, "the link's own rate: %s is what Ethernet carries at most", rate);
	return 80;
}

/* Packets that one receive round takes; one or two at a high rate is what merging would mend. */
int host_gro_batch(const struct model_run *r, int dir, char *text, size_t cap)
{
	const int hosts[] = {host_end_of(dir, MODEL_RECEIVER), HOST_OBSERVED};
	double batch, packets, seconds;
	char rate[32];

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		if (!host_of(r, "softnet.batch", hosts[i], &batch) || batch >= SMALL_BATCH ||
		    !host_of(r, "softnet.packets", hosts[i], &packets) ||
		    !host_seconds(r, dir, &seconds) || packets / seconds < MANY_PACKETS)
			continue;
		unit_format(rate, sizeof(rate), packets / seconds, UNIT_NONE, 3);
		snprintf(text, cap,
			 "receive rounds: %.1f packets each on %s, at %s packets a second; "
			 "interrupt coalescing (ethtool -C), GRO, fewer flows",
			 batch, host_name_of(hosts[i]), rate);
		return 30;
	}
	return 0;
}

/* Several receive queues or RPS, and one core took far more than its part. */
int host_one_queue(const struct model_run *r, int dir, char *text, size_t cap)
{
	int who = host_end_of(dir, MODEL_RECEIVER);
	double share;
	int64_t queues, cpus;
	char queue[48];

	if (!host_of(r, "softnet.core_share", who, &share) || !spreads(r, who, &queues, &cpus) ||
	    (share < MOST_OF && share * (double)cpus <= UNEVEN))
		return 0;
	snprintf(queue, sizeof(queue), "%lld receive queues", (long long)queues);
	snprintf(text, cap,
		 "%s of %s: one core took %.0f %% of the packets; more flows, hash fields "
		 "(ethtool -N), the indirection table (-X), RPS onto others",
		 queues > 1 ? queue : "RPS", host_name_of(who), share * 100);
	return 30;
}

/* What the kernel did for packets on one core's account; a filter's time is a part of it. */
static bool kernel_time(const struct model_run *r, int end, double *share)
{
	double softirq = 0, system = 0;
	bool known = host_of(r, "cpu.core_softirq", end, &softirq);

	known |= host_of(r, "cpu.system", end, &system);
	*share = softirq + system;
	return known;
}

/* An estimate: rules that each packet passes, at what one costs where nothing matches. One that is
 * more than the kernel's own time, or than a core has, is refuted: few packets pass all of them. */
int host_netfilter(const struct model_run *r, int dir, char *text, size_t cap)
{
	double n, packets, seconds, core, share, kernel;
	char rate[32];

	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		bool sure;

		if (!host_of(r, "nf.rules", end, &n) || !host_of(r, "ip.packets", end, &packets) ||
		    !host_of(r, "cpu.core_max", end, &core) || !host_seconds(r, dir, &seconds))
			continue;
		share = n * packets / seconds * RULE_NS * 1e-9;
		if (share < 0.1)
			continue;
		sure = share >= 0.3 && share <= A_CORE && core >= HOST_FULL_CORE &&
		       kernel_time(r, end, &kernel) && kernel >= share / 2;
		unit_format(rate, sizeof(rate), packets / seconds, UNIT_NONE, 3);
		snprintf(text, cap,
			 "packet filters: if each of %s packets a second passes all %.0f rules of "
			 "%s, that is %.0f %% of a core%s; try without, or with sets",
			 rate, n, host_name_of(end), share * 100,
			 share > A_CORE ? ", so few of them do" : "");
		return sure ? 96 : share <= A_CORE ? 40 : 24;
	}
	return 0;
}

/* A datagram sender that was told no and fell behind. */
static bool fell_behind(const struct model_run *r, int dir)
{
	double sent, intended;

	return host_value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) &&
	       host_value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &intended) &&
	       sent < intended * HOST_PACED;
}

int host_local_qdisc(const struct model_run *r, int dir, char *text, size_t cap)
{
	int end = host_end_of(dir, MODEL_SENDER), sure;
	double drops, tx = 0, held = 0, segs = 0, there;

	if (!host_of(r, "qdisc.drops", end, &drops))
		return 0;
	host_of(r, "link.tx_dropped", end, &tx);
	/* A virtual link counts what the other end's backlog dropped. */
	if (host_of(r, "softnet.dropped", host_end_of(dir, MODEL_RECEIVER), &there))
		tx = tx > there ? tx - there : 0;
	drops += tx;
	sure = explains_loss(r, dir, drops);
	if (sure) {
		sure = fell_behind(r, dir) ? 98 : sure;
		snprintf(text, cap,
			 "the sender's own queue dropped %.0f packets; its queue discipline's rate "
			 "or limit (tc -s qdisc), or pacing (--fq-rate)",
			 drops);
		return sure;
	}
	host_of(r, "qdisc.overlimits", end, &held);
	host_value(r, "tcp.segments", STAT_VALUE, dir, MODEL_SENDER, -1, &segs);
	if (held < 100 || held * 100 < segs)
		return 0;
	snprintf(text, cap,
		 "the sender's queue discipline held packets back %.0f times: its rate (tc -s "
		 "qdisc)",
		 held);
	return fell_behind(r, dir) ? 96 : 70; /* the program waited for it */
}
