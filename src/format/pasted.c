/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where runs are expected, text with other tools' reports will do: each report is a run. Its id comes
 * from what was read, so that the same report is the same run wherever it is read again.
 */
#include <errno.h>
#include <string.h>

#include "format/reader.h"

struct pasted {
	const char *text;
	size_t n;
	const struct format_take *take;
	int runs;
};

static uint64_t mix(uint64_t h, const char *s, size_t n)
{
	for (; n >= 8; s += 8, n -= 8) {
		uint64_t w;

		memcpy(&w, s, 8);
		h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
		h ^= h >> 29;
	}
	for (; n; s++, n--)
		h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

/* A second paste of the same report is no run of its own. */
static int found(void *arg, const struct format_found *f)
{
	struct pasted *p = arg;
	uint64_t h = mix(UINT64_C(0xcbf29ce484222325), p->text + f->from, f->to - f->from);
	struct model_run *r;
	uint8_t rnd[10];
	int rc;

	if (found_warned(f, WARN_DUPLICATE))
		return 0;
	memcpy(rnd, &h, 8);
	rnd[8] = (uint8_t)f->from;
	rnd[9] = (uint8_t)(f->from >> 8);
	r = format_found_run(f, rnd);
	if (!r)
		return -ENOMEM;
	rc = p->take->run(r, p->take->arg);
	p->runs++;
	return rc < 0 ? rc : 0;
}

int format_read_pasted(const char *text, size_t n, const struct format_take *take,
		       struct weir_err *e)
{
	struct pasted p = {text, n, take, 0};
	struct format_reading r = {.found = found, .arg = &p};
	int rc = format_read_string(text, n, &r, NULL, e);

	if (rc >= 0 && !p.runs)
		rc = err_set(e, WEIR_FORMAT, ENOMSG, "no reader knows this");
	return rc < 0 ? rc : p.runs;
}
