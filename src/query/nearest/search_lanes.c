/* The closest point of a mesh to a point.
 *
 * Method: depth-first traversal from the root, nearest child first, with an upper bound of the
 * distance. Everything is in floats, four boxes at once and as many triangles as there are
 * LANES; corners are those of the blocks, quantised to 16 bits inside the box of a leaf. That
 * gives distances with errors below a known margin. Every triangle whose distance minus the margin
 * is not above the bound becomes a candidate, and its distance plus the margin is a new bound. At
 * the end the few candidates that are still not above the bound are measured by
 * triangle_closest_point() in doubles, and the first one with the smallest distance is the result.
 * Hence no triangle is pruned that could be nearest, and the result is that of a search through all
 * triangles.
 *
 * The margin. Let e = 2^-24 be the rounding error of a float, and M a bound of all coordinate
 * differences between the query point and the mesh, in the frame. A corner has an error of half a
 * quantisation step on each axis, less than a step in total, and some e M for the arithmetic; the
 * query point has the latter. The distance to the triangle of such corners is computed as in
 * closest_shared.h, whose frame (u, w) limits the error to a few e M for every shape of triangle;
 * one round of it is sufficient here. Edges are measured in that frame as well: with the foot at
 * (s, r) and a point of the triangle at (x, y) the square is h h + (x - s)^2 u.u + (y - r)^2 w.w.
 * The omitted term is 2 (x - s) (beside . u + y u . w), where `beside` is the offset minus its
 * component along u, since the terms with r cancel, and |y| <= 1: a few e M times the distance. The
 * distance in doubles, with which it is compared, has an error of 4 ulp of doubles, which is
 * negligible. The margin is 32 e M plus the longest step; tests/nearest measures errors below a
 * quarter of it.
 *
 * Far away floats do not distinguish neighbouring triangles; nearest.c searches in doubles there.
 */
#include "nearest/nearest.h"

#include "base/simd_lanes.h"
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
    uint32_t count;      /* of candidates */
    uint32_t prefetched; /* number of candidates that have been prefetched */
    candidate list[CANDIDATE_MAX];
    double radius;
    nearest_found found; /* the nearest triangle so far */
} search;

/* ---- candidates ---- */

static inline float box_bound(float upper) {
    return upper * upper * NEAREST_SLACK + FLT_MIN;
}

static inline void lower_upper_bound(search *s, float upper) {
    const float box = box_bound(upper);
    s->upper = upper < s->upper ? upper : s->upper;
    s->upper_sq = box < s->upper_sq ? box : s->upper_sq;
}

static inline void update_best(search *s, uint32_t triangle, double distance,
                               const double weight[3]) {
    nearest_found *best = &s->found;
    if ((distance < best->distance || (distance == best->distance && triangle < best->triangle)) &&
        distance <= s->radius)
        *best = (nearest_found){distance, {weight[0], weight[1], weight[2]}, triangle};
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
    double distance[CANDIDATE_MAX + MEASURE_MAX], bound = s->found.distance;
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
    for (uint32_t i = 0; i < s->count; i++) {
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
    const float best = bvh_float_above(s->found.distance * s->bvh->scale);
    const float box = box_bound(best + s->margin * 0x1p-20f);
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

/* The leaves at the given places, node and slot: their data for the search, and their indices. */
static inline leaf_group gather_leaves(const search *s, const uint32_t places[WIDE_GROUPS],
                                       uint32_t leaves[WIDE_GROUPS]) {
    leaf_group group;
    const float *box[WIDE_GROUPS];
    for (int g = 0; g < WIDE_GROUPS; g++) {
        const bvh_node *node = &s->bvh->nodes[places[g] / BVH_WIDTH];
        uint32_t slot = places[g] % BVH_WIDTH;
        box[g] = &node->lo[0][slot];
        leaves[g] = node->child[slot] & ~BVH_LEAF;
        group.steps[g] = s->bvh->blocks[leaves[g]].step[0][0];
    }
    for (int axis = 0; axis < 3; axis++) {
        const float *lo_at[WIDE_GROUPS], *hi_at[WIDE_GROUPS];
        for (int g = 0; g < WIDE_GROUPS; g++) {
            lo_at[g] = box[g] + BVH_WIDTH * axis;
            hi_at[g] = box[g] + BVH_WIDTH * (axis + 3);
        }
        fw lowest = fw_each(lo_at);
        group.step[axis] = fw_mul(fw_sub(fw_each(hi_at), lowest), fw_all(1.0f / BVH_STEPS));
        group.lo[axis] = fw_sub(lowest, fw_all(s->at[axis]));
    }
    group.error = fw_max(fw_max(group.step[0], group.step[1]), group.step[2]);
    return group;
}

/* Visits some leaves, of which `count` are different: adds the triangles that are near enough as
 * candidates. */
static inline void visit_leaves(search *s, const uint32_t places[WIDE_GROUPS], uint32_t count) {
    const abut_bvh *bvh = s->bvh;
    const abut_mesh *mesh = bvh->mesh;
    uint32_t leaves[WIDE_GROUPS];
    float lower[4 * WIDE_GROUPS];
    leaf_group group = gather_leaves(s, places, leaves);
    /* The indices of earlier candidates were prefetched when they were added, and now their
     * corners: each load waits for the previous one while the search continues. */
    for (; s->prefetched < s->count; s->prefetched++) {
        const uint32_t *corner =
            mesh->indices + 3 * (size_t)bvh->order[s->list[s->prefetched].place];
        for (int k = 0; k < 3; k++)
            __builtin_prefetch(&mesh->positions[corner[k]]);
    }
    fw margin, distance_sq = group_distances(s, &group, &margin);
    fw reach = fw_add(fw_all(s->upper), margin);
    reach = fw_mul(fw_mul(reach, reach), fw_all(NEAREST_SLACK));
    unsigned candidates =
        mw_bits(fw_less_equal(distance_sq, reach)) & ((1u << BVH_WIDTH * count) - 1);
    if (!candidates)
        return;
    fw distance = fw_sqrt(distance_sq), below = fw_sub(distance, margin);
    lower_upper_bound(s, fw_least(fw_add(distance, margin)));
    candidates &= mw_bits(fw_less_equal(below, fw_all(s->upper)));
    fw_store(lower, below);
    for (; candidates; candidates &= candidates - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(candidates);
        uint32_t at = leaves[lane / BVH_WIDTH] * BVH_WIDTH + lane % BVH_WIDTH;
        __builtin_prefetch(&mesh->indices[3 * (size_t)bvh->order[at]]);
        add_candidate_place(s, lower[lane], at);
    }
}

/* ---- nodes ---- */

/* Squared distances to four boxes. */
static inline f4 box_distances_sq(const search *s, const bvh_node *node) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 below = f4_sub(f4_load(node->lo[axis]), f4_all(s->hi[axis]));
        f4 above = f4_sub(f4_all(s->lo[axis]), f4_load(node->hi[axis]));
        f4 d = f4_max(f4_max(below, above), f4_all(0));
        sum = f4_mul_add(d, d, sum);
    }
    return sum;
}

/* Prefetches the nodes that are next, and the blocks and indices of the leaves of a node: those of
 * one node are mostly consecutive. Prefetching beyond the last block does no harm. */
PREFETCH_FUNCTION void prefetch_next(const abut_bvh *bvh, const keyed *stack, uint32_t used,
                                     const bvh_node *node, unsigned leaf_mask) {
    for (uint32_t i = 1; i <= 2; i++) {
        const bvh_node *next = &bvh->nodes[used >= i ? stack[used - i].value : 0];
        __builtin_prefetch(next);
        __builtin_prefetch(next->child);
    }
    if (!leaf_mask)
        return;
    uint32_t slot = (uint32_t)__builtin_ctz(leaf_mask), leaf = node->child[slot] & ~BVH_LEAF;
    const char *block = (const char *)&bvh->blocks[leaf];
    __builtin_prefetch(block);
    __builtin_prefetch(block + 64);
    __builtin_prefetch(block + 128);
    __builtin_prefetch(block + 192);
    __builtin_prefetch(&bvh->order[(size_t)leaf * BVH_WIDTH]);
}

/* Children within the bound are pushed; leaves are collected and visited as soon as there are
 * enough for all lanes, or no node is left. */
static inline void search_in_floats(search *s) {
    keyed stack[BVH_STACK + BVH_WIDTH], leaves[WIDE_GROUPS + 2 * BVH_WIDTH];
    uint32_t used = 0, waiting = 0, index = 0;
    for (;;) {
        const bvh_node *node = &s->bvh->nodes[index];
        f4 all = box_distances_sq(s, node);
        m4 near = f4_less_equal(all, f4_all(s->upper_sq)), leaf = m4_highest(node->child);
        used += f4_sort(all, m4_without(near, leaf), node->child, stack + used);
        waiting += f4_sort_lanes(all, m4_and(near, leaf), index * BVH_WIDTH, leaves + waiting);
        prefetch_next(s->bvh, stack, used, node, m4_bits(m4_and(near, leaf)));
        for (;;) {
            while (used && !(stack[used - 1].key <= s->upper_sq))
                used--;
            if (waiting < WIDE_GROUPS && (used || !waiting))
                break;
            uint32_t places[WIDE_GROUPS], count = waiting < WIDE_GROUPS ? waiting : WIDE_GROUPS;
            bool near_enough = false;
            waiting -= count;
            for (uint32_t g = 0; g < WIDE_GROUPS; g++) {
                const keyed *next = &leaves[waiting + (g < count ? g : 0)];
                places[g] = next->value;
                near_enough |= next->key <= s->upper_sq;
            }
            if (near_enough)
                visit_leaves(s, places, count);
        }
        if (!used)
            break;
        index = stack[--used].value;
    }
    measure_candidates(s);
}

/* ---- one point ---- */

static inline void init_search(search *s, const bvh_hint *hint) {
    double scale = s->bvh->scale;
    vec3 p = v3_scale(v3_sub(s->point, s->bvh->mesh->origin), scale);
    double largest = v3_max_abs(p);
    const double at[3] = {p.x, p.y, p.z};
    for (int axis = 0; axis < 3; axis++) {
        float nearest = (float)at[axis], rounding = fabsf(nearest) * FLT_EPSILON + FLT_MIN;
        s->at[axis] = nearest;
        s->lo[axis] = nearest - rounding;
        s->hi[axis] = nearest + rounding;
    }
    s->margin = NEAREST_MARGIN * ((float)largest + 2);
    s->count = s->prefetched = 0;
    /* Nothing is further than this. */
    double limit = real_min(s->radius * scale, 4 * NEAREST_FAR);
    if (hint && hint->known)
        limit = real_min(limit, v3_length(v3_sub(p, v3_scale(hint->point, scale))));
    s->upper = (float)limit * NEAREST_SLACK + s->margin;
    s->upper_sq = box_bound(s->upper);
}

void BY_LANES(abuti_nearest_search)(const abut_bvh *bvh, vec3 point, double radius,
                                    const bvh_hint *hint, nearest_found *found) {
    search s;
    s.bvh = bvh;
    s.point = point;
    s.radius = radius;
    s.found = (nearest_found){INFINITY, {0, 0, 0}, ABUT_NONE};
    init_search(&s, hint);
    search_in_floats(&s);
    *found = s.found;
}
