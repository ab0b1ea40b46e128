/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this host did meanwhile: its counters at the two ends of the load, as figures that the rules
 * judge. A host that does not let itself be looked at costs these figures, nothing else.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "host/host.h"
#include "measure/session.h"

#define GROUPS                                                                    \
	(HOST_BIT(HOST_CPU) | HOST_BIT(HOST_KERNEL) | HOST_BIT(HOST_SOFTIRQ) |    \
	 HOST_BIT(HOST_SOFTNET) | HOST_BIT(HOST_PRESSURE) | HOST_BIT(HOST_SNMP) | \
	 HOST_BIT(HOST_IFACE) | HOST_BIT(HOST_DRIVER) | HOST_BIT(HOST_QDISC) |    \
	 HOST_BIT(HOST_THREAD))

struct session_host {
	struct host_set *set;
	struct host_reading from, to;
	struct host_period period;
};

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
	s->host = h;
}

void session_host_from(struct session *s)
{
	if (!s->host)
		return;
	host_set_threads(s->host->set);
	host_set_read(s->host->set, &s->host->from, NULL);
}

void session_host_to(struct session *s)
{
	if (s->host)
		host_set_read(s->host->set, &s->host->to, NULL);
}

void session_host_figures(struct session *s)
{
	const struct session_host *h = s->host;

	if (h && h->from.n && h->to.n)
		host_figures(s->ms->run, s->part_load,
			     model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR), MODEL_MEASURED,
			     &h->period);
}

void session_host_close(struct session *s)
{
	if (!s->host)
		return;
	host_set_free(s->host->set);
	host_reading_fini(&s->host->from);
	host_reading_fini(&s->host->to);
	free(s->host);
	s->host = NULL;
}
