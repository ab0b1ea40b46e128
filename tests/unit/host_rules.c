/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each rule has a run on which it must speak and one on which it must not; the rows below are
 * those runs' metrics. A rule without a row fails the last test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host/host.h"

struct fact {
	const char *metric;
	int view, end; /* -1 = without that dimension */
	double v;
};

struct example {
	const char *rule;
	const char *request;
	struct fact speaks[9], silent[9];
};

#define SND    MODEL_SENDER, MODEL_NEAR
#define RCV    MODEL_RECEIVER, MODEL_FAR
#define NEAR   -1, MODEL_NEAR
#define FAR    -1, MODEL_FAR
#define DEVICE MODEL_DEVICE, -1

static const struct example examples[] = {
	{"asked-rate",
	 "{\"bitrate\":\"100000000\",\"parallel\":2}",
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 199e6}, {"cpu.thread_max", NEAR, 0.95}},
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 150e6}}},
	{"asked-rate",
	 NULL, /* of another program's report */
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 99e6}, {"load.intended", SND, 100e6}},
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 99e6}}},
	{"asked-rate",
	 "{\"fq-rate\":50000000}",
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 48e6}},
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 40e6}}},
	{"sender-cpu",
	 NULL,
	 {{"bytes", SND, 1e6}, {"cpu.thread_max", NEAR, 0.98}},
	 {{"bytes", SND, 1e6}, {"cpu.thread_max", NEAR, 0.60}}},
	{"receiver-cpu",
	 NULL,
	 {{"bytes", SND, 1e6}, {"cpu.total", FAR, 0.99}, {"cpu.thread_max", NEAR, 0.5}},
	 {{"bytes", SND, 1e6}, {"cpu.total", FAR, 0.70}}},
	{"receiver-window",
	 NULL,
	 {{"bytes", SND, 1e6}, {"tcp.busy_time", SND, 10}, {"tcp.rwnd_limited", SND, 9}},
	 {{"bytes", SND, 1e6}, {"tcp.busy_time", SND, 10}, {"tcp.rwnd_limited", SND, 1}}},
	/* All that a round trip takes, with room for more and no queue. */
	{"receiver-window",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"tcp.busy_time", SND, 10},
	  {"tcp.rwnd_limited", SND, 1.5},
	  {"throughput.sent", SND, 13.9e6},
	  {"tcp.rtt_idle", NEAR, 0.04},
	  {"tcp.rtt_loaded", SND, 0.0402},
	  {"tcp.cwnd", SND, 185e3}},
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"tcp.busy_time", SND, 10},
	  {"tcp.rwnd_limited", SND, 1.5},
	  {"throughput.sent", SND, 30e6},
	  {"tcp.rtt_idle", NEAR, 0.04},
	  {"tcp.rtt_loaded", SND, 0.0402},
	  {"tcp.cwnd", SND, 185e3}}},
	/* The window is only how a full processor shows. */
	{"receiver-cpu",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"tcp.busy_time", SND, 10},
	  {"tcp.rwnd_limited", SND, 9},
	  {"cpu.thread_max", FAR, 0.93}},
	 {{"bytes", SND, 1e6}, {"cpu.thread_max", FAR, 0.5}}},
	{"send-buffer",
	 NULL,
	 {{"bytes", SND, 1e6}, {"tcp.busy_time", SND, 10}, {"tcp.sndbuf_limited", SND, 8}},
	 {{"bytes", SND, 1e6}, {"tcp.busy_time", SND, 10}, {"tcp.sndbuf_limited", SND, 1}}},
	{"udp-receiver",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"udp.lost", RCV, 1000},
	  {"udp.loss", RCV, 0.1},
	  {"udp.socket_drops", RCV, 900}},
	 {{"bytes", SND, 1e6}, {"udp.lost", RCV, 0}, {"udp.loss", RCV, 0}}},
	{"udp-path",
	 "{\"bitrate\":\"100000000\"}",
	 {{"bytes", SND, 1e6},
	  {"throughput.sent", SND, 100e6},
	  {"udp.lost", RCV, 1000},
	  {"udp.loss", RCV, 0.1},
	  {"udp.socket_drops", RCV, 10}},
	 {{"bytes", SND, 1e6}, {"udp.lost", RCV, 5}, {"udp.loss", RCV, 0.1}}},
	{"udp-sender",
	 "{}",
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 50e6}, {"load.intended", SND, 100e6}},
	 {{"bytes", SND, 1e6}, {"throughput.sent", SND, 99e6}, {"load.intended", SND, 100e6}}},
	{"link-rate",
	 NULL,
	 {{"bytes", SND, 1e6}, {"link.utilisation", NEAR, 0.96}, {"cpu.thread_max", NEAR, 0.95}},
	 {{"bytes", SND, 1e6}, {"link.utilisation", NEAR, 0.6}}},
	{"netfilter",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"nf.rules", FAR, 1000},
	  {"ip.packets", FAR, 900000},
	  {"cpu.core_max", FAR, 0.98},
	  {"cpu.system", FAR, 0.97}},
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"nf.rules", FAR, 20},
	  {"ip.packets", FAR, 900000},
	  {"cpu.core_max", FAR, 0.98}}},
	{"softirq-core",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"cpu.core_softirq", FAR, 0.97},
	  {"softnet.core_share", FAR, 0.99},
	  {"cpu.thread_max", NEAR, 0.95}},
	 {{"bytes", SND, 1e6}, {"cpu.core_softirq", FAR, 0.5}, {"softnet.core_share", FAR, 1}}},
	{"host-contention",
	 NULL,
	 {{"bytes", SND, 1e6}, {"sched.want", NEAR, 0.99}, {"sched.wait", NEAR, 0.4}},
	 {{"bytes", SND, 1e6}, {"sched.want", NEAR, 0.2}, {"sched.wait", NEAR, 0.1}}},
	{"host-contention",
	 NULL,
	 {{"bytes", SND, 1e6}, {"cpu.core_steal", FAR, 0.15}, {"cpu.core_max", FAR, 0.85}},
	 {{"bytes", SND, 1e6}, {"cpu.core_steal", FAR, 0.15}, {"cpu.core_max", FAR, 0.3}}},
	{"application",
	 NULL,
	 {{"bytes", SND, 1e6}, {"duration", SND, 10}, {"tcp.busy_time", SND, 2}},
	 {{"bytes", SND, 1e6}, {"duration", SND, 10}, {"tcp.busy_time", SND, 9.8}}},
	{"softirq-core",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"cpu.core_softirq", DEVICE, 0.99},
	  {"cpu.core_max", DEVICE, 1},
	  {"tcp.retransmit_share", SND, 0.05},
	  {"tcp.retransmits", SND, 500}},
	 {{"bytes", SND, 1e6}, {"cpu.core_softirq", DEVICE, 0.2}, {"cpu.core_max", DEVICE, 0.4}}},
	{"middle",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"cpu.core_softirq", DEVICE, 0.5},
	  {"cpu.core_kernel", DEVICE, 0.97}},
	 {{"bytes", SND, 1e6}, {"cpu.core_max", DEVICE, 1}, {"cpu.core_kernel", DEVICE, 0.4}}},
	{"middle-qdisc",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"qdisc.drops", DEVICE, 470},
	  {"tcp.retransmit_share", SND, 0.05},
	  {"tcp.retransmits", SND, 500}},
	 {{"bytes", SND, 1e6}, {"qdisc.drops", DEVICE, 9}}},
	{"reordering",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"tcp.dsacks", NEAR, 480},
	  {"tcp.retransmit_share", SND, 0.05},
	  {"tcp.retransmits", SND, 500}},
	 {{"bytes", SND, 1e6}, {"tcp.dsacks", NEAR, 480}}},
	{"backlog",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"cpu.core_softirq", DEVICE, 0.5},
	  {"softnet.dropped", DEVICE, 99},
	  {"tcp.retransmit_share", SND, 0.05},
	  {"tcp.retransmits", SND, 500}},
	 {{"bytes", SND, 1e6}, {"cpu.core_softirq", FAR, 0.6}, {"softnet.dropped", NEAR, 99}}},
	{"local-qdisc",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"tcp.segments", SND, 10000},
	  {"tcp.retransmit_share", SND, 0.05},
	  {"tcp.retransmits", SND, 500},
	  {"qdisc.drops", NEAR, 480}},
	 {{"bytes", SND, 1e6}, {"tcp.segments", SND, 10000}, {"qdisc.drops", NEAR, 3}}},
	{"local-qdisc",
	 "{\"bitrate\":\"100000000\"}",
	 {{"bytes", SND, 1e6},
	  {"throughput.sent", SND, 50e6},
	  {"load.intended", SND, 100e6},
	  {"qdisc.drops", NEAR, 4000}},
	 {{"bytes", SND, 1e6}, {"qdisc.drops", FAR, 4000}}},
	/* What was written is not what left. */
	{"local-qdisc",
	 "{\"bitrate\":\"20000000\"}",
	 {{"bytes", SND, 1e6},
	  {"throughput.sent", SND, 20e6},
	  {"goodput", RCV, 19.1e6},
	  {"qdisc.drops", NEAR, 0},
	  {"qdisc.overlimits", NEAR, 3670}},
	 {{"bytes", SND, 1e6}, {"qdisc.drops", NEAR, 0}}},
	/* It held the program back, which is no fault of the program. */
	{"local-qdisc",
	 "{\"bitrate\":\"300000000\"}",
	 {{"bytes", SND, 1e6},
	  {"throughput.sent", SND, 95e6},
	  {"load.intended", SND, 300e6},
	  {"qdisc.drops", NEAR, 0},
	  {"qdisc.overlimits", NEAR, 36935}},
	 {{"bytes", SND, 1e6}, {"qdisc.drops", NEAR, 0}, {"qdisc.overlimits", NEAR, 90}}},
	{"local-qdisc",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"tcp.segments", SND, 10000},
	  {"qdisc.drops", NEAR, 0},
	  {"qdisc.overlimits", NEAR, 5000}},
	 {{"bytes", SND, 1e6},
	  {"tcp.segments", SND, 10000},
	  {"qdisc.drops", NEAR, 0},
	  {"qdisc.overlimits", NEAR, 7}}},
	{"nic-ring",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"udp.lost", RCV, 1000},
	  {"udp.loss", RCV, 0.1},
	  {"udp.socket_drops", RCV, 0},
	  {"link.rx_missed", FAR, 990}},
	 {{"bytes", SND, 1e6}, {"link.rx_missed", NEAR, 990}}},
	{"backlog",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"udp.lost", RCV, 1000},
	  {"udp.loss", RCV, 0.1},
	  {"softnet.dropped", FAR, 600}},
	 {{"bytes", SND, 1e6}, {"softnet.dropped", FAR, 0}}},
	{"link-errors",
	 NULL,
	 {{"bytes", SND, 1e6}, {"duration", SND, 10}, {"link.errors", NEAR, 900}},
	 {{"bytes", SND, 1e6}, {"duration", SND, 10}, {"link.errors", NEAR, 9}}},
	{"path",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"tcp.busy_time", SND, 9.9},
	  {"tcp.rtt_idle", NEAR, 0.02},
	  {"tcp.rtt_loaded", SND, 0.3}},
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"tcp.busy_time", SND, 9.9},
	  {"tcp.rtt_idle", NEAR, 0.02},
	  {"tcp.rtt_loaded", SND, 0.021}}},
	{"wake-ups",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"rr.rate", SND, 30000},
	  {"ip.packets", NEAR, 600000},
	  {"sched.switches", NEAR, 1200000}},
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 10},
	  {"rr.rate", SND, 30000},
	  {"ip.packets", NEAR, 600000},
	  {"sched.switches", NEAR, 1000}}},
	{"network-loss",
	 NULL,
	 {{"bytes", SND, 1e6}, {"tcp.retransmit_share", SND, 0.02}, {"tcp.retransmits", SND, 900}},
	 {{"bytes", SND, 1e6}, {"tcp.retransmit_share", SND, 0.02}, {"tcp.retransmits", SND, 2}}},
};

/* A run of which no rule may be sure. */
static const struct {
	const char *why, *request;
	struct fact facts[8];
} unsure[] = {
	{"times in jiffies say nothing of 2 ms",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 0.002},
	  {"tcp.busy_time", SND, 0},
	  {"tcp.rwnd_limited", SND, 0},
	  {"cpu.core_softirq", FAR, 1}}},
	{"a share of a core that no core has",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 1},
	  {"nf.rules", NEAR, 20000},
	  {"ip.packets", NEAR, 39000},
	  {"cpu.core_max", NEAR, 0.98},
	  {"cpu.system", NEAR, 0.9}}},
	{"rules that the kernel spends no time in",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"duration", SND, 1},
	  {"nf.rules", NEAR, 1000},
	  {"ip.packets", NEAR, 90000},
	  {"cpu.core_max", NEAR, 0.98},
	  {"cpu.system", NEAR, 0.1},
	  {"cpu.core_softirq", NEAR, 0.1}}},
	{"sent again needlessly, and few",
	 NULL,
	 {{"bytes", SND, 1e6},
	  {"tcp.retransmits", SND, 1061},
	  {"tcp.retransmit_share", SND, 0.0013},
	  {"tcp.dsacks", NEAR, 1061}}},
};

static struct model_run *make(const struct fact *facts, size_t n, const char *request)
{
	static const uint8_t rnd[10];
	struct model_run *r = model_run_new("tcp", 1000, rnd);

	assert_non_null(r);
	r->request = model_run_str(r, request);
	assert_int_equal(model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0), 0);
	for (size_t i = 0; i < n && facts[i].metric; i++) {
		struct model_summary s = {.metric = model_metric(facts[i].metric),
					  .value = facts[i].v};

		if (!strcmp(facts[i].metric, "tcp.rtt_loaded"))
			s.stat = STAT_P50;

		assert_non_null(s.metric);
		if (facts[i].view == MODEL_DEVICE) {
			s.dims = model_dims_with(s.dims, DIM_VIEW, MODEL_DEVICE);
		} else if (facts[i].view >= 0) {
			s.dims = model_dims_with(s.dims, DIM_DIR, MODEL_UP);
			s.dims = model_dims_with(s.dims, DIM_VIEW, facts[i].view);
		}
		if (facts[i].end >= 0)
			s.dims = model_dims_with(s.dims, DIM_END, facts[i].end);
		assert_true(model_add_summary(r, &s) >= 0);
	}
	return r;
}

static void each_rule_speaks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *x = &examples[i];
		struct model_run *r = make(x->speaks, ARRAY_LEN(x->speaks), x->request);

		host_judge(r);
		assert_non_null(r->limited_code);
		assert_string_equal(r->limited_code, x->rule);
		assert_true(strlen(r->limited) > 10);
		model_run_free(r);
	}
}

static void say(struct model_run *r, const char *metric, int dir, int view, double v)
{
	struct model_summary s = {.metric = model_metric(metric), .value = v};

	assert_non_null(s.metric);
	s.dims = model_dims_with(s.dims, DIM_DIR, dir);
	s.dims = model_dims_with(s.dims, DIM_VIEW, view);
	assert_true(model_add_summary(r, &s) >= 0);
}

/* Up the sender gave out, because a flow of its died; down the path lost. */
static void each_direction_has_its_own_reason(void **state)
{
	struct model_run *r = make(NULL, 0, NULL);

	(void)state;
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++)
		say(r, "bytes", dir, MODEL_SENDER, 1e6);
	say(r, "throughput.sent", MODEL_UP, MODEL_SENDER, 50e6);
	say(r, "load.intended", MODEL_UP, MODEL_SENDER, 100e6);
	say(r, "udp.lost", MODEL_DOWN, MODEL_RECEIVER, 1000);
	say(r, "udp.loss", MODEL_DOWN, MODEL_RECEIVER, 0.1);
	say(r, "udp.socket_drops", MODEL_DOWN, MODEL_RECEIVER, 0);
	assert_true(model_add_event(r, 0, WARN_SEND_FAILED, NULL, MODEL_NO_TIME, "flow 0") >= 0);
	host_judge(r);
	assert_string_equal(r->limited_code, "udp-path");
	assert_non_null(strstr(r->limited, "up: the sender: 50 % of the intended 100 Mbit/s left "
					   "it; a flow could not send to its end"));
	assert_non_null(strstr(r->limited, "down: the path"));
	model_run_free(r);
}

static void each_rule_is_silent(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *x = &examples[i];
		struct model_run *r = make(x->silent, ARRAY_LEN(x->silent), x->request);

		host_judge(r);
		if (r->limited_code)
			fail_msg("%s: %s: %s", x->rule, r->limited_code, r->limited);
		assert_null(r->limited);
		model_run_free(r);
	}
}

static void none_is_sure(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(unsure); i++) {
		struct model_run *r =
			make(unsure[i].facts, ARRAY_LEN(unsure[i].facts), unsure[i].request);

		host_judge(r);
		if (r->limited_code)
			fail_msg("%s: %s: %s", unsure[i].why, r->limited_code, r->limited);
		model_run_free(r);
	}
}

/* What is said beside the reason must fit it. */
static void advice(void **state)
{
	static const struct fact small[] = {{"bytes", SND, 1e6},
					    {"tcp.busy_time", SND, 3},
					    {"tcp.rwnd_limited", SND, 2.5},
					    {"window.rcv", RCV, 16384},
					    {"tcp.zero_windows", FAR, 900}};
	static const struct fact kept[] = {{"bytes", SND, 1e6},
					   {"duration", SND, 3},
					   {"tcp.busy_time", SND, 0.1},
					   {"throughput.sent", SND, 20e6}};
	struct model_run *r = make(small, ARRAY_LEN(small), NULL);
	struct buf b = {0};

	(void)state;
	host_judge(r);
	assert_non_null(strstr(r->limited, "larger -w"));
	model_run_free(r);
	r = make(kept, ARRAY_LEN(kept), "{\"bitrate\":\"20M\"}");
	host_explain(r, &b);
	assert_ptr_equal(strstr(b.data, "limited by: asked-rate: "), b.data);
	assert_null(strstr(b.data, "application"));
	buf_fini(&b);
	model_run_free(r);
}

static void nothing_known_nothing_claimed(void **state)
{
	struct model_run *r = make(NULL, 0, NULL);

	(void)state;
	host_judge(r);
	assert_null(r->limited_code);
	model_run_free(r);
}

/* ---- recorded --------------------------------------------------------------------------- */

/*
 * What --observe read of a virtual machine with two processors, twice in a second, while the case was
 * provoked: 1,500 packet filter rules with all packets on one core by RPS; 400 of them and eight
 * senders; a token bucket of 50 Mbit/s; a tap of 10 Mbit/s. Each text ends in a line "%%".
 */
static const struct {
	const char *file, *first, *says;
} recorded[] = {
	{"softirq-core", "softirq-core",
	 "limited by: softirq-core: one core of the observed host: 100 % "
	 "in software interrupts, with 100 % of all packets"},
	{"backlog", NULL,
	 "seen as well: backlog: the observed host: its backlog was full for 15 packets"},
	{"middle-qdisc", NULL, "middle-qdisc: the observed host: its queues dropped 1933 packets"},
	{"link-rate", "link-rate",
	 "limited by: link-rate: the link's own rate: the interface of the "
	 "observed host was 99 % full"},
};

struct recording {
	struct buf text;
	size_t at, files;
};

/* One answer: as many texts as files are asked for, NULs in place of the lines between them. */
static int replay(void *arg, struct buf *b, struct weir_err *e)
{
	struct recording *rec = arg;
	size_t left = rec->files;

	(void)e;
	while (left && rec->at < rec->text.len) {
		const char *p = rec->text.data + rec->at;
		size_t n = strcspn(p, "\n") + 1;

		if (!strncmp(p, "%%\n", 3)) {
			buf_putc(b, '\0');
			left--;
		} else {
			buf_put(b, p, n);
		}
		rec->at += n;
	}
	return left || b->failed ? -1 : 0;
}

static void judge_recorded(const char *file, struct model_run *r)
{
	struct recording rec = {.at = 0};
	const struct host_set_cfg cfg = {.groups = ~(HOST_BIT(HOST_IRQ) | HOST_BIT(HOST_THREAD)) &
						   HOST_ALL,
					 .fetch = replay,
					 .arg = &rec};
	struct host_reading from = {0}, to = {0};
	struct host_period p = {.from = &from, .to = &to, .nf_rules = -1, .irq_time = -1};
	struct host_set *set;
	char path[256];

	snprintf(path, sizeof(path), TEST_DATA "/host/%s.txt", file);
	assert_true(sys_read_file(path, 1 << 20, &rec.text, NULL) >= 0);
	buf_putc(&rec.text, '\0');
	rec.text.len--;
	assert_int_equal(host_set_new(&cfg, &set, NULL), 0);
	while (host_set_path(set, rec.files))
		rec.files++;
	assert_int_equal(host_set_read(set, &from, NULL), 0);
	assert_int_equal(host_set_read(set, &to, NULL), 0);
	assert_int_equal(rec.at, rec.text.len);
	to.t_ns = from.t_ns + NSEC_PER_SEC;
	p.set = set;
	host_figures(r, 0, model_dims_with(DIMS_NONE, DIM_VIEW, MODEL_DEVICE), MODEL_MEASURED, &p);
	host_reading_fini(&from);
	host_reading_fini(&to);
	host_set_free(set);
	buf_fini(&rec.text);
}

static void recordings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		struct model_run *r = make(NULL, 0, NULL);
		struct buf b = {0};

		judge_recorded(recorded[i].file, r);
		host_judge(r);
		host_explain(r, &b);
		if ((recorded[i].first && !r->limited_code) || !strstr(b.data, recorded[i].says))
			fail_msg("%s: %s", recorded[i].file, b.data);
		if (recorded[i].first)
			assert_string_equal(r->limited_code, recorded[i].first);
		buf_fini(&b);
		model_run_free(r);
	}
}

static const char *const never_first[] = {
	"memory",      "listen-queue",  "one-queue",    "governor", "ksoftirqd",
	"squeezed",    "irq-placement", "gro-batch",    "timeouts", "zero-windows",
	"bufferbloat", "send-errors",   "cpu-pressure",
};

/* What is only seen as well, and what cannot be known, is told on request. */
static void explained(void **state)
{
	static const struct fact facts[] = {{"bytes", SND, 1e6},
					    {"tcp.busy_time", SND, 10},
					    {"tcp.rwnd_limited", SND, 9},
					    {"tcp.memory_drops", FAR, 3},
					    {"duration", SND, 10},
					    {"tcp.listen_drops", FAR, 300},
					    {"softnet.core_share", FAR, 0.97},
					    {"tcp.zero_windows", FAR, 5},
					    {"tcp.timeouts", NEAR, 2},
					    {"udp.sndbuf_errors", NEAR, 12},
					    {"tcp.rtt_idle", NEAR, 0.001},
					    {"tcp.rtt_loaded", SND, 0.006},
					    {"cpu.ksoftirqd", FAR, 0.3},
					    {"softnet.squeezed", FAR, 40},
					    {"softnet.batch", FAR, 1.2},
					    {"softnet.packets", FAR, 900000},
					    {"irq.core_share", FAR, 0.99},
					    {"psi.cpu", NEAR, 0.2},
					    {"cpu.core_max", NEAR, 0.5}};
	struct model_run *r = make(facts, ARRAY_LEN(facts), NULL);
	struct model_summary irq = {.metric = model_metric("cpu.irq"), .state = MODEL_UNKNOWN};
	struct buf b = {0};

	(void)state;
	r->host[MODEL_FAR].facts = "{\"iface\":\"e\",\"processor\":{\"governor\":\"powersave\"},"
				   "\"interfaces\":{\"e\":{\"rx_queues\":4}}}";
	r->host[MODEL_NEAR].facts = "{\"processor\":{\"governor\":\"performance\"}}";
	irq.dims = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	assert_true(model_add_summary(r, &irq) >= 0);
	host_explain(r, &b);
	assert_ptr_equal(strstr(b.data, "limited by: receiver-window: "), b.data);
	assert_non_null(strstr(b.data, "reads too slowly"));
	for (size_t i = 0; i < ARRAY_LEN(never_first); i++) {
		char line[64];

		snprintf(line, sizeof(line), "\nseen as well: %s: ", never_first[i]);
		assert_non_null(strstr(b.data, line));
	}
	assert_non_null(strstr(b.data, "\nnot known of this host: the time of hardware interrupts "
				       "(CONFIG_IRQ_TIME_ACCOUNTING), how long"));
	assert_non_null(strstr(b.data, "\nnot known of the far host: its processors, "));
	buf_clear(&b);
	model_run_free(r);
	r = make(facts, 1, NULL);
	host_explain(r, &b);
	assert_ptr_equal(strstr(b.data, "limited by: none of the rules is sure\n"), b.data);
	buf_fini(&b);
	model_run_free(r);
}

static void every_rule_has_an_example(void **state)
{
	(void)state;
	for (size_t i = 0; host_rule_at(i); i++) {
		bool found = false;

		for (size_t k = 0; k < ARRAY_LEN(examples); k++)
			found |= !strcmp(examples[k].rule, host_rule_at(i)->code);
		/* Never sure enough to be first: see explained(). */
		for (size_t k = 0; k < ARRAY_LEN(never_first); k++)
			found |= !strcmp(never_first[k], host_rule_at(i)->code);
		assert_true(found);
		assert_true(strlen(host_rule_at(i)->what) > 10);
	}
}

static void facts_are_json(void **state)
{
	struct buf b = {0};
	struct js_doc *doc;
	const char *kernel;

	(void)state;
	host_facts(&b, "lo");
	assert_false(b.failed);
	assert_true(b.len < 4096);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &doc, NULL), 0);
	kernel = js_str(js_get(js_root(doc), "kernel"), NULL);
	assert_non_null(kernel);
	assert_string_equal(js_str(js_get(js_root(doc), "iface"), NULL), "lo");
	js_free(doc);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_speaks),
		cmocka_unit_test(each_direction_has_its_own_reason),
		cmocka_unit_test(each_rule_is_silent),
		cmocka_unit_test(none_is_sure),
		cmocka_unit_test(advice),
		cmocka_unit_test(nothing_known_nothing_claimed),
		cmocka_unit_test(recordings),
		cmocka_unit_test(explained),
		cmocka_unit_test(every_rule_has_an_example),
		cmocka_unit_test(facts_are_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
