/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a command and appends one line to a file: user, system and wall seconds, and the most
 * memory resident, as key=value. The kernel's own account of a process, the same for every tool.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct rusage ru;
	double start = now();
	int status;
	pid_t pid;
	FILE *out;

	if (argc < 3) {
		fprintf(stderr, "usage: rusage FILE COMMAND [ARGUMENT]...\n");
		return 2;
	}
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &ru) < 0 || !(out = fopen(argv[1], "a")))
		return 1;
	fprintf(out, "user=%.6f system=%.6f wall=%.6f maxrss_kib=%ld\n", seconds(ru.ru_utime),
		seconds(ru.ru_stime), now() - start, ru.ru_maxrss);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
