/* Samples of a map on a device, with the bits of distances.c.
 *
 * map_points computes the samples in the coordinates of another body. The closest-point and sign
 * batches of that body (nearest.cl, inside.cl) then compute distances. Samples are in the order of
 * the BVH of their surface, so they need no sorting. map_store keeps the nearest body of each
 * sample. map_apart searches the surface itself without the component of a sample: in floats first,
 * as nearest.cl, with the few candidates measured in doubles.
 */
#define ABUTI_REAL_BITS 64
#include "map/device_shared.h"
#include "nearest/complete_cl.h"

/* A sample in the coordinates of the other body. */
static inline vec3 sample_in_body(const map_query *query, __global const vec3 *positions,
                                  __global const uint *indices, __global const map_place *places,
                                  __global const uint *owner, __global const uint *texel, uint i) {
    const uint triangle = owner[i], at = texel[i];
    const map_place place = places[triangle];
    double weight[3];
    map_weights(&place, at % query->resolution, at / query->resolution, weight);
    const vec3 a = positions[indices[3 * triangle]], b = positions[indices[3 * triangle + 1]],
               c = positions[indices[3 * triangle + 2]];
    vec3 p = v3_add(query->origin, map_point(&a, &b, &c, weight));
    return query->moved ? pose_apply(&query->inverse, p) : p;
}

static inline map_result no_result(void) {
    map_result a;
    a.distance = INFINITY;
    a.vector[0] = a.vector[1] = a.vector[2] = 0.0f;
    a.other = a.triangle = ABUT_NONE;
    a.feature = 0;
    return a;
}

static inline map_result result_of(float distance, vec3 way, uint other, uint triangle,
                                   uint feature) {
    map_result a;
    a.distance = distance;
    a.vector[0] = (float)way.x;
    a.vector[1] = (float)way.y;
    a.vector[2] = (float)way.z;
    a.other = other;
    a.triangle = triangle;
    a.feature = feature;
    return a;
}

/* ---- other bodies ---- */

__kernel void map_points(__global const vec3 *positions, __global const uint *indices,
                         __global const map_place *places, __global const uint *owner,
                         __global const uint *texel, map_query query, __global vec3 *points) {
    const uint i = (uint)get_global_id(0);
    if (i < query.count)
        points[i] = sample_in_body(&query, positions, indices, places, owner, texel, i);
}

/* Stores results: the smallest distance, and of equal ones the lowest body. */
__kernel void map_store(__global const vec3 *points, __global const nearest_result *nearest,
                        map_query query, __global map_result *results) {
    const uint i = (uint)get_global_id(0);
    if (i >= query.count)
        return;
    const nearest_result n = nearest[i];
    map_result a = no_result();
    if (!query.first)
        a = results[i];
    const float distance = (float)n.distance;
    if (n.triangle != ABUT_NONE &&
        (distance < a.distance || (distance == a.distance && query.other < a.other))) {
        const vec3 way = v3_sub(v3(n.point[0], n.point[1], n.point[2]), points[i]);
        a = result_of(distance, query.moved ? m3_apply(&query.turn, way) : way, query.other,
                      n.triangle, n.feature);
    }
    results[i] = a;
}

/* ---- other components of the surface ---- */

/* A search that skips the triangles of one component. */
typedef struct apart {
    measuring_search to;
    __global const uint *parts; /* for each position in the tree */
    uint part;
} apart;

static inline void visit_apart(apart *a, float4 p, float4 q, float4 r, uint place) {
    if (a->parts[place] != a->part)
        visit_triangle(&a->to.s, p, q, r, place);
}

DEFINE_LEAF(visit_leaf_apart, apart, visit_apart)
DEFINE_WALK(walk_apart, apart, &state->to.s, visit_leaf_apart)

static void visit_and_measure_apart(apart *a, __global const float4 *triangles, uint leaf) {
    if (a->to.s.count > CANDIDATES - BVH_WIDTH)
        measure_list(&a->to);
    visit_leaf_apart(a, triangles, leaf);
}

DEFINE_WALK(walk_measuring_apart, apart, &state->to.s, visit_and_measure_apart)

static inline float4 to_frame(vec3 p, const mesh_frame *frame) {
    p = v3_scale(v3_sub(p, v3(frame->origin[0], frame->origin[1], frame->origin[2])), frame->scale);
    const float margin = NEAREST_MARGIN * ((float)v3_max_abs(p) + 2.0f); /* no sample is far */
    return (float4)((float)p.x, (float)p.y, (float)p.z, margin);
}

/* The current distance of the triangle of the previous result. */
static inline float previous_bound(__global const double *corners, uint triangle,
                                   const mesh_frame *frame, float4 at) {
    const triangle3 t = load_triangle(corners, triangle);
    float4 corner[3];
    for (int k = 0; k < 3; k++)
        corner[k] = (float4)((to_frame(t.corner[k], frame) - at).xyz, 0.0f);
    return sqrt(triangle_sq(corner[0], corner[1], corner[2])) * NEAREST_SLACK + 2.0f * at.w;
}

__kernel void map_apart(__global const bvh_node *nodes, __global const float4 *triangles,
                        __global const uint *tree_order, __global const double *corners,
                        mesh_frame frame, __global const vec3 *positions,
                        __global const uint *indices, __global const map_place *places,
                        __global const uint *owner, __global const uint *texel, map_query query,
                        __global const uint *parts, __global const uint *owner_parts,
                        __global map_result *results) {
    const uint i = (uint)get_global_id(0);
    if (i >= query.count)
        return;
    const vec3 point = sample_in_body(&query, positions, indices, places, owner, texel, i);
    const float4 at = to_frame(point, &frame);
    apart a;
    a.parts = parts;
    a.part = owner_parts[owner[i]];
    start_measure(&a.to.m, point, query.radius);
    float bound = query.limit;
    const uint last = results[i].triangle;
    if (query.warm && last < query.triangle_count)
        bound = fmin(bound, previous_bound(corners, last, &frame, at));
    a.to.s.at = at;
    a.to.s.count = 0;
    set_best(&a.to.s, bound);
    walk_apart(&a, nodes, triangles);
    if (a.to.s.count == COMPLETE) {
        a.to.corners = corners;
        a.to.tree_order = tree_order;
        a.to.scale = frame.scale;
        a.to.s.count = 0;
        walk_measuring_apart(&a, nodes, triangles);
        measure_list(&a.to);
    } else {
        for (uint k = 0; k < a.to.s.count; k++)
            if (a.to.s.distance_sq[k] <= a.to.s.reach_sq)
                measure_apart(&a.to.m, corners, tree_order[a.to.s.place[k]]);
    }
    const measured *m = &a.to.m;
    results[i] = m->winner == ABUT_NONE ? no_result()
                                        : result_of((float)m->best, v3_sub(m->closest.point, point),
                                                    0, m->winner, (uint)m->closest.feature);
}

/* ---- sums ---- */

/* One work-group per triangle. */
__kernel __attribute__((reqd_work_group_size(MAP_LANES, 1, 1))) void
map_tallies(__global const vec3 *positions, __global const uint *indices,
            __global const map_place *places, __global const uint *owner,
            __global const uint *first, double within, __global const map_result *results,
            __global map_tally *tallies, __local map_tally *lanes) {
    const uint i = (uint)get_group_id(0), lane = (uint)get_local_id(0);
    map_tally t = map_tally_none();
    for (uint k = first[i] + lane; k < first[i + 1]; k += MAP_LANES)
        if (results[k].other != ABUT_NONE)
            map_tally_sample(&t, results[k].distance, k, within);
    lanes[lane] = t;
    for (uint away = MAP_LANES / 2; away > 0; away /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < away) {
            map_tally more = lanes[lane + away];
            map_tally_add(&t, &more);
            lanes[lane] = t;
        }
    }
    if (lane == 0) {
        const uint triangle = owner[first[i]];
        const map_place place = places[triangle];
        vec3 corner[3];
        for (uint k = 0; k < 3; k++)
            corner[k] = positions[indices[3 * triangle + k]];
        t.area = map_area(corner);
        t.reach = map_reach(&place, corner);
        tallies[i] = t;
    }
}
