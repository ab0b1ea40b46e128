/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts of counters as several kernels write them; layouts that change between two readings; wraps;
 * and what two readings amount to as figures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/priv.h"

static const struct host_key *find(const struct host_table *t, enum host_group g, int cpu,
				   const char *of, const char *name, uint64_t *v)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct host_key *k = &t->keys[i];

		if (k->group == g && k->cpu == cpu && !strcmp(k->of, of) &&
		    !strcmp(k->name, name) && t->seen[i] == t->round) {
			*v = t->v[i];
			return k;
		}
	}
	return NULL;
}

static void is(const struct host_table *t, enum host_group g, int cpu, const char *of,
	       const char *name, uint64_t want)
{
	uint64_t v = 0;

	assert_non_null(find(t, g, cpu, of, name, &v));
	assert_true(v == want);
}

static void is_not(const struct host_table *t, enum host_group g, int cpu, const char *of,
		   const char *name)
{
	uint64_t v;

	assert_null(find(t, g, cpu, of, name, &v));
}

static void texts(void **state)
{
	struct host_table t = {0};

	(void)state;
	host_table_begin(&t);
	host_parse_stat(&t, "cpu  9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu3 1 0 0 5\nintr 77 1 2\n"
			    "ctxt 1234\nbtime 5\nprocesses 9\n");
	is(&t, HOST_CPU, 0, "", "user", 10000000);
	is(&t, HOST_CPU, 0, "", "steal", 80000000);
	is(&t, HOST_CPU, 3, "", "idle", 50000000);
	is_not(&t, HOST_CPU, 3, "", "softirq");
	is_not(&t, HOST_CPU, -1, "", "user");
	is(&t, HOST_KERNEL, -1, "", "ctxt", 1234);
	is_not(&t, HOST_KERNEL, -1, "", "btime");
	host_parse_softirqs(&t, "                    CPU0       CPU2\n      NET_RX:  11 22\n"
				"HI: 1 x\n");
	is(&t, HOST_SOFTIRQ, 2, "", "NET_RX", 22);
	is_not(&t, HOST_SOFTIRQ, 2, "", "HI");
	host_parse_interrupts(&t, "           CPU0 CPU1\n 31: 5 0 GICv3 41 Level eth0-rx-0\n"
				  "LOC: 7 8 Local timer interrupts\nERR: 3\n");
	is(&t, HOST_IRQ, 0, "eth0-rx-0", "31", 5);
	is_not(&t, HOST_IRQ, 1, "eth0-rx-0", "31");
	is(&t, HOST_IRQ, 1, "", "LOC", 8);
	/* 9, 11 and 15 columns; only the last says which processor. */
	host_parse_softnet(&t, "0000000a 00000001 00000002 0 0 0 0 0 0\n"
			       "0000000b 0 0 0 0 0 0 0 0 5 6\n"
			       "ffffffff 0 0 0 0 0 0 0 0 0 0 0 00000007 0 0\n");
	is(&t, HOST_SOFTNET, 0, "", "dropped", 1);
	is(&t, HOST_SOFTNET, 1, "", "rps", 5);
	is(&t, HOST_SOFTNET, 7, "", "processed", UINT32_MAX);
	host_parse_snmp(&t, "Tcp: RtoAlgorithm MaxConn InSegs CurrEstab\nTcp: 1 -1 55 3\n"
			    "TcpExt: TCPTimeouts\nTcpExt: 4\n");
	is(&t, HOST_SNMP, -1, "Tcp", "InSegs", 55);
	is(&t, HOST_SNMP, -1, "TcpExt", "TCPTimeouts", 4);
	is_not(&t, HOST_SNMP, -1, "Tcp", "MaxConn");
	host_parse_snmp6(&t, "Ip6InReceives                   \t12\n");
	is(&t, HOST_SNMP, -1, "6", "Ip6InReceives", 12);
	host_parse_dev(&t, "Inter-|   Receive\n face |bytes    packets\n"
			   "  eth0:123 4 0 9 0 0 0 0 456 7 0 0 0 0 0 0\n");
	is(&t, HOST_IFACE, -1, "eth0", "rx_dropped", 9);
	is(&t, HOST_IFACE, -1, "eth0", "tx_packets", 7);
	host_parse_pressure(&t, "some avg10=0.00 avg60=0.00 avg300=0.00 total=25\n", "cpu");
	is(&t, HOST_PRESSURE, -1, "cpu", "some", 25000);
	host_parse_schedstat(&t, HOST_THREAD, -1, "100 20 3\n", "77");
	is(&t, HOST_THREAD, -1, "77", "wait", 20);
	host_table_fini(&t);
}

/* A processor goes, an interface comes, another is renamed: values stay with their names. */
static void another_layout(void **state)
{
	struct host_table t = {0};
	size_t n;

	(void)state;
	host_table_begin(&t);
	host_parse_dev(&t, "a: 1 2\nb: 3 4\nc: 5 6\n");
	n = t.n;
	host_table_begin(&t);
	host_parse_dev(&t, "a: 10 20\nc: 50 60\nd: 70 80\n");
	assert_int_equal(t.n, n + 2);
	is(&t, HOST_IFACE, -1, "a", "rx_bytes", 10);
	is(&t, HOST_IFACE, -1, "c", "rx_packets", 60);
	is(&t, HOST_IFACE, -1, "d", "rx_bytes", 70);
	is_not(&t, HOST_IFACE, -1, "b", "rx_bytes");
	host_table_fini(&t);
}

/* Texts that never come twice in the same form cost a bounded time. */
static void hostile_layout(void **state)
{
	struct host_table t = {0};
	struct buf b = {0};

	(void)state;
	for (int round = 0; round < 3; round++) {
		buf_clear(&b);
		for (int i = 0; i < 60000; i++)
			buf_printf(&b, "%x%x: 1\n", i, round);
		host_table_begin(&t);
		host_parse_dev(&t, b.data);
	}
	assert_true(t.n <= HOST_KEYS_MAX);
	assert_true(t.misses <= HOST_MISSES_MAX);
	buf_fini(&b);
	host_table_fini(&t);
}

/* A set whose texts are the test's. */
struct script {
	const char *texts[2];
	size_t at;
};

static int fetch(void *arg, struct buf *b, struct weir_err *e)
{
	struct script *s = arg;

	(void)e;
	/* NULs end the texts; the last one is the string's own. */
	for (const char *p = s->texts[s->at]; *p; p++)
		buf_putc(b, *p == '|' ? (char)'\0' : *p);
	s->at++;
	return b->failed ? -1 : 0;
}

static double figure(const struct model_run *r, const char *metric, enum model_state state)
{
	for (size_t i = 0; i < r->n_sums; i++) {
		if (!strcmp(r->sums[i].metric->name, metric)) {
			assert_int_equal(r->sums[i].state, state);
			return r->sums[i].value;
		}
	}
	fail_msg("no %s", metric);
	return 0;
}

static void near_to(double got, double want)
{
	assert_true(got > want - 1e-9 && got < want + 1e-9);
}

/* As a shell elsewhere prints them. */
static void texts_from_elsewhere(void **state)
{
	struct host_table t = {0};

	(void)state;
	host_table_begin(&t);
	host_parse_statistics(&t, "/sys/class/net/eth0/statistics/rx_bytes:12\n"
				  "/sys/class/net/eth0/statistics/rx_missed_errors:7\n"
				  "/sys/class/net/eth0/speed:1000\n/sys/class/net/eth1/speed:-1\n"
				  "/sys/class/net/eth0/statistics/rx_packets:x\n/etc/passwd:9\n"
				  "/sys/class/net/eth0/statistics/");
	is(&t, HOST_IFACE, -1, "eth0", "rx_bytes", 12);
	is(&t, HOST_IFACE, -1, "eth0", "rx_missed", 7);
	is(&t, HOST_IFACE, -1, "eth0", "speed_mbps", 1000);
	is_not(&t, HOST_IFACE, -1, "eth1", "speed_mbps");
	is_not(&t, HOST_IFACE, -1, "eth0", "rx_packets");
	assert_int_equal(t.n, 3);
	host_parse_qdiscs(&t,
			  " Sent 9 bytes 9 pkt (dropped 9, overlimits 9 requeues 9) \n"
			  "qdisc noqueue 0: dev lo root refcnt 2 \n"
			  " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n"
			  " backlog 0b 0p requeues 0\n"
			  "qdisc tbf 8001: dev eth0 root refcnt 2 rate 50Mbit burst 16Kb lat 5ms \n"
			  " Sent 5000 bytes 40 pkt (dropped 3, overlimits 88 requeues 2) \n"
			  " backlog 0b 0p requeues 0\n"
			  "qdisc fq_codel 0: dev eth1 parent :2 limit 10240p\n"
			  " Sent 1 bytes 1 pkt (dropped 4, overlimits 0 requeues 0)\n");
	is(&t, HOST_QDISC, -1, "eth0 tbf root", "packets", 40);
	is(&t, HOST_QDISC, -1, "eth0 tbf root", "drops", 3);
	is(&t, HOST_QDISC, -1, "eth0 tbf root", "overlimits", 88);
	is(&t, HOST_QDISC, -1, "eth1 fq_codel :2", "drops", 4);
	host_parse_ksoftirqd(&t, "ksoftirqd/0 100 20 3\nksoftirqd/x 1 1 1\nksoftirqd/7 5\n"
				 "ksoftirqd/9\n");
	is(&t, HOST_KSOFTIRQD, 0, "", "run", 100);
	is(&t, HOST_KSOFTIRQD, 0, "", "wait", 20);
	is(&t, HOST_KSOFTIRQD, 7, "", "run", 5);
	is_not(&t, HOST_KSOFTIRQD, 9, "", "run");
	host_table_fini(&t);
}

static void figures(void **state)
{
	static const uint8_t rnd[10];
	struct script s = {.texts = {"cpu0 0 0 0 0 0 0 0 0\ncpu1 5 5 5 5 5 0 5 5\nctxt 10\n|"
				     "fffffff0 0 0\n00000000 7 1\n|",
				     "cpu0 10 0 30 50 0 0 10 0\ncpu1 5 5 5 15 5 0 95 5\nctxt 60\n|"
				     "00000010 0 0\n00000060 9 4\n|"}};
	struct host_set_cfg cfg = {.groups = HOST_BIT(HOST_CPU) | HOST_BIT(HOST_KERNEL) |
					     HOST_BIT(HOST_SOFTNET),
				   .fetch = fetch,
				   .arg = &s};
	struct model_run *r = model_run_new("tcp", 1000, rnd);
	struct host_reading a = {0}, b = {0};
	struct host_period p = {.from = &a, .to = &b, .nf_rules = 12, .irq_time = 0};
	struct host_set *set;

	(void)state;
	assert_int_equal(host_set_new(&cfg, &set, NULL), 0);
	assert_string_equal(host_set_path(set, 0), "/proc/stat");
	assert_string_equal(host_set_path(set, 1), "/proc/net/softnet_stat");
	assert_null(host_set_path(set, 2));
	assert_int_equal(host_set_read(set, &a, NULL), 0);
	assert_int_equal(host_set_read(set, &b, NULL), 0);
	a.t_ns = 0;
	b.t_ns = NSEC_PER_SEC;
	p.set = set;
	assert_int_equal(model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0), 0);
	host_figures(r, 0, DIMS_NONE, MODEL_MEASURED, &p);
	near_to(figure(r, "cpu.core_max", MODEL_KNOWN), 0.9);
	near_to(figure(r, "cpu.core_softirq", MODEL_KNOWN), 0.9);
	near_to(figure(r, "cpu.softirq", MODEL_KNOWN), 1.0);
	figure(r, "cpu.irq", MODEL_UNKNOWN);
	near_to(figure(r, "softnet.dropped", MODEL_KNOWN), 2);
	near_to(figure(r, "softnet.squeezed", MODEL_KNOWN), 3);
	near_to(figure(r, "softnet.core_share", MODEL_KNOWN), 96.0 / (96 + 32)); /* it wrapped */
	near_to(figure(r, "sched.switches", MODEL_KNOWN), 50);
	near_to(figure(r, "nf.rules", MODEL_KNOWN), 12);
	host_reading_fini(&a);
	host_reading_fini(&b);
	host_set_free(set);
	model_run_free(r);
}

/* Connections are known by their cookies; what came, went or stood still has no interval. */
static void connections(void **state)
{
	struct sys_tcp before[] = {{.cookie = 1, .bytes_acked = 10, .rwnd_us = 5},
				   {.cookie = 3, .bytes_acked = 7},
				   {.cookie = 5, .bytes_acked = 9},
				   {.cookie = 8}};
	struct sys_tcp after[] = {{.cookie = 1, .bytes_acked = 30, .rwnd_us = 25},
				  {.cookie = 2, .bytes_acked = 999},
				  {.cookie = 3, .bytes_acked = 7},
				  {.cookie = 8, .bytes_received = 500, .retrans = 2}};
	struct host_tcps a = {before, ARRAY_LEN(before)}, b = {after, ARRAY_LEN(after)}, none = {0};
	struct host_tcp out[4];

	(void)state;
	assert_int_equal(host_tcps_moved(&a, &b, out, 4), 2);
	assert_int_equal(out[0].now->cookie, 8);
	assert_true(out[0].received == 500 && out[0].retrans == 2);
	assert_int_equal(out[1].now->cookie, 1);
	assert_true(out[1].sent == 20 && out[1].rwnd_us == 20);
	assert_int_equal(host_tcps_moved(&a, &b, out, 1), 1);
	assert_int_equal(host_tcps_moved(&none, &b, out, 4), 0);
	assert_int_equal(host_tcps_moved(&a, &none, out, 4), 0);
}

static void this_machine(void **state)
{
	struct host_set_cfg cfg = {.groups = HOST_ALL};
	struct host_reading a = {0}, b = {0};
	struct host_set *set;
	bool idle = false, thread = false;
	uint64_t d;

	(void)state;
	assert_int_equal(host_set_new(&cfg, &set, NULL), 0);
	host_set_threads(set);
	assert_int_equal(host_set_read(set, &a, NULL), 0);
	assert_int_equal(host_set_read(set, &b, NULL), 0);
	for (size_t i = 0; i < host_set_n(set); i++) {
		const struct host_key *k = host_set_key(set, i);

		idle |= k->group == HOST_CPU && !strcmp(k->name, "idle");
		thread |= k->group == HOST_THREAD && !strcmp(k->name, "run") &&
			  host_delta(set, i, &a, &b, &d);
	}
	assert_true(idle && thread);
	assert_true(host_set_cost_ns(set) > 0);
	host_reading_fini(&a);
	host_reading_fini(&b);
	host_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),          cmocka_unit_test(another_layout),
		cmocka_unit_test(hostile_layout), cmocka_unit_test(texts_from_elsewhere),
		cmocka_unit_test(figures),        cmocka_unit_test(this_machine),
		cmocka_unit_test(connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
