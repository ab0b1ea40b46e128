/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run is built up by many hands and read by many more; nobody should have to free a part of
 * it. Texts live in the run's arena, lists are arrays that only grow, all goes at once.
 */
#include "model/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

struct model_chunk {
	struct model_chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};
#define CHUNK_SIZE 2048

void *model_alloc(struct model_run *r, size_t n)
{
	struct model_chunk *c = r->priv->chunks;
	n = (n + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	if (!c || c->size - c->used < n) {
		size_t size = n > CHUNK_SIZE ? n : CHUNK_SIZE;
		c = calloc(1, sizeof(*c) + size);
		if (!c)
			return NULL;
		c->size = size;
		c->next = r->priv->chunks;
		r->priv->chunks = c;
		r->priv->text_bytes += size;
	}
	c->used += n;
	return c->data + c->used - n;
}

int model_grow(void *array, size_t n, size_t size)
{
	bool full = n == 0 || (n >= 4 && (n & (n - 1)) == 0);
	void **a = array;
	if (!full)
		return 0;
	void *p = reallocarray(*a, n ? 2 * n : 4, size);
	if (!p)
		return -ENOMEM;
	*a = p;
	return 0;
}

const char *model_run_strn(struct model_run *r, const char *s, size_t n)
{
	if (!s)
		return NULL;
	char *p = model_alloc(r, n + 1);
	if (p)
		memcpy(p, s, n);
	return p;
}

const char *model_run_str(struct model_run *r, const char *s)
{
	return s ? model_run_strn(r, s, strlen(s)) : NULL;
}

/* ---- symbols ---- */

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261U;
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619U;
	return h;
}

int64_t model_symbol_find(const struct model_symbols *s, const char *name)
{
	uint32_t h = hash_of(name);
	for (size_t i = 0; i < s->n; i++) {
		if (s->hash[i] == h && !strcmp(s->v[i], name))
			return (int64_t)i;
	}
	return -1;
}

int64_t model_symbol_add(struct model_run *r, struct model_symbols *s, const char *name)
{
	if (s->n >= MODEL_EXT_MAX || model_grow(&s->v, s->n, sizeof(*s->v)) ||
	    model_grow(&s->hash, s->n, sizeof(*s->hash)))
		return -1;
	s->v[s->n] = model_run_str(r, name);
	if (!s->v[s->n])
		return -1;
	s->hash[s->n] = hash_of(name);
	return (int64_t)s->n++;
}

void model_symbol_rename(struct model_symbols *s, size_t i, const char *name)
{
	s->v[i] = name;
	s->hash[i] = hash_of(name);
}

int64_t model_run_intern(struct model_run *r, const char *s)
{
	int64_t i = model_symbol_find(&r->priv->strings, s);
	if (i < 0)
		i = model_symbol_add(r, &r->priv->strings, s);
	return i < 0 ? -ENOMEM : i;
}

const char *model_run_interned(const struct model_run *r, int64_t i)
{
	const struct model_symbols *s = &r->priv->strings;
	return i >= 0 && (uint64_t)i < s->n ? s->v[i] : NULL;
}

bool model_name_ok(const char *name)
{
	size_t n = strlen(name);
	return n && n <= MODEL_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == n;
}

const struct model_metric *model_metric_make(struct model_run *r, const struct model_metric *m)
{
	const struct model_metric *known = model_metric(m->name);
	struct model_symbols *names = &r->priv->ext_names;
	if (known)
		return known;
	int64_t i = model_symbol_find(names, m->name);
	if (i >= 0)
		return r->priv->ext[i];
	struct model_metric *ext = model_alloc(r, sizeof(*ext));
	if (!ext || !model_name_ok(m->name) || model_grow(&r->priv->ext, names->n, sizeof(void *)))
		return NULL;
	i = model_symbol_add(r, names, m->name);
	if (i < 0)
		return NULL;
	*ext = *m;
	ext->name = names->v[i];
	r->priv->ext[i] = ext;
	return ext;
}

const struct model_metric *model_run_metric(struct model_run *r, const char *name, enum unit unit,
					    enum model_col_type type)
{
	struct model_metric m = {
		.name = name,
		.unit = unit,
		.kind = type == MODEL_U64 ? MODEL_COUNTER : MODEL_GAUGE,
		.better = MODEL_NEITHER,
		.type = type,
		.help = "",
	};
	if (strncmp(name, "ext.", 4) != 0 && !model_metric(name) &&
	    model_symbol_find(&r->priv->ext_names, name) < 0)
		return NULL;
	return model_metric_make(r, &m);
}

/* ---- the run ---- */

/* UUID version 7 (RFC 9562, 5.7): 48 bits of milliseconds, then random. */
static void make_id(char *id, int64_t start_real_ns, const uint8_t rnd[10])
{
	uint64_t ms = start_real_ns > 0 ? (uint64_t)start_real_ns / NSEC_PER_MSEC : 0;
	snprintf(id, MODEL_ID_LEN + 1, "%08x-%04x-7%x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 (unsigned)(ms >> 16 & 0xffffffff), (unsigned)(ms & 0xffff), rnd[0] & 0xfU, rnd[1],
		 (rnd[2] & 0x3fU) | 0x80U, rnd[3], rnd[4], rnd[5], rnd[6], rnd[7], rnd[8], rnd[9]);
}

struct model_run *model_run_new(const char *kind, int64_t start_real_ns, const uint8_t rnd[10])
{
	struct model_run *r = calloc(1, sizeof(*r));
	struct model_priv *p = calloc(1, sizeof(*p));
	if (!r || !p) {
		free(r);
		free(p);
		return NULL;
	}
	r->priv = p;
	make_id(r->id, start_real_ns, rnd);
	r->kind = model_run_str(r, kind);
	r->weir = weir_version;
	r->start_real_ns = start_real_ns;
	r->outcome = OUTCOME_RUNNING;
	r->source = (struct model_source){.span_from = -1, .span_to = -1, .line = -1};
	r->mem_cap = MODEL_MEM_CAP;
	if (!r->kind) {
		model_run_free(r);
		return NULL;
	}
	return r;
}

static void free_frame(struct model_frame *f)
{
	for (size_t i = 0; i < f->n_cols; i++) {
		buf_fini(&f->cols[i].enc);
		buf_fini(&f->cols[i].valid);
	}
	free(f->cols);
	free(f);
}

static void free_samples(struct model_run *r)
{
	for (size_t i = 0; i < r->n_axes; i++) {
		buf_fini(&r->axes[i]->enc);
		free(r->axes[i]->frames);
		free(r->axes[i]);
	}
	for (size_t i = 0; i < r->n_frames; i++)
		free_frame(r->frames[i]);
	for (size_t i = 0; i < r->n_hists; i++)
		hist_free(r->hists[i].h);
	for (size_t i = 0; i < r->n_clocks; i++)
		free(r->clocks[i].pairs);
	free(r->axes);
	free(r->frames);
	free(r->hists);
	free(r->clocks);
}

void model_symbols_fini(struct model_symbols *s)
{
	free(s->v);
	free(s->hash);
}

static void free_priv(struct model_priv *p)
{
	struct model_chunk *next;
	for (struct model_chunk *c = p->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	model_symbols_fini(&p->strings);
	model_symbols_fini(&p->ext_names);
	free(p->ext);
	free(p);
}

void model_run_free(struct model_run *r)
{
	if (!r)
		return;
	free_samples(r);
	free(r->tags);
	free(r->parts);
	free(r->sums);
	free(r->events);
	free(r->verdicts);
	free_priv(r->priv);
	free(r);
}

/* ---- adders ---- */

int model_add_part(struct model_run *r, enum model_part_kind kind, uint32_t parent,
		   const char *name, int64_t t0)
{
	struct model_part p = {
		.id = (uint32_t)r->n_parts,
		.parent = parent,
		.kind = kind,
		.name = model_run_str(r, name),
		.t0 = t0,
		.t1 = MODEL_NO_TIME,
		.outcome = OUTCOME_RUNNING,
	};
	if (model_grow(&r->parts, r->n_parts, sizeof(p)) || (name && !p.name))
		return -ENOMEM;
	r->parts[r->n_parts++] = p;
	return (int)p.id;
}

void model_end_part(struct model_run *r, uint32_t part, int64_t t1, enum model_outcome o)
{
	if (part >= r->n_parts)
		return;
	r->parts[part].t1 = t1;
	r->parts[part].outcome = o;
}

int model_add_clock(struct model_run *r, int end, enum model_clock_kind kind)
{
	struct model_clock c = {.id = (uint32_t)r->n_clocks, .end = end, .kind = kind};
	if (model_grow(&r->clocks, r->n_clocks, sizeof(c)))
		return -ENOMEM;
	r->clocks[r->n_clocks++] = c;
	return (int)c.id;
}

int model_add_clock_pair(struct model_run *r, uint32_t clock, int64_t t, int64_t real_ns)
{
	struct model_clock *c = &r->clocks[clock];
	if (model_grow(&c->pairs, c->n_pairs, sizeof(*c->pairs)))
		return -ENOMEM;
	c->pairs[c->n_pairs] = (struct model_clock_pair){t, real_ns};
	return (int)c->n_pairs++;
}

int model_add_hist(struct model_run *r, uint32_t part, const struct model_metric *m,
		   const struct model_dims *dims, int exp10, struct hist *take_h)
{
	struct model_hist h = {.part = part, .metric = m, .exp10 = exp10, .h = take_h};
	if (dims)
		h.dims = *dims;
	if (model_grow(&r->hists, r->n_hists, sizeof(h))) {
		hist_free(take_h);
		return -ENOMEM;
	}
	r->hists[r->n_hists] = h;
	return (int)r->n_hists++;
}

int model_add_summary(struct model_run *r, const struct model_summary *s)
{
	if (model_grow(&r->sums, r->n_sums, sizeof(*s)))
		return -ENOMEM;
	r->sums[r->n_sums] = *s;
	return (int)r->n_sums++;
}

int model_add_event(struct model_run *r, uint32_t part, enum model_warn_code code,
		    const struct model_dims *subject, int64_t t, const char *text)
{
	bool note = model_warn(code)->severity == MODEL_NOTE;
	if (r->n_events >= (note ? MODEL_EVENTS_MAX / 2 : MODEL_EVENTS_MAX))
		return -ENOSPC;
	struct model_event e = {
		.part = part,
		.code = code,
		.severity = model_warn(code)->severity,
		.t = t,
		.text = model_run_str(r, text),
	};
	if (subject)
		e.subject = *subject;
	if (model_grow(&r->events, r->n_events, sizeof(e)) || (text && !e.text))
		return -ENOMEM;
	r->events[r->n_events] = e;
	return (int)r->n_events++;
}

static size_t tag_index(const struct model_run *r, const char *k)
{
	size_t i = 0;
	while (i < r->n_tags && strcmp(r->tags[i].k, k) != 0)
		i++;
	return i;
}

int model_add_tag(struct model_run *r, const char *k, const char *v)
{
	struct model_kv kv = {model_run_str(r, k), model_run_str(r, v)};
	size_t i = tag_index(r, k);
	if (!kv.k || !kv.v)
		return -ENOMEM;
	if (i == r->n_tags && model_grow(&r->tags, r->n_tags, sizeof(kv)))
		return -ENOMEM;
	r->tags[i] = kv;
	if (i == r->n_tags)
		r->n_tags++;
	return (int)i;
}

static const char **copy_strings(struct model_run *r, const char **v, size_t n)
{
	const char **out = model_alloc(r, (n + 1) * sizeof(*out));
	for (size_t i = 0; out && i < n; i++) {
		out[i] = model_run_str(r, v[i]);
		if (v[i] && !out[i])
			return NULL;
	}
	return out;
}

int model_add_verdict(struct model_run *r, const struct model_verdict *v)
{
	struct model_verdict c = *v;
	c.inputs = copy_strings(r, v->inputs, v->n_inputs);
	c.reasons = copy_strings(r, v->reasons, v->n_reasons);
	c.method = model_run_str(r, v->method);
	c.metric = model_run_str(r, v->metric);
	c.advice = model_run_str(r, v->advice);
	if (!c.inputs || !c.reasons || model_grow(&r->verdicts, r->n_verdicts, sizeof(c)))
		return -ENOMEM;
	r->verdicts[r->n_verdicts] = c;
	return (int)r->n_verdicts++;
}
