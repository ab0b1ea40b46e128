/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The values of knobs. The problem: a value comes from a command line, from a journal or from
 * the kernel, and only by comparing can weir know whether its own still stands. The idea: each
 * type has one canonical spelling, which is what the kernel's spelling becomes too; what has none
 * is no value.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sys/priv.h"

#define WORD_MAX  64
#define TRIPLE    3
#define CPUS      1024
#define MASK_BITS 32

/* ---- numbers ------------------------------------------------------------- */

/* Up to want integers between blanks; the count, or -EINVAL. */
static int split_ints(const char *s, int64_t *v, int want)
{
	int n = 0;

	for (;;) {
		char word[24];
		s += strspn(s, " \t");
		size_t len = strcspn(s, " \t");
		if (len == 0)
			return n;
		if (n == want || len >= sizeof(word))
			return -EINVAL;
		memcpy(word, s, len);
		word[len] = '\0';
		if (sys_parse_i64(word, &v[n++]) < 0)
			return -EINVAL;
		s += len;
	}
}

static int canon_ints(const struct sys_knob *k, const char *value, int want, char *dst)
{
	int64_t v[TRIPLE];
	int n = 0;

	if (split_ints(value, v, want) != want)
		return -EINVAL;
	for (int i = 0; i < want; i++) {
		if (v[i] < k->min || v[i] > k->max || (i && v[i] < v[i - 1]))
			return -ERANGE;
		n += snprintf(dst + n, (size_t)(SYS_VALUE_CAP - n), "%s%" PRId64, i ? " " : "",
			      v[i]);
	}
	return 0;
}

static int canon_int(const struct sys_knob *k, const char *value, char *dst)
{
	return canon_ints(k, value, 1, dst);
}

static int canon_pair(const struct sys_knob *k, const char *value, char *dst)
{
	return canon_ints(k, value, 2, dst);
}

static int canon_triple(const struct sys_knob *k, const char *value, char *dst)
{
	return canon_ints(k, value, TRIPLE, dst);
}

/* ---- words --------------------------------------------------------------- */

static int canon_chars(const char *value, const char *more, char *dst)
{
	size_t n = strlen(value);

	if (n == 0 || n >= WORD_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)value[i]) && !strchr(more, value[i]))
			return -EINVAL;
	memcpy(dst, value, n + 1);
	return 0;
}

static int canon_word(const struct sys_knob *k, const char *value, char *dst)
{
	(void)k;
	return canon_chars(value, "_-", dst);
}

static int canon_text(const struct sys_knob *k, const char *value, char *dst)
{
	(void)k;
	return canon_chars(value, "_-.,:+/", dst);
}

bool sys_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	if (!n || strchr(word, ' '))
		return false;
	for (const char *s = words; (s = strstr(s, word)); s += n)
		if ((s == words || s[-1] == ' ') && (s[n] == ' ' || s[n] == '\0'))
			return true;
	return false;
}

static int canon_choice(const struct sys_knob *k, const char *value, char *dst)
{
	return sys_has_word(k->words, value) ? canon_chars(value, "_-/", dst) : -EINVAL;
}

static int canon_orword(const struct sys_knob *k, const char *value, char *dst)
{
	return sys_has_word(k->words, value) ? canon_chars(value, "_-/", dst)
					     : canon_ints(k, value, 1, dst);
}

/* ---- sets of CPUs -------------------------------------------------------- */

static int hex_digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "3", "00000000,0000000f": without leading zeros, but never empty. */
static int canon_mask(const struct sys_knob *k, const char *value, char *dst)
{
	uint32_t group[CPUS / MASK_BITS] = {0};
	size_t n = 0, digits = 0, at = 0;

	(void)k;
	for (const char *s = value; *s; s++) {
		int v = hex_digit(*s);
		if (*s == ',' && digits && s[1] && n + 1 < ARRAY_LEN(group)) {
			n++;
			digits = 0;
			continue;
		}
		if (v < 0 || ++digits > MASK_BITS / 4)
			return -EINVAL;
		group[n] = group[n] << 4 | (uint32_t)v;
	}
	if (!digits)
		return -EINVAL;
	while (at < n && !group[at])
		at++;
	int len = snprintf(dst, SYS_VALUE_CAP, "%" PRIx32, group[at]);
	while (at < n && len < SYS_VALUE_CAP)
		len += snprintf(dst + len, (size_t)(SYS_VALUE_CAP - len), ",%08" PRIx32,
				group[++at]);
	return len < SYS_VALUE_CAP ? 0 : -ERANGE;
}

/* A number that ends at one of the characters in ends. */
static int take_cpu(const char **s, const char *ends, size_t *cpu)
{
	char word[8];
	size_t n = strcspn(*s, ends);
	int64_t v;

	if (n == 0 || n >= sizeof(word))
		return -EINVAL;
	memcpy(word, *s, n);
	word[n] = '\0';
	if (sys_parse_i64(word, &v) < 0 || v < 0 || v >= CPUS)
		return -EINVAL;
	*cpu = (size_t)v;
	*s += n;
	return 0;
}

static int read_cpus(const char *s, bool *set)
{
	for (;;) {
		size_t lo, hi;
		if (take_cpu(&s, ",-", &lo) < 0)
			return -EINVAL;
		hi = lo;
		if (*s == '-' && (s++, take_cpu(&s, ",", &hi) < 0))
			return -EINVAL;
		if (hi < lo)
			return -EINVAL;
		for (size_t i = lo; i <= hi; i++)
			set[i] = true;
		if (!*s)
			return 0;
		if (*s++ != ',')
			return -EINVAL;
	}
}

static int canon_cpus(const struct sys_knob *k, const char *value, char *dst)
{
	bool set[CPUS + 1] = {false};
	int n = 0, ret = read_cpus(value, set);

	(void)k;
	for (size_t lo = 0, hi; ret == 0 && lo < CPUS && n < SYS_VALUE_CAP; lo = hi + 1) {
		hi = lo;
		if (!set[lo])
			continue;
		while (set[hi + 1])
			hi++;
		n += snprintf(dst + n, (size_t)(SYS_VALUE_CAP - n), "%s%zu", n ? "," : "", lo);
		if (hi > lo && n < SYS_VALUE_CAP)
			n += snprintf(dst + n, (size_t)(SYS_VALUE_CAP - n), "-%zu", hi);
	}
	return ret < 0 ? ret : n < SYS_VALUE_CAP ? 0 : -ERANGE;
}

/* ---- compound ------------------------------------------------------------ */

/* Each "name=value" of a loaded module's parameters. */
static bool good_params(const char *s)
{
	char word[SYS_VALUE_CAP], *eq, canon[SYS_VALUE_CAP];

	while (*s) {
		size_t n = strcspn(s, " ");
		if (n == 0 || n >= sizeof(word))
			return false;
		memcpy(word, s, n);
		word[n] = '\0';
		eq = strchr(word, '=');
		if (!eq)
			return false;
		*eq = '\0';
		if (canon_chars(word, "_", canon) < 0 || canon_chars(eq + 1, "_-.,:+/", canon) < 0)
			return false;
		s += n + (s[n] == ' ');
		if (!*s && s[-1] == ' ')
			return false;
	}
	return true;
}

static int canon_loaded(const char *value, char *dst)
{
	size_t n = strlen(value);

	if (n >= SYS_VALUE_CAP || (strcmp(value, "no") && strcmp(value, "yes") &&
				   (strncmp(value, "yes ", 4) || !good_params(value + 4))))
		return -EINVAL;
	memcpy(dst, value, n + 1);
	return 0;
}

static int canon_tc(const struct sys_knob *k, const char *value, char *dst)
{
	(void)k;
	return sys_tc_canon(value, dst, NULL);
}

typedef int (*canon_fn)(const struct sys_knob *k, const char *value, char *dst);
static const struct {
	canon_fn canon;
	const char *is;
} types[] = {
	[SYS_INT] = {canon_int, "a whole number"},
	[SYS_PAIR] = {canon_pair, "two ascending numbers"},
	[SYS_TRIPLE] = {canon_triple, "three ascending numbers"},
	[SYS_CHOICE] = {canon_choice, "one of"},
	[SYS_WORD] = {canon_word, "a word of letters, digits, _ and -"},
	[SYS_TEXT] = {canon_text, "letters, digits and _-.,:+/"},
	[SYS_MASK] = {canon_mask, "a mask in hexadecimal: f, 1,00000000"},
	[SYS_CPUS] = {canon_cpus, "a list of CPUs: 0-3,8"},
	[SYS_ORWORD] = {canon_orword, "a whole number, or"},
	[SYS_TC] = {canon_tc, "a queue discipline: pfifo limit 100, tbf rate 10mbit …, default"},
};

int sys_knob_canon(const struct sys_knob *k, const char *value, char dst[SYS_VALUE_CAP])
{
	dst[0] = '\0';
	if (k->via == SYS_VIA_MODULE)
		return canon_loaded(value, dst);
	return types[k->type].canon(k, value, dst);
}

bool sys_knob_same(const struct sys_knob *k, const char *want, const char *have)
{
	if (k->via == SYS_VIA_MODULE && !strcmp(want, "yes"))
		return !strncmp(have, "yes", 3); /* with whatever parameters it has */
	if (k->type == SYS_TC)
		return sys_tc_same(want, have);
	return !strcmp(want, have);
}

static void spread_words(const char *words, char *dst, size_t cap)
{
	size_t n = 0;

	for (const char *s = words; *s && n + 4 < cap; s++) {
		if (*s == ' ') {
			memcpy(dst + n, " | ", 3);
			n += 3;
		} else {
			dst[n++] = *s;
		}
	}
	dst[n] = '\0';
}

void sys_knob_range(const struct sys_knob *k, char *dst, size_t cap)
{
	char words[64] = "";

	if (k->words)
		spread_words(k->words, words, sizeof(words));
	switch (k->type) {
	case SYS_INT:
	case SYS_ORWORD:
	case SYS_PAIR:
	case SYS_TRIPLE:
		snprintf(dst, cap, "%s%" PRId64 "..%" PRId64 "%s%s",
			 k->type == SYS_PAIR     ? "two, "
			 : k->type == SYS_TRIPLE ? "three, "
						 : "",
			 k->min, k->max, words[0] ? " | " : "", words);
		break;
	case SYS_CHOICE:
		snprintf(dst, cap, "%s", words);
		break;
	default:
		snprintf(dst, cap, "%s", types[k->type].is);
	}
}

int sys_knob_bad_value(const struct sys_ref *r, const char *value, struct weir_err *e)
{
	const struct sys_knob *k = r->knob;
	char safe[SAFE_MAX + 1], range[100], name[SYS_REF_TEXT];

	safe_str(safe, sizeof(safe), value, strlen(value));
	sys_ref_text(r, name);
	sys_knob_range(k, range, sizeof(range));
	err_set(e, WEIR_USAGE, EINVAL, "%s cannot be '%.80s'", name, safe);
	return err_hint(e, "it is %s%s%s", k->type <= SYS_CHOICE ? types[k->type].is : "",
			k->type <= SYS_CHOICE ? ": " : "", range);
}
