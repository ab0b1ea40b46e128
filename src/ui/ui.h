/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ui: what only a terminal sees: the progress line while a measurement runs.
 */
#ifndef WEIR_UI_H
#define WEIR_UI_H

#include "base/base.h"
#include "host/host.h"
#include "model/model.h"

/* One line on fd (standard error), redrawn in place and wiped at the end. total_ns 0 = unknown. */
struct sink *ui_progress(int fd, int64_t total_ns, bool unicode);
int ui_columns(int fd); /* 80 when unknown */
int ui_rows(int fd);    /* 24 when unknown */

/* What two readings of a host's counters say, as a page or as a line of JSON (watch.c). */
struct ui_watch {
	const char *what; /* whose they are; safe */
	const struct host_set *set;
	const struct host_reading *from, *to;
	const struct host_tcp *tcps; /* connections that moved most */
	size_t n_tcps;
	double cost;  /* of the sampler, as share of a core */
	int irq_time; /* see host_irq_time() */
	int rows;     /* of the page; 0 = as many as there are */
	int columns;  /* of it */
};
void ui_watch(const struct ui_watch *w, struct buf *b);
void ui_watch_json(const struct ui_watch *w, struct buf *b);

#endif
