/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two readings of the sampler as figures of a run: the busiest processor and what it did, packets
 * that the kernel dropped and where, how long threads waited for a processor. The rules judge these,
 * never the readings. What a kernel does not account is unknown, not zero.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define IRQS_ENOUGH 100
#define CPUS_MAX    8192
#define SPEED_MAX   4000000 /* Mbit/s; some say 4294967295 for "unknown" */
#define FRAME_EXTRA 24      /* of Ethernet, beside what counters count: preamble, checksum, gap */

struct core {
	double busy, softirq, irq, steal, kernel, all; /* ns */
	double processed, net_rx, ksoftirqd;
	bool has_ksoftirqd;
};
struct thread {
	char of[HOST_KEY_OF];
	double run, wait;
};
#define THREADS_MAX 256

struct sums {
	struct core *core;
	size_t n_cores;
	struct thread threads[THREADS_MAX];
	size_t n_threads;
	double named[32]; /* by the table below */
	bool known[32];
	double rx_bytes, tx_bytes, rx_packets, tx_packets;
};

/* Counters that are summed under one metric's name. NULL of: whatever it is of. */
static const struct {
	enum host_group group;
	const char *of, *name;
	const char *metric;
} named[] = {
	{HOST_SOFTNET, NULL, "dropped", "softnet.dropped"},
	{HOST_SOFTNET, NULL, "squeezed", "softnet.squeezed"},
	{HOST_KERNEL, NULL, "ctxt", "sched.switches"},
	{HOST_SNMP, "Ip", "InReceives", "ip.packets"},
	{HOST_SNMP, "Ip", "OutRequests", "ip.packets"},
	{HOST_SNMP, "Ip", "ForwDatagrams", "ip.packets"},
	{HOST_SNMP, "6", "Ip6InReceives", "ip.packets"},
	{HOST_SNMP, "6", "Ip6OutRequests", "ip.packets"},
	{HOST_SNMP, "Udp", "SndbufErrors", "udp.sndbuf_errors"},
	{HOST_SNMP, "6", "Udp6SndbufErrors", "udp.sndbuf_errors"},
	{HOST_SNMP, "TcpExt", "TCPTimeouts", "tcp.timeouts"},
	{HOST_SNMP, "TcpExt", "TCPDSACKRecvSegs", "tcp.dsacks"},
	{HOST_SNMP, "TcpExt", "TCPToZeroWindowAdv", "tcp.zero_windows"},
	{HOST_SNMP, "TcpExt", "PruneCalled", "tcp.memory_drops"},
	{HOST_SNMP, "TcpExt", "RcvPruned", "tcp.memory_drops"},
	{HOST_SNMP, "TcpExt", "TCPBacklogDrop", "tcp.memory_drops"},
	{HOST_SNMP, "TcpExt", "TCPRcvQDrop", "tcp.memory_drops"},
	{HOST_SNMP, "TcpExt", "TCPMemoryPressures", "tcp.memory_drops"},
	{HOST_SNMP, "TcpExt", "ListenOverflows", "tcp.listen_drops"},
	{HOST_SNMP, "TcpExt", "TCPReqQFullDrop", "tcp.listen_drops"},
	{HOST_IFACE, NULL, "rx_missed", "link.rx_missed"},
	{HOST_IFACE, NULL, "rx_fifo", "link.rx_missed"},
	{HOST_IFACE, NULL, "tx_dropped", "link.tx_dropped"},
	{HOST_IFACE, NULL, "rx_errors", "link.errors"},
	{HOST_IFACE, NULL, "tx_errors", "link.errors"},
	{HOST_QDISC, NULL, "drops", "qdisc.drops"},
	{HOST_QDISC, NULL, "overlimits", "qdisc.overlimits"},
	{HOST_QDISC, NULL, "requeues", "qdisc.requeues"},
};

/* Rings that were full, as drivers call it where the kernel's own counter is not kept. */
bool host_is_ring(const char *name)
{
	static const char *const names[] = {"rx_no_buffer_count", "rx_out_of_buffer",
					    "rx_fifo_errors",     "rx_no_dma_resources",
					    "rx_discards_phy",    "rx_missed_errors"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static void add_cpu(struct core *c, const char *name, double ns)
{
	bool idle = !strcmp(name, "idle") || !strcmp(name, "iowait");

	c->all += ns;
	if (!strcmp(name, "steal"))
		c->steal += ns;
	else if (!idle)
		c->busy += ns;
	if (!strcmp(name, "softirq"))
		c->softirq += ns;
	if (!strcmp(name, "softirq") || !strcmp(name, "irq") || !strcmp(name, "system"))
		c->kernel += ns;
	if (!strcmp(name, "irq"))
		c->irq += ns;
}

static void add_thread(struct sums *s, const struct host_key *k, double ns)
{
	size_t i = 0;

	while (i < s->n_threads && strcmp(s->threads[i].of, k->of) != 0)
		i++;
	if (i == THREADS_MAX)
		return;
	if (i == s->n_threads)
		memcpy(s->threads[s->n_threads++].of, k->of, sizeof(k->of));
	if (!strcmp(k->name, "run"))
		s->threads[i].run += ns;
	if (!strcmp(k->name, "wait"))
		s->threads[i].wait += ns;
}

static void add_named(struct sums *s, const struct host_key *k, double v)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (named[i].group != k->group || strcmp(named[i].name, k->name) != 0 ||
		    (named[i].of && strcmp(named[i].of, k->of) != 0))
			continue;
		s->named[i] += v;
		s->known[i] = true;
	}
}

static void add_link(struct sums *s, const char *name, double v)
{
	const struct {
		const char *name;
		double *sum;
	} rows[] = {{"rx_bytes", &s->rx_bytes},
		    {"tx_bytes", &s->tx_bytes},
		    {"rx_packets", &s->rx_packets},
		    {"tx_packets", &s->tx_packets}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!strcmp(rows[i].name, name))
			*rows[i].sum += v;
	}
}

static void add(struct sums *s, const struct host_key *k, double v)
{
	struct core *c = k->cpu >= 0 && (size_t)k->cpu < s->n_cores ? &s->core[k->cpu] : NULL;

	if (k->group == HOST_CPU && c)
		add_cpu(c, k->name, v);
	else if (k->group == HOST_SOFTNET && c && !strcmp(k->name, "processed"))
		c->processed += v;
	else if (k->group == HOST_SOFTIRQ && c && !strcmp(k->name, "NET_RX"))
		c->net_rx += v;
	else if (k->group == HOST_KSOFTIRQD && c && !strcmp(k->name, "run")) {
		c->ksoftirqd += v;
		c->has_ksoftirqd = true;
	} else if (k->group == HOST_THREAD)
		add_thread(s, k, v);
	if (k->group == HOST_IFACE)
		add_link(s, k->name, v);
	add_named(s, k, v);
}

/* ---- into the run ---------------------------------------------------------------------- */

struct out {
	host_figure_cb cb;
	void *arg;
};

static void put(const struct out *o, const char *metric, enum model_state state, double v)
{
	o->cb(o->arg, metric, state, v);
}

static void put_cores(const struct out *o, const struct sums *s, int irq_time)
{
	double busy = 0, softirq = 0, steal = 0, all_softirq = 0, all_irq = 0;
	double processed = 0, most = 0, span = 0, kernel = 0;

	for (size_t i = 0; i < s->n_cores; i++) {
		const struct core *c = &s->core[i];

		processed += c->processed;
		most = c->processed > most ? c->processed : most;
		if (c->all <= 0)
			continue;
		span = c->all > span ? c->all : span;
		busy = c->busy / c->all > busy ? c->busy / c->all : busy;
		kernel = c->kernel / c->all > kernel ? c->kernel / c->all : kernel;
		softirq = c->softirq / c->all > softirq ? c->softirq / c->all : softirq;
		steal = c->steal / c->all > steal ? c->steal / c->all : steal;
		all_softirq += c->softirq / c->all;
		all_irq += c->irq / c->all;
	}
	if (span > 0) {
		put(o, "cpu.core_max", MODEL_KNOWN, busy);
		put(o, "cpu.core_kernel", MODEL_KNOWN, kernel);
		put(o, "cpu.core_softirq", MODEL_KNOWN, softirq);
		put(o, "cpu.softirq", MODEL_KNOWN, all_softirq);
		put(o, "cpu.core_steal", MODEL_KNOWN, steal);
		put(o, "cpu.irq", irq_time == 1 ? MODEL_KNOWN : MODEL_UNKNOWN, all_irq);
	}
	if (processed > 0)
		put(o, "softnet.core_share", MODEL_KNOWN, most / processed);
}

/* Receive rounds, and what of them was put off to a thread. */
static void put_rounds(const struct out *o, const struct sums *s, double ns)
{
	double packets = 0, rounds = 0, most = 0;
	bool known = false;

	for (size_t i = 0; i < s->n_cores; i++) {
		const struct core *c = &s->core[i];

		packets += c->processed;
		rounds += c->net_rx;
		known |= c->has_ksoftirqd;
		most = c->ksoftirqd > most ? c->ksoftirqd : most;
	}
	if (packets > 0)
		put(o, "softnet.packets", MODEL_KNOWN, packets);
	if (packets > 0 && rounds > 0)
		put(o, "softnet.batch", MODEL_KNOWN, packets / rounds);
	if (known && ns > 0)
		put(o, "cpu.ksoftirqd", MODEL_KNOWN, most / ns);
}

/* The thread that wanted a processor most, and how much of that it waited for one. */
static void put_threads(const struct out *o, const struct sums *s, double ns)
{
	const struct thread *most = NULL;

	for (size_t i = 0; i < s->n_threads; i++) {
		const struct thread *t = &s->threads[i];

		if (!most || t->run + t->wait > most->run + most->wait)
			most = t;
	}
	if (!most || ns <= 0)
		return;
	put(o, "sched.want", MODEL_KNOWN, (most->run + most->wait) / ns);
	put(o, "sched.wait", MODEL_KNOWN, most->wait / ns);
}

static void put_named(const struct out *o, const struct sums *s)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		bool first = true, known = false;
		double sum = 0;

		for (size_t k = 0; k < ARRAY_LEN(named); k++) {
			if (strcmp(named[k].metric, named[i].metric) != 0)
				continue;
			first &= k >= i;
			known |= s->known[k];
			sum += s->named[k];
		}
		if (first && known)
			put(o, named[i].metric, MODEL_KNOWN, sum);
	}
}

static void put_link(const struct out *o, const struct sums *s, int64_t speed_bps, double seconds)
{
	double rx = s->rx_bytes + FRAME_EXTRA * s->rx_packets;
	double tx = s->tx_bytes + FRAME_EXTRA * s->tx_packets;

	if (speed_bps > 0 && seconds > 0)
		put(o, "link.utilisation", MODEL_KNOWN,
		    (rx > tx ? rx : tx) * 8 / seconds / (double)speed_bps);
}

/* Of a host that was looked at from elsewhere: the interface that was fullest, by its own speed. */
static void put_fullest(const struct out *o, const struct host_period *p, double seconds)
{
	double fullest = -1;

	for (size_t i = 0; i < host_set_n(p->set) && seconds > 0; i++) {
		const struct host_key *s = host_set_key(p->set, i);
		double v[4] = {0};
		uint64_t mbps, d;

		if (s->group != HOST_IFACE || strcmp(s->name, "speed_mbps") != 0 ||
		    !host_delta(p->set, i, p->from, p->to, &mbps) || !mbps || mbps > SPEED_MAX)
			continue;
		for (size_t k = 0; k < host_set_n(p->set); k++) {
			static const char *const names[] = {"rx_bytes", "rx_packets", "tx_bytes",
							    "tx_packets"};
			const struct host_key *key = host_set_key(p->set, k);

			for (size_t n = 0; n < ARRAY_LEN(names); n++) {
				if (key->group == HOST_IFACE && !strcmp(key->of, s->of) &&
				    !strcmp(key->name, names[n]) &&
				    host_delta(p->set, k, p->from, p->to, &d))
					v[n] = (double)d;
			}
		}
		v[0] += FRAME_EXTRA * v[1];
		v[2] += FRAME_EXTRA * v[3];
		v[0] = (v[0] > v[2] ? v[0] : v[2]) * 8 / seconds / ((double)mbps * 1e6);
		fullest = v[0] > fullest ? v[0] : fullest;
	}
	if (fullest >= 0)
		put(o, "link.utilisation", MODEL_KNOWN, fullest);
}

static bool add_all(struct sums *s, const struct host_period *p)
{
	size_t n = host_set_n(p->set);

	for (size_t i = 0; i < n; i++) {
		int cpu = host_set_key(p->set, i)->cpu;

		if (cpu >= 0 && (size_t)cpu >= s->n_cores)
			s->n_cores = (size_t)cpu + 1;
	}
	s->core = calloc(s->n_cores ? s->n_cores : 1, sizeof(*s->core));
	for (size_t i = 0; s->core && i < n; i++) {
		const struct host_key *k = host_set_key(p->set, i);
		uint64_t d;

		if (!host_delta(p->set, i, p->from, p->to, &d) || !k->bits)
			continue;
		add(s, k, (double)d);
	}
	return s->core != NULL;
}

/* Where the interface's own counter stays, the driver's may not. */
static double driver_missed(const struct host_period *p)
{
	double most = 0;
	uint64_t d;

	for (size_t i = 0; i < host_set_n(p->set); i++) {
		const struct host_key *k = host_set_key(p->set, i);

		if (k->group == HOST_DRIVER && host_is_ring(k->name) &&
		    host_delta(p->set, i, p->from, p->to, &d))
			most = (double)d > most ? (double)d : most;
	}
	return most;
}

static void put_pressure(const struct out *o, const struct host_period *p, double ns)
{
	uint64_t d;

	for (size_t i = 0; i < host_set_n(p->set) && ns > 0; i++) {
		const struct host_key *k = host_set_key(p->set, i);

		if (k->group == HOST_PRESSURE && !strcmp(k->of, "cpu") &&
		    !strcmp(k->name, "some") && host_delta(p->set, i, p->from, p->to, &d))
			put(o, "psi.cpu", MODEL_KNOWN, (double)d / ns);
	}
}

void host_figures_each(const struct host_period *p, host_figure_cb cb, void *arg)
{
	struct out o = {.cb = cb, .arg = arg};
	struct sums *s = calloc(1, sizeof(*s));
	double ns = (double)(p->to->t_ns - p->from->t_ns), missed = driver_missed(p);

	_Static_assert(ARRAY_LEN(named) <= ARRAY_LEN(s->named), "a sum a row");
	if (!s || !add_all(s, p))
		goto out;
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (!strcmp(named[i].metric, "link.rx_missed") && missed > s->named[i]) {
			s->named[i] = missed;
			s->known[i] = true;
			break;
		}
	}
	put_cores(&o, s, p->irq_time);
	put_rounds(&o, s, ns);
	put_threads(&o, s, ns);
	put_pressure(&o, p, ns);
	put_named(&o, s);
	put_link(&o, s, p->speed_bps, ns * 1e-9);
	put_fullest(&o, p, ns * 1e-9);
	if (p->nf_rules >= 0)
		put(&o, "nf.rules", MODEL_KNOWN, (double)p->nf_rules);
out:
	if (s)
		free(s->core);
	free(s);
}

struct into {
	struct model_run *run;
	struct model_summary s;
};

static void add_summary(void *arg, const char *metric, enum model_state state, double v)
{
	struct into *to = arg;

	to->s.metric = model_metric(metric);
	to->s.state = state;
	to->s.value = v;
	if (to->s.metric)
		model_add_summary(to->run, &to->s);
}

void host_figures(struct model_run *run, uint32_t part, struct model_dims dims,
		  enum model_prov prov, const struct host_period *p)
{
	struct into to = {.run = run,
			  .s = {.part = part, .dims = dims, .stat = STAT_VALUE, .prov = prov}};

	host_figures_each(p, add_summary, &to);
}

/* What an interrupt is of: the interface by name, or its device ("virtio0-input.0"). */
static bool is_of(const struct host_key *k, const char *iface, const char *device)
{
	return host_has_word(k->of, k->n_of, iface) || host_has_word(k->of, k->n_of, device);
}

/* A sysfs that belongs to another network namespace has another interface under that name. */
static void device_of(const char *iface, char *dst, size_t cap)
{
	struct host_root r = {.fd = -1};
	int64_t index;

	dst[0] = '\0';
	if (host_read_i64(&r, &index, "/sys/class/net/%s/ifindex", iface) >= 0 &&
	    index == (int64_t)if_nametoindex(iface) &&
	    !host_link_name(&r, dst, cap, "/sys/class/net/%s/device", iface))
		dst[0] = '\0';
}

void host_irq_figures(struct model_run *run, uint32_t part, struct model_dims dims,
		      enum model_prov prov, const struct host_period *p, const char *iface)
{
	struct into to = {.run = run,
			  .s = {.part = part, .dims = dims, .stat = STAT_VALUE, .prov = prov}};
	char device[HOST_TEXT_MAX];
	double *sum = calloc(CPUS_MAX, sizeof(*sum)), most = 0, all = 0;

	device_of(iface, device, sizeof(device)); /* a virtual one has none, and no interrupts */
	for (size_t i = 0; sum && device[0] && i < host_set_n(p->set); i++) {
		const struct host_key *k = host_set_key(p->set, i);
		uint64_t d;

		if (k->group != HOST_IRQ || k->cpu < 0 || k->cpu >= CPUS_MAX ||
		    !is_of(k, iface, device) || !host_delta(p->set, i, p->from, p->to, &d))
			continue;
		sum[k->cpu] += (double)d;
		all += (double)d;
		most = sum[k->cpu] > most ? sum[k->cpu] : most;
	}
	free(sum);
	if (all >= IRQS_ENOUGH)
		add_summary(&to, "irq.core_share", MODEL_KNOWN, most / all);
}
