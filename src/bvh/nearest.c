/* The nearest point of a mesh to a point.
 *
 * Method: depth first from the root, nearest child first, with an upper bound of the distance. All
 * of it in floats, four boxes or four triangles at once; corners come from the blocks, rounded to
 * 16 bits inside the leaf's box. That gives distances that err by less than a known margin. Every
 * triangle whose distance less the margin is not above the bound becomes a candidate, and its
 * distance plus the margin a new bound. At the end the few candidates that are still not above the
 * bound are measured by triangle_closest_point() in doubles, and the first of the least wins.
 * Hence no triangle is dropped that could win, and the answer is that of a search through all.
 *
 * The margin. Let e = 2^-24 be the rounding of a float, and M bound all coordinate differences
 * between the query and the mesh, in the frame. A corner is off by half a step of the block on
 * each axis, less than a step in all, and by some e M for the arithmetic; so is the query. The
 * distance to the triangle of such corners is found as in closest_shared.h, whose frame (u, w)
 * keeps the error to a few e M for every shape of triangle; one round of it is enough here. The
 * distance in doubles, against which it will stand, is off by 4 ulp of doubles, which is nothing
 * beside that. The margin is 32 e M and the longest step; tests/bvh measures errors below a quarter
 * of it.
 *
 * Far away, where floats no longer tell one triangle from the next, boxes are measured in doubles
 * and all triangles that remain become candidates.
 */
#include "bvh/bvh.h"

#include "base/simd.h"
#include "geom/closest_shared.h"

#include <math.h>

enum { CANDIDATE_MOST = 64 };

/* Beyond this many times the size of the mesh a point is far. */
#define FAR 64.0
/* 32 roundings of a float. */
#define MARGIN 0x1p-19f
/* Products and sums of a few roundings. */
#define SLACK (1.0f + 0x1p-20f)
/* The same of doubles, with the error of the distances there. */
#define SLACK_FAR (1.0 + 0x1p-44)

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
    closest_on_triangle closest; /* its point */
} search;

/* ---- candidates ---- */

static inline void set_bound(search *s, float upper) {
    s->upper = upper;
    s->upper_sq = upper * upper * SLACK + FLT_MIN;
}

static inline void lower_bound_to(search *s, float upper) {
    if (upper < s->upper)
        set_bound(s, upper);
}

/* Measures a triangle in doubles. */
static void measure(search *s, uint32_t triangle) {
    closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(s->bvh->mesh, triangle), s->point);
    if (closest.distance < s->best || (closest.distance == s->best && triangle < s->winner)) {
        if (closest.distance > s->radius)
            return;
        s->best = closest.distance;
        s->winner = triangle;
        s->closest = closest;
    }
}

static void measure_all(search *s) {
    for (uint32_t i = 0; i < s->count; i++)
        if (s->list[i].lower <= s->upper)
            measure(s, s->bvh->order[s->list[i].place]);
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

typedef struct vec3x4 {
    f4 x, y, z;
} vec3x4;

static inline f4 dot4(vec3x4 a, vec3x4 b) {
    return f4_add(f4_add(f4_mul(a.x, b.x), f4_mul(a.y, b.y)), f4_mul(a.z, b.z));
}
static inline vec3x4 sub4(vec3x4 a, vec3x4 b) {
    vec3x4 r = {f4_sub(a.x, b.x), f4_sub(a.y, b.y), f4_sub(a.z, b.z)};
    return r;
}
/* a + s b */
static inline vec3x4 along4(vec3x4 a, f4 s, vec3x4 b) {
    vec3x4 r = {f4_add(a.x, f4_mul(s, b.x)), f4_add(a.y, f4_mul(s, b.y)),
                f4_add(a.z, f4_mul(s, b.z))};
    return r;
}
static inline f4 clamp4(f4 t) {
    return f4_min(f4_max(t, f4_all(0)), f4_all(1));
}

/* Squares below this are no lengths: the triangle is then as good as its edges. */
#define TINY 1e-30f

/* Squared distance of the origin to the segment from a along u, with uu = max(u . u, TINY) and
 * au = a . u. */
static inline f4 segment4(vec3x4 a, vec3x4 u, f4 foot) {
    vec3x4 p = along4(a, clamp4(foot), u);
    return dot4(p, p);
}

/* Squared distances of the origin to four triangles; the method is that of closest_shared.h. */
static inline f4 triangles4(vec3x4 a, vec3x4 b, vec3x4 c) {
    f4 zero = f4_all(0), one = f4_all(1), tiny = f4_all(TINY);
    vec3x4 u = sub4(b, a), v = sub4(c, a), e = sub4(c, b);
    f4 uu = dot4(u, u), vv = dot4(v, v), ee = dot4(e, e);
    f4 per_uu = f4_div(one, f4_max(uu, tiny));
    f4 s = f4_sub(zero, f4_mul(dot4(a, u), per_uu));
    f4 k = f4_mul(dot4(u, v), per_uu);
    vec3x4 w = along4(v, f4_sub(zero, k), u), beside = along4(a, s, u);
    f4 ww = dot4(w, w);
    f4 r = f4_sub(zero, f4_div(dot4(beside, w), f4_max(ww, tiny)));
    f4 s_face = f4_sub(s, f4_mul(k, r));
    vec3x4 face = along4(beside, r, w);
    m4 inside = m4_and(m4_and(f4_less(zero, r), f4_less(zero, s_face)),
                       m4_and(f4_less(f4_add(r, s_face), one),
                              m4_and(f4_less(tiny, uu), f4_less(tiny, ww))));
    f4 border = segment4(a, u, s);
    f4 foot = f4_sub(zero, f4_div(dot4(a, v), f4_max(vv, tiny)));
    border = f4_min(border, segment4(a, v, foot));
    foot = f4_sub(zero, f4_div(dot4(b, e), f4_max(ee, tiny)));
    border = f4_min(border, segment4(b, e, foot));
    return f4_select(inside, dot4(face, face), border);
}

static inline f4 corner4(const uint16_t *steps, float lo, float step) {
    return f4_add(f4_all(lo), f4_mul(f4_load_u16(steps), f4_all(step)));
}

/* Squared distances of four triangles, and by how much their roots may be wrong. */
static inline f4 leaf_distances(const search *s, const bvh_node *node, uint32_t slot,
                                float *margin) {
    const bvh_block *block = &s->bvh->blocks[node->child[slot] & ~BVH_LEAF];
    float lo[3], step[3], longest = 0;
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = node->lo[axis][slot] - s->at[axis];
        step[axis] = (node->hi[axis][slot] - node->lo[axis][slot]) * (1.0f / BVH_STEPS);
        longest = step[axis] > longest ? step[axis] : longest;
    }
    vec3x4 corner[3];
    for (int k = 0; k < 3; k++) {
        corner[k].x = corner4(block->step[k][0], lo[0], step[0]);
        corner[k].y = corner4(block->step[k][1], lo[1], step[1]);
        corner[k].z = corner4(block->step[k][2], lo[2], step[2]);
    }
    *margin = s->margin + longest;
    return triangles4(corner[0], corner[1], corner[2]);
}

static void visit_leaf(search *s, const bvh_node *node, uint32_t slot) {
    uint32_t leaf = node->child[slot] & ~BVH_LEAF;
    float margin;
    f4 distance_sq = leaf_distances(s, node, slot, &margin);
    float reach = s->upper + margin;
    unsigned near = m4_bits(f4_less_equal(distance_sq, f4_all(reach * reach * SLACK)));
    if (!near)
        return;
    float lower[4], upper[4];
    f4 distance = f4_sqrt(distance_sq);
    f4_store(lower, f4_sub(distance, f4_all(margin)));
    f4_store(upper, f4_add(distance, f4_all(margin)));
    uint32_t fill = bvh_leaf_fill(s->bvh, leaf);
    for (uint32_t i = 0; i < fill; i++) {
        lower_bound_to(s, upper[i]);
        if (near >> i & 1 && lower[i] <= s->upper)
            add_candidate(s, lower[i], leaf * BVH_WIDTH + i);
    }
}

/* ---- nodes ---- */

typedef struct pending {
    float distance_sq;
    uint32_t place; /* node and slot */
} pending;

/* Squared distances to four boxes. */
static inline f4 boxes4(const search *s, const bvh_node *node) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 below = f4_sub(f4_load(node->lo[axis]), f4_all(s->hi[axis]));
        f4 above = f4_sub(f4_all(s->lo[axis]), f4_load(node->hi[axis]));
        f4 d = f4_max(f4_max(below, above), f4_all(0));
        sum = f4_add(sum, f4_mul(d, d));
    }
    return sum;
}

static inline void sort_two(pending *a, pending *b) {
    if (a->distance_sq < b->distance_sq) {
        pending kept = *a;
        *a = *b;
        *b = kept;
    }
}

/* Puts the children that are near enough on the stack, the nearest last. */
static inline uint32_t push_children(const search *s, uint32_t index, pending *stack,
                                     uint32_t used) {
    const bvh_node *node = &s->bvh->nodes[index];
    f4 all = boxes4(s, node);
    unsigned near = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    float distance_sq[4];
    f4_store(distance_sq, all);
    pending *first = stack + used;
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) { /* no branch: none could be foreseen */
        first[count].distance_sq = distance_sq[slot];
        first[count].place = index * BVH_WIDTH + slot;
        count += near >> slot & 1;
    }
    if (count == 2) {
        sort_two(&first[0], &first[1]);
    } else if (count == 3) {
        sort_two(&first[0], &first[1]);
        sort_two(&first[1], &first[2]);
        sort_two(&first[0], &first[1]);
    } else if (count == 4) {
        sort_two(&first[0], &first[1]);
        sort_two(&first[2], &first[3]);
        sort_two(&first[0], &first[2]);
        sort_two(&first[1], &first[3]);
        sort_two(&first[1], &first[2]);
    }
    return used + count;
}

static void search_near(search *s) {
    pending stack[BVH_STACK];
    uint32_t used = push_children(s, 0, stack, 0);
    while (used) {
        pending next = stack[--used];
        if (next.distance_sq > s->upper_sq)
            continue;
        const bvh_node *node = &s->bvh->nodes[next.place / BVH_WIDTH];
        uint32_t slot = next.place % BVH_WIDTH, child = node->child[slot];
        if (child & BVH_LEAF)
            visit_leaf(s, node, slot);
        else
            used = push_children(s, child, stack, used);
    }
    measure_all(s);
}

/* ---- far away ---- */

typedef struct pending_far {
    double distance_sq;
    uint32_t place;
} pending_far;

/* In units in which the point is 1 away from the origin of the mesh: nothing overflows, and a mesh
 * that underflows is a point, as it should be. */
static void search_far(search *s) {
    const abut_mesh *mesh = s->bvh->mesh;
    vec3 p = v3_sub(s->point, mesh->origin);
    double unit = 1 / v3_max_abs(p), per_frame = unit / s->bvh->scale;
    double at[3] = {p.x * unit, p.y * unit, p.z * unit};
    pending_far stack[BVH_STACK];
    uint32_t used = 0, index = 0;
    for (;;) {
        const bvh_node *node = &s->bvh->nodes[index];
        uint32_t first = used;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            if (node->child[slot] == ABUT_NONE)
                continue;
            double sum = 0;
            for (int axis = 0; axis < 3; axis++) {
                double lo = node->lo[axis][slot] * per_frame, hi = node->hi[axis][slot] * per_frame;
                double d = real_max(real_max(lo - at[axis], at[axis] - hi), 0);
                sum += d * d;
            }
            pending_far child = {sum, index * BVH_WIDTH + slot};
            uint32_t i = used++;
            for (; i > first && stack[i - 1].distance_sq < sum; i--)
                stack[i] = stack[i - 1];
            stack[i] = child;
        }
        bool found = false;
        while (used && !found) {
            pending_far next = stack[--used];
            double limit = real_min(s->best, s->radius) * unit;
            if (next.distance_sq > limit * limit * SLACK_FAR)
                continue;
            uint32_t child = s->bvh->nodes[next.place / BVH_WIDTH].child[next.place % BVH_WIDTH];
            found = !(child & BVH_LEAF);
            index = child;
            uint32_t leaf = child & ~BVH_LEAF;
            for (uint32_t i = 0; !found && i < bvh_leaf_fill(s->bvh, leaf); i++)
                measure(s, s->bvh->order[leaf * BVH_WIDTH + i]);
        }
        if (!found)
            return;
    }
}

/* ---- one point ---- */

/* Starts a search that floats can do; false where the point is far. */
static bool start_near(search *s, const bvh_hint *hint) {
    double scale = s->bvh->scale;
    vec3 p = v3_scale(v3_sub(s->point, s->bvh->mesh->origin), scale);
    double largest = v3_max_abs(p);
    if (!(largest < FAR))
        return false;
    const double at[3] = {p.x, p.y, p.z};
    for (int axis = 0; axis < 3; axis++) {
        s->at[axis] = (float)at[axis];
        s->lo[axis] = bvh_float_below(at[axis]);
        s->hi[axis] = bvh_float_above(at[axis]);
    }
    s->margin = MARGIN * ((float)largest + 2);
    s->count = 0;
    /* Nothing is further than this. */
    double limit = real_min(s->radius * scale, 4 * FAR);
    if (hint && hint->known)
        limit = real_min(limit, v3_length(v3_sub(p, v3_scale(hint->point, scale))));
    set_bound(s, (float)limit * SLACK + s->margin);
    return true;
}

void abuti_bvh_nearest(const abut_bvh *bvh, abut_vec3 point, double radius, bvh_hint *hint,
                       abut_nearest *nearest) {
    search s;
    s.bvh = bvh;
    s.point = point;
    s.radius = radius;
    s.best = INFINITY;
    s.winner = ABUT_NONE;
    if (start_near(&s, hint))
        search_near(&s);
    else
        search_far(&s);
    nearest->distance = s.best;
    nearest->triangle = s.winner;
    if (s.winner == ABUT_NONE) {
        nearest->point = point;
        nearest->feature = ABUT_FEATURE_FACE;
        nearest->barycentric[0] = nearest->barycentric[1] = nearest->barycentric[2] = 0;
        return;
    }
    nearest->point = s.closest.point;
    nearest->feature = s.closest.feature;
    for (int i = 0; i < 3; i++)
        nearest->barycentric[i] = s.closest.barycentric[i];
    if (hint) {
        /* not from the absolute point, which far from 0 is coarser than the mesh */
        const uint32_t *corner = bvh->mesh->indices + 3 * (size_t)s.winner;
        hint->known = true;
        hint->point = v3(0, 0, 0);
        for (int i = 0; i < 3; i++)
            hint->point =
                v3_along(hint->point, s.closest.barycentric[i], bvh->mesh->positions[corner[i]]);
    }
}

abut_status abut_bvh_nearest(const abut_bvh *bvh, abut_vec3 point, double radius,
                             abut_nearest *nearest) {
    abut_status status = abuti_bvh_check(__func__, bvh, nearest, "nearest");
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    if (status)
        return status;
    abuti_bvh_nearest(bvh, point, radius, NULL, nearest);
    return ABUT_OK;
}
