/* Shape casts: a collider that moves from pose to pose against all items.
 *
 * The rotated collider is in a box around its origin at all times: the join of the boxes at both
 * ends, extended by the deviation of an arc from its chord (sweep.c). So the cast is a ray of the
 * origin through boxes that are extended by this box. The entry into the box of an item is a lower
 * bound of the time of impact. Times may be early by the tolerance and by the thickness of cores
 * (sweep/rigid_core.c), by which the box is extended, too.
 */
#include "world/query.h"

#include "bvh/bvh.h"
#include "collider/collider.h"
#include "pair/pair.h"
#include "sweep/rigid.h"

#include <math.h>

enum { CASTS_PER_CHUNK = 1 };

#define CORE_EXCESS 0.004    /* of a radius: bound of what cores add, as ROUND_SLACK of sweep.c */
#define PART_ROUNDING 1e-15  /* of the time in a part of a path */
#define DISTANCE_EXCESS 1e-3 /* of separation and tolerance: abut_sweep_rigid() */

typedef enum cast_mode { CAST_MODE_FIRST, CAST_MODE_ANY, CAST_MODE_ALL } cast_mode;

typedef struct cast_inputs {
    cast_mode mode;
    const abut_collider *colliders;
    const abut_pose *ends;
    abut_sweep_rigid_options sweep;
    abut_world_cast *hits; /* FIRST */
    bool *any;             /* ANY */
} cast_inputs;

typedef struct shape_cast {
    const world_query *q;
    const cast_inputs *in;
    query_collider collider;
    sweep_shape shape;
    abuti_step step;
    abuti_path path;
    query_region region; /* that the collider passes */
    abut_world_cast first;
    query_chunk *chunk;
} shape_cast;

/* ---- one pair ---- */

/* The shape of an item; `core` is created for a primitive without one. */
static abut_status find_item_shape(const world_query *q, const world_item *item, abut_bvh **core,
                                   sweep_shape *shape) {
    const abut_bvh *bvh = abuti_query_bvh(item);
    *shape = (sweep_shape){.collider = &item->is.collider,
                           .bvh = bvh ? bvh : item->core,
                           .is_core = !bvh,
                           .radius = item->core ? item->core_radius : 0,
                           .bounds = bvh ? bvh->mesh->bounds : item->local};
    if (shape->bvh)
        return ABUT_OK;
    abut_status status = abuti_sweep_create_core(q->function, q->world->context, &item->is.collider,
                                                 core, &shape->radius);
    shape->bvh = *core;
    return status;
}

/* Creates the core of the collider, unless it has one. Against a plane, only cylinders need one. */
static abut_status find_shape(shape_cast *c, bool has_plane) {
    query_collider *collider = &c->collider;
    query_core *core = &collider->swept;
    if (c->shape.bvh || (has_plane && collider->is.kind != ABUT_COLLIDER_CYLINDER))
        return ABUT_OK;
    abut_status status = abuti_sweep_create_core(c->q->function, c->q->world->context,
                                                 &collider->is, &core->owned, &core->radius);
    c->shape.bvh = core->owned;
    c->shape.radius = core->radius;
    return status;
}

static abut_status cast_at_plane(shape_cast *c, const world_item *item,
                                 abut_sweep_rigid_result *result) {
    const abuti_step still = {item->at.pose, item->at.pose};
    sweep_plane f;
    abut_status status = find_shape(c, true);
    if (!status && abuti_sweep_plane_init(&f, &c->shape, &c->step, &item->is.collider.shape.plane,
                                          &still, &c->in->sweep))
        abuti_sweep_plane_search(&f, result);
    return status;
}

/* Sweeps only the part of the path in which the boxes overlap. If they touch at its start, which is
 * possible only within the tolerance, the whole path determines the normal. */
static abut_status cast_at_shape(shape_cast *c, const world_item *item, double best,
                                 abut_sweep_rigid_result *result) {
    const abuti_step still = {item->at.pose, item->at.pose};
    sweep_shape other;
    abut_bvh *core = NULL;
    abuti_step part = c->step;
    double interval[2] = {0, 1};
    query_region whole = c->region;
    whole.limit = 1;
    if (best == 0) /* only a touch at the start matters */
        part.to = part.from;
    else if (!abuti_query_path_interval(&whole, &item->at.box, interval))
        return ABUT_OK;
    if (interval[0] > 0)
        part.from = abuti_path_pose(&c->path, interval[0]);
    if (interval[1] < 1 && best > 0)
        part.to = abuti_path_pose(&c->path, interval[1]);
    abut_status status = find_shape(c, false);
    if (!status)
        status = find_item_shape(c->q, item, &core, &other);
    if (!status)
        status = abuti_sweep_shapes(&c->shape, &part, &other, &still, &c->in->sweep, result);
    if (!status && result->hit && !(result->time > 0) && interval[0] > 0)
        status = abuti_sweep_shapes(&c->shape, &c->step, &other, &still, &c->in->sweep, result);
    else if (!status && result->hit) /* rounded down */
        result->time =
            real_max(interval[0], interval[0] + result->time * (interval[1] - interval[0]) *
                                                    (1 - PART_ROUNDING));
    abut_bvh_destroy(core);
    return status;
}

static int compare_casts(const void *x, const void *y) {
    const abut_world_cast *a = x, *b = y;
    return a->result.time != b->result.time ? (a->result.time < b->result.time ? -1 : 1)
                                            : (a->id > b->id) - (a->id < b->id);
}

static void lower_reliability(query_chunk *chunk, const abut_world_cast *hit) {
    if (hit->result.reliability.level > chunk->reliability.level)
        chunk->reliability = hit->result.reliability;
}

static abut_status cast_at_item(void *data, uint32_t id, query_region *region) {
    shape_cast *c = data;
    const world_item *item = &world_items(c->q->world)[id];
    const bool is_body = item->kind == ABUT_COLLIDER_BODY || item->kind == ABUT_COLLIDER_CHARACTER;
    abut_world_cast hit = {.id = id};
    hit.result = (abut_sweep_rigid_result){.time = 1,
                                           .triangle = {ABUT_NONE, ABUT_NONE},
                                           .reliability = abuti_pair_reliability_of(0)};
    const double best = c->first.id == ABUT_NONE ? 1 : c->first.result.time;
    if ((is_body && !abuti_query_bvh(item)) || (best == 0 && id > c->first.id))
        return ABUT_OK;
    abut_status status = item->kind == ABUT_COLLIDER_PLANE
                             ? cast_at_plane(c, item, &hit.result)
                             : cast_at_shape(c, item, best, &hit.result);
    if (status || !hit.result.hit)
        return status;
    if (c->in->mode == CAST_MODE_ALL) {
        abut_world_cast *to = ABUTI_PUSH(c->q->world->context, &c->chunk->results, abut_world_cast);
        if (!to)
            return ABUT_ERROR_MEMORY;
        *to = hit;
        lower_reliability(c->chunk, &hit);
        return ABUT_OK;
    }
    if (c->first.id == ABUT_NONE || compare_casts(&hit, &c->first) < 0)
        c->first = hit;
    region->limit = c->in->mode == CAST_MODE_ANY ? -INFINITY : c->first.result.time;
    return ABUT_OK;
}

/* ---- one cast ---- */

/* The region that a collider passes. */
static abut_status find_path_region(shape_cast *c) {
    const query_collider *collider = &c->collider;
    const abuti_path path = c->path = abuti_path_of(&c->step);
    contact_motion ends[2];
    box3 box = box_empty();
    for (int k = 0; k < 2; k++) {
        const abut_pose *at = k ? &c->step.to : &c->step.from;
        abut_status status = abuti_contact_pose(c->q->function, "a pose", at, &ends[k]);
        if (status)
            return status;
        ends[k].shift = v3(0, 0, 0);
        box = box_join(box, world_box(collider->local, &ends[k], 0));
    }
    const double tolerance =
        real_max(c->in->sweep.tolerance, RIGID_TOLERANCE * sweep_shape_size(&c->shape));
    const double more =
        path.angle * path.angle * sweep_shape_reach(&c->shape) / 8 * (1 + 1e-12) +
        (c->in->sweep.separation + tolerance) * (1 + DISTANCE_EXCESS) +
        CORE_EXCESS * (abuti_query_round_radius(&collider->is) + c->q->world->queries.round_radius);
    const vec3 all = v3(more, more, more);
    box.lo = v3_add(v3_sub(box.lo, all), path.start);
    box.hi = v3_add(v3_add(box.hi, all), path.start);
    c->region = abuti_query_path_region(box, path.shift, 1);
    return ABUT_OK;
}

static abut_status run_cast(const world_query *q, size_t index, query_chunk *chunk) {
    const cast_inputs *in = q->data;
    shape_cast c = {.q = q, .in = in, .chunk = chunk};
    const size_t before = chunk->results.count;
    c.first.id = ABUT_NONE;
    c.first.result = (abut_sweep_rigid_result){.time = 1,
                                               .triangle = {ABUT_NONE, ABUT_NONE},
                                               .reliability = abuti_pair_reliability_of(0)};
    abut_status status = abuti_query_collider_read(q, &in->colliders[index], &c.collider);
    if (!status && c.collider.bvh)
        status = abuti_pair_check_pose(q->function, "a collider at its end", c.collider.bvh,
                                       &in->ends[index]);
    c.step = (abuti_step){c.collider.is.pose, in->ends[index]};
    c.shape = (sweep_shape){.collider = &c.collider.is,
                            .bvh = c.collider.bvh,
                            .is_core = !c.collider.bvh,
                            .bounds = c.collider.local};
    if (!status)
        status = find_path_region(&c);
    query_region region = c.region;
    if (!status)
        status = abuti_query_traverse(q, &region, cast_at_item, &c);
    abuti_query_collider_release(&c.collider);
    if (status)
        return status;
    if (in->mode == CAST_MODE_FIRST) {
        lower_reliability(chunk, &c.first);
        QUERY_SET_ID(q, &c.first);
        in->hits[index] = c.first;
    } else if (in->mode == CAST_MODE_ANY) {
        in->any[index] = c.first.id != ABUT_NONE;
    } else if (chunk->results.count > before) {
        qsort((abut_world_cast *)chunk->results.data + before, chunk->results.count - before,
              sizeof(abut_world_cast), compare_casts);
        for (size_t i = before; i < chunk->results.count; i++)
            QUERY_SET_ID(q, &ABUTI_AT(&chunk->results, abut_world_cast, i));
    }
    return ABUT_OK;
}

/* ---- public functions ---- */

static abut_status begin_casts(world_query *q, cast_inputs *in, size_t count,
                               const abut_sweep_rigid_options *sweep) {
    char what[48];
    abut_status status;
    in->sweep = abut_sweep_rigid_options_default();
    if ((!in->colliders || !in->ends) && count)
        return abuti_null(q->function, in->colliders ? "ends" : "colliders");
    if ((status = abuti_options_read(&in->sweep, sizeof in->sweep, sweep, q->function)) ||
        (status = abuti_check_length(q->function, "sweep->separation", in->sweep.separation)) ||
        (status = abuti_check_length(q->function, "sweep->tolerance", in->sweep.tolerance)))
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        status = abuti_query_collider_check(q->function, &in->colliders[i], i);
        snprintf(what, sizeof what, "ends[%zu]", i);
        if (!status)
            status = abuti_query_check_pose(q->function, what, &in->colliders[i], &in->ends[i]);
    }
    q->count = count;
    q->grain = CASTS_PER_CHUNK;
    q->run = run_cast;
    q->data = in;
    return status;
}

abut_status abut_world_cast_first(const abut_world *world, const abut_collider *colliders,
                                  const abut_pose *ends, size_t count,
                                  const abut_sweep_rigid_options *sweep,
                                  const abut_world_query_options *options, abut_world_cast *hits,
                                  abut_world_query_report *report) {
    world_query q = {.counts = NULL};
    cast_inputs in = {.mode = CAST_MODE_FIRST, .colliders = colliders, .ends = ends, .hits = hits};
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (!hits && count))
        return status ? status : abuti_null(__func__, "hits");
    status = begin_casts(&q, &in, count, sweep);
    return status ? status : abuti_query_run(&q, report);
}

abut_status abut_world_cast_any(const abut_world *world, const abut_collider *colliders,
                                const abut_pose *ends, size_t count,
                                const abut_sweep_rigid_options *sweep,
                                const abut_world_query_options *options, bool *any,
                                abut_world_query_report *report) {
    world_query q = {.counts = NULL};
    cast_inputs in = {.mode = CAST_MODE_ANY, .colliders = colliders, .ends = ends, .any = any};
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (!any && count))
        return status ? status : abuti_null(__func__, "any");
    status = begin_casts(&q, &in, count, sweep);
    return status ? status : abuti_query_run(&q, report);
}

abut_status abut_world_cast_all(const abut_world *world, const abut_collider *colliders,
                                const abut_pose *ends, size_t count,
                                const abut_sweep_rigid_options *sweep,
                                const abut_world_query_options *options, uint64_t *offsets,
                                abut_world_cast_list *hits, abut_world_query_report *report) {
    world_query q = {.name = "hits", .result_bytes = sizeof(abut_world_cast)};
    cast_inputs in = {.mode = CAST_MODE_ALL, .colliders = colliders, .ends = ends};
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (status = ABUTI_LIST_CHECK(__func__, "hits", hits)) ||
        (status = abuti_query_check_offsets(__func__, offsets, hits->capacity)) ||
        (status = begin_casts(&q, &in, count, sweep)))
        return status;
    return abuti_query_run_lists(&q, offsets, hits->list, hits->capacity, &hits->count, report);
}
