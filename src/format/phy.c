/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a Wi-Fi rate is worth follows from four numbers: data subcarriers, bits a subcarrier, coding
 * rate, and how long a symbol takes (802.11-2020 clauses 19, 21; 802.11ax 27; 802.11be 36).
 */
#include <errno.h>
#include <string.h>

#include "format/format.h"

static const struct {
	const char *modulation;
	int bits, num, den;
} schemes[] = {
	{"BPSK", 1, 1, 2},      {"QPSK", 2, 1, 2},      {"QPSK", 2, 3, 4},
	{"16-QAM", 4, 1, 2},    {"16-QAM", 4, 3, 4},    {"64-QAM", 6, 2, 3},
	{"64-QAM", 6, 3, 4},    {"64-QAM", 6, 5, 6},    {"256-QAM", 8, 3, 4},
	{"256-QAM", 8, 5, 6},   {"1024-QAM", 10, 3, 4}, {"1024-QAM", 10, 5, 6},
	{"4096-QAM", 12, 3, 4}, {"4096-QAM", 12, 5, 6},
};

static const struct phy_std {
	const char *name, *long_name;
	int symbol_ns; /* without its guard */
	int gi_ns[4], streams, schemes;
	struct {
		int width, subcarriers;
	} ch[6];
} stds[] = {
	{"n", "802.11n", 3200, {800, 400}, 4, 8, {{20, 52}, {40, 108}}},
	{"ac", "802.11ac", 3200, {800, 400}, 8, 10, {{20, 52}, {40, 108}, {80, 234}, {160, 468}}},
	{"ax",
	 "802.11ax",
	 12800,
	 {800, 1600, 3200},
	 8,
	 12,
	 {{20, 234}, {40, 468}, {80, 980}, {160, 1960}}},
	{"be",
	 "802.11be",
	 12800,
	 {800, 1600, 3200},
	 8,
	 14,
	 {{20, 234}, {40, 468}, {80, 980}, {160, 1960}, {320, 3920}}},
};

/* 802.11ac leaves out what its encoders cannot share out evenly (21.5). */
static bool left_out(int std, int width, int streams, int mcs)
{
	static const struct {
		int width, mcs;
		unsigned streams; /* a bit each */
	} out[] = {{20, 9, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8},
		   {80, 6, 1 << 3 | 1 << 7},
		   {80, 9, 1 << 6},
		   {160, 9, 1 << 3}};

	for (size_t i = 0; std == FORMAT_PHY_AC && i < ARRAY_LEN(out); i++)
		if (out[i].width == width && out[i].mcs == mcs && out[i].streams >> streams & 1)
			return true;
	return false;
}

static bool has_gi(const struct phy_std *s, int gi_ns)
{
	for (size_t i = 0; i < ARRAY_LEN(s->gi_ns) && s->gi_ns[i]; i++)
		if (s->gi_ns[i] == gi_ns)
			return true;
	return false;
}

int format_phy_rate(int std, int width, int gi_ns, int streams, int mcs, struct format_phy *out)
{
	const struct phy_std *s = &stds[std];
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(s->ch); i++)
		if (s->ch[i].width == width)
			n = s->ch[i].subcarriers;
	if (!n || !has_gi(s, gi_ns) || streams < 1 || streams > s->streams || mcs < 0 ||
	    mcs >= s->schemes)
		return -EINVAL;
	*out = (struct format_phy){.modulation = schemes[mcs].modulation,
				   .num = schemes[mcs].num,
				   .den = schemes[mcs].den,
				   .index = std == FORMAT_PHY_N ? mcs + 8 * (streams - 1) : mcs};
	if (left_out(std, width, streams, mcs))
		return -ENOENT;
	out->bps = (double)n * schemes[mcs].bits * schemes[mcs].num / schemes[mcs].den * streams *
		   1e9 / (s->symbol_ns + gi_ns);
	return 0;
}

int format_phy_width(int std, size_t i)
{
	return i < ARRAY_LEN(stds[std].ch) ? stds[std].ch[i].width : 0;
}

int format_phy_gi(int std, size_t i)
{
	return i < ARRAY_LEN(stds[std].gi_ns) ? stds[std].gi_ns[i] : 0;
}

int format_phy_streams(int std)
{
	return stds[std].streams;
}

int format_phy_schemes(int std)
{
	return stds[std].schemes;
}

const char *format_phy_name(int std)
{
	return stds[std].long_name;
}
