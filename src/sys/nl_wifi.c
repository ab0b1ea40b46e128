/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a Wi-Fi driver tells of a device: its channel, its stations, how busy the channel is. Three dumps of
 * nl80211, whose messages all go through one decoder, so that kept ones are read as those of a
 * kernel are.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/nl80211.h>
#include <string.h>

#include "sys/priv.h"
#include "sys/sys.h"

/* ---- rates ---- */

static int width_of(const struct nl_attrs *a)
{
	static const struct {
		uint16_t flag;
		int mhz;
	} widths[] = {
		{NL80211_RATE_INFO_320_MHZ_WIDTH, 320},   {NL80211_RATE_INFO_160_MHZ_WIDTH, 160},
		{NL80211_RATE_INFO_80P80_MHZ_WIDTH, 160}, {NL80211_RATE_INFO_80_MHZ_WIDTH, 80},
		{NL80211_RATE_INFO_40_MHZ_WIDTH, 40},     {NL80211_RATE_INFO_10_MHZ_WIDTH, 10},
		{NL80211_RATE_INFO_5_MHZ_WIDTH, 5},
	};

	for (size_t i = 0; i < ARRAY_LEN(widths); i++)
		if (a->at[widths[i].flag])
			return widths[i].mhz;
	return 20;
}

static int gi_of(const struct nlattr *a)
{
	static const int gi_ns[] = {800, 1600, 3200};
	uint8_t i = nl_u8(a);

	return a && i < ARRAY_LEN(gi_ns) ? gi_ns[i] : -1;
}

static void read_rate(struct sys_wifi_rate *r, const struct nlattr *nest)
{
	static const struct {
		enum sys_wifi_gen gen;
		uint16_t mcs, streams, gi;
	} gens[] = {
		{SYS_WIFI_EHT, NL80211_RATE_INFO_EHT_MCS, NL80211_RATE_INFO_EHT_NSS,
		 NL80211_RATE_INFO_EHT_GI},
		{SYS_WIFI_HE, NL80211_RATE_INFO_HE_MCS, NL80211_RATE_INFO_HE_NSS,
		 NL80211_RATE_INFO_HE_GI},
		{SYS_WIFI_VHT, NL80211_RATE_INFO_VHT_MCS, NL80211_RATE_INFO_VHT_NSS, 0},
		{SYS_WIFI_HT, NL80211_RATE_INFO_MCS, 0, 0},
	};
	uint64_t units; /* of 100 kbit/s */
	struct nl_attrs a;

	*r = (struct sys_wifi_rate){.mcs = -1, .streams = -1, .gi_ns = -1};
	nl_parse_nest(&a, nest);
	units = nl_u32(a.at[NL80211_RATE_INFO_BITRATE32]);
	units = units ? units : nl_u16(a.at[NL80211_RATE_INFO_BITRATE]);
	r->bps = units * 100000;
	r->width_mhz = width_of(&a);
	for (size_t i = 0; i < ARRAY_LEN(gens); i++) {
		if (!a.at[gens[i].mcs])
			continue;
		r->gen = gens[i].gen;
		r->mcs = nl_u8(a.at[gens[i].mcs]);
		r->streams = gens[i].streams ? nl_u8(a.at[gens[i].streams]) : r->mcs / 8 + 1;
		r->gi_ns = gens[i].gi                         ? gi_of(a.at[gens[i].gi])
			   : a.at[NL80211_RATE_INFO_SHORT_GI] ? 400
							      : 800;
		return;
	}
}

/* ---- stations ---- */

static int dbm(const struct nlattr *a)
{
	return (int8_t)nl_u8(a);
}

static int read_chain(const struct nlattr *a, void *arg)
{
	struct sys_wifi_station *s = arg;

	if (s->n_chains < SYS_WIFI_CHAINS)
		s->chain_dbm[s->n_chains++] = dbm(a);
	return 0;
}

static uint64_t bytes_of(const struct nl_attrs *a, uint16_t wide, uint16_t narrow)
{
	return a->at[wide] ? nl_u64(a->at[wide]) : nl_u32(a->at[narrow]);
}

static void read_station(struct sys_wifi *w, const struct nl_attrs *msg)
{
	struct sys_wifi_station *s = &w->station[w->n];
	struct nl_attrs a;

	if (w->n == SYS_WIFI_STATIONS) {
		w->more = true;
		return;
	}
	*s = (struct sys_wifi_station){0};
	if (!nl_copy(msg->at[NL80211_ATTR_MAC], s->mac, sizeof(s->mac)))
		return;
	w->n++;
	nl_parse_nest(&a, msg->at[NL80211_ATTR_STA_INFO]);
	read_rate(&s->tx, a.at[NL80211_STA_INFO_TX_BITRATE]);
	read_rate(&s->rx, a.at[NL80211_STA_INFO_RX_BITRATE]);
	nl_each(a.at[NL80211_STA_INFO_CHAIN_SIGNAL], read_chain, s);
	s->signal_dbm = dbm(a.at[NL80211_STA_INFO_SIGNAL]);
	s->signal_avg_dbm = dbm(a.at[NL80211_STA_INFO_SIGNAL_AVG]);
	s->tx_packets = nl_u32(a.at[NL80211_STA_INFO_TX_PACKETS]);
	s->rx_packets = nl_u32(a.at[NL80211_STA_INFO_RX_PACKETS]);
	s->tx_bytes = bytes_of(&a, NL80211_STA_INFO_TX_BYTES64, NL80211_STA_INFO_TX_BYTES);
	s->rx_bytes = bytes_of(&a, NL80211_STA_INFO_RX_BYTES64, NL80211_STA_INFO_RX_BYTES);
	s->has_retries = a.at[NL80211_STA_INFO_TX_RETRIES];
	s->tx_retries = nl_u32(a.at[NL80211_STA_INFO_TX_RETRIES]);
	s->tx_failed = nl_u32(a.at[NL80211_STA_INFO_TX_FAILED]);
	s->has_expected = a.at[NL80211_STA_INFO_EXPECTED_THROUGHPUT];
	s->expected_bps = nl_u32(a.at[NL80211_STA_INFO_EXPECTED_THROUGHPUT]) * UINT64_C(1000);
	s->tx_duration_us = nl_u64(a.at[NL80211_STA_INFO_TX_DURATION]);
	s->rx_duration_us = nl_u64(a.at[NL80211_STA_INFO_RX_DURATION]);
	s->connected_s = nl_u32(a.at[NL80211_STA_INFO_CONNECTED_TIME]);
	s->inactive_ms = nl_u32(a.at[NL80211_STA_INFO_INACTIVE_TIME]);
}

/* ---- the channel ---- */

static void read_survey(struct sys_wifi *w, const struct nl_attrs *msg)
{
	struct sys_wifi_survey *s = &w->survey;
	struct nl_attrs a;

	nl_parse_nest(&a, msg->at[NL80211_ATTR_SURVEY_INFO]);
	if (!a.at[NL80211_SURVEY_INFO_IN_USE])
		return;
	s->known = true;
	s->has_noise = a.at[NL80211_SURVEY_INFO_NOISE];
	s->noise_dbm = dbm(a.at[NL80211_SURVEY_INFO_NOISE]);
	s->has_time = a.at[NL80211_SURVEY_INFO_TIME] && a.at[NL80211_SURVEY_INFO_TIME_BUSY];
	s->time_ms = nl_u64(a.at[NL80211_SURVEY_INFO_TIME]);
	s->busy_ms = nl_u64(a.at[NL80211_SURVEY_INFO_TIME_BUSY]);
	s->rx_ms = nl_u64(a.at[NL80211_SURVEY_INFO_TIME_RX]);
	s->tx_ms = nl_u64(a.at[NL80211_SURVEY_INFO_TIME_TX]);
	if (!w->freq_mhz)
		w->freq_mhz = (int)nl_u32(a.at[NL80211_SURVEY_INFO_FREQUENCY]);
}

static int channel_width(const struct nlattr *a)
{
	static const int mhz[] = {
		[NL80211_CHAN_WIDTH_20_NOHT] = 20, [NL80211_CHAN_WIDTH_20] = 20,
		[NL80211_CHAN_WIDTH_40] = 40,      [NL80211_CHAN_WIDTH_80] = 80,
		[NL80211_CHAN_WIDTH_80P80] = 160,  [NL80211_CHAN_WIDTH_160] = 160,
		[NL80211_CHAN_WIDTH_5] = 5,        [NL80211_CHAN_WIDTH_10] = 10,
		[NL80211_CHAN_WIDTH_320] = 320,
	};
	uint32_t i = nl_u32(a);

	return a && i < ARRAY_LEN(mhz) ? mhz[i] : 0;
}

static const char *type_of(const struct nlattr *a)
{
	static const char *const types[] = {
		[NL80211_IFTYPE_ADHOC] = "IBSS",
		[NL80211_IFTYPE_STATION] = "managed",
		[NL80211_IFTYPE_AP] = "AP",
		[NL80211_IFTYPE_AP_VLAN] = "AP/VLAN",
		[NL80211_IFTYPE_WDS] = "WDS",
		[NL80211_IFTYPE_MONITOR] = "monitor",
		[NL80211_IFTYPE_MESH_POINT] = "mesh",
		[NL80211_IFTYPE_P2P_CLIENT] = "P2P client",
		[NL80211_IFTYPE_P2P_GO] = "P2P owner",
		[NL80211_IFTYPE_P2P_DEVICE] = "P2P device",
		[NL80211_IFTYPE_OCB] = "outside of a BSS",
		[NL80211_IFTYPE_NAN] = "NAN",
	};
	uint32_t i = nl_u32(a);

	return i < ARRAY_LEN(types) && types[i] ? types[i] : "unspecified";
}

static void read_device(struct sys_wifi *w, const struct nl_attrs *a)
{
	char name[IF_NAMESIZE];

	nl_str(a->at[NL80211_ATTR_IFNAME], name, sizeof(name));
	if (w->index || strcmp(name, w->name) != 0)
		return;
	w->index = (int)nl_u32(a->at[NL80211_ATTR_IFINDEX]);
	w->phy = (int)nl_u32(a->at[NL80211_ATTR_WIPHY]);
	w->type = type_of(a->at[NL80211_ATTR_IFTYPE]);
	w->freq_mhz = (int)nl_u32(a->at[NL80211_ATTR_WIPHY_FREQ]);
	w->center_mhz = (int)nl_u32(a->at[NL80211_ATTR_CENTER_FREQ1]);
	w->width_mhz = channel_width(a->at[NL80211_ATTR_CHANNEL_WIDTH]);
	w->has_power = a->at[NL80211_ATTR_WIPHY_TX_POWER_LEVEL];
	w->power_dbm = (int32_t)nl_u32(a->at[NL80211_ATTR_WIPHY_TX_POWER_LEVEL]) / 100.0;
}

int sys_wifi_channel(int f)
{
	if (f == 2484)
		return 14;
	if (f > 2407 && f < 2484)
		return (f - 2407) / 5;
	if (f >= 5955 && f <= 7115)
		return (f - 5950) / 5;
	return f > 5000 && f < 5950 ? (f - 5000) / 5 : 0;
}

/* ---- messages ---- */

static int take(const struct nlmsghdr *nlh, void *arg)
{
	const struct genlmsghdr *g = nl_header(nlh, sizeof(*g));
	struct sys_wifi *w = arg;
	struct nl_attrs a;
	bool ours;

	if (!g)
		return 0;
	nl_parse(&a, nlh, sizeof(*g));
	ours = w->index > 0 && (int)nl_u32(a.at[NL80211_ATTR_IFINDEX]) == w->index;
	if (g->cmd == NL80211_CMD_NEW_INTERFACE)
		read_device(w, &a);
	else if (g->cmd == NL80211_CMD_NEW_STATION && ours)
		read_station(w, &a);
	else if (g->cmd == NL80211_CMD_NEW_SURVEY_RESULTS && ours)
		read_survey(w, &a);
	return 0;
}

static int begin(const char *name, struct sys_wifi *w, struct weir_err *e)
{
	size_t n = strlen(name);

	memset(w, 0, sizeof(*w));
	w->type = "unspecified";
	if (!n || n >= sizeof(w->name))
		return err_set(e, WEIR_USAGE, EINVAL, "no name of an interface");
	memcpy(w->name, name, n + 1);
	return 0;
}

static int have(const struct sys_wifi *w, struct weir_err *e)
{
	char safe[SAFE_MAX + 1];

	if (w->index > 0)
		return 0;
	safe_str(safe, sizeof(safe), w->name, strlen(w->name));
	return err_set(e, WEIR_OS, ENODEV, "no Wi-Fi device '%s'", safe);
}

int sys_wifi_decode(const void *messages, size_t n, const char *name, struct sys_wifi *out,
		    struct weir_err *e)
{
	int ret = begin(name, out, e);

	if (ret == 0)
		ret = nl_messages(messages, n, take, out);
	return ret < 0 ? ret : have(out, e);
}

/* ---- a kernel ---- */

static int take_family(const struct nlmsghdr *nlh, void *arg)
{
	struct nl_attrs a;

	if (nl_header(nlh, sizeof(struct genlmsghdr))) {
		nl_parse(&a, nlh, sizeof(struct genlmsghdr));
		*(uint16_t *)arg = nl_u16(a.at[CTRL_ATTR_FAMILY_ID]);
	}
	return 0;
}

static void request(struct nl_req *r, uint16_t family, uint8_t cmd, uint16_t flags)
{
	struct genlmsghdr *g = nl_req(r, family, flags, sizeof(*g));

	g->cmd = cmd;
	g->version = 1;
}

static int family_of(struct sys_nl *nl, uint16_t *family, struct weir_err *e)
{
	struct nl_req r;
	int ret;

	request(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	nl_put_str(&r, CTRL_ATTR_FAMILY_NAME, NL80211_GENL_NAME);
	ret = nl_talk(nl, &r, take_family, family, "looking up nl80211", e);
	if (ret == -ENOENT)
		return err_set(e, WEIR_MISSING, ENOENT,
			       "this kernel has no Wi-Fi (nl80211 of cfg80211)");
	return ret;
}

static int dump(struct sys_nl *nl, uint16_t family, uint8_t cmd, struct sys_wifi *w,
		const char *what, struct weir_err *e)
{
	struct nl_req r;

	request(&r, family, cmd, NLM_F_DUMP);
	if (w->index > 0)
		nl_put_u32(&r, NL80211_ATTR_IFINDEX, (uint32_t)w->index);
	return nl_talk(nl, &r, take, w, what, e);
}

int sys_wifi_get(const char *name, struct sys_wifi *out, struct weir_err *e)
{
	struct sys_nl *nl = NULL;
	uint16_t family = 0;
	int ret = begin(name, out, e);

	ret = ret < 0 ? ret : sys_nl_open_proto(NETLINK_GENERIC, &nl, e);
	ret = ret < 0 ? ret : family_of(nl, &family, e);
	if (ret >= 0)
		ret = dump(nl, family, NL80211_CMD_GET_INTERFACE, out, "listing Wi-Fi devices", e);
	ret = ret < 0 ? ret : have(out, e);
	if (ret >= 0)
		ret = dump(nl, family, NL80211_CMD_GET_STATION, out, "listing stations", e);
	/* Not every driver can: what it cannot tell is not known. */
	if (ret >= 0)
		dump(nl, family, NL80211_CMD_GET_SURVEY, out, "reading the channel", NULL);
	sys_nl_close(nl);
	return ret < 0 ? ret : 0;
}
