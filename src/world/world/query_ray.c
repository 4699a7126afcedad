/* Rays and points against all items: the surface of each item in its local coordinates. */
#include "world/query.h"

#include "bvh/bvh.h"
#include "device/array.h"
#include "geom/pose.h"
#include "geom/solid_shared.h"

#include <abut/nearest.h>
#include <abut/ray.h>
#include <math.h>

enum { RAYS_PER_CHUNK = 64, POINTS_PER_CHUNK = 64, FEW_HITS = 32 };
enum { RAY_NUMBERS = sizeof(abut_ray) / sizeof(double), POINT_NUMBERS = 3 };

/* ---- local coordinates ---- */

/* A ray in the coordinates of an item. Its parameter is `from` + `unit` times that of `ray`. */
typedef struct local_ray {
    abut_ray ray;
    double from, unit;
} local_ray;

/* Converts a ray. Conversion may exceed the range of coordinates: then the direction is scaled by a
 * power of two, and the ray begins where it enters the box of the item. False if it does not. */
static bool convert_ray(const world_item *item, box3 box, const abut_ray *ray, local_ray *to) {
    const contact_motion *m = &item->at.motion;
    const mat3 back = m3_transpose(&m->turn);
    to->ray.origin = contact_to_local(m, ray->origin);
    to->ray.direction = m3_apply(&back, ray->direction);
    to->from = 0;
    to->unit = 1;
    if (!abuti_is_position(to->ray.direction)) {
        to->unit = 0.25;
        to->ray.direction = v3_scale(to->ray.direction, to->unit);
    }
    if (abuti_is_position(to->ray.origin))
        return true;
    const box3 point = {to->ray.origin, to->ray.origin};
    const query_region region = abuti_query_path_region(point, to->ray.direction, INFINITY);
    const double enter = region.bound(&region, &box);
    to->from = enter * to->unit;
    to->ray.origin = v3_along(to->ray.origin, enter, to->ray.direction);
    return enter < INFINITY && abuti_is_position(to->ray.origin);
}

static vec3 triangle_normal(const world_item *item, const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    const vec3 p = mesh->positions[corner[0]];
    const vec3 area =
        v3_cross(v3_sub(mesh->positions[corner[1]], p), v3_sub(mesh->positions[corner[2]], p));
    return m3_apply(&item->at.motion.turn, v3_normalise(area));
}

/* ---- rays ---- */

typedef enum ray_mode { RAY_MODE_FIRST, RAY_MODE_ANY, RAY_MODE_ALL } ray_mode;

typedef struct ray_inputs {
    ray_mode mode;
    const abut_ray *rays;
    double limit;
    abut_world_hit *hits; /* FIRST */
    bool *any;            /* ANY */
} ray_inputs;

/* A ray, and what it has hit so far. */
typedef struct ray_cast {
    const world_query *q;
    const abut_ray *ray;
    ray_mode mode;
    double limit;
    abut_world_hit first;
    query_chunk *chunk; /* ALL */
} ray_cast;

static int compare_hits(const void *x, const void *y) {
    const abut_world_hit *a = x, *b = y;
    return a->parameter != b->parameter ? (a->parameter < b->parameter ? -1 : 1)
           : a->id != b->id             ? (a->id < b->id ? -1 : 1)
                                        : (a->triangle > b->triangle) - (a->triangle < b->triangle);
}

/* Adds a hit within the limit. */
static abut_status add_hit(ray_cast *c, uint32_t id, uint32_t triangle, double parameter,
                           vec3 normal, query_region *region) {
    const abut_world_hit hit = {.parameter = parameter,
                                .point = v3_along(c->ray->origin, parameter, c->ray->direction),
                                .normal = normal,
                                .id = id,
                                .triangle = triangle};
    if (c->mode == RAY_MODE_ALL) {
        abut_world_hit *to = ABUTI_PUSH(c->q->world->context, &c->chunk->results, abut_world_hit);
        if (!to)
            return ABUT_ERROR_MEMORY;
        *to = hit;
        return ABUT_OK;
    }
    if (compare_hits(&hit, &c->first) < 0)
        c->first = hit;
    region->limit = c->mode == RAY_MODE_ANY ? -INFINITY : c->first.parameter;
    return ABUT_OK;
}

static abut_status cast_at_primitive(ray_cast *c, const world_item *item, uint32_t id,
                                     query_region *region) {
    const contact_motion *m = &item->at.motion;
    const mat3 back = m3_transpose(&m->turn);
    const abut_ray ray = {contact_to_local(m, c->ray->origin), m3_apply(&back, c->ray->direction)};
    query_crossings found;
    abut_status status = ABUT_OK;
    abuti_query_cross_primitive(&item->is.collider, &ray, &found);
    for (uint32_t i = 0; i < found.count && !status; i++)
        if (found.parameter[i] >= 0 && found.parameter[i] <= c->limit)
            status = add_hit(c, id, ABUT_NONE, found.parameter[i],
                             m3_apply(&m->turn, found.normal[i]), region);
    return status;
}

/* Adds all hits of a mesh. */
static abut_status add_all_hits(ray_cast *c, const world_item *item, uint32_t id,
                                const abut_bvh *bvh, const local_ray *local, query_region *region) {
    abut_context *context = c->q->world->context;
    abut_ray_hit few[FEW_HITS], *more = NULL;
    abut_ray_hit_list list = {few, FEW_HITS, 0};
    abut_status status = abut_ray_all(bvh, &local->ray, &list);
    if (status == ABUT_ERROR_BUFFER) {
        more = abuti_allocate(context, (size_t)list.count, sizeof *more);
        list.list = more;
        list.capacity = list.count;
        status = more ? abut_ray_all(bvh, &local->ray, &list) : ABUT_ERROR_MEMORY;
    }
    for (uint64_t i = 0; i < list.count && !status; i++) {
        const double parameter = local->from + local->unit * list.list[i].parameter;
        if (parameter <= c->limit)
            status = add_hit(c, id, list.list[i].triangle, parameter,
                             triangle_normal(item, bvh->mesh, list.list[i].triangle), region);
    }
    abuti_release(context, more);
    return status;
}

static abut_status cast_at_item(void *data, uint32_t id, query_region *region) {
    ray_cast *c = data;
    const world_item *item = &world_items(c->q->world)[id];
    const abut_bvh *bvh = abuti_query_bvh(item);
    local_ray local;
    if (item->kind >= ABUT_COLLIDER_PLANE && item->kind < ABUT_COLLIDER_HULL)
        return cast_at_primitive(c, item, id, region);
    if (!bvh || !convert_ray(item, bvh->mesh->bounds, c->ray, &local))
        return ABUT_OK;
    if (c->mode == RAY_MODE_ALL)
        return add_all_hits(c, item, id, bvh, &local, region);
    const double limit = (real_min(c->limit, region->limit) - local.from) / local.unit;
    abut_ray_hit hit;
    bool any = false;
    if (!(limit >= 0))
        return ABUT_OK;
    if (c->mode == RAY_MODE_ANY) {
        abut_status status = abut_ray_any(bvh, &local.ray, limit, &any);
        if (any)
            region->limit = -INFINITY;
        c->first.id = any ? id : c->first.id;
        return status;
    }
    abut_status status = abut_ray_first(bvh, &local.ray, limit, &hit);
    if (status || hit.triangle == ABUT_NONE)
        return status;
    return add_hit(c, id, hit.triangle, local.from + local.unit * hit.parameter,
                   triangle_normal(item, bvh->mesh, hit.triangle), region);
}

static abut_status run_ray(const world_query *q, size_t index, query_chunk *chunk) {
    const ray_inputs *in = q->data;
    const abut_ray *ray = &in->rays[index];
    ray_cast c = {.q = q, .ray = ray, .mode = in->mode, .limit = in->limit, .chunk = chunk};
    c.first = (abut_world_hit){.parameter = INFINITY, .id = ABUT_NONE, .triangle = ABUT_NONE};
    const size_t before = chunk->results.count;
    query_region region =
        abuti_query_path_region((box3){ray->origin, ray->origin}, ray->direction, in->limit);
    abut_status status = abuti_query_traverse(q, &region, cast_at_item, &c);
    if (status)
        return status;
    if (in->mode == RAY_MODE_FIRST) {
        QUERY_SET_ID(q, &c.first);
        in->hits[index] = c.first;
    } else if (in->mode == RAY_MODE_ANY)
        in->any[index] = c.first.id != ABUT_NONE;
    else if (chunk->results.count > before)
        qsort((abut_world_hit *)chunk->results.data + before, chunk->results.count - before,
              sizeof(abut_world_hit), compare_hits);
    for (size_t i = before; i < chunk->results.count; i++)
        QUERY_SET_ID(q, &ABUTI_AT(&chunk->results, abut_world_hit, i));
    return ABUT_OK;
}

static abut_status check_rays(const char *function, const abut_ray *rays, size_t count) {
    char what[48];
    abut_status status;
    for (size_t i = 0; i < count; i++) {
        if (abuti_is_position(rays[i].origin) && abuti_is_position(rays[i].direction) &&
            v3_max_abs(rays[i].direction) > 0)
            continue;
        snprintf(what, sizeof what, "ray %zu: origin", i);
        if ((status = abuti_bvh_check_point(function, what, rays[i].origin)))
            return status;
        snprintf(what, sizeof what, "ray %zu: direction", i);
        if ((status = abuti_bvh_check_point(function, what, rays[i].direction)))
            return status;
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the direction of ray %zu is zero; it must have a length", function,
                          i);
    }
    return ABUT_OK;
}

/* Converts an array of the caller to doubles, which the caller releases as `copy`. */
static abut_status read_array(const world_query *q, const char *what, abut_array *array,
                              size_t count, uint32_t numbers, void **copy) {
    *copy = NULL;
    if (!array->host && !array->buffer && count)
        return abuti_null(q->function, what);
    if (array->buffer)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s is a device buffer; queries of worlds run on the CPU, so pass an "
                          "array of the host",
                          q->function, what);
    return abuti_array_convert(q->function, what, q->world->context, array, count, numbers, copy);
}

static abut_status begin_rays(world_query *q, ray_inputs *in, abut_array *rays, size_t count,
                              void **copy) {
    abut_status status = abuti_bvh_check_limit(q->function, "limit", in->limit);
    *copy = NULL;
    if (!status)
        status = read_array(q, "rays", rays, count, RAY_NUMBERS, copy);
    if (!status)
        status = check_rays(q->function, rays->host, count);
    in->rays = rays->host;
    q->count = count;
    q->grain = RAYS_PER_CHUNK;
    q->run = run_ray;
    q->data = in;
    return status;
}

abut_status abut_world_ray_first(const abut_world *world, abut_array rays, size_t count,
                                 double limit, const abut_world_query_options *options,
                                 abut_world_hit *hits, abut_world_query_report *report) {
    world_query q = {.counts = NULL};
    ray_inputs in = {.mode = RAY_MODE_FIRST, .limit = limit, .hits = hits};
    void *copy;
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (!hits && count))
        return status ? status : abuti_null(__func__, "hits");
    status = begin_rays(&q, &in, &rays, count, &copy);
    if (!status)
        status = abuti_query_run(&q, report);
    abuti_release(world->context, copy);
    return status;
}

abut_status abut_world_ray_any(const abut_world *world, abut_array rays, size_t count, double limit,
                               const abut_world_query_options *options, bool *any,
                               abut_world_query_report *report) {
    world_query q = {.counts = NULL};
    ray_inputs in = {.mode = RAY_MODE_ANY, .limit = limit, .any = any};
    void *copy;
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (!any && count))
        return status ? status : abuti_null(__func__, "any");
    status = begin_rays(&q, &in, &rays, count, &copy);
    if (!status)
        status = abuti_query_run(&q, report);
    abuti_release(world->context, copy);
    return status;
}

abut_status abut_world_ray_all(const abut_world *world, abut_array rays, size_t count, double limit,
                               const abut_world_query_options *options, uint64_t *offsets,
                               abut_world_hit_list *hits, abut_world_query_report *report) {
    world_query q = {.name = "hits", .result_bytes = sizeof(abut_world_hit)};
    ray_inputs in = {.mode = RAY_MODE_ALL, .limit = limit};
    void *copy;
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (status = ABUTI_LIST_CHECK(__func__, "hits", hits)) ||
        (status = abuti_query_check_offsets(__func__, offsets, hits->capacity)))
        return status;
    status = begin_rays(&q, &in, &rays, count, &copy);
    if (!status)
        status =
            abuti_query_run_lists(&q, offsets, hits->list, hits->capacity, &hits->count, report);
    abuti_release(world->context, copy);
    return status;
}

/* ---- points ---- */

typedef struct point_inputs {
    const vec3 *points;
    double radius;
    abut_world_nearest *nearest;
} point_inputs;

typedef struct point_search {
    const world_query *q;
    vec3 point;
    double radius;
    abut_world_nearest best;
} point_search;

static abut_status measure_item(void *data, uint32_t id, query_region *region) {
    point_search *s = data;
    const world_item *item = &world_items(s->q->world)[id];
    const abut_bvh *bvh = abuti_query_bvh(item);
    const vec3 local = contact_to_local(&item->at.motion, s->point);
    abut_world_nearest found = {.id = id, .triangle = ABUT_NONE};
    if (item->kind >= ABUT_COLLIDER_PLANE && item->kind < ABUT_COLLIDER_HULL) {
        const signed_closest closest = abuti_query_closest_on_primitive(&item->is.collider, local);
        found.distance = fabs(closest.distance);
        found.point = closest.point;
    } else {
        abut_nearest nearest;
        if (!bvh || !abuti_is_position(local))
            return ABUT_OK;
        abut_status status =
            abut_nearest_point(bvh, local, real_min(s->radius, region->limit), &nearest);
        if (status || nearest.triangle == ABUT_NONE)
            return status;
        found.distance = nearest.distance;
        found.point = nearest.point;
        found.triangle = nearest.triangle;
    }
    if (found.distance > s->radius || found.distance > s->best.distance ||
        (found.distance == s->best.distance && found.id > s->best.id))
        return ABUT_OK;
    found.point = contact_to_world(&item->at.motion, found.point);
    s->best = found;
    region->limit = found.distance;
    return ABUT_OK;
}

static abut_status run_point(const world_query *q, size_t index, query_chunk *chunk) {
    const point_inputs *in = q->data;
    const vec3 p = in->points[index];
    point_search s = {.q = q, .point = p, .radius = in->radius};
    s.best = (abut_world_nearest){.distance = INFINITY,
                                  .point = p,
                                  .id = ABUT_NONE,
                                  .triangle = ABUT_NONE};
    query_region region = abuti_query_distance_region((box3){p, p}, in->radius);
    (void)chunk;
    abut_status status = abuti_query_traverse(q, &region, measure_item, &s);
    if (status)
        return status;
    QUERY_SET_ID(q, &s.best);
    in->nearest[index] = s.best;
    return status;
}

abut_status abut_world_nearest_point(const abut_world *world, abut_array points, size_t count,
                                     double radius, const abut_world_query_options *options,
                                     abut_world_nearest *nearest, abut_world_query_report *report) {
    world_query q = {.count = count, .grain = POINTS_PER_CHUNK, .run = run_point};
    point_inputs in = {.radius = radius, .nearest = nearest};
    void *copy = NULL;
    char what[32];
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (!nearest && count))
        return status ? status : abuti_null(__func__, "nearest");
    status = abuti_bvh_check_limit(__func__, "radius", radius);
    if (!status)
        status = read_array(&q, "points", &points, count, POINT_NUMBERS, &copy);
    in.points = points.host;
    q.data = &in;
    for (size_t i = 0; i < count && !status; i++)
        if (!abuti_is_position(in.points[i])) {
            snprintf(what, sizeof what, "point %zu", i);
            status = abuti_bvh_check_point(__func__, what, in.points[i]);
        }
    if (!status)
        status = abuti_query_run(&q, report);
    abuti_release(world->context, copy);
    return status;
}
