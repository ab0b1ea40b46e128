/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nttcp's two languages: the request, which is the far end's command line, and the format of a row.
 * Both come from a stranger, so of the request only what measures is taken, and the format runs
 * here, never in printf's hands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/priv.h"

#define LEN_DEFAULT   4096
#define COUNT_DEFAULT 2048
#define FIELD_MAX     30
#define PID_CALLS_MAX 10000000 /* a few seconds */
#define TIME_MIN      0.00001
#define MBIT          125000.0 /* bytes */

/* ---- rows ------------------------------------------------------------------------------- */

enum tag { T_BYTES, T_BUFFERS, T_LEN, T_CALLS, T_REAL, T_CPU, T_RBR, T_CBR, T_RCR, T_CCR };
static const struct {
	const char *tag, *title;
	bool real; /* has decimals */
} tags[] = {
	/* the longer ones first */
	[T_BYTES] = {"b", "Bytes", false},      [T_BUFFERS] = {"n", "Buffers", false},
	[T_LEN] = {"l", "Length", false},       [T_CALLS] = {"c", "Calls", false},
	[T_REAL] = {"rt", "Real s", true},      [T_CPU] = {"ct", "CPU s", true},
	[T_RBR] = {"rbr", "Real-MBit/s", true}, [T_CBR] = {"cbr", "CPU-MBit/s", true},
	[T_RCR] = {"rcr", "Real-C/s", true},    [T_CCR] = {"ccr", "CPU-C/s", true},
};

static double value(enum tag t, const struct nttcp_row *r)
{
	double real = r->real_s > TIME_MIN ? r->real_s : TIME_MIN;
	double cpu = r->cpu_s > TIME_MIN ? r->cpu_s : TIME_MIN;

	switch (t) {
	case T_BYTES:
		return (double)r->bytes;
	case T_BUFFERS:
		return (double)r->buffers;
	case T_LEN:
		return (double)r->len;
	case T_CALLS:
		return (double)r->calls;
	case T_REAL:
		return real;
	case T_CPU:
		return cpu;
	case T_RBR:
		return (double)r->bytes / real / MBIT;
	case T_CBR:
		return (double)r->bytes / cpu / MBIT;
	case T_RCR:
		return (double)r->calls / real;
	case T_CCR:
		return (double)r->calls / cpu;
	}
	return 0;
}

struct field {
	enum tag tag;
	int width, precision; /* -1 = none */
};

static int number(const char **at)
{
	int v = 0;

	while (**at >= '0' && **at <= '9' && v <= FIELD_MAX)
		v = v * 10 + (*(*at)++ - '0');
	return v;
}

/* After the '%'. The longest tag that fits: "c" begins others. */
static int read_field(const char **at, struct field *f)
{
	size_t best = 0;

	*f = (struct field){.precision = -1};
	f->width = number(at);
	if (**at == '.') {
		++*at;
		f->precision = number(at);
	}
	if (f->width > FIELD_MAX || f->precision > FIELD_MAX)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		size_t n = strlen(tags[i].tag);

		if (n > best && !strncmp(*at, tags[i].tag, n)) {
			best = n;
			f->tag = (enum tag)i;
		}
	}
	*at += best;
	return best ? 0 : -EINVAL;
}

static void put_value(struct buf *b, const struct field *f, const struct nttcp_row *r)
{
	double v = value(f->tag, r);

	buf_printf(b, "%*.*f", f->width,
		   !tags[f->tag].real ? 0
		   : f->precision < 0 ? 6
				      : f->precision,
		   v);
}

/* r NULL: the title, where words of the format are blanks. */
static int run_format(struct buf *b, const char *format, const struct nttcp_row *r)
{
	struct buf out = {.max = NTTCP_ROW_MAX};
	struct field f;
	int rc = 0;

	while (rc == 0 && *format) {
		if (*format != '%') {
			buf_putc(&out, r ? *format : ' ');
			format++;
			continue;
		}
		format++;
		rc = read_field(&format, &f);
		if (rc == 0 && r)
			put_value(&out, &f, r);
		else if (rc == 0)
			buf_printf(&out, "%*s", f.width, tags[f.tag].title);
	}
	if (rc == 0 && out.failed)
		rc = -EINVAL;
	if (rc == 0)
		buf_put(b, out.data ? out.data : "", out.len);
	buf_fini(&out);
	return rc;
}

int nttcp_row_put(struct buf *b, const char *format, const struct nttcp_row *r)
{
	return run_format(b, format, r);
}

int nttcp_title_put(struct buf *b, const char *format)
{
	int rc;

	buf_putc(b, ' ');
	rc = run_format(b, format, NULL);
	while (b->len && b->data[b->len - 1] == ' ') /* of words behind the last tag */
		b->data[--b->len] = '\0';
	return rc;
}

void nttcp_pid_rate(struct buf *b, uint64_t calls)
{
	int64_t start = clk_mono_ns(), took;

	for (uint64_t i = 0; i < calls; i++)
		syscall(SYS_getpid); /* a C library may remember the answer */
	took = clk_mono_ns() - start;
	buf_printf(b, "pid-rate (from %llu calls): %.0f/s\n", (unsigned long long)calls,
		   (double)calls * NSEC_PER_SEC / (double)(took > 0 ? took : 1));
}

/* ---- the request --------------------------------------------------------------------- */

static int refuse(struct weir_err *e, const char *word, const char *why)
{
	return err_set(e, WEIR_LIMIT, EOPNOTSUPP, "nttcp's %.8s is not served: %s", word, why);
}

static int take_number(const char *s, uint64_t max, uint64_t *v, const char *word,
		       struct weir_err *e)
{
	size_t n = strspn(s, "0123456789");

	if (!n || s[n] || n > 18 || (*v = strtoull(s, NULL, 10)) > max)
		return err_set(e, WEIR_PEER, ERANGE, "nttcp's %.8s: \"%.30s\"", word, s);
	return 0;
}

static int take_format(const char *s, struct nttcp_request *q, struct weir_err *e)
{
	struct buf b = {0};
	int rc = strlen(s) < sizeof(q->format)
			 ? nttcp_row_put(&b, s, &(struct nttcp_row){.bytes = 1})
			 : -EINVAL;

	buf_fini(&b);
	if (rc < 0)
		return err_set(e, WEIR_PEER, EINVAL, "nttcp's -f: \"%.60s\"", s);
	snprintf(q->format, sizeof(q->format), "%s", s);
	return 0;
}

/* One option with its value; `arg` NULL: it has none. */
static int take_option(char opt, const char *arg, struct nttcp_request *q, struct weir_err *e)
{
	const char word[] = {'-', opt, '\0'};
	uint64_t v = 0;
	int rc = 0;

	switch (opt) {
	case 'r':
	case 't':
		q->receives = opt == 'r';
		return 0;
	case 'u':
		q->udp = true;
		return 0;
	case 'D':
		q->nodelay = true;
		return 0;
	case 'v':
		q->verbose = true;
		return 0;
	case 'l':
		rc = take_number(arg, 99999999, &v, word, e);
		q->len = (uint32_t)v;
		return rc == 0 && !v ? err_set(e, WEIR_PEER, ERANGE, "nttcp's -l: 0") : rc;
	case 'n':
		return take_number(arg, 999999999, &q->n, word, e);
	case 'w':
		rc = take_number(arg, 1 << 20, &v, word, e);
		q->window = v << 10;
		return rc;
	case 'g':
		rc = take_number(arg, 9999999, &v, word, e);
		q->gap_ns = (int64_t)v * NSEC_PER_USEC;
		return rc;
	case 'N':
		rc = take_number(arg, 9, &v, word, e);
		q->number = (unsigned)v;
		return rc;
	case 'f':
		return take_format(arg, q, e);
	case 'c':
	case 's':
	case 'S':
		return refuse(e, word, "its pattern is not known here");
	case 'R':
		rc = take_number(arg, PID_CALLS_MAX, &q->pid_calls, word, e);
		return rc == 0 && !q->pid_calls ? err_set(e, WEIR_PEER, ERANGE, "nttcp's -R: 0")
						: rc;
	case 'm':
		return refuse(e, word, "no group is joined for a stranger");
	default:
		return refuse(e, word, "unknown");
	}
}

static bool has_value(char opt)
{
	return strchr("lnwgNfSRmpx", opt) != NULL;
}

/* "\@" is an @ of a word. */
static char *next_word(char **at)
{
	char *word = *at, *to = *at, *p = *at;

	if (!word)
		return NULL;
	for (; *p && *p != '@'; p++) {
		if (*p == '\\' && p[1] == '@')
			p++;
		*to++ = *p;
	}
	*at = *p ? p + 1 : NULL;
	*to = '\0';
	return word;
}

int nttcp_request_read(const char *line, size_t n, struct nttcp_request *out, struct weir_err *e)
{
	char text[1024], *at = text, *word;
	int rc = 0;

	*out = (struct nttcp_request){
		.receives = true, .len = LEN_DEFAULT, .n = COUNT_DEFAULT, .number = 1};
	snprintf(out->format, sizeof(out->format), "%s", NTTCP_FORMAT);
	if (n >= sizeof(text) || memchr(line, '\0', n))
		return err_set(e, WEIR_PEER, EMSGSIZE, "no request of nttcp's");
	memcpy(text, line, n);
	text[n] = '\0';
	word = next_word(&at); /* its program's name */
	if (!word || !*word || !at)
		return err_set(e, WEIR_PEER, EPROTO, "no request of nttcp's");
	while (rc == 0 && (word = next_word(&at))) {
		char opt = word[0] == '-' ? word[1] : '\0';
		const char *arg = opt ? word + 2 : NULL;

		if (opt && has_value(opt) && !*arg)
			arg = next_word(&at);
		if (!opt || (has_value(opt) && !arg) || (!has_value(opt) && *arg))
			rc = err_set(e, WEIR_PEER, EPROTO, "nttcp's request: \"%.30s\"", word);
		else
			rc = take_option(opt, arg, out, e);
	}
	return rc;
}
