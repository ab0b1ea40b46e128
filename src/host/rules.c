/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What held a run back, said only where the run's own metrics say so. A row a rule; each looks
 * at one direction and answers how sure it is, with its evidence in figures. The surest one at
 * or over the threshold is the run's; otherwise nothing is claimed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"

#define SURE        50
#define BUSY_THREAD 0.90 /* of a core: a worker that never waits */
#define MOSTLY_RAN  0.80
#define NEVER_SLEPT 0.97
#define HELD_BACK   0.20 /* share of the time */
#define FULL_CORE   0.90 /* of its time */
#define STOLEN      0.05 /* of a core, by the host of a virtual machine */
#define WAITED      0.05 /* of the time, for a core */
#define LINE_RATE   0.90
#define RULE_NS     10.0  /* of a packet filter rule that does not match, about */
#define PACED       0.97  /* of the rate that was asked for */
#define LOSSY       0.001 /* share of segments sent again */

static const struct model_summary *summary(const struct model_run *r, const char *metric,
					   enum model_stat stat, int dir, int view, int end)
{
	struct model_dims d = DIMS_NONE;

	if (dir >= 0)
		d = model_dims_with(d, DIM_DIR, dir);
	if (view >= 0)
		d = model_dims_with(d, DIM_VIEW, view);
	if (end >= 0)
		d = model_dims_with(d, DIM_END, end);
	return model_find(r, metric, stat, &d, true);
}

static bool value(const struct model_run *r, const char *metric, enum model_stat stat, int dir,
		  int view, int end, double *v)
{
	const struct model_summary *s = summary(r, metric, stat, dir, view, end);

	if (!s)
		return false;
	*v = s->value;
	return true;
}

/* The end that sends (or receives) in a direction. */
static int end_of(int dir, int view)
{
	return (dir == MODEL_UP) == (view == MODEL_SENDER) ? MODEL_NEAR : MODEL_FAR;
}

/* A figure of one host, which has no direction. */
static bool of_host(const struct model_run *r, const char *metric, int end, double *v)
{
	return value(r, metric, STAT_VALUE, -1, -1, end, v);
}

static const char *name_of(int end)
{
	return end == MODEL_NEAR ? "this host" : "the far host";
}

/* The busiest thread of an end; without one the whole program, which with one flow is the same. */
static bool busy_thread(const struct model_run *r, int end, double *busy, bool *thread)
{
	*thread = of_host(r, "cpu.thread_max", end, busy);
	return *thread || of_host(r, "cpu.total", end, busy);
}

/* What share of the time the senders of a direction had data to send; false = not told. */
static bool sending_share(const struct model_run *r, int dir, double *share)
{
	double busy, seconds, flows = 1;

	if (!value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) ||
	    !value(r, "duration", STAT_VALUE, dir, MODEL_SENDER, -1, &seconds) || seconds <= 0)
		return false;
	value(r, "flows", STAT_VALUE, dir, MODEL_SENDER, -1, &flows);
	*share = busy / seconds / (flows >= 1 ? flows : 1);
	return true;
}

/* Share of the sending time; a sender that rarely sends is not held back by much. */
static int held_back(const struct model_run *r, int dir, const char *metric, double *share)
{
	double busy, held, sending = 1;

	if (!value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) || busy <= 0 ||
	    !value(r, metric, STAT_VALUE, dir, MODEL_SENDER, -1, &held))
		return 0;
	sending_share(r, dir, &sending);
	*share = held / busy < 1 ? held / busy : 1;
	if (*share < HELD_BACK)
		return 0;
	return *share * sending >= HELD_BACK ? 50 + (int)(40 * *share) : 35;
}

static int receiver_window(const struct model_run *r, int dir, char *text, size_t cap)
{
	int end = end_of(dir, MODEL_RECEIVER);
	double share, busy, zero = 0;
	int sure = held_back(r, dir, "tcp.rwnd_limited", &share);
	bool thread, full = busy_thread(r, end, &busy, &thread) && busy >= BUSY_THREAD;

	if (!sure)
		return 0;
	of_host(r, "tcp.zero_windows", end, &zero);
	snprintf(text, cap, "the receiver's window, %.0f %% of the sending time; %s", share * 100,
		 full       ? "its program has no processor time left"
		 : zero > 0 ? "it was closed: the receiving program reads too slowly"
			    : "larger -w, or net.ipv4.tcp_rmem at the receiver");
	return full ? 40 : sure; /* then the window is only how it shows */
}

static int send_buffer(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share;
	int sure = held_back(r, dir, "tcp.sndbuf_limited", &share);

	if (sure)
		snprintf(text, cap,
			 "the send buffer, %.0f %% of the sending time; larger -w, or "
			 "net.ipv4.tcp_wmem at the sender",
			 share * 100);
	return sure;
}

static int cpu_of(const struct model_run *r, int dir, int view, char *text, size_t cap)
{
	int end = end_of(dir, view);
	const char *who = view == MODEL_SENDER ? "sender" : "receiver";
	double busy, want = 0;
	bool thread;

	if (!busy_thread(r, end, &busy, &thread))
		return 0;
	of_host(r, "sched.want", end, &want);
	/* One that never slept, and was kept from its core now and then, is as full. */
	if (busy < BUSY_THREAD && !(busy >= MOSTLY_RAN && want >= NEVER_SLEPT))
		return 0;
	snprintf(text, cap, "the %s's CPU: %s %.0f %% busy; more flows (-P) or --pin", who,
		 thread ? "its busiest thread was" : "the program was", busy * 100);
	/* Then software interrupts of its core ran in its own time, as on a virtual link. */
	return busy > 0.97 ? 95 : 76;
}

static int sender_cpu(const struct model_run *r, int dir, char *text, size_t cap)
{
	return cpu_of(r, dir, MODEL_SENDER, text, cap);
}

static int receiver_cpu(const struct model_run *r, int dir, char *text, size_t cap)
{
	return cpu_of(r, dir, MODEL_RECEIVER, text, cap);
}

static int network_loss(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, retrans, timeouts = 0;
	char more[64] = "";

	if (!value(r, "tcp.retransmit_share", STAT_VALUE, dir, MODEL_SENDER, -1, &share) ||
	    !value(r, "tcp.retransmits", STAT_VALUE, dir, MODEL_SENDER, -1, &retrans) ||
	    share < LOSSY || retrans < 10)
		return 0;
	of_host(r, "tcp.timeouts", end_of(dir, MODEL_SENDER), &timeouts);
	if (timeouts > 0)
		snprintf(more, sizeof(more), ", %.0f timeouts", timeouts);
	snprintf(text, cap,
		 "loss or a full queue in the path: %.2f %% of the segments were sent again%s",
		 share * 100, more);
	return share > 0.01 ? 65 : 55;
}

static bool requested_rate(const struct model_run *r, double *bps, double *flows)
{
	struct js_doc *doc;
	const struct js *v;
	const char *text;
	int64_t n = 1;
	uint64_t rate;
	char rate_text[64];
	bool found = false;

	if (!r->request ||
	    js_parse(r->request, strlen(r->request), &js_limits_file, &doc, NULL) < 0)
		return false;
	text = js_str(js_get(js_root(doc), "bitrate"), NULL);
	if (text) {
		snprintf(rate_text, sizeof(rate_text), "%.*s", (int)strcspn(text, "/"), text);
		found = unit_parse_rate(rate_text, &rate, NULL) >= 0 && rate > 0;
	}
	v = js_get(js_root(doc), "parallel");
	js_i64(v, &n);
	js_free(doc);
	if (found) {
		*bps = (double)rate;
		*flows = (double)n;
	}
	return found;
}

static int asked_rate(const struct model_run *r, int dir, char *text, size_t cap)
{
	double bps, flows, sent;
	char rate[32];

	if (!requested_rate(r, &bps, &flows) ||
	    !value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) ||
	    sent < bps * flows * PACED)
		return 0;
	unit_format(rate, sizeof(rate), bps * flows, UNIT_BPS, 3);
	snprintf(text, cap, "the rate that was asked for (-b): %s", rate);
	return 95;
}

/* What the receiver missed, and how much of that its own socket dropped. */
static bool udp_lost(const struct model_run *r, int dir, double *lost, double *loss, double *drops)
{
	const struct model_summary *s;
	double batch = 1;

	*drops = 0;
	if (!value(r, "udp.lost", STAT_VALUE, dir, MODEL_RECEIVER, -1, lost) ||
	    !value(r, "udp.loss", STAT_VALUE, dir, MODEL_RECEIVER, -1, loss) || *lost < 1)
		return false;
	s = summary(r, "udp.socket_drops", STAT_VALUE, dir, MODEL_RECEIVER, -1);
	if (!s)
		return true;
	/* With UDP_GRO, a dropped batch of the sender's counts once. */
	if (s->bound == MODEL_GE)
		value(r, "udp.batch", STAT_VALUE, dir, MODEL_SENDER, -1, &batch);
	*drops = s->value * batch < *lost ? s->value * batch : *lost;
	return true;
}

static int udp_receiver(const struct model_run *r, int dir, char *text, size_t cap)
{
	double lost, loss, drops;

	if (!udp_lost(r, dir, &lost, &loss, &drops) || drops < lost / 2)
		return 0;
	snprintf(text, cap,
		 "the receiver: its socket dropped %.0f %% of the lost datagrams (%.3g %% of all); "
		 "larger -w with net.core.rmem_max, or a faster core",
		 drops / lost * 100, loss * 100);
	return 97;
}

static int udp_path(const struct model_run *r, int dir, char *text, size_t cap)
{
	double lost, loss, drops, known;

	if (!udp_lost(r, dir, &lost, &loss, &drops) || drops >= lost / 2 || loss < LOSSY ||
	    lost < 10)
		return 0;
	/* A peer that says nothing of its socket may have dropped them itself. */
	if (!value(r, "udp.socket_drops", STAT_VALUE, dir, MODEL_RECEIVER, -1, &known))
		snprintf(text, cap,
			 "the path or the far end's socket (it does not say): %.3g %% of the "
			 "datagrams were lost",
			 loss * 100);
	else
		snprintf(text, cap, "the path: %.3g %% of the datagrams were lost on it",
			 loss * 100);
	return 96;
}

static bool has_event(const struct model_run *r, enum model_warn_code code)
{
	for (size_t i = 0; i < r->n_events; i++) {
		if (r->events[i].code == code)
			return true;
	}
	return false;
}

static int udp_sender(const struct model_run *r, int dir, char *text, size_t cap)
{
	double sent, intended, refused = 0, unreachable = 0;
	char rate[32];

	if (!value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) ||
	    !value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &intended) ||
	    sent >= intended * PACED)
		return 0;
	value(r, "udp.refused", STAT_VALUE, dir, MODEL_SENDER, -1, &refused);
	value(r, "udp.unreachable", STAT_VALUE, dir, MODEL_SENDER, -1, &unreachable);
	unit_format(rate, sizeof(rate), intended, UNIT_BPS, 3);
	snprintf(text, cap, "the sender: %.0f %% of the intended %s left it; %s",
		 sent / intended * 100, rate,
		 has_event(r, WARN_SEND_FAILED) ? "a flow could not send to its end"
		 : unreachable > 0              ? "what it sent was refused on the way"
		 : refused > 0                  ? "its queue was full (-w, the device's queue)"
						: "more flows (-P), larger -l, or a faster core");
	return 95;
}

/* ---- of the hosts' own counters ------------------------------------------------------- */

/* UDP: what of the loss a counter explains. TCP: a loss that was seen. 0, or how sure. */
static int explains_loss(const struct model_run *r, int dir, double dropped)
{
	double lost, loss, drops, segs;

	if (dropped < 10)
		return 0;
	if (udp_lost(r, dir, &lost, &loss, &drops))
		return dropped >= lost / 2 ? 98 : 40;
	if (!value(r, "tcp.segments", STAT_VALUE, dir, MODEL_SENDER, -1, &segs))
		return 40;
	return dropped >= segs * LOSSY ? 85 : 40;
}

/* A datagram sender that was told no and fell behind. */
static bool fell_behind(const struct model_run *r, int dir)
{
	double sent, intended;

	return value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) &&
	       value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &intended) &&
	       sent < intended * PACED;
}

static int local_qdisc(const struct model_run *r, int dir, char *text, size_t cap)
{
	int end = end_of(dir, MODEL_SENDER), sure;
	double drops, tx = 0, held = 0, segs = 0;

	if (!of_host(r, "qdisc.drops", end, &drops))
		return 0;
	of_host(r, "link.tx_dropped", end, &tx);
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
	of_host(r, "qdisc.overlimits", end, &held);
	value(r, "tcp.segments", STAT_VALUE, dir, MODEL_SENDER, -1, &segs);
	if (held < 100 || held * 100 < segs)
		return 0;
	snprintf(text, cap,
		 "the sender's queue discipline held packets back %.0f times: its rate (tc -s "
		 "qdisc)",
		 held);
	return 70;
}

static int nic_ring(const struct model_run *r, int dir, char *text, size_t cap)
{
	double missed;
	int sure;

	if (!of_host(r, "link.rx_missed", end_of(dir, MODEL_RECEIVER), &missed))
		return 0;
	sure = explains_loss(r, dir, missed);
	if (sure)
		snprintf(text, cap,
			 "the receiver's interface had no buffer for %.0f packets; larger rings "
			 "(ethtool -G), more queues (-L), its interrupt on an idle core",
			 missed);
	return sure;
}

static int backlog(const struct model_run *r, int dir, char *text, size_t cap)
{
	double dropped;
	int sure;

	if (!of_host(r, "softnet.dropped", end_of(dir, MODEL_RECEIVER), &dropped))
		return 0;
	sure = explains_loss(r, dir, dropped);
	if (sure)
		snprintf(text, cap,
			 "the receiving host's backlog was full: %.0f packets dropped; "
			 "net.core.netdev_max_backlog, or RPS onto more cores",
			 dropped);
	return sure;
}

static int link_errors(const struct model_run *r, int dir, char *text, size_t cap)
{
	double errors, seconds;

	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (!of_host(r, "link.errors", end, &errors) ||
		    !value(r, "duration", STAT_VALUE, dir, -1, -1, &seconds) || seconds <= 0 ||
		    errors / seconds <= 15)
			continue;
		snprintf(text, cap,
			 "the link: %s counted %.0f damaged packets; cable, duplex, optics",
			 name_of(end), errors);
		return 86;
	}
	return 0;
}

static int link_rate(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share;

	(void)dir;
	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (!of_host(r, "link.utilisation", end, &share) || share < LINE_RATE)
			continue;
		snprintf(text, cap, "the link's own rate: the interface of %s was %.0f %% full",
			 name_of(end), share * 100);
		return 92;
	}
	return 0;
}

static int softirq_core(const struct model_run *r, int dir, char *text, size_t cap)
{
	char spread[64] = "";
	double busy, share;

	for (int view = MODEL_RECEIVER; view >= MODEL_SENDER; view--) {
		int end = end_of(dir, view);

		if (!of_host(r, "cpu.core_softirq", end, &busy) || busy < FULL_CORE)
			continue;
		if (of_host(r, "softnet.core_share", end, &share))
			snprintf(spread, sizeof(spread), ", with %.0f %% of all packets",
				 share * 100);
		snprintf(text, cap,
			 "one core of %s: %.0f %% in software interrupts%s; spread by RSS or RPS, "
			 "larger packets, GRO",
			 name_of(end), busy * 100, spread);
		return 94;
	}
	return 0;
}

/* An estimate: rules that each packet passes, at what one costs where nothing matches. */
static int netfilter(const struct model_run *r, int dir, char *text, size_t cap)
{
	double n, packets, seconds, core, share;

	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (!of_host(r, "nf.rules", end, &n) || !of_host(r, "ip.packets", end, &packets) ||
		    !of_host(r, "cpu.core_max", end, &core) ||
		    !value(r, "duration", STAT_VALUE, dir, -1, -1, &seconds) || seconds <= 0)
			continue;
		share = n * packets / seconds * RULE_NS * 1e-9;
		if (share < 0.1)
			continue;
		snprintf(text, cap,
			 "packet filters: %s has %.0f rules and %.3g packets a second pass them, "
			 "about %.0f %% of a core; try without, or with sets",
			 name_of(end), n, packets / seconds, share * 100);
		return share >= 0.3 && core >= FULL_CORE ? 96 : 40;
	}
	return 0;
}

/* A core that others had. A thread that wanted nearly all the time and did not get it is the case;
 * one that slept a while as well may have waited for its own starved peer. */
static int contention(const struct model_run *r, int dir, char *text, size_t cap)
{
	double stolen, core, want, wait;

	(void)dir;
	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (of_host(r, "cpu.core_steal", end, &stolen) && stolen >= STOLEN &&
		    of_host(r, "cpu.core_max", end, &core) && core + stolen >= FULL_CORE) {
			snprintf(text, cap,
				 "other virtual machines: %s was refused %.0f %% of a core's time; "
				 "not to be trusted, repeat",
				 name_of(end), stolen * 100);
			return 77;
		}
		if (!of_host(r, "sched.want", end, &want) ||
		    !of_host(r, "sched.wait", end, &wait) || wait < WAITED || want < 0.5)
			continue;
		snprintf(
			text, cap,
			"other programs: on %s a thread of the test waited %.0f %% of the time for "
			"a core; not to be trusted, repeat",
			name_of(end), wait * 100);
		if (want >= FULL_CORE)
			return 74;
		return wait >= 0.2 ? 53 : 35;
	}
	return 0;
}

static int application(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share;

	if (!sending_share(r, dir, &share) || share >= 0.9)
		return 0;
	snprintf(text, cap,
		 "the sending program: TCP had nothing to send in %.0f %% of the time; larger -l, "
		 "more flows (-P), a faster core",
		 (1 - share) * 100);
	return share < 0.5 ? 52 : 35;
}

static int memory(const struct model_run *r, int dir, char *text, size_t cap)
{
	double n;
	int end = end_of(dir, MODEL_RECEIVER);

	if (!of_host(r, "tcp.memory_drops", end, &n) || n < 1)
		return 0;
	snprintf(text, cap,
		 "buffer memory: TCP of %s gave up data or room %.0f times; net.ipv4.tcp_mem, "
		 "net.ipv4.tcp_rmem",
		 name_of(end), n);
	return 45;
}

/* Each packet wakes somebody: what a request and its response, or a slow trickle, are made of. */
static int wake_ups(const struct model_run *r, int dir, char *text, size_t cap)
{
	double switches, packets, seconds, rate;

	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (!of_host(r, "sched.switches", end, &switches) ||
		    !of_host(r, "ip.packets", end, &packets) || packets < 1 ||
		    !value(r, "duration", STAT_VALUE, dir, -1, -1, &seconds) || seconds <= 0 ||
		    packets / seconds < 5000 || switches <= packets)
			continue;
		snprintf(text, cap,
			 "wake-ups: %.1f context switches a packet on %s; busy polling "
			 "(net.core.busy_read), --pin, larger -l",
			 switches / packets, name_of(end));
		return value(r, "rr.rate", STAT_VALUE, dir, -1, -1, &rate) ? 60 : 40;
	}
	return 0;
}

/* The sender always had data and room, neither end held it, and a queue grew. */
static int path(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, idle, loaded;
	char a[32], b[32];

	if (!sending_share(r, dir, &share) || share < 0.9 ||
	    !value(r, "tcp.rtt_idle", STAT_VALUE, -1, -1, end_of(dir, MODEL_SENDER), &idle) ||
	    !value(r, "tcp.rtt_loaded", STAT_P50, dir, -1, -1, &loaded) || loaded < 2 * idle + 1e-3)
		return 0;
	unit_format(a, sizeof(a), idle, UNIT_SECOND, 3);
	unit_format(b, sizeof(b), loaded, UNIT_SECOND, 3);
	snprintf(text, cap,
		 "the path: always data to send, and the round trip grew from %s to %s: its "
		 "narrowest link",
		 a, b);
	return 51;
}

/* Accept or SYN queues that were full: of a server that many connect to. */
static int listen_queue(const struct model_run *r, int dir, char *text, size_t cap)
{
	double n, seconds;

	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		if (!of_host(r, "tcp.listen_drops", end, &n) ||
		    !value(r, "duration", STAT_VALUE, dir, -1, -1, &seconds) || seconds <= 0 ||
		    n / seconds <= 1)
			continue;
		snprintf(text, cap,
			 "connections: %s dropped %.0f as a listener's queue was full; "
			 "net.core.somaxconn, net.ipv4.tcp_max_syn_backlog",
			 name_of(end), n);
		return 45;
	}
	return 0;
}

/* Several receive queues, and one core took it all: of an end's facts. */
static int64_t rx_queues(const struct model_run *r, int end)
{
	const char *facts = r->host[end].facts, *iface;
	int64_t n = 0;
	struct js_doc *d;

	if (!facts || js_parse(facts, strlen(facts), &js_limits_file, &d, NULL) < 0)
		return 0;
	iface = js_str(js_get(js_root(d), "iface"), NULL);
	if (iface)
		js_i64(js_get(js_get(js_get(js_root(d), "interfaces"), iface), "rx_queues"), &n);
	js_free(d);
	return n;
}

static int one_queue(const struct model_run *r, int dir, char *text, size_t cap)
{
	int end = end_of(dir, MODEL_RECEIVER);
	double share;
	int64_t queues;

	if (!of_host(r, "softnet.core_share", end, &share) || share < 0.9)
		return 0;
	queues = rx_queues(r, end);
	if (queues < 2)
		return 0;
	snprintf(
		text, cap,
		"one of %lld receive queues of %s: a core took %.0f %% of the packets; more flows, "
		"hash fields (ethtool -N), interrupts on more cores",
		(long long)queues, name_of(end), share * 100);
	return 30;
}

/* A clock that is not held: the same run may come out otherwise. */
static int governor(const struct model_run *r, int dir, char *text, size_t cap)
{
	(void)dir;
	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		const char *facts = r->host[end].facts, *word;
		struct js_doc *d;

		if (!facts || js_parse(facts, strlen(facts), &js_limits_file, &d, NULL) < 0)
			continue;
		word = js_str(js_get(js_get(js_root(d), "processor"), "governor"), NULL);
		if (word && strcmp(word, "performance") != 0) {
			snprintf(text, cap,
				 "the clock: %s has the governor %.32s; runs vary less with "
				 "performance",
				 name_of(end), word);
			js_free(d);
			return 20;
		}
		js_free(d);
	}
	return 0;
}

/* A figure of a box in the middle (--observe). */
static bool of_middle(const struct model_run *r, const char *metric, double *v)
{
	return value(r, metric, STAT_VALUE, -1, MODEL_DEVICE, -1, v);
}

static int middle(const struct model_run *r, int dir, char *text, size_t cap)
{
	double softirq, dropped = 0, core = 0;

	(void)dir;
	if (!of_middle(r, "cpu.core_softirq", &softirq))
		return 0;
	of_middle(r, "softnet.dropped", &dropped);
	of_middle(r, "cpu.core_max", &core);
	if (softirq >= FULL_CORE) {
		snprintf(text, cap,
			 "the observed host: one of its cores was %.0f %% in software interrupts; "
			 "spread "
			 "by RSS or RPS, offloads, fewer packet filters",
			 softirq * 100);
		return 93;
	}
	if (dropped >= 10) {
		snprintf(text, cap,
			 "the observed host: its backlog dropped %.0f packets; "
			 "net.core.netdev_max_backlog, RPS",
			 dropped);
		return 87;
	}
	if (core < 0.95)
		return 0;
	snprintf(text, cap, "the observed host: one of its cores was %.0f %% busy", core * 100);
	return 54;
}

static const struct host_rule rules[] = {
	{"asked-rate", "the sender reached the rate it was told to keep", asked_rate},
	{"link-rate", "the interface carried what it can", link_rate},
	{"netfilter", "packet filter rules took a core", netfilter},
	{"softirq-core", "one core had no time left beside software interrupts", softirq_core},
	{"sender-cpu", "the sender's busiest thread had no time left", sender_cpu},
	{"receiver-cpu", "the receiver's busiest thread had no time left", receiver_cpu},
	{"host-contention", "others had the processors", contention},
	{"receiver-window", "TCP waited for the receiver's window", receiver_window},
	{"send-buffer", "TCP waited for the application's send buffer", send_buffer},
	{"application", "the sending program gave TCP too little", application},
	{"middle", "the box in the middle (--observe) had no processor time left", middle},
	{"local-qdisc", "the sender's queue discipline dropped or held back", local_qdisc},
	{"nic-ring", "the receiver's interface had no buffer", nic_ring},
	{"backlog", "the receiving host's backlog was full", backlog},
	{"link-errors", "packets were damaged", link_errors},
	{"udp-receiver", "the receiver's socket overflowed", udp_receiver},
	{"udp-path", "datagrams were lost between the two sockets", udp_path},
	{"udp-sender", "the sender did not keep the rate that was asked for", udp_sender},
	{"network-loss", "segments were lost on the way", network_loss},
	{"memory", "TCP had too little buffer memory", memory},
	{"listen-queue", "connections were dropped", listen_queue},
	{"one-queue", "one of several receive queues took all", one_queue},
	{"governor", "the processor's clock is not held", governor},
	{"wake-ups", "each packet had to wake somebody", wake_ups},
	{"path", "the narrowest link of the path", path},
};

const struct host_rule *host_rule_at(size_t i)
{
	return i < ARRAY_LEN(rules) ? &rules[i] : NULL;
}

static bool has_bytes(const struct model_run *r, int dir)
{
	double bytes;

	return value(r, "bytes", STAT_VALUE, dir, -1, -1, &bytes);
}

/* ---- all of them ---------------------------------------------------------------------- */

struct finding {
	const struct host_rule *rule;
	int sure, dir;
	char text[SAFE_MAX + 16];
};
#define FINDINGS_MAX (2 * ARRAY_LEN(rules))

/* The surest first; of the same certainty, in the order of the table. */
static size_t find_all(const struct model_run *r, struct finding *f)
{
	bool both = has_bytes(r, MODEL_UP) && has_bytes(r, MODEL_DOWN);
	char text[SAFE_MAX];
	size_t n = 0;

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		for (size_t i = 0; has_bytes(r, dir) && i < ARRAY_LEN(rules); i++) {
			int sure = rules[i].judge(r, dir, text, sizeof(text));
			size_t k = n;

			if (!sure)
				continue;
			for (; k && f[k - 1].sure < sure; k--)
				f[k] = f[k - 1];
			f[k].rule = &rules[i];
			f[k].sure = sure;
			f[k].dir = dir;
			snprintf(f[k].text, sizeof(f[k].text), "%s%s",
				 !both             ? ""
				 : dir == MODEL_UP ? "up: "
						   : "down: ",
				 text);
			n++;
		}
	}
	return n;
}

/* Each loaded direction has its own reason; the code is that of the surer one. */
void host_judge(struct model_run *r)
{
	struct finding *f = calloc(FINDINGS_MAX, sizeof(*f));
	size_t n = f ? find_all(r, f) : 0, other = 1;
	char both[sizeof(f->text) * 2 + 4];

	if (n && f[0].sure >= SURE) {
		while (other < n && f[other].dir == f[0].dir)
			other++;
		snprintf(both, sizeof(both), "%s%s%s", f[0].text, "; ",
			 other < n ? f[other].text : "");
		r->limited_code = f[0].rule->code;
		r->limited =
			model_run_str(r, other < n && f[other].sure >= SURE ? both : f[0].text);
	}
	free(f);
}

/* What would have been looked at, had this end told it. */
static void put_unknown(const struct model_run *r, int end, struct buf *b)
{
	static const struct {
		const char *metric, *what;
	} rows[] = {
		{"cpu.core_max", "its processors"},
		{"cpu.irq", "the time of hardware interrupts (CONFIG_IRQ_TIME_ACCOUNTING)"},
		{"sched.wait", "how long its threads waited for a core"},
		{"qdisc.drops", "its queue disciplines"},
		{"link.utilisation", "the speed of its interface"},
		{"nf.rules", "its packet filters (CAP_NET_ADMIN)"},
	};
	size_t n = 0;
	double v;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!of_host(r, rows[i].metric, end, &v))
			buf_printf(b, "%s%s",
				   n++                 ? ", "
				   : end == MODEL_NEAR ? "not known of this host: "
						       : "not known of the far host: ",
				   rows[i].what);
	}
	if (n)
		buf_putc(b, '\n');
}

void host_explain(const struct model_run *r, struct buf *b)
{
	struct finding *f = calloc(FINDINGS_MAX, sizeof(*f));
	size_t n = f ? find_all(r, f) : 0;

	if (!n || f[0].sure < SURE)
		buf_puts(b, "limited by: none of the rules is sure\n");
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s: %s: %s\n",
			   f[i].sure < SURE ? "seen as well"
			   : i              ? "also"
					    : "limited by",
			   f[i].rule->code, f[i].text);
	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++)
		put_unknown(r, end, b);
	free(f);
}
