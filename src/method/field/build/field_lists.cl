/* Feature lists for blocks of cells, from large blocks to small ones.
 *
 * Method: the largest blocks, 64 at most, test all features and keep those that can be nearest to a
 * point of the block (feature_cl.h). Smaller blocks filter the list of their parent, of which they
 * are an eighth. Lists near the centre of a solid are long. To balance the load, a list is made in
 * slices, one per work-group, and stays in slices. An atomic counter gives each slice its position
 * in a pool, so its length need not be known in advance. Each slice also measures the centres of
 * the block's eighths; together they bound the distances of the eighths for the next level. Only
 * the lists of two consecutive levels are needed at a time: even levels fill the pool from its
 * begin, odd ones backwards from its end. If the pool is full, slices are empty, but lengths are
 * still added up. The host then enlarges the pool and starts again. feature_cl.h
 * proves that no feature is lost.
 */
#include "field/build/grid_cl.h"

/* Approximate maximum number of features of a slice that bound the distances of eighths. In a long
 * list many are nearly as near as the nearest. */
#define BOUNDING_FEATURES_MAX 128

/* Points on the mesh that bound the distances of the largest blocks. */
#define SEED_SAMPLES_MAX 4096

/* ---- bounds of the largest blocks ---- */

/* Squared distances, as words, to the nearest base point of some features. One work-group per
 * block. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_seed(__global const float4 *features, uint feature_count, field_grid g, uint side,
           __global uint *bounds, __local uint *least) {
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    uint step = max(1u, feature_count / SEED_SAMPLES_MAX);
    block_place p = place_of(&g, block, side);
    float4 at = middle_of(&g, p.x * side, p.y * side, p.z * side, side);
    float bound = INFINITY;
    if (item == 0)
        *least = as_uint(INFINITY);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = (ulong)item * step; i < feature_count; i += (ulong)GROUP * step) {
        float4 away = features[4 * i] - at;
        bound = fmin(bound, dot_f(away, away));
    }
    atomic_min(least, as_uint(bound));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        bounds[block] = *least;
}

/* ---- filtering ---- */

/* The pool entries of the previous level, which is complete. */
static inline uint used_by_previous_level(uint turn, uint pool_size,
                                          volatile __global uint *counters) {
    __global const uint *entries = (__global const uint *)counters + FIELD_COUNT_ENTRIES;
    return turn ? min(entries[turn - 1], pool_size) : 0;
}

/* Reserves `count` entries of a level. Returns their begin, or ABUT_NONE. Called by one work-item.
 */
static inline uint reserve_entries(uint count, uint turn, uint taken, uint pool_size,
                                   volatile __global uint *counters) {
    uint chunks = (count + FIELD_CHUNK - 1) / FIELD_CHUNK;
    if (count == 0)
        return 0;
    if (atomic_add(&counters[FIELD_COUNT_CHUNKS], chunks) >
        FIELD_CHUNKS_MAX - min(chunks, FIELD_CHUNKS_MAX))
        return ABUT_NONE;
    uint begin = atomic_add(&counters[FIELD_COUNT_ENTRIES + turn], count);
    if (count > pool_size - taken || begin > pool_size - taken - count)
        return ABUT_NONE;
    return turn & 1 ? pool_size - begin - count : begin;
}

/* The input of a slice: all features from `first` on, or slices of a list in the pool. */
typedef struct source {
    __global const float4 *features;
    __global const uint2 *slices; /* null: all features */
    uint first, count;
} source;

static inline uint list_length(__global const uint2 *slices, uint count) {
    uint length = 0;
    for (uint k = 0; k < count; k++)
        length += slices[k].y;
    return length;
}

/* The box for which a slice is made, and its destination. */
typedef struct target {
    box bounding;
    float upper;
    __global uint *pool;
    uint pool_size, turn, taken; /* turn: index of the level */
    volatile __global uint *counters;
    __local uint *kept, *begin, *least, *staged; /* 1, 1, 8, FIELD_STAGED */
} target;

static inline target target_of(box b, float upper, __global uint *pool, uint pool_size, uint turn,
                               volatile __global uint *counters, __local uint *room) {
    target t = {b,
                upper,
                pool,
                pool_size,
                turn,
                used_by_previous_level(turn, pool_size, counters),
                counters,
                room,
                room + 1,
                room + 2,
                room + FIELD_NUMBERS};
    return t;
}

static inline void keep_if_needed(const source *s, const target *t, uint name, uint to) {
    feature f = load_feature(s->features, name);
    if (!is_needed(&f, &t->bounding, t->upper))
        return;
    uint place = atomic_inc(t->kept);
    if (to != ABUT_NONE)
        t->pool[to + place] = name;
    else if (place < FIELD_STAGED)
        t->staged[place] = name;
}

/* Keeps the needed features: the first FIELD_STAGED of them in local memory, or all in the pool
 * from `to` on. Returns their number. */
static inline uint keep_all(const source *s, const target *t, uint to) {
    uint item = (uint)get_local_id(0);
    if (item == 0)
        *t->kept = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (s->slices) {
        for (uint k = s->first; k < s->first + s->count; k++) {
            uint2 slice = s->slices[k];
            uint name = item < slice.y ? t->pool[slice.x + item] : 0;
            for (uint i = item; i < slice.y; i += GROUP) {
                uint next = i + GROUP < slice.y ? t->pool[slice.x + i + GROUP] : 0;
                keep_if_needed(s, t, name, to);
                name = next;
            }
        }
    } else {
        for (uint i = item; i < s->count; i += GROUP)
            keep_if_needed(s, t, s->first + i, to);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *t->kept;
}

/* Makes a slice, and bounds the centres of eight boxes with it: work-item 8 k + i measures `at` for
 * box i, whose bound is at `bound` unless that is ABUT_NONE. */
static inline uint2 make_slice(const source *s, const target *t, float4 at, __global uint *bounds,
                               uint bound) {
    uint item = (uint)get_local_id(0), child = item & 7;
    if (item < 8)
        t->least[item] = as_uint(INFINITY);
    uint count = keep_all(s, t, ABUT_NONE);
    if (item == 0)
        *t->begin = reserve_entries(count, t->turn, t->taken, t->pool_size, t->counters);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint begin = *t->begin;
    bool is_staged = count <= FIELD_STAGED;
    if (begin == ABUT_NONE)
        return (uint2)(0, 0);
    if (!is_staged)
        keep_all(s, t, begin);
    for (uint i = item; is_staged && i < count; i += GROUP)
        t->pool[begin + i] = t->staged[i];
    float best = INFINITY;
    uint step = 1 + count / BOUNDING_FEATURES_MAX;
    for (uint i = item / 8 * step; i < count; i += GROUP / 8 * step) {
        feature f = load_feature(s->features, is_staged ? t->staged[i] : t->pool[begin + i]);
        look l = look_at(&f, at);
        best = fmin(best, feature_bound_sq(&l, t->bounding.margin));
    }
    atomic_min(&t->least[child], as_uint(best));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 8 && bound != ABUT_NONE)
        atomic_min((volatile __global uint *)&bounds[bound], t->least[item]);
    return (uint2)(begin, count);
}

/* The slice of a block of a level. `level` and `eighths` are the offsets of the bounds of the level
 * and of its eighths. */
static inline uint2 make_level_slice(const source *s, const field_grid *g, uint side, block_place p,
                                     uint block, __global uint *bounds, uint level, uint eighths,
                                     __global uint *pool, uint pool_size, uint turn,
                                     volatile __global uint *counters, __local uint *room) {
    uint child = (uint)get_local_id(0) & 7, half_side = side / 2;
    uint x = 2 * p.x + (child & 1), y = 2 * p.y + (child >> 1 & 1), z = 2 * p.z + (child >> 2);
    box b = box_at(g, p.x * side, p.y * side, p.z * side, side);
    float upper = upper_of(g, &b, bounds[level + block]);
    target t = target_of(b, upper, pool, pool_size, turn, counters, room);
    uint to = block_at(g, half_side, x, y, z);
    return make_slice(s, &t, middle_of(g, x * half_side, y * half_side, z * half_side, half_side),
                      bounds, to == ABUT_NONE ? ABUT_NONE : eighths + to);
}

/* ---- levels ---- */

/* Lists of the largest blocks: begin and length in the pool of each slice. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_top(__global const float4 *features, uint feature_count, field_grid g, uint side, uint slices,
          __global uint *bounds, uint level, uint eighths, __global uint *pool, uint pool_size,
          volatile __global uint *counters, __global uint2 *lists, __local uint *room) {
    uint group = (uint)get_group_id(0), block = group / slices, slice = group % slices;
    uint each = (feature_count + slices - 1) / slices, first = min(slice * each, feature_count);
    source s = {features, (__global const uint2 *)0, first, min(each, feature_count - first)};
    uint2 made = make_level_slice(&s, &g, side, place_of(&g, block, side), block, bounds, level,
                                  eighths, pool, pool_size, 0, counters, room);
    if (get_local_id(0) == 0)
        lists[group] = made;
}

/* The same for blocks whose parents have lists of `parent_slices` slices, which begin at `from`. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_filter(__global const float4 *features, field_grid g, uint side, uint slices,
             uint parent_slices, __global uint *bounds, uint level, uint eighths,
             __global uint *pool, uint pool_size, uint turn, volatile __global uint *counters,
             __global uint2 *lists, uint from, uint to, __local uint *room) {
    uint group = (uint)get_group_id(0), block = group / slices, slice = group % slices;
    block_place p = place_of(&g, block, side);
    uint parent = block_at(&g, 2 * side, p.x / 2, p.y / 2, p.z / 2), each = parent_slices / slices;
    source s = {features, lists + from, parent * parent_slices + slice * each, each};
    uint2 made = (uint2)(0, 0);
    if (g.reach == INFINITY || list_length(s.slices + s.first, s.count))
        made = make_level_slice(&s, &g, side, p, block, bounds, level, eighths, pool, pool_size,
                                turn, counters, room);
    if (get_local_id(0) == 0)
        lists[to + group] = made;
}

/* ---- subdivision ---- */

/* Lists of 4 x 4 x 4 cells for the blocks of 8 x 8 x 8 whose lists were too long to be measured.
 * Those of the i-th such block begin at 8 i. The bounds of 2 x 2 x 2 cells, initially infinite,
 * begin at 64 i. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_cut(__global const float4 *features, field_grid g, uint slices, __global const uint *bounds,
          uint level, __global const uint2 *lists, uint from, __global const uint *long_blocks,
          uint long_max, __global uint *pool, uint pool_size, uint turn,
          volatile __global uint *counters, __global uint2 *cut_lists, __global uint *cut_bounds,
          __local uint *room) {
    uint count = 8 * min(counters[FIELD_COUNT_LONG_8], long_max), child = (uint)get_local_id(0) & 7;
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        uint block = long_blocks[i / 8];
        block_place p = place_of(&g, block, 8);
        uint x = 8 * p.x + 4 * (i & 1), y = 8 * p.y + 4 * (i >> 1 & 1), z = 8 * p.z + (i & 4);
        uint part = block_at(&g, 4, x / 4, y / 4, z / 4);
        uint2 made = (uint2)(0, 0);
        if (part != ABUT_NONE) {
            box b = box_at(&g, x, y, z, 4);
            float upper = upper_of(&g, &b, bounds[level + part]);
            source s = {features, lists + from, block * slices, slices};
            target t = target_of(b, upper, pool, pool_size, turn, counters, room);
            float4 at = middle_of(&g, x + 2 * (child & 1), y + (child & 2), z + (child & 4) / 2, 2);
            made = make_slice(&s, &t, at, cut_bounds, 8 * i + child);
        }
        if (get_local_id(0) == 0)
            cut_lists[i] = made;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
