/* Bounding boxes of features, their order along a curve, and the boxes of all levels of blocks.
 *
 * The curve is Hilbert's (transposed coordinates after Skilling 2004, "Programming the Hilbert
 * curve"). Unlike Morton order it has no long jumps, and a third fewer pairs of blocks overlap.
 * Keys have ten bits per axis, less those of the owner, which is above them, and then the kind.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "sweep/boxes_cl.h"

#define GROUP SWEEP_ITEMS
#define BITS 10
#define COORDINATE_MAX 1e90 /* ABUT_COORDINATE_MAX */

static uint spread(uint x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

static uint hilbert(uint x, uint y, uint z) {
    uint c[3];
    c[0] = x;
    c[1] = y;
    c[2] = z;
    for (uint q = 1u << (BITS - 1); q > 1; q >>= 1)
        for (int i = 0; i < 3; i++) {
            uint t = c[i] & q ? 0 : (c[0] ^ c[i]) & (q - 1);
            c[0] ^= c[i] & q ? q - 1 : t;
            c[i] ^= t;
        }
    c[1] ^= c[0];
    c[2] ^= c[1];
    uint turn = 0;
    for (uint q = 1u << (BITS - 1); q > 1; q >>= 1)
        turn ^= c[2] & q ? q - 1 : 0;
    return spread(c[0] ^ turn) << 2 | spread(c[1] ^ turn) << 1 | spread(c[2] ^ turn);
}

/* Minimum or maximum over all work-items of one group. */
static double reduce_group(double value, int largest, __local double *room) {
    uint item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    room[item] = value;
    for (uint step = GROUP / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < step)
            room[item] = largest ? real_max(room[item], room[item + step])
                                 : real_min(room[item], room[item + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return room[0];
}

/* Copies positions with all groups together. Each group writes its result to checks[first + group].
 * `last`: end of the last step. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_check_positions(__global const double *from, __global const double *last, uint count,
                      __global double *to, uint first, __global sweep_position_check *checks,
                      __local double *room) {
    uint bad = UINT_MAX, differs = 0;
    double lo[3], hi[3];
    sweep_position_check all;
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = REAL_MAX;
        hi[axis] = -REAL_MAX;
    }
    for (size_t i = get_global_id(0); i < count; i += get_global_size(0))
        for (int axis = 0; axis < 3; axis++) {
            double x = from[3 * i + axis];
            bad = fabs(x) <= COORDINATE_MAX ? bad : min(bad, (uint)i);
            lo[axis] = real_min(lo[axis], x);
            hi[axis] = real_max(hi[axis], x);
            to[3 * i + axis] = x;
            differs |= as_ulong(x) != as_ulong(last[3 * i + axis]);
        }
    for (int axis = 0; axis < 3; axis++) {
        all.lo[axis] = reduce_group(lo[axis], 0, room);
        all.hi[axis] = reduce_group(hi[axis], 1, room);
    }
    all.bad = (uint)reduce_group((double)bad, 0, room);
    all.differs = (uint)reduce_group((double)differs, 1, room);
    if (get_local_id(0) == 0)
        checks[first + get_group_id(0)] = all;
}

/* One work-item per feature. `points` are the vertices that a face has. Features of vertices from
 * `second` on are apart from the others. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_keys(__global const sweep_layout *layout, sweep_scene scene, __global const uint *edges,
           __global const uint *faces, __global const double *start, __global const double *end,
           __global const uint *points, __global const uint *owners, uint owner_bits,
           __global uint *keys, __global uint *order) {
    uint i = (uint)get_global_id(0);
    uint all = layout->first[SWEEP_FACES] + layout->count[SWEEP_FACES];
    if (i >= all)
        return;
    uint kind = (i >= layout->first[SWEEP_EDGES]) + (i >= layout->first[SWEEP_FACES]);
    uint feature = kind == SWEEP_VERTICES ? points[i] : i - layout->first[kind];
    sweep_corners corners = corners_of(kind, feature, edges, faces);
    uint cell[3];
    for (int axis = 0; axis < 3; axis++) {
        double2 d = swept_axis(&corners, axis, start, end, 1.0, 0.0);
        double middle = 0.5 * (d.x - scene.origin[axis]) + 0.5 * (d.y - scene.origin[axis]);
        cell[axis] = min(convert_uint_sat(middle * scene.scale), (1u << BITS) - 1);
    }
    uint curve = hilbert(cell[0], cell[1], cell[2]);
    if (owner_bits > 0) {
        uint owner = min(owners[corners.at[0]], (1u << owner_bits) - 1);
        curve = owner << (3 * BITS - owner_bits) | curve >> owner_bits;
    }
    keys[i] = kind << 3 * BITS | curve;
    order[i] = feature;
}

/* The box of SWEEP_BLOCK boxes with these owners, for every work-item. `room` has SWEEP_BOX_WORDS
 * words. */
static sweep_box join_boxes(sweep_box box, uint owner, __local float *room) {
    uint item = (uint)get_local_id(0);
    __local uint *sets = (__local uint *)(room + 6 * SWEEP_BLOCK), *owners = sets + SWEEP_BLOCK;
    sweep_box all;
    for (int axis = 0; axis < 3; axis++) {
        room[axis * SWEEP_BLOCK + item] = box.lo[axis];
        room[(3 + axis) * SWEEP_BLOCK + item] = box.hi[axis];
    }
    sets[item] = box.sets;
    owners[item] = owner;
    for (uint step = SWEEP_BLOCK / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int axis = 0; axis < 3; axis++) {
            uint lo = axis * SWEEP_BLOCK + item, hi = lo + 3 * SWEEP_BLOCK;
            if (item < step) {
                room[lo] = min(room[lo], room[lo + step]);
                room[hi] = max(room[hi], room[hi + step]);
            }
        }
        if (item < step) {
            sets[item] |= sets[item + step];
            owners[item] = owners[item] == owners[item + step] ? owners[item] : SWEEP_MIXED;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int axis = 0; axis < 3; axis++) {
        all.lo[axis] = room[axis * SWEEP_BLOCK];
        all.hi[axis] = room[(3 + axis) * SWEEP_BLOCK];
    }
    all.feature = owners[0];
    all.sets = sets[0];
    return all;
}

static sweep_box empty_box(void) {
    sweep_box box;
    for (int axis = 0; axis < 3; axis++) {
        box.lo[axis] = INFINITY;
        box.hi[axis] = -INFINITY;
    }
    box.feature = 0;
    box.sets = 0;
    return box;
}

/* One work-group per block: writes the boxes of its features, in order, and of the block. */
__kernel __attribute__((reqd_work_group_size(SWEEP_BLOCK, 1, 1))) void
sweep_blocks(__global const sweep_layout *layout, sweep_scene scene, __global const uint *edges,
             __global const uint *faces, __global const double *start, __global const double *end,
             __global const uint *order, __global const uchar *sets, sweep_sets sets_at,
             __global const uint *owners, uint owner_bits, __global sweep_box *boxes,
             __global sweep_box *nodes, __local float *room) {
    uint block = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint kind = (block >= layout->node_first[SWEEP_EDGES][0]) +
                (block >= layout->node_first[SWEEP_FACES][0]);
    uint at = (block - layout->node_first[kind][0]) * SWEEP_BLOCK + item;
    sweep_box box = empty_box();
    uint feature = order[layout->first[kind] + min(at, layout->count[kind] - 1)];
    sweep_corners corners = corners_of(kind, feature, edges, faces);
    uint owner = owner_bits > 0 ? owners[corners.at[0]] : SWEEP_MIXED;
    if (at < layout->count[kind]) {
        box = swept_box(&corners, start, end, &scene);
        box.feature = feature;
        if (sets_at.used)
            box.sets = sets[sets_at.first[kind] + feature];
    }
    boxes[(size_t)block * SWEEP_BLOCK + item] = box;
    sweep_box all = join_boxes(box, owner, room);
    if (item == 0)
        nodes[block] = all;
}

/* One work-group per node of this level, first nodes of edges, then of faces. */
__kernel __attribute__((reqd_work_group_size(SWEEP_BLOCK, 1, 1))) void
sweep_level(__global const sweep_layout *layout, __global sweep_box *nodes, uint level,
            __local float *room) {
    uint node = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint of_edges = layout->nodes[SWEEP_EDGES][level];
    uint kind = node < of_edges ? SWEEP_EDGES : SWEEP_FACES;
    node -= kind == SWEEP_EDGES ? 0 : of_edges;
    uint child = node * SWEEP_BLOCK + item, last = layout->nodes[kind][level - 1] - 1;
    sweep_box box = nodes[layout->node_first[kind][level - 1] + min(child, last)];
    uint owner = box.feature;
    if (child > last)
        box = empty_box();
    sweep_box all = join_boxes(box, owner, room);
    if (item == 0)
        nodes[layout->node_first[kind][level] + node] = all;
}

#endif
