/* Values of cells.
 *
 * Method: a work-group loads the list of a block of 8 x 8 x 8 cells (field_lists.cl) and filters it
 * for every 4 x 4 x 4 cells, then for every 2 x 2 x 2. For a scanned model about 170, 33 and 7
 * features remain. Each work-item then measures the short list for its cells. If a list is too long
 * for that, the block is deferred: field_cut() makes lists for its eighths, which are measured in
 * the same way. field_few() measures 2 x 2 x 2 cells of those that are still too long, whatever
 * their length, with 16 work-items per cell.
 *
 * The last step is in doubles. Floats leave the candidates for the nearest feature, usually one.
 * field_measure() computes its distance: that to a vertex, that to an edge from its unit direction,
 * and that to the plane of a face from its unit normal, if the foot is inside the face. The truly
 * nearest feature is among the candidates (proof in feature_cl.h), except for faces that are too
 * low to be features. Their edges and corners are marked; a cell to which one of these may be
 * nearest is left to field_resolve.cl.
 *
 * Error. With u = 2^-53 and L the largest coordinate difference of a cell and the mesh:
 *   - p - a has an error of u L on each axis, unit vectors of 4 u. A normal may also rotate about
 *     the longest side of its face by 4 u L / h (h is its height). This moves the plane by at most
 *     4 u L anywhere over the face, which extends at most h from that side;
 *   - sums of three products add 3 u each, twice for an edge, and the square root 1 u.
 *
 * With |p - a| up to 1.74 L all this is below 24 u L. The error of the closest-point query is below
 * 8 u L (docs/geom.md: 4 ulp). So if e = 64 u L = 2^-47 L, and d - e and d + e round to one float,
 * it is that of the query. Otherwise the cell is left to field_resolve.cl: about one in a hundred
 * thousand.
 *
 * Sign: field_rows.cl has stored the crossings of rows in the buffer of the values. field_sides.cl
 * interprets them if the surface has boundary edges.
 */
#include "base/math_shared.h"
#include "field/build/values_cl.h"
#include "nearest/features_shared.h"

#if ABUTI_REAL_BITS == 64

#define LANES (GROUP / 8)

/* ---- positions in a block ---- */

/* Cells of a block are numbered along a Morton curve: 2^3, 4^3 and 8^3 cells have consecutive
 * numbers. */
static inline uint along_x(uint c) {
    return (c & 1) | (c >> 2 & 2) | (c >> 4 & 4);
}

static inline uint along_y(uint c) {
    return along_x(c >> 1);
}

static inline uint along_z(uint c) {
    return along_x(c >> 2);
}

/* ---- lists in local memory ---- */

/* Copies a list from the pool to local memory. */
static inline void load_list(__global const uint *pool, __global const uint2 *slices, uint count,
                             __local uint *names) {
    for (uint k = 0; k < count; k++) {
        uint2 slice = slices[k];
        for (uint i = (uint)get_local_id(0); i < slice.y; i += GROUP)
            names[i] = pool[slice.x + i];
        names += slice.y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* ---- doubles ---- */

/* Whether the foot of a point on the plane of a triangle is inside it. If rounding decides, the
 * edge is as near. */
static inline bool is_over(__global const double *c, double3 p, double3 n) {
    double3 a = (double3)(c[0], c[1], c[2]), b = (double3)(c[3], c[4], c[5]),
            d = (double3)(c[6], c[7], c[8]);
    double u = dot(cross(b - a, p - a), n), v = dot(cross(d - b, p - b), n),
           w = dot(cross(a - d, p - d), n);
    return (u >= 0.0 && v >= 0.0 && w >= 0.0) || (u <= 0.0 && v <= 0.0 && w <= 0.0);
}

/* The distance of a point to a feature, in the scaled frame; infinite if it cannot be nearest. Sets
 * `low` if that is not known. */
static inline double field_measure(__global const double2 *exact, __global const double *corners,
                                   double scale, uint name, bool at_border, double3 p, bool *low) {
    __global const double2 *e = exact + 4 * (size_t)name;
    double2 e0 = e[0], e1 = e[1], e2 = e[2], e3 = e[3];
    uint2 what = as_uint2(e3.y); /* triangle of a face, and kind */
    double x = (p.x - e0.x) * scale, y = (p.y - e0.y) * scale, z = (p.z - e1.x) * scale;
    double along = e2.x * x + e2.y * y + e3.x * z;
    *low = *low || (what.y & FEATURE_IS_LOW);
    if (what.y & FEATURE_IS_FACE) {
        bool over =
            !at_border || is_over(corners + 9 * (size_t)what.x, p, (double3)(e2.x, e2.y, e3.x));
        return over ? fabs(along) : INFINITY;
    }
    double s = clamp(along, 0.0, e1.y);
    x -= s * e2.x;
    y -= s * e2.y;
    z -= s * e3.x;
    return sqrt(x * x + y * y + z * z);
}

/* The value for a distance in the scaled frame, clamped to the band, or UNCERTAIN. */
static inline float value_of(const field_grid *g, double d, bool low) {
    double e = (double)g->margin * 0x1p-28; /* 2^-47 times (the largest coordinate + 2) */
    float least = (float)fmin((d - e) * g->per_scale, g->band),
          most = (float)fmin((d + e) * g->per_scale, g->band);
    return low || !(d < INFINITY) || least != most || !(least >= FLT_MIN) ? UNCERTAIN : least;
}

/* The absolute value of a cell, or UNCERTAIN. */
static inline float measure_cell(const field_grid *g, __global const float4 *features,
                                 short_list from, __global const double2 *exact,
                                 __global const double *corners, uint x, uint y, uint z) {
    double3 p = centre_of(g, x, y, z);
    float4 at = middle_of(g, x, y, z, 1);
    float margin = g->margin, bound = INFINITY, low_sq = INFINITY, second_sq = INFINITY;
    float low_outside = 0.0f;
    uint winner = ABUT_NONE;
    bool low = false;
    if (from.count == 1 && g->reach == INFINITY) { /* no other feature can be nearest */
        double only = field_measure(exact, corners, g->scale, from.names[0], false, p, &low);
        return value_of(g, only, low);
    }
    for (uint i = 0; i < from.count; i++) {
        uint name = from.names[i];
        feature f = load_feature(features, name);
        look k = look_at(&f, at);
        float out = feature_outside(&k), distance_sq = out > margin ? INFINITY : k.distance_sq;
        bound = fmin(bound, k.face && out > -margin ? INFINITY : k.distance_sq);
        bool best = distance_sq < low_sq;
        second_sq = fmin(second_sq, best ? low_sq : distance_sq);
        winner = best ? name : winner;
        low_outside = best ? out : low_outside;
        low_sq = best ? distance_sq : low_sq;
    }
    float reach_sq = reach_of(g, bound);
    if (winner == ABUT_NONE || low_sq > reach_sq)
        return g->reach < INFINITY ? (float)g->band : UNCERTAIN;
    double d;
    if (second_sq > reach_sq) {
        d = field_measure(exact, corners, g->scale, winner, low_outside > -margin, p, &low);
    } else {
        d = INFINITY;
        for (uint i = 0; i < from.count; i++) {
            uint name = from.names[i];
            feature f = load_feature(features, name);
            look k = look_at(&f, at);
            float out = feature_outside(&k);
            if (out <= margin && k.distance_sq <= reach_sq)
                d = fmin(d, field_measure(exact, corners, g->scale, name, out > -margin, p, &low));
        }
    }
    return value_of(g, d, low);
}

/* ---- blocks ---- */

typedef struct block_room {
    __local uint *names, *names_4, *names_2;
    __local uint *kept_4, *least_2, *kept_2; /* 8, 64, 64 */
} block_room;

static inline short_list choose(__local const uint *names, uint count, uint most,
                                short_list otherwise) {
    short_list s = {names, count};
    return count <= most ? s : otherwise;
}

/* Computes the cells of a block of 8 or 4 at (x, y, z), whose list is in r.names. bound_given: the
 * bound of the eighth with the number of the work-item. All work-items reach every barrier. */
static inline void measure_block(const field_grid *g, __global const float4 *features,
                                 const block_room *r, uint side, uint count, uint x, uint y, uint z,
                                 uint bound_given, __global const double2 *exact,
                                 __global const double *corners, results *to, inside_rule rule) {
    uint item = (uint)get_local_id(0), cells = side * side * side, eighth = item & 7;
    bool fours = side == 8;
    short_list all = {r->names, count};
    uint c = eighth << 6;
    box b = box_at(g, x + along_x(c), y + along_y(c), z + along_z(c), 4);
    shrink_list(features, all, item / 8, GROUP / 8, &b, upper_of(g, &b, bound_given), !fours,
                r->kept_4 + eighth, r->names_4 + FIELD_LIST_4 * eighth, FIELD_LIST_4);
    /* 16 work-items for each 4^3 cells, two for each 2^3 of them; or all for one 4^3 */
    uint part = fours ? item / 16 : 0, two = part * 8 + eighth;
    uint first = fours ? item >> 3 & 1 : item / 8, step = fours ? 2 : GROUP / 8;
    uint most_2 = fours ? FIELD_LIST_2 : 8 * FIELD_LIST_2;
    short_list from = all;
    if (fours)
        from = choose(r->names_4 + FIELD_LIST_4 * part, r->kept_4[part], FIELD_LIST_4, all);
    c = two << 3;
    b = box_at(g, x + along_x(c), y + along_y(c), z + along_z(c), 2);
    uint bound = bound_of_list(features, from, first, step, &b, !fours, r->least_2 + two);
    bound = fours ? bound : bound_given;
    shrink_list(features, from, first, step, &b, upper_of(g, &b, bound), false, r->kept_2 + two,
                r->names_2 + most_2 * two, most_2);
    for (uint i = item; i < cells; i += GROUP) {
        uint cx = x + along_x(i), cy = y + along_y(i), cz = z + along_z(i);
        from = all;
        if (fours)
            from =
                choose(r->names_4 + FIELD_LIST_4 * (i >> 6), r->kept_4[i >> 6], FIELD_LIST_4, all);
        from = choose(r->names_2 + most_2 * (i >> 3), r->kept_2[i >> 3], most_2, from);
        store_cell(g, to, rule, cx, cy, cz,
                   measure_cell(g, features, from, exact, corners, cx, cy, cz));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* A unit of work, by its first cell: a block of 8 x 8 x 8, or an eighth of one whose list was too
 * long. */
typedef struct unit {
    uint x, y, z;
} unit;

static inline unit unit_of(const field_grid *g, uint i, uint side,
                           __global const uint *long_blocks) {
    block_place p = place_of(g, side == 8 ? i : long_blocks[i / 8], 8);
    unit u = {8 * p.x, 8 * p.y, 8 * p.z};
    if (side == 4) {
        u.x += 4 * (i & 1);
        u.y += 4 * (i >> 1 & 1);
        u.z += i & 4;
    }
    return u;
}

/* Stores cells that are all beyond the band, or all uncertain. */
static inline void store_block(const field_grid *g, results *to, inside_rule rule, uint side,
                               unit u, float value) {
    for (uint i = (uint)get_local_id(0); i < side * side * side; i += GROUP)
        store_cell(g, to, rule, u.x + along_x(i), u.y + along_y(i), u.z + along_z(i), value);
}

/* side: 8 for all blocks, 4 for the eighths of those whose lists were too long. A unit whose list
 * is too long is appended to `next`, if there is space. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_cells(__global const float4 *features, __global const double2 *exact,
            __global const double *corners, field_grid g, uint side, uint slices,
            __global const uint2 *lists, uint from, __global const uint *bounds, uint level_4,
            __global const uint *cut_bounds, __global const uint *pool,
            __global const uint *long_blocks, uint long_max, __global uint *next, uint next_max,
            __global const float *coarse, __global const float *fine, float facing,
            __global float *values, __global uint *doubts, uint doubts_max,
            volatile __global uint *counters, __local uint *room) {
    block_room r;
    r.names = room;
    r.names_4 = r.names + FIELD_LIST;
    r.names_2 = r.names_4 + 8 * FIELD_LIST_4;
    r.kept_4 = r.names_2 + 64 * FIELD_LIST_2;
    r.least_2 = r.kept_4 + 8;
    r.kept_2 = r.least_2 + 64;
    results to = {values, doubts, doubts_max, counters, ABUT_NONE, ABUT_NONE};
    uint item = (uint)get_local_id(0), c = (item & 7) << 6;
    uint count =
        side == 8 ? (uint)get_num_groups(0) : 8 * min(counters[FIELD_COUNT_LONG_8], long_max);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        unit u = unit_of(&g, i, side, long_blocks);
        if (u.x >= g.count[0] || u.y >= g.count[1] || u.z >= g.count[2])
            continue;
        inside_rule rule = rule_of(&g, coarse, fine, facing, u.x, u.y, u.z);
        __global const uint2 *list = lists + from + i * slices;
        uint length = 0;
        for (uint k = 0; k < slices; k++)
            length += list[k].y;
        if (length > FIELD_LIST) {
            __local uint *place = r.kept_4;
            if (item == 0)
                *place = atomic_inc(&counters[side == 8 ? FIELD_COUNT_LONG_8 : FIELD_COUNT_LONG_4]);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (*place >= next_max)
                store_block(&g, &to, rule, side, u, UNCERTAIN);
            else if (item == 0)
                next[*place] = i;
            barrier(CLK_LOCAL_MEM_FENCE);
            continue;
        }
        if (length == 0) {
            store_block(&g, &to, rule, side, u, g.reach < INFINITY ? (float)g.band : UNCERTAIN);
            continue;
        }
        load_list(pool, list, slices, r.names);
        uint part =
            block_at(&g, 4, (u.x + along_x(c)) / 4, (u.y + along_y(c)) / 4, (u.z + along_z(c)) / 4);
        uint bound = part == ABUT_NONE ? 0 : bounds[level_4 + part];
        if (side == 4)
            bound = cut_bounds[8 * i + (item & 7)];
        measure_block(&g, features, &r, side, length, u.x, u.y, u.z, bound, exact, corners, &to,
                      rule);
    }
    reduce_extremes(&to, r.kept_4);
}

/* ---- few cells with long lists ---- */

/* Feature index i of a list: in local memory if at most FIELD_FEW are needed, otherwise in the
 * pool. */
static inline uint name_at(__local const uint *few, __global const uint *names, bool fits, uint i) {
    return fits ? few[i] : names[i];
}

/* Eighths of blocks of 4 x 4 x 4 cells whose lists were too long: 16 work-items per cell. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_few(__global const float4 *features, __global const double2 *exact,
          __global const double *corners, field_grid g, __global const uint2 *cut_lists,
          __global const uint *cut_bounds, __global const uint *pool,
          __global const uint *long_blocks, __global const uint *longer, uint longer_max,
          __global const float *coarse, __global const float *fine, float facing,
          __global float *values, __global uint *doubts, uint doubts_max,
          volatile __global uint *counters, __local double *room) {
    __local double *distances = room;
    __local uint *least = (__local uint *)(distances + GROUP), *kept = least + 8, *few = kept + 8;
    results to = {values, doubts, doubts_max, counters, ABUT_NONE, ABUT_NONE};
    uint item = (uint)get_local_id(0), lane = item % LANES, cell = item / LANES;
    uint count = 8 * min(counters[FIELD_COUNT_LONG_4], longer_max);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        uint name = longer[i / 8], child = i & 7;
        unit u = unit_of(&g, name, 4, long_blocks);
        u.x += 2 * (child & 1);
        u.y += child & 2;
        u.z += (child & 4) / 2;
        uint2 list = cut_lists[name];
        __global const uint *names = pool + list.x;
        box b = box_at(&g, u.x, u.y, u.z, 2);
        float upper = upper_of(&g, &b, cut_bounds[8 * name + child]);
        if (item < 9)
            least[item] = item < 8 ? as_uint(INFINITY) : 0; /* also clears *kept */
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = item; k < list.y; k += GROUP) {
            feature f = load_feature(features, names[k]);
            if (!is_needed(&f, &b, upper))
                continue;
            uint place = atomic_inc(kept);
            if (place < FIELD_FEW)
                few[place] = names[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bool fits = *kept <= FIELD_FEW, low = false;
        uint length = fits ? *kept : list.y;
        uint x = u.x + (cell & 1), y = u.y + (cell >> 1 & 1), z = u.z + (cell >> 2);
        double3 p = centre_of(&g, x, y, z);
        float4 at = middle_of(&g, x, y, z, 1);
        float bound = INFINITY, margin = g.margin;
        for (uint k = lane; k < length; k += LANES) {
            feature f = load_feature(features, name_at(few, names, fits, k));
            look l = look_at(&f, at);
            bound = fmin(bound, feature_bound_sq(&l, margin));
        }
        atomic_min(&least[cell], as_uint(bound));
        barrier(CLK_LOCAL_MEM_FENCE);
        float reach_sq = reach_of(&g, as_float(least[cell]));
        double d = INFINITY;
        for (uint k = lane; k < length; k += LANES) {
            uint one = name_at(few, names, fits, k);
            feature f = load_feature(features, one);
            look l = look_at(&f, at);
            float out = feature_outside(&l);
            if (out <= margin && l.distance_sq <= reach_sq)
                d = fmin(d, field_measure(exact, corners, g.scale, one, out > -margin, p, &low));
        }
        distances[item] = low ? -1.0 : d;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 1; lane == 0 && k < LANES; k++)
            d = fmin(d, distances[item + k]);
        if (lane == 0) {
            low = low || d < 0.0;
            bool beyond = !low && d == INFINITY && g.reach < INFINITY;
            store_cell(&g, &to, rule_of(&g, coarse, fine, facing, u.x, u.y, u.z), x, y, z,
                       beyond ? (float)g.band : value_of(&g, d, low));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    reduce_extremes(&to, least);
}

#endif
