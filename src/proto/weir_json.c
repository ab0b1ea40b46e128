/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of the native protocol: each a JSON object on one line that begins {"m":"name"
 * and is otherwise one table. docs/protocol-weir.md describes them for other implementations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/weir.h"

#define BIG INT64_MAX

/* ---- lines ---------------------------------------------------------------------- */

static bool starts(const char *line, size_t n, const char *with)
{
	size_t len = strlen(with);

	return n >= len && !memcmp(line, with, len);
}

enum weir_line_kind weir_line_kind(const char *line, size_t n)
{
	if (!n)
		return WEIR_LINE_BLANK;
	if (starts(line, n, "{\"type\":"))
		return WEIR_LINE_RUN;
	return starts(line, n, "{\"m\":\"") ? WEIR_LINE_CONTROL : WEIR_LINE_ALIEN;
}

int weir_msg_parse(const char *line, size_t n, struct js_doc **doc, const char **m,
		   struct weir_err *e)
{
	static const struct js_limits lim = {
		.max_bytes = WEIR_LINE_MAX, .max_depth = 16, .lenient = true};
	int ret = js_parse(line, n, &lim, doc, e);

	if (ret < 0)
		return ret;
	*m = js_str(js_get(js_root(*doc), "m"), NULL);
	if (*m)
		return 0;
	js_free(*doc);
	*doc = NULL;
	return err_set(e, WEIR_PEER, EPROTO, "a message without a name");
}

static struct jw msg_begin(struct buf *out, const char *m)
{
	struct jw w = jw_init(out);

	jw_obj(&w, NULL);
	jw_str(&w, "m", m);
	return w;
}

static int get_fields(const struct js *msg, const struct proto_field *f, size_t n, void *base,
		      const char *what, struct weir_err *e)
{
	const struct proto_field *bad = NULL;
	int ret = proto_fields_get(msg, f, n, base, PF_STRICT, &bad);

	if (ret == -ERANGE)
		return err_set(e, WEIR_PEER, ERANGE, "%s of the %s is out of its range", bad->key,
			       what);
	if (ret < 0)
		return err_set(e, WEIR_PEER, EPROTO, "%s of the %s is absent or of a wrong type",
			       bad->key, what);
	return 0;
}

/* ---- hello ------------------------------------------------------------------------ */

#define H(member) PF_AT(struct weir_hello, member)
static const struct proto_field hello_fields[] = {
	{"proto", PF_INT, PF_ALWAYS | PF_REQUIRED, H(proto), 1, 1000, "0.1.0", 0, NULL},
	{"version", PF_STR, PF_ALWAYS | PF_REQUIRED, H(version), 0, 0, "0.1.0", 0, NULL},
	{"nonce", PF_NAME, PF_ALWAYS | PF_REQUIRED, H(nonce), 0, 0, "0.1.0", 0, NULL},
	{"auth", PF_TRUE, PF_ALWAYS, H(auth), 0, 1, "0.1.0", 0, NULL},
};
/* What this version can do, for a far end of another one. */
static const char *const caps[] = {"tcp",     "sendfile", "zerocopy", "rx_trunc",
				   "ctl_rtt", "lines",    "results"};

void weir_nonce_new(char nonce[WEIR_NONCE_LEN + 1])
{
	uint8_t r[WEIR_NONCE_LEN / 2];

	clk_random(r, sizeof(r));
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(nonce + 2 * i, 3, "%02x", r[i]);
}

bool weir_nonce_ok(const char *nonce)
{
	return strspn(nonce, "0123456789abcdef") == WEIR_NONCE_LEN && !nonce[WEIR_NONCE_LEN];
}

void weir_hello_put(const struct weir_hello *h, struct buf *out)
{
	struct jw w = msg_begin(out, "hello");

	proto_fields_put(&w, hello_fields, ARRAY_LEN(hello_fields), h);
	jw_arr(&w, "caps");
	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		jw_str(&w, NULL, caps[i]);
	if (h->udp)
		jw_str(&w, NULL, "udp");
	jw_end_arr(&w);
	jw_end_obj(&w);
}

static bool has_cap(const struct js *msg, const char *name)
{
	const struct js *list = js_get(msg, "caps");

	for (size_t i = 0; i < js_len(list); i++) {
		const char *s = js_str(js_at(list, i), NULL);

		if (s && !strcmp(s, name))
			return true;
	}
	return false;
}

int weir_hello_get(const struct js *msg, struct weir_hello *h, struct weir_err *e)
{
	int ret;

	*h = (struct weir_hello){0};
	ret = get_fields(msg, hello_fields, ARRAY_LEN(hello_fields), h, "greeting", e);
	if (ret == 0 && !weir_nonce_ok(h->nonce))
		ret = err_set(e, WEIR_PEER, EPROTO, "the greeting's nonce is malformed");
	if (ret == 0)
		h->udp = has_cap(msg, "udp");
	return ret;
}

void weir_facts_get(const struct js *msg, char *dst, size_t cap)
{
	const struct js *facts = js_get(msg, "facts");
	struct buf b = {.max = cap};

	*dst = 0;
	if (js_type(facts) != JS_OBJ)
		return;
	js_dump(facts, &b);
	if (!b.failed && b.len < cap)
		memcpy(dst, b.data, b.len + 1);
	buf_fini(&b);
}

static void facts_put(struct jw *w, const char *facts)
{
	if (facts && *facts)
		jw_raw(w, "facts", facts, strlen(facts));
}

/* ---- request ------------------------------------------------------------------------ */

#define Q(member) PF_AT(struct weir_request, member)
static const struct proto_field request_fields[] = {
	{"version", PF_STR, PF_ALWAYS | PF_REQUIRED, Q(version), 0, 0, "0.1.0", 0, NULL},
	{"nonce", PF_NAME, PF_ALWAYS | PF_REQUIRED, Q(nonce), 0, 0, "0.1.0", 0, NULL},
};

static const char *const probe_names[] = {"none", "ctl_rtt", NULL};
#define PL(member) PF_AT(struct flow_plan, member)
static const struct proto_field plan_fields[] = {
	{"omit_ns", PF_INT, 0, PL(omit_ns), 0, BIG, "0.1.0", 0, NULL},
	{"duration_ns", PF_INT, 0, PL(duration_ns), 0, BIG, "0.1.0", 0, NULL},
	{"bytes", PF_UINT, 0, PL(bytes), 0, BIG, "0.1.0", 0, NULL},
	{"blocks", PF_UINT, 0, PL(blocks), 0, BIG, "0.1.0", 0, NULL},
	{"interval_ns", PF_INT, 0, PL(interval_ns), 0, BIG, "0.1.0", 0, NULL},
	{"probe", PF_ENUM, 0, PL(probe), 0, 0, "0.1.0", 0, probe_names},
	{"title", PF_STR, 0, PL(title), 0, 0, "0.1.0", 0, NULL},
};

static const char *const dir_names[] = {"up", "down", NULL};
static const char *const transport_names[] = {"tcp", "udp", NULL};
static const char *const tx_names[] = {"write", "sendfile", "zerocopy", NULL};
#define F(member) PF_AT(struct flow_spec, member)
const struct proto_field weir_spec_fields[] = {
	{"dir", PF_ENUM, PF_ALWAYS | PF_REQUIRED, F(dir), 0, 0, "0.1.0", 0, dir_names},
	{"transport", PF_ENUM, PF_ALWAYS, F(transport), 0, 0, "0.1.0", 0, transport_names},
	{"rate_bps", PF_UINT, 0, F(rate_bps), 0, BIG, "0.1.0", 0, NULL},
	{"burst", PF_UINT, 0, F(burst), 0, UINT32_MAX, "0.1.0", 0, NULL},
	{"len", PF_UINT, 0, F(len), 0, UINT32_MAX, "0.1.0", 0, NULL},
	{"window", PF_UINT, 0, F(window), 0, BIG, "0.1.0", 0, NULL},
	{"mss", PF_UINT, 0, F(mss), 0, UINT32_MAX, "0.1.0", 0, NULL},
	{"tos", PF_UINT, 0, F(tos), 0, UINT8_MAX, "0.1.0", 0, NULL},
	{"nodelay", PF_TRUE, 0, F(nodelay), 0, 1, "0.1.0", 0, NULL},
	{"rx_trunc", PF_TRUE, 0, F(rx_trunc), 0, 1, "0.1.0", 0, NULL},
	{"tx", PF_ENUM, 0, F(tx), 0, 0, "0.1.0", 0, tx_names},
	{"cc", PF_NAME, 0, F(cc), 0, 0, "0.1.0", 0, NULL},
	{"fq_rate_bps", PF_UINT, 0, F(fq_rate_bps), 0, BIG, "0.1.0", 0, NULL},
	{"counters_64bit", PF_TRUE, 0, F(counters_64bit), 0, 1, "0.2.0", 0, NULL},
	{"no_offload", PF_TRUE, 0, F(no_offload), 0, 1, "0.2.0", 0, NULL},
	{"dont_fragment", PF_TRUE, 0, F(dont_fragment), 0, 1, "0.2.0", 0, NULL},
	{"spin", PF_TRUE, 0, F(spin), 0, 1, "0.2.0", 0, NULL},
};
const size_t weir_n_spec_fields = ARRAY_LEN(weir_spec_fields);

/* Two flows that read alike are alike: the table itself is the comparison. */
static bool same_flow(const struct flow_spec *a, const struct flow_spec *b)
{
	for (size_t i = 0; i < weir_n_spec_fields; i++) {
		const struct proto_field *f = &weir_spec_fields[i];
		const char *pa = (const char *)a + f->offset, *pb = (const char *)b + f->offset;

		if (f->type == PF_NAME ? strcmp(pa, pb) != 0 : memcmp(pa, pb, f->size) != 0)
			return false;
	}
	return true;
}

/* Runs of equal flows are one entry with a count. */
static void flows_put(struct jw *w, const struct flow_plan *p)
{
	jw_arr(w, "flows");
	for (size_t i = 0, n; i < p->n; i += n) {
		for (n = 1; i + n < p->n && same_flow(&p->flows[i], &p->flows[i + n]);)
			n++;
		jw_obj(w, NULL);
		jw_u64(w, "n", n);
		proto_fields_put(w, weir_spec_fields, weir_n_spec_fields, &p->flows[i]);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

int weir_request_put(const struct weir_request *r, const struct flow_plan *p, const char *facts,
		     struct buf *out, struct weir_err *e)
{
	struct jw w = msg_begin(out, "request");

	proto_fields_put(&w, request_fields, ARRAY_LEN(request_fields), r);
	facts_put(&w, facts);
	jw_obj(&w, "plan");
	proto_fields_put(&w, plan_fields, ARRAY_LEN(plan_fields), p);
	flows_put(&w, p);
	jw_end_obj(&w);
	jw_end_obj(&w);
	if (out->failed)
		return err_os(e, ENOMEM, "request");
	if (out->len > WEIR_LINE_MAX)
		return err_set(e, WEIR_LIMIT, EMSGSIZE,
			       "the request is %zu bytes, at most %zu are taken: too many flows "
			       "that differ",
			       out->len, WEIR_LINE_MAX);
	return 0;
}

static int flow_count(const struct js *entry, size_t room, size_t *n, struct weir_err *e)
{
	int64_t v = 1;
	const struct js *count = js_get(entry, "n");

	if (count && !js_i64(count, &v))
		return err_set(e, WEIR_PEER, EPROTO, "n of a flow is of a wrong type");
	if (v < 1 || (uint64_t)v > room)
		return err_set(e, WEIR_PEER, ERANGE, "more than %d flows", FLOW_MAX);
	*n = (size_t)v;
	return 0;
}

static int flows_get(const struct js *list, struct flow_plan *p, struct weir_err *e)
{
	struct flow_spec *flows = calloc(FLOW_MAX, sizeof(*flows));
	size_t n = 0, count = 0;
	int ret = 0;

	if (!flows)
		return err_os(e, ENOMEM, "flows");
	for (size_t i = 0; ret == 0 && i < js_len(list); i++) {
		const struct js *entry = js_at(list, i);
		struct flow_spec spec = {0};

		ret = flow_count(entry, FLOW_MAX - n, &count, e);
		if (ret == 0)
			ret = get_fields(entry, weir_spec_fields, weir_n_spec_fields, &spec, "flow",
					 e);
		for (size_t k = 0; ret == 0 && k < count; k++)
			flows[n++] = spec;
	}
	if (ret == 0 && n == 0)
		ret = err_set(e, WEIR_PEER, EPROTO, "a request without flows");
	if (ret < 0) {
		free(flows);
		return ret;
	}
	p->flows = flows;
	p->n = n;
	return 0;
}

int weir_request_get(const struct js *msg, struct weir_request *r, struct flow_plan *p,
		     struct weir_err *e)
{
	const struct js *plan = js_get(msg, "plan");
	char title[sizeof(p->title)];
	int ret;

	*r = (struct weir_request){0};
	*p = (struct flow_plan){0};
	ret = get_fields(msg, request_fields, ARRAY_LEN(request_fields), r, "request", e);
	if (ret == 0 && !weir_nonce_ok(r->nonce))
		ret = err_set(e, WEIR_PEER, EPROTO, "the request's nonce is malformed");
	if (ret == 0 && js_type(plan) != JS_OBJ)
		ret = err_set(e, WEIR_PEER, EPROTO, "a request without a plan");
	if (ret == 0)
		ret = get_fields(plan, plan_fields, ARRAY_LEN(plan_fields), p, "plan", e);
	if (ret == 0)
		ret = flows_get(js_get(plan, "flows"), p, e);
	if (ret == 0)
		ret = flow_plan_check(p, e);
	memcpy(title, p->title, sizeof(title));
	safe_str(p->title, sizeof(p->title), title, strlen(title));
	return ret;
}

/* ---- answers --------------------------------------------------------------------------- */

#define O(member) PF_AT(struct weir_ok, member)
static const struct proto_field ok_fields[] = {
	{"flows_up", PF_UINT, PF_ALWAYS | PF_REQUIRED, O(up), 0, FLOW_MAX, "0.1.0", 0, NULL},
	{"flows_down", PF_UINT, PF_ALWAYS | PF_REQUIRED, O(down), 0, FLOW_MAX, "0.1.0", 0, NULL},
	{"duration_ns", PF_INT, PF_ALWAYS | PF_REQUIRED, O(duration_ns), 0, BIG, "0.1.0", 0, NULL},
	{"rate_bps", PF_UINT, 0, O(rate_bps), 0, BIG, "0.1.0", 0, NULL},
	{"udp_down_bps", PF_UINT, 0, O(udp_down_bps), 0, BIG, "0.2.0", 0, NULL},
	{"udp_token", PF_NAME, 0, O(udp_token), 0, 0, "0.2.0", 0, NULL},
};

void weir_token_new(char hex[2 * PROTO_TOKEN_LEN + 1])
{
	uint8_t r[PROTO_TOKEN_LEN];

	clk_random(r, sizeof(r));
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(hex + 2 * i, 3, "%02x", r[i]);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int weir_token_bytes(const char *hex, uint8_t token[PROTO_TOKEN_LEN])
{
	for (size_t i = 0; i < PROTO_TOKEN_LEN; i++) {
		int hi = hex_digit(hex[2 * i]), lo = hi < 0 ? -1 : hex_digit(hex[2 * i + 1]);

		if (lo < 0)
			return -EPROTO;
		token[i] = (uint8_t)(hi << 4 | lo);
	}
	return hex[2 * PROTO_TOKEN_LEN] ? -EPROTO : 0;
}

void weir_ok_put(const struct weir_ok *ok, const char *facts, struct buf *out)
{
	struct jw w = msg_begin(out, "ok");

	proto_fields_put(&w, ok_fields, ARRAY_LEN(ok_fields), ok);
	facts_put(&w, facts);
	jw_end_obj(&w);
}

int weir_ok_get(const struct js *msg, struct weir_ok *ok, struct weir_err *e)
{
	*ok = (struct weir_ok){0};
	return get_fields(msg, ok_fields, ARRAY_LEN(ok_fields), ok, "answer", e);
}

static const struct {
	const char *code;
	int err;
} error_codes[] = {
	{"busy", EBUSY},         {"auth", EACCES},      {"limit", EDQUOT},
	{"bad-request", EINVAL}, {"refused", EPERM},    {"unsupported", EOPNOTSUPP},
	{"timeout", ETIMEDOUT},  {"failed", EREMOTEIO},
};

const char *weir_error_code(int err)
{
	for (size_t i = 0; i < ARRAY_LEN(error_codes); i++)
		if (error_codes[i].err == err)
			return error_codes[i].code;
	return err == EPROTO || err == ERANGE || err == EMSGSIZE ? "bad-request" : "failed";
}

struct error_msg {
	char code[32], msg[200], hint[160];
};
#define E(member) PF_AT(struct error_msg, member)
static const struct proto_field error_fields[] = {
	{"code", PF_STR, PF_ALWAYS, E(code), 0, 0, "0.1.0", 0, NULL},
	{"msg", PF_STR, PF_ALWAYS, E(msg), 0, 0, "0.1.0", 0, NULL},
	{"hint", PF_STR, 0, E(hint), 0, 0, "0.1.0", 0, NULL},
};

void weir_error_put(const char *code, const char *msg, const char *hint, struct buf *out)
{
	struct error_msg v = {0};
	struct jw w = msg_begin(out, "error");

	snprintf(v.code, sizeof(v.code), "%s", code);
	snprintf(v.msg, sizeof(v.msg), "%s", msg);
	snprintf(v.hint, sizeof(v.hint), "%s", hint);
	proto_fields_put(&w, error_fields, ARRAY_LEN(error_fields), &v);
	jw_end_obj(&w);
}

int weir_error_get(const struct js *msg, struct weir_err *e)
{
	struct error_msg v = {0};
	char text[220], hint[160];
	int err = EREMOTEIO;

	(void)proto_fields_get(msg, error_fields, ARRAY_LEN(error_fields), &v, PF_LENIENT, NULL);
	for (size_t i = 0; i < ARRAY_LEN(error_codes); i++)
		if (!strcmp(error_codes[i].code, v.code))
			err = error_codes[i].err;
	safe_str(text, sizeof(text), v.msg, strlen(v.msg));
	safe_str(hint, sizeof(hint), v.hint, strlen(v.hint));
	err_set(e, WEIR_PEER, err, "%s", text[0] ? text : "the far end reported an error");
	return err_hint(e, "%s", hint);
}

/* ---- the clock and the start --------------------------------------------------------------- */

#define G(member) PF_AT(struct weir_ping, member)
static const struct proto_field ping_fields[] = {
	{"id", PF_INT, PF_ALWAYS | PF_REQUIRED, G(id), 0, BIG, "0.1.0", 0, NULL},
	{"now_ns", PF_INT, 0, G(now_ns), 0, BIG, "0.1.0", 0, NULL},
};

void weir_ping_put(const char *m, const struct weir_ping *p, struct buf *out)
{
	struct jw w = msg_begin(out, m);

	proto_fields_put(&w, ping_fields, ARRAY_LEN(ping_fields), p);
	jw_end_obj(&w);
}

int weir_ping_get(const struct js *msg, struct weir_ping *p)
{
	*p = (struct weir_ping){0};
	return get_fields(msg, ping_fields, ARRAY_LEN(ping_fields), p, "ping", NULL);
}

#define GO(member) PF_AT(struct weir_go, member)
static const struct proto_field go_fields[] = {
	{"offset_ns", PF_INT, 0, GO(offset_ns), INT64_MIN + 1, BIG, "0.1.0", 0, NULL},
	{"error_ns", PF_INT, PF_ALWAYS, GO(error_ns), -1, BIG, "0.1.0", 0, NULL},
};

void weir_go_put(const struct weir_go *g, struct buf *out)
{
	struct jw w = msg_begin(out, "go");

	proto_fields_put(&w, go_fields, ARRAY_LEN(go_fields), g);
	jw_end_obj(&w);
}

int weir_go_get(const struct js *msg, struct weir_go *g)
{
	*g = (struct weir_go){.error_ns = -1};
	return get_fields(msg, go_fields, ARRAY_LEN(go_fields), g, "start", NULL);
}

/* ---- results ---------------------------------------------------------------------------------- */

#define RS(member) PF_AT(struct proto_result, member)
#define RATIO_MAX  1000000
static const struct proto_field result_fields[] = {
	{"cpu_total", PF_REAL, PF_ALWAYS, RS(cpu_total), -1, RATIO_MAX, "0.1.0", 0, NULL},
	{"cpu_user", PF_REAL, PF_ALWAYS, RS(cpu_user), -1, RATIO_MAX, "0.1.0", 0, NULL},
	{"cpu_system", PF_REAL, PF_ALWAYS, RS(cpu_system), -1, RATIO_MAX, "0.1.0", 0, NULL},
	{"cc", PF_STR, 0, RS(cc), 0, 0, "0.1.0", 0, NULL},
};
#define RF(member) PF_AT(struct proto_flow_result, member)
static const struct proto_field flow_fields[] = {
	{"bytes", PF_UINT, PF_ALWAYS | PF_REQUIRED, RF(bytes), 0, BIG, "0.1.0", 0, NULL},
	{"retransmits", PF_INT, PF_ALWAYS, RF(retransmits), -1, BIG, "0.1.0", 0, NULL},
	{"seconds", PF_REAL, PF_ALWAYS, RF(seconds), 0, 1000000000, "0.1.0", 0, NULL},
	{"udp", PF_TRUE, 0, RF(udp), 0, 1, "0.2.0", 0, NULL},
	{"packets", PF_INT, 0, RF(packets), 0, BIG, "0.2.0", 0, NULL},
	{"lost", PF_INT, 0, RF(lost), 0, BIG, "0.2.0", 0, NULL},
	{"omitted_packets", PF_INT, 0, RF(omitted_packets), 0, BIG, "0.2.0", 0, NULL},
	{"omitted_lost", PF_INT, 0, RF(omitted_lost), 0, BIG, "0.2.0", 0, NULL},
	{"jitter", PF_REAL, 0, RF(jitter), 0, 1000000, "0.2.0", 0, NULL},
};

void weir_result_put(const struct proto_result *r, struct buf *out)
{
	struct jw w = msg_begin(out, "result");

	proto_fields_put(&w, result_fields, ARRAY_LEN(result_fields), r);
	jw_end_obj(&w);
}

void weir_flows_put(const char *m, const struct proto_result *r, size_t first, struct buf *out)
{
	struct jw w = msg_begin(out, m);

	jw_u64(&w, "first", first);
	jw_arr(&w, "flows");
	for (size_t i = first; i < r->n && i < first + WEIR_CHUNK; i++) {
		jw_obj(&w, NULL);
		proto_fields_put(&w, flow_fields, ARRAY_LEN(flow_fields), &r->flows[i]);
		jw_end_obj(&w);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
}

int weir_result_get(const struct js *msg, struct proto_result *r)
{
	char cc[sizeof(r->cc)];
	int ret;

	r->cpu_total = r->cpu_user = r->cpu_system = -1;
	ret = get_fields(msg, result_fields, ARRAY_LEN(result_fields), r, "result", NULL);
	memcpy(cc, r->cc, sizeof(cc));
	safe_str(r->cc, sizeof(r->cc), cc, strlen(cc));
	return ret;
}

int weir_flows_get(const struct js *msg, struct proto_result *r)
{
	const struct js *list = js_get(msg, "flows");
	int64_t first;
	int ret = 0;

	if (js_type(list) != JS_ARR || !js_i64(js_get(msg, "first"), &first) || first < 0 ||
	    (uint64_t)first > r->n || js_len(list) > r->n - (size_t)first)
		return -EPROTO;
	for (size_t i = 0; ret == 0 && i < js_len(list); i++) {
		struct proto_flow_result *f = &r->flows[(size_t)first + i];

		*f = (struct proto_flow_result){.retransmits = -1};
		ret = get_fields(js_at(list, i), flow_fields, ARRAY_LEN(flow_fields), f, "result",
				 NULL);
	}
	return ret;
}
