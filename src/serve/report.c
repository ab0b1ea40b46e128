/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an iperf3 client gets when it asks for the server's own output: the figures of its test as
 * this end counted them, a line a flow. No other test's lines are within reach here (security 7).
 */
#include "serve/priv.h"

static void rate_of(const struct proto_flow_result *r, struct buf *b)
{
	char bytes[32], time[32], rate[32];

	unit_format(bytes, sizeof(bytes), (double)r->bytes, UNIT_BYTE, 3);
	unit_format(time, sizeof(time), r->seconds, UNIT_SECOND, 3);
	buf_printf(b, "%s in %s", bytes, time);
	if (r->seconds <= 0)
		return;
	unit_format(rate, sizeof(rate), (double)r->bytes * 8 / r->seconds, UNIT_BPS, 3);
	buf_printf(b, ", %s", rate);
}

static void flow_line(const struct flow_spec *f, const struct proto_flow_result *r, size_t i,
		      struct buf *b)
{
	bool sent = f->dir == NET_DOWN;
	char jitter[32];

	buf_printf(b, "[%zu] %s ", i + 1, sent ? "sent" : "received");
	rate_of(r, b);
	if (sent && r->udp)
		buf_printf(b, ", %lld datagrams", (long long)r->packets);
	if (sent && !r->udp && r->retransmits >= 0)
		buf_printf(b, ", %lld retransmits", (long long)r->retransmits);
	if (!sent && r->udp) {
		unit_format(jitter, sizeof(jitter), r->jitter, UNIT_SECOND, 3);
		buf_printf(b, ", %lld of %lld datagrams lost, jitter %s", (long long)r->lost,
			   (long long)r->packets, jitter);
	}
	buf_putc(b, '\n');
}

bool serve_report(void *arg, const struct proto_result *mine, struct buf *b)
{
	const struct proto_session *s = arg;

	buf_printf(b, "weir %s, this test alone:\n", weir_version);
	for (size_t i = 0; i < mine->n && i < s->plan->n; i++)
		flow_line(&s->plan->flows[i], &mine->flows[i], i, b);
	return false; /* text */
}
