/* Rays against a mesh.
 *
 * Boxes of nodes are tested in floats, four at once, conservatively, and so are the four triangles
 * of a leaf. Triangles that the line may intersect are decided by the exact predicates of
 * src/foundation/geom, so the decisions are exact.
 *
 * Triangles. In a projection along the ray, a triangle is hit if the origin of the plane is on the
 * same side of its three edges. Corners, from the blocks and relative to the origin of the ray, are
 * sheared along its longest direction z (Woop and others 2013, "Watertight ray/triangle
 * intersection"): x' = x - (dx/dz) z, with a slope of at most 1. Let M bound the coordinates of the
 * leaf relative to the origin and e = 2^-24. A corner has an error of half a quantisation step and
 * the roundings of box, origin and sum, together less than d = step + 8 e (M + 4); sheared less
 * than 2 d + 4 e M, and is no larger than 2 M. A product of two then has an error of 4 M (2 d + 4 e
 * M) + (2 d + 4 e M)^2, and a side, the difference of two products, twice that plus 16 e M^2 for
 * its roundings. Triangles with sides of both signs beyond this error are certainly missed.
 */
#include "ray/ray.h"
#include "bvh/cull.h"
#include "bvh/gather.h"

#include "device/array.h"
#include "geom/intersect_shared.h"
#include "geom/path_shared.h"

#include <math.h>
#include <stdatomic.h>

#define SLAB_ROUNDING BVH_SLAB_ROUNDING

typedef struct framed_ray {
    const abut_bvh *bvh;
    path3 path; /* absolute */
    bvh_ray_slabs slab;
    double unit; /* factor from parameters to those of the frame */
    int x, y, z; /* axes; the direction is longest along z */
    float at[3]; /* the origin in the frame, rounded */
    float slope_x, slope_y;
} framed_ray;

static framed_ray frame_ray(const abut_bvh *bvh, const abut_ray *ray) {
    framed_ray b;
    int exponent;
    b.bvh = bvh;
    b.path = ray_path(*ray);
    vec3 o = v3_scale(v3_sub(ray->origin, bvh->mesh->origin), bvh->scale);
    frexp(v3_max_abs(ray->direction), &exponent);
    /* Twice, since one power of two may not be a double. */
    double half = ldexp(1, (1 - exponent) / 2), rest = ldexp(1, 1 - exponent - (1 - exponent) / 2);
    vec3 d = v3_scale(v3_scale(ray->direction, half), rest);
    b.slab = bvh_ray_slabs_of(o, d, 0);
    b.z = fabs(d.x) >= fabs(d.y) && fabs(d.x) >= fabs(d.z) ? 0 : fabs(d.y) >= fabs(d.z) ? 1 : 2;
    b.x = (b.z + 1) % 3;
    b.y = (b.z + 2) % 3;
    b.slope_x = (float)(v3_get(d, b.x) / v3_get(d, b.z));
    b.slope_y = (float)(v3_get(d, b.y) / v3_get(d, b.z));
    for (int axis = 0; axis < 3; axis++)
        b.at[axis] = (float)v3_get(o, axis);
    b.unit = bvh->scale / half / rest;
    return b;
}

/* A limit of the parameter in the frame, increased by the rounding error of a hit, and at least the
 * smallest normal number. */
static float frame_limit(const framed_ray *b, double most) {
    double limit = most * b->unit;
    return limit < FLT_MAX ? bvh_float_above(limit) * (1 + SLAB_ROUNDING) + FLT_MIN : INFINITY;
}

/* ---- leaves ---- */

/* The triangles of a leaf that the line of the ray may intersect, as a mask. */
static unsigned leaf_candidates(const framed_ray *b, const bvh_node *node, uint32_t slot) {
    const bvh_block *block = &b->bvh->blocks[node->child[slot] & ~BVH_LEAF];
    const int axes[3] = {b->x, b->y, b->z};
    f4 from[3], step[3], x[3], y[3];
    float largest = 0, longest = 0;
    for (int k = 0; k < 3; k++) {
        int axis = axes[k];
        float lo = node->lo[axis][slot] - b->at[axis], hi = node->hi[axis][slot] - b->at[axis];
        float here = (node->hi[axis][slot] - node->lo[axis][slot]) * (1.0f / BVH_STEPS);
        longest = here > longest ? here : longest;
        largest = fmaxf(largest, fmaxf(fabsf(lo), fabsf(hi)));
        from[k] = f4_all(lo);
        step[k] = f4_all(here);
    }
    f4 slope_x = f4_all(b->slope_x), slope_y = f4_all(b->slope_y);
    for (int corner = 0; corner < 3; corner++) {
        f4 at[3];
        for (int k = 0; k < 3; k++)
            at[k] = f4_add(from[k], f4_mul(f4_load_u16(block->step[corner][axes[k]]), step[k]));
        x[corner] = f4_sub(at[0], f4_mul(slope_x, at[2]));
        y[corner] = f4_sub(at[1], f4_mul(slope_y, at[2]));
    }
    f4 u = f4_sub(f4_mul(x[2], y[1]), f4_mul(y[2], x[1]));
    f4 v = f4_sub(f4_mul(x[0], y[2]), f4_mul(y[0], x[2]));
    f4 w = f4_sub(f4_mul(x[1], y[0]), f4_mul(y[1], x[0]));
    float off = 2 * (longest + 0x1p-21f * (largest + 4)) + 0x1p-22f * largest;
    float error = 2 * (4 * largest * off + off * off) + 0x1p-20f * largest * largest;
    f4 least = f4_min(f4_min(u, v), w), most = f4_max(f4_max(u, v), w);
    /* true also if one is NaN */
    unsigned below = m4_bits(f4_less(least, f4_all(-error)));
    unsigned above = m4_bits(f4_less(f4_all(error), most));
    return 15u & ~(below & above);
}

/* ---- traversal ---- */

typedef enum query_kind { QUERY_FIRST, QUERY_EXIT, QUERY_ANY, QUERY_COUNT, QUERY_ALL } query_kind;

typedef struct hit_search {
    query_kind what;
    double most;
    abut_ray_hit best;
    uint32_t count;
    abut_ray_hit *hits;
} hit_search;

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
static bool is_back_face(const framed_ray *b, const abut_triangle *t) {
    vec3 area = v3_cross(v3_sub(t->corner[1], t->corner[0]), v3_sub(t->corner[2], t->corner[0]));
    return v3_dot(area, b->path.to) > 0;
}

/* Tests a triangle. Returns true if the search is finished. */
static bool test_triangle(hit_search *h, const framed_ray *b, uint32_t triangle) {
    const abut_triangle t = bvh_triangle(b->bvh->mesh, triangle);
    path_hit found;
    if ((h->what == QUERY_EXIT && !is_back_face(b, &t)) ||
        !path_triangle_intersect(&b->path, t, &found) || !(found.parameter <= h->most))
        return false;
    if (h->what == QUERY_ANY) {
        h->count = 1;
        return true;
    }
    abut_ray_hit hit = hit_of(&found, triangle);
    if (h->what == QUERY_ALL)
        h->hits[h->count] = hit;
    h->count++;
    if (h->what <= QUERY_EXIT &&
        (hit.parameter < h->best.parameter ||
         (hit.parameter == h->best.parameter && triangle < h->best.triangle))) {
        h->best = hit;
        h->most = hit.parameter;
    }
    return false;
}

/* Pushes the children that the ray may intersect with their entry parameters, the nearest last. If
 * boxes cannot be tested, pushes all children. */
static inline uint32_t push_children(const framed_ray *b, uint32_t index, float most,
                                     keyed *stack) {
    const bvh_node *node = &b->bvh->nodes[index];
    f4 entry = f4_all(0);
    if (b->slab.is_usable) {
        m4 met = bvh_ray_overlaps(&b->slab, node, most, &entry);
        return f4_sort_lanes(entry, met, index * BVH_WIDTH, stack);
    }
    uint32_t used = 0;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (node->child[slot] != ABUT_NONE)
            stack[used++] = (keyed){0, index * BVH_WIDTH + slot};
    return used;
}

static void run_search(hit_search *h, const framed_ray *b) {
    keyed stack[BVH_STACK];
    float most = frame_limit(b, h->most);
    uint32_t used = push_children(b, 0, most, stack);
    while (used) {
        keyed next = stack[--used];
        if (next.key * (1 - SLAB_ROUNDING) > most)
            continue;
        const bvh_node *node = &b->bvh->nodes[next.value / BVH_WIDTH];
        uint32_t slot = next.value % BVH_WIDTH, child = node->child[slot];
        if (!(child & BVH_LEAF)) {
            used += push_children(b, child, most, stack + used);
            continue;
        }
        uint32_t leaf = child & ~BVH_LEAF;
        unsigned may = b->slab.is_usable ? leaf_candidates(b, node, slot) : 15;
        for (uint32_t i = 0; may && i < bvh_leaf_fill(b->bvh, leaf); i++)
            if (may >> i & 1 && test_triangle(h, b, b->bvh->order[leaf * BVH_WIDTH + i]))
                return;
        most = frame_limit(b, h->most);
    }
}

/* ---- public ---- */

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

/* ---- validation of many rays on all threads ---- */

enum { RAYS_PER_CHECK = 16384 };

typedef struct ray_check {
    const abut_ray *rays;
    atomic_size_t invalid; /* the first invalid ray */
} ray_check;

static void check_task(void *data, size_t chunk, size_t begin, size_t end) {
    ray_check *check = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const double *scalar = &check->rays[i].origin.x;
        bool is_valid = v3_max_abs(check->rays[i].direction) > 0;
        for (int k = 0; k < 6; k++)
            is_valid = is_valid && fabs(scalar[k]) <= ABUT_COORDINATE_MAX;
        if (is_valid)
            continue;
        size_t least = atomic_load(&check->invalid);
        while (i < least && !atomic_compare_exchange_weak(&check->invalid, &least, i))
            continue;
        return;
    }
}

static abut_status check_rays(const char *function, abut_context *context, const abut_ray *rays,
                              size_t count) {
    ray_check check = {.rays = rays};
    atomic_init(&check.invalid, SIZE_MAX);
    abuti_parallel_for(context, count, RAYS_PER_CHECK, check_task, &check);
    size_t invalid = atomic_load(&check.invalid);
    return invalid == SIZE_MAX ? ABUT_OK : check_ray(function, &rays[invalid], invalid);
}

static hit_search search_one(query_kind what, const abut_bvh *bvh, const abut_ray *ray,
                             double limit, abut_ray_hit *hits) {
    framed_ray b = frame_ray(bvh, ray);
    hit_search h = {what, limit, no_hit(), 0, hits};
    run_search(&h, &b);
    return h;
}

abut_ray_hit abuti_ray_find_exit(const abut_bvh *bvh, const abut_ray *ray, double limit) {
    return search_one(QUERY_EXIT, bvh, ray, limit, NULL).best;
}

/* Searches rays with the tree, or one by one. */
static void search_rays(const abut_bvh *bvh, const bvh_wide *tree, const abut_ray *rays,
                        size_t count, double limit, abut_ray_hit *hits, bool *any) {
    ray_row row;
    row.unfinished_count = 0;
    if (tree) {
        row.bvh = bvh;
        row.tree = tree;
        row.rays = rays;
        row.count = (uint32_t)count;
        row.what = hits ? RAY_FIRST : RAY_ANY;
        row.limit = limit;
        row.hits = hits;
        row.any = any;
        ABUTI_BY_LANES(abuti_ray_walk)(&row);
        count = row.unfinished_count;
    }
    for (size_t k = 0; k < count; k++) {
        size_t i = tree ? row.unfinished[k] : k;
        if (hits)
            hits[i] = search_one(QUERY_FIRST, bvh, &rays[i], limit, NULL).best;
        else
            any[i] = search_one(QUERY_ANY, bvh, &rays[i], limit, NULL).count > 0;
    }
}

/* The first hit of one ray, or whether there is any; one of the outputs is set, as `out`. */
static abut_status cast_ray(const char *function, const abut_bvh *bvh, const abut_ray *ray,
                            double limit, const void *out, const char *out_name, abut_ray_hit *hit,
                            bool *any) {
    abut_status status;
    if ((status = abuti_bvh_check(function, bvh, out, out_name)) ||
        (status = check_ray(function, ray, SIZE_MAX)) ||
        (status = abuti_bvh_check_limit(function, "limit", limit)))
        return status;
    search_rays(bvh, abuti_bvh_earn_wide(bvh, 1), ray, 1, limit, hit, any);
    return ABUT_OK;
}

abut_status abut_ray_first(const abut_bvh *bvh, const abut_ray *ray, double limit,
                           abut_ray_hit *hit) {
    return cast_ray(__func__, bvh, ray, limit, hit, "hit", hit, NULL);
}

abut_status abut_ray_any(const abut_bvh *bvh, const abut_ray *ray, double limit, bool *any) {
    return cast_ray(__func__, bvh, ray, limit, any, "any", NULL, any);
}

bool abuti_ray_hit_after(const void *one, const void *other) {
    const abut_ray_hit *a = one, *b = other;
    return a->parameter > b->parameter ||
           (a->parameter == b->parameter && a->triangle > b->triangle);
}

uint32_t abuti_ray_all_hits(const abut_bvh *bvh, const abut_ray *ray, abut_ray_hit *hits) {
    const uint32_t count =
        search_one(hits ? QUERY_ALL : QUERY_COUNT, bvh, ray, INFINITY, hits).count;
    if (hits)
        abuti_sort_items(hits, count, sizeof *hits, abuti_ray_hit_after);
    return count;
}

abut_status abut_ray_all(const abut_bvh *bvh, const abut_ray *ray, abut_ray_hit_list *hits) {
    abut_status status;
    if ((status = abuti_bvh_check(__func__, bvh, hits, "hits")) ||
        (status = check_ray(__func__, ray, SIZE_MAX)) ||
        (status = ABUTI_LIST_CHECK(__func__, "hits", hits)))
        return status;
    /* Counted first, so that a list that is too short stays unchanged. */
    status = ABUTI_LIST_COUNT(__func__, "hits", hits, abuti_ray_all_hits(bvh, ray, NULL));
    if (!status)
        abuti_ray_all_hits(bvh, ray, hits->list);
    return status;
}

/* ---- batches ---- */

bool abuti_ray_meet(const abut_mesh *mesh, const abut_ray *ray, uint32_t triangle,
                    abut_ray_hit *hit) {
    const path3 path = ray_path(*ray);
    path_hit found;
    if (!path_triangle_intersect(&path, bvh_triangle(mesh, triangle), &found))
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
    (void)chunk;
    search_rays(b->bvh, b->tree, b->rays + begin, end - begin, b->limit,
                b->hits ? b->hits + begin : NULL, b->any ? b->any + begin : NULL);
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

typedef struct all_batch {
    const abut_bvh *bvh;
    const abut_ray *rays;
    abut_ray_hit *hits;
} all_batch;

static uint32_t find_all(const void *user, size_t i, bool write, uint64_t at) {
    const all_batch *b = user;
    return abuti_ray_all_hits(b->bvh, &b->rays[i], write ? b->hits + at : NULL);
}

static abut_status find_all_hits(const char *function, const abut_bvh *bvh, abut_array rays,
                                 size_t count, uint64_t capacity, abut_array offsets,
                                 abut_array hits, uint64_t *total) {
    const all_batch b = {bvh, rays.host, hits.host};
    const bvh_gather g = {function, "rays",  "hits", bvh,   count,
                          capacity, offsets, hits,   total, sizeof(abut_ray_hit),
                          &b,       find_all};
    abut_status status = abuti_gather_check(&g);
    if (!status)
        status = check_batch(function, bvh, rays, count, abut_array_host(bvh), "bvh", 0);
    if (status)
        return status;
    if (bvh->there)
        return abuti_ray_all_on_device(&g, rays);
    const bvh_wide *tree = abuti_bvh_earn_wide(bvh, count);
    return tree ? abuti_ray_all_run(&g, tree, rays.host) : abuti_gather_run(&g);
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
