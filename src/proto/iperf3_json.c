/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's two JSON messages, one table each. The parameters are one kind of stream times a
 * number; a plan of unlike flows has no form in them and is refused before anything is sent.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/priv.h"

/* ---- parameters --------------------------------------------------------------- */

#define P(member)  PF_AT(struct iperf3_params, member)
#define BIG        INT64_MAX
#define WINDOW_MAX ((int64_t)512 << 20)

const struct proto_field iperf3_param_fields[] = {
	{"tcp", PF_TRUE, 0, P(tcp), 0, 1, "3.0", IPERF3_E_PROTOCOL, NULL},
	{"udp", PF_TRUE, 0, P(udp), 0, 1, "3.0", IPERF3_E_PROTOCOL, NULL},
	{"sctp", PF_TRUE, 0, P(sctp), 0, 1, "3.1", IPERF3_E_PROTOCOL, NULL},
	{"omit", PF_INT, PF_ALWAYS, P(omit), 0, 600, "3.0", IPERF3_E_OMIT, NULL},
	{"time", PF_INT, PF_ALWAYS, P(time), 0, IPERF3_SECONDS_MAX, "3.0", IPERF3_E_DURATION, NULL},
	{"num", PF_INT, PF_ALWAYS, P(num), 0, BIG, "3.0", IPERF3_E_PARAMS, NULL},
	{"blockcount", PF_INT, PF_ALWAYS, P(blockcount), 0, BIG, "3.0", IPERF3_E_PARAMS, NULL},
	{"MSS", PF_INT, 0, P(mss), 0, 32767, "3.0", IPERF3_E_MSS, NULL},
	{"nodelay", PF_TRUE, 0, P(nodelay), 0, 1, "3.0", IPERF3_E_PARAMS, NULL},
	{"parallel", PF_INT, PF_ALWAYS, P(parallel), 1, IPERF3_FLOWS_MAX, "3.0", IPERF3_E_STREAMS,
	 NULL},
	{"reverse", PF_TRUE, 0, P(reverse), 0, 1, "3.0", IPERF3_E_DIRECTIONS, NULL},
	{"bidirectional", PF_TRUE, 0, P(bidirectional), 0, 1, "3.7", IPERF3_E_DIRECTIONS, NULL},
	{"window", PF_INT, 0, P(window), 0, WINDOW_MAX, "3.0", IPERF3_E_BUFFER, NULL},
	{"len", PF_INT, 0, P(len), 0, 1048576, "3.0", IPERF3_E_BLOCK, NULL},
	{"bandwidth", PF_INT, 0, P(bandwidth), 0, BIG, "3.0", IPERF3_E_PARAMS, NULL},
	{"fqrate", PF_INT, 0, P(fqrate), 0, BIG, "3.2", IPERF3_E_PARAMS, NULL},
	{"pacing_timer", PF_INT, 0, P(pacing_timer), 0, BIG, "3.2", IPERF3_E_PARAMS, NULL},
	{"burst", PF_INT, 0, P(burst), 0, 1000, "3.0", IPERF3_E_BURST, NULL},
	{"TOS", PF_INT, 0, P(tos), 0, 255, "3.0", IPERF3_E_TOS, NULL},
	{"flowlabel", PF_INT, 0, P(flowlabel), 0, 0xfffff, "3.0", IPERF3_E_PARAMS, NULL},
	{"title", PF_STR, 0, P(title), 0, 0, "3.0", IPERF3_E_PARAMS, NULL},
	{"congestion", PF_NAME, 0, P(congestion), 0, 0, "3.0", IPERF3_E_PARAMS, NULL},
	{"get_server_output", PF_ONE, 0, P(get_server_output), 0, 1, "3.0", IPERF3_E_PARAMS, NULL},
	{"udp_counters_64bit", PF_ONE, 0, P(udp_counters_64bit), 0, 1, "3.1", IPERF3_E_PARAMS,
	 NULL},
	{"repeating_payload", PF_ONE, 0, P(repeating_payload), 0, 1, "3.8", IPERF3_E_PARAMS, NULL},
	{"zerocopy", PF_ONE, 0, P(zerocopy), 0, 1, "3.9", IPERF3_E_PARAMS, NULL},
	{"dont_fragment", PF_ONE, 0, P(dont_fragment), 0, 1, "3.11", IPERF3_E_PARAMS, NULL},
	{"skip_rx_copy", PF_ONE, 0, P(skip_rx_copy), 0, 1, "3.19", IPERF3_E_PARAMS, NULL},
	{"authtoken", PF_NAME, 0, P(authtoken), 0, 0, "3.2", IPERF3_E_PARAMS, NULL},
	{"client_version", PF_STR, PF_ALWAYS, P(client_version), 0, 0, "3.0", IPERF3_E_PARAMS,
	 NULL},
};
const size_t iperf3_n_param_fields = ARRAY_LEN(iperf3_param_fields);

static bool same_spec(const struct flow_spec *a, const struct flow_spec *b)
{
	return a->transport == b->transport && a->rate_bps == b->rate_bps && a->burst == b->burst &&
	       a->len == b->len && a->window == b->window && a->mss == b->mss && a->tos == b->tos &&
	       a->nodelay == b->nodelay && a->rx_trunc == b->rx_trunc && a->tx == b->tx &&
	       !strcmp(a->cc, b->cc) && a->fq_rate_bps == b->fq_rate_bps &&
	       a->counters_64bit == b->counters_64bit && a->dont_fragment == b->dont_fragment &&
	       a->digits == b->digits && a->flow_label == b->flow_label;
}

static int64_t whole_seconds(int64_t ns)
{
	return ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC > 0);
}

static int plan_fits(const struct flow_plan *p, struct weir_err *e)
{
	size_t up = flow_plan_count(p, NET_UP), down = flow_plan_count(p, NET_DOWN);

	if (!p->n)
		return err_set(e, WEIR_USAGE, EINVAL, "no flows");
	if (up > IPERF3_FLOWS_MAX || down > IPERF3_FLOWS_MAX)
		return err_set(e, WEIR_USAGE, ERANGE,
			       "--parallel: %zu flows, but an iperf3 server takes at most %d per "
			       "direction",
			       up > down ? up : down, IPERF3_FLOWS_MAX);
	if (up && down && up != down)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "%zu flows up and %zu down, but iperf3 needs as many each way", up,
			       down);
	for (size_t i = 1; i < p->n; i++)
		if (!same_spec(&p->flows[0], &p->flows[i]))
			return err_set(e, WEIR_USAGE, EINVAL,
				       "the flows differ, but iperf3 knows one kind a test");
	if (p->omit_ns % NSEC_PER_SEC)
		return err_set(e, WEIR_USAGE, EINVAL, "an iperf3 server omits whole seconds only");
	if (whole_seconds(p->duration_ns) > IPERF3_SECONDS_MAX)
		return err_set(e, WEIR_USAGE, ERANGE,
			       "%lld s, but an iperf3 server takes at most %d s",
			       (long long)whole_seconds(p->duration_ns), IPERF3_SECONDS_MAX);
	return 0;
}

static int64_t clamp_u64(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* Values that iperf3 would refuse are refused here, by its own ranges. */
static int params_check(const struct iperf3_params *p, struct weir_err *e)
{
	for (size_t i = 0; i < iperf3_n_param_fields; i++) {
		const struct proto_field *f = &iperf3_param_fields[i];
		int64_t v;

		if (f->type != PF_INT)
			continue;
		memcpy(&v, (const char *)p + f->offset, sizeof(v));
		if (v < f->min || v > f->max)
			return err_set(e, WEIR_USAGE, ERANGE,
				       "%s %lld, but an iperf3 server takes %lld to %lld", f->key,
				       (long long)v, (long long)f->min, (long long)f->max);
	}
	return 0;
}

int iperf3_params_put(const struct flow_plan *p, struct buf *out, struct weir_err *e)
{
	return iperf3_params_put_token(p, NULL, out, e);
}

int iperf3_params_put_token(const struct flow_plan *p, const char *token, struct buf *out,
			    struct weir_err *e)
{
	const struct flow_spec *f = p->flows;
	struct iperf3_params v = {.pacing_timer = 1000};
	struct jw w = jw_init(out);
	int ret = plan_fits(p, e);

	if (ret < 0)
		return ret;
	v.udp = f->transport == NET_UDP;
	v.tcp = !v.udp;
	v.udp_counters_64bit = f->counters_64bit;
	v.dont_fragment = f->dont_fragment;
	v.omit = whole_seconds(p->omit_ns);
	v.time = whole_seconds(p->duration_ns);
	v.num = clamp_u64(p->bytes);
	v.blockcount = clamp_u64(p->blocks);
	v.reverse = !flow_plan_count(p, NET_UP);
	v.bidirectional = !v.reverse && flow_plan_count(p, NET_DOWN);
	v.parallel = (int64_t)(v.bidirectional ? p->n / 2 : p->n);
	v.mss = f->mss;
	v.nodelay = f->nodelay;
	v.window = clamp_u64(f->window);
	v.len = f->len ? f->len : v.udp ? NET_UDP_LEN : IPERF3_LEN_DEFAULT;
	v.bandwidth = clamp_u64(f->rate_bps);
	v.fqrate = clamp_u64(f->fq_rate_bps);
	v.burst = f->burst;
	v.tos = f->tos;
	v.flowlabel = f->flow_label;
	v.repeating_payload = f->digits;
	v.zerocopy = f->tx != NET_TX_WRITE;
	v.skip_rx_copy = f->rx_trunc;
	snprintf(v.title, sizeof(v.title), "%s", p->title);
	snprintf(v.congestion, sizeof(v.congestion), "%s", f->cc);
	snprintf(v.authtoken, sizeof(v.authtoken), "%s", token ? token : "");
	snprintf(v.client_version, sizeof(v.client_version), "weir %s", weir_version);
	ret = params_check(&v, e);
	if (ret < 0)
		return ret;
	jw_obj(&w, NULL);
	proto_fields_put(&w, iperf3_param_fields, iperf3_n_param_fields, &v);
	jw_end_obj(&w);
	return out->failed ? err_os(e, ENOMEM, "parameters") : 0;
}

int iperf3_params_get(const char *text, size_t n, struct iperf3_params *out, int *code,
		      struct weir_err *e)
{
	const struct proto_field *bad = NULL;
	struct js_doc *doc = NULL;
	int ret;

	*out = (struct iperf3_params){.time = 10, .parallel = 1};
	*code = IPERF3_E_PARAMS;
	ret = js_parse(text, n, &js_limits_params, &doc, e);
	if (ret < 0)
		return ret;
	if (js_type(js_root(doc)) != JS_OBJ) {
		ret = err_set(e, WEIR_PEER, EPROTO, "the parameters are no JSON object");
		goto out;
	}
	ret = proto_fields_get(js_root(doc), iperf3_param_fields, iperf3_n_param_fields, out,
			       PF_LENIENT, &bad);
	if (ret < 0) {
		*code = bad->code;
		ret = err_set(e, WEIR_PEER, -ret, "%s of the parameters is out of its range",
			      bad->key);
	}
out:
	js_free(doc);
	return ret;
}

/* A client sends its default like a wish. Where blocks do not count it is none: a sender here then
 * writes what fits its rate, which on a fast path is twice as fast, and on a slow one even (a block
 * of 128 KiB at 1 Mbit/s is one a second). */
static uint32_t plan_len(const struct iperf3_params *p)
{
	if (p->udp)
		return (uint32_t)(p->len ? p->len : NET_UDP_LEN);
	if (!p->blockcount && !p->burst && (!p->len || p->len == IPERF3_LEN_DEFAULT))
		return 0;
	return (uint32_t)(p->len ? p->len : IPERF3_LEN_DEFAULT);
}

int iperf3_params_plan(const struct iperf3_params *p, struct flow_plan *plan, int *code,
		       struct weir_err *e)
{
	struct flow_spec f = {
		.transport = p->udp ? NET_UDP : NET_TCP,
		.rate_bps = (uint64_t)p->bandwidth,
		.burst = p->bandwidth ? (uint32_t)p->burst : 0,
		.len = plan_len(p),
		.window = (uint64_t)p->window,
		.mss = (uint32_t)p->mss,
		.tos = (uint8_t)p->tos,
		.nodelay = p->nodelay,
		.rx_trunc = p->skip_rx_copy,
		.tx = p->zerocopy ? NET_TX_SENDFILE : NET_TX_WRITE,
		.fq_rate_bps = (uint64_t)p->fqrate,
		.counters_64bit = p->udp_counters_64bit,
		.dont_fragment = p->dont_fragment,
		.digits = p->repeating_payload,
		.flow_label = (uint32_t)p->flowlabel,
	};
	size_t n = (size_t)p->parallel;
	int ret;

	*code = IPERF3_E_DIRECTIONS;
	if (p->reverse && p->bidirectional)
		return err_set(e, WEIR_PEER, EINVAL, "reverse and bidirectional at once");
	*code = IPERF3_E_END;
	if (p->num && p->blockcount)
		return err_set(e, WEIR_PEER, EINVAL, "bytes and blocks both end the test");
	*code = IPERF3_E_PROTOCOL;
	if (p->sctp)
		return err_set(e, WEIR_PEER, ENOTSUP, "SCTP is not served");
	*code = IPERF3_E_UDP_BLOCK;
	if (p->udp && p->len && (p->len < NET_UDP_LEN_MIN || p->len > NET_UDP_LEN_MAX))
		return err_set(e, WEIR_PEER, ERANGE, "datagrams of %lld bytes; %d to %d are taken",
			       (long long)p->len, NET_UDP_LEN_MIN, NET_UDP_LEN_MAX);
	if (p->udp)
		f.tx = NET_TX_WRITE;
	*code = IPERF3_E_PARAMS;
	/* An unknown congestion control is a warning to iperf3's server: the default is used. */
	if (net_cc_available(p->congestion))
		memcpy(f.cc, p->congestion, sizeof(f.cc));
	ret = flow_plan_init(plan, &f, p->reverse ? 0 : n, p->reverse || p->bidirectional ? n : 0);
	if (ret < 0)
		return err_os(e, -ret, "flow plan");
	plan->omit_ns = p->omit * NSEC_PER_SEC;
	plan->duration_ns = p->time * NSEC_PER_SEC;
	plan->bytes = (uint64_t)p->num;
	plan->blocks = (uint64_t)p->blockcount;
	plan->interval_ns = NSEC_PER_SEC;
	safe_str(plan->title, sizeof(plan->title), p->title, strlen(p->title));
	return flow_plan_check(plan, e);
}

/* ---- results -------------------------------------------------------------------- */

struct iperf3_results {
	double cpu_total, cpu_user, cpu_system; /* per cent */
	int64_t sender_has_retransmits;         /* 1 counted, 0 not countable, -1 no sender */
	char congestion[32];
};
struct iperf3_stream {
	int64_t id, bytes, retransmits, errors, omitted_errors, packets, omitted_packets;
	double jitter, start_time, end_time; /* s */
};

#define R(member) PF_AT(struct iperf3_results, member)
#define S(member) PF_AT(struct iperf3_stream, member)
#define CPU_MAX   100000000 /* per cent */

static const struct proto_field result_fields[] = {
	{"cpu_util_total", PF_REAL, PF_ALWAYS, R(cpu_total), -1, CPU_MAX, "3.0", 0, NULL},
	{"cpu_util_user", PF_REAL, PF_ALWAYS, R(cpu_user), -1, CPU_MAX, "3.0", 0, NULL},
	{"cpu_util_system", PF_REAL, PF_ALWAYS, R(cpu_system), -1, CPU_MAX, "3.0", 0, NULL},
	{"sender_has_retransmits", PF_INT, PF_ALWAYS, R(sender_has_retransmits), -1, 1, "3.0", 0,
	 NULL},
	{"congestion_used", PF_STR, 0, R(congestion), 0, 0, "3.2", 0, NULL},
};
static const struct proto_field stream_fields[] = {
	{"id", PF_INT, PF_ALWAYS | PF_REQUIRED, S(id), 1, INT32_MAX, "3.0", 0, NULL},
	{"bytes", PF_INT, PF_ALWAYS | PF_REQUIRED, S(bytes), 0, BIG, "3.0", 0, NULL},
	{"retransmits", PF_INT, PF_ALWAYS, S(retransmits), -1, BIG, "3.0", 0, NULL},
	{"jitter", PF_REAL, PF_ALWAYS, S(jitter), 0, BIG, "3.0", 0, NULL},
	{"errors", PF_INT, PF_ALWAYS, S(errors), INT64_MIN, BIG, "3.0", 0, NULL},
	{"omitted_errors", PF_INT, PF_ALWAYS, S(omitted_errors), INT64_MIN, BIG, "3.14", 0, NULL},
	{"packets", PF_INT, PF_ALWAYS, S(packets), INT64_MIN, BIG, "3.0", 0, NULL},
	{"omitted_packets", PF_INT, PF_ALWAYS, S(omitted_packets), INT64_MIN, BIG, "3.14", 0, NULL},
	{"start_time", PF_REAL, PF_ALWAYS, S(start_time), 0, BIG, "3.2", 0, NULL},
	{"end_time", PF_REAL, PF_ALWAYS, S(end_time), 0, BIG, "3.2", 0, NULL},
};

int64_t iperf3_stream_id(size_t i)
{
	return i == 0 ? 1 : (int64_t)i + 2;
}

static double percent(double ratio)
{
	return ratio > 0 ? ratio * 100 : 0;
}

static int64_t has_retransmits(const struct flow_plan *p, enum net_dir sender,
			       const struct proto_result *r)
{
	int64_t has = -1;

	for (size_t i = 0; i < p->n && i < r->n; i++) {
		if (p->flows[i].dir != sender)
			continue;
		if (r->flows[i].retransmits < 0)
			return 0;
		has = 1;
	}
	return has;
}

static void stream_put(struct jw *w, const struct flow_plan *p, enum net_dir sender,
		       const struct proto_result *r, size_t i)
{
	struct iperf3_stream s = {.id = iperf3_stream_id(i), .retransmits = -1};

	if (i < r->n) {
		s.bytes = clamp_u64(r->flows[i].bytes);
		s.end_time = r->flows[i].seconds > 0 ? r->flows[i].seconds : 0;
		if (p->flows[i].dir == sender && r->flows[i].retransmits >= 0)
			s.retransmits = r->flows[i].retransmits;
		if (r->flows[i].udp) {
			s.jitter = r->flows[i].jitter;
			s.errors = r->flows[i].lost;
			s.packets = r->flows[i].packets;
			s.omitted_errors = r->flows[i].omitted_lost;
			s.omitted_packets = r->flows[i].omitted_packets;
		}
	}
	jw_obj(w, NULL);
	proto_fields_put(w, stream_fields, ARRAY_LEN(stream_fields), &s);
	jw_end_obj(w);
}

int iperf3_results_put(const struct flow_plan *p, enum net_dir sender, const struct proto_result *r,
		       struct buf *out)
{
	struct iperf3_results v = {
		.cpu_total = percent(r->cpu_total),
		.cpu_user = percent(r->cpu_user),
		.cpu_system = percent(r->cpu_system),
		.sender_has_retransmits = has_retransmits(p, sender, r),
	};
	struct jw w = jw_init(out);

	snprintf(v.congestion, sizeof(v.congestion), "%s", r->cc);
	jw_obj(&w, NULL);
	proto_fields_put(&w, result_fields, ARRAY_LEN(result_fields), &v);
	jw_arr(&w, "streams");
	for (size_t i = 0; i < p->n; i++)
		stream_put(&w, p, sender, r, i);
	jw_end_arr(&w);
	jw_end_obj(&w);
	return out->failed ? -ENOMEM : 0;
}

/* What cannot be (3.12 and its like print huge numbers) stays unknown. */
static bool udp_plausible(const struct iperf3_stream *s)
{
	return s->packets >= 0 && s->errors >= 0 && s->errors <= s->packets &&
	       s->omitted_packets >= -1 && s->omitted_packets <= s->packets &&
	       s->omitted_errors >= -1 && s->omitted_errors <= s->errors && s->jitter < 1e6;
}

static int stream_get(const struct js *v, struct proto_result *r, bool *seen, struct weir_err *e)
{
	const struct proto_field *bad = NULL;
	/* Before 3.14, what was omitted is not told. */
	struct iperf3_stream s = {.retransmits = -1, .omitted_errors = -1, .omitted_packets = -1};
	int ret =
		proto_fields_get(v, stream_fields, ARRAY_LEN(stream_fields), &s, PF_LENIENT, &bad);
	size_t i;

	if (ret < 0)
		return err_set(e, WEIR_PEER, EPROTO, "%s of a stream in the results is wrong",
			       bad->key);
	i = s.id == 1 ? 0 : (size_t)s.id - 2;
	if (s.id == 2 || i >= r->n)
		return 0; /* a stream of nobody: nothing to lose */
	r->flows[i] = (struct proto_flow_result){
		.bytes = (uint64_t)s.bytes, .retransmits = s.retransmits, .seconds = s.end_time};
	if (udp_plausible(&s)) {
		r->flows[i].udp = true;
		r->flows[i].packets = s.packets;
		r->flows[i].lost = s.errors;
		r->flows[i].omitted_packets = s.omitted_packets;
		r->flows[i].omitted_lost = s.omitted_errors;
		r->flows[i].jitter = s.jitter;
	}
	seen[i] = true;
	return 0;
}

static int streams_get(const struct js *streams, struct proto_result *r, struct weir_err *e)
{
	bool *seen = calloc(r->n ? r->n : 1, sizeof(*seen));
	int ret = 0;

	if (!seen)
		return err_os(e, ENOMEM, "results");
	for (size_t i = 0; !ret && i < js_len(streams); i++)
		ret = stream_get(js_at(streams, i), r, seen, e);
	for (size_t i = 0; !ret && i < r->n; i++)
		if (!seen[i])
			ret = err_set(e, WEIR_PEER, EPROTO, "stream %lld is not in the results",
				      (long long)iperf3_stream_id(i));
	free(seen);
	return ret;
}

static int results_fill(const struct js *root, struct proto_result *r, struct weir_err *e)
{
	struct iperf3_results v = {.cpu_total = -1, .cpu_user = -1, .cpu_system = -1};
	const struct js *streams = js_geti(root, "streams");

	if (js_type(root) != JS_OBJ || js_type(streams) != JS_ARR)
		return err_set(e, WEIR_PEER, EPROTO, "the results have no list of streams");
	/* Nothing in this table is required: whatever is wrong stays unknown. */
	(void)proto_fields_get(root, result_fields, ARRAY_LEN(result_fields), &v, PF_LENIENT, NULL);
	r->cpu_total = v.cpu_total < 0 ? -1 : v.cpu_total / 100;
	r->cpu_user = v.cpu_user < 0 ? -1 : v.cpu_user / 100;
	r->cpu_system = v.cpu_system < 0 ? -1 : v.cpu_system / 100;
	safe_str(r->cc, sizeof(r->cc), v.congestion, strlen(v.congestion));
	return streams_get(streams, r, e);
}

int iperf3_results_get(const char *text, size_t n, size_t flows, struct proto_result *r,
		       struct weir_err *e)
{
	struct js_limits lim = {.max_bytes = PROTO_RESULTS_BASE + flows * PROTO_RESULTS_PER_FLOW,
				.max_depth = 16,
				.lenient = true};
	struct js_doc *doc = NULL;
	int ret;

	*r = (struct proto_result){.n = flows};
	r->flows = calloc(flows ? flows : 1, sizeof(*r->flows));
	if (!r->flows)
		return err_os(e, ENOMEM, "results");
	ret = js_parse(text, n, &lim, &doc, e);
	if (ret == 0)
		ret = results_fill(js_root(doc), r, e);
	js_free(doc);
	if (ret < 0)
		proto_result_fini(r);
	return ret;
}
