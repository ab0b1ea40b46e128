/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys: the kernel's other interfaces, one file each: netlink (links, addresses, routes,
 * qdisc and link statistics), procfs and sysfs attributes, namespaces, capabilities, child
 * processes and the undo journal. Nothing here measures.
 */
#ifndef WEIR_SYS_H
#define WEIR_SYS_H

#include <net/if.h>
#include <netinet/in.h>
#include <sys/types.h>

#include "base/base.h"

/* ---- procfs and sysfs attributes (attr.c) ------------------------------- */

/* Reads a small text attribute, trailing newline removed. Length, or -errno (-EFBIG over cap). */
ssize_t sys_read_attr(const char *path, char *dst, size_t cap);
int sys_read_i64(const char *path, int64_t *v);
int sys_write_attr(const char *path, const char *value, struct weir_err *e);
/* A whole file up to max bytes into b. */
int sys_read_file(const char *path, size_t max, struct buf *b, struct weir_err *e);
int sys_write_all(int fd, const void *p, size_t n); /* 0 or -errno; waits where it must */
/* "net.ipv4.tcp_rmem": components checked, opened beneath /proc/sys (openat2
 * RESOLVE_BENEATH | NO_SYMLINKS) (security 19). */
ssize_t sys_sysctl_get(const char *name, char *dst, size_t cap);
int sys_sysctl_set(const char *name, const char *value, struct weir_err *e);

/* ---- knobs (knob*.c) ----------------------------------------------------- */

/*
 * A knob: what weir may change and knows how to undo. One row each (knob_rows.c): where it is
 * found, what values it may have, and how it comes back. A kind of place (via) has its reader and
 * its writer; a type of value has its one canonical spelling.
 */
enum sys_scope { SYS_NETNS, SYS_HOST, SYS_IFACE };
enum sys_via {
	SYS_VIA_SYSCTL, /* path: the sysctl's name */
	SYS_VIA_FILE, /* path: a file of procfs or sysfs; %s = what the knob is of, then its part */
	SYS_VIA_LINK, /* attr: IFLA_* */
	SYS_VIA_ETHTOOL, /* msg: ETHTOOL_MSG_*_GET, attr within its answer; width of 1 or 4 bytes */
	SYS_VIA_FEATURE, /* msg: a bitset of ethtool's; the part is a bit's name */
	SYS_VIA_RSS,     /* the indirection table */
	SYS_VIA_QDISC,   /* the root queue discipline, in tc's words */
	SYS_VIA_MODULE,  /* loaded or not */
	SYS_VIA_SERVICE, /* running or not */
	SYS_VIA_WIFI,    /* by iw; path: its word */
	SYS_VIA_BOOT,    /* path: a word of the kernel's command line */
	SYS_VIA_BUILD,   /* path: a line of the kernel's configuration */
};
enum sys_type {
	SYS_INT,    /* [min, max] */
	SYS_PAIR,   /* two, ascending */
	SYS_TRIPLE, /* three, ascending */
	SYS_CHOICE, /* one of words */
	SYS_WORD,   /* letters, digits, _ and - */
	SYS_TEXT,   /* the same and . , : + / without an empty one */
	SYS_MASK,   /* CPUs or queues in hexadecimal, commas between 32 bits */
	SYS_CPUS,   /* CPUs: "0-3,8" */
	SYS_ORWORD, /* an integer, or words */
	SYS_TC,     /* a queue discipline */
};
enum sys_revert { SYS_RUNTIME, SYS_REBOOT, SYS_REBUILD };
enum sys_part { SYS_WHOLE, SYS_RX_QUEUE, SYS_TX_QUEUE, SYS_BIT, SYS_STATE, SYS_PARAM };
struct sys_knob {
	const char *name; /* "net.ipv4.tcp_rmem", "iface.mtu", "cpu.governor": CLASS.KNOB */
	const char *path;
	enum sys_via via;
	enum sys_scope scope;
	enum sys_part part; /* of what it is of: a queue, a bit … */
	enum sys_type type;
	int64_t min, max;
	const char *words; /* "off on" */
	uint16_t msg, attr, width;
	enum sys_revert revert;
	const char *affects; /* for people */
};
const struct sys_knob *sys_knob(const char *name);
const struct sys_knob *sys_knob_at(size_t i);

/* A knob of one thing. */
#define SYS_ARG_CAP   96
#define SYS_VALUE_CAP 192
struct sys_ref {
	const struct sys_knob *knob;
	const char *root;      /* a folder that stands for / (tests, images); NULL = this machine */
	char arg[SYS_ARG_CAP]; /* "eth0", "eth0:0", "0", "nf_conntrack:hashsize"; "" = none */
};
/* "sysctl:net.ipv4.tcp_rmem" (also without "sysctl:"), "iface:eth0.mtu", "iface:eth0.rps_cpus:0",
 * "cpu:0.governor", "irq:24.affinity", "module:NAME.loaded", "service:NAME.state". */
int sys_ref_parse(struct sys_ref *r, const char *text, size_t n, struct weir_err *e);
#define SYS_REF_TEXT (SYS_ARG_CAP + 80)
void sys_ref_text(const struct sys_ref *r, char dst[SYS_REF_TEXT]);
/* Checks the value by the knob's own parser. */
int sys_knob_check(const struct sys_ref *r, const char *value, struct weir_err *e);
/* The present value in its canonical form. -ENOENT, -EOPNOTSUPP: there is no such thing here. */
ssize_t sys_knob_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e);
/* Whether it can be set while its module is loaded: some parameters are only read then. */
bool sys_knob_writable(const struct sys_ref *r);
/* Whether host-wide settings can be changed from here: not within a container. */
bool sys_on_machine(void);
/* What it may be, for people: "0..255", "off | on". */
void sys_knob_range(const struct sys_knob *k, char *dst, size_t cap);
const char *sys_knob_needs(const struct sys_knob *k); /* the privilege to change it */
/* Every knob of everything that is here; pattern NULL = all but modules and interrupts. A pattern
 * with * ? or [ is matched against the whole name, another is found anywhere in it. */
int sys_knob_list(const char *root, const char *pattern,
		  int (*cb)(const struct sys_ref *r, void *arg), void *arg, struct weir_err *e);

/* Opens (makes, when make) a directory for what is kept while weir runs, and proves that it is the
 * caller's alone (owner, mode 0700, no link). NULL = /run/weir. */
int sys_own_dir(const char *dir, bool make, struct weir_err *e);

/* ---- the undo journal (journal.c; security 17, 18) ---------------------- */

/*
 * Every change is written to the journal first and undone on close, on a signal (by the
 * guardian) and at the next start after a kill. Entries are typed (knob, argument, old,
 * new) and re-checked by the knob's own parser; never a path or shell text. Restored only where
 * the present value is what weir wrote.
 */
struct sys_journal;
/* dir NULL = /run/weir (root) or $XDG_RUNTIME_DIR handed in by the caller. root: as in sys_ref; it
 * outlives the journal. Replays nothing. */
int sys_journal_open(const char *dir, const char *root, struct sys_journal **out,
		     struct weir_err *e);
/* Writes the entry durably, then the knob. */
int sys_journal_set(struct sys_journal *j, const struct sys_ref *ref, const char *value,
		    struct weir_err *e);
struct sys_replay {
	unsigned restored, changed_since, void_boot, failed, busy; /* counts of entries */
};
/* Undoes this journal's own changes, newest first. 0 when nothing is left; what could not be put
 * back stays, is counted in failed, and the first reason is returned. */
int sys_journal_undo(struct sys_journal *j, struct sys_replay *r, struct weir_err *e);
/* Undoes what dead owners left in the directory (another boot's entries are void). As above. */
int sys_journal_recover(const char *dir, const char *root, struct sys_replay *r,
			struct weir_err *e);
struct sys_contact;
/* Starts the guardian: a process in its own session that undoes at once when weir dies, after
 * max_ns, or when who (NULL = nobody's) no longer answers; then sys_journal_set gives -ETIMEDOUT.
 * Again: a new one in its place. Start it before any thread. */
int sys_journal_guard(struct sys_journal *j, int64_t max_ns, const struct sys_contact *who,
		      struct weir_err *e);
bool sys_journal_guard_gone(const struct sys_journal *j); /* it has undone, or was killed */
void sys_journal_close(struct sys_journal *j); /* undoes; removes it when nothing is left */

/* ---- the other end of a connection (contact.c; security 18) ---------------- */

struct sys_contact {
	uint8_t peer[16]; /* IPv4 mapped */
	unsigned short peer_port, local_port;
	bool seen;
	int64_t silent_since_ns; /* 0 = it answers */
};
/* From "PEER PORT LOCAL PORT" (SSH_CONNECTION); false when it says nothing. */
bool sys_contact_init(struct sys_contact *c, const char *ssh_connection);
/* The same from what this process's ancestors were started with: sudo and su drop the variable. */
bool sys_contact_of_parents(struct sys_contact *c);
/* What was sent is not acknowledged since limit_ns. */
bool sys_contact_lost(struct sys_contact *c, int64_t now_ns, int64_t limit_ns);

/* ---- capabilities and privileges (priv.c; security 16) ------------------ */

bool sys_cap_have(int cap); /* effective; cap = CAP_* of linux/capability.h */
/* Empties all capability sets and sets NO_NEW_PRIVS; keeps the user. Verified. */
int sys_cap_drop(struct weir_err *e);
/* setgroups, setres*id to uid/gid, then sys_cap_drop. Verified, else an error. */
int sys_priv_drop(uid_t uid, gid_t gid, struct weir_err *e);
int sys_user_lookup(const char *name, uid_t *uid, gid_t *gid, struct weir_err *e);

/* ---- child processes (child.c) ------------------------------------------ */

struct sys_child {
	pid_t pid;
	int pidfd; /* -1 when the kernel has none */
	int out;   /* read end of its stdout, -1 when not captured; sys_child_stop closes it */
	int64_t cpu_user_ns, cpu_sys_ns; /* set when it is reaped */
};
enum sys_child_flag {
	SYS_CHILD_PIPE_OUT = 1,
	SYS_CHILD_DIE_WITH_PARENT = 2,
	SYS_CHILD_NULL_IN = 4,
	SYS_CHILD_NEW_SESSION = 8,
	SYS_CHILD_QUIET = 16,    /* stdout and stderr to /dev/null */
	SYS_CHILD_OWN_SYSFS = 32 /* /sys of its network namespace, where that can be mounted */
};
/* execvp; extra_env: "K=V" strings, NULL-terminated, may be NULL; netns_fd/userns_fd -1 = own. */
int sys_child_start(struct sys_child *c, char *const argv[], unsigned flags,
		    const char *const *extra_env, int netns_fd, int userns_fd, struct weir_err *e);
/* Waits up to timeout_ns (< 0: no limit). The shell's status code (128+n for a signal), or
 * -ETIMEDOUT. */
int sys_child_wait(struct sys_child *c, int64_t timeout_ns);
/* SIGTERM, SIGKILL after grace_ns, reap; closes the descriptors. Also after a wait. */
void sys_child_stop(struct sys_child *c, int64_t grace_ns);

/* ---- namespaces (ns.c) --------------------------------------------------- */

/*
 * Anonymous network namespaces, held by a process that dies with its parent. Without
 * CAP_SYS_ADMIN a user namespace is made first where the kernel allows it (mapping the
 * caller to root in it).
 */
struct sys_ns {
	pid_t holder;
	int net_fd, user_fd; /* user_fd -1 when no user namespace was needed */
};
int sys_ns_new(struct sys_ns *ns, const struct sys_ns *same_user_as, struct weir_err *e);
void sys_ns_free(struct sys_ns *ns);
int sys_ns_enter(const struct sys_ns *ns, struct weir_err *e); /* this thread */
/* sys_sysctl_set in ns (by a process that enters it). */
int sys_sysctl_set_in(const struct sys_ns *ns, const char *name, const char *value,
		      struct weir_err *e);
bool sys_ns_available(struct weir_err *why); /* why says what would provide it */

/* ---- netlink (nl.c, nl_link.c, nl_addr.c, nl_qdisc.c; libmnl) ------------ */

struct sys_nl;
int sys_nl_open(struct sys_nl **out, struct weir_err *e); /* in the thread's namespace */
int sys_nl_open_proto(int proto, struct sys_nl **out, struct weir_err *e); /* NETLINK_… */
/* Opens the socket inside ns (a helper thread enters it). */
int sys_nl_open_in(const struct sys_ns *ns, struct sys_nl **out, struct weir_err *e);
void sys_nl_close(struct sys_nl *nl);

struct sys_link {
	int index, mtu, master, link; /* master, link: 0 = none */
	char name[IF_NAMESIZE], kind[16], qdisc[16];
	uint8_t mac[6], perm_mac[6];
	bool up, running, has_mac, has_perm_mac;
	uint32_t gso_max_size, gro_max_size, tx_queues, rx_queues;
	struct sys_link_stats {
		uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors,
			rx_dropped, tx_dropped, rx_missed, rx_nohandler;
	} stats;
};
/* Calls back for each; a non-zero return stops and is returned. */
int sys_links(struct sys_nl *nl, int (*cb)(const struct sys_link *, void *), void *arg,
	      struct weir_err *e);
int sys_link_get(struct sys_nl *nl, const char *name, struct sys_link *out, struct weir_err *e);

struct sys_addr {
	int index, family; /* AF_INET, AF_INET6 */
	uint8_t addr[16], prefix_len;
	uint8_t scope;
};
int sys_addrs(struct sys_nl *nl, int (*cb)(const struct sys_addr *, void *), void *arg,
	      struct weir_err *e);
struct sys_route {
	int family, oif;
	uint8_t gateway[16];
	bool has_gateway;
	uint32_t mtu, advmss;
	uint8_t src[16];
	bool has_src;
};
int sys_route_get(struct sys_nl *nl, int family, const void *dst, struct sys_route *out,
		  struct weir_err *e);

struct sys_qdisc {
	int index;
	uint32_t handle, parent;
	char kind[16];
	uint64_t bytes, packets, drops, overlimits, requeues;
	uint32_t qlen, backlog;
};
int sys_qdiscs(struct sys_nl *nl, int index, int (*cb)(const struct sys_qdisc *, void *), void *arg,
	       struct weir_err *e);

/* Making a topology. */
int sys_link_add_veth(struct sys_nl *nl, const char *name, const char *peer, int peer_netns_fd,
		      struct weir_err *e);
int sys_link_set_up(struct sys_nl *nl, const char *name, struct weir_err *e);
int sys_link_set_mtu(struct sys_nl *nl, const char *name, int mtu, struct weir_err *e);
int sys_addr_add(struct sys_nl *nl, const char *name, int family, const void *addr, int prefix_len,
		 struct weir_err *e);
int sys_route_add(struct sys_nl *nl, int family, const void *dst, int prefix_len,
		  const void *gateway, struct weir_err *e);
/* Token bucket on egress, for tests that need a known rate; -EOPNOTSUPP without sch_tbf. */
int sys_qdisc_add_tbf(struct sys_nl *nl, const char *name, uint64_t rate_bps, uint32_t burst_bytes,
		      uint32_t limit_bytes, struct weir_err *e);

/* A queue discipline in tc's words ("tbf rate 10mbit burst 16kb limit 64kb"), in place of the one
 * at parent (0 = the root); handle 0 = the kernel's choice. -EOPNOTSUPP names what the kernel lacks. */
int sys_qdisc_set(struct sys_nl *nl, const char *name, uint32_t parent, uint32_t handle,
		  const char *text, struct weir_err *e);

/* ---- what an interface's driver tells (driver.c) -------------------------- */

#define SYS_RSS_FLOWS                          \
	{                                      \
		"tcp4", "udp4", "tcp6", "udp6" \
	}
struct sys_driver {
	char driver[32], version[32], firmware[32], bus[32]; /* "" = not told */
	int64_t speed_bps;                                   /* 0 = not known */
	int duplex;                                          /* 1 full, 0 half, -1 not known */
	bool autoneg;
	bool has_rings, has_coalesce, has_channels, has_pause, has_eee;
	uint32_t rx_ring, tx_ring, rx_ring_max, tx_ring_max;
	uint32_t rx_usecs, rx_frames, tx_usecs, tx_frames;
	bool adaptive_rx, adaptive_tx;
	uint32_t rx_channels, tx_channels, combined, combined_max;
	bool pause_autoneg, pause_rx, pause_tx, eee;
	uint32_t rss_size, rss_queues; /* entries of the indirection table; queues that it names */
	uint32_t rss_most, rss_least;  /* entries of the queue with most, and with least of them */
	char rss_key[17];              /* digest of the hash key; "" = not told */
	const char *rss_hash;          /* "toeplitz" …; NULL = not told */
	char rss_fields[4][48];        /* of SYS_RSS_FLOWS: "src-ip dst-ip src-port dst-port" */
	bool has_rules;
	uint32_t rules;  /* ntuple: flows that are steered by hand */
	const char *fec; /* "off", "rs", "baser" …; NULL = not told */
};
int sys_driver_get(const char *iface, struct sys_driver *d);
int sys_driver_features(const char *iface, void (*cb)(void *arg, const char *name, bool on),
			void *arg);
/* Its counters (ethtool -S). The names are fixed while it is open. */
#define SYS_STAT_NAME 33
struct sys_driver_stats;
int sys_driver_stats_open(const char *iface, struct sys_driver_stats **out);
size_t sys_driver_stats_n(const struct sys_driver_stats *d);
void sys_driver_stats_name(const struct sys_driver_stats *d, size_t i, char dst[SYS_STAT_NAME]);
const uint64_t *sys_driver_stats_read(struct sys_driver_stats *d); /* borrowed; NULL = refused */
void sys_driver_stats_close(struct sys_driver_stats *d);

/* ---- packet filter rules of the namespace (nl_filter.c) -------------------- */

struct sys_filter_count {
	uint32_t tables, chains, rules;
	uint32_t hooks; /* chains that packets come into; without any, no packet passes a rule */
};
int sys_nft_count(struct sys_filter_count *c);
/* One of the older tables ("filter"), which must exist: asking for another makes it. */
int sys_iptables_count(int family, const char *table, uint32_t *rules);

/* ---- Wi-Fi over nl80211 (nl_wifi.c) --------------------------------------- */

enum sys_wifi_gen { SYS_WIFI_LEGACY, SYS_WIFI_HT, SYS_WIFI_VHT, SYS_WIFI_HE, SYS_WIFI_EHT };
struct sys_wifi_rate {
	uint64_t bps; /* 0 = not known, and then nothing else is */
	enum sys_wifi_gen gen;
	int mcs, streams, width_mhz, gi_ns; /* mcs of HT over all streams; -1 = none */
};
#define SYS_WIFI_CHAINS 8
struct sys_wifi_station {
	uint8_t mac[6];
	struct sys_wifi_rate tx, rx;
	int signal_dbm, signal_avg_dbm, chain_dbm[SYS_WIFI_CHAINS]; /* 0 = not known */
	size_t n_chains;
	bool has_retries, has_expected;
	uint64_t tx_packets, rx_packets, tx_bytes, rx_bytes, tx_retries, tx_failed;
	uint64_t expected_bps, tx_duration_us, rx_duration_us, connected_s, inactive_ms;
};
struct sys_wifi_survey { /* of the channel in use, since the driver came up */
	bool known, has_noise, has_time;
	int noise_dbm;
	uint64_t time_ms, busy_ms, rx_ms, tx_ms;
};
#define SYS_WIFI_STATIONS 256
struct sys_wifi {
	char name[IF_NAMESIZE];
	int index, phy;
	const char *type;                    /* "managed", "AP", … */
	int freq_mhz, center_mhz, width_mhz; /* 0 = not known */
	bool has_power;
	double power_dbm;
	struct sys_wifi_survey survey;
	size_t n;
	bool more; /* stations beyond the table */
	struct sys_wifi_station station[SYS_WIFI_STATIONS];
};
/* What the driver tells of a device. -ENODEV: none of that name; WEIR_MISSING: no Wi-Fi here. */
int sys_wifi_get(const char *name, struct sys_wifi *out, struct weir_err *e);
/* The same from kept messages; at least 4 bytes behind them can be read. */
int sys_wifi_decode(const void *messages, size_t n, const char *name, struct sys_wifi *out,
		    struct weir_err *e);
int sys_wifi_channel(int freq_mhz); /* its number; 0 = none */

/* ---- TCP connections of the namespace (nl_sock.c) --------------------------- */

struct sys_tcp { /* counters since it was made; what an older kernel does not tell is 0 */
	int family;
	uint64_t cookie; /* its own while it lives */
	uint8_t local[16], peer[16];
	uint16_t local_port, peer_port;
	uint32_t rtt_us, min_rtt_us, cwnd, mss;
	uint64_t retrans, bytes_acked, bytes_received, busy_us, rwnd_us, sndbuf_us;
};
/* Established ones, through a socket of NETLINK_SOCK_DIAG. */
int sys_tcps(struct sys_nl *diag, int (*cb)(const struct sys_tcp *, void *), void *arg,
	     struct weir_err *e);

/* ---- socket diagnostics of the namespace (snmp.c) ------------------------ */

/* One counter of /proc/net/snmp or netstat: "Tcp", "RetransSegs". */
int sys_snmp_get(const char *group, const char *name, int64_t *v);

#endif
