/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A figure means nothing without saying of what: which flow, direction, end, view. Dimensions
 * are a small fixed set in a fixed order; a set of values is a bit mask and an array.
 */
#include "model/model.h"

#include <errno.h>
#include <string.h>

static const char *const dir_values[] = {"up", "down", NULL};
static const char *const view_values[] = {"sender", "receiver", "device", NULL};
static const char *const end_values[] = {"near", "far", NULL};

static const struct model_dim dims[DIM_MAX] = {
	[DIM_FLOW] = {"flow", MODEL_DIM_INT, NULL, "flow, numbered from 0 in plan order"},
	[DIM_DIR] = {"dir", MODEL_DIM_ENUM, dir_values, "up = from the initiator to the responder"},
	[DIM_VIEW] = {"view", MODEL_DIM_ENUM, view_values, "who counted"},
	[DIM_END] = {"end", MODEL_DIM_ENUM, end_values, "near = the end that made the run"},
	[DIM_SIZE] = {"size", MODEL_DIM_INT, NULL, "frame or message size in bytes"},
	[DIM_CPU] = {"cpu", MODEL_DIM_INT, NULL, "processor"},
	[DIM_QUEUE] = {"queue", MODEL_DIM_INT, NULL, "hardware queue"},
	[DIM_CLASS] = {"class", MODEL_DIM_STR, NULL, "traffic class"},
	[DIM_IFACE] = {"iface", MODEL_DIM_STR, NULL, "network interface"},
	[DIM_STEP] = {"step", MODEL_DIM_INT, NULL, "rate step or trial"},
};

const struct model_dim *model_dim(enum model_dim_id id)
{
	return (unsigned)id < DIM_MAX ? &dims[id] : NULL;
}

int model_dim_find(const char *name)
{
	for (int i = 0; i < DIM_MAX; i++) {
		if (!strcmp(dims[i].name, name))
			return i;
	}
	return -ENOENT;
}

struct model_dims model_dims_with(struct model_dims d, enum model_dim_id id, int64_t v)
{
	d.has |= 1U << id;
	d.v[id] = v;
	return d;
}

bool model_dims_match(const struct model_dims *d, const struct model_dims *want)
{
	if ((d->has & want->has) != want->has)
		return false;
	for (int i = 0; i < DIM_MAX; i++) {
		if ((want->has >> i & 1) && d->v[i] != want->v[i])
			return false;
	}
	return true;
}

bool model_dims_equal(const struct model_dims *a, const struct model_dims *b)
{
	return a->has == b->has && model_dims_match(a, b);
}
