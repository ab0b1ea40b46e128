/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGKILL at each system call of something that changes the machine. */
#ifndef WEIR_TEST_SYS_KILL_H
#define WEIR_TEST_SYS_KILL_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs work, killed at its n-th system call stop. True when it ended before. */
static bool killed_at(void (*work)(void), int n)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		work();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no ptrace here */
	for (int i = 0; i < n; i++) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return true;
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return false;
}

#endif
