/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow plan: what flows, how, until when. It is built by commands, personas and protocols
 * alike, some of them from a peer's words, so one table of ranges stands between it and the
 * engine.
 */
#include "net/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400 * NSEC_PER_SEC)

struct range {
	const char *field; /* the option, and what it is */
	enum unit unit;    /* times are kept in ns */
	size_t offset, size;
	uint64_t lo, hi; /* 0 is always allowed: "by itself" or "off" */
};
#define FLOW_FIELD(f) offsetof(struct flow_spec, f), sizeof(((struct flow_spec *)0)->f)
#define PLAN_FIELD(f) offsetof(struct flow_plan, f), sizeof(((struct flow_plan *)0)->f)

static const struct range flow_ranges[] = {
	{"--bitrate: the rate", UNIT_BPS, FLOW_FIELD(rate_bps), 1000, 10000000000000},
	{"--bitrate: the burst", UNIT_NONE, FLOW_FIELD(burst), 1, 100000},
	{"--length: the length", UNIT_BYTE, FLOW_FIELD(len), 1, 16 << 20},
	{"--window: the window", UNIT_BYTE, FLOW_FIELD(window), 256, 1 << 30},
	{"--set-mss: the MSS", UNIT_BYTE, FLOW_FIELD(mss), 88, 32767}, /* what the kernel takes */
	{"--fq-rate: the pacing rate", UNIT_BPS, FLOW_FIELD(fq_rate_bps), 1000, 10000000000000},
};
static const struct range plan_ranges[] = {
	{"--omit: the time to omit", UNIT_SECOND, PLAN_FIELD(omit_ns), 1, 3600 * NSEC_PER_SEC},
	{"--time: the duration", UNIT_SECOND, PLAN_FIELD(duration_ns), NSEC_PER_MSEC, 30 * DAY_NS},
	{"--interval: the interval", UNIT_SECOND, PLAN_FIELD(interval_ns), NSEC_PER_MSEC, DAY_NS},
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

/* Exact where it can be: of 32767 and 32768 bytes one is inside. */
static void put_value(char *dst, size_t cap, uint64_t v, const struct range *r)
{
	bool time = r->unit == UNIT_SECOND;
	double value = time ? (double)(int64_t)v * 1e-9 : (double)v;
	char *point, *end;

	if (r->unit != UNIT_BPS && value >= 1 && value < 1e7) {
		snprintf(dst, cap, "%.10g%s", value,
			 time                   ? " s"
			 : r->unit == UNIT_BYTE ? " B"
						: "");
		return;
	}
	unit_format(dst, cap, value, r->unit, 3);
	point = strchr(dst, '.');
	end = point ? point + 1 + strspn(point + 1, "0") : NULL;
	if (end && *end == ' ') /* "1.00 ms" */
		memmove(point, end, strlen(end) + 1);
}

static int range_err(const struct range *r, uint64_t v, struct weir_err *e)
{
	char value[32], lo[32], hi[32];

	put_value(value, sizeof(value), v, r);
	put_value(lo, sizeof(lo), r->lo, r);
	put_value(hi, sizeof(hi), r->hi, r);
	return err_set(e, WEIR_USAGE, ERANGE, "%s of %s is outside %s to %s", r->field, value, lo,
		       hi);
}

static int check_ranges(const void *base, const struct range *r, size_t n, struct weir_err *e)
{
	for (; n; n--, r++) {
		uint64_t v = field_value(base, r);

		if (v && (v < r->lo || v > r->hi))
			return range_err(r, v, e);
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
		return err_set(e, WEIR_USAGE, ERANGE,
			       "--length: %u B is outside %d B to %d B, a UDP datagram's", f->len,
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
