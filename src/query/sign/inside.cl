/* Inside and outside of a surface without boundary on a device, exactly; see winding_exact.c.
 *
 * Method: as there, a ray along an axis crosses the surface, and crossings count with the sign of
 * their side. inside_find traverses the tree in floats, counts the certain crossings, and leaves
 * the few uncertain triangles; inside_decide_exactly decides those in doubles by the exact
 * predicates. If there are too many, it traverses the tree itself. Points are sorted by nearest.cl
 * along a curve, in the frame of the BVH, where the mesh is within 2 of 0 on every axis.
 *
 * Margin: a point that matters is within 2.1 of 0, so it was rounded by at most 2^-23; corners by
 * 2^-24, and their difference by 2^-22: in total less than m / 2 with m = 2^-20. The rest is
 * derived in pierce_cl.h; a height has an error of 3 m in addition to that of the weights. A point
 * on the triangle is never certain.
 */
#include "bvh/node_cl.h"
#include "geom/pierce_cl.h"
#include "sign/crossing_shared.h"

#if ABUTI_REAL_BITS == 64
#include "sign/sign_shared.h"

/* Instead of a count of candidates with the direction (axis and sense) above it: */
#define DIRECTION 16
#define DECIDED 254
#define COMPLETE 255

typedef struct crossing {
    float4 at; /* the two axes across the ray, then that along it */
    uint axis;
    bool up;
    int winding;
    uint count; /* of candidates, or COMPLETE */
    uint place[SIGN_CANDIDATES];
} crossing;

/* ---- in floats ---- */

static inline float4 permute_axes(uint axis, float4 v) {
    return axis == 0 ? v.yzxw : axis == 1 ? v.zxyw : v;
}

/* Chooses the shortest exit from the box of the mesh. Returns false if the point is not in it. */
static inline bool init_crossing(crossing *c, float4 at, float4 lo, float4 hi) {
    float4 down = at - lo, up = hi - at;
    float below = fmin(down.x, fmin(down.y, down.z)), above = fmin(up.x, fmin(up.y, up.z));
    float least = fmin(below, above);
    c->up = above <= below;
    float4 way = c->up ? up : down;
    c->axis = way.x == least ? 0 : way.y == least ? 1 : 2;
    c->at = permute_axes(c->axis, at);
    c->winding = 0;
    c->count = 0;
    return least >= -SIGN_MARGIN;
}

static inline void test_triangle(crossing *to, float4 a, float4 b, float4 c, uint place) {
    const float m = SIGN_MARGIN;
    a = permute_axes(to->axis, a) - to->at;
    b = permute_axes(to->axis, b) - to->at;
    c = permute_axes(to->axis, c) - to->at;
    piercing p;
    if (!pierce(a, b, c, m, &p))
        return;
    float low = fmin(a.z, fmin(b.z, c.z)), high = fmax(a.z, fmax(b.z, c.z));
    if (to->up ? high < -m : low > m)
        return;
    if (p.certain) {
        float wrong, height = pierce_height(&p, a.z, b.z, c.z, high - low, &wrong);
        wrong += 3.0f * m;
        bool ahead = to->up ? height > wrong || low > m : height < -wrong || high < -m;
        if (ahead)
            to->winding += (p.d > 0.0f) == to->up ? 1 : -1;
        if (ahead || (to->up ? height < -wrong : height > wrong))
            return;
    }
    if (to->count == SIGN_CANDIDATES)
        to->count = COMPLETE;
    if (to->count != COMPLETE)
        to->place[to->count++] = place;
}

/* Four triangles of nine floats, of which the last leaf may have fewer. */
static inline void test_leaf(crossing *to, __global const float4 *triangles, uint leaf,
                             uint triangle_count) {
    for (uint i = 0; i < BVH_WIDTH && leaf * BVH_WIDTH + i < triangle_count; i++) {
        __global const float *f = (__global const float *)(triangles + 9 * leaf) + 9 * i;
        test_triangle(to, (float4)(f[0], f[1], f[2], 0.0f), (float4)(f[3], f[4], f[5], 0.0f),
                      (float4)(f[6], f[7], f[8], 0.0f), leaf * BVH_WIDTH + i);
    }
}

/* Which of four boxes the ray may intersect. */
static inline int4 overlapping_boxes(const crossing *c, __global const bvh_node *n) {
    __global const float4 *planes = (__global const float4 *)n; /* three lower, three upper */
    uint first = c->axis == 2 ? 0 : c->axis + 1, second = c->axis == 0 ? 2 : c->axis - 1;
    float4 at = c->at;
    int4 met = (planes[first] <= at.x + SIGN_MARGIN) & (planes[first + 3] >= at.x - SIGN_MARGIN) &
               (planes[second] <= at.y + SIGN_MARGIN) & (planes[second + 3] >= at.y - SIGN_MARGIN);
    return met & (c->up ? planes[c->axis + 3] >= at.z - SIGN_MARGIN
                        : planes[c->axis] <= at.z + SIGN_MARGIN);
}

/* Counts certain crossings, in the order of the points on the curve; the rest is described above.
 * With QUEST_SIGN only points that are not decided. */
__kernel void inside_find(__global const bvh_node *nodes, __global const float4 *triangles,
                          uint triangle_count, __global const float4 *points, uint count,
                          uint quest, float4 lo, float4 hi, __global uchar *counts,
                          __global int *windings, __global uint *places) {
    uint i = (uint)get_global_id(0), stack[STACK], used = 0;
    if (i >= count || (quest == QUEST_SIGN && counts[i] == DECIDED))
        return;
    crossing c;
    if (init_crossing(&c, points[i], lo, hi) &&
        points[i].w >= 0.0f) /* otherwise it is outside, or far away */
        stack[used++] = 0;
    while (used > 0 && c.count != COMPLETE) {
        uint next = stack[--used];
        if (next & BVH_LEAF)
            test_leaf(&c, triangles, next & ~BVH_LEAF, triangle_count);
        else
            used =
                push_children(stack, used, nodes[next].child, overlapping_boxes(&c, nodes + next));
    }
    windings[i] = c.winding;
    counts[i] = (uchar)(c.count == COMPLETE ? COMPLETE : (2 * c.axis + c.up) * DIRECTION + c.count);
    for (uint k = 0; c.count != COMPLETE && k < c.count; k++)
        places[(size_t)k * count + i] = c.place[k];
}

/* ---- in doubles ---- */

/* Not inlined: compilers are slow on every copy. */
static __attribute__((noinline)) int
cross_exactly(const axis_ray *ray, __global const double *corners, uint triangle, int *on_surface) {
    return triangle_cross(ray, load_triangle(corners, triangle), on_surface);
}

/* Writes the result of point `to`: for QUEST_SIGN an abut_nearest, whose distance becomes negative
 * inside; otherwise a byte or a double. */
static inline void store(int winding, bool on_surface, uint quest, size_t to, __global uchar *bytes,
                         __global double *doubles) {
    bool inside = on_surface || winding != 0;
    if (quest == QUEST_INSIDE)
        bytes[to] = inside;
    else if (quest == QUEST_WINDING)
        doubles[to] = on_surface ? 0.5 : (double)winding;
    else if (inside)
        doubles[8 * to] = -doubles[8 * to];
}

__kernel void inside_decide_exactly(__global const bvh_node *nodes, uint triangle_count,
                                    __global const uint *tree_order, __global const double *corners,
                                    __global const float4 *points, __global const double *exact,
                                    __global const uint *order, uint count, uint quest, float4 lo,
                                    float4 hi, __global const uchar *counts,
                                    __global const int *windings, __global const uint *places,
                                    uint first, __global uchar *bytes, __global double *doubles) {
    uint i = (uint)get_global_id(0), stack[STACK], used = 0, left = 0, leaf = 0;
    if (i >= count || counts[i] == DECIDED)
        return;
    uint told = counts[i], direction = told / DIRECTION, next = 0;
    int winding = windings[i], on_surface = 0;
    crossing c;
    if (told == COMPLETE) {
        init_crossing(&c, points[i], lo, hi);
        direction = 2 * c.axis + c.up;
        winding = 0;
        stack[used++] = 0;
    } else {
        left = told % DIRECTION;
    }
    axis_ray ray;
    ray.from = load_point(exact + 3 * (size_t)order[i]);
    ray.axis = (int)(direction / 2);
    ray.sense = direction & 1 ? 1 : -1;
    /* One loop over candidates or all triangles that the ray may intersect, so that there is a
     * single call. */
    while ((left > 0 || used > 0) && !on_surface) {
        uint place;
        if (left > 0 && told != COMPLETE) {
            place = places[(size_t)--left * count + i];
        } else if (left > 0) {
            place = leaf * BVH_WIDTH + --left;
        } else {
            next = stack[--used];
            if (!(next & BVH_LEAF)) {
                used = push_children(stack, used, nodes[next].child,
                                     overlapping_boxes(&c, nodes + next));
                continue;
            }
            leaf = next & ~BVH_LEAF;
            left = min(triangle_count - leaf * BVH_WIDTH, (uint)BVH_WIDTH);
            continue;
        }
        winding += cross_exactly(&ray, corners, tree_order[place], &on_surface);
    }
    store(winding, on_surface, quest, (size_t)first + order[i], bytes, doubles);
}

/* ---- pseudo-normals ---- */

/* Decides distances of 0 and infinity, which have no sign, and with normals those whose side is
 * certain; see normals.c. Normals are four doubles each, the last a weight: of the face, the edges
 * and the vertices of every triangle. */
__kernel void inside_normals(__global const double *normals, uint has_normals, double facing,
                             __global const double *exact, __global const uint *order, uint count,
                             uint first, __global double *nearest, __global uchar *counts) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint point = order[i];
    __global double *answer = nearest + 8 * ((size_t)first + point);
    double distance = answer[0], side = 0.0;
    bool is_decided = !(distance > 0.0 && distance < INFINITY);
    if (!is_decided && has_normals) {
        uint2 what = as_uint2(answer[7]); /* triangle and feature */
        __global const double *normal = normals + 4 * (7 * (size_t)what.x + what.y);
        side = facing * normal_side(load_point(exact + 3 * (size_t)point), load_point(answer + 1),
                                    load_point(normal), normal[3]);
    }
    if (side < 0.0)
        answer[0] = -distance;
    counts[i] = is_decided || side != 0.0 ? DECIDED : 0;
}

#endif
