/* Broad phase on a device: pairs of blocks whose boxes overlap, then pairs of features in them.
 *
 * A block of edges searches blocks of edges from itself on, a block of vertices searches blocks of
 * faces. The traversal runs from the top level down, SWEEP_BLOCK children at a time, twice: to
 * count and to write. For a pair of blocks, the features of each that overlap the box of the other
 * are kept, and all pairs of these are tested. Equal floats are compared in doubles; see
 * boxes_cl.h. Entries beyond the capacity of a list are counted but not written, and the host
 * repeats the stage.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "sweep/boxes_cl.h"

#define LEVEL_SHIFT 28
#define MIX \
    2654435761u /* a prime larger than all totals, so that multiplication permutes the pairs */
#define PART_MAX \
    (1u << 21) /* pairs of blocks with 1,024 candidates each: more could not be counted */

static inline bool overlap(const sweep_box *a, const sweep_box *b) {
    return a->lo[0] <= b->hi[0] && b->lo[0] <= a->hi[0] && a->lo[1] <= b->hi[1] &&
           b->lo[1] <= a->hi[1] && a->lo[2] <= b->hi[2] && b->lo[2] <= a->hi[2];
}

/* Bits of the work-items for which `yes` is set. `mask` must be unused on entry. */
static inline uint ballot(bool yes, __local uint *mask) {
    uint item = (uint)get_local_id(0);
    if (item == 0)
        *mask = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (yes)
        atomic_or(mask, 1u << item);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint bits = *mask;
    barrier(CLK_LOCAL_MEM_FENCE);
    return bits;
}

static inline uint rank_in(uint bits) {
    return popcount(bits & ((1u << (uint)get_local_id(0)) - 1));
}

/* One work-group per block, first blocks of edges, then of vertices. Without `fill`, begin[group] =
 * number of blocks that it overlaps. With it, writes the pairs (group, block) from begin[group] on.
 * The order is reproducible. */
__kernel __attribute__((reqd_work_group_size(SWEEP_BLOCK, 1, 1))) void
sweep_block_pairs(__global const sweep_layout *layout, __global const sweep_box *nodes,
                  __global uint *begin, __global uint2 *pairs, uint room, uint fill,
                  __global uint *counts, __local uint *stack) {
    __local uint *mask = stack + SWEEP_STACK;
    uint group = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint edge_blocks = layout->nodes[SWEEP_EDGES][0];
    bool of_edges = group < edge_blocks;
    uint kind = of_edges ? SWEEP_EDGES : SWEEP_FACES;
    uint block = of_edges ? group : group - edge_blocks;
    sweep_box mine = nodes[layout->node_first[of_edges ? SWEEP_EDGES : SWEEP_VERTICES][0] + block];
    uint found = 0, depth = 1, at = fill ? begin[group] : 0;
    if (item == 0)
        stack[0] = layout->levels[kind] << LEVEL_SHIFT;
    while (depth > 0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint top = stack[depth - 1], level = (top >> LEVEL_SHIFT) - 1;
        uint child = (top & ((1u << LEVEL_SHIFT) - 1)) * SWEEP_BLOCK + item;
        bool yes = child < layout->nodes[kind][level];
        if (yes) {
            sweep_box box = nodes[layout->node_first[kind][level] + child];
            /* A pair of blocks of edges is found from the first one. */
            ulong last = ((ulong)child + 1) << 5 * level;
            yes = overlap(&box, &mine) && sweep_sets_pair(box.sets, mine.sets) &&
                  !(of_edges && last <= block) &&
                  (mine.feature == SWEEP_MIXED || mine.feature != box.feature);
        }
        uint bits = ballot(yes, mask), rank = rank_in(bits), count = popcount(bits);
        if (level == 0) {
            if (yes && fill && at + found + rank < room)
                pairs[at + found + rank] = (uint2)(group, child);
            found += count;
            depth -= 1;
        } else {
            if (yes)
                stack[depth - 1 + rank] = level << LEVEL_SHIFT | child;
            depth += count - 1;
        }
    }
    if (item == 0 && !fill) {
        begin[group] = found;
        atomic_add(&counts[SWEEP_COUNT_BLOCKS_256], (found + 255) / 256);
    }
}

/* ---- pairs of features ---- */

/* Features of a block that overlap the other block, in local memory. */
typedef struct kept {
    __local float *box;   /* six rows */
    __local uint *corner; /* three rows; edges and vertices repeat theirs */
    __local uint *feature, *sets;
} kept;

static inline kept kept_at(__local uint *room) {
    kept k;
    k.box = (__local float *)room;
    k.corner = room + 6 * SWEEP_BLOCK;
    k.feature = room + 9 * SWEEP_BLOCK;
    k.sets = room + 10 * SWEEP_BLOCK;
    return k;
}

static inline void store_feature(kept k, uint at, const sweep_box *box,
                                 const sweep_corners *corners) {
    for (int axis = 0; axis < 3; axis++) {
        k.box[axis * SWEEP_BLOCK + at] = box->lo[axis];
        k.box[(3 + axis) * SWEEP_BLOCK + at] = box->hi[axis];
        k.corner[axis * SWEEP_BLOCK + at] = corners->at[axis];
    }
    k.feature[at] = box->feature;
    k.sets[at] = box->sets;
}

/* 0 = disjoint, 1 = overlap, 2 = some floats are equal: compare_boxes doubles. */
static inline int compare_boxes(kept a, uint i, kept b, uint j) {
    int state = 1;
    for (int axis = 0; axis < 3; axis++) {
        float a_lo = a.box[axis * SWEEP_BLOCK + i], a_hi = a.box[(3 + axis) * SWEEP_BLOCK + i];
        float b_lo = b.box[axis * SWEEP_BLOCK + j], b_hi = b.box[(3 + axis) * SWEEP_BLOCK + j];
        if (a_lo > b_hi || b_lo > a_hi)
            return 0;
        if (a_lo == b_hi || b_lo == a_hi)
            state = 2;
    }
    return state;
}

static inline sweep_corners kept_corners(kept k, uint i) {
    sweep_corners c;
    for (int axis = 0; axis < 3; axis++)
        c.at[axis] = k.corner[axis * SWEEP_BLOCK + i];
    return c;
}

static inline bool have_common_vertex(const sweep_corners *a, const sweep_corners *b) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (a->at[i] == b->at[j])
                return true;
    return false;
}

/* Keeps the features of a block that overlap the box of the other block, and returns their number.
 * All work-items must call it. */
static inline uint keep_overlapping(kept k, uint kind, const sweep_box *box, const sweep_box *other,
                                    __global const uint *edges, __global const uint *faces,
                                    __local uint *mask) {
    bool in = overlap(box, other) && sweep_sets_pair(box->sets, other->sets);
    uint bits = ballot(in, mask);
    if (in) {
        sweep_corners corners = corners_of(kind, box->feature, edges, faces);
        store_feature(k, rank_in(bits), box, &corners);
    }
    return popcount(bits);
}

/* Whether two kept features are a candidate. */
static inline bool is_candidate(kept a, uint i, kept b, uint j, __global const double *start,
                                __global const double *end, const sweep_scene *scene,
                                __global const uint *owners, uint which) {
    int state = compare_boxes(a, i, b, j);
    if (state == 0 || !sweep_sets_pair(a.sets[i], b.sets[j]))
        return false;
    sweep_corners of_a = kept_corners(a, i), of_b = kept_corners(b, j);
    if (have_common_vertex(&of_a, &of_b))
        return false;
    if (which &&
        which & (owners[of_a.at[0]] == owners[of_b.at[0]] ? SWEEP_NO_SELF : SWEEP_NO_OTHERS))
        return false;
    return state == 1 || exact_overlap(&of_a, &of_b, start, end, scene);
}

/* Writes the pairs that a group listed: pairs of edges to the front, others to the end. All
 * work-items must call it. */
static inline void write_candidates(kept a, kept b, bool of_edges, __local const ushort *list,
                                    uint listed, __global uint2 *candidates, uint room,
                                    __global uint *counts, __local uint *place) {
    uint item = (uint)get_local_id(0);
    if (item == 0 && listed > 0)
        *place =
            atomic_add(&counts[of_edges ? SWEEP_COUNT_EDGE_EDGE : SWEEP_COUNT_VERTEX_FACE], listed);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to = *place;
    for (uint k = item; k < listed; k += SWEEP_BLOCK) {
        uint one = a.feature[list[k] / SWEEP_BLOCK], other = b.feature[list[k] % SWEEP_BLOCK];
        uint at = to + k;
        uint2 pair = of_edges ? (uint2)(min(one, other), max(one, other)) : (uint2)(one, other);
        if (at < room)
            candidates[of_edges ? at : room - 1 - at] = pair;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Each work-group processes pairs of blocks of a part of all begin[walkers] pairs. If there are so
 * many that candidates could overflow their counter, the counter is set to its maximum and the host
 * halves the part. */
__kernel __attribute__((reqd_work_group_size(SWEEP_BLOCK, 1, 1))) void sweep_candidates(
    __global const sweep_layout *layout, sweep_scene scene, __global const sweep_box *boxes,
    __global const sweep_box *nodes, __global const uint2 *pairs, __global const uint *begin,
    uint walkers, uint pairs_room, sweep_part part, __global const uint *edges,
    __global const uint *faces, __global const double *start, __global const double *end,
    __global const uint *owners, uint which, __global uint2 *candidates, uint room,
    __global uint *counts, __local ulong *memory) {
    __local uint *words = (__local uint *)memory;
    kept a = kept_at(words), b = kept_at(words + SWEEP_KEPT_WORDS);
    __local ushort *list = (__local ushort *)(words + 2 * SWEEP_KEPT_WORDS);
    __local uint *listed = words + 2 * SWEEP_KEPT_WORDS + SWEEP_LIST_WORDS;
    __local uint *mask = listed + 1, *place = listed + 2;
    uint item = (uint)get_local_id(0), total = begin[walkers];
    uint edge_blocks = layout->nodes[SWEEP_EDGES][0];
    uint first = (uint)((ulong)total * part.from / part.of);
    uint last = (uint)((ulong)total * part.to / part.of);
    bool too_many = last - first > PART_MAX;
    if (get_global_id(0) == 0) {
        counts[SWEEP_COUNT_BLOCKS] = total;
        if (too_many)
            counts[SWEEP_COUNT_EDGE_EDGE] = ABUT_NONE;
    }
    if (total > pairs_room || too_many)
        return; /* the host repeats the launch */
    for (uint p = first + (uint)get_group_id(0); p < last; p += (uint)get_num_groups(0)) {
        uint2 pair = pairs[part.mixed ? (ulong)p * MIX % total : p];
        bool of_edges = pair.x < edge_blocks;
        uint kind_a = of_edges ? SWEEP_EDGES : SWEEP_VERTICES;
        uint kind_b = of_edges ? SWEEP_EDGES : SWEEP_FACES;
        uint block_a = layout->node_first[kind_a][0] + (of_edges ? pair.x : pair.x - edge_blocks);
        uint block_b = layout->node_first[kind_b][0] + pair.y;
        sweep_box all_a = nodes[block_a], all_b = nodes[block_b];
        sweep_box box_a = boxes[(size_t)block_a * SWEEP_BLOCK + item];
        sweep_box box_b = boxes[(size_t)block_b * SWEEP_BLOCK + item];
        uint count_a = keep_overlapping(a, kind_a, &box_a, &all_b, edges, faces, mask);
        uint count_b = keep_overlapping(b, kind_b, &box_b, &all_a, edges, faces, mask);
        if (item == 0)
            *listed = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        float part_of = 1.0f / (float)max(count_b, 1u);
        for (uint k = item; k < count_a * count_b; k += SWEEP_BLOCK) {
            uint i = (uint)(((float)k + 0.5f) * part_of), j = k - i * count_b;
            if (!(block_a == block_b && a.feature[i] >= b.feature[j]) &&
                is_candidate(a, i, b, j, start, end, &scene, owners, which))
                list[atomic_inc(listed)] = (ushort)(i * SWEEP_BLOCK + j);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        write_candidates(a, b, of_edges, list, *listed, candidates, room, counts, place);
    }
}

#endif
