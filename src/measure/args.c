/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments that several measurements take in iperf3's way: rates with a burst, and the traffic
 * class by number or by name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "measure/priv.h"

/* "RATE" or "RATE/BLOCKS", as iperf3 has it. */
int measure_parse_rate(void *field, const char *arg, struct weir_err *e)
{
	struct measure_rate *r = field;
	const char *slash = strchr(arg, '/');
	char rate[64];
	uint64_t burst = 0;

	/* "bit/s" and the like also hold a slash: a burst is all digits. */
	if (slash && slash[1] && strspn(slash + 1, "0123456789") == strlen(slash + 1)) {
		if ((size_t)(slash - arg) >= sizeof(rate))
			return err_set(e, WEIR_USAGE, EINVAL, "\"%.40s\" is not a rate", arg);
		memcpy(rate, arg, (size_t)(slash - arg));
		rate[slash - arg] = '\0';
		burst = strtoull(slash + 1, NULL, 10);
		if (burst < 1 || burst > 1000)
			return err_set(e, WEIR_USAGE, ERANGE,
				       "a burst of %s blocks; 1 to 1000 are allowed", slash + 1);
		arg = rate;
	}
	r->burst = (uint32_t)burst;
	r->given = true;
	return unit_parse_rate(arg, &r->bps, e);
}

void measure_rate_json(struct jw *w, const char *key, const void *field)
{
	const struct measure_rate *r = field;
	char text[64];

	if (!r->bps && !r->given)
		return;
	if (r->burst)
		snprintf(text, sizeof(text), "%llu/%u", (unsigned long long)r->bps, r->burst);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)r->bps);
	jw_str(w, key, text);
}

/* Code points by name, RFC 2474, 2597, 3246, 5865, 8622. */
static const struct {
	const char *name;
	int dscp;
} dscp_names[] = {
	{"cs0", 0},   {"cs1", 8},   {"cs2", 16},  {"cs3", 24},  {"cs4", 32},  {"cs5", 40},
	{"cs6", 48},  {"cs7", 56},  {"af11", 10}, {"af12", 12}, {"af13", 14}, {"af21", 18},
	{"af22", 20}, {"af23", 22}, {"af31", 26}, {"af32", 28}, {"af33", 30}, {"af41", 34},
	{"af42", 36}, {"af43", 38}, {"ef", 46},   {"va", 44},   {"le", 1},    {"be", 0},
};

static bool byte_value(const char *arg, long max, long *v)
{
	char *end;

	*v = strtol(arg, &end, 0);
	return end != arg && !*end && *v >= 0 && *v <= max;
}

int measure_parse_tos(void *field, const char *arg, struct weir_err *e)
{
	long v;

	if (!byte_value(arg, 255, &v))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "\"%.40s\" is not a TOS byte; use 0 to 255, 0x10, or --dscp ef",
			       arg);
	*(int64_t *)field = v;
	return 0;
}

int measure_parse_dscp(void *field, const char *arg, struct weir_err *e)
{
	long v;

	for (size_t i = 0; i < ARRAY_LEN(dscp_names); i++) {
		if (!strcasecmp(dscp_names[i].name, arg)) {
			*(int64_t *)field = dscp_names[i].dscp << 2;
			return 0;
		}
	}
	if (!byte_value(arg, 63, &v))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "\"%.40s\" is not a code point; use 0 to 63 or a name such as ef, "
			       "af41, cs1, le",
			       arg);
	*(int64_t *)field = v << 2;
	return 0;
}

void measure_tos_json(struct jw *w, const char *key, const void *field)
{
	char text[16];

	snprintf(text, sizeof(text), "%lld", (long long)*(const int64_t *)field);
	/* --tos and --dscp share the field: one of them tells it. */
	if (*(const int64_t *)field && !strcmp(key, "tos"))
		jw_str(w, key, text);
}
