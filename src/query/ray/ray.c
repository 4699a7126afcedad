/* Rays against a mesh: validation, single rays and batches, and the search without a wide tree.
 *
 * The search of walk_lanes.c in the wide tree computes almost all results. Here is a plain search
 * in the BVH, for the first queries of a BVH, which has no wide tree yet, for rays that begin so
 * far away that floats do not hold their origin, and if the stack of a ray is full. It tests boxes
 * in floats, four at once, conservatively (cull.h), and every triangle of a leaf by the exact
 * predicates of src/foundation/geom.
 */
#include "ray/ray.h"
#include "bvh/cull.h"
#include "bvh/gather.h"
#include "bvh/points.h"

#include "device/array.h"
#include "geom/intersect_shared.h"
#include "geom/path_shared.h"

#include <math.h>

#define SLAB_ROUNDING BVH_SLAB_ROUNDING

/* ---- triangles ---- */

static abut_ray_hit no_hit(void) {
    abut_ray_hit hit;
    memset(&hit, 0, sizeof hit);
    hit.parameter = INFINITY;
    hit.triangle = ABUT_NONE;
    return hit;
}

static abut_ray_hit hit_of(const path_hit *found, uint32_t triangle) {
    abut_ray_hit hit = no_hit();
    hit.parameter = found->parameter;
    hit.triangle = triangle;
    for (int i = 0; i < 3; i++)
        hit.barycentric[i] = found->weight[i];
    return hit;
}

/* Whether a triangle faces along the direction of the ray. */
static bool is_back_face(const abut_ray *ray, const abut_triangle *t) {
    vec3 area = v3_cross(v3_sub(t->corner[1], t->corner[0]), v3_sub(t->corner[2], t->corner[0]));
    return v3_dot(area, ray->direction) > 0;
}

bool abuti_ray_meet(const ray_row *row, uint32_t index, uint32_t triangle, abut_ray_hit *hit) {
    const abut_ray *ray = &row->rays[index];
    const path3 path = ray_path(*ray);
    const abut_triangle t = bvh_triangle(row->bvh->mesh, triangle);
    path_hit found;
    if ((row->what == RAY_EXIT && !is_back_face(ray, &t)) ||
        !path_triangle_intersect(&path, t, &found) || !(found.parameter <= row->limit))
        return false;
    *hit = hit_of(&found, triangle);
    return true;
}

void abuti_ray_pierce(const abut_mesh *mesh, const ray_pierce *pierce) {
    const path3 path = ray_path(*pierce->ray);
    path_hit found;
    path_pierce(&path, bvh_triangle(mesh, pierce->triangle), &found);
    *pierce->hit = hit_of(&found, pierce->triangle);
}

bool abuti_ray_hit_after(const void *one, const void *other) {
    const abut_ray_hit *a = one, *b = other;
    return a->parameter > b->parameter ||
           (a->parameter == b->parameter && a->triangle > b->triangle);
}

/* ---- search without a wide tree ---- */

/* A limit of the parameter in the frame, increased by the rounding error of a hit, and at least the
 * smallest normal number. */
static float frame_limit(double limit, double unit) {
    limit *= unit;
    return limit < FLT_MAX ? bvh_float_above(limit) * (1 + SLAB_ROUNDING) + FLT_MIN : INFINITY;
}

/* Pushes the children that the ray may intersect with their entry parameters, the nearest last. If
 * boxes cannot be tested, pushes all children. */
static uint32_t push_children(const abut_bvh *bvh, const bvh_ray_slabs *slab, uint32_t index,
                              float limit, keyed *stack) {
    const bvh_node *node = &bvh->nodes[index];
    f4 entry = f4_all(0);
    if (slab->is_usable) {
        m4 met = bvh_ray_overlaps(slab, node, limit, &entry);
        const uint32_t first = index * BVH_WIDTH;
        const uint32_t values[BVH_WIDTH] = {first, first + 1, first + 2, first + 3};
        return f4_sort(entry, met, values, stack);
    }
    uint32_t used = 0;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (node->child[slot] != ABUT_NONE)
            stack[used++] = (keyed){0, index * BVH_WIDTH + slot};
    return used;
}

uint32_t abuti_ray_search_plain(const ray_row *row, uint32_t index, abut_ray_hit *hits) {
    const abut_bvh *bvh = row->bvh;
    const abut_ray *ray = &row->rays[index];
    keyed stack[BVH_STACK];
    int exponent;
    frexp(v3_max_abs(ray->direction), &exponent);
    /* Twice, since one power of two may not be a double. */
    const double half = ldexp(1, (1 - exponent) / 2),
                 rest = ldexp(1, 1 - exponent - (1 - exponent) / 2),
                 unit = bvh->scale / half / rest;
    const bvh_ray_slabs slab =
        bvh_ray_slabs_of(v3_scale(v3_sub(ray->origin, bvh->mesh->origin), bvh->scale),
                         v3_scale(v3_scale(ray->direction, half), rest), 0);
    const bool first = row->what == RAY_FIRST || row->what == RAY_EXIT;
    abut_ray_hit best = no_hit();
    float limit = frame_limit(row->limit, unit);
    uint32_t count = 0, used = push_children(bvh, &slab, 0, limit, stack);
    while (used && !(row->what == RAY_ANY && count)) {
        keyed next = stack[--used];
        if (next.key * (1 - SLAB_ROUNDING) > limit)
            continue;
        const uint32_t child = bvh->nodes[next.value / BVH_WIDTH].child[next.value % BVH_WIDTH];
        if (!(child & BVH_LEAF)) {
            used += push_children(bvh, &slab, child, limit, stack + used);
            continue;
        }
        const uint32_t leaf = child & ~BVH_LEAF;
        for (uint32_t i = 0; i < bvh_leaf_fill(bvh, leaf); i++) {
            abut_ray_hit hit;
            if (!abuti_ray_meet(row, index, bvh->order[leaf * BVH_WIDTH + i], &hit))
                continue;
            if (hits && !first)
                ray_write_hit(&hits[count], &hit);
            count++;
            if (first && abuti_ray_hit_after(&best, &hit)) {
                best = hit;
                limit = frame_limit(hit.parameter, unit);
            }
        }
    }
    if (hits && first)
        ray_write_hit(hits, &best);
    return count;
}

void abuti_ray_search(ray_row *row) {
    const bool first = row->what == RAY_FIRST || row->what == RAY_EXIT;
    row->unfinished_count = 0;
    if (row->tree)
        ABUTI_BY_LANES(abuti_ray_walk)(row);
    const uint32_t count = row->tree ? row->unfinished_count : row->count;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = row->tree ? row->unfinished[k] : k;
        const uint32_t found = abuti_ray_search_plain(row, i, first ? &row->hits[i] : NULL);
        if (row->what == RAY_ANY)
            row->any[i] = found > 0;
        else if (row->what == RAY_ALL)
            row->counts[i] = found;
    }
}

/* Searches for the hit of one ray with the wide tree if there is one. */
static abut_ray_hit search_one(ray_query_kind what, const abut_bvh *bvh, const abut_ray *ray,
                               double limit) {
    abut_ray_hit hit;
    ray_row row;
    row.bvh = bvh;
    row.tree = abuti_bvh_find_wide(bvh);
    row.rays = ray;
    row.count = 1;
    row.what = what;
    row.limit = limit;
    row.hits = &hit;
    abuti_ray_search(&row);
    return hit;
}

abut_ray_hit abuti_ray_first(const abut_bvh *bvh, const abut_ray *ray, double limit) {
    return search_one(RAY_FIRST, bvh, ray, limit);
}

abut_ray_hit abuti_ray_find_exit(const abut_bvh *bvh, const abut_ray *ray, double limit) {
    return search_one(RAY_EXIT, bvh, ray, limit);
}

/* ---- validation ---- */

static abut_status check_ray(const char *function, const abut_ray *ray, size_t index) {
    char what[64];
    if (!ray)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: ray is null; pass its address", function);
    if (index == SIZE_MAX)
        snprintf(what, sizeof what, "ray");
    else
        snprintf(what, sizeof what, "ray %zu", index);
    char origin[80], direction[80];
    snprintf(origin, sizeof origin, "%s: origin", what);
    snprintf(direction, sizeof direction, "%s: direction", what);
    abut_status status;
    if ((status = abuti_bvh_check_point(function, origin, ray->origin)) ||
        (status = abuti_bvh_check_point(function, direction, ray->direction)))
        return status;
    if (v3_max_abs(ray->direction) == 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s is zero; it must have a length greater than 0", function,
                          direction);
    return ABUT_OK;
}

static bool is_ray_valid(const void *items, size_t i) {
    const abut_ray *ray = (const abut_ray *)items + i;
    const double *scalar = &ray->origin.x;
    bool is_valid = v3_max_abs(ray->direction) > 0;
    for (int k = 0; k < 6; k++)
        is_valid = is_valid && fabs(scalar[k]) <= ABUT_COORDINATE_MAX;
    return is_valid;
}

static abut_status check_rays(const char *function, abut_context *context, const abut_ray *rays,
                              size_t count) {
    size_t invalid = abuti_bvh_find_invalid(context, rays, count, is_ray_valid);
    return invalid == SIZE_MAX ? ABUT_OK : check_ray(function, &rays[invalid], invalid);
}

/* Validates the arrays of the caller; and the rays, unless the device does. */
static abut_status check_batch(const char *function, const abut_bvh *bvh, abut_array rays,
                               size_t count, abut_array out, const char *out_name,
                               size_t out_bytes) {
    abut_status status =
        abuti_bvh_check_array(function, "rays", bvh, rays, count, sizeof(abut_ray));
    if (!status)
        status = abuti_bvh_check_array(function, out_name, bvh, out, count, out_bytes);
    return status || rays.buffer ? status : check_rays(function, bvh->context, rays.host, count);
}

/* ---- first hits, or whether there are any ---- */

typedef struct ray_batch {
    const abut_bvh *bvh;
    const bvh_wide *tree; /* or null */
    const abut_ray *rays;
    double limit;
    abut_ray_hit *hits; /* one of these two outputs is set */
    bool *any;
} ray_batch;

static void rays_task(void *data, size_t chunk, size_t begin, size_t end) {
    const ray_batch *b = data;
    ray_row row;
    (void)chunk;
    row.bvh = b->bvh;
    row.tree = b->tree;
    row.rays = b->rays + begin;
    row.count = (uint32_t)(end - begin);
    row.what = b->hits ? RAY_FIRST : RAY_ANY;
    row.limit = b->limit;
    row.hits = b->hits ? b->hits + begin : NULL;
    row.any = b->any ? b->any + begin : NULL;
    abuti_ray_search(&row);
}

/* One ray; one of the outputs is set, as `out`. */
static abut_status cast_ray(const char *function, const abut_bvh *bvh, const abut_ray *ray,
                            double limit, const void *out, const char *out_name, abut_ray_hit *hit,
                            bool *any) {
    abut_status status;
    if ((status = abuti_bvh_check(function, bvh, out, out_name)) ||
        (status = check_ray(function, ray, SIZE_MAX)) ||
        (status = abuti_bvh_check_limit(function, "limit", limit)))
        return status;
    ray_batch b = {bvh, abuti_bvh_earn_wide(bvh, 1), ray, limit, hit, any};
    rays_task(&b, 0, 0, 1);
    return ABUT_OK;
}

abut_status abut_ray_first(const abut_bvh *bvh, const abut_ray *ray, double limit,
                           abut_ray_hit *hit) {
    return cast_ray(__func__, bvh, ray, limit, hit, "hit", hit, NULL);
}

abut_status abut_ray_any(const abut_bvh *bvh, const abut_ray *ray, double limit, bool *any) {
    return cast_ray(__func__, bvh, ray, limit, any, "any", NULL, any);
}

/* The number of coordinates of a ray. */
enum { RAY_NUMBERS = sizeof(abut_ray) / sizeof(double) };

/* First hits, or whether there are any. */
static abut_status cast_rays(const char *function, const abut_bvh *bvh, abut_array rays,
                             size_t count, double limit, bool any, abut_array out) {
    void *copy = NULL;
    abut_status status;
    if ((status = abuti_bvh_check_batch(function, bvh, bvh, "bvh")) ||
        (status = abuti_bvh_check_limit(function, "limit", limit)))
        return status;
    status = abuti_array_convert(function, "rays", bvh->context, &rays, count, RAY_NUMBERS, &copy);
    if (!status)
        status = check_batch(function, bvh, rays, count, out, any ? "any" : "hits",
                             any ? sizeof(bool) : sizeof(abut_ray_hit));
    if (!status && count && bvh->there) {
        status = abuti_ray_on_device(function, bvh->there, rays, count, limit, any, out);
    } else if (!status && count) {
        ray_batch b = {bvh,   abuti_bvh_earn_wide(bvh, count), rays.host,
                       limit, any ? NULL : out.host,           any ? out.host : NULL};
        status =
            abuti_bvh_run_tasks(bvh->context, "rays", count, RAYS_PER_TASK, rays_task, &b, 0, 1);
    }
    abuti_release(bvh->context, copy);
    return status;
}

abut_status abut_ray_first_batch(const abut_bvh *bvh, abut_array rays, size_t count, double limit,
                                 abut_array hits) {
    return cast_rays(__func__, bvh, rays, count, limit, false, hits);
}

abut_status abut_ray_any_batch(const abut_bvh *bvh, abut_array rays, size_t count, double limit,
                               abut_array any) {
    return cast_rays(__func__, bvh, rays, count, limit, true, any);
}

/* ---- all hits ---- */

abut_status abut_ray_all(const abut_bvh *bvh, const abut_ray *ray, abut_ray_hit_list *hits) {
    abut_status status;
    if ((status = abuti_bvh_check(__func__, bvh, hits, "hits")) ||
        (status = check_ray(__func__, ray, SIZE_MAX)) ||
        (status = ABUTI_LIST_CHECK(__func__, "hits", hits)))
        return status;
    return abuti_ray_all_of_one(__func__, bvh, ray, hits);
}

static abut_status find_all_hits(const char *function, const abut_bvh *bvh, abut_array rays,
                                 size_t count, uint64_t capacity, abut_array offsets,
                                 abut_array hits, uint64_t *total) {
    const bvh_gather g = {.function = function,
                          .stage = "rays",
                          .what = "hits",
                          .bvh = bvh,
                          .count = count,
                          .capacity = capacity,
                          .offsets = offsets,
                          .results = hits,
                          .total = total,
                          .result_bytes = sizeof(abut_ray_hit)};
    abut_status status = abuti_gather_check(&g);
    if (!status)
        status = check_batch(function, bvh, rays, count, abut_array_host(bvh), "bvh", 0);
    if (status)
        return status;
    if (bvh->there)
        return abuti_ray_all_on_device(&g, rays);
    return abuti_ray_all_run(&g, rays.host);
}

abut_status abut_ray_all_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                               uint64_t capacity, abut_array offsets, abut_array hits,
                               uint64_t *total) {
    void *copy;
    abut_status status = abuti_bvh_check_batch(__func__, bvh, bvh, "bvh");
    if (status)
        return status;
    status = abuti_array_convert(__func__, "rays", bvh->context, &rays, count, RAY_NUMBERS, &copy);
    if (!status)
        status = find_all_hits(__func__, bvh, rays, count, capacity, offsets, hits, total);
    abuti_release(bvh->context, copy);
    return status;
}
