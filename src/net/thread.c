/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads of the engine: named, with a small stack, and deaf to signals, so that these reach the
 * control thread and a sendfile() to a closed connection kills nobody.
 */
#include "net/priv.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (128 << 10)

static int start_masked(pthread_t *t, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(t, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

int net_thread_start(pthread_t *t, const char *name, int cpu, void *(*fn)(void *), void *arg)
{
	int rc = start_masked(t, fn, arg);

	if (rc)
		return rc;
	pthread_setname_np(*t, name);
	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		pthread_setaffinity_np(*t, sizeof(set), &set); /* checked beforehand */
	}
	return 0;
}

size_t net_allowed_cpus(int *out, size_t max)
{
	cpu_set_t set;
	size_t n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		if (out && n < max)
			out[n] = cpu;
		n++;
	}
	return n ? n : 1;
}

/*
 * Asks for short slices (Linux 6.12: sched_runtime of a normal task): a thread that does
 * little then comes earlier when the CPUs are full. Older kernels ignore or refuse it.
 */
void net_thread_short_slice(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = {.size = sizeof(a), .nice = getpriority(PRIO_PROCESS, 0), .runtime = 100000};

	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &a, 0);
}
