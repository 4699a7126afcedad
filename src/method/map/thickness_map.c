/* Wall thickness at every sample.
 *
 * RAY: the ray from the sample against the normal of its triangle, up to the first triangle that it
 * hits from behind, where it leaves the solid. It starts RAY_START times the size below the
 * surface, so that another solid that touches this one is not hit.
 *
 * BALL: a ball of radius r inside that touches the surface at the sample p has its centre at p + r
 * m, where m is the inward direction. A point q is in it if |q - p|^2 < 2 r m.(q - p). So the
 * largest ball without a point of a set has r = min over q of |q - p|^2 / 2 m.(q - p), over those
 * with m.(q - p) > 0. It is found by shrinking (Ma, Bae and Choi 2012, "3D medial axis point
 * approximation using nearest neighbors and the normal field"): a point in the ball gives the next
 * r. Balls that touch at p are nested, so a point outside one is outside all following ones. Hence
 * one BVH traversal is enough. A triangle is queried for its point nearest to the centre until it
 * is outside the ball. Every r belongs to a point of the set, so it is never below the result. At
 * the end no point is deeper in the ball than BALL_TOLERANCE times r.
 *
 * The set consists of the triangles whose normals differ from that of the sample by at least the
 * angle of FACING_COSINE. Otherwise, on the facets of a curved wall, the next facet would stop the
 * ball: at a distance s from an edge where the surface turns by a, its radius would be at most s /
 * tan(a / 2). With this set, points seen at less than half that angle above the surface do not
 * count.
 *
 * At the centre of a round solid the whole surface is nearly equally near, so boxes prune nothing.
 * There, planes do: a triangle whose plane does not intersect the ball is not measured.
 */
#include "map/search.h"
#include "ray/ray.h"

#include <assert.h>
#include <string.h>

enum { TRIANGLES_PER_TASK = 16, TASKS_PER_REPORT = 512, SHRINK_STEPS_MAX = 64 };
#define RAY_START 1e-9
#define FACING_COSINE 0.70710678f /* cosine of 45 degrees */
#define BALL_TOLERANCE 0x1p-20
/* Upper bound of the error of coordinates, relative to the largest one. */
#define COORDINATE_ROUNDING 0x1p-46
/* Upper bound of the error of a plane in floats, relative to the size. */
#define PLANE_ROUNDING 0x1p-18f

static const char stage[] = "map";

/* The planes of the triangles of a leaf: normals, and heights above the origin of the mesh.
 * Triangles without area have infinite height. */
typedef struct leaf_planes {
    float normal[3][BVH_WIDTH], height[BVH_WIDTH];
} leaf_planes;

typedef struct thickness {
    abut_map *map;
    const abut_bvh *bvh;
    abut_map_thickness kind;
    double limit, start, rounding, size;
    leaf_planes *planes;
    size_t begin;
} thickness;

/* The inner ball of a sample while it shrinks. */
typedef struct ball {
    const thickness *t;
    vec3 point, inwards;
    float facing[3]; /* normal of the sample */
    double r;
    double within; /* points farther from the centre are outside */
    vec3 centre;
    float from_origin[3]; /* centre relative to the origin of the mesh */
    float near_plane;     /* planes farther from the centre do not intersect the ball */
    map_interval at;      /* of the centre */
    float reach_sq;
    map_found touched;
} ball;

static vec3 normal_of(const abut_mesh *mesh, uint32_t triangle) {
    abut_triangle at = bvh_triangle(mesh, triangle);
    vec3 u = v3_sub(at.corner[1], at.corner[0]), v = v3_sub(at.corner[2], at.corner[0]);
    return v3_normalise(v3_cross(v3_normalise(u), v3_normalise(v)));
}

static void planes_task(void *data, size_t chunk, size_t begin, size_t end) {
    thickness *t = data;
    const abut_mesh *mesh = t->map->mesh;
    (void)chunk;
    for (size_t leaf = begin; leaf < end; leaf++)
        for (size_t i = 0; i < BVH_WIDTH; i++) {
            const uint32_t triangle = t->bvh->order[leaf * BVH_WIDTH + i];
            vec3 n = normal_of(mesh, triangle);
            for (int axis = 0; axis < 3; axis++)
                t->planes[leaf].normal[axis][i] = (float)v3_get(n, axis);
            t->planes[leaf].height[i] =
                v3_max_abs(n) > 0
                    ? (float)v3_dot(n, mesh->positions[mesh->indices[3 * (size_t)triangle]])
                    : INFINITY;
        }
}

/* Casts the ray; the distance is its length. */
static map_found cast_inwards(const thickness *t, vec3 point, vec3 inwards) {
    abut_ray_hit hit = abuti_ray_chord(t->bvh, point, inwards, t->start, t->limit);
    map_found found = map_found_nothing();
    if (hit.triangle == ABUT_NONE)
        return found;
    found.triangle = hit.triangle;
    found.closest.distance = hit.parameter;
    found.closest.point = v3_along(point, found.closest.distance, inwards);
    found.closest.feature = weights_feature(hit.barycentric);
    return found;
}

/* ---- balls ---- */

static void set_radius(ball *b, double r) {
    const thickness *t = b->t;
    const abut_bvh *bvh = t->bvh;
    b->r = r;
    b->within = r * (1 - BALL_TOLERANCE) - t->rounding;
    b->centre = v3_along(b->point, r, b->inwards);
    vec3 c = v3_sub(b->centre, bvh->mesh->origin);
    b->from_origin[0] = (float)c.x;
    b->from_origin[1] = (float)c.y;
    b->from_origin[2] = (float)c.z;
    b->near_plane = (float)(b->within + PLANE_ROUNDING * t->size);
    b->at = map_interval_of(bvh, b->centre);
    b->reach_sq = b->within > 0 ? map_reach_sq(bvh, b->within) : 0;
}

/* Bits of the triangles of a leaf that face another way, and whose planes may intersect the ball.
 */
static unsigned stopping_candidates(const ball *b, uint32_t leaf) {
    const leaf_planes *planes = &b->t->planes[leaf];
    f4 facing = f4_all(0), height = f4_load(planes->height), zero = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 normal = f4_load(planes->normal[axis]);
        facing = f4_add(facing, f4_mul(normal, f4_all(b->facing[axis])));
        height = f4_sub(height, f4_mul(normal, f4_all(b->from_origin[axis])));
    }
    f4 away = f4_max(height, f4_sub(zero, height));
    return m4_bits(
        m4_and(f4_less(facing, f4_all(FACING_COSINE)), f4_less_equal(away, f4_all(b->near_plane))));
}

/* Shrinks the ball until a triangle is outside it. */
static void shrink_by_triangle(ball *b, uint32_t triangle) {
    const abut_triangle t = bvh_triangle(b->t->map->mesh, triangle);
    for (int i = 0; i < SHRINK_STEPS_MAX; i++) {
        closest_on_triangle closest = triangle_closest_point(t, b->centre);
        if (!(closest.distance < b->within))
            return;
        vec3 way = v3_sub(closest.point, b->point);
        double depth = v3_dot(way, b->inwards), r = v3_length_sq(way) / (2 * depth);
        if (v3_length(way) <= b->t->rounding)
            r = 0;
        else if (!(depth > 0 && r < b->r))
            return; /* the rest is rounding error */
        b->touched.closest = closest;
        b->touched.triangle = triangle;
        set_radius(b, r);
    }
}

static void shrink_by_traversal(ball *b) {
    const abut_bvh *bvh = b->t->bvh;
    keyed stack[BVH_STACK + BVH_WIDTH];
    uint32_t used = 0, child = 0;
    for (;;) {
        if (child & BVH_LEAF) {
            const uint32_t leaf = child & ~BVH_LEAF;
            for (unsigned may = stopping_candidates(b, leaf); may; may &= may - 1)
                shrink_by_triangle(b, bvh->order[leaf * BVH_WIDTH + (uint32_t)__builtin_ctz(may)]);
        } else {
            const bvh_node *node = &bvh->nodes[child];
            f4 distance_sq = map_boxes(&b->at, node);
            m4 near = f4_less_equal(distance_sq, f4_all(b->reach_sq));
            assert(used <= BVH_STACK);
            used += f4_sort(distance_sq, near, node->child, stack + used);
        }
        if (!used)
            return;
        child = stack[--used].value;
    }
}

/* The largest ball; the distance is its diameter. Starts with the triangle that stopped the
 * previous ball. */
static map_found largest_ball(const thickness *t, vec3 point, vec3 inwards, uint32_t *last) {
    ball b = {.t = t, .point = point, .inwards = inwards};
    for (int axis = 0; axis < 3; axis++)
        b.facing[axis] = (float)-v3_get(inwards, axis);
    b.touched = cast_inwards(t, point, inwards);
    set_radius(&b, 0.5 * real_min(b.touched.closest.distance, real_min(t->limit, 2 * t->size)));
    if (*last != ABUT_NONE)
        shrink_by_triangle(&b, *last);
    shrink_by_traversal(&b);
    *last = b.touched.triangle;
    b.touched.closest.distance = 2 * b.r;
    return b.touched;
}

/* ---- entry point ---- */

/* `last` is the triangle that stopped the previous ball. */
static void compute_triangle(const thickness *t, uint32_t rank, uint32_t *last) {
    abut_map *map = t->map;
    const vec3 normal = normal_of(map->mesh, map->ranked[rank]), inwards = v3_scale(normal, -1);
    const bool is_flat = v3_max_abs(normal) > 0;
    if (*last != ABUT_NONE && !(v3_dot(normal_of(map->mesh, *last), normal) < FACING_COSINE))
        *last = ABUT_NONE;
    for (uint32_t i = map->first[rank]; i < map->first[rank + 1]; i++) {
        map_found found = map_found_nothing();
        if (is_flat)
            found = t->kind == ABUT_MAP_THICKNESS_RAY
                        ? cast_inwards(t, map->points[i], inwards)
                        : largest_ball(t, map->points[i], inwards, last);
        map->results[i] = map_found_texel(&found, map->points[i]);
    }
}

static void compute_task(void *data, size_t chunk, size_t begin, size_t end) {
    const thickness *t = data;
    uint32_t last = ABUT_NONE;
    (void)chunk;
    for (size_t i = begin; i < end && !abuti_stop(t->map->context, stage); i++)
        compute_triangle(t, (uint32_t)(t->begin + i), &last);
}

static abut_status compute_all(thickness *t) {
    abut_context *context = t->map->context;
    const size_t count = t->map->mesh->triangle_count,
                 part = (size_t)TRIANGLES_PER_TASK * TASKS_PER_REPORT;
    abut_status status = abuti_bvh_prepare_wide(t->bvh, t->map->sample_count);
    if (!status)
        abuti_parallel_for(context, t->bvh->leaf_count, part, planes_task, t);
    for (t->begin = 0; t->begin < count && !status; t->begin += part) {
        const size_t here = count - t->begin < part ? count - t->begin : part;
        status = abuti_parallel_try(context, stage, here, TRIANGLES_PER_TASK, compute_task, t);
        if (!status)
            status = abuti_progress(context, stage, (double)(t->begin + here) / (double)count);
    }
    return status;
}

/* The reliability of thickness on this surface. */
static abut_status assess_reliability(const abut_bvh *bvh, abut_reliability *reliability) {
    const bvh_solid *solid;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    *reliability =
        solid->flipped
            ? abuti_unreliable(
                  "Neighbouring triangles face opposite ways, so that some rays start outwards.")
        : solid->border_count
            ? abuti_limited("The surface has boundary edges: samples without an opposite side have "
                            "no thickness, and rays may leave through a hole.")
            : abuti_guaranteed("The surface is closed; it should face outwards.");
    return ABUT_OK;
}

abut_status abut_map_compute_thickness(abut_map *map, abut_map_thickness kind,
                                       const abut_map_query *query) {
    abut_map_query ours;
    if (!abut_map_thickness_name(kind))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: kind is %d; it must be an abut_map_thickness",
                          __func__, (int)kind);
    abut_status status = abuti_map_begin_query(__func__, map, query, &ours);
    if (status || (status = abuti_map_reserve_points(map)))
        return status;
    const box3 *box = &map->mesh->bounds;
    const double largest = real_max(v3_max_abs(box->lo), v3_max_abs(box->hi));
    thickness t = {.map = map, .kind = kind, .limit = ours.limit};
    t.size = v3_length(v3_sub(box->hi, box->lo));
    t.rounding = COORDINATE_ROUNDING * largest;
    t.start = real_max(RAY_START * t.size, t.rounding);
    status = abuti_map_bvh(map, &t.bvh);
    if (!status && !(t.planes = abuti_allocate(map->context, t.bvh->leaf_count, sizeof *t.planes)))
        status = ABUT_ERROR_MEMORY;
    if (!status)
        status = assess_reliability(t.bvh, &map->reliability);
    if (!status)
        status = compute_all(&t);
    abuti_release(map->context, t.planes);
    if (!status)
        map->last_query = MAP_THICKNESS;
    return status;
}
