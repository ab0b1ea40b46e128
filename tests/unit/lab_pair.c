/* SPDX-License-Identifier: BSD-2-Clause */
/* The pair: environment, reachability, the server's life, and that nothing is left behind. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "lab/lab.h"

#define SELF "/proc/self/exe"

/* ---- what the lab runs: this program again --------------------------------- */

static int serve(int argc, char **argv)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(5201)};
	int fd, conn;

	if (argc > 2 && !strcmp(argv[2], "--die"))
		return 3;
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 8) < 0)
		return 1;
	while ((conn = accept(fd, NULL, NULL)) >= 0) {
		if (write(conn, "hello", 5) < 0)
			return 1;
		close(conn);
	}
	return 0;
}

static bool greeted(int family, const char *addr)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(5201)};
	struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(5201)};
	bool v6 = family == AF_INET6;
	char text[8] = "";
	int fd = socket(family, SOCK_STREAM, 0);

	inet_pton(family, addr, v6 ? (void *)&sin6.sin6_addr : (void *)&sin.sin_addr);
	int ret = v6 ? connect(fd, (struct sockaddr *)&sin6, sizeof(sin6))
		     : connect(fd, (struct sockaddr *)&sin, sizeof(sin));
	bool ok = ret == 0 && recv(fd, text, 5, MSG_WAITALL) == 5 && !strcmp(text, "hello");
	close(fd);
	return ok;
}

/* Exit status 50 = both families answered, 40 = IPv4 only. */
static int greet(void)
{
	const char *v4 = getenv("WEIR_LAB_PEER"), *v6 = getenv("WEIR_LAB_PEER6");

	if (!v4 || !v6 || !getenv("WEIR_LAB_FAR_PID") || !getenv("WEIR_LAB_NEAR_PID"))
		return 1;
	if (!greeted(AF_INET, v4))
		return 2;
	return greeted(AF_INET6, v6) ? 50 : 40;
}

/* ---- tests ----------------------------------------------------------------- */

static char self[] = SELF;

static void start(struct lab *l, const struct lab_cfg *cfg)
{
	struct weir_err e = {0};
	int ret = lab_start(l, cfg, &e);

	if (e.domain == WEIR_MISSING && ret < 0) {
		print_message("%s; %s\n", e.msg, e.hint);
		skip();
	}
	if (ret < 0)
		fail_msg("%s; %s", e.msg, e.hint);
}

static void test_server_answers_at_once(void **state)
{
	struct lab_cfg cfg = {.serve_argv0 = self};
	char word[] = "greet";
	char *argv[] = {self, word, NULL};
	struct weir_err e = {0};
	struct lab l;

	(void)state;
	start(&l, &cfg);
	int status = lab_run(&l, argv, &e);
	lab_stop(&l);
	assert_true(status == 50 || (status == 40 && access("/proc/net/if_inet6", F_OK) < 0));
}

static int run_sh(struct lab *l, const char *script)
{
	char sh[] = "sh", dash_c[] = "-c";
	char *text = strdup(script);
	char *argv[] = {sh, dash_c, text, NULL};
	struct weir_err e = {0};
	int ret = lab_run(l, argv, &e);

	free(text);
	return ret;
}

static void test_status_is_the_commands(void **state)
{
	struct lab_cfg cfg = {.mtu = 9000};
	char missing[] = "/no-such-program";
	char *argv[] = {missing, NULL};
	struct weir_err e = {0};
	struct lab l;

	(void)state;
	start(&l, &cfg);
	assert_int_equal(run_sh(&l, "exit 9"), 9);
	assert_int_equal(run_sh(&l, "kill -9 $$"), 128 + SIGKILL);
	assert_int_equal(run_sh(&l, "test \"$(cat /sys/class/net/eth0/mtu)\" = 9000"), 0);
	assert_int_equal(lab_run(&l, argv, &e), -ENOENT);
	lab_stop(&l);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_dead_server_is_told(void **state)
{
	char die[] = "--die";
	char *args[] = {die, NULL};
	struct lab_cfg cfg = {.serve_argv0 = self, .serve_args = args};
	struct weir_err e = {0};
	struct lab l;

	(void)state;
	int64_t t0 = clk_mono_ns();
	int ret = lab_start(&l, &cfg, &e);
	if (e.domain == WEIR_MISSING)
		skip();
	assert_true(ret < 0);
	assert_non_null(strstr(e.msg, "status 3"));
	assert_true(clk_mono_ns() - t0 < 4 * NSEC_PER_SEC); /* not the whole time limit */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static int find_shaped(const struct sys_qdisc *q, void *arg)
{
	(void)arg;
	return !strcmp(q->kind, "tbf");
}

static void test_rate_shapes_both_ends(void **state)
{
	struct lab_cfg cfg = {.rate_bps = 50000000};
	struct sys_nl *nl;
	struct weir_err e = {0};
	struct lab l;

	(void)state;
	start(&l, &cfg);
	assert_int_equal(sys_nl_open_in(&l.near->ns, &nl, &e), 0);
	assert_int_equal(sys_qdiscs(nl, 0, find_shaped, NULL, &e), 1);
	sys_nl_close(nl);
	assert_int_equal(sys_nl_open_in(&l.far->ns, &nl, &e), 0);
	assert_int_equal(sys_qdiscs(nl, 0, find_shaped, NULL, &e), 1);
	sys_nl_close(nl);
	lab_stop(&l);
}

/* The command asks for its end when it is ready for it. */
static void test_stop_fd_ends_the_command(void **state)
{
	struct lab_cfg cfg = {0};
	char script[128], text[8];
	struct lab l;
	int p[2];

	(void)state;
	start(&l, &cfg);
	assert_int_equal(pipe(p), 0);
	l.stop_fd = p[0];
	snprintf(script, sizeof(script), "echo x >&%d; exec sleep 1000", p[1]);
	assert_int_equal(run_sh(&l, script), 128 + SIGTERM);
	assert_int_equal(read(p[0], text, sizeof(text)), 2);
	snprintf(script, sizeof(script), "trap 'exit 6' TERM; echo x >&%d; while :; do :; done",
		 p[1]);
	assert_int_equal(run_sh(&l, script), 6);
	lab_stop(&l);
	close(p[0]);
	close(p[1]);
}

/* In a session of its own, with children, or stopped: none outlives the command. */
static void test_what_a_command_left_is_ended(void **state)
{
	static const char *const scripts[] = {
		"sleep 1000",
		"sh -c 'trap \"\" HUP; sleep 1000 & wait'",
		"sh -c 'kill -STOP $$; sleep 1000'",
	};
	struct lab_cfg cfg = {0};
	char script[160], text[8];
	struct lab l;
	int p[2];

	(void)state;
	start(&l, &cfg);
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		assert_int_equal(pipe(p), 0);
		snprintf(script, sizeof(script), "setsid %s & echo x >&%d", scripts[i], p[1]);
		assert_int_equal(run_sh(&l, script), 0);
		close(p[1]);
		/* Whoever lived would hold the pipe open: its end is the end of all. */
		assert_int_equal(read(p[0], text, sizeof(text)), 2);
		assert_int_equal(read(p[0], text, sizeof(text)), 0);
		close(p[0]);
	}
	lab_stop(&l);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

struct pids {
	pid_t near, far, server;
};

static _Noreturn void make_and_wait(int fd)
{
	struct lab_cfg cfg = {.serve_argv0 = self};
	struct lab l;
	struct pids pids = {0};

	if (lab_start(&l, &cfg, NULL) == 0)
		pids = (struct pids){l.near->ns.holder, l.far->ns.holder, l.far->server.pid};
	if (write(fd, &pids, sizeof(pids)) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void test_sigkill_leaves_nothing(void **state)
{
	struct pids pids;
	int p[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	pid_t maker = fork();
	if (maker == 0)
		make_and_wait(p[1]);
	assert_int_equal(read(p[0], &pids, sizeof(pids)), sizeof(pids));
	if (pids.near) {
		struct pollfd end[3] = {
			{.fd = (int)syscall(SYS_pidfd_open, pids.near, 0), .events = POLLIN},
			{.fd = (int)syscall(SYS_pidfd_open, pids.far, 0), .events = POLLIN},
			{.fd = (int)syscall(SYS_pidfd_open, pids.server, 0), .events = POLLIN}};
		kill(maker, SIGKILL);
		for (int i = 0; i < 3; i++) {
			assert_true(end[i].fd >= 0);
			assert_int_equal(poll(&end[i], 1, 5000), 1);
			close(end[i].fd);
		}
	}
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
	close(p[0]);
	close(p[1]);
	if (!pids.near)
		skip();
}

static void test_topologies(void **state)
{
	static const struct {
		const char *text;
		enum lab_topology topology;
		unsigned hosts;
	} good[] = {{"pair", LAB_PAIR, 1},
		    {"router", LAB_ROUTER, 1},
		    {"dumbbell:1", LAB_DUMBBELL, 1},
		    {"dumbbell:16", LAB_DUMBBELL, 16}};
	static const char *const bad[] = {"",
					  "ring",
					  "dumbbell",
					  "dumbbell:",
					  "dumbbell:0",
					  "dumbbell:17",
					  "dumbbell:-1",
					  "dumbbell:1x",
					  "dumbbell: 1",
					  "pair:2"};
	struct lab_cfg cfg = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(lab_topology_parse(good[i].text, &cfg, NULL), 0);
		assert_int_equal(cfg.topology, good[i].topology);
		assert_int_equal(cfg.hosts, good[i].hosts);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(lab_topology_parse(bad[i], &cfg, NULL), -EINVAL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topologies),
		cmocka_unit_test(test_server_answers_at_once),
		cmocka_unit_test(test_status_is_the_commands),
		cmocka_unit_test(test_dead_server_is_told),
		cmocka_unit_test(test_rate_shapes_both_ends),
		cmocka_unit_test(test_stop_fd_ends_the_command),
		cmocka_unit_test(test_what_a_command_left_is_ended),
		cmocka_unit_test(test_sigkill_leaves_nothing),
	};

	if (argc > 1 && !strcmp(argv[1], "serve"))
		return serve(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "greet"))
		return greet();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
