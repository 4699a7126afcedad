/* Nearest points of many points that lie close together: lists of features that shrink.
 *
 * Method: 512 points that are neighbours on the curve are a block. A group collects the features
 * (features.h) that can be nearest to any point of the block: those of the leaves within reach, of
 * which few have a region that meets the block. The list is shrunk for every 32 points, and what is
 * left, some thirty features of a scanned model, is looked at for each point. Where the list does
 * not fit, smaller blocks are tried, and points for which that is still too much are left to
 * nearest_find.
 *
 * Nothing that could win is lost. Let m be the margin of nearest.cl, which is at least 2^-18 and
 * bounds the rounding of everything here, and T a triangle that wins the search in doubles. Its
 * nearest point q lies on one of its features F. If the point p is no more than m outside each
 * vector of F, F is kept, and T measured. Suppose that it is outside by more.
 * - Not by a face's own edges, nor by the ends of an edge: then q would not be T's nearest.
 * - An edge of a vertex, longer than 2^-20: going along it from q leads closer by 2^-20 m / |p -
 * q|, some 2^-38, which doubles see. T does not win.
 * - A face of an edge, at least 2^-20 high, with sines of 1/64 or more at both ends: where q is at
 *   least m from the ends, going into that face leads closer by m m / 64 / |p - q|, some 2^-44,
 *   which doubles see. Where it is nearer to an end, that vertex takes its place: T has it too.
 * - Where T has no face because it is lower than 2^-20, its edges are nearer than m / 4 to q, and
 *   T itself excludes nothing from their regions.
 * A bound comes from edges and vertices as they are, and from a face only where p is inside its
 * prism by m: outside two edges of a needle's point it would be worth nothing.
 * A block is a box. The vectors are units, so that the least t in the box is t at its centre less
 * the box's extent along the vector; distances change by no more than the way.
 */
#include "geom/closest_shared.h"
#include "nearest/feature_cl.h"

#define GROUP FIND_GROUP
#define PART 32
#define PARTS (GROUP / PART)

#define SHORT (REGION_LEAVES / PARTS)

/* Points further than this from the mesh's middle are left to nearest_find. */
#define NEAR 4.0f

/* ---- blocks ---- */

/* The box of each block: its least corner with the largest margin, and its greatest corner. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
regions_boxes(__global const float4 *points, uint count, uint block_points,
              __global const uchar *wanted, uint wanted_blocks, __global float4 *boxes,
              __local float4 *room) {
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    if (wanted_blocks && !wanted[block / wanted_blocks])
        return;
    float4 lo = INFINITY, hi = -INFINITY;
    for (uint i = block * block_points + item; i < min((block + 1) * block_points, count);
         i += GROUP) {
        float4 at = points[i];
        /* of a point far away the margin is less than 0 */
        float4 bad = (float4)(INFINITY);
        lo = at.w < 0.0f ? lo : fmin(lo, at);
        hi = at.w < 0.0f ? bad : fmax(hi, at);
    }
    room[item] = lo;
    room[GROUP + item] = hi;
    for (uint away = GROUP / 2; away > 0; away /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < away) {
            room[item] = fmin(room[item], room[item + away]);
            room[GROUP + item] = fmax(room[GROUP + item], room[GROUP + item + away]);
        }
    }
    if (item == 0) {
        float4 least = room[0], greatest = room[GROUP];
        boxes[2 * block] = (float4)(least.xyz, greatest.w);
        boxes[2 * block + 1] = greatest;
    }
}

/* A bound for the middle of each block, as w of its greatest corner; less than 0 where the block is
 * not for lists. */
__kernel void regions_seed(__global const bvh_node *nodes, __global const float4 *triangles,
                           uint blocks, __global const uchar *wanted, uint wanted_blocks,
                           __global float4 *boxes) {
    uint block = (uint)get_global_id(0);
    if (block >= blocks || (wanted_blocks && !wanted[block / wanted_blocks]))
        return;
    float4 lo = boxes[2 * block], hi = boxes[2 * block + 1];
    float4 middle = (float4)(0.5f * (lo + hi).xyz, lo.w);
    float largest = fmax(fmax(fmax(-lo.x, -lo.y), -lo.z), fmax(fmax(hi.x, hi.y), hi.z));
    boxes[2 * block + 1].w =
        largest < NEAR ? bound_of(middle, 4.0f * NEAR, nodes, triangles) : -1.0f;
}

/* ---- lists ---- */

static inline void append(__local uint *list, __local uint *count, uint room, uint value) {
    uint place = atomic_inc(count);
    if (place < room)
        list[place] = value;
}

/* Adds the features of leaves that are needed for a box to a list. */
static inline void list_features(__global const float4 *features, __global const uint *leaf_begin,
                                 const box *b, float upper, __local const uint *leaves,
                                 uint leaf_count, __local uint *list, __local uint *listed) {
    for (uint i = (uint)get_local_id(0); i < leaf_count; i += GROUP) {
        uint leaf = leaves[i];
        for (uint k = leaf_begin[leaf]; k < leaf_begin[leaf + 1]; k++) {
            feature f = load_feature(features, k);
            if (is_needed(&f, b, upper))
                append(list, listed, REGION_LIST, k);
        }
    }
}

/* Lists all features that are needed for a box whose points are at most `upper` away from the mesh;
 * gives their number, more than REGION_LIST where they or the way there did not fit. Nodes wait on
 * a stack, of which 32 are taken at a time, an item for each child. numbers: waiting nodes, leaves,
 * listed features. */
static inline uint list_all(__global const bvh_node *nodes, __global const float4 *features,
                            __global const uint *leaf_begin, const box *b, float upper,
                            __local uint *stack, __local uint *leaves, __local uint *list,
                            __local uint *numbers) {
    uint item = (uint)get_local_id(0);
    float reach = upper + 2.0f * b->margin, reach_sq = reach * reach * NEAREST_SLACK;
    float4 lo = b->middle - b->half_size, hi = b->middle + b->half_size;
    if (item < 3)
        numbers[item] = item == 0;
    if (item == 0)
        stack[0] = 0;
    for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = numbers[0], leaf_count = numbers[1];
        uint taken = min(waiting, (uint)(GROUP / BVH_WIDTH)), child = ABUT_NONE;
        bool flush = leaf_count > REGION_LEAVES - GROUP || waiting == 0;
        if (item / BVH_WIDTH < taken) {
            __global const bvh_node *n = nodes + stack[waiting - taken + item / BVH_WIDTH];
            uint slot = item % BVH_WIDTH;
            __global const float *low = (__global const float *)n->lo + slot,
                                 *high = (__global const float *)n->hi + slot;
            float x = fmax(fmax(low[0] - hi.x, lo.x - high[0]), 0.0f),
                  y = fmax(fmax(low[4] - hi.y, lo.y - high[4]), 0.0f),
                  z = fmax(fmax(low[8] - hi.z, lo.z - high[8]), 0.0f);
            if (fma(x, x, fma(y, y, z * z)) <= reach_sq)
                child = BVH_AT(const uint, n->child, slot);
        }
        if (flush)
            list_features(features, leaf_begin, b, upper, leaves, leaf_count, list, &numbers[2]);
        barrier(CLK_LOCAL_MEM_FENCE);
        uint listed = numbers[2];
        if (waiting == 0)
            return listed;
        if (listed > REGION_LIST || waiting - taken + GROUP > REGION_WAITING)
            return REGION_LIST + 1;
        if (item == 0) {
            numbers[0] = waiting - taken;
            if (flush)
                numbers[1] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (child == ABUT_NONE)
            continue;
        if (child & BVH_LEAF)
            leaves[atomic_inc(&numbers[1])] = child & ~BVH_LEAF;
        else
            stack[atomic_inc(&numbers[0])] = child;
    }
}

/* The candidates of each point of a block, as in nearest_find but features instead of triangles.
 * Blocks whose list does not fit are marked in `left`. On a second try with smaller blocks only the
 * `wanted` ones of the first are looked at, of which each has wanted_blocks. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
regions_find(__global const bvh_node *nodes, __global const float4 *features,
             __global const uint *leaf_begin, __global const float4 *points, uint count,
             float radius, __global const float4 *boxes, uint block_points,
             __global const uchar *wanted, uint wanted_blocks, __global uchar *left,
             __global uchar *counts, __global uint *places, __local float4 *room) {
    __local uint *waiting = (__local uint *)room, *leaves = waiting + REGION_WAITING,
                 *numbers = leaves + REGION_LEAVES, *list = numbers + 16;
    __local float4 *spots = (__local float4 *)waiting;
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    if (wanted_blocks && !wanted[block / wanted_blocks]) {
        if (item == 0)
            left[block] = 0;
        return;
    }
    float4 lo = boxes[2 * block], hi = boxes[2 * block + 1];
    float margin = lo.w, distance = hi.w;
    if (distance < 0.0f) {
        if (item == 0)
            left[block] = 1;
        return;
    }
    box whole = box_of(lo, hi, margin);
    float upper = fmin(distance + whole.radius, radius) + 4.0f * margin;
    uint listed =
        list_all(nodes, features, leaf_begin, &whole, upper, waiting, leaves, list, numbers);
    bool fits = listed <= REGION_LIST;
    if (item == 0)
        left[block] = !fits;
    if (!fits)
        return;
    uint part = item / PART, lane = item % PART;
    __local uint *least = numbers + 3 + part, *short_count = numbers + 3 + PARTS + part,
                 *short_list = leaves + SHORT * part;
    uint end = min((block + 1) * block_points, count);
    for (uint first = block * block_points; first < end; first += GROUP) {
        uint i = first + item;
        float4 at = points[min(i, end - 1)];
        barrier(CLK_LOCAL_MEM_FENCE);
        spots[item] = at;
        if (lane == 0) {
            *least = as_uint(INFINITY);
            *short_count = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float4 low = at, high = at;
        for (uint j = 0; j < PART; j++) {
            low = fmin(low, spots[part * PART + j]);
            high = fmax(high, spots[part * PART + j]);
        }
        box b = box_of(low, high, margin);
        float bound = INFINITY;
        for (uint k = lane; k < listed; k += PART) {
            feature f = load_feature(features, list[k]);
            look l = look_at(&f, b.middle);
            bound = fmin(bound, bound_sq(&l, margin));
        }
        atomic_min(least, as_uint(bound));
        barrier(CLK_LOCAL_MEM_FENCE);
        float part_upper =
            fmin(upper, sqrt(as_float(*least)) * NEAREST_SLACK + b.radius + 4.0f * margin);
        for (uint k = lane; k < listed; k += PART) {
            feature f = load_feature(features, list[k]);
            if (is_needed(&f, &b, part_upper))
                append(short_list, short_count, SHORT, list[k]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bool is_short = *short_count <= SHORT;
        __local const uint *from = is_short ? short_list : list;
        uint here = is_short ? *short_count : listed;
        search s;
        s.at = (float4)(at.xyz, margin);
        s.count = 0;
        set_best(&s, radius);
        for (uint k = 0; k < here; k++) {
            uint name = from[k];
            feature f = load_feature(features, name);
            look l = look_at(&f, at);
            if (l.distance_sq > s.reach_sq || outside_of(&l) > margin)
                continue;
            add_candidate(&s, l.distance_sq, name);
            if (l.distance_sq < s.best * s.best && bound_sq(&l, margin) < INFINITY)
                set_best(&s, sqrt(l.distance_sq));
        }
        if (i < end)
            store_candidates(&s, i, count, counts, places);
    }
}

/* ---- doubles ---- */

#if ABUTI_REAL_BITS == 64
#include "nearest/measure_cl.h"

#define SEEN 8
#define PLAIN_VERTEX 3u
#define BEHIND 0x1p-16f /* more than the margin of any point here */

/* Whether all edges that meet in a plain vertex lead away from the point by more than the margin.
 * Every triangle there then has the vertex as its nearest point, exactly: the foot on its plane is
 * as far outside, parameters along edges are clamped to the end, and the opposite edge is farther
 * by 2^-40 of the square. All give the same bits, and the first of them wins. */
static bool is_behind(float4 at, uint begin, uint end, __global const uint *incidents,
                      __global const float *triangles) {
    float4 vertex;
    for (uint j = begin; j < end; j++) {
        __global const float *c = triangles + 9 * (size_t)incidents[j];
        float4 r[3];
        float length_sq[3];
        for (int k = 0; k < 3; k++) {
            r[k] = (float4)(c[3 * k], c[3 * k + 1], c[3 * k + 2], at.w) - at;
            length_sq[k] = dot_f(r[k], r[k]);
        }
        /* turned so that the nearest corner is the first; it must be the same for all */
        bool second = length_sq[1] < length_sq[0] && length_sq[1] <= length_sq[2];
        bool third = !second && length_sq[2] < length_sq[0];
        float4 v = second ? r[1] : third ? r[2] : r[0];
        float4 edge_a = (second ? r[2] : third ? r[0] : r[1]) - v;
        float4 edge_b = (second ? r[0] : third ? r[1] : r[2]) - v;
        float along_a = dot_f(v, edge_a), along_b = dot_f(v, edge_b);
        vertex = j == begin ? v : vertex;
        if (!(v.x == vertex.x && v.y == vertex.y && v.z == vertex.z && along_a > 0.0f &&
              along_b > 0.0f && along_a * along_a > BEHIND * BEHIND * dot_f(edge_a, edge_a) &&
              along_b * along_b > BEHIND * BEHIND * dot_f(edge_b, edge_b)))
            return false;
    }
    return true;
}

/* As nearest_measure, for features. */
__kernel void regions_measure(__global const double *corners, __global const float *triangles,
                              __global const uint *tree_order, __global const float4 *features,
                              __global const uint *incident_begin, __global const uint *incidents,
                              __global const float4 *points, __global const double *exact,
                              __global const uint *order, uint count, double radius,
                              __global const uchar *left, uint block_points,
                              __global const uchar *counts, __global const uint *places, uint first,
                              __global nearest_answer *answers) {
    uint i = (uint)get_global_id(0);
    if (i >= count || counts[i] == COMPLETE || left[i / block_points])
        return;
    uint point = order[i], seen[SEEN], seen_count = 0;
    measured m;
    start_measure(&m, load_point(exact + 3 * (size_t)point), radius);
    for (uint k = 0; k < counts[i]; k++) {
        uint f = places[(size_t)k * count + i];
        uint begin = incident_begin[f], end = incident_begin[f + 1];
        if (counts[i] == 1 && (as_uint(features[4 * f].w) & 3u) == PLAIN_VERTEX &&
            is_behind(points[i], begin, end, incidents, triangles))
            end = begin + 1;
        for (uint j = begin; j < end; j++) {
            uint triangle = tree_order[incidents[j]];
            bool known = false;
            for (uint n = 0; n < seen_count; n++)
                known = known || seen[n] == triangle;
            if (known)
                continue;
            if (seen_count < SEEN && counts[i] > 1)
                seen[seen_count++] = triangle;
            measure(&m, corners, triangle);
        }
    }
    store(&m, answers + first + point);
}

#endif
