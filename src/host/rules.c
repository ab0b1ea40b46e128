/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What held a run back, said only where the run's own metrics say so. A row a rule; each looks
 * at one direction and answers how sure it is, with its evidence in figures. The surest one at
 * or over the threshold is the run's; otherwise nothing is claimed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/rules.h"

#define SURE          50
#define PAYLOAD       1448.0 /* of a segment, where the report does not tell */
#define TEN_A_MINUTE  (10.0 / 60)
#define LINK_ERRORS   15   /* a second: a cable, not chance */
#define DEFERRED      0.10 /* of the time, in ksoftirqd */
#define ONE_CPU       0.90 /* of an interface's interrupts */
#define SOME_PRESSURE 0.10

/* ---- figures --------------------------------------------------------------------------- */

const struct model_summary *host_summary(const struct model_run *r, const char *metric,
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

bool host_value(const struct model_run *r, const char *metric, enum model_stat stat, int dir,
		int view, int end, double *v)
{
	const struct model_summary *s = host_summary(r, metric, stat, dir, view, end);

	if (!s)
		return false;
	*v = s->value;
	return true;
}

int host_end_of(int dir, int view)
{
	return (dir == MODEL_UP) == (view == MODEL_SENDER) ? MODEL_NEAR : MODEL_FAR;
}

bool host_of(const struct model_run *r, const char *metric, int who, double *v)
{
	return who == HOST_OBSERVED ? host_value(r, metric, STAT_VALUE, -1, MODEL_DEVICE, -1, v)
				    : host_value(r, metric, STAT_VALUE, -1, -1, who, v);
}

const char *host_name_of(int who)
{
	static const char *const names[HOST_MOST] = {[MODEL_NEAR] = "this host",
						     [MODEL_FAR] = "the far host",
						     [HOST_OBSERVED] = "the observed host"};

	return names[who];
}

bool host_seconds(const struct model_run *r, int dir, double *seconds)
{
	return (host_value(r, "duration", STAT_VALUE, dir, -1, -1, seconds) ||
		host_value(r, "duration", STAT_VALUE, -1, -1, -1, seconds)) &&
	       *seconds > 0;
}

bool host_udp_lost(const struct model_run *r, int dir, double *lost, double *loss, double *drops)
{
	const struct model_summary *s;
	double batch = 1;

	*drops = 0;
	if (!host_value(r, "udp.lost", STAT_VALUE, dir, MODEL_RECEIVER, -1, lost) ||
	    !host_value(r, "udp.loss", STAT_VALUE, dir, MODEL_RECEIVER, -1, loss) || *lost < 1)
		return false;
	s = host_summary(r, "udp.socket_drops", STAT_VALUE, dir, MODEL_RECEIVER, -1);
	if (!s)
		return true;
	/* With UDP_GRO, a dropped batch of the sender's counts once. */
	if (s->bound == MODEL_GE)
		host_value(r, "udp.batch", STAT_VALUE, dir, MODEL_SENDER, -1, &batch);
	*drops = s->value * batch < *lost ? s->value * batch : *lost;
	return true;
}

bool host_tcp_resent(const struct model_run *r, int dir, double *resent, double *share)
{
	double bytes;

	if (!host_value(r, "tcp.retransmits", STAT_VALUE, dir, MODEL_SENDER, -1, resent))
		return false;
	if (host_value(r, "tcp.retransmit_share", STAT_VALUE, dir, MODEL_SENDER, -1, share))
		return true;
	if (!host_value(r, "bytes", STAT_VALUE, dir, MODEL_SENDER, -1, &bytes) || bytes <= 0)
		return false;
	*share = *resent / (bytes / PAYLOAD + *resent);
	return true;
}

/* ---- the table ------------------------------------------------------------------------- */

static const struct host_rule rules[] = {
	{.code = "asked-rate",
	 .what = "the sender reached the rate it was told to keep",
	 .judge = host_asked_rate},
	{.code = "link-rate",
	 .what = "the interface carried what it can",
	 .judge = host_link_rate,
	 .alone = true},
	{.code = "netfilter", .what = "packet filter rules took a core", .judge = host_netfilter},
	{.code = "softirq-core",
	 .what = "one core had no time left beside software interrupts",
	 .judge = host_softirq_core,
	 .alone = true},
	{.code = "sender-cpu",
	 .what = "the sender's busiest thread had no time left",
	 .judge = host_sender_cpu},
	{.code = "receiver-cpu",
	 .what = "the receiver's busiest thread had no time left",
	 .judge = host_receiver_cpu},
	{.code = "host-contention",
	 .what = "others had the processors",
	 .judge = host_contention,
	 .alone = true},
	{.code = "receiver-window",
	 .what = "TCP waited for the receiver's window",
	 .judge = host_receiver_window},
	{.code = "send-buffer",
	 .what = "TCP waited for the application's send buffer",
	 .judge = host_send_buffer},
	{.code = "application",
	 .what = "the sending program gave TCP too little",
	 .judge = host_application},
	{.code = "middle",
	 .what = "an observed host (--observe) had no processor time left",
	 .judge = host_middle,
	 .alone = true},
	{.code = "local-qdisc",
	 .what = "the sender's queue discipline dropped or held back",
	 .judge = host_local_qdisc},
	{.code = "nic-ring",
	 .what = "an interface had no buffer for what came",
	 .count = &(const struct host_count){"link.rx_missed", HOST_AT_RECEIVER | HOST_AT_OBSERVED,
					     10, 0, false, false, 0,
					     "its interface had no buffer for",
					     "packets; larger rings (ethtool -G), more queues "
					     "(-L), its interrupt on an idle core"},
	 .alone = true},
	{.code = "backlog",
	 .what = "a host's backlog of received packets was full",
	 .count = &(const struct host_count){"softnet.dropped", HOST_AT_RECEIVER | HOST_AT_OBSERVED,
					     10, 0, false, false, 0, "its backlog was full for",
					     "packets, which it dropped; "
					     "net.core.netdev_max_backlog, or RPS onto more cores"},
	 .alone = true},
	{.code = "middle-qdisc",
	 .what = "a queue of an observed host dropped",
	 .count = &(const struct host_count){"qdisc.drops", HOST_AT_OBSERVED, 10, 0, false, false,
					     0, "its queues dropped",
					     "packets; their rate or limit (tc -s qdisc)"},
	 .alone = true},
	{.code = "link-errors",
	 .what = "packets were damaged",
	 .count = &(const struct host_count){"link.errors", HOST_AT_ALL, 1, LINK_ERRORS, false,
					     false, 86, "its link damaged",
					     "packets; cable, duplex, optics"},
	 .alone = true},
	{.code = "udp-receiver",
	 .what = "the receiver's socket overflowed",
	 .judge = host_udp_receiver},
	{.code = "udp-path",
	 .what = "datagrams were lost between the two sockets",
	 .judge = host_udp_path},
	{.code = "udp-sender",
	 .what = "the sender did not keep the rate that was asked for",
	 .judge = host_udp_sender},
	{.code = "send-errors",
	 .what = "the sending host had no buffer for datagrams",
	 .count =
		 &(const struct host_count){
			 "udp.sndbuf_errors", HOST_AT_SENDER, 10, 0, false, false, 33,
			 "its sockets had no buffer for",
			 "datagrams to send; -w, net.core.wmem_max, a longer queue"}},
	{.code = "reordering",
	 .what = "segments were sent again that had come",
	 .judge = host_reordering},
	{.code = "network-loss",
	 .what = "segments were lost on the way",
	 .judge = host_network_loss},
	{.code = "timeouts",
	 .what = "TCP waited for its retransmission timer",
	 .count =
		 &(const struct host_count){
			 "tcp.timeouts", HOST_AT_SENDER, 1, 0, false, false, 34,
			 "TCP waited for a timeout",
			 "times: a burst's last segments were lost, or its window is tiny"}},
	{.code = "zero-windows",
	 .what = "the reading program closed the window",
	 .count = &(const struct host_count){"tcp.zero_windows", HOST_AT_RECEIVER, 1, 0, false,
					     false, 32, "a full receive buffer closed TCP's window",
					     "times: its reader is slower than what comes, or the "
					     "buffer is small (-w)"}},
	{.code = "memory",
	 .what = "TCP had too little buffer memory",
	 .count =
		 &(const struct host_count){
			 "tcp.memory_drops",
			 HOST_AT_RECEIVER, 1, 0, false, false, 45, "TCP gave up data or room",
			 "times for want of memory; net.ipv4.tcp_mem, net.ipv4.tcp_rmem"}},
	{.code = "listen-queue",
	 .what = "connections were dropped",
	 .count =
		 &(const struct host_count){
			 "tcp.listen_drops",
			 HOST_AT_SENDER | HOST_AT_RECEIVER, 1, 1, false, false, 45,
			 "listeners' full queues cost",
			 "connections; net.core.somaxconn, net.ipv4.tcp_max_syn_backlog"}},
	{.code = "ksoftirqd",
	 .what = "software interrupts were put off to a thread",
	 .count = &(const struct host_count){"cpu.ksoftirqd", HOST_AT_ALL, DEFERRED, 0, true, false,
					     42, "ksoftirqd had",
					     "% of a core: more packets than interrupts take; RSS "
					     "or RPS onto more cores, GRO"},
	 .alone = true},
	{.code = "squeezed",
	 .what = "receive rounds ended with work left",
	 .count = &(const struct host_count){"softnet.squeezed", HOST_AT_ALL, 10, TEN_A_MINUTE,
					     false, false, 30, "receive rounds ended early",
					     "times; net.core.netdev_budget and "
					     "netdev_budget_usecs, where drops come with it"},
	 .alone = true},
	{.code = "gro-batch",
	 .what = "receive rounds took one or two packets",
	 .judge = host_gro_batch,
	 .alone = true},
	{.code = "one-queue",
	 .what = "one of several receive queues took all",
	 .judge = host_one_queue},
	{.code = "irq-placement",
	 .what = "one core took the interrupts of all queues",
	 .count = &(const struct host_count){"irq.core_share", HOST_AT_SENDER | HOST_AT_RECEIVER,
					     ONE_CPU, 0, true, true, 30, "one core took",
					     "% of the interrupts of several queues; irqbalance, "
					     "or /proc/irq/N/smp_affinity"}},
	{.code = "governor", .what = "the processor's clock is not held", .judge = host_governor},
	{.code = "wake-ups", .what = "each packet had to wake somebody", .judge = host_wake_ups},
	{.code = "path", .what = "the narrowest link of the path", .judge = host_path},
	{.code = "bufferbloat", .what = "a queue in the path grew long", .judge = host_bufferbloat},
	{.code = "cpu-pressure",
	 .what = "programs waited for a core",
	 .count = &(const struct host_count){"psi.cpu", HOST_AT_ALL, SOME_PRESSURE, 0, true, false,
					     22, "some program waited", "% of the time for a core"},
	 .alone = true},
};

const struct host_rule *host_rule_at(size_t i)
{
	return i < ARRAY_LEN(rules) ? &rules[i] : NULL;
}

/* dir -1: a load of which a report does not tell the direction. */
static bool has_bytes(const struct model_run *r, int dir)
{
	double bytes;

	return host_value(r, "bytes", STAT_VALUE, dir, -1, -1, &bytes);
}

/* ---- all of them ---------------------------------------------------------------------- */

struct finding {
	const struct host_rule *rule;
	int sure, dir;
	char text[SAFE_MAX + 16];
};
#define FINDINGS_MAX (2 * ARRAY_LEN(rules))

static int judge(const struct host_rule *rule, const struct model_run *r, int dir, char *text,
		 size_t cap)
{
	return rule->judge ? rule->judge(r, dir, text, cap)
			   : host_judge_count(rule->count, r, dir, text, cap);
}

static size_t insert(struct finding *f, size_t n, const struct finding *new)
{
	size_t k = n;

	for (; k && f[k - 1].sure < new->sure; k--)
		f[k] = f[k - 1];
	f[k] = *new;
	return n + 1;
}

/* What the rules say of one direction; alone: those that need no load. */
static size_t find_in(const struct model_run *r, int dir, bool alone, const char *before,
		      struct finding *f, size_t n)
{
	char text[SAFE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct finding new = {.rule = &rules[i], .dir = dir};

		if (alone && !rules[i].alone)
			continue;
		new.sure = judge(&rules[i], r, dir, text, sizeof(text));
		if (!new.sure)
			continue;
		snprintf(new.text, sizeof(new.text), "%s%s", before, text);
		n = insert(f, n, &new);
	}
	return n;
}

/* The surest first; of the same certainty, in the order of the table. */
static size_t find_all(const struct model_run *r, struct finding *f)
{
	bool up = has_bytes(r, MODEL_UP), down = has_bytes(r, MODEL_DOWN);
	size_t n = 0;

	if (up)
		n = find_in(r, MODEL_UP, false, down ? "up: " : "", f, n);
	if (down)
		n = find_in(r, MODEL_DOWN, false, up ? "down: " : "", f, n);
	if (!up && !down)
		n = find_in(r, -1, !has_bytes(r, -1), "", f, n);
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
		if (!host_of(r, rows[i].metric, end, &v))
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

	/* A search for the rate knows by its own means what ended it. */
	if ((!n || f[0].sure < SURE) && r->limited_code)
		buf_printf(b, "limited by: %s: %s\n", r->limited_code, r->limited);
	else if (!n || f[0].sure < SURE)
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
