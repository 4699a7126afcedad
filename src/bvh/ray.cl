/* Many rays against a mesh on a device. The same answers as ray.c, bit for bit.
 *
 * Method: floats decide what need not be looked at, doubles and exact predicates decide the rest.
 * ray_find walks the tree in floats and leaves the few triangles that may be hit first, one for
 * most rays; ray_measure meets these in doubles. Where too many are left, or a ray begins too far
 * away for floats, it walks the tree in doubles.
 *
 * Frame: that of the hierarchy, so that the mesh is within 2 of 0 on every axis, and a direction
 * scaled by a power of two to a largest coordinate from 1 to 2. A ray that begins far off is moved
 * along itself, in doubles, to where it is about to enter the ball of radius 4 around 0, which
 * holds the mesh. It then begins at p, at most P <= 16 from 0 on each axis, and hits, if at all, at
 * a parameter of at most 8. What moving rounds is below 2^-30 (|o| < 2^20, some ten roundings of
 * 2^-53 each).
 *
 * Boxes: slabs as in cull.h. The origin is an interval wider by 2^-22 (P + 1) on either side, which
 * is twice what p was rounded by, and the rest allows for boxes that a device without denormal
 * numbers takes for 0, and for directions below 2^-60, along which a ray moves less than 2^-57.
 *
 * Triangles: seen along the ray (Woop, Benthin & Wald 2013, "Watertight ray/triangle
 * intersection"). With k the axis of the largest coordinate d_k of the direction, x = c_i - c_k d_i
 * / d_k and z = c_k / d_k, less the same of p: x and y of a corner tell how it lies to the ray, z
 * is the parameter at which the ray passes it. With u = 2^-24: c is wrong by u, -d_i / d_k by u,
 * the shadow of p by 2 u P and 2^-29, and two sums of at most 4 + 2 P are rounded: in all less than
 * u (6 P + 13), and the margin m is 2^-21 (P + 2). z is wrong by less than m / 2. From there
 * on see pierce_kernel.h; a parameter is wrong by 2 m more than weights make it. In doubt it is in
 * the range of z: every point of a triangle is.
 *
 * The least upper end of the parameters of certain hits bounds the search.
 */
#include "bvh/node_kernel.h"
#include "bvh/pierce_kernel.h"
#include "geom/path_shared.h"

#if ABUTI_REAL_BITS == 64

/* Candidates a ray; more are not kept. */
#define CANDIDATES 8
#define COMPLETE 255 /* instead of a count */
#define CERTAIN 254  /* the same: there is a hit, for those who ask no more */

#define FAR 0x1p20 /* beyond this floats do not see a ray */
#define BALL 4.0   /* holds the mesh */
#define LIMIT 16.0 /* beyond this no parameter is */
#define PARALLEL 0x1p-60
#define SLACK (1.0f + 0x1p-19f)

typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

static inline vec3 load_vec3(__global const double *from) {
    return v3(from[0], from[1], from[2]);
}

/* A ray in the frame, and how much longer its parameters are there, as a power of two. */
typedef struct framed_ray {
    vec3 origin, direction;
    int exponent;
} framed_ray;

static inline framed_ray frame_ray(__global const double *ray, mesh_frame frame) {
    framed_ray r;
    vec3 d = load_vec3(ray + 3), middle = v3(frame.origin[0], frame.origin[1], frame.origin[2]);
    r.origin = v3_scale(v3_sub(load_vec3(ray), middle), frame.scale);
    r.exponent = ilogb(v3_max_abs(d));
    r.direction = v3(ldexp(d.x, -r.exponent), ldexp(d.y, -r.exponent), ldexp(d.z, -r.exponent));
    return r;
}

/* ---- in floats ---- */

typedef struct hunt {
    float4 x, y, z;        /* what corners are seen by: three weights and what is added */
    float near[3], far[3]; /* ends of the origin's interval, for the entry and the exit */
    float inverse[3];
    uint behind[3]; /* 3 where the direction is negative: entries are at the upper ends of boxes */
    float margin;
    float best;   /* no first hit is beyond */
    float within; /* a hit up to here satisfies those who want any; less than 0 = they want all */
    uint count;   /* of candidates, or COMPLETE, or CERTAIN */
    float least[CANDIDATES];
    uint place[CANDIDATES];
} hunt;

/* Moves a ray near to the mesh; gives by how much, or less than 0 where it passes for certain. */
static inline double approach(framed_ray *r) {
    double per_length = 1.0 / v3_dot(r->direction, r->direction);
    double middle = -v3_dot(r->origin, r->direction) * per_length;
    double by = real_max(0.0, middle - BALL);
    vec3 nearest = v3_along(r->origin, real_max(0.0, middle), r->direction);
    if (v3_dot(nearest, nearest) > BALL * BALL)
        return -1.0;
    if (by > 0.0)
        r->origin = v3_along(r->origin, by, r->direction);
    return by;
}

static inline void aim_slabs(hunt *h, const framed_ray *r) {
    double wide = 0x1p-22 * (v3_max_abs(r->origin) + 1.0);
    for (int axis = 0; axis < 3; axis++) {
        double d = v3_get(r->direction, axis), at = v3_get(r->origin, axis);
        bool parallel = fabs(d) < PARALLEL, negative = d < 0.0 && !parallel;
        h->inverse[axis] = parallel ? 0x1p100f : (float)(1.0 / d);
        h->near[axis] = (float)(negative ? at - wide : at + wide);
        h->far[axis] = (float)(negative ? at + wide : at - wide);
        h->behind[axis] = negative ? 3 : 0;
    }
}

static inline void aim_view(hunt *h, const framed_ray *r) {
    vec3 d = r->direction, p = r->origin;
    double size_x = fabs(d.x), size_y = fabs(d.y), size_z = fabs(d.z);
    if (size_x >= size_y && size_x >= size_z) {
        double along_y = d.y / d.x, along_z = d.z / d.x;
        h->x = (float4)((float)-along_y, 1.0f, 0.0f, (float)(p.x * along_y - p.y));
        h->y = (float4)((float)-along_z, 0.0f, 1.0f, (float)(p.x * along_z - p.z));
        h->z = (float4)((float)(1.0 / d.x), 0.0f, 0.0f, (float)(-p.x / d.x));
    } else if (size_y >= size_z) {
        double along_z = d.z / d.y, along_x = d.x / d.y;
        h->x = (float4)(0.0f, (float)-along_z, 1.0f, (float)(p.y * along_z - p.z));
        h->y = (float4)(1.0f, (float)-along_x, 0.0f, (float)(p.y * along_x - p.x));
        h->z = (float4)(0.0f, (float)(1.0 / d.y), 0.0f, (float)(-p.y / d.y));
    } else {
        double along_x = d.x / d.z, along_y = d.y / d.z;
        h->x = (float4)(1.0f, 0.0f, (float)-along_x, (float)(p.z * along_x - p.x));
        h->y = (float4)(0.0f, 1.0f, (float)-along_y, (float)(p.z * along_y - p.y));
        h->z = (float4)(0.0f, 0.0f, (float)(1.0 / d.z), (float)(-p.z / d.z));
    }
    h->margin = 0x1p-21f * ((float)v3_max_abs(p) + 2.0f);
}

/* Gets ready; false where nothing can be hit. */
static inline bool aim(hunt *h, framed_ray r, double most, bool any, double scale) {
    double by = approach(&r);
    if (by < 0.0)
        return false;
    aim_slabs(h, &r);
    aim_view(h, &r);
    double limit = fmin(ldexp(most, r.exponent) * scale - by, LIMIT);
    h->best = (float)limit + h->margin;
    h->within = any ? (float)limit - h->margin : -1.0f;
    h->count = 0;
    return h->best >= 0.0f;
}

static inline void add_candidate(hunt *h, float least, uint place) {
    if (h->count == CANDIDATES) {
        uint kept = 0;
        for (uint i = 0; i < CANDIDATES; i++)
            if (h->least[i] <= h->best) {
                h->least[kept] = h->least[i];
                h->place[kept++] = h->place[i];
            }
        h->count = kept == CANDIDATES ? COMPLETE : kept;
    }
    if (h->count >= CERTAIN)
        return;
    h->least[h->count] = least;
    h->place[h->count++] = place;
}

static inline float seen(float4 by, float4 c) {
    return fma(by.x, c.x, fma(by.y, c.y, fma(by.z, c.z, by.w)));
}

static inline void try_triangle(hunt *h, float4 a, float4 b, float4 c, uint place) {
    float m = h->margin;
    piercing p;
    if (!pierce((float4)(seen(h->x, a), seen(h->y, a), 0.0f, 0.0f),
                (float4)(seen(h->x, b), seen(h->y, b), 0.0f, 0.0f),
                (float4)(seen(h->x, c), seen(h->y, c), 0.0f, 0.0f), m, &p))
        return;
    float az = seen(h->z, a), bz = seen(h->z, b), cz = seen(h->z, c);
    float low = fmin(az, fmin(bz, cz)), high = fmax(az, fmax(bz, cz));
    float least = low - m, greatest = high + m;
    if (p.certain) {
        float wrong, t = pierce_height(&p, az, bz, cz, high - low, &wrong);
        least = fmax(least, t - (wrong + 2.0f * m));
        greatest = fmin(greatest, t + (wrong + 2.0f * m));
    }
    if (greatest < 0.0f || least > h->best)
        return;
    if (p.certain && least > 0.0f) {
        h->best = fmin(h->best, greatest);
        if (greatest <= h->within)
            h->count = CERTAIN;
    }
    add_candidate(h, least, place);
}

/* Four triangles of nine floats. The last leaf repeats its last triangle: no matter. */
static inline void try_leaf(hunt *h, __global const float4 *triangles, uint leaf) {
    __global const float4 *f = triangles + 9 * leaf;
    float4 f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3], f4 = f[4];
    try_triangle(h, f0, (float4)(f0.w, f1.xyz), (float4)(f1.zw, f2.xy), leaf * WIDTH);
    try_triangle(h, (float4)(f2.yzw, 0.0f), f3, (float4)(f3.w, f4.xyz), leaf * WIDTH + 1);
    float4 f5 = f[5], f6 = f[6], f7 = f[7], f8 = f[8];
    try_triangle(h, (float4)(f4.zw, f5.xy), (float4)(f5.yzw, 0.0f), f6, leaf * WIDTH + 2);
    try_triangle(h, (float4)(f6.w, f7.xyz), (float4)(f7.zw, f8.xy), (float4)(f8.yzw, 0.0f),
                 leaf * WIDTH + 3);
}

/* Where the ray enters the boxes of four children, as whole numbers that sort alike, a little less
 * than they are, with the number of the child in the lowest bits; NONE where it does not. */
static inline uint4 child_keys(const hunt *h, __global const node *n) {
    __global const float4 *planes = (__global const float4 *)n; /* three lower, three upper */
    float4 enter = 0.0f, leave = h->best;
    for (int axis = 0; axis < 3; axis++) {
        float4 first = planes[axis + h->behind[axis]], last = planes[axis + 3 - h->behind[axis]];
        enter = fmax(enter, (first - h->near[axis]) * h->inverse[axis]);
        leave = fmin(leave, (last - h->far[axis]) * h->inverse[axis]);
    }
    uint4 keys = (as_uint4(enter) & ~3u) | (uint4)(0, 1, 2, 3);
    return select((uint4)NONE, keys, enter <= leave * SLACK);
}

static void walk(hunt *h, __global const node *nodes, __global const float4 *triangles) {
    uint keys[STACK], children[STACK], used = 0, child = 0;
    while (child != NONE && h->count < CERTAIN) {
        uint next = NONE;
        if (child & LEAF) {
            try_leaf(h, triangles, child & ~LEAF);
        } else {
            __global const node *n = nodes + child;
            uint4 key = child_keys(h, n), name = n->child;
            uint k0 = key.x, k1 = key.y, k2 = key.z, k3 = key.w;
            sort_two(&k0, &k1);
            sort_two(&k2, &k3);
            sort_two(&k0, &k2);
            sort_two(&k1, &k3);
            sort_two(&k1, &k2);
            if (k3 != NONE) {
                keys[used] = k3;
                children[used++] = NAME_OF(k3);
            }
            if (k2 != NONE) {
                keys[used] = k2;
                children[used++] = NAME_OF(k2);
            }
            if (k1 != NONE) {
                keys[used] = k1;
                children[used++] = NAME_OF(k1);
            }
            if (k0 != NONE)
                next = NAME_OF(k0);
        }
        uint limit = as_uint(h->best * SLACK);
        while (next == NONE && used) {
            used--;
            if (keys[used] <= limit)
                next = children[used];
        }
        child = next;
    }
}

/* The triangles that ray first + i may hit first: places[k count + i] for k below counts[i]. With
 * `any` those that it may hit at all, unless one is hit for certain. Rays are six doubles each. */
__kernel void ray_find(__global const node *nodes, __global const float4 *triangles,
                       __global const double *rays, uint first, uint count, double most, uint any,
                       mesh_frame frame, __global uchar *counts, __global uint *places) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    framed_ray r = frame_ray(rays + 6 * ((size_t)first + i), frame);
    hunt h;
    if (!(v3_max_abs(r.origin) < FAR)) {
        counts[i] = COMPLETE;
        return;
    }
    if (!aim(&h, r, most, any, frame.scale)) {
        counts[i] = 0;
        return;
    }
    walk(&h, nodes, triangles);
    if (h.count >= CERTAIN) {
        counts[i] = (uchar)h.count;
        return;
    }
    uint kept = 0;
    for (uint k = 0; k < h.count; k++)
        if (h.least[k] <= h.best)
            places[(size_t)kept++ * count + i] = h.place[k];
    counts[i] = (uchar)kept;
}

/* ---- in doubles ---- */

/* The first hit so far. */
typedef struct strike {
    path3 path;
    double most;
    path_hit hit;
    uint triangle;
} strike;

static inline void start_strike(strike *s, __global const double *ray, double most) {
    s->path.from = load_vec3(ray);
    s->path.to = load_vec3(ray + 3);
    s->path.is_ray = 1;
    s->most = most;
    s->triangle = NONE;
}

/* A CPU's compiler takes long to put this into every kernel, and gains nothing. */
#ifdef APART
static __attribute__((noinline)) void meet(
#else
static inline void meet(
#endif
    strike *s, __global const double *corners, uint triangle) {
    __global const double *c = corners + 9 * (size_t)triangle;
    triangle3 t;
    t.corner[0] = load_vec3(c);
    t.corner[1] = load_vec3(c + 3);
    t.corner[2] = load_vec3(c + 6);
    path_hit hit;
    if (!path_triangle_meet(&s->path, t, &hit) || !(hit.parameter <= s->most) ||
        (hit.parameter == s->most && s->triangle != NONE && triangle >= s->triangle))
        return;
    s->hit = hit;
    s->most = hit.parameter;
    s->triangle = triangle;
}

static __attribute__((noinline)) void meet_apart(strike *s, __global const double *corners,
                                                 uint triangle) {
    meet(s, corners, triangle);
}

/* Hits are as abut_bvh_hit, five words of 64 bits. */
static inline void store(const strike *s, size_t i, uint any, __global ulong *hits,
                         __global uchar *anys) {
    bool found = s->triangle != NONE;
    if (any) {
        anys[i] = found;
        return;
    }
    __global ulong *to = hits + 5 * i;
    to[0] = as_ulong(found ? s->hit.parameter : (double)INFINITY);
    for (int k = 0; k < 3; k++)
        to[1 + k] = as_ulong(found ? s->hit.weight[k] : 0.0);
    to[4] = as_ulong((uint2)(s->triangle, 0));
}

/* Slabs in doubles: near, far and inverse as above, but 1 / 0 is infinite. */
typedef struct exact_slabs {
    double near[3], far[3], inverse[3];
    uint behind[3];
} exact_slabs;

static inline void start_slabs(exact_slabs *b, const framed_ray *r) {
    double reach = 2.0 * v3_max_abs(r->origin) + 8.0;
    for (int axis = 0; axis < 3; axis++) {
        double d = v3_get(r->direction, axis), at = v3_get(r->origin, axis);
        bool parallel = fabs(d) < 0x1p-100, negative = d < 0.0 && !parallel;
        double wide = 0x1p-50 * fabs(at) + (parallel ? fabs(d) * reach : 0.0);
        b->inverse[axis] = parallel ? (double)INFINITY : 1.0 / d;
        b->near[axis] = negative ? at - wide : at + wide;
        b->far[axis] = negative ? at + wide : at - wide;
        b->behind[axis] = negative ? 3 : 0;
    }
}

/* Where the ray enters the box of a child, or less than 0 where it does not. */
static inline double entry_of(const exact_slabs *b, __global const node *n, uint slot,
                              double limit) {
    __global const float *planes = (__global const float *)n;
    double enter = 0.0, leave = limit;
    for (uint axis = 0; axis < 3; axis++) {
        double first = planes[4 * (axis + b->behind[axis]) + slot];
        double last = planes[4 * (axis + 3 - b->behind[axis]) + slot];
        enter = fmax(enter, (first - b->near[axis]) * b->inverse[axis]); /* no number: no limit */
        leave = fmin(leave, (last - b->far[axis]) * b->inverse[axis]);
    }
    return enter * (1.0 - 0x1p-46) <= leave * (1.0 + 0x1p-46) + DBL_MIN ? enter : -1.0;
}

static void walk_complete(strike *s, const framed_ray *r, uint any, __global const node *nodes,
                          __global const uint *tree_order, __global const double *corners,
                          double scale) {
    exact_slabs b;
    start_slabs(&b, r);
    double entries[STACK], unit = ldexp(scale, r->exponent), limit = INFINITY;
    uint children[STACK], used = 1;
    children[0] = 0;
    entries[0] = 0.0;
    while (used > 0 && !(any && s->triangle != NONE)) {
        used--;
        /* A unit that underflows tells nothing. */
        if (unit > 0x1p-900 && s->most * unit < 0x1p900)
            limit = s->most * unit * (1.0 + 0x1p-46) + DBL_MIN;
        if (entries[used] * (1.0 - 0x1p-46) > limit)
            continue;
        uint child = children[used];
        for (uint i = 0; child & LEAF && i < WIDTH; i++)
            meet_apart(s, corners, tree_order[(child & ~LEAF) * WIDTH + i]);
        if (child & LEAF)
            continue;
        __global const node *n = nodes + child;
        uint first = used;
        for (uint slot = 0; slot < WIDTH; slot++) {
            uint name = ((__global const uint *)&n->child)[slot];
            double entry = name == NONE ? -1.0 : entry_of(&b, n, slot, limit);
            if (entry < 0.0)
                continue;
            uint i = used++;
            for (; i > first && entries[i - 1] < entry; i--) {
                entries[i] = entries[i - 1];
                children[i] = children[i - 1];
            }
            entries[i] = entry;
            children[i] = name;
        }
    }
}

/* Meets the candidates; walks for rays with more of them than fit, and for those that begin far
 * away. With `any` the answers are bytes, else hits; the other is not looked at. One kernel, since
 * compilers take long over each that has the predicates. */
__kernel void ray_measure(__global const node *nodes, __global const uint *tree_order,
                          __global const double *corners, __global const double *rays, uint first,
                          uint count, double most, uint any, mesh_frame frame,
                          __global const uchar *counts, __global const uint *places,
                          __global ulong *hits, __global uchar *anys) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    size_t at = (size_t)first + i;
    if (counts[i] == CERTAIN) {
        anys[at] = 1;
        return;
    }
    strike s;
    start_strike(&s, rays + 6 * at, most);
    if (counts[i] == COMPLETE) {
        framed_ray r = frame_ray(rays + 6 * at, frame);
        walk_complete(&s, &r, any, nodes, tree_order, corners, frame.scale);
    } else {
        for (uint k = 0; k < counts[i]; k++)
            meet(&s, corners, tree_order[places[(size_t)k * count + i]]);
    }
    store(&s, at, any, hits, anys);
}

/* The first of the rays that is not legal. */
__kernel void ray_check(__global const double *rays, uint count, double most,
                        __global uint *refused) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    __global const double *ray = rays + 6 * (size_t)i;
    vec3 o = load_vec3(ray), d = load_vec3(ray + 3);
    bool legal = fabs(o.x) <= most && fabs(o.y) <= most && fabs(o.z) <= most && fabs(d.x) <= most &&
                 fabs(d.y) <= most && fabs(d.z) <= most && v3_max_abs(d) > 0.0;
    if (!legal)
        atomic_min(refused, i);
}

#endif
