/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What held a run back, said only where the run's own metrics say so. A row a rule; each looks
 * at one direction and answers how sure it is, with its evidence in figures. The surest one at
 * or over the threshold is the run's; otherwise nothing is claimed.
 */
#include <stdio.h>
#include <string.h>

#include "host/host.h"

#define SURE        50
#define BUSY_THREAD 0.90  /* of a core: a worker that never waits */
#define HELD_BACK   0.50  /* share of the busy time */
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

static int held_back(const struct model_run *r, int dir, const char *metric, double *share)
{
	double busy, held;

	if (!value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) || busy <= 0 ||
	    !value(r, metric, STAT_VALUE, dir, MODEL_SENDER, -1, &held))
		return 0;
	*share = held / busy;
	return *share >= HELD_BACK ? 60 + (int)(30 * (*share > 1 ? 1 : *share)) : 0;
}

static int receiver_window(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share;
	int sure = held_back(r, dir, "tcp.rwnd_limited", &share);

	if (sure)
		snprintf(text, cap,
			 "the receiver's window, %.0f %% of the sending time; larger -w, or "
			 "net.ipv4.tcp_rmem at the receiver",
			 share * 100);
	return sure;
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
	double busy;
	bool thread = value(r, "cpu.thread_max", STAT_VALUE, -1, -1, end, &busy);

	/* A peer that tells only its whole process: one core full is the same with one flow. */
	if (!thread && !value(r, "cpu.total", STAT_VALUE, -1, -1, end, &busy))
		return 0;
	if (busy < BUSY_THREAD)
		return 0;
	snprintf(text, cap, "the %s's CPU: %s %.0f %% busy; more flows (-P) or --pin", who,
		 thread ? "its busiest thread was" : "the program was", busy * 100);
	return busy > 0.97 ? 90 : 75;
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
	double share, retrans;

	if (!value(r, "tcp.retransmit_share", STAT_VALUE, dir, MODEL_SENDER, -1, &share) ||
	    !value(r, "tcp.retransmits", STAT_VALUE, dir, MODEL_SENDER, -1, &retrans) ||
	    share < LOSSY || retrans < 10)
		return 0;
	snprintf(text, cap,
		 "loss or a full queue in the path: %.2f %% of the segments were sent again",
		 share * 100);
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

static int udp_sender(const struct model_run *r, int dir, char *text, size_t cap)
{
	double sent, intended, refused = 0;
	char rate[32];

	if (!value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) ||
	    !value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &intended) ||
	    sent >= intended * PACED)
		return 0;
	value(r, "udp.refused", STAT_VALUE, dir, MODEL_SENDER, -1, &refused);
	unit_format(rate, sizeof(rate), intended, UNIT_BPS, 3);
	snprintf(text, cap, "the sender: %.0f %% of the intended %s left it; %s",
		 sent / intended * 100, rate,
		 refused > 0 ? "its queue was full (-w, the device's queue)"
			     : "more flows (-P), larger -l, or a faster core");
	return 95;
}

static const struct host_rule rules[] = {
	{"asked-rate", "the sender reached the rate it was told to keep", asked_rate},
	{"sender-cpu", "the sender's busiest thread had no time left", sender_cpu},
	{"receiver-cpu", "the receiver's busiest thread had no time left", receiver_cpu},
	{"receiver-window", "TCP waited for the receiver's window", receiver_window},
	{"send-buffer", "TCP waited for the application's send buffer", send_buffer},
	{"udp-receiver", "the receiver's socket overflowed", udp_receiver},
	{"udp-path", "datagrams were lost between the two sockets", udp_path},
	{"udp-sender", "the sender did not keep the rate that was asked for", udp_sender},
	{"network-loss", "segments were lost on the way", network_loss},
};

const struct host_rule *host_rule_at(size_t i)
{
	return i < ARRAY_LEN(rules) ? &rules[i] : NULL;
}

void host_judge(struct model_run *r)
{
	char best[SAFE_MAX] = "", text[SAFE_MAX], line[SAFE_MAX + 16];
	const char *code = NULL;
	int sure = SURE - 1;
	bool both = model_find(r, "bytes", STAT_VALUE,
			       &(struct model_dims){.has = 1U << DIM_DIR, .v[DIM_DIR] = MODEL_UP},
			       true) &&
		    model_find(r, "bytes", STAT_VALUE,
			       &(struct model_dims){.has = 1U << DIM_DIR, .v[DIM_DIR] = MODEL_DOWN},
			       true);

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		double bytes;

		if (!value(r, "bytes", STAT_VALUE, dir, -1, -1, &bytes))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
			int s = rules[i].judge(r, dir, text, sizeof(text));

			if (s <= sure)
				continue;
			sure = s;
			code = rules[i].code;
			snprintf(best, sizeof(best), "%s", text);
			snprintf(line, sizeof(line), "%s%s",
				 both ? (dir == MODEL_UP ? "up: " : "down: ") : "", best);
		}
	}
	if (!code)
		return;
	r->limited_code = code;
	r->limited = model_run_str(r, line);
}
