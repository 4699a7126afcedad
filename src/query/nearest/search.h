/* The closest-point search in floats that nearest_walk.c and nearest_16.c share. Each compiles it
 * for its instructions; nearest.c describes the method.
 */
#ifndef ABUTI_NEAREST_SEARCH_H
#define ABUTI_NEAREST_SEARCH_H

#include "nearest/nearest.h"

#include "nearest/measure_lanes.h"

#include <math.h>

enum { CANDIDATE_MAX = 64 };

typedef struct candidate {
    float lower;
    uint32_t place; /* in `order` */
} candidate;

typedef struct search {
    const abut_bvh *bvh;
    vec3 point;          /* absolute */
    float at[3];         /* in the frame, rounded */
    float lo[3], hi[3];  /* in the frame, rounded down and up */
    float margin;        /* without quantisation steps */
    float upper;         /* no triangle further than this can be nearest */
    float upper_sq;      /* the same for boxes, with slack for rounding */
    float box_margin;    /* of distances to boxes */
    uint32_t count;      /* of candidates */
    uint32_t prefetched; /* number of candidates that have been prefetched */
    candidate list[CANDIDATE_MAX];
    double radius, best; /* the smallest distance so far, or infinite */
    uint32_t winner;
    double weight[3]; /* of its corners */
} search;

/* nearest_walk.c and nearest_16.c, by lanes. */
void abuti_bvh_search_4(search *s);
void abuti_bvh_search_8(search *s);
void abuti_bvh_search_16(search *s);
/* The end of a search: measures the candidates. */
void abuti_bvh_measure_few_16(search *s);
void abuti_bvh_measure_one_16(search *s, uint32_t triangle);

/* ---- candidates ---- */

static inline float box_bound(float upper) {
    return upper * upper * NEAREST_SLACK + FLT_MIN;
}

static inline void set_bound(search *s, float upper) {
    s->upper = upper;
    s->upper_sq = box_bound(upper);
}

static inline void lower_upper_bound(search *s, float upper) {
    const float box = box_bound(upper);
    s->upper = upper < s->upper ? upper : s->upper;
    s->upper_sq = box < s->upper_sq ? box : s->upper_sq;
}

static inline void update_best(search *s, uint32_t triangle, double distance,
                               const double weight[3]) {
    if (distance < s->best || (distance == s->best && triangle < s->winner)) {
        if (distance > s->radius)
            return;
        s->best = distance;
        s->winner = triangle;
        memcpy(s->weight, weight, sizeof s->weight);
    }
}

/* Measures a triangle in doubles. */
static inline void measure_triangle(search *s, uint32_t triangle) {
    closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(s->bvh->mesh, triangle), s->point);
    update_best(s, triangle, closest.distance, closest.barycentric);
}

#ifdef ABUTI_SIMD_WIDE
enum { MEASURE_MAX = MEASURE_LANES, ROUGH_CANDIDATES_MIN = 2 * MEASURE_LANES };

/* The corners of some triangles; all entries of the array can be written. */
static inline void load_corners(const abut_mesh *mesh, uint32_t triangles[MEASURE_MAX],
                                uint32_t count, vec3d corner[3]) {
    const vec3d origin = v3d_all(mesh->origin);
    for (uint32_t i = count; i < MEASURE_MAX; i++)
        triangles[i] = triangles[0];
    for (size_t k = 0; k < 3; k++) {
        const double *from[MEASURE_MAX];
        dw at[3];
        for (int i = 0; i < MEASURE_MAX; i++)
            from[i] = &mesh->positions[mesh->indices[3 * (size_t)triangles[i] + k]].x;
        DW(load_three)(from, at);
        vec3d relative = {at[0], at[1], at[2]};
        corner[k] = v3d_add(origin, relative);
    }
}

/* Measures one triangle, in all lanes. */
static inline void measure_one(search *s, uint32_t triangle) {
    const abut_mesh *mesh = s->bvh->mesh;
    const uint32_t *index = mesh->indices + 3 * (size_t)triangle;
    vec3d corner[3];
    measured out;
    double lanes[4][MEASURE_MAX];
    for (int k = 0; k < 3; k++)
        corner[k] = v3d_add(v3d_all(mesh->origin), v3d_all(mesh->positions[index[k]]));
    measure_lanes(corner, v3d_all(s->point), &out);
    if (out.unfinished) {
        measure_triangle(s, triangle);
        return;
    }
    DW(store)(lanes[0], out.distance);
    for (int k = 0; k < 3; k++)
        DW(store)(lanes[k + 1], out.weight[k]);
    const double weight[3] = {lanes[1][0], lanes[2][0], lanes[3][0]};
    update_best(s, triangle, lanes[0][0], weight);
}

/* Measures up to MEASURE_MAX triangles. */
static inline void measure_some(search *s, uint32_t triangles[MEASURE_MAX], uint32_t count) {
    vec3d corner[3];
    measured out;
    double distance[MEASURE_MAX], weights[3][MEASURE_MAX];
    load_corners(s->bvh->mesh, triangles, count, corner);
    measure_lanes(corner, v3d_all(s->point), &out);
    DW(store)(distance, out.distance);
    for (int k = 0; k < 3; k++)
        DW(store)(weights[k], out.weight[k]);
    for (uint32_t i = 0; i < count; i++) {
        const double weight[3] = {weights[0][i], weights[1][i], weights[2][i]};
        if (out.unfinished >> i & 1)
            measure_triangle(s, triangles[i]);
        else
            update_best(s, triangles[i], distance[i], weight);
    }
}

/* Of many candidates approximate distances in doubles prune almost all, in a third of the time of
 * measuring: those that are further than the best distance, or than another one, by more than the
 * error of both. Coordinate differences are at most M, that of s->margin, by the scale; the margin
 * is 256 roundings of it. */
static inline void prune_by_rough_distance(search *s) {
    const double reach = (double)s->margin / NEAREST_MARGIN / s->bvh->scale,
                 margin = reach * 0x1p-45;
    double distance[CANDIDATE_MAX + MEASURE_MAX], bound = s->best;
    uint32_t kept = 0;
    if (!(reach >= SCALE_MIN && reach <= SCALE_MAX))
        return;
    for (uint32_t i = 0; i < s->count; i += MEASURE_MAX) {
        uint32_t triangles[MEASURE_MAX], count = s->count - i;
        vec3d corner[3];
        count = count < MEASURE_MAX ? count : MEASURE_MAX;
        for (uint32_t k = 0; k < count; k++)
            triangles[k] = s->bvh->order[s->list[i + k].place];
        load_corners(s->bvh->mesh, triangles, count, corner);
        DW(store)
        (distance + i, rough_lanes(corner, v3d_all(s->point), DW(all)(reach * reach * 0x1p-120)));
    }
    for (uint32_t i = 0; i < s->count; i++)
        bound = real_min(bound, distance[i] + margin);
    for (uint32_t i = 0; i < s->count; i++)
        if (distance[i] - margin <= bound)
            s->list[kept++] = s->list[i];
    s->count = kept;
}
#else
enum { MEASURE_MAX = 4, ROUGH_CANDIDATES_MIN = CANDIDATE_MAX + 1 };
#define measure_one measure_triangle
static inline void measure_some(search *s, uint32_t triangles[MEASURE_MAX], uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        measure_triangle(s, triangles[i]);
}
static inline void prune_by_rough_distance(search *s) {
    (void)s;
}
#endif

/* Prunes the candidates beyond the bound. */
static inline void prune_candidates(search *s) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->list[i].lower <= s->upper)
            s->list[kept++] = s->list[i];
    s->count = s->prefetched = kept;
}

static inline void measure_candidates(search *s) {
    uint32_t triangles[MEASURE_MAX], count = 0;
    prune_candidates(s);
    if (s->count >= ROUGH_CANDIDATES_MIN)
        prune_by_rough_distance(s);
    if (s->count == 1)
        measure_one(s, s->bvh->order[s->list[0].place]);
    for (uint32_t i = 0; i < s->count && s->count > 1; i++) {
        triangles[count++] = s->bvh->order[s->list[i].place];
        if (count == MEASURE_MAX || i + 1 == s->count) {
            measure_some(s, triangles, count);
            count = 0;
        }
    }
    s->count = s->prefetched = 0;
}

/* Bounds by the best distance in doubles. Boxes in floats need almost no margin: they contain their
 * triangles, and the point is between s->lo and s->hi, so their distances are too large by at most
 * a few roundings of themselves. The amount added here exceeds the error of doubles. It decides how
 * many triangles are tested if thousands are almost equally near, such as the sides of a cylinder
 * that are as long as it is. */
static inline void bound_by_best(search *s) {
    const float best = bvh_float_above(s->best * s->bvh->scale);
    const float box = box_bound(best + s->box_margin);
    lower_upper_bound(s, best * NEAREST_SLACK + s->margin);
    s->upper_sq = box < s->upper_sq ? box : s->upper_sq;
}

static inline void add_candidate_place(search *s, float lower, uint32_t place) {
    if (s->count == CANDIDATE_MAX) {
        prune_candidates(s);
        if (s->count > CANDIDATE_MAX / 2) { /* pruning had little effect */
            measure_candidates(s);
            bound_by_best(s);
        }
    }
    s->list[s->count].lower = lower;
    s->list[s->count++].place = place;
}

/* ---- leaves ---- */

typedef struct vec3w {
    fw x, y, z;
} vec3w;

static inline fw dot_wide(vec3w a, vec3w b) {
    return fw_mul_add(a.z, b.z, fw_mul_add(a.y, b.y, fw_mul(a.x, b.x)));
}
/* a - s b */
static inline vec3w sub_scaled_wide(vec3w a, fw s, vec3w b) {
    vec3w r = {fw_mul_from(s, b.x, a.x), fw_mul_from(s, b.y, a.y), fw_mul_from(s, b.z, a.z)};
    return r;
}
static inline fw clamp_unit_wide(fw t) {
    return fw_min(fw_max(t, fw_all(0)), fw_all(1));
}

/* Lengths with a smaller square count as 0: the triangle is then represented by its edges. */
#define LENGTH_SQ_MIN 1e-30f

/* In the plane of a triangle, whose coordinates are in units of squared length uu and ww: the
 * squared distance of (x, y) to the segment from the origin to (k, 1). */
static inline fw slanted_edge_sq_wide(fw x, fw y, fw k, fw uu, fw ww) {
    fw length_sq = fw_mul_add(fw_mul(k, k), uu, ww);
    fw along = fw_mul_add(fw_mul(k, uu), x, fw_mul(y, ww));
    fw t = clamp_unit_wide(fw_quotient(along, fw_max(length_sq, fw_all(LENGTH_SQ_MIN))));
    x = fw_mul_from(t, k, x);
    y = fw_sub(y, t);
    return fw_mul_add(fw_mul(x, x), uu, fw_mul(fw_mul(y, y), ww));
}

/* Squared distances of the origin to triangles of corner a and edges u and v from there. */
static inline fw triangle_distance_sq_wide(vec3w a, vec3w u, vec3w v) {
    fw zero = fw_all(0), one = fw_all(1), tiny = fw_all(LENGTH_SQ_MIN);
    fw uu = dot_wide(u, u);
    fw per_uu = fw_where(fw_less(tiny, uu), fw_quotient(one, uu));
    fw minus_s = fw_mul(dot_wide(a, u), per_uu), k = fw_mul(dot_wide(u, v), per_uu);
    vec3w w = sub_scaled_wide(v, k, u), beside = sub_scaled_wide(a, minus_s, u);
    fw ww = dot_wide(w, w), s = fw_sub(zero, minus_s);
    fw minus_r = fw_where(fw_less(tiny, ww), fw_quotient(dot_wide(beside, w), ww));
    vec3w face = sub_scaled_wide(beside, minus_r, w);
    fw r = fw_sub(zero, minus_r), s_face = fw_mul_add(k, minus_r, s);
    mw inside =
        mw_and(mw_and(fw_less(zero, r), fw_less(zero, s_face)), fw_less(fw_add(r, s_face), one));
    fw x = fw_sub(s, clamp_unit_wide(s));
    fw border = fw_mul_add(fw_mul(x, x), uu, fw_mul(fw_mul(r, r), ww));
    border = fw_min(border, slanted_edge_sq_wide(s, r, k, uu, ww));
    border = fw_min(border, slanted_edge_sq_wide(fw_sub(s, one), r, fw_sub(k, one), uu, ww));
    return fw_add(dot_wide(face, face), fw_unless(inside, border));
}

/* Some leaves: the low corners of their boxes relative to the point, quantisation steps, the error
 * of corners, and blocks. */
typedef struct leaf_group {
    fw lo[3], step[3], error;
    const uint16_t *steps[WIDE_GROUPS];
} leaf_group;

/* Squared distances of the triangles of some leaves, and the error of their roots. */
static inline fw group_distances(const search *s, const leaf_group *group, fw *margin) {
    const fw *lo = group->lo, *step = group->step;
    fw q[9], base = fw_all(WIDE_STEPS_ZERO);
    *margin = fw_add(group->error, fw_all(s->margin));
    fw_load_steps(group->steps, q);
    vec3w a = {fw_mul_add(fw_sub(q[0], base), step[0], lo[0]),
               fw_mul_add(fw_sub(q[1], base), step[1], lo[1]),
               fw_mul_add(fw_sub(q[2], base), step[2], lo[2])};
    vec3w u = {fw_mul(fw_sub(q[3], q[0]), step[0]), fw_mul(fw_sub(q[4], q[1]), step[1]),
               fw_mul(fw_sub(q[5], q[2]), step[2])};
    vec3w v = {fw_mul(fw_sub(q[6], q[0]), step[0]), fw_mul(fw_sub(q[7], q[1]), step[1]),
               fw_mul(fw_sub(q[8], q[2]), step[2])};
    return triangle_distance_sq_wide(a, u, v);
}

/* gcc 12 removes calls of a function that only prefetches, unless it is always inlined. */
#define PREFETCH_FUNCTION static inline __attribute__((always_inline))

/* Prefetches the corners of previous candidates. Their indices were prefetched before: each load
 * waits for the previous one while the search continues. */
PREFETCH_FUNCTION void prefetch_candidates(search *s) {
    const abut_mesh *mesh = s->bvh->mesh;
    for (; s->prefetched < s->count; s->prefetched++) {
        uint32_t triangle = s->bvh->order[s->list[s->prefetched].place];
        const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
        for (int k = 0; k < 3; k++)
            __builtin_prefetch(&mesh->positions[corner[k]]);
    }
}

/* Adds candidates from the lanes that are near enough. */
static inline void add_near_lanes(search *s, const uint32_t leaves[WIDE_GROUPS], fw distance_sq,
                                  fw margin, unsigned candidates) {
    const abut_bvh *bvh = s->bvh;
    float lower[4 * WIDE_GROUPS];
    fw distance = fw_sqrt(distance_sq), below = fw_sub(distance, margin);
    lower_upper_bound(s, fw_least(fw_add(distance, margin)));
    candidates &= mw_bits(fw_less_equal(below, fw_all(s->upper)));
    fw_store(lower, below);
    for (; candidates; candidates &= candidates - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(candidates);
        uint32_t at = leaves[lane / BVH_WIDTH] * BVH_WIDTH + lane % BVH_WIDTH;
        __builtin_prefetch(&bvh->mesh->indices[3 * (size_t)bvh->order[at]]);
        add_candidate_place(s, lower[lane], at);
    }
}

/* The same, from any lanes. */
static inline void add_group(search *s, const uint32_t leaves[WIDE_GROUPS], fw distance_sq,
                             fw margin) {
    fw reach = fw_add(fw_all(s->upper), margin);
    reach = fw_mul(fw_mul(reach, reach), fw_all(NEAREST_SLACK));
    unsigned candidates = mw_bits(fw_less_equal(distance_sq, reach));
    if (candidates)
        add_near_lanes(s, leaves, distance_sq, margin, candidates);
}

static inline void visit_group(search *s, const leaf_group *group,
                               const uint32_t leaves[WIDE_GROUPS]) {
    fw margin, distance_sq = group_distances(s, group, &margin);
    add_group(s, leaves, distance_sq, margin);
}

#endif
