/* Boundary handling on a device: the rules and the shared source of boundary.c, so that the sets
 * are the same. A work-group traverses the blocks of the mesh for each ghost. Lists of near pairs
 * are passed to the next kernels with counts on the device.
 *
 * Pieces are joined by all work-items concurrently (as in abuti_join()): a root is only replaced by
 * a lower one, so that the lowest triangle of a piece is its root at the end, in any order.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "geom/neighbour_shared.h"
#include "geom/sweep_shared.h"
#include "self/boundary_shared.h"
#include "self/ghost_shared.h"
#include "self/view_shared.h"
#include "sweep/filter_cl.h"

#define NODES_AT_ONCE (BOUNDARY_WALKERS / BOUNDARY_BLOCK)

static inline vec3 load_position(__global const double *p, uint i) {
    return v3(p[3 * (size_t)i], p[3 * (size_t)i + 1], p[3 * (size_t)i + 2]);
}

/* ---- bounds ---- */

typedef struct bounds16 {
    float at[2 * DOP_SLABS]; /* lows, highs */
} bounds16;

static inline bounds16 bounds_at(__global const float *all_bounds, uint slabs, uint i) {
    bounds16 b;
    for (uint k = 0; k < 2 * slabs; k++)
        b.at[k] = all_bounds[(size_t)i * 2 * slabs + k];
    return b;
}

static inline bounds16 join_bounds(bounds16 a, bounds16 b, uint slabs) {
    for (uint k = 0; k < slabs; k++) {
        a.at[k] = a.at[k] < b.at[k] ? a.at[k] : b.at[k];
        a.at[slabs + k] = a.at[slabs + k] > b.at[slabs + k] ? a.at[slabs + k] : b.at[slabs + k];
    }
    return a;
}

static inline bool overlap(const bounds16 *a, const bounds16 *b, uint slabs) {
    for (uint k = 0; k < slabs; k++)
        if (!(a->at[k] <= b->at[slabs + k] && b->at[k] <= a->at[slabs + k]))
            return false;
    return true;
}

/* Bounds of a vertex in the step. */
static void bound_vertex(const boundary_scene *scene, __global const double *start,
                         __global const double *end, uint vertex, bounds16 *bounds,
                         ghost_position *place) {
    vec3 from = bounds_place(&scene->frame, load_position(start, vertex));
    vec3 to = bounds_place(&scene->frame, load_position(end, vertex));
    for (int k = 0; k < 2; k++) {
        vec3 p = k ? to : from;
        place->at[k][0] = (float)p.x;
        place->at[k][1] = (float)p.y;
        place->at[k][2] = (float)p.z;
        place->at[k][3] = 0.0f;
    }
    if (vertex < scene->vertices)
        bounds_of_places(place->at[0], place->at[1], (int)scene->slabs, bounds->at);
    else
        bounds_of_motion(from, to, (int)scene->slabs, 0.0, bounds->at);
}

static void store_bounds(__global float *to, uint slabs, uint i, const bounds16 *b) {
    for (uint k = 0; k < 2 * slabs; k++)
        to[(size_t)i * 2 * slabs + k] = b->at[k];
}

/* One work-item per vertex, ghost and triangle. `ghost_bounds`: in the layout of vertices. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_begin(boundary_scene scene, __global const double *start, __global const double *end,
               __global const uint *corners, __global const uchar *last, __global float *bounds,
               __global ghost_position *places, __global float *ghost_bounds,
               __global ghost_sides *sides, __global uint *near, __global uint *piece,
               __global uint *size) {
    uint i = (uint)get_global_id(0);
    bounds16 own;
    if (i < scene.all_vertices) {
        ghost_position place;
        bound_vertex(&scene, start, end, i, &own, &place);
        store_bounds(bounds, scene.slabs, i, &own);
        places[i] = place;
    }
    if (i < scene.ghosts) {
        ghost_position place[3];
        ghost_sides g;
        bounds16 all_three;
        for (uint k = 0; k < 3; k++) {
            uint vertex = corners[3 * (size_t)(scene.triangles + i) + k];
            bound_vertex(&scene, start, end, vertex, &own, &place[k]);
            all_three = k ? join_bounds(all_three, own, scene.slabs) : own;
        }
        ghost_sides_of(place, &g);
        store_bounds(ghost_bounds, scene.slabs, i, &all_three);
        sides[i] = g;
    }
    if (i < scene.triangles) {
        near[i] = scene.known && last[i] == SET_V ? BEYOND_GHOST : 0;
        piece[i] = i;
        size[i] = 0;
    }
}

static inline bounds16 bounds_of_triangle(uint slabs, __global const uint *corners,
                                          __global const float *bounds, uint triangle) {
    bounds16 b = bounds_at(bounds, slabs, corners[3 * (size_t)triangle]);
    b = join_bounds(b, bounds_at(bounds, slabs, corners[3 * (size_t)triangle + 1]), slabs);
    return join_bounds(b, bounds_at(bounds, slabs, corners[3 * (size_t)triangle + 2]), slabs);
}

/* One work-group per node of the level, from triangles or from the level below. */
__kernel __attribute__((reqd_work_group_size(BOUNDARY_BLOCK, 1, 1))) void
boundary_level(boundary_scene scene, uint level, __global const uint *order,
               __global const uint *corners, __global const float *bounds,
               __global boundary_node *nodes, __local float *room) {
    uint node = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint child = node * BOUNDARY_BLOCK + item;
    float lo[3], hi[3];
    for (int k = 0; k < 3; k++) {
        lo[k] = INFINITY;
        hi[k] = -INFINITY;
    }
    if (level == 0 && child < scene.triangles)
        for (int j = 0; j < 3; j++) {
            __global const float *b =
                bounds + 2 * scene.slabs * (size_t)corners[3 * (size_t)order[child] + j];
            for (int k = 0; k < 3; k++) {
                lo[k] = min(lo[k], b[k]);
                hi[k] = max(hi[k], b[scene.slabs + k]);
            }
        }
    if (level > 0 && child < scene.nodes[level - 1])
        for (int k = 0; k < 3; k++) {
            lo[k] = nodes[scene.node_first[level - 1] + child].lo[k];
            hi[k] = nodes[scene.node_first[level - 1] + child].hi[k];
        }
    for (int k = 0; k < 3; k++) {
        room[k * BOUNDARY_BLOCK + item] = lo[k];
        room[(3 + k) * BOUNDARY_BLOCK + item] = hi[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 3) {
        for (int k = 1; k < BOUNDARY_BLOCK; k++) {
            lo[0] =
                min(k == 1 ? room[item * BOUNDARY_BLOCK] : lo[0], room[item * BOUNDARY_BLOCK + k]);
            hi[0] = max(k == 1 ? room[(3 + item) * BOUNDARY_BLOCK] : hi[0],
                        room[(3 + item) * BOUNDARY_BLOCK + k]);
        }
        nodes[scene.node_first[level] + node].lo[item] = lo[0];
        nodes[scene.node_first[level] + node].hi[item] = hi[0];
    }
}

/* ---- pairs ---- */

static inline ghost_values lowest_of(const ghost_sides *g, __global const ghost_position *places,
                                     uint vertex) {
    ghost_position place = places[vertex];
    return ghost_values_of(g, &place);
}

static bool node_is_near(const boundary_node *node, const ghost_sides *g, const bounds16 *ghost,
                         uint slabs) {
    for (uint k = 0; k < 3; k++)
        if (!(node->lo[k] <= ghost->at[slabs + k] && ghost->at[k] <= node->hi[k]))
            return false;
    return ghost_box_is_near(g, node->lo, node->hi);
}

static bool triangle_is_near(const boundary_scene *scene, __global const uint *corners,
                             __global const float *bounds, __global const ghost_position *places,
                             const ghost_sides *g, const bounds16 *ghost, uint triangle) {
    bounds16 own = bounds_of_triangle(scene->slabs, corners, bounds, triangle);
    if (!overlap(&own, ghost, scene->slabs))
        return false;
    ghost_values lowest = lowest_of(g, places, corners[3 * (size_t)triangle]);
    lowest = ghost_lower(lowest, lowest_of(g, places, corners[3 * (size_t)triangle + 1]));
    lowest = ghost_lower(lowest, lowest_of(g, places, corners[3 * (size_t)triangle + 2]));
    return ghost_is_near(g, &lowest);
}

/* One work-group per ghost. The stack has nodes of lower levels above those of higher ones, at most
 * BOUNDARY_WALKERS of each level: nodes of a level are pushed only while there are none of it or
 * below. */
__kernel __attribute__((reqd_work_group_size(BOUNDARY_WALKERS, 1, 1))) void
boundary_pairs(boundary_scene scene, __global const uint *order, __global const uint *corners,
               __global const float *bounds, __global const ghost_position *places,
               __global const float *ghost_bounds, __global const ghost_sides *sides,
               __global const boundary_node *nodes, __global uint2 *pairs, __global uint *counts,
               __local uint *stack, __local uint *used) {
    uint ghost = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint which = item / BOUNDARY_BLOCK, top = scene.levels - 1;
    ghost_sides g = sides[ghost];
    bounds16 b = bounds_at(ghost_bounds, scene.slabs, ghost);
    if (item == 0) {
        stack[0] = top << 29; /* a level, and the index of the node; one root */
        *used = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint left = 1;
    while (left > 0) {
        uint level = stack[left - 1] >> 29, taken = 1;
        while (taken < NODES_AT_ONCE && taken < left && stack[left - 1 - taken] >> 29 == level)
            taken++;
        uint node = which < taken ? stack[left - 1 - which] & 0x1fffffffu : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0)
            *used = left - taken;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint child = node * BOUNDARY_BLOCK + item % BOUNDARY_BLOCK;
        if (which < taken && level > 0 && child < scene.nodes[level - 1]) {
            boundary_node below = nodes[scene.node_first[level - 1] + child];
            if (node_is_near(&below, &g, &b, scene.slabs))
                stack[atomic_inc(used)] = (level - 1) << 29 | child;
        }
        if (which < taken && level == 0 && child < scene.triangles &&
            triangle_is_near(&scene, corners, bounds, places, &g, &b, order[child])) {
            uint to = atomic_inc(&counts[BOUNDARY_PAIRS]);
            if (to < scene.pairs_room)
                pairs[to] = (uint2)(order[child], ghost);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left = *used;
    }
}

/* ---- at the start ---- */

static triangle3 corners_at(__global const double *p, __global const uint *corners, uint triangle) {
    triangle3 t;
    for (int k = 0; k < 3; k++)
        t.corner[k] = load_position(p, corners[3 * (size_t)triangle + k]);
    return t;
}

/* Processes pairs until there are no more. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_intersections(boundary_scene scene, __global const double *start,
                       __global const uint *corners, __global const uint2 *pairs,
                       __global uint *near, __global uint *counts) {
    uint count = counts[BOUNDARY_PAIRS];
    for (uint i = (uint)get_global_id(0); i < count && count <= scene.pairs_room;
         i += (uint)get_global_size(0)) {
        uint triangle = pairs[i].x, ghost = scene.triangles + pairs[i].y;
        common_corners common;
        common.in_a = common.in_b = 0;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                if (corners[3 * (size_t)triangle + a] == corners[3 * (size_t)ghost + b]) {
                    common.in_a |= 1u << a;
                    common.in_b |= 1u << b;
                }
        if (!scene.boxes && !neighbours_intersect(corners_at(start, corners, triangle),
                                                  corners_at(start, corners, ghost), common))
            continue;
        atomic_or(&near[triangle], INTERSECTS_GHOST);
        if (counts[BOUNDARY_CUTS] == 0)
            atomic_or(&counts[BOUNDARY_CUTS], 1u);
    }
}

static bool has_several_pieces(const boundary_scene *scene, __global const uint *counts) {
    return counts[BOUNDARY_PAIRS] <= scene->pairs_room &&
           (scene->parts > 1 || counts[BOUNDARY_CUTS] != 0);
}

static uint find_root(volatile __global uint *piece, uint i) {
    for (uint up = piece[i]; up != i; up = piece[i])
        i = up;
    return i;
}

/* One work-item per triangle. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_join(boundary_scene scene, __global const uint *neighbours, __global const uint *near,
              volatile __global uint *piece, __global const uint *counts) {
    uint i = (uint)get_global_id(0);
    if (i >= scene.triangles || !has_several_pieces(&scene, counts) || near[i] & INTERSECTS_GHOST)
        return;
    for (int k = 0; k < 3; k++) {
        uint other = neighbours[3 * (size_t)i + k];
        if (other >= i || near[other] & INTERSECTS_GHOST) /* also true for ABUT_NONE */
            continue;
        uint a = find_root(piece, i), b = find_root(piece, other);
        while (a != b) {
            uint high = max(a, b), low = min(a, b);
            uint was = atomic_cmpxchg(&piece[high], high, low);
            if (was == high)
                break;
            a = find_root(piece, was);
            b = find_root(piece, low);
        }
    }
}

/* Counts the triangles of pieces. Most of a group belong to the piece of its first work-item. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_sizes(boundary_scene scene, __global const uint *near, volatile __global uint *piece,
               __global uint *size, __global const uint *counts, __local uint *room) {
    uint i = (uint)get_global_id(0), item = (uint)get_local_id(0), root = ABUT_NONE;
    if (i < scene.triangles && has_several_pieces(&scene, counts) && !(near[i] & INTERSECTS_GHOST))
        root = find_root(piece, i);
    if (item == 0) {
        room[0] = root;
        room[1] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (root != ABUT_NONE) {
        if (root == room[0])
            atomic_inc(&room[1]);
        else
            atomic_inc(&size[root]);
        piece[i] = root; /* path compression for other work-items */
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && room[1] > 0)
        atomic_add(&size[root], room[1]);
}

/* Finds the largest size, then with `second` the lowest triangle that has it. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_largest(boundary_scene scene, uint second, __global const uint *size,
                 __global uint *counts) {
    uint i = (uint)get_global_id(0);
    if (i >= scene.triangles || !has_several_pieces(&scene, counts) || size[i] == 0)
        return;
    if (!second)
        atomic_max(&counts[BOUNDARY_LARGEST], size[i]);
    else if (size[i] == counts[BOUNDARY_LARGEST])
        atomic_max(&counts[BOUNDARY_BEST], ~i);
}

/* ---- during the step ---- */

typedef struct touching {
    boundary_scene scene;
    __global const uint *vertex_begin, *vertex_items, *edge_begin, *edge_items;
    __global uint *near;
} touching;

/* The k-th triangle that is violated if a feature touches, or ABUT_NONE. */
static inline uint triangle_of(const touching *t, uint what, uint element, uint k) {
    if (what == GHOST_FACE)
        return k ? ABUT_NONE : element;
    __global const uint *begin = what == VERTEX_GHOST ? t->vertex_begin : t->edge_begin;
    uint at = begin[element] + k;
    return at < begin[element + 1] ? (what == VERTEX_GHOST ? t->vertex_items : t->edge_items)[at]
                                   : ABUT_NONE;
}

static bool is_all_violated(const touching *t, uint what, uint element) {
    for (uint k = 0;; k++) {
        uint triangle = triangle_of(t, what, element, k);
        if (triangle == ABUT_NONE)
            return true;
        if (!(t->near[triangle] & (TOUCHES_GHOST | BEYOND_GHOST)))
            return false;
    }
}

static void add_feature(const touching *t, uint what, uint element, uint a, uint b, uint c, uint d,
                        __global boundary_feature *features, __global uint *counts) {
    bool edges = what == EDGE_GHOST;
    if (a == c || a == d || (edges ? b == c || b == d : a == b) ||
        is_all_violated(t, what, element))
        return;
    uint to = atomic_inc(&counts[BOUNDARY_FEATURES]);
    if (to >= t->scene.features_room)
        return;
    boundary_feature f;
    f.four[0] = a;
    f.four[1] = b;
    f.four[2] = c;
    f.four[3] = d;
    f.what = what;
    f.element = element;
    features[to] = f;
}

/* Marks triangles that are not in the largest piece as beyond a ghost. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_beyond(boundary_scene scene, __global const uint *piece, __global uint *near,
                __global const uint *counts) {
    uint i = (uint)get_global_id(0);
    if (i < scene.triangles && has_several_pieces(&scene, counts) &&
        (near[i] & INTERSECTS_GHOST || piece[i] != ~counts[BOUNDARY_BEST]))
        near[i] |= BEYOND_GHOST;
}

/* As add_features() of boundary.c: processes pairs until there are no more. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_features(boundary_scene scene, __global const uint *corners,
                  __global const uint *triangle_edges, __global const uint *vertex_begin,
                  __global const uint *vertex_items, __global const uint *edge_begin,
                  __global const uint *edge_items, __global const float *bounds,
                  __global const ghost_position *places, __global const float *ghost_bounds,
                  __global const ghost_sides *sides, __global const uint2 *pairs,
                  __global uint *near, __global boundary_feature *features, __global uint *counts) {
    uint count = counts[BOUNDARY_PAIRS], slabs = scene.slabs;
    touching t = {scene, vertex_begin, vertex_items, edge_begin, edge_items, near};
    for (uint i = (uint)get_global_id(0); i < count && count <= scene.pairs_room;
         i += (uint)get_global_size(0)) {
        uint triangle = pairs[i].x, number = pairs[i].y, a[3], of_ghost[3];
        __global const uint *ghost = corners + 3 * (size_t)(scene.triangles + number);
        bool first = number == 0 || ghost[2] != (ghost - 3)[2];
        ghost_sides g = sides[number];
        ghost_values lowest[3];
        bounds16 vertex[3], corner[3], side[2];
        bounds16 ghost_face = bounds_at(ghost_bounds, slabs, number);
        for (int k = 0; k < 3; k++) {
            a[k] = corners[3 * (size_t)triangle + k];
            of_ghost[k] = ghost[k];
            lowest[k] = lowest_of(&g, places, a[k]);
            vertex[k] = bounds_at(bounds, slabs, a[k]);
            corner[k] = bounds_at(bounds, slabs, of_ghost[k]);
        }
        side[0] = join_bounds(corner[0], corner[1], slabs);
        side[1] = join_bounds(corner[1], corner[2], slabs);
        for (int k = 0; k < 3; k++) {
            int after = k == 2 ? 0 : k + 1;
            uint edge = triangle_edges[3 * (size_t)triangle + k];
            ghost_values of_edge = ghost_lower(lowest[k], lowest[after]);
            if (vertex_items[vertex_begin[a[k]]] == triangle && ghost_is_near(&g, &lowest[k]) &&
                overlap(&vertex[k], &ghost_face, slabs))
                add_feature(&t, VERTEX_GHOST, a[k], a[k], of_ghost[0], of_ghost[1], of_ghost[2],
                            features, counts);
            if (edge_items[edge_begin[edge]] != triangle || !ghost_is_near(&g, &of_edge))
                continue;
            bounds16 own = join_bounds(vertex[k], vertex[after], slabs);
            for (int j = 0; j < 2; j++)
                if (overlap(&own, &side[j], slabs))
                    add_feature(&t, EDGE_GHOST, edge, a[k], a[after], of_ghost[j], of_ghost[j + 1],
                                features, counts);
        }
        bounds16 face = join_bounds(join_bounds(vertex[0], vertex[1], slabs), vertex[2], slabs);
        for (int j = 1; j < (first ? 3 : 2); j++)
            if (overlap(&corner[j], &face, slabs))
                add_feature(&t, GHOST_FACE, triangle, of_ghost[j], a[0], a[1], a[2], features,
                            counts);
    }
}

/* Sweeps features until there are no more. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void boundary_sweeps(
    boundary_scene scene, __global const uint *vertex_begin, __global const uint *vertex_items,
    __global const uint *edge_begin, __global const uint *edge_items, __global const double *start,
    __global const double *end, sweep_limits limits, float reach,
    __global const boundary_feature *features, __global uint *near, __global const uint *counts) {
    uint count = counts[BOUNDARY_FEATURES];
    touching t = {scene, vertex_begin, vertex_items, edge_begin, edge_items, near};
    for (uint i = (uint)get_global_id(0); i < count && count <= scene.features_room;
         i += (uint)get_global_size(0)) {
        boundary_feature f = features[i];
        int kind = f.what == EDGE_GHOST ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
        vec3 from[4], to[4];
        sweep_answer answer;
        for (int k = 0; k < 4; k++) {
            from[k] = load_position(start, f.four[k]);
            to[k] = load_position(end, f.four[k]);
        }
        if (!survives(kind, from, to, reach, false) || !survives(kind, from, to, reach, true) ||
            is_all_violated(&t, f.what, f.element) || !sweep_pair(kind, from, to, &limits, &answer))
            continue;
        for (uint k = 0; triangle_of(&t, f.what, f.element, k) != ABUT_NONE; k++)
            atomic_or(&near[triangle_of(&t, f.what, f.element, k)], TOUCHES_GHOST);
    }
}

static inline uint set_index(uint set) {
    return (set >> 1) - (set >> 3); /* of a bit */
}

/* One work-item per triangle: its set, and the change since the previous step. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
boundary_finish(boundary_scene scene, __global const uint *near, __global const uchar *last,
                __global uchar *sets, __global uint *counts, __local uint *tally) {
    uint i = (uint)get_global_id(0), item = (uint)get_local_id(0);
    bool stands =
        counts[BOUNDARY_PAIRS] <= scene.pairs_room &&
        counts[BOUNDARY_FEATURES] <= scene.features_room; /* otherwise everything is done again */
    if (item < BOUNDARY_PAIRS)
        tally[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (stands && i < scene.triangles) {
        uint set = near[i] & (TOUCHES_GHOST | BEYOND_GHOST) ? SET_V : sets[i], before = last[i];
        sets[i] = (uchar)set;
        atomic_inc(&tally[BOUNDARY_SETS + set_index(set)]);
        if (set != before) {
            atomic_inc(&tally[BOUNDARY_ENTERED + set_index(set)]);
            atomic_inc(&tally[BOUNDARY_LEFT + set_index(before)]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < BOUNDARY_PAIRS && tally[item] > 0)
        atomic_add(&counts[item], tally[item]);
}

#endif
