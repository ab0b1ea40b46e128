/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All times inside are int64 nanoseconds: CLOCK_MONOTONIC for intervals, CLOCK_REALTIME
 * for dates. Dates are UTC throughout, so nothing here depends on a time zone.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define DAY_NS (86400 * NSEC_PER_SEC)

static int64_t now(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t clk_mono_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

int64_t clk_real_ns(void)
{
	return now(CLOCK_REALTIME);
}

int64_t clk_process_cpu_ns(void)
{
	return now(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clk_thread_cpu_ns(void)
{
	return now(CLOCK_THREAD_CPUTIME_ID);
}

int clk_sleep_until(int64_t mono_ns)
{
	if (mono_ns <= 0)
		return 0;
	struct timespec ts = {.tv_sec = (time_t)(mono_ns / NSEC_PER_SEC),
			      .tv_nsec = (long)(mono_ns % NSEC_PER_SEC)};
	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

void clk_format_utc(char *dst, size_t cap, int64_t real_ns)
{
	time_t t = (time_t)floor_div(real_ns, NSEC_PER_SEC);
	struct tm tm = {0};
	gmtime_r(&t, &tm);
	if (cap && !strftime(dst, cap, "%Y-%m-%dT%H:%M:%SZ", &tm))
		dst[0] = '\0';
}

static int digits(const char **s, int n, int *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, ++*s) {
		if (**s < '0' || **s > '9')
			return -EINVAL;
		*out = *out * 10 + (**s - '0');
	}
	return 0;
}

static bool skip(const char **s, char c)
{
	if (**s != c)
		return false;
	++*s;
	return true;
}

/* ":07" into *out; an absent part is allowed only where the caller says so. */
static int colon2(const char **s, int *out)
{
	return skip(s, ':') ? digits(s, 2, out) : -EINVAL;
}

static int parse_zone(const char **s, int64_t *east_ns)
{
	int h = 0, m = 0, sign = **s == '-' ? -1 : 1;
	*east_ns = 0;
	if (!**s || skip(s, 'Z') || skip(s, 'z'))
		return 0;
	if (!skip(s, '+') && !skip(s, '-'))
		return -EINVAL;
	if (digits(s, 2, &h) || colon2(s, &m) || h > 23 || m > 59)
		return -EINVAL;
	*east_ns = sign * (h * 60LL + m) * 60 * NSEC_PER_SEC;
	return 0;
}

static int parse_fraction(const char **s, int64_t *ns)
{
	int64_t unit = NSEC_PER_SEC / 10;
	*ns = 0;
	if (!skip(s, '.'))
		return 0;
	if (**s < '0' || **s > '9')
		return -EINVAL;
	for (; **s >= '0' && **s <= '9'; ++*s, unit /= 10)
		*ns += (**s - '0') * unit;
	return 0;
}

static int parse_clock(const char **s, struct tm *tm, int64_t *frac_ns)
{
	if (!skip(s, 'T') && !skip(s, 't') && !skip(s, ' '))
		return -EINVAL;
	if (digits(s, 2, &tm->tm_hour) || colon2(s, &tm->tm_min))
		return -EINVAL;
	if (**s == ':' && (colon2(s, &tm->tm_sec) || parse_fraction(s, frac_ns)))
		return -EINVAL;
	return tm->tm_hour > 23 || tm->tm_min > 59 || tm->tm_sec > 60 ? -EINVAL : 0;
}

static int parse_rfc3339(const char *s, int64_t *real_ns)
{
	struct tm tm = {0};
	int64_t frac = 0, east = 0;
	if (digits(&s, 4, &tm.tm_year) || !skip(&s, '-') || digits(&s, 2, &tm.tm_mon) ||
	    !skip(&s, '-') || digits(&s, 2, &tm.tm_mday))
		return -EINVAL;
	if (*s && (parse_clock(&s, &tm, &frac) || parse_zone(&s, &east)))
		return -EINVAL;
	int year = tm.tm_year, mon = tm.tm_mon - 1, mday = tm.tm_mday;
	if (*s || year < 1970 || year > 2261)
		return -EINVAL;
	tm.tm_year = year - 1900;
	tm.tm_mon = mon;
	int leap = tm.tm_sec == 60;
	tm.tm_sec -= leap;
	time_t t = timegm(&tm);
	if (tm.tm_mon != mon || tm.tm_mday != mday) /* it was 31 February */
		return -EINVAL;
	*real_ns = (t + leap) * NSEC_PER_SEC + frac - east;
	return 0;
}

static bool is_age(const char *s)
{
	return *s >= '0' && *s <= '9' && strspn(s, "0123456789.") < strlen(s);
}

int clk_parse_when(const char *s, int64_t now_real_ns, int64_t *real_ns, struct weir_err *e)
{
	int64_t midnight = floor_div(now_real_ns, DAY_NS) * DAY_NS, age;
	if (!strcmp(s, "today")) {
		*real_ns = midnight;
		return 0;
	}
	if (!strcmp(s, "yesterday")) {
		*real_ns = midnight - DAY_NS;
		return 0;
	}
	if (!parse_rfc3339(s, real_ns))
		return 0;
	if (is_age(s) && !unit_parse_time(s, &age, NULL)) {
		*real_ns = now_real_ns - age;
		return 0;
	}
	char text[64];
	safe_str(text, sizeof(text), s, strlen(s));
	return err_set(e, WEIR_USAGE, EINVAL,
		       "\"%s\" is not a date or an age; use e.g. 2026-11-30, 2026-11-30T15:57Z, "
		       "today, yesterday, 2h, 3d",
		       text);
}

void clk_random(void *p, size_t n)
{
	for (uint8_t *at = p; n;) {
		ssize_t got = getrandom(at, n, 0);
		if (got < 0 && errno != EINTR)
			abort(); /* lint: keys from anything weaker would be a lie */
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
}
