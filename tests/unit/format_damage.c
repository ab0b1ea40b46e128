/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What mail, web and people do to a report, done on purpose: quoted, re-wrapped, escaped, cut, pasted
 * twice. Nothing may crash, nothing may come out that is not in the text, and what was only quoted or
 * re-wrapped must read the same. Samples are our own (tests/data/readers/samples) and, where it is,
 * those of the corpus whose figures are written down.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

/* ---- what a text says ---- */

struct fact {
	char what[96]; /* kind, metric, statistic, dimensions */
	double value;
	bool printed;
};
struct facts {
	struct fact *v;
	size_t n, cap;
	bool rows; /* also intervals */
};

static void add(struct facts *f, const char *kind, const char *metric, int stat,
		const struct model_dims *d, double value, bool printed)
{
	struct fact *x;
	int n;

	if (f->n == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 64;
		f->v = realloc(f->v, f->cap * sizeof(*f->v));
		assert_non_null(f->v);
	}
	x = &f->v[f->n++];
	n = snprintf(x->what, sizeof(x->what), "%s %s %d", kind, metric, stat);
	for (int i = 0; d && i < DIM_MAX; i++)
		if (d->has >> i & 1)
			n += snprintf(x->what + n, sizeof(x->what) - (size_t)n, " %d=%d", i,
				      (int)d->v[i]);
	x->value = value;
	x->printed = printed;
}

static int on_found(void *arg, const struct format_found *f)
{
	struct facts *all = arg;

	for (size_t i = 0; i < f->n_fig; i++)
		if (f->fig[i].state == MODEL_KNOWN)
			add(all, f->kind, f->fig[i].metric, (int)f->fig[i].stat, &f->fig[i].dims,
			    f->fig[i].value, f->fig[i].prov == MODEL_PRINTED);
	for (size_t i = 0; all->rows && i < f->n_row; i++)
		for (size_t k = 0; k < f->n_col; k++)
			if (!isnan(f->row[i].v[k]))
				add(all, f->kind, f->col[k], 0, NULL, f->row[i].v[k], false);
	return 0;
}

static struct facts read_facts(const char *s, size_t n, bool rows)
{
	struct facts f = {.rows = rows};
	struct format_reading r = {.found = on_found, .arg = &f};
	char *copy = malloc(n ? n : 1); /* so that a sanitizer sees a byte too far */
	struct weir_err e = {0};

	assert_non_null(copy);
	memcpy(copy, s, n);
	assert_int_equal(format_read_string(copy, n, &r, NULL, &e), 0);
	free(copy);
	return f;
}

static bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

static bool same(const struct facts *a, const struct facts *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].what, b->v[i].what) != 0 ||
		    !close_to(a->v[i].value, b->v[i].value))
			return false;
	return true;
}

static bool known(const struct facts *all, const struct fact *x)
{
	char metric[64] = "";

	sscanf(x->what, "%*s %63s", metric);
	for (size_t i = 0; i < all->n; i++) {
		char m[64] = "";

		sscanf(all->v[i].what, "%*s %63s", m);
		if (!strcmp(m, metric) && close_to(all->v[i].value, x->value))
			return true;
	}
	return false;
}

/* A printed figure that the whole text does not have; NULL = none. A rate may have changed sides. */
static const struct fact *invented(const struct facts *all, const struct facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct fact other = f->v[i];
		char *p;

		/* What a whole text has in its intervals only, and not among the figures. */
		if (!f->v[i].printed || !strncmp(f->v[i].what, "iperf2 ext.", 11) ||
		    known(all, &f->v[i]))
			continue;
		p = strstr(other.what, " goodput ");
		snprintf(other.what, sizeof(other.what), "x %s 0",
			 p ? "throughput.sent" : "goodput");
		if (!(p || strstr(f->v[i].what, " throughput.sent ")) || !known(all, &other))
			return &f->v[i];
	}
	return NULL;
}

/* ---- damage ---- */

static uint32_t rng_state;
static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return below ? (rng_state >> 8) % below : 0;
}

typedef void damage(struct buf *b, const char *s, size_t n);

static void each_line(struct buf *b, const char *s, size_t n, const char *before, const char *end)
{
	for (size_t i = 0; i < n;) {
		const char *nl = memchr(s + i, '\n', n - i);
		size_t len = nl ? (size_t)(nl - s) - i : n - i;

		buf_puts(b, before);
		buf_put(b, s + i, len);
		buf_puts(b, nl ? end : "");
		i += len + (nl != NULL);
	}
}

static void quoted(struct buf *b, const char *s, size_t n)
{
	each_line(b, s, n, "> ", "\n");
}

static void quoted_twice(struct buf *b, const char *s, size_t n)
{
	each_line(b, s, n, "> > ", "\n");
}

static void crlf(struct buf *b, const char *s, size_t n)
{
	each_line(b, s, n, "", "\r\n");
}

/* As a mailer does it: at blanks, with the quote marks of the line again. */
static void wrapped_at(struct buf *b, const char *s, size_t n, size_t width, const char *more)
{
	for (size_t i = 0; i < n;) {
		const char *nl = memchr(s + i, '\n', n - i);
		size_t end = nl ? (size_t)(nl - s) : n, mark = i;

		while (mark < end && (s[mark] == '>' || (s[mark] == ' ' && mark > i)))
			mark++;
		mark -= i;
		for (size_t at = i; at < end || at == i;) {
			size_t k = end - at > width ? at + width : end, stop = k;

			while (k < end && stop > at + mark && s[stop] != ' ')
				stop--;
			if (stop <= at + mark)
				for (stop = k; stop < end && s[stop] != ' '; stop++)
					;
			buf_puts(b, more);
			if (at != i)
				buf_put(b, s + i, mark);
			buf_put(b, s + at, stop - at);
			at = stop + (stop < end);
			if (stop == end)
				break;
			buf_putc(b, '\n');
		}
		if (nl)
			buf_putc(b, '\n');
		i = end + (nl != NULL);
	}
}

static void wrapped(struct buf *b, const char *s, size_t n)
{
	wrapped_at(b, s, n, 60 + rng(21), "");
}

static void wrapped_quoted(struct buf *b, const char *s, size_t n)
{
	wrapped_at(b, s, n, 60 + rng(21), "> ");
}

static void html(struct buf *b, const char *s, size_t n)
{
	buf_puts(b, "<pre>");
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '&')
			buf_puts(b, "&amp;");
		else if (s[i] == '<')
			buf_puts(b, "&lt;");
		else if (s[i] == '>')
			buf_puts(b, "&gt;");
		else
			buf_putc(b, s[i]);
	}
	buf_puts(b, "</pre>\n");
}

/* Characters of three bytes at most; what is no UTF-8 is a question mark. */
static void utf16(struct buf *b, const char *s, size_t n)
{
	buf_put(b, "\xff\xfe", 2);
	for (size_t i = 0; i < n;) {
		const uint8_t *p = (const uint8_t *)s + i;
		size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : 3;
		uint32_t c = '?';

		if (len == 1)
			c = p[0];
		else if (i + len <= n && len == 2)
			c = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
		else if (i + len <= n)
			c = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
		buf_putc(b, (char)(c & 0xff));
		buf_putc(b, (char)(c >> 8));
		i += len;
	}
}

static void quoted_printable(struct buf *b, const char *s, size_t n)
{
	size_t column = 0;

	buf_puts(b, "Content-Transfer-Encoding: quoted-printable\n\n");
	for (size_t i = 0; i < n; i++) {
		bool plain = (s[i] >= ' ' && s[i] <= '~' && s[i] != '=') || s[i] == '\t';

		if (s[i] == '\n') {
			buf_putc(b, '\n');
			column = 0;
			continue;
		}
		if (column + (plain ? 1 : 3) > 75) {
			buf_puts(b, "=\n");
			column = 0;
		}
		if (plain)
			buf_putc(b, s[i]);
		else
			buf_printf(b, "=%02X", (unsigned)(uint8_t)s[i]);
		column += plain ? 1 : 3;
	}
}

static void cut_end(struct buf *b, const char *s, size_t n)
{
	buf_put(b, s, rng((uint32_t)n));
}

static void cut_begin(struct buf *b, const char *s, size_t n)
{
	size_t at = rng((uint32_t)n);

	buf_put(b, s + at, n - at);
}

static void doubled(struct buf *b, const char *s, size_t n)
{
	buf_put(b, s, n);
	buf_putc(b, '\n');
	buf_put(b, s, n);
}

static void cut_inside(struct buf *b, const char *s, size_t n)
{
	size_t a = rng((uint32_t)n), z = a + rng((uint32_t)(n - a));

	while (a > 0 && s[a - 1] != '\n')
		a--;
	while (z < n && s[z] != '\n')
		z++;
	buf_put(b, s, a);
	buf_put(b, s + z, n - z);
}

static const struct {
	const char *name;
	damage *run;
	int times;
	double least; /* share that reads the same; 0 = only nothing invented, -1 = only no crash */
} damages[] = {
	{"quoted", quoted, 1, 0.95},
	{"quoted twice", quoted_twice, 1, 0.95},
	{"CRLF", crlf, 1, 0.95},
	{"re-wrapped", wrapped, 4, 0.95},
	{"re-wrapped and quoted", wrapped_quoted, 4, 0.95},
	{"HTML", html, 1, 0.95},
	{"UTF-16", utf16, 1, 0.95},
	{"quoted-printable", quoted_printable, 1, 0.95},
	{"pasted twice", doubled, 1, 0},
	{"cut at the end", cut_end, 12, 0},
	{"cut at the begin", cut_begin, 12, 0},
	{"lines missing", cut_inside, 12, -1},
};

/* ---- samples ---- */

struct sample {
	char name[256];
	char *s;
	size_t n;
};
struct samples {
	struct sample *v;
	size_t n;
};

static void load(struct samples *all, const char *path, const char *name)
{
	FILE *f = fopen(path, "rb");
	struct sample *x;
	long size;

	if (!f)
		return;
	all->v = realloc(all->v, (all->n + 1) * sizeof(*all->v));
	x = &all->v[all->n++];
	snprintf(x->name, sizeof(x->name), "%s", name);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	x->s = malloc((size_t)size + 1);
	x->n = fread(x->s, 1, (size_t)size, f);
	fclose(f);
}

/* Kinds that hold what is asked for here. */
static const char *const kinds[] = {"iperf2/", "iperf3-text/", "iperf3-json/", "nttcp/",   "ttcp/",
				    "nuttcp/", "netperf/",     "mails/",       "ping/",    "tc/",
				    "irtt/",   "routeros/",    "ethtool/",     "softnet/", "cpu/",
				    "flent/",  "ipgen/",       "lmbench/",     "rc_stats/"};

static bool is_ready(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

/* The samples that an .expect file names. */
static void load_corpus(struct samples *all, const char *expect)
{
	FILE *f = fopen(expect, "r");
	char line[4096], name[128], path[1024];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "= %127s", name) != 1 || !is_ready(name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", getenv("WEIR_CORPUS"), name);
		load(all, path, name);
	}
	if (f)
		fclose(f);
}

static struct samples load_all(void)
{
	static const char *const dirs[] = {TEST_DATA "/readers/samples", TEST_DATA "/readers/own",
					   TEST_DATA "/readers"};
	struct samples all = {0};

	for (size_t i = 0; i < 2 + (getenv("WEIR_CORPUS") != NULL); i++) {
		DIR *d = opendir(dirs[i]);
		struct dirent *e;

		assert_non_null(d);
		while ((e = readdir(d))) {
			char path[512];

			snprintf(path, sizeof(path), "%s/%s", dirs[i], e->d_name);
			if (i == 2 && strstr(e->d_name, ".expect"))
				load_corpus(&all, path);
			else if (i < 2 && e->d_name[0] != '.')
				load(&all, path, e->d_name);
		}
		closedir(d);
	}
	return all;
}

/* Cuts are the same whichever other samples there are, in whatever order the folder tells them. */
static uint32_t seed(const char *name)
{
	uint32_t h = 7;

	while (*name)
		h = h * 31 + (uint8_t)*name++;
	return h;
}

/* Without the errors above its summary, which counts them as received, nobody can know of them. */
static bool tells_less(const char *name, damage *run)
{
	return run == cut_begin && !strcmp(name, "ping-windows-errors.txt");
}

static void damaged_text(void **state)
{
	struct samples all = load_all();
	bool say = getenv("WEIR_DAMAGE") != NULL;
	size_t bad = 0, wrong = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(damages); k++) {
		size_t tried = 0, kept = 0;

		for (size_t i = 0; i < all.n; i++) {
			const struct sample *x = &all.v[i];
			struct facts plain = read_facts(x->s, x->n, false);
			struct facts every = read_facts(x->s, x->n, true);

			for (int t = 0; t < damages[k].times; t++) {
				struct buf b = {0};
				struct facts f;
				const struct fact *new;

				if (t == 0) /* the same whichever other samples there are */
					rng_state = seed(x->name);
				damages[k].run(&b, x->s, x->n);
				f = read_facts(b.data ? b.data : "", b.len, false);
				tried++;
				kept += same(&plain, &f);
				if (say && damages[k].least > 0 && !same(&plain, &f))
					fprintf(stderr, "%s: %s: %zu figures, not %zu\n",
						damages[k].name, x->name, f.n, plain.n);
				new = damages[k].least < 0 || tells_less(x->name, damages[k].run)
					      ? NULL
					      : invented(&every, &f);
				if (new) {
					fprintf(stderr, "%s: %s: invented %s = %.9g\n",
						damages[k].name, x->name, new->what, new->value);
					if (say)
						fprintf(stderr, "<<<\n%.*s\n>>>\n", (int)b.len,
							b.data);
				}
				wrong += new != NULL;
				free(f.v);
				buf_fini(&b);
			}
			free(plain.v);
			free(every.v);
		}
		print_message("%s: %zu of %zu read the same\n", damages[k].name, kept, tried);
		bad += (double)kept < damages[k].least * (double)tried;
	}
	for (size_t i = 0; i < all.n; i++)
		free(all.v[i].s);
	free(all.v);
	assert_int_equal(wrong, 0);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
