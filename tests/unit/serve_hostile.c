/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ten thousand strangers (a hundred thousand with WEIR_CHECK_ALL=1) leave the front as they found
 * it, and a thousand silent ones with sixteen running tests do not keep a new one waiting.
 */
#include <stdarg.h>
#include <stddef.h>

#include "serve_util.h"

#define SILENT 1000
#define ACTIVE 16
#define TRIALS 200

/* A sanitizer keeps freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__)
#define SLACK_KIB 65536
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLACK_KIB 65536
#endif
#endif
#ifndef SLACK_KIB
#define SLACK_KIB 64
#endif

static bool check_all(void)
{
	const char *s = getenv("WEIR_CHECK_ALL");

	return s && !strcmp(s, "1");
}

/* Both ends of every connection are in this machine. */
static void raise_descriptors(void)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
}

/* ---- garbage ---- */

static void say_zeros(int fd)
{
	static const char zeros[PROTO_COOKIE_LEN];

	put(fd, zeros, sizeof(zeros));
	assert_int_equal(get(fd), 0xff);
}

static void say_http(int fd)
{
	put(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
}

static void say_half_a_cookie(int fd)
{
	char cookie[PROTO_COOKIE_LEN];

	cookie_of(cookie, 3);
	put(fd, cookie, sizeof(cookie) - 1);
}

static void say_nothing(int fd)
{
	(void)fd;
}

static void say_endless_text(int fd)
{
	char text[PROTO_COOKIE_LEN + 3];

	memset(text, 'x', sizeof(text));
	put(fd, text, sizeof(text));
}

static void say_noise(int fd)
{
	char noise[4096];

	clk_random(noise, sizeof(noise));
	put(fd, noise, sizeof(noise));
}

static void say_then_reset(int fd)
{
	struct linger now = {.l_onoff = 1};

	say_half_a_cookie(fd);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void say_hello_and_die(int fd)
{
	char cookie[PROTO_COOKIE_LEN];

	cookie_of(cookie, 4);
	put(fd, cookie, sizeof(cookie));
}

static void (*const strangers[])(int fd) = {
	say_zeros,        say_http,  say_half_a_cookie, say_nothing,
	say_endless_text, say_noise, say_then_reset,
};

static void garbage(const struct server *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char source[32];
		int fd;

		snprintf(source, sizeof(source), "127.0.%zu.%zu", i / 250 % 8, 1 + i % 250);
		fd = client_from(s, source);
		if (i % 500)
			strangers[i % ARRAY_LEN(strangers)](fd);
		else
			say_hello_and_die(fd);
		close(fd);
	}
}

static void garbage_leaves_no_trace(void **state)
{
	struct serve_cfg cfg = {.grace_ns = NSEC_PER_SEC};
	size_t fds, n = check_all() ? 100000 : 10000;
	struct server s;
	long rss;

	(void)state;
	server_start(&s, &cfg);
	garbage(&s, 1000);
	fds = server_idle(&s);
	rss = server_rss_kib(&s);
	garbage(&s, n);
	assert_int_equal(server_idle(&s), fds);
	print_message("%zu strangers: resident memory %ld to %ld KiB\n", n, rss,
		      server_rss_kib(&s));
	assert_in_range(server_rss_kib(&s), 1, rss + SLACK_KIB);
	close(client_test(&s, 1, 0));
	assert_int_equal(server_stop(&s), 0);
}

/* ---- waiting for a place ---- */

static int by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int64_t admission_ns(const struct server *s, unsigned cookie)
{
	int64_t from = clk_mono_ns(), t;
	int fd = client_cookie(s, cookie);

	assert_int_equal(get(fd), 0x09);
	t = clk_mono_ns() - from;
	close(fd);
	return t;
}

/* Other load on the machine may spoil a round, hence the best of a few. */
static bool admission_is_fast(const struct server *s)
{
	int64_t t[TRIALS], median, p99;

	for (unsigned i = 0; i < TRIALS; i++)
		t[i] = admission_ns(s, 1000 + i);
	qsort(t, TRIALS, sizeof(t[0]), by_time);
	median = t[TRIALS / 2];
	p99 = t[TRIALS * 99 / 100];
	print_message("admission: median %.3f ms, 99th percentile %.3f ms\n", (double)median / 1e6,
		      (double)p99 / 1e6);
	return median < 10 * NSEC_PER_MSEC && p99 < 100 * NSEC_PER_MSEC;
}

static void a_newcomer_does_not_wait(void **state)
{
	struct serve_cfg cfg = {.grace_ns = NSEC_PER_MSEC, .limits.pending_ns = 60 * NSEC_PER_SEC};
	int silent[SILENT], ctl[ACTIVE], data[ACTIVE];
	struct server s;
	bool fast = false;

	(void)state;
	server_start(&s, &cfg);
	for (int i = 0; i < SILENT; i++)
		silent[i] = client_from(&s, NULL);
	for (unsigned i = 0; i < ACTIVE; i++) {
		ctl[i] = client_test(&s, i + 1, 1);
		data[i] = client_cookie(&s, i + 1);
		assert_int_equal(get(data[i]), 0);
	}
	for (int round = 0; round < 3 && !fast; round++)
		fast = admission_is_fast(&s);
	assert_true(fast);
	for (int i = 0; i < ACTIVE; i++) {
		close(data[i]);
		close(ctl[i]);
	}
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	assert_int_equal(server_stop(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_leaves_no_trace),
		cmocka_unit_test(a_newcomer_does_not_wait),
	};

	raise_descriptors();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
