/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this host did meanwhile: its counters at the two ends of the load, as figures that the rules
 * judge. A host that does not let itself be looked at costs these figures, nothing else.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/host.h"
#include "measure/session.h"

#define GROUPS                                                                    \
	(HOST_BIT(HOST_CPU) | HOST_BIT(HOST_KERNEL) | HOST_BIT(HOST_SOFTIRQ) |    \
	 HOST_BIT(HOST_SOFTNET) | HOST_BIT(HOST_PRESSURE) | HOST_BIT(HOST_SNMP) | \
	 HOST_BIT(HOST_IFACE) | HOST_BIT(HOST_DRIVER) | HOST_BIT(HOST_QDISC) |    \
	 HOST_BIT(HOST_THREAD) | HOST_BIT(HOST_KSOFTIRQD))

/* In every interval; the others are the load's alone. */
static const char *const series[] = {
	"cpu.core_max",     "cpu.core_softirq", "cpu.softirq",    "cpu.core_steal",
	"sched.wait",       "sched.switches",   "psi.cpu",        "softnet.dropped",
	"softnet.squeezed", "ip.packets",       "link.rx_missed", "qdisc.drops",
};

struct session_host {
	struct host_set *set;
	struct host_reading from, to, tick[2]; /* the last two intervals' ends, in turn */
	size_t ticks;
	struct host_period period;
	/* Interrupts are dear to read where processors are many: twice only. */
	struct host_set *irqs;
	struct host_reading irqs_from, irqs_to;
	char iface[IF_NAMESIZE];
};

struct row {
	union model_value *v;
	uint64_t *valid;
};

static void put_column(void *arg, const char *metric, enum model_state state, double x)
{
	const struct row *row = arg;

	for (size_t i = 0; state == MODEL_KNOWN && i < ARRAY_LEN(series); i++) {
		const struct model_metric *m = model_metric(metric);

		if (strcmp(series[i], metric) != 0)
			continue;
		if (m->type == MODEL_U64)
			row->v[i].u = x > 0 ? (uint64_t)x : 0;
		else
			row->v[i].f = x;
		*row->valid |= 1ULL << i;
	}
}

/* Readings are taken when a tick is taken up, which is right after its end. */
static void host_row(void *arg, union model_value *v, uint64_t *valid)
{
	struct session_host *h = arg;
	struct host_period p = h->period;
	struct row row = {v, valid};

	p.from = &h->tick[!(h->ticks & 1)];
	p.to = &h->tick[h->ticks & 1];
	if (host_set_read(h->set, &h->tick[h->ticks & 1], NULL) >= 0 && p.from->n)
		host_figures_each(&p, put_column, &row);
	h->ticks++;
}

void session_host_open(struct session *s)
{
	struct session_host *h = calloc(1, sizeof(*h));
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	char iface[IF_NAMESIZE] = "";

	if (!h)
		return;
	if (getpeername(s->ps->ctl_fd, (struct sockaddr *)&ss, &len) < 0 ||
	    !host_iface_to((const struct sockaddr *)&ss, iface))
		iface[0] = '\0';
	if (host_set_new(&(struct host_set_cfg){.groups = GROUPS, .iface = iface[0] ? iface : NULL},
			 &h->set, NULL) < 0) {
		free(h);
		return;
	}
	h->period = (struct host_period){.set = h->set,
					 .from = &h->from,
					 .to = &h->to,
					 .speed_bps = iface[0] ? host_iface_speed(iface) : 0,
					 .nf_rules = host_filter_rules(),
					 .irq_time = host_irq_time()};
	memcpy(h->iface, iface, sizeof(h->iface));
	if (iface[0])
		host_set_new(&(struct host_set_cfg){.groups = HOST_BIT(HOST_IRQ)}, &h->irqs, NULL);
	s->host = h;
	if (s->rec)
		measure_recorder_host(s->rec, series, ARRAY_LEN(series), host_row, h);
}

void session_host_from(struct session *s)
{
	struct session_host *h = s->host;

	if (!h)
		return;
	host_set_threads(h->set);
	if (h->irqs)
		host_set_read(h->irqs, &h->irqs_from, NULL);
	host_set_read(h->set, &h->from, NULL);
	/* The first interval begins here as well. */
	host_set_read(h->set, &h->tick[!(h->ticks & 1)], NULL);
}

void session_host_to(struct session *s)
{
	if (!s->host)
		return;
	host_set_read(s->host->set, &s->host->to, NULL);
	if (s->host->irqs)
		host_set_read(s->host->irqs, &s->host->irqs_to, NULL);
}

void session_host_figures(struct session *s)
{
	const struct session_host *h = s->host;

	const struct model_dims near = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);

	if (h && h->from.n && h->to.n)
		host_figures(s->ms->run, s->part_load, near, MODEL_MEASURED, &h->period);
	if (h && h->irqs_from.n && h->irqs_to.n) {
		const struct host_period p = {
			.set = h->irqs, .from = &h->irqs_from, .to = &h->irqs_to};

		host_irq_figures(s->ms->run, s->part_load, near, MODEL_MEASURED, &p, h->iface);
	}
}

void session_host_close(struct session *s)
{
	if (!s->host)
		return;
	host_set_free(s->host->set);
	host_set_free(s->host->irqs);
	host_reading_fini(&s->host->irqs_from);
	host_reading_fini(&s->host->irqs_to);
	host_reading_fini(&s->host->from);
	host_reading_fini(&s->host->to);
	host_reading_fini(&s->host->tick[0]);
	host_reading_fini(&s->host->tick[1]);
	free(s->host);
	s->host = NULL;
}
