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
#define JIFFIES     0.1  /* s: shorter, and times that grow in steps of 4 to 10 ms tell nothing */
#define SMALL_RCV   (128 << 10)
#define PACED_WIRE  0.93 /* of a rate that counts headers as well */

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
	    !host_value(r, "duration", STAT_VALUE, dir, MODEL_SENDER, -1, &seconds) ||
	    seconds < JIFFIES)
		return false;
	host_value(r, "flows", STAT_VALUE, dir, MODEL_SENDER, -1, &flows);
	*share = busy / seconds / (flows >= 1 ? flows : 1);
	return true;
}

/* Share of the sending time; a sender that rarely sends is not held back by much. */
static int held_back(const struct model_run *r, int dir, const char *metric, double *share)
{
	double busy, held, sending = 1, seconds;

	if (host_seconds(r, dir, &seconds) && seconds < JIFFIES)
		return 0;
	if (!host_value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) ||
	    busy <= 0 || !host_value(r, metric, STAT_VALUE, dir, MODEL_SENDER, -1, &held))
		return 0;
	sending_share(r, dir, &sending);
	*share = held / busy < 1 ? held / busy : 1;
	if (*share < HELD_BACK)
		return 0;
	return *share * sending >= HELD_BACK ? 50 + (int)(40 * *share) : 35;
}

/* Bytes in flight fill a window far smaller than the congestion window, on a path without a queue:
 * the kernel counts only a part of that as time without room. */
static bool is_window(const struct model_run *r, int dir, char *text, size_t cap)
{
	double bps, rtt, idle, cwnd, share, held = 0, busy;
	char flight[32], room[32], trip[32];

	if (!sending_share(r, dir, &share) || share < 0.9 ||
	    !host_value(r, "tcp.rwnd_limited", STAT_VALUE, dir, MODEL_SENDER, -1, &held) ||
	    !host_value(r, "tcp.busy_time", STAT_VALUE, dir, MODEL_SENDER, -1, &busy) ||
	    held < 0.05 * busy ||
	    !host_value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &bps) ||
	    !host_value(r, "tcp.rtt_loaded", STAT_P50, dir, -1, -1, &rtt) || rtt < 1e-3 ||
	    !host_value(r, "tcp.rtt_idle", STAT_VALUE, -1, -1, host_end_of(dir, MODEL_SENDER),
			&idle) ||
	    rtt > 1.5 * idle + 1e-3 ||
	    !host_value(r, "tcp.cwnd", STAT_VALUE, dir, MODEL_SENDER, -1, &cwnd) ||
	    cwnd < 2 * bps / 8 * rtt)
		return false;
	unit_format(flight, sizeof(flight), bps / 8 * rtt, UNIT_BYTE, 3);
	unit_format(room, sizeof(room), cwnd, UNIT_BYTE, 3);
	unit_format(trip, sizeof(trip), rtt, UNIT_SECOND, 3);
	snprintf(text, cap,
		 "the receiver's window: %s on their way in a round trip of %s, where congestion "
		 "control has room for %s; larger -w, or net.ipv4.tcp_rmem at the receiver",
		 flight, trip, room);
	return true;
}

int host_receiver_window(const struct model_run *r, int dir, char *text, size_t cap)
{
	int end = host_end_of(dir, MODEL_RECEIVER);
	double share, busy, zero = 0, buffer = SMALL_RCV;
	int sure = held_back(r, dir, "tcp.rwnd_limited", &share);
	bool thread, full = busy_thread(r, end, &busy, &thread) && busy >= BUSY_THREAD;

	if (sure < 60 && is_window(r, dir, text, cap))
		return 60;
	if (!sure)
		return 0;
	host_of(r, "tcp.zero_windows", end, &zero);
	/* A small one is closed by each burst, however soon it is read. */
	host_value(r, "window.rcv", STAT_VALUE, dir, MODEL_RECEIVER, -1, &buffer);
	snprintf(text, cap, "the receiver's window, %.0f %% of the sending time; %s", share * 100,
		 full ? "its program has no processor time left"
		 : zero > 0 && buffer >= SMALL_RCV
			 ? "it was closed: the receiving program reads too slowly"
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

/* Segments sent again, those among them that had come after all, and as share of all. */
static bool resent(const struct model_run *r, int dir, double *all, double *twice, double *share)
{
	if (!host_tcp_resent(r, dir, all, share) || *share < HOST_LOSSY || *all < 10)
		return false;
	if (!host_of(r, "tcp.dsacks", host_end_of(dir, MODEL_SENDER), twice))
		*twice = 0;
	if (*twice > *all)
		*twice = *all;
	return true;
}

int host_network_loss(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, all, twice, timeouts = 0;
	char more[96] = "";
	size_t n = 0;

	if (!resent(r, dir, &all, &twice, &share) || twice >= all / 2)
		return 0;
	if (twice >= all / 10)
		n = (size_t)snprintf(more, sizeof(more), ", %.0f %% of them needlessly",
				     twice / all * 100);
	host_of(r, "tcp.timeouts", host_end_of(dir, MODEL_SENDER), &timeouts);
	if (timeouts > 0)
		snprintf(more + n, sizeof(more) - n, ", %.0f timeouts", timeouts);
	snprintf(text, cap,
		 "loss or a full queue in the path: %.2f %% of the segments were sent again%s",
		 share * 100, more);
	return share > 0.01 ? 65 : 55;
}

/* What was sent again had come after all: the receiver says so of each. Few of them are a blemish. */
int host_reordering(const struct model_run *r, int dir, char *text, size_t cap)
{
	double share, all, twice;

	if (!resent(r, dir, &all, &twice, &share) || twice < all / 2)
		return 0;
	snprintf(text, cap,
		 "reordering in the path, or timeouts that are too short: %.2f %% of the segments "
		 "were sent again, %.0f %% of them needlessly; net.ipv4.tcp_reordering",
		 share * 100, twice / all * 100);
	return share > 0.01 ? 66 : 38;
}

/* What a member of the request says as a rate: a number, "100M" or "100M/10". */
static bool rate_member(const struct js *request, const char *member, double *bps)
{
	const struct js *v = js_get(request, member);
	const char *text = js_str(v, NULL);
	char word[64];
	uint64_t rate;
	int64_t n;

	if (js_i64(v, &n) && n > 0) {
		*bps = (double)n;
		return true;
	}
	if (!text)
		return false;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, "/"), text);
	if (unit_parse_rate(word, &rate, NULL) < 0 || !rate)
		return false;
	*bps = (double)rate;
	return true;
}

/* Of all flows; reached from this share of it on. */
static bool requested_rate(const struct model_run *r, double *bps, double *share,
			   const char **option)
{
	struct js_doc *d;
	int64_t n = 1;
	bool found, paced;

	if (!r->request || js_parse(r->request, strlen(r->request), &js_limits_file, &d, NULL) < 0)
		return false;
	found = rate_member(js_root(d), "bitrate", bps);
	paced = !found && rate_member(js_root(d), "fq-rate", bps);
	js_i64(js_get(js_root(d), "parallel"), &n);
	js_free(d);
	*bps *= (double)n;
	*share = paced ? PACED_WIRE : HOST_PACED;
	*option = paced ? "--fq-rate" : "-b";
	return found || paced;
}

int host_asked_rate(const struct model_run *r, int dir, char *text, size_t cap)
{
	double bps = 0, share = HOST_PACED, sent, held, got;
	const char *option = "-b";
	char rate[32];

	/* A report of another program tells the rate as a figure. */
	if (!requested_rate(r, &bps, &share, &option) &&
	    (r->request ||
	     !host_value(r, "load.intended", STAT_VALUE, dir, MODEL_SENDER, -1, &bps)))
		return 0;
	if (!host_value(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER, -1, &sent) ||
	    sent < bps * share)
		return 0;
	unit_format(rate, sizeof(rate), bps, UNIT_BPS, 3);
	snprintf(text, cap, "the rate that was asked for (%s): %s", option, rate);
	/* What the program wrote may wait for a shaper of that rate. */
	return host_of(r, "qdisc.overlimits", host_end_of(dir, MODEL_SENDER), &held) &&
			       held >= 100 &&
			       host_value(r, "goodput", STAT_VALUE, dir, MODEL_RECEIVER, -1,
					  &got) &&
			       got < bps * HOST_PACED
		       ? 60
		       : 95;
}

int host_udp_receiver(const struct model_run *r, int dir, char *text, size_t cap)
{
	const struct model_summary *told;
	double lost, loss, drops;
	char all[80] = "";

	if (!host_udp_lost(r, dir, &lost, &loss, &drops) || drops < lost / 2)
		return 0;
	told = host_summary(r, "udp.socket_drops", STAT_VALUE, dir, MODEL_RECEIVER, -1);
	if (told && told->bound == MODEL_GE && told->value < drops) {
		snprintf(all, sizeof(all), "at least %.0f %%, and %.0f %% if each was a batch,",
			 told->value / lost * 100, drops / lost * 100);
	} else {
		snprintf(all, sizeof(all), "%.0f %%", drops / lost * 100);
	}
	snprintf(text, cap,
		 "the receiver: its socket dropped %s of the lost datagrams (%.3g %% of all were "
		 "lost); a larger buffer there (net.core.rmem_max, -w), or a faster core",
		 all, loss * 100);
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

	/* One that keeps a rate has nothing to send now and then. */
	if (!sending_share(r, dir, &share) || share >= 0.9 || host_asked_rate(r, dir, text, cap))
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
