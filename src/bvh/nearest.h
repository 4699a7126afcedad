/* The nearest point in floats: what nearest.c and nearest_wide.c share. Each compiles it for its
 * instructions; the method is told in nearest.c.
 */
#ifndef ABUTI_BVH_NEAREST_H
#define ABUTI_BVH_NEAREST_H

#include "bvh/bvh.h"

#include "bvh/measure.h"

#include <math.h>

enum { CANDIDATE_MOST = 64 };

/* Products and sums of a few roundings. */
#define SLACK (1.0f + 0x1p-20f)

typedef struct candidate {
    float lower;
    uint32_t place; /* in `order` */
} candidate;

typedef struct search {
    const abut_bvh *bvh;
    vec3 point;         /* absolute */
    float at[3];        /* in the frame, rounded */
    float lo[3], hi[3]; /* in the frame, rounded down and up */
    float margin;       /* without steps */
    float upper;        /* no triangle further than this can win */
    float upper_sq;     /* of boxes, with some slack */
    uint32_t count;     /* of candidates */
    candidate list[CANDIDATE_MOST];
    double radius, best; /* distance of the winner so far; infinite */
    uint32_t winner;
    double weight[3]; /* of its corners */
} search;

/* nearest_wide.c; only where abuti_simd_wide() says so. */
void abuti_bvh_search_wide(search *s);

/* ---- candidates ---- */

static inline void set_bound(search *s, float upper) {
    s->upper = upper;
    s->upper_sq = upper * upper * SLACK + FLT_MIN;
}

static inline void lower_bound_to(search *s, float upper) {
    if (upper < s->upper)
        set_bound(s, upper);
}

static inline void keep_nearer(search *s, uint32_t triangle, double distance,
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
static void measure(search *s, uint32_t triangle) {
    closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(s->bvh->mesh, triangle), s->point);
    keep_nearer(s, triangle, closest.distance, closest.barycentric);
}

/* Measures up to four triangles; there is memory for four. */
#ifdef ABUTI_SIMD_WIDE
static void measure_some(search *s, uint32_t triangles[4], uint32_t count) {
    const abut_mesh *mesh = s->bvh->mesh;
    vec3d corner[3], origin = v3d_all(mesh->origin);
    measured out;
    double distance[4], weights[3][4];
    for (uint32_t i = count; i < 4; i++)
        triangles[i] = triangles[0];
    for (size_t k = 0; k < 3; k++) {
        const double *from[4];
        d4 at[3];
        for (int i = 0; i < 4; i++)
            from[i] = &mesh->positions[mesh->indices[3 * (size_t)triangles[i] + k]].x;
        d4_load_three(from, at);
        vec3d relative = {at[0], at[1], at[2]};
        corner[k] = v3d_add(origin, relative);
    }
    measure_lanes(corner, v3d_all(s->point), &out);
    d4_store(distance, out.distance);
    for (int k = 0; k < 3; k++)
        d4_store(weights[k], out.weight[k]);
    for (uint32_t i = 0; i < count; i++) {
        const double weight[3] = {weights[0][i], weights[1][i], weights[2][i]};
        if (out.left >> i & 1)
            measure(s, triangles[i]);
        else
            keep_nearer(s, triangles[i], distance[i], weight);
    }
}
#else
static void measure_some(search *s, uint32_t triangles[4], uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        measure(s, triangles[i]);
}
#endif

static void measure_all(search *s) {
    uint32_t triangles[4], count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!(s->list[i].lower <= s->upper))
            continue;
        triangles[count++] = s->bvh->order[s->list[i].place];
        if (count == 4) {
            measure_some(s, triangles, count);
            count = 0;
        }
    }
    if (count)
        measure_some(s, triangles, count);
    s->count = 0;
    lower_bound_to(s, bvh_float_above(s->best * s->bvh->scale) * SLACK + s->margin);
}

static void add_candidate(search *s, float lower, uint32_t place) {
    if (s->count == CANDIDATE_MOST) {
        /* drop those that have been overtaken; only if that is of no use, measure */
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->count; i++)
            if (s->list[i].lower <= s->upper)
                s->list[kept++] = s->list[i];
        s->count = kept;
        if (kept > CANDIDATE_MOST / 2)
            measure_all(s);
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
/* a + s b and a - s b */
static inline vec3w along_wide(vec3w a, fw s, vec3w b) {
    vec3w r = {fw_mul_add(s, b.x, a.x), fw_mul_add(s, b.y, a.y), fw_mul_add(s, b.z, a.z)};
    return r;
}
static inline vec3w against_wide(vec3w a, fw s, vec3w b) {
    vec3w r = {fw_mul_from(s, b.x, a.x), fw_mul_from(s, b.y, a.y), fw_mul_from(s, b.z, a.z)};
    return r;
}
static inline fw clamp_wide(fw t) {
    return fw_min(fw_max(t, fw_all(0)), fw_all(1));
}

/* Squares below this are no lengths: the triangle is then as good as its edges. */
#define TINY 1e-30f

/* In the plane of a triangle, whose coordinates count in units of squared length uu and ww: the
 * squared distance of (x, y) to the segment from the origin to (k, 1). */
static inline fw slanted_wide(fw x, fw y, fw k, fw uu, fw ww) {
    fw length_sq = fw_mul_add(fw_mul(k, k), uu, ww);
    fw along = fw_mul_add(fw_mul(k, uu), x, fw_mul(y, ww));
    fw t = clamp_wide(fw_div(along, fw_max(length_sq, fw_all(TINY))));
    x = fw_mul_from(t, k, x);
    y = fw_sub(y, t);
    return fw_mul_add(fw_mul(x, x), uu, fw_mul(fw_mul(y, y), ww));
}

/* Squared distances of the origin to triangles of corner a and edges u and v from there. */
static inline fw triangles_wide(vec3w a, vec3w u, vec3w v) {
    fw zero = fw_all(0), one = fw_all(1), tiny = fw_all(TINY);
    fw uu = dot_wide(u, u);
    fw per_uu = fw_where(fw_less(tiny, uu), fw_div(one, uu));
    fw minus_s = fw_mul(dot_wide(a, u), per_uu), k = fw_mul(dot_wide(u, v), per_uu);
    vec3w w = against_wide(v, k, u), beside = against_wide(a, minus_s, u);
    fw ww = dot_wide(w, w), s = fw_sub(zero, minus_s);
    fw minus_r = fw_where(fw_less(tiny, ww), fw_div(dot_wide(beside, w), ww));
    vec3w face = against_wide(beside, minus_r, w);
    fw r = fw_sub(zero, minus_r), s_face = fw_mul_add(k, minus_r, s);
    mw inside =
        mw_and(mw_and(fw_less(zero, r), fw_less(zero, s_face)), fw_less(fw_add(r, s_face), one));
    fw x = fw_sub(s, clamp_wide(s));
    fw border = fw_mul_add(fw_mul(x, x), uu, fw_mul(fw_mul(r, r), ww));
    border = fw_min(border, slanted_wide(s, r, k, uu, ww));
    border = fw_min(border, slanted_wide(fw_sub(s, one), r, fw_sub(k, one), uu, ww));
    return fw_add(dot_wide(face, face), fw_unless(inside, border));
}

/* Squared distances of the triangles of some leaves, and by how much their roots may be wrong.
 * Leaves are given by places: node and slot. */
static inline fw leaf_distances(const search *s, const uint32_t places[WIDE_GROUPS], fw *margin) {
    const float *box[WIDE_GROUPS];
    const uint16_t *steps[WIDE_GROUPS];
    for (int g = 0; g < WIDE_GROUPS; g++) {
        const bvh_node *node = &s->bvh->nodes[places[g] / BVH_WIDTH];
        uint32_t slot = places[g] % BVH_WIDTH;
        box[g] = &node->lo[0][slot];
        steps[g] = s->bvh->blocks[node->child[slot] & ~BVH_LEAF].step[0][0];
    }
    fw lo[3], step[3], q[9];
    for (int axis = 0; axis < 3; axis++) {
        const float *lo_at[WIDE_GROUPS], *hi_at[WIDE_GROUPS];
        for (int g = 0; g < WIDE_GROUPS; g++) {
            lo_at[g] = box[g] + BVH_WIDTH * axis;
            hi_at[g] = box[g] + BVH_WIDTH * (axis + 3);
        }
        fw lowest = fw_each(lo_at);
        step[axis] = fw_mul(fw_sub(fw_each(hi_at), lowest), fw_all(1.0f / BVH_STEPS));
        lo[axis] = fw_sub(lowest, fw_all(s->at[axis]));
    }
    *margin = fw_add(fw_max(fw_max(step[0], step[1]), step[2]), fw_all(s->margin));
    fw_load_steps(steps, q);
    fw base = fw_all(WIDE_STEPS_ZERO);
    vec3w a = {fw_mul_add(fw_sub(q[0], base), step[0], lo[0]),
               fw_mul_add(fw_sub(q[1], base), step[1], lo[1]),
               fw_mul_add(fw_sub(q[2], base), step[2], lo[2])};
    vec3w u = {fw_mul(fw_sub(q[3], q[0]), step[0]), fw_mul(fw_sub(q[4], q[1]), step[1]),
               fw_mul(fw_sub(q[5], q[2]), step[2])};
    vec3w v = {fw_mul(fw_sub(q[6], q[0]), step[0]), fw_mul(fw_sub(q[7], q[1]), step[1]),
               fw_mul(fw_sub(q[8], q[2]), step[2])};
    return triangles_wide(a, u, v);
}

/* gcc 12 drops calls of a function that does nothing but fetch, unless it is put in place at once.
 */
#define FETCH static inline __attribute__((always_inline))

/* Asks for the corners of a triangle that will perhaps be measured: three loads, each of which
 * waits for the last, while the search goes on. */
FETCH void fetch_triangle(const abut_bvh *bvh, uint32_t place) {
    const uint32_t *corner = bvh->mesh->indices + 3 * (size_t)bvh->order[place];
    for (int k = 0; k < 3; k++)
        __builtin_prefetch(&bvh->mesh->positions[corner[k]]);
}

/* Takes what may win from the lanes that are near enough. */
static void take_near(search *s, const uint32_t places[WIDE_GROUPS], fw distance_sq, fw margin,
                      unsigned near) {
    float lower[4 * WIDE_GROUPS];
    fw distance = fw_sqrt(distance_sq), below = fw_sub(distance, margin);
    lower_bound_to(s, fw_least(fw_add(distance, margin)));
    near &= mw_bits(fw_less_equal(below, fw_all(s->upper)));
    fw_store(lower, below);
    for (; near; near &= near - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(near), place = places[lane / BVH_WIDTH];
        const bvh_node *node = &s->bvh->nodes[place / BVH_WIDTH];
        uint32_t leaf = node->child[place % BVH_WIDTH] & ~BVH_LEAF;
        uint32_t at = leaf * BVH_WIDTH + lane % BVH_WIDTH;
        fetch_triangle(s->bvh, at);
        add_candidate(s, lower[lane], at);
    }
}

static inline void visit_leaves(search *s, const uint32_t places[WIDE_GROUPS]) {
    fw margin, distance_sq = leaf_distances(s, places, &margin);
    fw reach = fw_add(fw_all(s->upper), margin);
    reach = fw_mul(fw_mul(reach, reach), fw_all(SLACK));
    unsigned near = mw_bits(fw_less_equal(distance_sq, reach));
    if (near)
        take_near(s, places, distance_sq, margin, near);
}

/* ---- nodes ---- */

/* Squared distances to four boxes. */
static inline f4 boxes4(const search *s, const bvh_node *node) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 below = f4_sub(f4_load(node->lo[axis]), f4_all(s->hi[axis]));
        f4 above = f4_sub(f4_all(s->lo[axis]), f4_load(node->hi[axis]));
        f4 d = f4_max(f4_max(below, above), f4_all(0));
        sum = f4_mul_add(d, d, sum);
    }
    return sum;
}

/* Asks for the nodes that come next, and for the blocks and numbers of a node's leaves: those of
 * one node mostly stand one after the other. Behind the last block there may be nothing, which does
 * no harm. */
FETCH void fetch_next(const abut_bvh *bvh, const keyed *stack, uint32_t used, const bvh_node *node,
                      unsigned near_leaves) {
    for (uint32_t i = 1; i <= 2; i++) {
        const bvh_node *next = &bvh->nodes[used >= i ? stack[used - i].value : 0];
        __builtin_prefetch(next);
        __builtin_prefetch(next->child);
    }
    if (!near_leaves)
        return;
    uint32_t slot = (uint32_t)__builtin_ctz(near_leaves), leaf = node->child[slot] & ~BVH_LEAF;
    const char *block = (const char *)&bvh->blocks[leaf];
    __builtin_prefetch(block);
    __builtin_prefetch(block + 64);
    __builtin_prefetch(block + 128);
    __builtin_prefetch(block + 192);
    __builtin_prefetch(&bvh->order[(size_t)leaf * BVH_WIDTH]);
}

/* Nodes that are near enough go on the stack, leaves to those that wait, and these are visited as
 * soon as there are enough for all lanes. */
static void search_near(search *s) {
    keyed stack[BVH_STACK + BVH_WIDTH], leaves[WIDE_GROUPS + 2 * BVH_WIDTH];
    uint32_t used = 0, waiting = 0, index = 0;
    for (bool more = true; more;) {
        const bvh_node *node = &s->bvh->nodes[index];
        f4 all = boxes4(s, node);
        m4 near = f4_less_equal(all, f4_all(s->upper_sq)), leaf = m4_highest(node->child);
        used += f4_sort(all, m4_without(near, leaf), node->child, stack + used);
        waiting += f4_sort_lanes(all, m4_and(near, leaf), index * BVH_WIDTH, leaves + waiting);
        fetch_next(s->bvh, stack, used, node, m4_bits(m4_and(near, leaf)));
        do {
            while (waiting >= WIDE_GROUPS) {
                uint32_t places[WIDE_GROUPS];
                bool near_enough = false;
                waiting -= WIDE_GROUPS;
                for (uint32_t g = 0; g < WIDE_GROUPS; g++) {
                    places[g] = leaves[waiting + g].value;
                    near_enough |= leaves[waiting + g].key <= s->upper_sq;
                }
                if (near_enough)
                    visit_leaves(s, places);
            }
            while (used && !(stack[used - 1].key <= s->upper_sq))
                used--;
            more = used > 0;
            for (uint32_t g = 1; !more && waiting && g < WIDE_GROUPS; g++)
                leaves[waiting++] = leaves[0]; /* the last one fills all lanes */
        } while (!more && waiting);
        if (more)
            index = stack[--used].value;
    }
    measure_all(s);
}

#endif
