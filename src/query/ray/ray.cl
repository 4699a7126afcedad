/* Many rays against a mesh on a device, with the same bits as ray.c.
 *
 * Method: floats decide what can be culled, doubles and exact predicates decide the rest. ray_aim
 * transforms rays to the frame; ray_find traverses the tree in floats and leaves the few triangles
 * that may be hit first, one for most rays; ray_measure decides these in doubles. If there are too
 * many candidates, or a ray begins too far away for floats, the tree is traversed in doubles.
 *
 * Rays, boxes and triangles in floats are those of ray_shared.h. The smallest upper bound of the
 * parameters of certain hits bounds the search.
 *
 * Searches of neighbours differ in length: of 10 million random rays at a scan one visits 7 boxes
 * and leaves on average, and the longest of 32 visits 25. So the work-items of a group share a pool
 * of rays and start the next one as soon as they have finished one (Aila & Laine 2009,
 * "Understanding the efficiency of ray traversal on GPUs"). They visit up to BOXES_EACH boxes
 * before those that have reached a leaf test it together, since few are at a leaf at any one time.
 */
#include "ray/ray_shared.h"

#if ABUTI_REAL_BITS == 64

#define BOXES_EACH 4

/* Instead of a number of candidates. */
#define COMPLETE 255 /* too many candidates */
#define CERTAIN 254  /* there is a hit, and only that matters */
/* Added to the place of a triangle that is certainly hit. */
#define CERTAIN_BIT BVH_LEAF

/* Writes the first invalid ray. */
static inline void validate_ray(__global const double *ray, double most, uint i,
                                __global uint *invalid) {
    vec3 o = load_point(ray), d = load_point(ray + 3);
    bool legal = fabs(o.x) <= most && fabs(o.y) <= most && fabs(o.z) <= most && fabs(d.x) <= most &&
                 fabs(d.y) <= most && fabs(d.z) <= most && v3_max_abs(d) > 0.0;
    if (!legal)
        atomic_min(invalid, i);
}

__kernel void ray_check(__global const double *rays, uint count, double most,
                        __global uint *invalid) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        validate_ray(rays + 6 * (size_t)i, most, i, invalid);
}

/* Transforms rays for the search. Rays of a buffer are validated at the same time; the result of an
 * invalid one is not used. */
__kernel void ray_aim(__global const double *rays, uint first, uint count, double limit,
                      mesh_frame frame, double most, __global uint *invalid,
                      __global float4 *aimed) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    __global const double *ray = rays + 6 * ((size_t)first + i);
    validate_ray(ray, most, first + i, invalid);
    aimed_ray a = aim(ray, limit, frame);
    store_aimed(&a, aimed + 4 * (size_t)i);
}

typedef struct hit_search {
    slabs slabs;
    view view;
    float best;   /* no first hit is beyond */
    float within; /* a hit up to here is sufficient for `any`; less than 0 = all are needed */
    uint count;   /* of candidates, or COMPLETE, or CERTAIN */
    float least[RAY_CANDIDATES];
    uint place[RAY_CANDIDATES];
} hit_search;

/* Initialises a search. Returns false if there is nothing to search. */
static inline bool init_search(hit_search *h, __global const float4 *aimed, uint any) {
    float4 inverse = aimed[0];
    float limit = inverse.w;
    h->count = limit == RAY_FAR ? COMPLETE : 0;
    if (limit < 0.0f)
        return false;
    h->slabs = slabs_of(inverse, aimed[1]);
    h->view = view_of(aimed[2], aimed[3], h->slabs.margin);
    h->best = limit + h->slabs.margin;
    h->within = any ? limit - h->slabs.margin : -1.0f;
    return true;
}

static inline void add_candidate(hit_search *h, float least, uint place) {
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

static inline void test_triangle(hit_search *h, float4 a, float4 b, float4 c, uint place) {
    float least, greatest;
    bool certain;
    if (!may_hit(&h->view, a, b, c, h->best, &least, &greatest, &certain))
        return;
    certain = certain && least > 0.0f;
    if (certain) {
        h->best = fmin(h->best, greatest);
        if (greatest <= h->within)
            h->count = CERTAIN;
    }
    add_candidate(h, least, certain ? place | CERTAIN_BIT : place);
}

DEFINE_LEAF(try_leaf, hit_search, test_triangle)

static inline void store_candidates(const hit_search *h, uint i, uint count, __global uchar *counts,
                                    __global uint *places) {
    uint kept = 0;
    for (uint k = 0; k < h->count && h->count < CERTAIN; k++)
        if (h->least[k] <= h->best)
            places[(size_t)kept++ * count + i] = h->place[k];
    counts[i] = (uchar)(h->count < CERTAIN ? kept : h->count);
}

/* Pending boxes by their entry, with their children. */
typedef struct pending_nodes {
    uint2 stack[STACK];
    uint used;
} pending_nodes;

static inline uint next_child(pending_nodes *w, float best) {
    uint limit = as_uint(best * SLACK);
    while (w->used) {
        uint2 top = w->stack[--w->used];
        if (top.x <= limit)
            return top.y;
    }
    return ABUT_NONE;
}

/* Descends from a node to the nearest of its children; pushes the others. */
static inline uint open_node(const hit_search *h, __global const bvh_node *n, pending_nodes *w) {
    uint4 key = child_keys(&h->slabs, n, h->best);
    if ((key.x & key.y & key.z & key.w) == ABUT_NONE)
        return next_child(w, h->best);
    uint4 name = n->child;
    uint k0 = key.x, k1 = key.y, k2 = key.z, k3 = key.w;
    sort_two(&k0, &k1);
    sort_two(&k2, &k3);
    sort_two(&k0, &k2);
    sort_two(&k1, &k3);
    sort_two(&k1, &k2);
    if (k3 != ABUT_NONE)
        w->stack[w->used++] = (uint2)(k3, CHILD_OF_KEY(k3));
    if (k2 != ABUT_NONE)
        w->stack[w->used++] = (uint2)(k2, CHILD_OF_KEY(k2));
    if (k1 != ABUT_NONE)
        w->stack[w->used++] = (uint2)(k1, CHILD_OF_KEY(k1));
    return CHILD_OF_KEY(k0);
}

/* The triangles that ray i may hit first: places[k count + i] for k below counts[i]. With `any`
 * those that it may hit at all, unless one is certainly hit. A work-group has a pool of `pool`
 * rays. */
__kernel __attribute__((reqd_work_group_size(RAY_GROUP, 1, 1))) void
ray_find(__global const bvh_node *nodes, __global const float4 *triangles,
         __global const float4 *aimed, uint count, uint pool, uint any, __global uchar *counts,
         __global uint *places, __local uint *next) {
    uint begin = (uint)get_group_id(0) * pool, end = min(begin + pool, count);
    if (get_local_id(0) == 0)
        *next = begin + RAY_GROUP;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint i = begin + (uint)get_local_id(0), child = ABUT_NONE;
    pending_nodes w;
    hit_search h;
    w.used = 0;
    if (i < end && init_search(&h, aimed + 4 * (size_t)i, any))
        child = 0;
    while (i < end) {
        for (uint k = 0; k < BOXES_EACH && !(child & BVH_LEAF); k++)
            child = open_node(&h, nodes + child, &w);
        if (child & BVH_LEAF && child != ABUT_NONE) {
            try_leaf(&h, triangles, child & ~BVH_LEAF);
            child = h.count >= CERTAIN ? ABUT_NONE : next_child(&w, h.best);
        }
        if (child == ABUT_NONE) {
            store_candidates(&h, i, count, counts, places);
            i = atomic_inc(next);
            w.used = 0;
            if (i < end && init_search(&h, aimed + 4 * (size_t)i, any))
                child = 0;
        }
    }
}

/* ---- in doubles ---- */

/* The first hit so far. */
typedef struct first_hit {
    path3 path;
    double most;
    path_hit hit;
    uint triangle;
} first_hit;

static inline void init_first_hit(first_hit *s, __global const double *ray, double most) {
    s->path = load_path(ray);
    s->most = most;
    s->triangle = ABUT_NONE;
}

static inline void update_first_hit(first_hit *s, const path_hit *hit, uint triangle) {
    if (!(hit->parameter <= s->most) ||
        (hit->parameter == s->most && s->triangle != ABUT_NONE && triangle >= s->triangle))
        return;
    s->hit = *hit;
    s->most = hit->parameter;
    s->triangle = triangle;
}

static __attribute__((noinline)) void
test_triangle_exactly(first_hit *s, __global const double *corners, uint triangle) {
    path_hit hit;
    if (path_triangle_intersect(&s->path, load_triangle(corners, triangle), &hit))
        update_first_hit(s, &hit, triangle);
}

static void walk_complete(first_hit *s, const framed_ray *r, uint any,
                          __global const bvh_node *nodes, __global const uint *tree_order,
                          __global const double *corners, double scale) {
    exact_slabs b;
    init_exact_slabs(&b, r);
    double entries[STACK], unit = ldexp(scale, r->exponent), limit = INFINITY;
    uint children[STACK], used = 1;
    children[0] = 0;
    entries[0] = 0.0;
    while (used > 0 && !(any && s->triangle != ABUT_NONE)) {
        used--;
        /* A unit that underflows gives no bound. */
        if (unit > 0x1p-900 && s->most * unit < 0x1p900)
            limit = s->most * unit * (1.0 + 0x1p-46) + DBL_MIN;
        if (entries[used] * (1.0 - 0x1p-46) > limit)
            continue;
        uint child = children[used];
        for (uint i = 0; child & BVH_LEAF && i < BVH_WIDTH; i++)
            test_triangle_exactly(s, corners, tree_order[(child & ~BVH_LEAF) * BVH_WIDTH + i]);
        if (child & BVH_LEAF)
            continue;
        __global const bvh_node *n = nodes + child;
        uint first = used;
        for (uint slot = 0; slot < BVH_WIDTH; slot++) {
            uint name = BVH_AT(const uint, n->child, slot);
            double entry = name == ABUT_NONE ? -1.0 : box_entry(&b, n, slot, limit);
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

/* The point where a ray pierces a triangle that it certainly hits: path_pierce() with determinants
 * in registers. Returns false if one of them is too small for that. */
ABUTI_NOINLINE bool pierce_certain(const path3 *path, triangle3 t, path_hit *hit) {
    exact_entry at_a[9], at_from[15]; /* rows of matrices; see path_pierce() */
    double value[5], permanent[5];
    bool plain = true;
    vec3 zero = v3(0.0, 0.0, 0.0);
    exact_row(at_a, t.corner[1], t.corner[0]);
    exact_row(at_a + 3, t.corner[2], t.corner[0]);
    exact_row(at_a + 6, path->from, t.corner[0]);
    value[0] = det3_pairs(at_a, &permanent[0]);
    for (int k = 0; k < 5; k++) /* b, c, a, b after the direction */
        exact_row(at_from + 3 * k, k == 0 ? path->to : t.corner[k % 3], k == 0 ? zero : path->from);
    for (int k = 0; k < 4; k++) {
        exact_entry m[9];
        for (int j = 0; j < 3; j++) {
            m[j] = at_from[j];
            m[3 + j] = k == 3 ? at_a[j] : at_from[3 * (k + 1) + j];
            m[6 + j] = k == 3 ? at_a[3 + j] : at_from[3 * (k + 2) + j];
        }
        value[k + 1] = det3_pairs(m, &permanent[k + 1]);
    }
    for (int k = 0; k < 5; k++)
        plain = plain && fabs(value[k]) > DET3_PAIRS_FRACTION * permanent[k];
    hit->parameter = path_unscaled_parameter(path, -value[0] / value[4]);
    double sum = value[1] + value[2] + value[3];
    for (int k = 0; k < 3; k++)
        hit->weight[k] = value[k + 1] / sum;
    return plain;
}

/* A hit as abut_ray_hit: five words of 64 bits. */
typedef struct hit_words {
    ulong word[5];
} hit_words;

static inline hit_words hit_to_words(const first_hit *s) {
    bool found = s->triangle != ABUT_NONE;
    hit_words w;
    w.word[0] = as_ulong(found ? s->hit.parameter : (double)INFINITY);
    for (int k = 0; k < 3; k++)
        w.word[1 + k] = as_ulong(found ? s->hit.weight[k] : 0.0);
    w.word[4] = as_ulong((uint2)(s->triangle, 0));
    return w;
}

/* Measures the hit if the only candidate is certain, and lists the others for ray_decide_exactly,
 * whose predicates need the registers. Rays with candidates, about a third, are assigned to the
 * first work-items of a group, and hits are written together. Rays begin at `first`, results at
 * `to`. With `any` the results are bytes, otherwise hits; the other array is not accessed. */
__kernel __attribute__((reqd_work_group_size(RAY_GROUP, 1, 1))) void
ray_measure(__global const uint *tree_order, __global const double *corners,
            __global const double *rays, uint first, uint to, uint count, double most, uint any,
            __global const uchar *counts, __global const uint *places, __global ulong *hits,
            __global uchar *anys, __global uint *left, __global uint *left_count,
            __local hit_words *room) {
    __local uint *list = (__local uint *)(room + RAY_GROUP), *listed = list + RAY_GROUP;
    __local uint *later = listed + 1, *later_from = listed + 2;
    uint item = (uint)get_local_id(0), begin = (uint)get_group_id(0) * RAY_GROUP;
    uint told = begin + item < count ? counts[begin + item] : 0;
    uint for_later = ABUT_NONE, place_later = 0;
    first_hit s;
    s.triangle = ABUT_NONE;
    if (item == 0)
        *listed = *later = 0;
    room[item] = hit_to_words(&s);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (told && told != CERTAIN)
        list[atomic_inc(listed)] = item;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < *listed) {
        uint which = list[item], i = begin + which;
        uint place = counts[i] == 1 ? places[i] : 0, triangle = tree_order[place & ~CERTAIN_BIT];
        path_hit hit;
        init_first_hit(&s, rays + 6 * ((size_t)first + i), most);
        if (place & CERTAIN_BIT &&
            pierce_certain(&s.path, load_triangle(corners, triangle), &hit)) {
            update_first_hit(&s, &hit, triangle);
            room[which] = hit_to_words(&s);
        } else {
            for_later = i;
            place_later = atomic_inc(later);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && *later)
        *later_from = atomic_add(left_count, *later);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (for_later != ABUT_NONE)
        left[*later_from + place_later] = for_later;
    uint here = min(count - begin, (uint)RAY_GROUP);
    if (any && item < here)
        anys[(size_t)to + begin + item] =
            told == CERTAIN || as_uint2(room[item].word[4]).x != ABUT_NONE;
    __local const ulong *words = (__local const ulong *)room;
    for (uint k = item; !any && k < 5 * here; k += RAY_GROUP)
        hits[5 * ((size_t)to + begin) + k] = words[k];
}

/* Decides the remaining candidates; traverses the tree for rays with too many of them, and for
 * those that begin far away. It is one kernel, since compilers are slow on each that has the
 * predicates. */
__kernel __attribute__((reqd_work_group_size(RAY_GROUP, 1, 1))) void
ray_decide_exactly(__global const bvh_node *nodes, __global const uint *tree_order,
                   __global const double *corners, __global const double *rays, uint first, uint to,
                   uint count, double most, uint any, mesh_frame frame,
                   __global const uchar *counts, __global const uint *places,
                   __global const uint *left, __global const uint *left_count,
                   __global hit_words *hits, __global uchar *anys) {
    if ((uint)get_global_id(0) >= *left_count)
        return;
    uint i = left[get_global_id(0)], told = counts[i];
    __global const double *ray = rays + 6 * ((size_t)first + i);
    first_hit s;
    init_first_hit(&s, ray, most);
    if (told == COMPLETE) {
        framed_ray r = frame_ray(ray, frame);
        walk_complete(&s, &r, any, nodes, tree_order, corners, frame.scale);
    } else {
        for (uint k = 0; k < told; k++)
            test_triangle_exactly(&s, corners,
                                  tree_order[places[(size_t)k * count + i] & ~CERTAIN_BIT]);
    }
    if (any)
        anys[(size_t)to + i] = s.triangle != ABUT_NONE;
    else
        hits[(size_t)to + i] = hit_to_words(&s);
}

#endif
