/* Values of cells: blocks of 8 x 8 x 8 cells, a group each.
 *
 * Method: the group filters the list of the block that its own is an eighth of (field_lists.cl)
 * into local memory, filters that for every 4 x 4 x 4 cells, and what is left for every 2 x 2 x 2;
 * of a scanned model some 220, 60 and 8 features remain. Each item then looks at the short list for
 * its cells. Where a list does not fit, a smaller part of the block is tried.
 *
 * The last step is in doubles. Floats leave the features that may be nearest, mostly one, of which
 * field_measure() gives the distance: that to a vertex, that to an edge by its unit vector, and
 * that to the plane of a face by its unit normal, if the foot is inside the face. The one nearest
 * to the cell in truth is among them: regions.cl proves that, but for faces that are too low to be
 * features, whose edges and corners are marked; a cell to which one of these may be nearest is left
 * to the search.
 * Error. With u = 2^-53 and L the largest coordinate difference of a cell and the mesh:
 *   - p - a is off by u L on each axis; unit vectors by 4 u, beside which a normal may turn about
 *     the longest side of its face by 4 u L / h (h is its height), which moves the plane by no more
 *     than 4 u L anywhere over the face, since that is at most h wide there;
 *   - sums of three products add 3 u each, twice for an edge, and the root 1 u.
 * With |p - a| up to 1.74 L all this is below 24 u L. That of the search is below 8 u L
 * (docs/geom.md: 4 ulp). So if e = 64 u L = 2^-47 L, and d - e and d + e are one float, it is the
 * search's. Otherwise the cell is left to the search: one in a hundred thousand or so.
 *
 * Sign: what field_rows.cl and field_sides.cl have left in the place of each value: 0 outside, and
 * DOUBTFUL where that is not known.
 */
#include "base/math_shared.h"
#include "field/grid_kernel.h"

#if ABUTI_REAL_BITS == 64

/* As in device_cells.c: features of a list in local memory, and names for 4^3 and 2^3 cells. */
#define LIST 320
#define LIST_4 128
#define LIST_2 24
#define CELLS 512
#define CUT_MOST (32 * LIST) /* longer lists are left to the search without more ado */

/* As in field_sides.cl. */
#define DOUBTFUL (-0x7fffffff - 1)

/* Of a feature, in doubles; as feature_exact of device.h. */
#define EXACT_FACE 1u
#define EXACT_LOW 2u /* beside a face that is none */

/* ---- places in a block ---- */

/* Cells of a block are numbered along a curve: 2^3, 4^3 and 8^3 cells have numbers in a row. */
static inline uint along_x(uint c) {
    return (c & 1) | (c >> 2 & 2) | (c >> 4 & 4);
}

static inline uint along_y(uint c) {
    return along_x(c >> 1);
}

static inline uint along_z(uint c) {
    return along_x(c >> 2);
}

/* ---- the lists in local memory ---- */

typedef struct local_list {
    __local float4 *place, *first, *second, *fourth;
    __local uint *names;
} local_list;

static inline feature local_feature(const local_list *l, uint i) {
    feature f = {l->place[i], l->first[i], l->second[i], l->fourth[i]};
    return f;
}

/* Some of them: all where `places` is null. */
typedef struct short_list {
    __local const ushort *places;
    uint count;
} short_list;

static inline uint short_at(const short_list *s, uint i) {
    return s->places ? s->places[i] : i;
}

/* Fills the list from the parent's; gives how many there are, of which LIST have been stored. */
static inline uint fill_list(const local_list *l, __global const float4 *features,
                             __global const uint *names, uint count, const box *b, float upper,
                             __local uint *kept) {
    uint item = (uint)get_local_id(0);
    if (item == 0)
        *kept = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < count; i += GROUP) {
        uint name = names[i];
        feature f = load_feature(features, name);
        if (!is_needed(&f, b, upper))
            continue;
        uint to = atomic_inc(kept);
        if (to >= LIST)
            continue;
        l->place[to] = f.place;
        l->first[to] = f.first;
        l->second[to] = f.second;
        l->fourth[to] = f.fourth;
        l->names[to] = name;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return *kept;
}

/* A bound for the middle of a part, from the parent's list; none where `count` is 0. */
static inline float bound_part(__global const float4 *features, __global const uint *names,
                               uint count, const box *b, __local uint *least) {
    float bound = INFINITY;
    if (get_local_id(0) == 0)
        *least = as_uint(INFINITY);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = (uint)get_local_id(0); i < count; i += GROUP) {
        feature f = load_feature(features, names[i]);
        look l = look_at(&f, b->middle);
        bound = fmin(bound, bound_sq(&l, b->margin));
    }
    if (count)
        atomic_min(least, as_uint(bound));
    barrier(CLK_LOCAL_MEM_FENCE);
    return sqrt(as_float(*least)) * SLACK;
}

/* Shrinks a list for a smaller box: every `step`-th feature from `first` on is this item's. All
 * items of a group come here. `least` and `kept` belong to the box; `to` has room for `most`. */
static inline void shrink(const field_grid *g, const local_list *l, short_list from, uint first,
                          uint step, const box *b, bool is_needed_here, __local uint *least,
                          __local uint *kept, __local ushort *to, uint most) {
    float bound = INFINITY;
    if (first == 0 && is_needed_here) {
        *least = as_uint(INFINITY);
        *kept = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = first; is_needed_here && i < from.count; i += step) {
        feature f = local_feature(l, short_at(&from, i));
        look look_here = look_at(&f, b->middle);
        bound = fmin(bound, bound_sq(&look_here, b->margin));
    }
    if (is_needed_here)
        atomic_min(least, as_uint(bound));
    barrier(CLK_LOCAL_MEM_FENCE);
    float upper = upper_of(g, b, sqrt(as_float(*least)) * SLACK);
    for (uint i = first; is_needed_here && i < from.count; i += step) {
        uint place = short_at(&from, i);
        feature f = local_feature(l, place);
        if (!is_needed(&f, b, upper))
            continue;
        uint at = atomic_inc(kept);
        if (at < most)
            to[at] = (ushort)place;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* ---- doubles ---- */

/* Whether the foot of a point on the plane of a triangle is inside it. Where rounding decides, the
 * edge is as near. */
static inline bool is_over(__global const double *c, double3 p, double3 n) {
    double3 a = (double3)(c[0], c[1], c[2]), b = (double3)(c[3], c[4], c[5]),
            d = (double3)(c[6], c[7], c[8]);
    double u = dot(cross(b - a, p - a), n), v = dot(cross(d - b, p - b), n),
           w = dot(cross(a - d, p - d), n);
    return (u >= 0.0 && v >= 0.0 && w >= 0.0) || (u <= 0.0 && v <= 0.0 && w <= 0.0);
}

/* The distance of a point to a feature, in the frame; infinite where it cannot be nearest. `low`
 * becomes true where that is not known. */
static inline double field_measure(__global const double2 *exact, __global const double *corners,
                                   double scale, uint name, bool at_border, double3 p, bool *low) {
    __global const double2 *e = exact + 4 * (size_t)name;
    double2 e0 = e[0], e1 = e[1], e2 = e[2], e3 = e[3];
    uint2 what = as_uint2(e3.y); /* of a face its triangle, and what it is */
    double x = (p.x - e0.x) * scale, y = (p.y - e0.y) * scale, z = (p.z - e1.x) * scale;
    double along = e2.x * x + e2.y * y + e3.x * z;
    *low = *low || (what.y & EXACT_LOW);
    if (what.y & EXACT_FACE) {
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

/* What a cell gets instead of a distance. */
#define DOUBT NAN

/* The distance of a cell as a float, clamped to the band, or DOUBT. */
static inline float measure_cell(const field_grid *g, const local_list *l, short_list from,
                                 __global const double2 *exact, __global const double *corners,
                                 uint x, uint y, uint z) {
    double3 p = (double3)(g->origin[0] + g->cell * x, g->origin[1] + g->cell * y,
                          g->origin[2] + g->cell * z);
    float4 at = (float4)((float)((p.x - g->mesh_origin[0]) * g->scale),
                         (float)((p.y - g->mesh_origin[1]) * g->scale),
                         (float)((p.z - g->mesh_origin[2]) * g->scale), 0.0f);
    float margin = g->margin, bound = INFINITY, low_sq = INFINITY, second_sq = INFINITY;
    float low_outside = 0.0f;
    uint winner = NONE;
    for (uint i = 0; i < from.count; i++) {
        uint place = short_at(&from, i);
        feature f = local_feature(l, place);
        look k = look_at(&f, at);
        float out = outside_of(&k), distance_sq = out > margin ? INFINITY : k.distance_sq;
        bound = fmin(bound, k.face && out > -margin ? INFINITY : k.distance_sq);
        bool best = distance_sq < low_sq;
        second_sq = fmin(second_sq, best ? low_sq : distance_sq);
        winner = best ? place : winner;
        low_outside = best ? out : low_outside;
        low_sq = best ? distance_sq : low_sq;
    }
    float reach = fmin(sqrt(bound) + 2.0f * margin, g->reach + 4.0f * margin);
    float reach_sq = reach * reach * SLACK;
    bool has_band = g->reach < INFINITY;
    if (winner == NONE || low_sq > reach_sq)
        return has_band ? (float)g->band : DOUBT;
    bool low = false;
    double d;
    if (second_sq > reach_sq) {
        d = field_measure(exact, corners, g->scale, l->names[winner], low_outside > -margin, p,
                          &low);
    } else {
        d = INFINITY;
        for (uint i = 0; i < from.count; i++) {
            uint place = short_at(&from, i);
            feature f = local_feature(l, place);
            look k = look_at(&f, at);
            float out = outside_of(&k);
            if (out <= margin && k.distance_sq <= reach_sq)
                d = fmin(d, field_measure(exact, corners, g->scale, l->names[place], out > -margin,
                                          p, &low));
        }
    }
    double e = (double)margin * 0x1p-28; /* 2^-47 times the largest coordinate and 2 */
    double per_scale = 1.0 / g->scale;
    float least = (float)fmin((d - e) * per_scale, g->band),
          most = (float)fmin((d + e) * per_scale, g->band);
    return low || !(d < INFINITY) || least != most || !(least >= FLT_MIN) ? DOUBT : least;
}

/* ---- a block's distances ---- */

typedef struct block_room {
    local_list list;
    __local ushort *places_4, *places_2;
    __local uint *least_4, *kept_4, *least_2, *kept_2; /* 8, 8, 64, 64 */
    __local uint *numbers;                             /* 8 */
    __local float *values;                             /* CELLS, x fastest */
} block_room;

static inline short_list choose(__local const ushort *places, uint count, uint most,
                                short_list otherwise) {
    short_list s = {places, count};
    return count <= most ? s : otherwise;
}

/* The cells of a part at (x, y, z), from number `first` of the block on, whose list has `count`
 * features. Every item comes by every barrier: where side is too small for a step it does nothing.
 */
static inline void measure_part(const field_grid *g, const block_room *r, uint first, uint side,
                                uint count, bool fits, uint x, uint y, uint z,
                                __global const double2 *exact, __global const double *corners) {
    uint item = (uint)get_local_id(0), cells = side * side * side, eighth = item & 7;
    bool fours = fits && side == 8, twos = fits && side >= 4;
    short_list all = {(__local const ushort *)0, count};
    uint c = eighth << 6;
    box b = box_at(g, x + along_x(c), y + along_y(c), z + along_z(c), 4);
    shrink(g, &r->list, all, item / 8, GROUP / 8, &b, fours, r->least_4 + eighth,
           r->kept_4 + eighth, r->places_4 + LIST_4 * eighth, LIST_4);
    /* 16 items for each 4^3 cells, two for each 2^3 of them; or all for 4^3 */
    uint part = fours ? item / 16 : 0, two = part * 8 + eighth;
    short_list from = all;
    if (fours)
        from = choose(r->places_4 + LIST_4 * part, r->kept_4[part], LIST_4, all);
    c = two << 3;
    b = box_at(g, x + along_x(c), y + along_y(c), z + along_z(c), 2);
    shrink(g, &r->list, from, fours ? item >> 3 & 1 : item / 8, fours ? 2 : GROUP / 8, &b, twos,
           r->least_2 + two, r->kept_2 + two, r->places_2 + LIST_2 * two, LIST_2);
    for (uint i = item; i < cells; i += GROUP) {
        float value = DOUBT;
        uint cx = along_x(i), cy = along_y(i), cz = along_z(i);
        from = all;
        if (fours)
            from = choose(r->places_4 + LIST_4 * (i >> 6), r->kept_4[i >> 6], LIST_4, all);
        if (twos)
            from = choose(r->places_2 + LIST_2 * (i >> 3), r->kept_2[i >> 3], LIST_2, from);
        if (fits)
            value = measure_cell(g, &r->list, from, exact, corners, x + cx, y + cy, z + cz);
        c = first + i;
        r->values[along_x(c) + 8 * along_y(c) + 64 * along_z(c)] = value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* ---- all ---- */

/* Words that sort like their floats. */
static inline uint sortable(float x) {
    uint bits = as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* counters: cells in doubt, blocks that are left, the least value and the complement of the
 * greatest as words that sort alike. A cell in doubt goes to `doubts`, or where these are full its
 * whole block to `left`. Parts of a block whose lists are too long are cut, down to 2^3 cells, and
 * left then or where there is no hope. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_cells(__global const float4 *features, __global const double2 *exact,
            __global const double *corners, field_grid g, __global const uint2 *lists,
            __global const float2 *bounds, __global const uint *pool, __global float *values,
            __global uint *doubts, uint doubts_most, __global uint *left,
            volatile __global uint *counters, __local float4 *room) {
    block_room r;
    r.list.place = room;
    r.list.first = r.list.place + LIST;
    r.list.second = r.list.first + LIST;
    r.list.fourth = r.list.second + LIST;
    r.list.names = (__local uint *)(r.list.fourth + LIST);
    r.values = (__local float *)(r.list.names + LIST);
    r.least_4 = (__local uint *)(r.values + CELLS);
    r.kept_4 = r.least_4 + 8;
    r.least_2 = r.kept_4 + 8;
    r.kept_2 = r.least_2 + 64;
    r.numbers = r.kept_2 + 64;
    r.places_4 = (__local ushort *)(r.numbers + 8);
    r.places_2 = r.places_4 + 8 * LIST_4;
    __global const int *sides = (__global const int *)values;
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    block_place p = place_of(&g, block, 8);
    uint x = 8 * p.x, y = 8 * p.y, z = 8 * p.z;
    uint2 list = lists[block_at(&g, 16, p.x / 2, p.y / 2, p.z / 2)];
    bool has_band = g.reach < INFINITY;
    if (list.y == NONE || (list.y == 0 && !has_band)) {
        if (item == 0)
            left[atomic_inc(&counters[1])] = block;
        return;
    }
    if (item < 4)
        r.numbers[item + 4] = item == 0 ? 0u : NONE; /* whether doubts are full, and two minima */
    for (uint i = item; list.y == 0 && i < CELLS; i += GROUP)
        r.values[i] = (float)g.band;
    barrier(CLK_LOCAL_MEM_FENCE);
    __global const uint *names = pool + list.x;
    float distance = bounds[block].x;
    for (uint first = list.y ? 0 : CELLS, side = 8; first < CELLS;) {
        uint px = x + along_x(first), py = y + along_y(first), pz = z + along_z(first);
        box b = box_at(&g, px, py, pz, side);
        float near = bound_part(features, names, side == 8 ? 0 : list.y, &b, r.numbers);
        float upper = upper_of(&g, &b, side == 8 ? distance : near);
        uint kept = fill_list(&r.list, features, names, list.y, &b, upper, r.numbers + 1);
        bool fits = kept <= LIST, is_cut = !fits && side > 2 && kept <= CUT_MOST;
        measure_part(&g, &r, first, is_cut ? 0 : side, kept, fits, px, py, pz, exact, corners);
        side = is_cut ? side / 2 : side;
        first += is_cut ? 0 : side * side * side;
    }
    uint least = NONE, most = NONE;
    for (uint i = item; i < CELLS; i += GROUP) {
        uint cx = x + i % 8, cy = y + i / 8 % 8, cz = z + i / 64;
        if (cx >= g.count[0] || cy >= g.count[1] || cz >= g.count[2])
            continue;
        size_t at = cx + (size_t)g.count[0] * (cy + (size_t)g.count[1] * cz);
        int side = sides[at];
        float value = r.values[i];
        if (isnan(value) || side == DOUBTFUL) {
            uint to = atomic_inc(&counters[0]);
            if (to < doubts_most)
                doubts[to] = (uint)at;
            else
                r.numbers[4] = 1;
            continue;
        }
        value = side ? -value : value;
        values[at] = value;
        least = min(least, sortable(value));
        most = min(most, ~sortable(value));
    }
    atomic_min(&r.numbers[5], least);
    atomic_min(&r.numbers[6], most);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        if (r.numbers[4])
            left[atomic_inc(&counters[1])] = block;
        atomic_min(&counters[2], r.numbers[5]);
        atomic_min(&counters[3], r.numbers[6]);
    }
}

/* Writes values that came from the search. */
__kernel void field_put(__global const uint *cells, __global const float *from, uint count,
                        __global float *values) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        values[cells[i]] = from[i];
}

#endif
