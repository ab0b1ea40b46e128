/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow plan: what flows, how, until when. It is built by commands, personas and protocols
 * alike, some of them from a peer's words, so one table of ranges stands between it and the
 * engine.
 */
#include "net/net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400 * NSEC_PER_SEC)

struct range {
	const char *field;
	size_t offset, size;
	uint64_t lo, hi; /* 0 is always allowed: "by itself" or "off" */
};
#define FLOW_FIELD(f) offsetof(struct flow_spec, f), sizeof(((struct flow_spec *)0)->f)
#define PLAN_FIELD(f) offsetof(struct flow_plan, f), sizeof(((struct flow_plan *)0)->f)

static const struct range flow_ranges[] = {
	{"rate", FLOW_FIELD(rate_bps), 1000, 10000000000000},
	{"burst", FLOW_FIELD(burst), 1, 100000},
	{"length", FLOW_FIELD(len), 1, 16 << 20},
	{"window", FLOW_FIELD(window), 256, 1 << 30},
	{"MSS", FLOW_FIELD(mss), 88, 32767}, /* what the kernel takes */
	{"pacing rate", FLOW_FIELD(fq_rate_bps), 1000, 10000000000000},
};
static const struct range plan_ranges[] = {
	{"omit", PLAN_FIELD(omit_ns), 1, 3600 * NSEC_PER_SEC},
	{"duration", PLAN_FIELD(duration_ns), NSEC_PER_MSEC, 30 * DAY_NS},
	{"interval", PLAN_FIELD(interval_ns), NSEC_PER_MSEC, DAY_NS},
};

int flow_plan_init(struct flow_plan *p, const struct flow_spec *spec, size_t n_up, size_t n_down)
{
	*p = (struct flow_plan){0};
	if (n_up > FLOW_MAX || n_down > FLOW_MAX || n_up + n_down > FLOW_MAX)
		return -E2BIG;
	if (n_up + n_down == 0)
		return 0;
	p->flows = calloc(n_up + n_down, sizeof(*p->flows));
	if (!p->flows)
		return -ENOMEM;
	p->n = n_up + n_down;
	for (size_t i = 0; i < p->n; i++) {
		p->flows[i] = *spec;
		p->flows[i].dir = i < n_up ? NET_UP : NET_DOWN;
	}
	return 0;
}

void flow_plan_fini(struct flow_plan *p)
{
	free(p->flows);
	p->flows = NULL;
	p->n = 0;
}

int flow_plan_copy(struct flow_plan *dst, const struct flow_plan *src)
{
	struct flow_spec *flows = calloc(src->n ? src->n : 1, sizeof(*flows));

	if (!flows)
		return -ENOMEM;
	if (src->n)
		memcpy(flows, src->flows, src->n * sizeof(*flows));
	*dst = *src;
	dst->flows = flows;
	return 0;
}

size_t flow_plan_count(const struct flow_plan *p, enum net_dir dir)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->flows[i].dir == dir;
	return n;
}

static uint64_t field_value(const void *base, const struct range *r)
{
	uint64_t v = 0;
	uint32_t v32;

	if (r->size == sizeof(v32)) {
		memcpy(&v32, (const char *)base + r->offset, sizeof(v32));
		return v32;
	}
	memcpy(&v, (const char *)base + r->offset, sizeof(v)); /* a negative time is out of range */
	return v;
}

static int check_ranges(const void *base, const struct range *r, size_t n, struct weir_err *e)
{
	for (; n; n--, r++) {
		uint64_t v = field_value(base, r);

		if (v && (v < r->lo || v > r->hi))
			return err_set(e, WEIR_USAGE, ERANGE, "%s %lld is outside %llu..%llu",
				       r->field, (long long)v, (unsigned long long)r->lo,
				       (unsigned long long)r->hi);
	}
	return 0;
}

static int check_flow(const struct flow_spec *f, struct weir_err *e)
{
	int rc = check_ranges(f, flow_ranges, ARRAY_LEN(flow_ranges), e);

	if (rc)
		return rc;
	if (!memchr(f->cc, 0, sizeof(f->cc)))
		return err_set(e, WEIR_USAGE, EINVAL, "the congestion control's name is too long");
	if (f->transport == NET_UDP && f->tx != NET_TX_WRITE)
		return err_set(e, WEIR_USAGE, EINVAL, "zero copy is for TCP only");
	if (f->transport == NET_UDP && f->len &&
	    (f->len < NET_UDP_LEN_MIN || f->len > NET_UDP_LEN_MAX))
		return err_set(e, WEIR_USAGE, ERANGE, "UDP length %u is outside %d..%d", f->len,
			       NET_UDP_LEN_MIN, NET_UDP_LEN_MAX);
	if (f->burst && !f->rate_bps)
		return err_set(e, WEIR_USAGE, EINVAL, "a burst needs a rate");
	return 0;
}

int flow_plan_check(const struct flow_plan *p, struct weir_err *e)
{
	int rc;

	if (p->n == 0 || !p->flows)
		return err_set(e, WEIR_USAGE, EINVAL, "no flows");
	if (p->n > FLOW_MAX)
		return err_set(e, WEIR_USAGE, E2BIG, "%zu flows are more than %d", p->n, FLOW_MAX);
	rc = check_ranges(p, plan_ranges, ARRAY_LEN(plan_ranges), e);
	if (rc)
		return rc;
	if (p->bytes && p->blocks)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "bytes and blocks both end the test: give one");
	if (p->bytes > INT64_MAX || p->blocks > (1ULL << 40))
		return err_set(e, WEIR_USAGE, ERANGE, "the number of %s is too large",
			       p->bytes > INT64_MAX ? "bytes" : "blocks");
	if (!memchr(p->title, 0, sizeof(p->title)))
		return err_set(e, WEIR_USAGE, EINVAL, "the title is too long");
	for (size_t i = 0; i < p->n; i++) {
		rc = check_flow(&p->flows[i], e);
		if (rc)
			return rc;
		if (i && p->flows[i].dir < p->flows[i - 1].dir)
			return err_set(e, WEIR_USAGE, EINVAL, "up flows come before down flows");
	}
	return 0;
}
