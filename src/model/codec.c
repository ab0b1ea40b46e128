/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run as one JSON document: the head, then each list as an array. The order of lists is
 * that of references, so that reading needs one pass.
 */
#include "model/priv.h"

static void enc_list(struct jw *w, const struct model_run *r, enum model_list list)
{
	jw_arr(w, model_list_names[list].many);
	for (size_t i = 0; i < model_list_len(r, list); i++) {
		jw_obj(w, NULL);
		model_enc_item(w, r, list, i, false);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

void model_to_json(const struct model_run *r, struct buf *b)
{
	struct jw w = jw_init(b);
	jw_obj(&w, NULL);
	jw_i64(&w, "schema", MODEL_SCHEMA);
	jw_str(&w, "type", "run");
	model_enc_head(&w, r);
	for (int list = 0; list < LIST_NUM; list++)
		enc_list(&w, r, list);
	jw_end_obj(&w);
}

static int dec_list(struct model_dec *d, const struct js *o, enum model_list list)
{
	const struct js *a = js_get(o, model_list_names[list].many);
	int rc = 0;
	d->what = model_list_names[list].one;
	d->at = 0;
	if (a && js_type(a) != JS_ARR)
		return model_dec_bad(d, model_list_names[list].many, "is no list");
	for (; d->at < js_len(a) && !rc; d->at++)
		rc = model_dec_item(d, list, js_at(a, d->at));
	return rc;
}

int model_from_json(const struct js *v, struct model_run **out, struct weir_err *e)
{
	struct model_dec d = {.e = e, .what = "run"};
	int rc = model_dec_run(v, &d.r, e);
	if (rc)
		return rc;
	rc = model_dec_head(&d, v);
	for (int list = 0; list < LIST_NUM && !rc; list++)
		rc = dec_list(&d, v, list);
	if (rc)
		model_run_free(d.r);
	else
		*out = d.r;
	return rc;
}
