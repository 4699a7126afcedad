/* The closest point of a mesh to a point.
 *
 * Method: depth-first traversal of the wide tree (wide.h), nearest child first, with an upper bound
 * of the distance. Everything is in floats, as many boxes or triangles at once as there are LANES;
 * corners are quantised to 16 bits inside the box of a leaf. The nodes on the path from the root
 * keep the distances of their children, so siblings need no sorting and no place on a stack; a
 * descent near the surface is usually the whole search. Triangles in floats have distances with
 * errors below a known margin. Every triangle whose distance minus the margin is not above the
 * bound becomes a candidate, and its distance plus the margin is a new bound. At the end the few
 * candidates that are still not above the bound are measured by triangle_closest_point() in
 * doubles, and the first one with the smallest distance is the result. Hence no triangle is pruned
 * that could be nearest, and the result is that of a search through all triangles.
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
 * Boxes. On an axis the difference between the origin of a node and the point, and the sum with the
 * steps, have errors of 2 e times the distance to the box plus twice the size of the node. The
 * latter is less than the 1/64 step, 2^-14 of the size, by which boxes are larger than necessary.
 *
 * Far away floats do not distinguish neighbouring triangles; nearest.c searches in doubles there.
 */
#include "nearest/nearest.h"

#include "base/simd_lanes.h"

#include <math.h>

enum { CANDIDATE_MAX = 64 };

typedef struct candidate {
    float lower;
    uint32_t triangle;
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

/* Squared distances to boxes have a relative error below 2^-21, and the lane in their lowest bits
 * adds up to 15 ulp. */
static inline float box_bound(float upper) {
    return upper * upper * (1.0f + 0x1p-18f) + FLT_MIN;
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

/* Prunes the candidates beyond the bound. */
static inline void prune_candidates(search *s) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->list[i].lower <= s->upper)
            s->list[kept++] = s->list[i];
    s->count = s->prefetched = kept;
}

static inline void measure_candidates(search *s) {
    nearest_pair pairs[CANDIDATE_MAX];
    prune_candidates(s);
    for (uint32_t i = 0; i < s->count; i++) {
        pairs[i].point = s->point;
        pairs[i].triangle = s->list[i].triangle;
    }
    BY_LANES(abuti_nearest_measure)(s->bvh->mesh, pairs, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        update_best(s, pairs[i].triangle, pairs[i].distance, pairs[i].weight);
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

static inline void add_candidate(search *s, float lower, uint32_t triangle) {
    if (s->count == CANDIDATE_MAX) {
        prune_candidates(s);
        if (s->count > CANDIDATE_MAX / 2) { /* pruning had little effect */
            measure_candidates(s);
            bound_by_best(s);
        }
    }
    s->list[s->count].lower = lower;
    s->list[s->count++].triangle = triangle;
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

/* Squared distances of the triangles of a leaf, and the error of their roots. */
static inline fw leaf_distances(const search *s, const wide_leaf *leaf, float *margin) {
    fw step[3], a[3], u[3], v[3];
    *margin = s->margin + leaf->step_max;
    for (int axis = 0; axis < 3; axis++) {
        const fw first = fw_load_u16(leaf->corner[0][axis]);
        step[axis] = fw_all(leaf->step[axis]);
        a[axis] = fw_mul_add(first, step[axis], fw_all(leaf->origin[axis] - s->at[axis]));
        u[axis] = fw_mul(fw_sub(fw_load_u16(leaf->corner[1][axis]), first), step[axis]);
        v[axis] = fw_mul(fw_sub(fw_load_u16(leaf->corner[2][axis]), first), step[axis]);
    }
    return triangle_distance_sq_wide((vec3w){a[0], a[1], a[2]}, (vec3w){u[0], u[1], u[2]},
                                     (vec3w){v[0], v[1], v[2]});
}

/* Adds the triangles of a leaf that are near enough as candidates. */
static inline void visit_leaf(search *s, const wide_leaf *leaf) {
    const abut_mesh *mesh = s->bvh->mesh;
    float lower[LANES], margin;
    /* The indices of earlier candidates were prefetched when they were added, and now their
     * corners: each load waits for the previous one while the search continues. */
    for (; s->prefetched < s->count; s->prefetched++) {
        const uint32_t *corner = mesh->indices + 3 * (size_t)s->list[s->prefetched].triangle;
        for (int k = 0; k < 3; k++)
            __builtin_prefetch(&mesh->positions[corner[k]]);
    }
    const fw distance_sq = leaf_distances(s, leaf, &margin);
    const float reach = (s->upper + margin) * (s->upper + margin) * NEAREST_SLACK;
    unsigned candidates =
        mw_bits(fw_less_equal(distance_sq, fw_all(reach))) & ((1u << leaf->count) - 1);
    if (!candidates)
        return;
    const fw distance = fw_sqrt(distance_sq), below = fw_sub(distance, fw_all(margin));
    lower_upper_bound(s, fw_least(distance) + margin);
    candidates &= mw_bits(fw_less_equal(below, fw_all(s->upper)));
    fw_store(lower, below);
    for (; candidates; candidates &= candidates - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(candidates), triangle = leaf->triangle[lane];
        __builtin_prefetch(&mesh->indices[3 * (size_t)triangle]);
        add_candidate(s, lower[lane], triangle);
    }
}

/* ---- nodes ---- */

/* A node on the path from the root, and the squared distances of its children that have not been
 * visited. The lowest bits of a distance are the lane, which changes it by less than 16 ulp. */
typedef struct path_node {
    float key[LANES], least;
    const wide_node *node;
} path_node;

static inline uint32_t lane_of_key(float key) {
    uint32_t bits;
    memcpy(&bits, &key, sizeof bits);
    return bits % LANES;
}

static inline void open_node(const search *s, const wide_node *node, path_node *to) {
    static const float lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    fw sum = fw_all(0);
    for (int axis = 0; axis < 3; axis++) {
        const fw step = fw_all(node->step[axis]);
        const fw lo = fw_load_u8(node->planes[axis]), hi = fw_load_u8(node->planes[axis + 3]);
        const fw below = fw_mul_add(lo, step, fw_all(node->origin[axis] - s->hi[axis]));
        const fw above = fw_mul_from(hi, step, fw_all(s->lo[axis] - node->origin[axis]));
        const fw d = fw_max(fw_max(below, above), fw_all(0));
        sum = fw_mul_add(d, d, sum);
    }
    sum = fw_select(fw_less(fw_load(lanes), fw_all((float)node->count)), fw_number_lanes(sum),
                    fw_all(INFINITY));
    to->node = node;
    to->least = fw_least(sum);
    fw_store(to->key, sum);
}

/* Removes the nearest child and prefetches the next one. */
static inline uint32_t take_nearest(path_node *at, const wide_node *nodes,
                                    const wide_leaf *leaves) {
    const uint32_t child = at->node->child[lane_of_key(at->least)];
    fw keys = fw_load(at->key);
    keys = fw_select(fw_less_equal(keys, fw_all(at->least)), fw_all(INFINITY), keys);
    fw_store(at->key, keys);
    at->least = fw_least(keys);
    const uint32_t next = at->node->child[lane_of_key(at->least)];
    const char *from =
        next & BVH_LEAF ? (const char *)&leaves[next & ~BVH_LEAF] : (const char *)&nodes[next];
    for (size_t i = 0; i < sizeof *leaves; i += 64)
        __builtin_prefetch(from + i);
    return child;
}

/* Depth first, always to the nearest child. */
static inline void search_in_floats(search *s, const bvh_wide *tree) {
    const wide_node *nodes = tree->nodes;
    const wide_leaf *leaves = tree->leaves;
    path_node path[BVH_DEPTH + 1], *at = path;
    open_node(s, nodes, at);
    for (;;) {
        if (!(at->least <= s->upper_sq)) {
            if (at-- == path)
                break;
            continue;
        }
        const uint32_t child = take_nearest(at, nodes, leaves);
        if (child & BVH_LEAF)
            visit_leaf(s, &leaves[child & ~BVH_LEAF]);
        else
            open_node(s, &nodes[child], ++at);
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

void BY_LANES(abuti_nearest_search)(const abut_bvh *bvh, const bvh_wide *tree, vec3 point,
                                    double radius, const bvh_hint *hint, nearest_found *found) {
    search s;
    s.bvh = bvh;
    s.point = point;
    s.radius = radius;
    s.found = (nearest_found){INFINITY, {0, 0, 0}, ABUT_NONE};
    init_search(&s, hint);
    search_in_floats(&s, tree);
    *found = s.found;
}
