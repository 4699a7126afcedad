/* Nearest points of many points on a device. The same answers as nearest.c, bit for bit.
 *
 * Method: as there, floats decide what need not be looked at and doubles measure the rest. Points
 * go into the frame of the hierarchy (nearest_frame) and are sorted along a curve, so that the
 * items of a group walk the same way. nearest_find walks the tree in floats and leaves the few
 * triangles that may win; nearest_measure measures these in doubles. Every 32nd point is searched
 * first: its distance and the way to it bound those of its neighbours from the start. Where too
 * many triangles may win, or a point is too far away for floats, nearest_complete walks the tree in
 * doubles.
 *
 * The margin m bounds the error of a distance in floats; its reason is that of nearest.c, with
 * corners rounded to floats in place of steps. Let b be the least distance found. The true one is
 * at most b + m, so whatever is computed as more than b + 2 m cannot win. Boxes are measured from
 * the rounded point and err by less than m too.
 *
 * A device without doubles builds this with ABUTI_REAL_BITS=32: the host then makes the frame and
 * measures.
 */
#include "geom/closest_shared.h"

#define WIDTH 4
#define LEAF 0x80000000u
#define NONE 0xffffffffu

/* Candidates a point; more are left to nearest_complete. */
#define CANDIDATES 16
#define COMPLETE 255 /* instead of a count */

#ifndef STACK
#define STACK 211 /* BVH_STACK; the host may say less for a flat tree */
#endif

#define SLACK (1.0f + 0x1p-20f)
#define TINY 1e-30f

typedef struct node {
    float4 lo[3], hi[3];
    uint4 child;
} node;

/* ---- triangles in floats ---- */

static inline float dot_f(float4 a, float4 b) {
    return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z));
}

/* Good to a few roundings wherever native_recip() is good to a thousandth or so. */
static inline float reciprocal(float x) {
    float r = native_recip(x);
    return r * fma(-x, r, 2.0f);
}

/* Squared distance of the origin to the segment from a along u, at this parameter. */
static inline float segment_sq(float4 a, float4 u, float foot) {
    float t = clamp(foot, 0.0f, 1.0f);
    float4 p = (float4)(fma(t, u.x, a.x), fma(t, u.y, a.y), fma(t, u.z, a.z), 0.0f);
    return dot_f(p, p);
}

/* Squared distance of the origin to a triangle; the method is that of closest_shared.h. */
static inline float triangle_sq(float4 a, float4 b, float4 c) {
    float4 u = b - a, v = c - a, e = c - b;
    float uu = dot_f(u, u), vv = dot_f(v, v), ee = dot_f(e, e);
    float per_uu = reciprocal(fmax(uu, TINY));
    float s = -dot_f(a, u) * per_uu, k = dot_f(u, v) * per_uu;
    float4 w = (float4)(fma(-k, u.x, v.x), fma(-k, u.y, v.y), fma(-k, u.z, v.z), 0.0f);
    float4 beside = (float4)(fma(s, u.x, a.x), fma(s, u.y, a.y), fma(s, u.z, a.z), 0.0f);
    float ww = dot_f(w, w);
    float r = -dot_f(beside, w) * reciprocal(fmax(ww, TINY)), s_face = fma(-k, r, s);
    if (r > 0.0f && s_face > 0.0f && r + s_face < 1.0f && uu > TINY && ww > TINY) {
        float4 face =
            (float4)(fma(r, w.x, beside.x), fma(r, w.y, beside.y), fma(r, w.z, beside.z), 0.0f);
        return dot_f(face, face);
    }
    float border = segment_sq(a, u, s);
    border = fmin(border, segment_sq(a, v, -dot_f(a, v) * reciprocal(fmax(vv, TINY))));
    return fmin(border, segment_sq(b, e, -dot_f(b, e) * reciprocal(fmax(ee, TINY))));
}

/* ---- the search in floats ---- */

typedef struct search {
    float4 at;            /* the point; w is the margin */
    float best, reach_sq; /* least distance so far; squares beyond this cannot win */
    uint count;           /* of candidates, or COMPLETE */
    float distance_sq[CANDIDATES];
    uint place[CANDIDATES];
} search;

static inline void set_best(search *s, float best) {
    float reach = best + 2.0f * s->at.w;
    s->best = best;
    s->reach_sq = reach * reach * SLACK;
}

static inline void add_candidate(search *s, float distance_sq, uint place) {
    if (s->count == CANDIDATES) {
        uint kept = 0;
        for (uint i = 0; i < CANDIDATES; i++)
            if (s->distance_sq[i] <= s->reach_sq) {
                s->distance_sq[kept] = s->distance_sq[i];
                s->place[kept++] = s->place[i];
            }
        s->count = kept == CANDIDATES ? COMPLETE : kept;
    }
    if (s->count == COMPLETE)
        return;
    s->distance_sq[s->count] = distance_sq;
    s->place[s->count++] = place;
}

static inline void visit_triangle(search *s, float4 a, float4 b, float4 c, uint place) {
    float distance_sq = triangle_sq(a - s->at, b - s->at, c - s->at);
    if (distance_sq > s->reach_sq)
        return;
    add_candidate(s, distance_sq, place);
    if (distance_sq < s->best * s->best)
        set_best(s, sqrt(distance_sq));
}

/* Four triangles of nine floats. The last leaf repeats its last triangle: no matter. */
static inline void visit_leaf(search *s, __global const float4 *triangles, uint leaf) {
    __global const float4 *f = triangles + 9 * leaf;
    float4 f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3], f4 = f[4];
    visit_triangle(s, (float4)(f0.xyz, 0.0f), (float4)(f0.w, f1.xy, 0.0f),
                   (float4)(f1.zw, f2.x, 0.0f), leaf * WIDTH);
    visit_triangle(s, (float4)(f2.yzw, 0.0f), (float4)(f3.xyz, 0.0f), (float4)(f3.w, f4.xy, 0.0f),
                   leaf * WIDTH + 1);
    float4 f5 = f[5], f6 = f[6], f7 = f[7], f8 = f[8];
    visit_triangle(s, (float4)(f4.zw, f5.x, 0.0f), (float4)(f5.yzw, 0.0f), (float4)(f6.xyz, 0.0f),
                   leaf * WIDTH + 2);
    visit_triangle(s, (float4)(f6.w, f7.xy, 0.0f), (float4)(f7.zw, f8.x, 0.0f),
                   (float4)(f8.yzw, 0.0f), leaf * WIDTH + 3);
}

static inline float4 outside(float4 lo, float4 hi, float x) {
    return fmax(fmax(lo - x, x - hi), 0.0f);
}

/* Squared distances to the boxes of four children as whole numbers that sort alike, a little less
 * than they are, with the number of the child in the lowest bits. */
static inline uint4 child_keys(__global const node *n, float4 at) {
    float4 x = outside(n->lo[0], n->hi[0], at.x), y = outside(n->lo[1], n->hi[1], at.y),
           z = outside(n->lo[2], n->hi[2], at.z);
    float4 sum = fma(x, x, fma(y, y, z * z)); /* of an empty slot: infinity */
    return (as_uint4(sum) & ~3u) | (uint4)(0, 1, 2, 3);
}

static inline void sort_two(uint *a, uint *b) {
    uint low = min(*a, *b), high = max(*a, *b);
    *a = low;
    *b = high;
}

static void walk(search *s, __global const node *nodes, __global const float4 *triangles) {
    uint keys[STACK], children[STACK], used = 0, child = 0;
    for (;;) {
        uint next = NONE;
        if (child & LEAF) {
            visit_leaf(s, triangles, child & ~LEAF);
        } else {
            __global const node *n = nodes + child;
            uint4 key = child_keys(n, s->at), name = n->child;
            uint k0 = key.x, k1 = key.y, k2 = key.z, k3 = key.w;
            sort_two(&k0, &k1);
            sort_two(&k2, &k3);
            sort_two(&k0, &k2);
            sort_two(&k1, &k3);
            sort_two(&k1, &k2);
            uint limit = as_uint(s->reach_sq);
#define NAME_OF(k) ((k)&2 ? ((k)&1 ? name.w : name.z) : ((k)&1 ? name.y : name.x))
            if (k3 <= limit) {
                keys[used] = k3;
                children[used++] = NAME_OF(k3);
            }
            if (k2 <= limit) {
                keys[used] = k2;
                children[used++] = NAME_OF(k2);
            }
            if (k1 <= limit) {
                keys[used] = k1;
                children[used++] = NAME_OF(k1);
            }
            if (k0 <= limit)
                next = NAME_OF(k0);
        }
        while (next == NONE && used) {
            used--;
            if (keys[used] <= as_uint(s->reach_sq))
                next = children[used];
        }
        if (next == NONE)
            return;
        child = next;
    }
}

/* Searches from a bound. */
static inline void find(search *s, float4 at, float bound, __global const node *nodes,
                        __global const float4 *triangles) {
    s->at = at;
    s->count = 0;
    set_best(s, bound);
    walk(s, nodes, triangles);
}

/* ---- kernels in floats ---- */

#define SEEDS_EACH 32

/* The distance of every SEEDS_EACH-th point in order, or less than 0 where it is not known. */
__kernel void nearest_seed(__global const node *nodes, __global const float4 *triangles,
                           __global const float4 *points, __global const uint *order, uint count,
                           float radius, __global float *seeds) {
    uint seed = (uint)get_global_id(0), i = min(seed * SEEDS_EACH + SEEDS_EACH / 2, count - 1);
    if (seed * SEEDS_EACH >= count)
        return;
    float4 at = points[order[i]];
    search s;
    if (at.w < 0.0f) {
        seeds[seed] = -1.0f;
        return;
    }
    find(&s, at, radius, nodes, triangles);
    seeds[seed] = s.best;
}

/* The triangles that may be nearest to point order[i]: places[k count + i] for k below counts[i]. A
 * point's w is its margin, or less than 0 where it is far away. */
__kernel void nearest_find(__global const node *nodes, __global const float4 *triangles,
                           __global const float4 *points, __global const uint *order, uint count,
                           float radius, __global const float *seeds, __global uchar *counts,
                           __global uint *places) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    float4 at = points[order[i]];
    if (at.w < 0.0f) {
        counts[i] = COMPLETE;
        return;
    }
    uint seed = i / SEEDS_EACH;
    float4 seed_at = points[order[min(seed * SEEDS_EACH + SEEDS_EACH / 2, count - 1)]];
    float bound = radius;
    if (seeds[seed] >= 0.0f) {
        float4 way = (float4)((at - seed_at).xyz, 0.0f);
        bound = fmin(bound, (seeds[seed] + sqrt(dot_f(way, way))) * SLACK + 2.0f * at.w);
    }
    search s;
    find(&s, at, bound, nodes, triangles);
    uint kept = 0;
    for (uint k = 0; s.count != COMPLETE && k < s.count; k++)
        if (s.distance_sq[k] <= s.reach_sq)
            places[(size_t)kept++ * count + i] = s.place[k];
    counts[i] = (uchar)(s.count == COMPLETE ? COMPLETE : kept);
}

/* ---- order ---- */

/* Words that sort like their floats. */
static inline uint sortable(float x) {
    uint bits = as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static inline float unsortable(uint word) {
    return as_float(word & 0x80000000u ? word ^ 0x80000000u : ~word);
}

/* The box of all points: three words of the least and the complements of three of the greatest, so
 * that all are minima. */
__kernel void nearest_bounds(__global const float4 *points, uint count, __global uint *bounds,
                             __local uint *room) {
    uint item = (uint)get_local_id(0);
    if (item < 6)
        room[item] = NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint least[6] = {NONE, NONE, NONE, NONE, NONE, NONE};
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        float4 at = points[i];
        uint word[3] = {sortable(at.x), sortable(at.y), sortable(at.z)};
        for (int axis = 0; axis < 3 && at.w >= 0.0f; axis++) {
            least[axis] = min(least[axis], word[axis]);
            least[axis + 3] = min(least[axis + 3], ~word[axis]);
        }
    }
    for (int i = 0; i < 6; i++)
        atomic_min(&room[i], least[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 6)
        atomic_min(&bounds[item], room[item]);
}

/* Two zeros between each of the lowest ten bits. */
static inline uint spread(uint x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

static inline uint cell_on(float x, float lo, float per_cell) {
    float cell = (x - lo) * per_cell;
    return cell > 0.0f ? (uint)fmin(cell, 1023.0f) : 0;
}

/* Places on a Morton curve of cubes. */
__kernel void nearest_keys(__global const float4 *points, uint count, __global const uint *bounds,
                           __global uint *keys, __global uint *order) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    float4 at = points[i];
    float lo[3], extent = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = unsortable(bounds[axis]);
        extent = fmax(extent, unsortable(~bounds[axis + 3]) - lo[axis]);
    }
    float per_cell = 1024.0f / fmax(extent, TINY);
    keys[i] = at.w < 0.0f ? 0x3fffffffu
                          : spread(cell_on(at.x, lo[0], per_cell)) |
                                spread(cell_on(at.y, lo[1], per_cell)) << 1 |
                                spread(cell_on(at.z, lo[2], per_cell)) << 2;
    order[i] = i;
}

/* ---- kernels in doubles ---- */

#if ABUTI_REAL_BITS == 64

/* Beyond this many times the size of the mesh a point is far. */
#define FAR 64.0
/* 32 roundings of a float. */
#define MARGIN 0x1p-19f
#define SLACK_FAR (1.0 + 0x1p-44)

typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

/* As abut_nearest. */
typedef struct nearest_answer {
    double distance;
    double point[3];
    double barycentric[3];
    uint triangle, feature;
} nearest_answer;

typedef struct measured {
    vec3 point;
    double radius;
    double best;
    uint winner;
    closest_on_triangle closest;
} measured;

static inline vec3 load_point(__global const double *from) {
    return v3(from[0], from[1], from[2]);
}

static inline vec3 point_of(__global const float *floats, __global const double *doubles,
                            uint is_float, size_t i) {
    return is_float ? v3(floats[3 * i], floats[3 * i + 1], floats[3 * i + 2])
                    : load_point(doubles + 3 * i);
}

/* The first of the points that is not legal. Points are floats or doubles; the other is not looked
 * at. */
__kernel void nearest_check(__global const float *floats, __global const double *doubles,
                            uint is_float, uint count, double most, __global uint *refused) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    vec3 p = point_of(floats, doubles, is_float, i);
    if (!(fabs(p.x) <= most && fabs(p.y) <= most && fabs(p.z) <= most))
        atomic_min(refused, i);
}

/* `count` points from `first` on as doubles, and in the frame. */
__kernel void nearest_frame(__global const float *floats, __global const double *doubles,
                            uint is_float, uint first, uint count, mesh_frame frame,
                            __global double *exact, __global float4 *points) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    vec3 p = point_of(floats, doubles, is_float, (size_t)first + i);
    size_t to = 3 * (size_t)i;
    exact[to] = p.x;
    exact[to + 1] = p.y;
    exact[to + 2] = p.z;
    p = v3_scale(v3_sub(p, v3(frame.origin[0], frame.origin[1], frame.origin[2])), frame.scale);
    double largest = v3_max_abs(p);
    points[i] = (float4)((float)p.x, (float)p.y, (float)p.z,
                         largest < FAR ? MARGIN * ((float)largest + 2.0f) : -1.0f);
}

static __attribute__((noinline)) void measure(measured *m, __global const double *corners,
                                              uint triangle) {
    __global const double *c = corners + 9 * (size_t)triangle;
    triangle3 t;
    t.corner[0] = load_point(c);
    t.corner[1] = load_point(c + 3);
    t.corner[2] = load_point(c + 6);
    closest_on_triangle closest = triangle_closest_point(t, m->point);
    if (closest.distance < m->best || (closest.distance == m->best && triangle < m->winner)) {
        if (closest.distance > m->radius)
            return;
        m->best = closest.distance;
        m->winner = triangle;
        m->closest = closest;
    }
}

static inline void start_measure(measured *m, vec3 point, double radius) {
    m->point = point;
    m->radius = radius;
    m->best = INFINITY;
    m->winner = NONE;
}

static inline void store(const measured *m, __global nearest_answer *answer) {
    bool found = m->winner != NONE;
    vec3 point = found ? m->closest.point : m->point;
    answer->distance = m->best;
    answer->point[0] = point.x;
    answer->point[1] = point.y;
    answer->point[2] = point.z;
    for (int i = 0; i < 3; i++)
        answer->barycentric[i] = found ? m->closest.barycentric[i] : 0.0;
    answer->triangle = m->winner;
    answer->feature = found ? (uint)m->closest.feature : (uint)ABUT_FEATURE_FACE;
}

__kernel void nearest_measure(__global const double *corners, __global const uint *tree_order,
                              __global const double *exact, __global const uint *order, uint count,
                              double radius, __global const uchar *counts,
                              __global const uint *places, uint first,
                              __global nearest_answer *answers) {
    uint i = (uint)get_global_id(0);
    if (i >= count || counts[i] == COMPLETE)
        return;
    uint point = order[i];
    measured m;
    start_measure(&m, load_point(exact + 3 * (size_t)point), radius);
    for (uint k = 0; k < counts[i]; k++)
        measure(&m, corners, tree_order[places[(size_t)k * count + i]]);
    store(&m, answers + first + point);
}

/* The search in doubles, as search_far() of nearest.c: in units in which neither the point nor the
 * mesh is further than 2 from the mesh's origin, so that boxes are measured to 2^-50. */
static void walk_complete(measured *m, __global const node *nodes, __global const uint *tree_order,
                          __global const double *corners, mesh_frame frame) {
    vec3 p = v3_sub(m->point, v3(frame.origin[0], frame.origin[1], frame.origin[2]));
    double unit = real_min(1.0 / v3_max_abs(p), frame.scale), per_frame = unit / frame.scale;
    double at[3] = {p.x * unit, p.y * unit, p.z * unit};
    double distances[STACK];
    uint children[STACK], used = 0, index = 0;
    for (;;) {
        __global const node *n = nodes + index;
        __global const float *lo = (__global const float *)n->lo,
                             *hi = (__global const float *)n->hi;
        __global const uint *child = (__global const uint *)&n->child;
        uint first = used;
        for (uint slot = 0; slot < WIDTH; slot++) {
            if (child[slot] == NONE)
                continue;
            double sum = 0.0;
            for (int axis = 0; axis < 3; axis++) {
                double below = lo[4 * axis + slot] * per_frame - at[axis];
                double above = at[axis] - hi[4 * axis + slot] * per_frame;
                double d = real_max(real_max(below, above), 0.0);
                sum += d * d;
            }
            uint i = used++;
            for (; i > first && distances[i - 1] < sum; i--) {
                distances[i] = distances[i - 1];
                children[i] = children[i - 1];
            }
            distances[i] = sum;
            children[i] = child[slot];
        }
        bool found = false;
        while (used && !found) {
            used--;
            double limit = real_min(m->best, m->radius) * unit * SLACK_FAR + 0x1p-48;
            if (distances[used] > limit * limit)
                continue;
            index = children[used];
            found = !(index & LEAF);
            for (uint i = 0; !found && i < WIDTH; i++)
                measure(m, corners, tree_order[(index & ~LEAF) * WIDTH + i]);
        }
        if (!found)
            return;
    }
}

__kernel void nearest_complete(__global const node *nodes, __global const uint *tree_order,
                               __global const double *corners, __global const double *exact,
                               __global const uint *order, uint count, double radius,
                               mesh_frame frame, __global const uchar *counts, uint first,
                               __global nearest_answer *answers) {
    uint i = (uint)get_global_id(0);
    if (i >= count || counts[i] != COMPLETE)
        return;
    uint point = order[i];
    measured m;
    start_measure(&m, load_point(exact + 3 * (size_t)point), radius);
    walk_complete(&m, nodes, tree_order, corners, frame);
    store(&m, answers + first + point);
}

#endif
