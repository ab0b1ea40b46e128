/* SPDX-License-Identifier: BSD-2-Clause */
/* What `weir tcp` and `weir udp` do alike with what they were asked. */
#include <errno.h>
#include <stdio.h>

#include "measure/load.h"

#define INTERVAL_MIN_NS (10 * NSEC_PER_MSEC)

int measure_check_clashes(const struct measure_clash *pairs, size_t n, struct weir_err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (pairs[i].a && pairs[i].b)
			return err_set(e, WEIR_USAGE, EINVAL, "--%s and --%s exclude each other",
				       pairs[i].name_a, pairs[i].name_b);
	}
	return 0;
}

static int check_cport(int64_t first, int64_t n, struct weir_err *e)
{
	if (!first || first + n - 1 <= UINT16_MAX)
		return 0;
	return err_set(e, WEIR_USAGE, ERANGE,
		       "--cport: %lld leaves no ports for %lld flows; use at most %lld",
		       (long long)first, (long long)n, (long long)(UINT16_MAX + 1 - n));
}

int measure_load_check(const struct measure_load *l, struct weir_err *e)
{
	const struct measure_clash pairs[] = {
		{l->reverse, l->bidir, "reverse", "bidir"},
		{l->bytes > 0, l->blocks > 0, "bytes", "blocks"},
		{l->v4, l->v6, "ipv4", "ipv6"},
	};
	int rc = measure_check_clashes(pairs, ARRAY_LEN(pairs), e);

	if (rc < 0)
		return rc;
	if (l->proto && !proto_find(l->proto))
		return err_set(
			e, WEIR_USAGE, EINVAL,
			"--proto: \"%.40s\" is not known; use weir, iperf3, iperf2, nttcp or ttcp",
			l->proto);
	if (l->interval_ns && l->interval_ns < INTERVAL_MIN_NS)
		return err_set(e, WEIR_USAGE, ERANGE,
			       "--interval: %.3g ms is too short: sampling would disturb the test; "
			       "use 0 or 10ms to 1h",
			       (double)l->interval_ns / 1e6);
	return check_cport(l->cport, l->bidir ? 2 * l->parallel : l->parallel, e);
}

int measure_load_plan(const struct measure_load *l, const struct flow_spec *spec, bool up,
		      bool down, struct flow_plan *p, struct weir_err *e)
{
	size_t n = (size_t)l->parallel;
	int rc = flow_plan_init(p, spec, up ? n : 0, down ? n : 0);

	if (rc < 0)
		return err_set(e, WEIR_OS, -rc, "no memory for %zu flows", n);
	p->omit_ns = l->omit_ns;
	p->bytes = l->bytes;
	p->blocks = l->blocks;
	p->duration_ns = l->bytes || l->blocks ? 0 : l->time_ns;
	p->interval_ns = l->interval_ns;
	p->probe = FLOW_PROBE_CTL_RTT;
	if (l->title)
		snprintf(p->title, sizeof(p->title), "%s", l->title);
	rc = flow_plan_check(p, e);
	if (rc < 0)
		flow_plan_fini(p);
	return rc;
}

struct measure_client measure_load_client(const struct measure_load *l)
{
	return (struct measure_client){.host = l->host,
				       .proto = l->proto,
				       .bind = l->bind,
				       .bind_dev = l->bind_dev,
				       .family = l->v4   ? AF_INET
						 : l->v6 ? AF_INET6
							 : AF_UNSPEC,
				       .port = l->port,
				       .cport = l->cport,
				       .workers = l->workers,
				       .timeout_ns = l->timeout_ns,
				       .pin = l->pin};
}
