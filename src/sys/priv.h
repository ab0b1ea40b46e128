/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of sys share among themselves. */
#ifndef WEIR_SYS_PRIV_H
#define WEIR_SYS_PRIV_H

#include <linux/netlink.h>

#include "sys/sys.h"

/* ---- processes (child.c, ns.c) ------------------------------------------- */

/* SIGKILL when parent's thread ends; -1 with errno when it is gone already. */
int sys_die_with_parent(pid_t parent);
/* Closes all descriptors but the n (ascending) given; 0 to 2 become /dev/null. */
void sys_only_keep(const int *fds, unsigned n);
/* A socket made inside ns, or -errno. */
int sys_socket_in(const struct sys_ns *ns, int family, int type, int proto);

/* ---- text (attr.c, snmp.c) ------------------------------------------------ */

int sys_parse_i64(const char *s, int64_t *v); /* the whole of s, decimal */
int sys_snmp_parse(const char *text, const char *group, const char *name, int64_t *v);

/* ---- netlink messages (nl.c, the only user of libmnl) -------------------- */

#define NL_REQ_MAX 2048
struct nl_req {
	_Alignas(8) uint8_t buf[NL_REQ_MAX];
	struct nlmsghdr *nlh;
};
/* Starts a request; returns its zeroed family header of hdr_len bytes. */
void *nl_req(struct nl_req *r, uint16_t type, uint16_t flags, size_t hdr_len);
void *nl_put_header(struct nl_req *r, size_t hdr_len); /* a second header, inside a nest */
void nl_put(struct nl_req *r, uint16_t type, const void *p, size_t n);
void nl_put_u32(struct nl_req *r, uint16_t type, uint32_t v);
void nl_put_u64(struct nl_req *r, uint16_t type, uint64_t v);
void nl_put_str(struct nl_req *r, uint16_t type, const char *s);
struct nlattr *nl_nest(struct nl_req *r, uint16_t type);
void nl_nest_end(struct nl_req *r, struct nlattr *nest);

/* Attributes by type: NULL where absent. Types above max are left out. */
#define NL_ATTRS_MAX 80
struct nl_attrs {
	const struct nlattr *at[NL_ATTRS_MAX];
};
void nl_parse(struct nl_attrs *a, const struct nlmsghdr *nlh, size_t hdr_len);
void nl_parse_nest(struct nl_attrs *a, const struct nlattr *nest);
const void *nl_header(const struct nlmsghdr *nlh, size_t hdr_len); /* NULL when too short */
/* Reads of an attribute that may be absent or short: 0 or false then. */
uint32_t nl_u32(const struct nlattr *a);
uint64_t nl_u64(const struct nlattr *a);
void nl_str(const struct nlattr *a, char *dst, size_t cap);
bool nl_copy(const struct nlattr *a, void *dst, size_t n); /* the first n bytes */
/* Up to n bytes, the rest of dst zero: kernel structs grow and shrink. */
void nl_copy_upto(const struct nlattr *a, void *dst, size_t n);

/* Sends and reads until acknowledgement or end of dump. cb (may be NULL) sees each message; a
 * non-zero return ends the calls and is returned. what: for the error, with the kernel's text. */
typedef int (*nl_cb)(const struct nlmsghdr *nlh, void *arg);
int nl_talk(struct sys_nl *nl, struct nl_req *r, nl_cb cb, void *arg, const char *what,
	    struct weir_err *e);
/* The index of a link in the socket's namespace, or -errno. */
int nl_index(struct sys_nl *nl, const char *name, struct weir_err *e);

#endif
