/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of knobs: everything that weir may change, one row each. What is not in it cannot be
 * changed, whatever a command line or a journal says. Ranges are the kernel's own where it has
 * some; what the kernel refuses within them it says itself.
 */
#include <linux/ethtool_netlink.h>
#include <linux/if_link.h>
#include <string.h>

#include "sys/priv.h"

/* Younger than the headers of Debian 12. */
#define ATTR_GSO_IPV4_MAX_SIZE 63
#define ATTR_GRO_IPV4_MAX_SIZE 64

#define MOST  INT32_MAX
#define MOST4 UINT32_MAX
#define ON    "off on"
#define YES   "0 1"

/* clang-format off: a row a line, or nobody reads it */

#define CTL(s, n, t, lo, hi, about)                                                               \
	{                                                                                         \
		.name = "net." n, .path = "net." n, .via = SYS_VIA_SYSCTL, .scope = s, .type = t, \
		.min = lo, .max = hi, .affects = about                                            \
	}
#define NS(n, lo, hi, about)        CTL(SYS_NETNS, n, SYS_INT, lo, hi, about)
#define NS_T(t, n, lo, hi, about)   CTL(SYS_NETNS, n, t, lo, hi, about)
#define HOST(n, lo, hi, about)      CTL(SYS_HOST, n, SYS_INT, lo, hi, about)
#define HOST_T(t, n, lo, hi, about) CTL(SYS_HOST, n, t, lo, hi, about)

#define DEV(n, file, p, t, lo, hi, about)                                                        \
	{                                                                                        \
		.name = "iface." n, .path = "/sys/class/net/%s/" file, .via = SYS_VIA_FILE,      \
		.scope = SYS_IFACE, .part = p, .type = t, .min = lo, .max = hi, .affects = about \
	}
#define LINK(n, a, lo, hi, about)                                                             \
	{                                                                                     \
		.name = "iface." n, .via = SYS_VIA_LINK, .scope = SYS_IFACE, .type = SYS_INT, \
		.min = lo, .max = hi, .attr = a, .width = 4, .affects = about                 \
	}
#define TOOL4(n, m, a, hi, about)                                                                \
	{                                                                                        \
		.name = "iface." n, .via = SYS_VIA_ETHTOOL, .scope = SYS_IFACE, .type = SYS_INT, \
		.min = 0, .max = hi, .msg = ETHTOOL_MSG_##m##_GET, .attr = ETHTOOL_A_##m##_##a,  \
		.width = 4, .affects = about                                                     \
	}
#define TOOL1(n, m, a, w, about)                                                \
	{                                                                       \
		.name = "iface." n, .via = SYS_VIA_ETHTOOL, .scope = SYS_IFACE, \
		.type = SYS_CHOICE, .words = w, .msg = ETHTOOL_MSG_##m##_GET,   \
		.attr = ETHTOOL_A_##m##_##a, .width = 1, .affects = about       \
	}
#define BITS(n, m, about)                                                                        \
	{                                                                                        \
		.name = "iface." n, .via = SYS_VIA_FEATURE, .scope = SYS_IFACE, .part = SYS_BIT, \
		.type = SYS_CHOICE, .words = ON, .msg = ETHTOOL_MSG_##m##_GET, .affects = about  \
	}
#define HOSTFILE(n, file, p, t, lo, hi, w, about)                                           \
	{                                                                                   \
		.name = n, .path = file, .via = SYS_VIA_FILE, .scope = SYS_HOST, .part = p, \
		.type = t, .min = lo, .max = hi, .words = w, .affects = about               \
	}
#define BOOT(w, about)                                                                \
	{                                                                             \
		.name = "boot." w, .path = w, .via = SYS_VIA_BOOT, .scope = SYS_HOST, \
		.type = SYS_TEXT, .revert = SYS_REBOOT, .affects = about              \
	}
#define BUILD(w, about)                                                                           \
	{                                                                                         \
		.name = "build." w, .path = "CONFIG_" w, .via = SYS_VIA_BUILD, .scope = SYS_HOST, \
		.type = SYS_TEXT, .revert = SYS_REBUILD, .affects = about                         \
	}

static const struct sys_knob knobs[] = {
	/* TCP, of the namespace; most hold for connections made afterwards */
	NS_T(SYS_WORD, "ipv4.tcp_congestion_control", 0, 0,
	     "congestion control of new TCP connections"),
	NS_T(SYS_TRIPLE, "ipv4.tcp_rmem", 1, MOST, "TCP receive buffers: least, first, most"),
	NS_T(SYS_TRIPLE, "ipv4.tcp_wmem", 1, MOST, "TCP send buffers: least, first, most"),
	NS("ipv4.tcp_ecn", 0, 5, "explicit congestion notification of new TCP connections"),
	NS("ipv4.tcp_ecn_fallback", 0, 1, "give up ECN when its handshake gets no answer"),
	NS("ipv4.tcp_sack", 0, 1, "selective acknowledgements: recovery from loss"),
	NS("ipv4.tcp_dsack", 0, 1, "reports of duplicates: undo of needless slowing down"),
	NS("ipv4.tcp_timestamps", 0, 2,
	   "timestamps: round-trip times, wrapped numbers; 12 bytes a packet"),
	NS("ipv4.tcp_window_scaling", 0, 1, "windows over 64 KiB"),
	NS("ipv4.tcp_slow_start_after_idle", 0, 1, "start anew after a pause"),
	NS("ipv4.tcp_no_metrics_save", 0, 1,
	   "0: a connection begins with what the last one learned"),
	NS("ipv4.tcp_no_ssthresh_metrics_save", 0, 1, "0: the slow-start threshold is kept too"),
	NS("ipv4.tcp_autocorking", 0, 1, "small writes wait for packets on their way out"),
	NS("ipv4.tcp_notsent_lowat", 0, MOST4, "unsent bytes over which a socket is not writable"),
	NS("ipv4.tcp_limit_output_bytes", 0, MOST,
	   "bytes of one flow below TCP: local queueing against bursts"),
	NS("ipv4.tcp_tso_win_divisor", 0, 1000,
	   "share of the window that one offloaded packet may be"),
	NS("ipv4.tcp_min_tso_segs", 1, 127, "least segments of an offloaded packet"),
	NS("ipv4.tcp_tso_rtt_log", 0, 31, "bigger offloaded packets on short paths"),
	NS("ipv4.tcp_pacing_ss_ratio", 0, 1000, "pacing in slow start, % of the rate"),
	NS("ipv4.tcp_pacing_ca_ratio", 0, 1000, "pacing otherwise, % of the rate"),
	NS("ipv4.tcp_moderate_rcvbuf", 0, 1, "receive buffers grow by themselves"),
	NS("ipv4.tcp_adv_win_scale", -31, 31, "share of the buffer that is offered as window"),
	NS("ipv4.tcp_app_win", 0, 31, "share of the window kept for the application"),
	NS("ipv4.tcp_shrink_window", 0, 1, "an offered window may be taken back"),
	NS("ipv4.tcp_mtu_probing", 0, 2, "look for the path's MTU where ICMP is lost"),
	NS("ipv4.tcp_base_mss", 48, 65535, "segment size that MTU probing begins with"),
	NS("ipv4.tcp_fastopen", 0, 0x707, "data in the first packet"),
	NS("ipv4.tcp_tw_reuse", 0, 2, "ports in TIME-WAIT are used again: connection rates"),
	NS("ipv4.tcp_fin_timeout", 1, 3600, "seconds that a half-closed orphan lives"),
	NS("ipv4.tcp_max_tw_buckets", 0, MOST, "connections kept in TIME-WAIT"),
	NS("ipv4.tcp_max_syn_backlog", 1, MOST, "half-open connections a listener"),
	NS("ipv4.tcp_syncookies", 0, 2,
	   "answer without keeping state when half-open connections are many"),
	NS("ipv4.tcp_abort_on_overflow", 0, 1, "reset when a listener's queue is full"),
	NS("ipv4.tcp_syn_retries", 1, 127, "tries to connect"),
	NS("ipv4.tcp_synack_retries", 0, 255, "tries to answer a connection"),
	NS("ipv4.tcp_retries2", 0, 255, "retransmissions before a connection is given up"),
	NS("ipv4.tcp_early_retrans", 0, 4, "tail loss probes"),
	NS("ipv4.tcp_recovery", 0, 255, "RACK loss detection, by bits"),
	NS("ipv4.tcp_reordering", 1, 127, "reordering that is not taken for loss, at first"),
	NS("ipv4.tcp_max_reordering", 1, MOST, "reordering that is not taken for loss, at most"),
	NS("ipv4.tcp_frto", 0, 2, "recovery from needless timeouts"),
	NS("ipv4.tcp_rto_min_us", 1, MOST, "least retransmission timeout, µs"),
	NS("ipv4.tcp_comp_sack_delay_ns", 0, MOST4,
	   "acknowledgements are put together, at most so long"),
	NS("ipv4.tcp_comp_sack_slack_ns", 0, MOST4, "and may be later by so much"),
	NS("ipv4.tcp_comp_sack_nr", 0, 255, "acknowledgements that are put together"),
	NS("ipv4.tcp_thin_linear_timeouts", 0, 1, "thin flows do not back off"),
	NS("ipv4.tcp_early_demux", 0, 1, "look for the socket before the route"),
	NS("ipv4.udp_early_demux", 0, 1, "look for the socket before the route"),
	NS("ipv4.ip_early_demux", 0, 1,
	   "look for the socket before the route: no use when forwarding"),
	NS("ipv4.udp_rmem_min", 1, MOST, "UDP receive memory that is always granted"),
	NS("ipv4.udp_wmem_min", 1, MOST, "UDP send memory that is always granted"),
	NS("ipv4.ip_default_ttl", 1, 255, "hop limit of IPv4 packets sent"),
	NS("ipv4.ip_no_pmtu_disc", 0, 3, "path MTU discovery"),
	NS_T(SYS_PAIR, "ipv4.ip_local_port_range", 1, 65535, "ports of connections made from here"),
	NS("ipv4.fib_multipath_hash_policy", 0, 3, "what spreads flows over several routes"),
	NS("ipv4.conf.all.rp_filter", 0, 2, "packets whose way back is another are dropped"),
	NS("core.somaxconn", 1, MOST, "connections that wait for accept()"),
	NS("core.optmem_max", 0, MOST, "ancillary memory of a socket: zerocopy"),
	NS("core.txrehash", 0, 1, "another path after a timeout"),
	NS("bridge.bridge-nf-call-iptables", 0, 1,
	   "bridged IPv4 goes through netfilter: packet rates"),
	NS("bridge.bridge-nf-call-ip6tables", 0, 1,
	   "bridged IPv6 goes through netfilter: packet rates"),
	NS("bridge.bridge-nf-call-arptables", 0, 1, "bridged ARP goes through netfilter"),
	NS("netfilter.nf_conntrack_acct", 0, 1, "connection tracking counts bytes: packet rates"),
	NS("netfilter.nf_conntrack_checksum", 0, 1,
	   "connection tracking checks sums: packet rates"),
	NS("netfilter.nf_conntrack_timestamp", 0, 1, "connection tracking keeps times"),

	/* of the whole machine, also under a test in a namespace */
	HOST_T(SYS_TRIPLE, "ipv4.tcp_mem", 1, MOST, "pages of all TCP: easy, pressure, most"),
	HOST_T(SYS_TRIPLE, "ipv4.udp_mem", 1, MOST, "pages of all UDP: easy, pressure, most"),
	HOST("core.rmem_max", 2048, MOST, "largest receive buffer that a program may ask for"),
	HOST("core.wmem_max", 2048, MOST, "largest send buffer that a program may ask for"),
	HOST("core.rmem_default", 2048, MOST, "receive buffer of UDP and raw sockets"),
	HOST("core.wmem_default", 2048, MOST, "send buffer of UDP and raw sockets"),
	HOST_T(SYS_WORD, "core.default_qdisc", 0, 0, "queue discipline that new interfaces get"),
	HOST("core.netdev_budget", 1, MOST, "packets that one receive softirq may take"),
	HOST("core.netdev_budget_usecs", 1, MOST, "microseconds that one receive softirq may take"),
	HOST("core.dev_weight", 1, MOST, "packets of one CPU's backlog a round"),
	HOST("core.dev_weight_rx_bias", 1, MOST, "times dev_weight, for receiving"),
	HOST("core.dev_weight_tx_bias", 1, MOST, "times dev_weight, for sending"),
	HOST("core.netdev_max_backlog", 0, MOST, "packets that wait for one CPU (RPS, veth, lo)"),
	HOST("core.busy_poll", 0, MOST,
	     "microseconds that poll() spins for packets: latency for CPU"),
	HOST("core.busy_read", 0, MOST,
	     "microseconds that read() spins for packets: latency for CPU"),
	HOST("core.rps_sock_flow_entries", 0, 1 << 29, "flows that RFS follows (a power of two)"),
	HOST_T(SYS_MASK, "core.flow_limit_cpu_bitmap", 0, 0, "CPUs whose backlog limits big flows"),
	HOST("core.gro_normal_batch", 1, MOST, "merged packets handed up at once"),
	HOST("core.skb_defer_max", 0, MOST, "packets freed by the CPU that allocated them"),
	HOST("core.netdev_tstamp_prequeue", 0, 1, "receive timestamps before or after RPS"),
	HOST("core.tstamp_allow_data", 0, 1, "timestamps come with their packet"),
	HOST("netfilter.nf_conntrack_max", 0, MOST, "connections that are tracked"),

	/* of an interface, by sysfs */
	DEV("mtu", "mtu", SYS_WHOLE, SYS_INT, 68, 65535, "largest packet of the interface"),
	DEV("tx_queue_len", "tx_queue_len", SYS_WHOLE, SYS_INT, 0, 1000000,
	    "packets that the interface's default queue holds"),
	DEV("gro_flush_timeout", "gro_flush_timeout", SYS_WHOLE, SYS_INT, 0, NSEC_PER_SEC,
	    "nanoseconds that received packets may wait to be merged"),
	DEV("napi_defer_hard_irqs", "napi_defer_hard_irqs", SYS_WHOLE, SYS_INT, 0, 1000000,
	    "empty polls before interrupts are on again"),
	DEV("threaded", "threaded", SYS_WHOLE, SYS_INT, 0, 2,
	    "receiving in threads, not in softirqs"),
	DEV("rps_cpus", "queues/rx-%s/rps_cpus", SYS_RX_QUEUE, SYS_MASK, 0, 0,
	    "CPUs that packets of this queue are spread over"),
	DEV("rps_flow_cnt", "queues/rx-%s/rps_flow_cnt", SYS_RX_QUEUE, SYS_INT, 0, 1 << 29,
	    "flows of this queue that follow their reader (a power of two)"),
	DEV("xps_cpus", "queues/tx-%s/xps_cpus", SYS_TX_QUEUE, SYS_MASK, 0, 0,
	    "CPUs that send by this queue"),
	DEV("xps_rxqs", "queues/tx-%s/xps_rxqs", SYS_TX_QUEUE, SYS_MASK, 0, 0,
	    "receive queues whose flows send by this queue"),
	DEV("tx_maxrate", "queues/tx-%s/tx_maxrate", SYS_TX_QUEUE, SYS_INT, 0, MOST,
	    "Mbit/s of this queue; 0 = no limit"),
	DEV("bql_limit_max", "queues/tx-%s/byte_queue_limits/limit_max", SYS_TX_QUEUE, SYS_INT, 0,
	    MOST, "bytes within the device: local queueing against throughput"),
	DEV("bql_limit_min", "queues/tx-%s/byte_queue_limits/limit_min", SYS_TX_QUEUE, SYS_INT, 0,
	    MOST, "least of the same"),
	DEV("bql_hold_time", "queues/tx-%s/byte_queue_limits/hold_time", SYS_TX_QUEUE, SYS_INT, 0,
	    MOST, "milliseconds before the same shrinks"),

	/* of an interface, by rtnetlink */
	LINK("gso_max_size", IFLA_GSO_MAX_SIZE, 0, 524280,
	     "bytes of an offloaded packet sent (over 65536: BIG TCP)"),
	LINK("gso_max_segs", IFLA_GSO_MAX_SEGS, 0, 65535, "segments of an offloaded packet sent"),
	LINK("gro_max_size", IFLA_GRO_MAX_SIZE, 0, 524280, "bytes of a merged packet received"),
	LINK("gso_ipv4_max_size", ATTR_GSO_IPV4_MAX_SIZE, 0, 524280, "the same for IPv4"),
	LINK("gro_ipv4_max_size", ATTR_GRO_IPV4_MAX_SIZE, 0, 524280, "the same for IPv4"),
	{.name = "iface.qdisc",
	 .via = SYS_VIA_QDISC,
	 .scope = SYS_IFACE,
	 .type = SYS_TC,
	 .affects = "the root queue discipline: what waits, what is dropped"},

	/* of an interface, by ethtool's netlink */
	TOOL4("rx-usecs", COALESCE, RX_USECS, MOST4,
	      "microseconds that an interrupt waits for more packets"),
	TOOL4("rx-frames", COALESCE, RX_MAX_FRAMES, MOST4, "packets that an interrupt waits for"),
	TOOL4("tx-usecs", COALESCE, TX_USECS, MOST4, "the same for sent packets"),
	TOOL4("tx-frames", COALESCE, TX_MAX_FRAMES, MOST4, "the same for sent packets"),
	TOOL4("rx-usecs-irq", COALESCE, RX_USECS_IRQ, MOST4, "the same within an interrupt"),
	TOOL4("rx-frames-irq", COALESCE, RX_MAX_FRAMES_IRQ, MOST4, "the same within an interrupt"),
	TOOL4("tx-usecs-irq", COALESCE, TX_USECS_IRQ, MOST4, "the same within an interrupt"),
	TOOL4("tx-frames-irq", COALESCE, TX_MAX_FRAMES_IRQ, MOST4, "the same within an interrupt"),
	TOOL4("stats-block-usecs", COALESCE, STATS_BLOCK_USECS, MOST4,
	      "how often the device updates its counters"),
	TOOL1("adaptive-rx", COALESCE, USE_ADAPTIVE_RX, ON,
	      "coalescing by the driver's own judgement"),
	TOOL1("adaptive-tx", COALESCE, USE_ADAPTIVE_TX, ON, "the same for sent packets"),
	TOOL1("cqe-mode-rx", COALESCE, USE_CQE_MODE_RX, ON,
	      "the coalescing timer starts anew with each packet"),
	TOOL1("cqe-mode-tx", COALESCE, USE_CQE_MODE_TX, ON, "the same for sent packets"),
	TOOL4("ring-rx", RINGS, RX, MOST4,
	      "descriptors for receiving: drops against latency; the link may blink"),
	TOOL4("ring-rx-mini", RINGS, RX_MINI, MOST4, "the same for small packets"),
	TOOL4("ring-rx-jumbo", RINGS, RX_JUMBO, MOST4, "the same for big packets"),
	TOOL4("ring-tx", RINGS, TX, MOST4, "descriptors for sending; the link may blink"),
	TOOL4("rx-buf-len", RINGS, RX_BUF_LEN, MOST4, "bytes of a receive buffer"),
	TOOL1("tx-push", RINGS, TX_PUSH, ON, "descriptors are written to the device"),
	TOOL4("channels-rx", CHANNELS, RX_COUNT, MOST4, "receive queues; the link may blink"),
	TOOL4("channels-tx", CHANNELS, TX_COUNT, MOST4, "send queues; the link may blink"),
	TOOL4("channels-other", CHANNELS, OTHER_COUNT, MOST4, "queues for other things"),
	TOOL4("channels-combined", CHANNELS, COMBINED_COUNT, MOST4,
	      "queues for both: RSS; the link may blink"),
	TOOL1("pause-autoneg", PAUSE, AUTONEG, ON, "pause frames as the ends agree"),
	TOOL1("pause-rx", PAUSE, RX, ON, "obey pause frames"),
	TOOL1("pause-tx", PAUSE, TX, ON, "send pause frames"),
	TOOL1("eee", EEE, ENABLED, ON, "energy-efficient Ethernet: the link naps"),
	TOOL1("tx-lpi", EEE, TX_LPI_ENABLED, ON, "this end of the link naps"),
	TOOL4("tx-lpi-timer", EEE, TX_LPI_TIMER, MOST4, "microseconds before it does"),
	TOOL4("speed", LINKMODES, SPEED, MOST, "Mbit/s of the link; the link goes down and up"),
	TOOL1("duplex", LINKMODES, DUPLEX, "half full", "both directions at once"),
	TOOL1("autoneg", LINKMODES, AUTONEG, ON, "speed and duplex as the ends agree"),
	BITS("feature", FEATURES, "an offload (ethtool -k): CPU a byte"),
	BITS("private", PRIVFLAGS, "a flag of the driver's own (ethtool --show-priv-flags)"),
	{.name = "iface.rss",
	 .via = SYS_VIA_RSS,
	 .scope = SYS_IFACE,
	 .type = SYS_INT,
	 .min = 1,
	 .max = 1024,
	 .affects = "receive queues that packets are spread over evenly"},

	/* of the machine */
	HOSTFILE("irq.affinity", "/proc/irq/%s/smp_affinity_list", SYS_WHOLE, SYS_CPUS, 0, 0, NULL,
		 "CPUs that take the interrupt"),
	HOSTFILE("cpu.governor", "/sys/devices/system/cpu/cpu%s/cpufreq/scaling_governor",
		 SYS_WHOLE, SYS_WORD, 0, 0, NULL, "what the clock rate follows"),
	HOSTFILE("cpu.min_khz", "/sys/devices/system/cpu/cpu%s/cpufreq/scaling_min_freq", SYS_WHOLE,
		 SYS_INT, 1, MOST, NULL, "least clock rate"),
	HOSTFILE("cpu.max_khz", "/sys/devices/system/cpu/cpu%s/cpufreq/scaling_max_freq", SYS_WHOLE,
		 SYS_INT, 1, MOST, NULL, "highest clock rate"),
	HOSTFILE("cpu.epp", "/sys/devices/system/cpu/cpu%s/cpufreq/energy_performance_preference",
		 SYS_WHOLE, SYS_WORD, 0, 0, NULL, "the processor's own leaning"),
	HOSTFILE("cpu.latency_us", "/sys/devices/system/cpu/cpu%s/power/pm_qos_resume_latency_us",
		 SYS_WHOLE, SYS_ORWORD, 0, MOST, "n/a",
		 "microseconds that waking up may take (n/a: none at all; 0: any): C-states"),
	HOSTFILE("cpu.idle_disable", "/sys/devices/system/cpu/cpu%s/cpuidle/state%s/disable",
		 SYS_STATE, SYS_INT, 0, 1, NULL, "1: this C-state is not entered"),
	HOSTFILE("host.idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor",
		 SYS_WHOLE, SYS_WORD, 0, 0, NULL, "what chooses C-states"),
	HOSTFILE("host.boost", "/sys/devices/system/cpu/cpufreq/boost", SYS_WHOLE, SYS_INT, 0, 1,
		 NULL, "clock rates above the rated one"),
	HOSTFILE("host.no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", SYS_WHOLE,
		 SYS_INT, 0, 1, NULL, "1: no clock rates above the rated one"),
	HOSTFILE("module.param", "/sys/module/%s/parameters/%s", SYS_PARAM, SYS_TEXT, 0, 0, NULL,
		 "a module's parameter"),
	{.name = "module.loaded",
	 .via = SYS_VIA_MODULE,
	 .scope = SYS_HOST,
	 .type = SYS_CHOICE,
	 .words = "no yes",
	 .affects = "a kernel module; its parameters come back with it"},
	{.name = "service.state",
	 .via = SYS_VIA_SERVICE,
	 .scope = SYS_HOST,
	 .type = SYS_CHOICE,
	 .words = "stopped running",
	 .affects = "a service that may disturb a measurement"},
	{.name = "iface.wifi_power_save",
	 .path = "power_save",
	 .via = SYS_VIA_WIFI,
	 .scope = SYS_IFACE,
	 .type = SYS_CHOICE,
	 .words = ON,
	 .affects = "the radio naps: latency"},
	{.name = "iface.wifi_txpower",
	 .path = "txpower",
	 .via = SYS_VIA_WIFI,
	 .scope = SYS_IFACE,
	 .type = SYS_INT,
	 .min = 0,
	 .max = 4000,
	 .affects = "transmit power, hundredths of a dBm; comes back as a fixed one"},

	/* what needs a reboot or another kernel is told, not changed */
	BOOT("mitigations", "guards against processor faults: system calls"),
	BOOT("isolcpus", "CPUs without other work"),
	BOOT("nohz_full", "CPUs without a tick"),
	BOOT("rcu_nocbs", "CPUs without kernel callbacks"),
	BOOT("preempt", "how the kernel yields"),
	BOOT("threadirqs", "interrupts in threads"),
	BOOT("intel_idle.max_cstate", "deepest C-state"),
	BOOT("processor.max_cstate", "deepest C-state"),
	BUILD("HZ", "ticks a second: timers, pacing"),
	BUILD("IRQ_TIME_ACCOUNTING", "interrupt time is counted"),
	BUILD("NET_SCH_FQ", "the queue discipline fq: pacing"),
	BUILD("NET_SCH_NETEM", "the queue discipline netem: delay and loss"),
};

/* clang-format on */

const struct sys_knob *sys_knob_at(size_t i)
{
	return i < ARRAY_LEN(knobs) ? &knobs[i] : NULL;
}

const struct sys_knob *sys_knob(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(knobs); i++)
		if (!strcmp(knobs[i].name, name))
			return &knobs[i];
	return NULL;
}
