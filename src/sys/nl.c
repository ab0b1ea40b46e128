/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Netlink: one socket, request and answer. The problem: each kind of object would repeat the
 * same loop over datagrams, messages and acknowledgements. The idea: requests are built in a
 * fixed buffer, answers go to a callback message by message, and an error carries the kernel's
 * own explanation (extended acknowledgement).
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/priv.h"
#include "sys/sys.h"

#define RECV_BYTES 32768 /* the kernel's largest dump datagram */

struct sys_nl {
	struct mnl_socket *s;
	uint32_t seq, port;
	char buf[RECV_BYTES];
};

static int wrap_socket(struct mnl_socket *s, struct sys_nl **out, struct weir_err *e)
{
	int on = 1, error = errno;
	struct sys_nl *nl = s ? calloc(1, sizeof(*nl)) : NULL;

	if (!nl) {
		if (s)
			mnl_socket_close(s);
		return err_os(e, s ? ENOMEM : error, "opening netlink");
	}
	nl->s = s;
	nl->port = mnl_socket_get_portid(s);
	/* Older kernels have neither: then errors are terse and dumps are not filtered. */
	mnl_socket_setsockopt(s, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(s, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	*out = nl;
	return 0;
}

int sys_nl_open(struct sys_nl **out, struct weir_err *e)
{
	return sys_nl_open_proto(NETLINK_ROUTE, out, e);
}

int sys_nl_open_proto(int proto, struct sys_nl **out, struct weir_err *e)
{
	struct mnl_socket *s = mnl_socket_open2(proto, SOCK_CLOEXEC);

	if (s && mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0) {
		int error = errno;
		mnl_socket_close(s);
		return err_os(e, error, "binding netlink");
	}
	return wrap_socket(s, out, e);
}

int sys_nl_open_in(const struct sys_ns *ns, struct sys_nl **out, struct weir_err *e)
{
	int fd = sys_socket_in(ns, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0)
		return err_os(e, -fd, "opening netlink in the namespace");
	struct mnl_socket *s = mnl_socket_fdopen(fd);
	if (s && mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0) {
		int error = errno;
		mnl_socket_close(s);
		return err_os(e, error, "binding netlink");
	}
	if (!s)
		close(fd);
	return wrap_socket(s, out, e);
}

void sys_nl_close(struct sys_nl *nl)
{
	if (!nl)
		return;
	mnl_socket_close(nl->s);
	free(nl);
}

/* ---- building ------------------------------------------------------------ */

void *nl_req(struct nl_req *r, uint16_t type, uint16_t flags, size_t hdr_len)
{
	r->nlh = mnl_nlmsg_put_header(r->buf);
	r->nlh->nlmsg_type = type;
	r->nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	return mnl_nlmsg_put_extra_header(r->nlh, hdr_len);
}

void *nl_put_header(struct nl_req *r, size_t hdr_len)
{
	return mnl_nlmsg_put_extra_header(r->nlh, hdr_len);
}

void nl_put(struct nl_req *r, uint16_t type, const void *p, size_t n)
{
	mnl_attr_put_check(r->nlh, sizeof(r->buf), type, n, p);
}

void nl_put_u32(struct nl_req *r, uint16_t type, uint32_t v)
{
	nl_put(r, type, &v, sizeof(v));
}

void nl_put_u64(struct nl_req *r, uint16_t type, uint64_t v)
{
	nl_put(r, type, &v, sizeof(v));
}

void nl_put_str(struct nl_req *r, uint16_t type, const char *s)
{
	nl_put(r, type, s, strlen(s) + 1);
}

struct nlattr *nl_nest(struct nl_req *r, uint16_t type)
{
	return mnl_attr_nest_start(r->nlh, type);
}

void nl_nest_end(struct nl_req *r, struct nlattr *nest)
{
	mnl_attr_nest_end(r->nlh, nest);
}

/* ---- reading ------------------------------------------------------------- */

static int index_attr(const struct nlattr *attr, void *arg)
{
	struct nl_attrs *a = arg;
	uint16_t type = mnl_attr_get_type(attr);

	if (type < NL_ATTRS_MAX)
		a->at[type] = attr;
	return MNL_CB_OK;
}

void nl_parse(struct nl_attrs *a, const struct nlmsghdr *nlh, size_t hdr_len)
{
	*a = (struct nl_attrs){0};
	if (nl_header(nlh, hdr_len))
		mnl_attr_parse(nlh, (unsigned)hdr_len, index_attr, a);
}

void nl_parse_nest(struct nl_attrs *a, const struct nlattr *nest)
{
	*a = (struct nl_attrs){0};
	if (nest)
		mnl_attr_parse_nested(nest, index_attr, a);
}

void nl_parse_after(struct nl_attrs *a, const struct nlattr *attr, size_t skip)
{
	size_t n = attr ? mnl_attr_get_payload_len(attr) : 0;

	*a = (struct nl_attrs){0};
	skip = MNL_ALIGN(skip);
	if (n > skip)
		mnl_attr_parse_payload((const char *)mnl_attr_get_payload(attr) + skip, n - skip,
				       index_attr, a);
}

struct each {
	int (*cb)(const struct nlattr *, void *);
	void *arg;
	int ret;
};

static int each_attr(const struct nlattr *attr, void *arg)
{
	struct each *w = arg;

	w->ret = w->cb(attr, w->arg);
	return w->ret ? MNL_CB_STOP : MNL_CB_OK;
}

int nl_each(const struct nlattr *nest, int (*cb)(const struct nlattr *, void *), void *arg)
{
	struct each w = {.cb = cb, .arg = arg};

	if (nest)
		mnl_attr_parse_nested(nest, each_attr, &w);
	return w.ret;
}

const void *nl_header(const struct nlmsghdr *nlh, size_t hdr_len)
{
	return mnl_nlmsg_get_payload_len(nlh) >= hdr_len ? mnl_nlmsg_get_payload(nlh) : NULL;
}

bool nl_copy(const struct nlattr *a, void *dst, size_t n)
{
	if (!a || mnl_attr_get_payload_len(a) < n)
		return false;
	memcpy(dst, mnl_attr_get_payload(a), n);
	return true;
}

void nl_copy_upto(const struct nlattr *a, void *dst, size_t n)
{
	size_t have = a ? mnl_attr_get_payload_len(a) : 0;

	memset(dst, 0, n);
	if (have)
		memcpy(dst, mnl_attr_get_payload(a), have < n ? have : n);
}

uint8_t nl_u8(const struct nlattr *a)
{
	uint8_t v = 0;

	nl_copy(a, &v, sizeof(v));
	return v;
}

uint32_t nl_u32(const struct nlattr *a)
{
	uint32_t v = 0;

	nl_copy(a, &v, sizeof(v));
	return v;
}

uint16_t nl_u16(const struct nlattr *a)
{
	uint16_t v = 0;

	nl_copy(a, &v, sizeof(v));
	return v;
}

uint64_t nl_u64(const struct nlattr *a)
{
	uint64_t v = 0;

	nl_copy(a, &v, sizeof(v));
	return v;
}

void nl_str(const struct nlattr *a, char *dst, size_t cap)
{
	size_t n = a ? mnl_attr_get_payload_len(a) : 0;

	if (n >= cap)
		n = cap - 1;
	if (n)
		memcpy(dst, mnl_attr_get_payload(a), n);
	dst[n] = '\0'; /* the kernel's own NUL, if any, ends it earlier */
}

/* ---- talking ------------------------------------------------------------- */

struct talk {
	struct sys_nl *nl;
	nl_cb cb;
	void *arg;
	const char *what;
	struct weir_err *e;
	int ret; /* the first non-zero answer of cb */
};

/* The kernel's text in an extended acknowledgement, "" when it gave none. */
static void ack_text(const struct nlmsghdr *nlh, char *dst, size_t cap)
{
	const struct nlmsgerr *m = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*m);
	struct nl_attrs a = {0};

	dst[0] = '\0';
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += mnl_nlmsg_get_payload_len(&m->msg);
	nl_parse(&a, nlh, skip);
	char raw[160];
	nl_str(a.at[NLMSGERR_ATTR_MSG], raw, sizeof(raw));
	safe_str(dst, cap, raw, strlen(raw));
}

static int take_ack(const struct talk *t, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *m = nl_header(nlh, sizeof(*m));
	char text[SAFE_MAX + 1];

	if (!m)
		return err_set(t->e, WEIR_OS, EBADMSG, "%s: short netlink answer", t->what);
	if (!m->error)
		return 0;
	ack_text(nlh, text, sizeof(text));
	err_os(t->e, -m->error, "%s", t->what);
	if (text[0])
		err_hint(t->e, "the kernel says: %.120s", text);
	return m->error;
}

/* 1 = the answer is complete, 0 = more to come, -errno. */
static int take_message(struct talk *t, const struct nlmsghdr *nlh)
{
	if (nlh->nlmsg_seq != t->nl->seq)
		return 0; /* the rest of an answer that was given up */
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		int ret = take_ack(t, nlh);
		return ret < 0 ? ret : 1;
	}
	if (nlh->nlmsg_type == NLMSG_DONE)
		return 1;
	if (nlh->nlmsg_type >= NLMSG_MIN_TYPE && t->cb && !t->ret)
		t->ret = t->cb(nlh, t->arg);
	return 0;
}

static int take_datagram(struct talk *t)
{
	ssize_t n = mnl_socket_recvfrom(t->nl->s, t->nl->buf, sizeof(t->nl->buf));
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)(const void *)t->nl->buf;
	int left = (int)n;

	if (n < 0)
		return errno == EINTR ? 0 : err_os(t->e, errno, "%s", t->what);
	while (mnl_nlmsg_ok(nlh, left)) {
		int ret = take_message(t, nlh);
		if (ret)
			return ret;
		nlh = mnl_nlmsg_next(nlh, &left);
	}
	return 0;
}

int nl_talk(struct sys_nl *nl, struct nl_req *r, nl_cb cb, void *arg, const char *what,
	    struct weir_err *e)
{
	struct talk t = {.nl = nl, .cb = cb, .arg = arg, .what = what, .e = e};
	int ret;

	r->nlh->nlmsg_seq = ++nl->seq;
	/* A dump ends by itself; everything else is asked to acknowledge. */
	if ((r->nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		r->nlh->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(nl->s, r->nlh, r->nlh->nlmsg_len) < 0)
		return err_os(e, errno, "%s", what);
	do {
		ret = take_datagram(&t);
	} while (ret == 0);
	return ret < 0 ? ret : t.ret;
}

int nl_messages(const void *messages, size_t n, nl_cb cb, void *arg)
{
	const char *p = messages;
	int ret = 0;

	/* mnl_nlmsg_ok takes a length as int, and so one of over 2 GiB for a small one. */
	while (ret == 0 && n >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)(const void *)p;
		size_t len = nlh->nlmsg_len;

		if (len < sizeof(*nlh) || len > n)
			break;
		if (nlh->nlmsg_type >= NLMSG_MIN_TYPE)
			ret = cb(nlh, arg);
		len = MNL_ALIGN(len);
		len = len < n ? len : n;
		p += len;
		n -= len;
	}
	return ret;
}
