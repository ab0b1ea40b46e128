/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What runs and how the kernel is set: sysctls that are not the kernel's own default, modules,
 * packet filter rules, connection tracking, services. These are what people change "to see whether
 * it helps", and forget to change back.
 */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define MODULES_MAX  400
#define SERVICES_MAX 200

/* The kernel's own values (Linux 6.1 and later agree). NULL: it depends on the memory or on the
 * build, and is always told. */
/* clang-format off */
static const struct {
	const char *name, *fallback;
} sysctls[] = {
	{"net.core.rmem_max", "212992"}, {"net.core.wmem_max", "212992"},
	{"net.core.rmem_default", "212992"}, {"net.core.wmem_default", "212992"},
	{"net.core.optmem_max", NULL}, {"net.core.netdev_budget", "300"},
	{"net.core.netdev_budget_usecs", NULL}, {"net.core.dev_weight", "64"},
	{"net.core.dev_weight_rx_bias", "1"}, {"net.core.dev_weight_tx_bias", "1"},
	{"net.core.netdev_max_backlog", "1000"}, {"net.core.busy_poll", "0"},
	{"net.core.busy_read", "0"}, {"net.core.rps_sock_flow_entries", "0"},
	{"net.core.default_qdisc", NULL}, {"net.core.somaxconn", "4096"},
	{"net.core.gro_normal_batch", "8"}, {"net.core.bpf_jit_enable", NULL},
	{"net.core.high_order_alloc_disable", "0"}, {"net.core.skb_defer_max", NULL},
	{"net.core.netdev_tstamp_prequeue", "1"}, {"net.core.warnings", NULL},
	{"net.ipv4.tcp_rmem", NULL}, {"net.ipv4.tcp_wmem", NULL}, {"net.ipv4.tcp_mem", NULL},
	{"net.ipv4.udp_mem", NULL}, {"net.ipv4.udp_rmem_min", "4096"}, {"net.ipv4.udp_wmem_min", "4096"},
	{"net.ipv4.tcp_congestion_control", NULL}, {"net.ipv4.tcp_available_congestion_control", NULL},
	{"net.ipv4.tcp_allowed_congestion_control", NULL},
	{"net.ipv4.tcp_sack", "1"}, {"net.ipv4.tcp_dsack", "1"}, {"net.ipv4.tcp_fack", "0"},
	{"net.ipv4.tcp_timestamps", "1"}, {"net.ipv4.tcp_window_scaling", "1"},
	{"net.ipv4.tcp_ecn", "2"}, {"net.ipv4.tcp_ecn_fallback", "1"},
	{"net.ipv4.tcp_slow_start_after_idle", "1"}, {"net.ipv4.tcp_no_metrics_save", "0"},
	{"net.ipv4.tcp_no_ssthresh_metrics_save", "1"}, {"net.ipv4.tcp_autocorking", "1"},
	{"net.ipv4.tcp_notsent_lowat", "4294967295"}, {"net.ipv4.tcp_limit_output_bytes", NULL},
	{"net.ipv4.tcp_tso_win_divisor", "3"}, {"net.ipv4.tcp_min_tso_segs", "2"},
	{"net.ipv4.tcp_tso_rtt_log", "9"}, {"net.ipv4.tcp_pacing_ss_ratio", "200"},
	{"net.ipv4.tcp_pacing_ca_ratio", "120"}, {"net.ipv4.tcp_moderate_rcvbuf", "1"},
	{"net.ipv4.tcp_adv_win_scale", "1"}, {"net.ipv4.tcp_app_win", "31"},
	{"net.ipv4.tcp_workaround_signed_windows", "0"}, {"net.ipv4.tcp_shrink_window", "0"},
	{"net.ipv4.tcp_mtu_probing", "0"}, {"net.ipv4.tcp_base_mss", "1024"},
	{"net.ipv4.tcp_fastopen", "1"}, {"net.ipv4.tcp_tw_reuse", "2"},
	{"net.ipv4.tcp_fin_timeout", "60"}, {"net.ipv4.tcp_max_syn_backlog", NULL},
	{"net.ipv4.tcp_syncookies", "1"}, {"net.ipv4.tcp_abort_on_overflow", "0"},
	{"net.ipv4.tcp_max_tw_buckets", NULL}, {"net.ipv4.tcp_max_orphans", NULL},
	{"net.ipv4.tcp_early_retrans", "3"}, {"net.ipv4.tcp_recovery", "1"},
	{"net.ipv4.tcp_reordering", "3"}, {"net.ipv4.tcp_max_reordering", "300"},
	{"net.ipv4.tcp_frto", "2"}, {"net.ipv4.tcp_rto_min_us", "200000"},
	{"net.ipv4.tcp_comp_sack_delay_ns", "1000000"}, {"net.ipv4.tcp_comp_sack_nr", "44"},
	{"net.ipv4.tcp_comp_sack_slack_ns", "100000"}, {"net.ipv4.tcp_thin_linear_timeouts", "0"},
	{"net.ipv4.tcp_early_demux", "1"}, {"net.ipv4.udp_early_demux", "1"},
	{"net.ipv4.ip_early_demux", "1"}, {"net.ipv4.tcp_retries2", "15"},
	{"net.ipv4.tcp_backlog_ack_defer", "1"}, {"net.ipv4.tcp_low_latency", "0"},
	{"net.ipv4.ip_local_port_range", "32768\t60999"}, {"net.ipv4.ip_forward", "0"},
	{"net.ipv4.ip_no_pmtu_disc", "0"}, {"net.ipv4.ipfrag_high_thresh", "4194304"},
	{"net.ipv4.ipfrag_time", "30"}, {"net.ipv4.fib_multipath_hash_policy", "0"},
	{"net.ipv4.conf.all.rp_filter", "0"}, {"net.ipv4.conf.default.rp_filter", "0"},
	{"net.ipv4.conf.all.forwarding", "0"}, {"net.ipv6.conf.all.forwarding", "0"},
	{"net.ipv6.conf.all.disable_ipv6", "0"},
	{"net.bridge.bridge-nf-call-iptables", NULL}, {"net.bridge.bridge-nf-call-ip6tables", NULL},
	{"net.bridge.bridge-nf-call-arptables", NULL}, {"net.bridge.bridge-nf-filter-vlan-tagged", NULL},
	{"net.netfilter.nf_conntrack_max", NULL}, {"net.netfilter.nf_conntrack_buckets", NULL},
	{"net.netfilter.nf_conntrack_acct", "0"}, {"net.netfilter.nf_conntrack_timestamp", "0"},
	{"net.netfilter.nf_flowtable_tcp_timeout", "30"},
	{"kernel.sched_rt_runtime_us", "950000"}, {"kernel.sched_autogroup_enabled", NULL},
	{"kernel.numa_balancing", NULL}, {"kernel.nmi_watchdog", NULL}, {"kernel.timer_migration", "1"},
	{"kernel.perf_event_paranoid", NULL}, {"kernel.unprivileged_bpf_disabled", NULL},
	{"vm.swappiness", "60"},
};
/* clang-format on */

void host_facts_sysctl(struct jw *w, const struct host_root *r)
{
	char path[HOST_TEXT_MAX], value[HOST_TEXT_MAX];

	jw_obj(w, "sysctl");
	for (size_t i = 0; i < ARRAY_LEN(sysctls); i++) {
		snprintf(path, sizeof(path), "/proc/sys/%s", sysctls[i].name);
		for (char *p = path; *p; p++)
			*p = *p == '.' ? (char)'/' : *p;
		if (host_read(r, value, sizeof(value), "%s", path) < 0 ||
		    (sysctls[i].fallback && !strcmp(value, sysctls[i].fallback)))
			continue;
		for (char *p = value; *p; p++)
			*p = *p == '\t' ? (char)' ' : *p;
		host_put(w, sysctls[i].name, value);
	}
	jw_end_obj(w);
}

/* ---- modules --------------------------------------------------------------------- */

void host_modules_put(struct jw *w, const char *text)
{
	size_t n = 0;

	jw_obj(w, "modules");
	for (const char *p = text; *p && n < MODULES_MAX; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t len = strcspn(p, " \n");
		char name[64];

		if (!len || len >= sizeof(name) || p[len] != ' ' || !isalnum((unsigned char)*p))
			continue;
		safe_str(name, sizeof(name), p, len);
		jw_bool(w, name, true);
		n++;
	}
	jw_end_obj(w);
}

void host_facts_modules(struct jw *w, const struct host_root *r)
{
	char *text = malloc(HOST_STAT_MAX);
	ssize_t n = text ? host_read(r, text, HOST_STAT_MAX, "/proc/modules") : -ENOMEM;

	if (n >= 0)
		host_modules_put(w, text);
	else
		jw_null(w, "modules"); /* or a kernel without any */
	free(text);
}

/* ---- netfilter ------------------------------------------------------------------- */

static void put_tables(struct jw *w, const struct host_root *r, int family, const char *key,
		       const char *names)
{
	char text[256];

	if (host_read(r, text, sizeof(text), "%s", names) < 0) {
		jw_null(w, key);
		return;
	}
	jw_obj(w, key);
	for (char *save, *t = strtok_r(text, "\n", &save); t; t = strtok_r(NULL, "\n", &save)) {
		char safe[64];
		uint32_t rules;

		safe_str(safe, sizeof(safe), t, strlen(t));
		if (!host_root_is_copy(r) && sys_iptables_count(family, t, &rules) >= 0)
			jw_u64(w, safe, rules);
		else
			jw_null(w, safe);
	}
	jw_end_obj(w);
}

int64_t host_filter_rules(void)
{
	static const struct {
		int family;
		const char *names;
	} old[] = {{AF_INET, "/proc/thread-self/net/ip_tables_names"},
		   {AF_INET6, "/proc/thread-self/net/ip6_tables_names"}};
	struct host_root machine = {.fd = -1};
	struct sys_filter_count c;
	char text[256];
	int64_t sum = -1;

	if (sys_nft_count(&c) >= 0)
		sum = c.hooks ? c.rules : 0;
	for (size_t i = 0; i < ARRAY_LEN(old); i++) {
		if (host_read(&machine, text, sizeof(text), "%s", old[i].names) < 0)
			continue;
		for (char *save, *t = strtok_r(text, "\n", &save); t;
		     t = strtok_r(NULL, "\n", &save)) {
			uint32_t rules;

			if (sys_iptables_count(old[i].family, t, &rules) >= 0)
				sum = (sum < 0 ? 0 : sum) + rules;
		}
	}
	return sum;
}

void host_facts_netfilter(struct jw *w, const struct host_root *r)
{
	struct sys_filter_count c;

	jw_obj(w, "netfilter");
	if (!host_root_is_copy(r) && sys_nft_count(&c) >= 0) {
		jw_u64(w, "nft_tables", c.tables);
		jw_u64(w, "nft_chains", c.chains);
		jw_u64(w, "nft_rules", c.rules);
	} else {
		jw_null(w, "nft_rules"); /* for want of CAP_NET_ADMIN, or of nftables */
	}
	put_tables(w, r, AF_INET, "iptables_rules", "/proc/net/ip_tables_names");
	put_tables(w, r, AF_INET6, "ip6tables_rules", "/proc/net/ip6_tables_names");
	host_put_i64(w, r, "conntrack_max", "/proc/sys/net/netfilter/nf_conntrack_max");
	jw_end_obj(w);
}

/* ---- services -------------------------------------------------------------------- */

/* Instances (openvpn@name) are told as one, without their names, which may be of people. */
static size_t put_systemd(struct jw *w, const struct host_root *r, const char *dir)
{
	char **names, safe[HOST_TEXT_MAX], member[HOST_TEXT_MAX + 4];
	size_t found = 0;
	int n = host_list(r, &names, "%s", dir);

	for (int i = 0; i < n && found < SERVICES_MAX; i++) {
		size_t len = strlen(names[i]), at = strcspn(names[i], "@");
		char pid[16];

		if (len < 9 || strcmp(names[i] + len - 8, ".service") != 0 ||
		    host_read(r, pid, sizeof(pid), "%s/%s/cgroup.procs", dir, names[i]) <= 0)
			continue;
		safe_str(safe, sizeof(safe), names[i], at < len ? at : len - 8);
		snprintf(member, sizeof(member), "\"%s\":", safe);
		if (strstr(w->out->data, member))
			continue;
		jw_bool(w, safe, true);
		found++;
	}
	host_list_free(names, n);
	return found;
}

/* OpenWrt starts what has a link S<nn>name. */
static size_t put_openwrt(struct jw *w, const struct host_root *r)
{
	char **names, safe[HOST_TEXT_MAX], text[8];
	size_t found = 0;
	int n;

	if (host_read(r, text, sizeof(text), "/etc/openwrt_release") <= 0)
		return 0;
	n = host_list(r, &names, "/etc/rc.d");
	for (int i = 0; i < n && found < SERVICES_MAX; i++) {
		if (names[i][0] != 'S' || !isdigit((unsigned char)names[i][1]) ||
		    !isdigit((unsigned char)names[i][2]) || !names[i][3])
			continue;
		safe_str(safe, sizeof(safe), names[i] + 3, strlen(names[i]) - 3);
		jw_bool(w, safe, true);
		found++;
	}
	host_list_free(names, n);
	return found;
}

/* Daemons of their own accord: NAME.pid of a process that lives. */
static size_t put_pid_files(struct jw *w, const struct host_root *r, const char *dir)
{
	char **names, safe[HOST_TEXT_MAX], comm[32];
	size_t found = 0;
	int n = host_list(r, &names, "%s", dir);

	for (int i = 0; i < n && found < SERVICES_MAX; i++) {
		size_t len = strlen(names[i]);
		int64_t pid;

		if (len < 5 || strcmp(names[i] + len - 4, ".pid") != 0 ||
		    host_read_i64(r, &pid, "%s/%s", dir, names[i]) < 0 || pid <= 0 ||
		    host_read(r, comm, sizeof(comm), "/proc/%d/comm", (int)pid) <= 0)
			continue;
		safe_str(safe, sizeof(safe), names[i], len - 4);
		jw_bool(w, safe, true);
		found++;
	}
	host_list_free(names, n);
	return found;
}

void host_facts_services(struct jw *w, const struct host_root *r)
{
	struct buf b = {0};
	struct jw in = jw_init(&b);
	size_t n;

	jw_obj(&in, NULL);
	n = put_systemd(&in, r, "/sys/fs/cgroup/system.slice");
	if (!n)
		n = put_systemd(&in, r, "/sys/fs/cgroup/systemd/system.slice");
	if (!n)
		n = put_openwrt(&in, r);
	if (!n)
		n = put_pid_files(&in, r, "/run");
	if (!n)
		n = put_pid_files(&in, r, "/var/run");
	jw_end_obj(&in);
	if (n && !b.failed)
		jw_raw(w, "services", b.data, b.len);
	else
		jw_null(w, "services"); /* none is never so: another way of starting them */
	buf_fini(&b);
}
