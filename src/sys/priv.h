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

/* ---- knobs (knob*.c, tc.c, ethtool.c) -------------------------------------- */

/* The one spelling of a value, by type and range alone; -EINVAL or -ERANGE. */
int sys_knob_canon(const struct sys_knob *k, const char *value, char dst[SYS_VALUE_CAP]);
/* Whether what was asked for is what is there. */
bool sys_knob_same(const struct sys_knob *k, const char *want, const char *have);
int sys_knob_bad_value(const struct sys_ref *r, const char *value, struct weir_err *e);
bool sys_knob_arg_ok(const struct sys_knob *k, const char *arg);
/* Writes and reads back. canon is checked already. */
int sys_knob_set(const struct sys_ref *r, const char *canon, struct weir_err *e);
bool sys_has_word(const char *words, const char *word); /* of words between blanks */

/* What a knob is of and which part: "eth0:1" is eth0 and 1. */
struct sys_parts {
	char of[SYS_ARG_CAP], part[SYS_ARG_CAP];
};
void sys_ref_parts(const struct sys_ref *r, struct sys_parts *p);

/* A way to a value: raw text, of which the canonical form is made. */
struct sys_door {
	ssize_t (*get)(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e);
	int (*set)(const struct sys_ref *r, const char *canon, struct weir_err *e);
};
extern const struct sys_door sys_door_sysctl, sys_door_file, sys_door_boot,
	sys_door_build;                                                        /* knob_file.c */
extern const struct sys_door sys_door_link, sys_door_qdisc;                    /* knob_link.c */
extern const struct sys_door sys_door_ethtool, sys_door_bit, sys_door_rss;     /* ethtool.c */
extern const struct sys_door sys_door_module, sys_door_service, sys_door_wifi; /* knob_tool.c */

#define SYS_PATH_CAP 320
/* root, then path with arguments for its %s; false when it does not fit or leads out of root. */
bool sys_path(char dst[SYS_PATH_CAP], const char *root, const char *path, const char *of,
	      const char *part);
/* Refused where the change would lose what putting back does not bring (knob_loss.c). */
int sys_knob_loss(const struct sys_ref *r, const char *canon, struct weir_err *e);
/* The same for what the kernel sets along with it; asked before a change, not before its undoing. */
int sys_knob_along(const struct sys_ref *r, const char *old, const char *canon, struct weir_err *e);
/* The names of a bitset (features, private flags) of an interface. */
int sys_bits_each(const struct sys_knob *k, const char *iface,
		  int (*cb)(const char *name, bool on, void *arg), void *arg, struct weir_err *e);
bool sys_service_known(const char *name);
const char *sys_service_at(size_t i);

/* The tables of /proc/net/tcp and tcp6 as text. */
bool sys_contact_judge(struct sys_contact *c, const char *table4, const char *table6,
		       int64_t now_ns, int64_t limit_ns);

#define SYS_TC_DEFAULT "default" /* the one that the kernel gives an interface by itself */
int sys_tc_canon(const char *value, char dst[SYS_VALUE_CAP], struct weir_err *e);
bool sys_tc_same(const char *want, const char *have);
bool sys_tc_is_default(const char *text);
bool sys_tc_default_of(const char *text, const char *leaf);
int sys_qdisc_text(struct sys_nl *nl, const char *name, char dst[SYS_VALUE_CAP],
		   struct weir_err *e);
int sys_qdisc_default(struct sys_nl *nl, const char *name, struct weir_err *e);

struct sys_iface_id {
	int index;
	uint8_t mac[6],
		perm_mac[6]; /* perm_mac: zero where there is none, as a veth's: its address may change */
	char driver[32];
};
int sys_iface_id(const char *root, const char *name, struct sys_iface_id *id, struct weir_err *e);
/* The present name of an interface; false when it is gone or another one has its number. */
bool sys_iface_find(const char *root, const struct sys_iface_id *id, char name[IF_NAMESIZE]);

/* ---- the journal's file (journal_doc.c: text; journal_dir.c: access) ------- */

#define SYS_JOURNAL_MAX   (256U << 10) /* bytes */
#define SYS_JOURNAL_MAX_N 1024         /* entries */
#define SYS_BOOT_CAP      40
#define SYS_OWN_DIR       "/run/weir" /* root's, when nothing else is said */
struct sys_entry {
	uint32_t seq;
	char boot[SYS_BOOT_CAP];
	uint64_t netns;
	const struct sys_knob *knob;
	char arg[SYS_ARG_CAP]; /* "" = none */
	struct sys_iface_id iface;
	char old[SYS_VALUE_CAP], now[SYS_VALUE_CAP]; /* canonical */
	bool ended;
};
struct sys_doc {
	struct sys_entry *v; /* seq ascends */
	size_t n;
	unsigned bad;     /* lines that are not what weir writes */
	int64_t owner;    /* the process that wrote it, for people; 0 = not said */
	size_t whole_len; /* bytes up to the last newline: the rest is a write that was cut */
};
extern const char sys_doc_header[];
/* Any bytes; -ENOMEM or -EFBIG. */
int sys_doc_parse(const char *text, size_t n, struct sys_doc *d);
void sys_doc_fini(struct sys_doc *d);
size_t sys_doc_open(const struct sys_doc *d); /* entries not ended */
void sys_doc_put_entry(struct buf *b, const struct sys_entry *e);
void sys_doc_put_end(struct buf *b, uint32_t seq);
void sys_doc_put_owner(struct buf *b, int64_t pid);

/* Exclusive among all weirs on this directory; close() releases it. */
int sys_jdir_lock(int dir, struct weir_err *e);
bool sys_jdir_is_journal(const char *name);
/* An existing file, proven to be the caller's alone; -errno. */
int sys_jfile_open(int dir, const char *name, struct weir_err *e);
int sys_jfile_create(int dir, char name[40], struct weir_err *e);
bool sys_jfile_own(int fd); /* takes the owner's lock: false while its owner lives */
int sys_jfile_load(int fd, struct sys_doc *d, struct weir_err *e);
/* Appends whole or not at all, durably. */
int sys_jfile_append(int fd, const struct buf *b, struct weir_err *e);

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
#define NL_ATTRS_MAX 168 /* nl80211 has many */
struct nl_attrs {
	const struct nlattr *at[NL_ATTRS_MAX];
};
void nl_parse(struct nl_attrs *a, const struct nlmsghdr *nlh, size_t hdr_len);
void nl_parse_nest(struct nl_attrs *a, const struct nlattr *nest);
void nl_parse_after(struct nl_attrs *a, const struct nlattr *attr, size_t skip);
/* Each attribute of a nest, also of one type; a non-zero return stops and is returned. */
int nl_each(const struct nlattr *nest, int (*cb)(const struct nlattr *, void *), void *arg);
const void *nl_header(const struct nlmsghdr *nlh, size_t hdr_len); /* NULL when too short */
/* Reads of an attribute that may be absent or short: 0 or false then. */
uint8_t nl_u8(const struct nlattr *a);
uint32_t nl_u32(const struct nlattr *a);
uint16_t nl_u16(const struct nlattr *a);
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
/* Messages that somebody kept, one after the other; at least 4 bytes behind them can be read. */
int nl_messages(const void *messages, size_t n, nl_cb cb, void *arg);
/* The index of a link in the socket's namespace, or -errno. */
int nl_index(struct sys_nl *nl, const char *name, struct weir_err *e);

#endif
