/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules that look at the flows: rates that were asked for, what TCP waited for, what was lost and
 * where, whether the program kept up.
 */
#include <stdio.h>
#include <string.h>

#include "host/rules.h"

#define BUSY_THREAD 0.90 /* of a core: a worker that never waits */
#define MOSTLY_RAN  0.80
#define NEVER_SLEPT 0.97
#define HELD_BACK   0.20 /* share of the time */

/* The busiest thread of an end; without one the whole program, which with one flow is the same. */
static bool busy_thread(const struct model_run *r, int end, double *busy, bool *thread)
{
	*thread = host_of(r, "cpu.thread_max", end, busy);
	return *thread || host_of(r, "cpu.total", end, busy);
}

/* What share of the time the senders of a direction had data to send; false = not told. */
static bool sending_share(const struct model_run *r, int dir, double *share)
{
	double busy, seconds, flows = 1;

	if (!host_value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) ||
	    !host_value(r, "duration", STAT_VALUE, dir, MODEL_SENDER, -1, &seconds) || seconds <= 0)
		return false;
	host_value(r, "flows", STAT_VALUE, dir, MODEL_SENDER, -1, &flows);
	*share = busy / seconds / (flows >= 1 ? flows : 1);
	return true;
}

/* Share of the sending time; a sender that rarely sends is not held back by much. */
static int held_back(const struct model_run *r, int dir, const char *metric, double *share)
{
	double busy, held, sending = 1;

	if (!host_value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) ||
	    busy <= 0 || !host_value(r, metric, STAT_VALUE, dir, MODEL_SENDER, -1, &held))
		return 0;
	sending_share(r, dir, &sending);
	*share = held / busy < 1 ? held / busy : 1;
	if (*share < HELD_BACK)
		return 0;
	return *share * sending >= HELD_BACK ? 50 + (int)(40 * *share) : 35;
}

int host_receiver_window(const struct model_run *r, int dir, char *text, size_t cap)
{
	int end = host_end_of(dir, MODEL_RECEIVER);
	double share, busy, zero = 0;
	int sure = held_back(r, dir, "tcp.rwnd_limited", &share);
	bool thread, full = busy_thread(r, end, &busy, &thread) && busy >= BUSY_THREAD;

	if (!sure)
		return 0;
	host_of(r, "tcp.zero_windows", end, &zero);
	snprintf(text, cap, "the receiver's window, %.0f %% of the sending time; %s", share * 100,
		 full       ? "its program has no processor time left"
		 : zero > 0 ? "it was closed: the receiving program reads too slowly"
			    : "larger -w, or net.ipv4.tcp_rmem at the receiver");
	return full ? 40 : sure; /* then the window is only how it shows */
}

int host_send_buffer(const struct model_run *r, int dir, char *text, size_t cap)
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
	int end = host_end_of(dir, view);
	const char *who = view == MODEL_SENDER ? "sender" : "receiver";
	double busy, want = 0;
	bool thread;

	if (!busy_thread(r, end, &busy, &thread))
		return 0;
	host_of(r, "sched.want", end, &want);
	/* One that never slept, and was kept from its core now and then, is as full. */
	if (busy < BUSY_THREAD && !(busy >= MOSTLY_RAN && want >= NEVER_SLEPT))
		return 0;
	snprintf(text, cap, "the %s's CPU: %s %.0f %% busy; more flows (-P) or --pin", who,
		 thread ? "its busiest thread was" : "the program was", busy * 100);
	/* Then software interrupts of its core ran in its own time, as on a virtual link. */
	return busy > 0.97 ? 95 : 76;
}

int host_sender_cpu(const struct model_run *r, int dir, char *text, size_t cap)
{
	return cpu_of(r, dir, MODEL_SENDER, text, cap);
}

int host_receiver_cpu(const struct model_run *r, int dir, char *text, size_t cap)
{
	return cpu_of(r, dir, MODEL_RECEIVER, text, cap);
}

int host_network_loss(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, resent, timeouts = 0;
	char more[64] = "";

	if (!host_tcp_resent(r, dir, &resent, &share) || share < HOST_LOSSY || resent < 10)
		return 0;
	host_of(r, "tcp.timeouts", host_end_of(dir, MODEL_SENDER), &timeouts);
	if (timeouts > 0)
		snprintf(more, sizeof(more), ", %.0f timeouts", timeouts);
	snprintf(text, cap,
		 "loss or a full queue in the path: %.2f %% of the segments were sent again%s",
		 share * 100, more);
	return share > 0.01 ? 65 : 55;
}

/* What was sent again had come after all: the receiver says so of each. */
int host_reordering(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, resent, twice;

	if (!host_tcp_resent(r, dir, &resent, &share) || share < HOST_LOSSY || resent < 10 ||
	    !host_of(r, "tcp.dsacks", host_end_of(dir, MODEL_SENDER), &twice) || twice < resent / 2)
		return 0;
	snprintf(text, cap,
		 "reordering in the path, or timeouts that are too short: %.0f of %.0f segments "
		 "that were sent again had come; net.ipv4.tcp_reordering, tcp_rto_min_us",
		 twice < resent ? twice : resent, resent);
	return 66;
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

int host_asked_rate(const struct model_run *r, int dir, char *text, size_t cap)
{
	double bps, flows = 1, sent;
	char rate[32];

	/* A report of another program tells the rate as a figure. */
	if (!requested_rate(r, &bps, &flows) &&
	    (r->request ||
	     !host_value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &bps)))
		return 0;
	if (!host_value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) ||
	    sent < bps * flows * HOST_PACED)
		return 0;
	unit_format(rate, sizeof(rate), bps * flows, UNIT_BPS, 3);
	snprintf(text, cap, "the rate that was asked for (-b): %s", rate);
	return 95;
}

int host_udp_receiver(const struct model_run *r, int dir, char *text, size_t cap)
{
	double lost, loss, drops;

	if (!host_udp_lost(r, dir, &lost, &loss, &drops) || drops < lost / 2)
		return 0;
	snprintf(text, cap,
		 "the receiver: its socket dropped %.0f %% of the lost datagrams (%.3g %% of all); "
		 "larger -w with net.core.rmem_max, or a faster core",
		 drops / lost * 100, loss * 100);
	return 97;
}

int host_udp_path(const struct model_run *r, int dir, char *text, size_t cap)
{
	double lost, loss, drops, known;

	if (!host_udp_lost(r, dir, &lost, &loss, &drops) || drops >= lost / 2 ||
	    loss < HOST_LOSSY || lost < 10)
		return 0;
	/* A peer that says nothing of its socket may have dropped them itself. */
	if (!host_value(r, "udp.socket_drops", STAT_VALUE, dir, MODEL_RECEIVER, -1, &known))
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

int host_udp_sender(const struct model_run *r, int dir, char *text, size_t cap)
{
	double sent, intended, refused = 0, unreachable = 0;
	char rate[32];

	if (!host_value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) ||
	    !host_value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &intended) ||
	    sent >= intended * HOST_PACED)
		return 0;
	host_value(r, "udp.refused", STAT_VALUE, dir, MODEL_SENDER, -1, &refused);
	host_value(r, "udp.unreachable", STAT_VALUE, dir, MODEL_SENDER, -1, &unreachable);
	unit_format(rate, sizeof(rate), intended, UNIT_BPS, 3);
	snprintf(text, cap, "the sender: %.0f %% of the intended %s left it; %s",
		 sent / intended * 100, rate,
		 has_event(r, WARN_SEND_FAILED) ? "a flow could not send to its end"
		 : unreachable > 0              ? "what it sent was refused on the way"
		 : refused > 0                  ? "its queue was full (-w, the device's queue)"
						: "more flows (-P), larger -l, or a faster core");
	return 95;
}

int host_application(const struct model_run *r, int dir, char *text, size_t cap)
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

static bool rtts(const struct model_run *r, int dir, double *idle, double *loaded, char text[80])
{
	char a[32], b[32];

	if (!host_value(r, "tcp.rtt_idle", STAT_VALUE, -1, -1, host_end_of(dir, MODEL_SENDER),
			idle) ||
	    !host_value(r, "tcp.rtt_loaded", STAT_P50, dir, -1, -1, loaded))
		return false;
	unit_format(a, sizeof(a), *idle, UNIT_SECOND, 3);
	unit_format(b, sizeof(b), *loaded, UNIT_SECOND, 3);
	snprintf(text, 80, "from %s to %s", a, b);
	return true;
}

/* The sender always had data and room, neither end held it, and a queue grew. */
int host_path(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, idle, loaded;
	char grew[80];

	if (!sending_share(r, dir, &share) || share < 0.9 || !rtts(r, dir, &idle, &loaded, grew) ||
	    loaded < 2 * idle + 1e-3)
		return 0;
	snprintf(text, cap,
		 "the path: always data to send, and the round trip grew %s: its narrowest link",
		 grew);
	return 51;
}

/* A queue so long that others feel it; of no matter where all is below a millisecond. */
int host_bufferbloat(const struct model_run *r, int dir, char *text, size_t cap)
{
	double idle, loaded;
	char grew[80];

	if (!rtts(r, dir, &idle, &loaded, grew) || loaded < 5e-3 ||
	    (loaded - idle <= 0.1 && loaded <= 5 * idle))
		return 0;
	snprintf(text, cap,
		 "a long queue: the round trip grew %s; active queue management (fq_codel, cake) "
		 "at the narrowest link, or pacing below it",
		 grew);
	return 40;
}
