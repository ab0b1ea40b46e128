/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reading of all counters but /proc/interrupts costs here; see README.md. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"

#define READINGS 500

int main(void)
{
	struct host_set_cfg cfg = {.groups = HOST_ALL & ~HOST_BIT(HOST_IRQ)};
	struct host_reading r = {0};
	struct host_set *s;
	int64_t from;
	double us;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (host_set_new(&cfg, &s, NULL) < 0 || host_set_read(s, &r, NULL) < 0)
		return 1;
	host_set_threads(s);
	from = host_set_cost_ns(s);
	for (int i = 0; i < READINGS; i++)
		host_set_read(s, &r, NULL);
	us = (double)(host_set_cost_ns(s) - from) * 1e-3 / READINGS;
	printf("%zu counters, %ld processors: %.1f us a reading, %.3f %% of a core at 10 a second, "
	       "%.4f %% of it a processor\n",
	       host_set_n(s), cpus, us, us * 1e-3, us * 1e-3 / (double)(cpus > 0 ? cpus : 1));
	host_reading_fini(&r);
	host_set_free(s);
	return us * 1e-3 < 0.25 ? 0 : 1;
}
