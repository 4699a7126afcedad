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
 * Sign: the winding number of each cell stands in its place before (field_rows.cl). Of a surface
 * with a border the number there is what a row crosses, N, and the generalised winding number is
 * N - S, where S is the solid angle, over 4 pi, of the strips from the border along the row
 * (abuti_bvh_crossing_open). Where there is no surface between two cells it changes by at most the
 * sum of length / (4 pi distance^2) over the edges of the border times the way. So a whole block,
 * or a row of eight cells, or a single cell, has its sign unless the number may be within 0.02 of
 * 0.5; the fast number that counts is within 0.01 of the true one. What is left is left to the
 * search.
 */
#include "base/math_shared.h"
#include "field/grid_kernel.h"

#if ABUTI_REAL_BITS == 64

/* As in device_cells.c: features of a list in local memory, and names for 4^3 and 2^3 cells. */
#define LIST 320
#define LIST_4 128
#define LIST_2 24
#define CELLS 512

#define BORDER_DOUBT 0.02f
#define POINT_ERROR 0x1p-20f /* of positions in the frame, as floats */

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
    barrier(CLK_LOCAL_MEM_FENCE);
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

/* A bound for the middle of a part, from the parent's list. */
static inline float bound_part(__global const float4 *features, __global const uint *names,
                               uint count, const box *b, __local uint *least) {
    float bound = INFINITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        *least = as_uint(INFINITY);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = (uint)get_local_id(0); i < count; i += GROUP) {
        feature f = load_feature(features, names[i]);
        look l = look_at(&f, b->middle);
        bound = fmin(bound, bound_sq(&l, b->margin));
    }
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

/* The cells of a part from number `first` on, whose list has `count` features. */
static inline void measure_part(const field_grid *g, const block_room *r, uint first, uint side,
                                uint count, uint x, uint y, uint z, __global const double2 *exact,
                                __global const double *corners) {
    uint item = (uint)get_local_id(0), cells = side * side * side;
    short_list all = {(__local const ushort *)0, count};
    if (side == 8) {
        uint c = (item & 7) << 6;
        box b = box_at(g, x + along_x(c), y + along_y(c), z + along_z(c), 4);
        shrink(g, &r->list, all, item / 8, GROUP / 8, &b, true, r->least_4 + (item & 7),
               r->kept_4 + (item & 7), r->places_4 + LIST_4 * (item & 7), LIST_4);
    }
    if (side >= 4) {
        /* 16 items for each 4^3 cells, two for each 2^3 of them; of a small part half of a 16 */
        uint part = side == 8 ? item / 16 : 0, c = first + (part << 6) + ((item & 7) << 3);
        uint box_number = part * 8 + (item & 7);
        short_list from = all;
        if (side == 8)
            from = choose(r->places_4 + LIST_4 * part, r->kept_4[part], LIST_4, all);
        box b = box_at(g, x - along_x(first) + along_x(c), y - along_y(first) + along_y(c),
                       z - along_z(first) + along_z(c), 2);
        uint step = side == 8 ? 2 : GROUP / 8, begin = side == 8 ? item >> 3 & 1 : item / 8;
        shrink(g, &r->list, from, begin, step, &b, true, r->least_2 + box_number,
               r->kept_2 + box_number, r->places_2 + LIST_2 * box_number, LIST_2);
    }
    for (uint i = item; i < cells; i += GROUP) {
        short_list from = all;
        if (side == 8)
            from = choose(r->places_4 + LIST_4 * (i >> 6), r->kept_4[i >> 6], LIST_4, all);
        if (side >= 4)
            from = choose(r->places_2 + LIST_2 * (i >> 3), r->kept_2[i >> 3], LIST_2, from);
        uint c = first + i, cx = along_x(c), cy = along_y(c), cz = along_z(c);
        r->values[cx + 8 * cy + 64 * cz] =
            measure_cell(g, &r->list, from, exact, corners, x - along_x(first) + cx,
                         y - along_y(first) + cy, z - along_z(first) + cz);
    }
}

/* All cells of the block at (x, y, z); parts whose lists are too long are cut, down to 2^3 cells,
 * and left then. */
static inline void measure_block(const field_grid *g, const block_room *r, uint x, uint y, uint z,
                                 __global const float4 *features, __global const uint *names,
                                 uint count, float distance, __global const double2 *exact,
                                 __global const double *corners) {
    uint item = (uint)get_local_id(0), first = 0, side = 8;
    while (first < CELLS) {
        uint px = x + along_x(first), py = y + along_y(first), pz = z + along_z(first);
        box b = box_at(g, px, py, pz, side);
        float near = side == 8 ? distance : bound_part(features, names, count, &b, r->numbers);
        uint kept =
            fill_list(&r->list, features, names, count, &b, upper_of(g, &b, near), r->numbers + 1);
        if (kept > LIST && side > 2) {
            side /= 2;
            continue;
        }
        if (kept <= LIST)
            measure_part(g, r, first, side, kept, px, py, pz, exact, corners);
        else if (item < 8)
            r->values[along_x(first + item) + 8 * along_y(first + item) +
                      64 * along_z(first + item)] = DOUBT;
        first += side * side * side;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* ---- signs of surfaces with a border ---- */

/* S and what it may be wrong by, here and at another place some way off. */
typedef struct strips {
    float sum, wrong, slope;
} strips;

#define PER_TURN 0.0795774715f /* 1 / (4 pi) */

/* Adds an edge, from `from` to `to`, as seen from a place; no place that matters is further than
 * `way` from there. */
static inline void add_strip(strips *s, float4 from, float4 to, float4 at, float way) {
    float4 a = to - at, b = from - at, e = to - from;
    float aa = dot_f(a, a), bb = dot_f(b, b), ee = dot_f(e, e);
    float length_a = sqrt(aa), length_b = sqrt(bb), length = sqrt(ee);
    float across_a = fma(a.y, a.y, a.z * a.z), across_b = fma(b.y, b.y, b.z * b.z);
    float beside_a = a.x >= 0.0f ? length_a + a.x : across_a / (length_a - a.x);
    float beside_b = b.x >= 0.0f ? length_b + b.x : across_b / (length_b - b.x);
    float volume = fma(a.y, b.z, -(a.z * b.y));
    float rest = fma(beside_a, beside_b, fma(a.y, b.y, a.z * b.z));
    s->sum += 2.0f * PER_TURN * atan2(volume, rest);
    /* the nearest point of the edge, less than it is */
    float t = ee > 0.0f ? clamp(-dot_f(b, e) / ee, 0.0f, 1.0f) : 0.0f;
    float4 q = (float4)(fma(t, e.x, b.x), fma(t, e.y, b.y), fma(t, e.z, b.z), 0.0f);
    float away = sqrt(dot_f(q, q)) * 0.9999f - way - 8.0f * POINT_ERROR;
    s->slope += away > 0.0f ? 1.0001f * PER_TURN * length / (away * away) : INFINITY;
    /* Positions are off by POINT_ERROR, which the slope knows, unless the row passes the edge on
     * the other side then, which makes a whole turn where the edge's strip meets the row. */
    float doubt = 4.0f * POINT_ERROR * (sqrt(across_a) + sqrt(across_b) + POINT_ERROR);
    float size = fma(beside_a, beside_b, sqrt(across_a * across_b));
    bool turns = fabs(volume) <= doubt && rest <= 8.0f * POINT_ERROR * (length_a + length_b);
    s->wrong += turns ? 1.0f : 0x1p-20f * size / fmax(fabs(volume), fabs(rest));
}

/* 1 inside, 0 outside, -1 where that is not known. `winding`: N less S. */
static inline int side_of(float winding, float wrong, float facing) {
    float w = winding * facing - 0.5f;
    return fabs(w) > wrong + BORDER_DOUBT ? w > 0.0f : -1; /* nor for NAN */
}

typedef struct border_edges {
    __global const float4 *ends;
    uint count;
    float facing;
} border_edges;

static inline strips strips_at(const border_edges *b, uint first, uint step, float4 at, float way) {
    strips s = {0.0f, 0.0f, 0.0f};
    for (uint i = first; i < b->count; i += step)
        add_strip(&s, b->ends[2 * i], b->ends[2 * i + 1], at, way);
    return s;
}

/* Sums of all items: three floats each in local memory. */
static inline strips add_strips(strips mine, __local float *sums) {
    uint item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] = mine.sum;
    sums[GROUP + item] = mine.wrong;
    sums[2 * GROUP + item] = mine.slope;
    for (uint away = GROUP / 2; away > 0; away /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < away)
            for (uint k = 0; k < 3; k++)
                sums[k * GROUP + item] += sums[k * GROUP + item + away];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    strips s = {sums[0], sums[GROUP], sums[2 * GROUP]};
    return s;
}

/* The side of all cells of a block at once, or -1. `clear`: no surface is in the block. */
static inline int side_of_block(const field_grid *g, const border_edges *border, bool clear, uint x,
                                uint y, uint z, __global const int *windings, const block_room *r) {
    uint ix = min(4u, g->count[0] - x - 1), iy = min(4u, g->count[1] - y - 1),
         iz = min(4u, g->count[2] - z - 1);
    float way = 6.93f * g->step, here = r->values[ix + 8 * iy + 64 * iz] * (float)g->scale;
    if (!clear && !(here > 1.01f * way + g->margin))
        return -1;
    float4 at = middle_of(g, x + ix, y + iy, z + iz, 1);
    strips s = add_strips(strips_at(border, (uint)get_local_id(0), GROUP, at, way),
                          (__local float *)r->places_2);
    size_t place = x + ix + (size_t)g->count[0] * (y + iy + (size_t)g->count[1] * (z + iz));
    return side_of((float)windings[place] - s.sum, s.wrong + s.slope * (way + 2.0f * POINT_ERROR),
                   border->facing);
}

/* S and its error for the 64 rows of a block: 128 floats of local memory. */
static inline void strips_of_rows(const field_grid *g, const border_edges *border, uint x, uint y,
                                  uint z, __local float *sums) {
    uint item = (uint)get_local_id(0), row = item % 64;
    float way = 4.0f * g->step;
    float4 at = middle_of(g, x + 4, y + row % 8, z + row / 8, 1);
    strips s = strips_at(border, item / 64, GROUP / 64, at, way);
    s.wrong += s.slope * (way + 2.0f * POINT_ERROR);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 64) {
        sums[item] = s.sum;
        sums[64 + item] = s.wrong;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 64) {
        sums[row] += s.sum;
        sums[64 + row] += s.wrong;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline int side_of_cell(const field_grid *g, const border_edges *border, uint x, uint y,
                               uint z, int winding) {
    strips s = strips_at(border, 0, 1, middle_of(g, x, y, z, 1), 0.0f);
    return side_of((float)winding - s.sum, s.wrong + s.slope * 2.0f * POINT_ERROR, border->facing);
}

/* ---- all ---- */

/* Words that sort like their floats. */
static inline uint sortable(float x) {
    uint bits = as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* counters: cells in doubt, blocks that are left, the least value and the complement of the
 * greatest as words that sort alike. A cell in doubt goes to `doubts`, or where these are full its
 * whole block to `left`. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_cells(__global const float4 *features, __global const double2 *exact,
            __global const double *corners, field_grid g, __global const uint2 *lists,
            __global const float *bounds, __global const uint *pool,
            __global const float4 *border_ends, uint border_count, float facing,
            __global float *values, __global uint *doubts, uint doubts_most, __global uint *left,
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
    __global const int *windings = (__global const int *)values;
    border_edges border = {border_ends, border_count, facing};
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    block_place p = place_of(&g, block, 8);
    uint x = 8 * p.x, y = 8 * p.y, z = 8 * p.z;
    uint2 list = lists[block_at(&g, 16, p.x / 2, p.y / 2, p.z / 2)];
    if (list.y == NONE || (list.y == 0 && !(g.reach < INFINITY))) {
        if (item == 0)
            left[atomic_inc(&counters[1])] = block;
        return;
    }
    if (list.y == 0) {
        for (uint i = item; i < CELLS; i += GROUP)
            r.values[i] = (float)g.band;
        barrier(CLK_LOCAL_MEM_FENCE);
    } else {
        measure_block(&g, &r, x, y, z, features, pool + list.x, list.y, bounds[block], exact,
                      corners);
    }
    int side = -1;
    __local float *sums = (__local float *)r.places_2;
    if (border.count) {
        side = side_of_block(&g, &border, list.y == 0, x, y, z, windings, &r);
        if (side < 0)
            strips_of_rows(&g, &border, x, y, z, sums);
    }
    if (item < 4)
        r.numbers[item] = item == 0 ? 0u : NONE; /* full, and two minima */
    barrier(CLK_LOCAL_MEM_FENCE);
    uint least = NONE, most = NONE;
    for (uint i = item; i < CELLS; i += GROUP) {
        uint cx = x + i % 8, cy = y + i / 8 % 8, cz = z + i / 64;
        if (cx >= g.count[0] || cy >= g.count[1] || cz >= g.count[2])
            continue;
        size_t at = cx + (size_t)g.count[0] * (cy + (size_t)g.count[1] * cz);
        int winding = windings[at], inside = border.count ? side : winding != 0;
        if (inside < 0)
            inside = side_of((float)winding - sums[i / 8], sums[64 + i / 8], facing);
        if (inside < 0)
            inside = side_of_cell(&g, &border, cx, cy, cz, winding);
        float value = r.values[i];
        if (isnan(value) || inside < 0) {
            uint to = atomic_inc(&counters[0]);
            if (to < doubts_most)
                doubts[to] = (uint)at;
            else
                r.numbers[0] = 1;
            continue;
        }
        value = inside ? -value : value;
        values[at] = value;
        least = min(least, sortable(value));
        most = min(most, ~sortable(value));
    }
    atomic_min(&r.numbers[1], least);
    atomic_min(&r.numbers[2], most);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        if (r.numbers[0])
            left[atomic_inc(&counters[1])] = block;
        atomic_min(&counters[2], r.numbers[1]);
        atomic_min(&counters[3], r.numbers[2]);
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
