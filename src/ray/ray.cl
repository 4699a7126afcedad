/* Many rays against a mesh on a device. The same answers as ray.c, bit for bit.
 *
 * Method: floats decide what need not be looked at, doubles and exact predicates decide the rest.
 * ray_find walks the tree in floats and leaves the few triangles that may be hit first, one for
 * most rays; ray_measure meets these in doubles. Where too many are left, or a ray begins too far
 * away for floats, it walks the tree in doubles.
 *
 * Rays, boxes and triangles in floats are those of ray_kernel.h. The least upper end of the
 * parameters of certain hits bounds the search.
 */
#include "ray/ray_cl.h"
#include "ray/ray_shared.h"

#if ABUTI_REAL_BITS == 64

/* Candidates a ray; more are not kept. */
#define COMPLETE 255 /* instead of a count */
#define CERTAIN 254  /* the same: there is a hit, for those who ask no more */

typedef struct hunt {
    sight sight;
    float best;   /* no first hit is beyond */
    float within; /* a hit up to here satisfies those who want any; less than 0 = they want all */
    uint count;   /* of candidates, or COMPLETE, or CERTAIN */
    float least[RAY_CANDIDATES];
    uint place[RAY_CANDIDATES];
} hunt;

/* Gets ready; false where nothing can be hit. */
static inline bool aim(hunt *h, framed_ray r, double most, bool any, double scale) {
    double by = approach(&r);
    if (by < 0.0)
        return false;
    aim_slabs(&h->sight, &r);
    aim_view(&h->sight, &r);
    double limit = fmin(ldexp(most, r.exponent) * scale - by, LIMIT);
    h->best = (float)limit + h->sight.margin;
    h->within = any ? (float)limit - h->sight.margin : -1.0f;
    h->count = 0;
    return h->best >= 0.0f;
}

static inline void add_candidate(hunt *h, float least, uint place) {
    if (h->count == RAY_CANDIDATES) {
        uint kept = 0;
        for (uint i = 0; i < RAY_CANDIDATES; i++)
            if (h->least[i] <= h->best) {
                h->least[kept] = h->least[i];
                h->place[kept++] = h->place[i];
            }
        h->count = kept == RAY_CANDIDATES ? COMPLETE : kept;
    }
    if (h->count >= CERTAIN)
        return;
    h->least[h->count] = least;
    h->place[h->count++] = place;
}

static inline void try_triangle(hunt *h, float4 a, float4 b, float4 c, uint place) {
    float least, greatest;
    bool certain;
    if (!may_hit(&h->sight, a, b, c, h->best, &least, &greatest, &certain))
        return;
    if (certain && least > 0.0f) {
        h->best = fmin(h->best, greatest);
        if (greatest <= h->within)
            h->count = CERTAIN;
    }
    add_candidate(h, least, place);
}

DEFINE_LEAF(try_leaf, hunt, try_triangle)

static void walk(hunt *h, __global const bvh_node *nodes, __global const float4 *triangles) {
    uint keys[STACK], children[STACK], used = 0, child = 0;
    while (child != ABUT_NONE && h->count < CERTAIN) {
        uint next = ABUT_NONE;
        if (child & BVH_LEAF) {
            try_leaf(h, triangles, child & ~BVH_LEAF);
        } else {
            __global const bvh_node *n = nodes + child;
            uint4 key = child_keys(&h->sight, n, h->best), name = n->child;
            uint k0 = key.x, k1 = key.y, k2 = key.z, k3 = key.w;
            sort_two(&k0, &k1);
            sort_two(&k2, &k3);
            sort_two(&k0, &k2);
            sort_two(&k1, &k3);
            sort_two(&k1, &k2);
            if (k3 != ABUT_NONE) {
                keys[used] = k3;
                children[used++] = NAME_OF(k3);
            }
            if (k2 != ABUT_NONE) {
                keys[used] = k2;
                children[used++] = NAME_OF(k2);
            }
            if (k1 != ABUT_NONE) {
                keys[used] = k1;
                children[used++] = NAME_OF(k1);
            }
            if (k0 != ABUT_NONE)
                next = NAME_OF(k0);
        }
        uint limit = as_uint(h->best * SLACK);
        while (next == ABUT_NONE && used) {
            used--;
            if (keys[used] <= limit)
                next = children[used];
        }
        child = next;
    }
}

/* The triangles that ray first + i may hit first: places[k count + i] for k below counts[i]. With
 * `any` those that it may hit at all, unless one is hit for certain. Rays are six doubles each. */
__kernel void ray_find(__global const bvh_node *nodes, __global const float4 *triangles,
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
    s->path.from = load_point(ray);
    s->path.to = load_point(ray + 3);
    s->path.is_ray = 1;
    s->most = most;
    s->triangle = ABUT_NONE;
}

ABUTI_APART void meet(strike *s, __global const double *corners, uint triangle) {
    path_hit hit;
    if (!path_triangle_meet(&s->path, load_triangle(corners, triangle), &hit) ||
        !(hit.parameter <= s->most) ||
        (hit.parameter == s->most && s->triangle != ABUT_NONE && triangle >= s->triangle))
        return;
    s->hit = hit;
    s->most = hit.parameter;
    s->triangle = triangle;
}

static __attribute__((noinline)) void meet_apart(strike *s, __global const double *corners,
                                                 uint triangle) {
    meet(s, corners, triangle);
}

/* Hits are as abut_ray_hit, five words of 64 bits. */
static inline void store(const strike *s, size_t i, uint any, __global ulong *hits,
                         __global uchar *anys) {
    bool found = s->triangle != ABUT_NONE;
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

static void walk_complete(strike *s, const framed_ray *r, uint any, __global const bvh_node *nodes,
                          __global const uint *tree_order, __global const double *corners,
                          double scale) {
    exact_slabs b;
    start_slabs(&b, r);
    double entries[STACK], unit = ldexp(scale, r->exponent), limit = INFINITY;
    uint children[STACK], used = 1;
    children[0] = 0;
    entries[0] = 0.0;
    while (used > 0 && !(any && s->triangle != ABUT_NONE)) {
        used--;
        /* A unit that underflows tells nothing. */
        if (unit > 0x1p-900 && s->most * unit < 0x1p900)
            limit = s->most * unit * (1.0 + 0x1p-46) + DBL_MIN;
        if (entries[used] * (1.0 - 0x1p-46) > limit)
            continue;
        uint child = children[used];
        for (uint i = 0; child & BVH_LEAF && i < BVH_WIDTH; i++)
            meet_apart(s, corners, tree_order[(child & ~BVH_LEAF) * BVH_WIDTH + i]);
        if (child & BVH_LEAF)
            continue;
        __global const bvh_node *n = nodes + child;
        uint first = used;
        for (uint slot = 0; slot < BVH_WIDTH; slot++) {
            uint name = BVH_AT(const uint, n->child, slot);
            double entry = name == ABUT_NONE ? -1.0 : entry_of(&b, n, slot, limit);
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
 * away. Rays begin at `first`, answers at `to`. With `any` the answers are bytes, else hits; the
 * other is not looked at. One kernel, since compilers take long over each that has the predicates.
 */
__kernel void ray_measure(__global const bvh_node *nodes, __global const uint *tree_order,
                          __global const double *corners, __global const double *rays, uint first,
                          uint to, uint count, double most, uint any, mesh_frame frame,
                          __global const uchar *counts, __global const uint *places,
                          __global ulong *hits, __global uchar *anys) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    size_t at = (size_t)first + i;
    if (counts[i] == CERTAIN) {
        anys[(size_t)to + i] = 1;
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
    store(&s, (size_t)to + i, any, hits, anys);
}

/* The first of the rays that is not legal. */
__kernel void ray_check(__global const double *rays, uint count, double most,
                        __global uint *refused) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    __global const double *ray = rays + 6 * (size_t)i;
    vec3 o = load_point(ray), d = load_point(ray + 3);
    bool legal = fabs(o.x) <= most && fabs(o.y) <= most && fabs(o.z) <= most && fabs(d.x) <= most &&
                 fabs(d.y) <= most && fabs(d.z) <= most && v3_max_abs(d) > 0.0;
    if (!legal)
        atomic_min(refused, i);
}

#endif
