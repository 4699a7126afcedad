/* All pairs of a world at once. world_frames makes the frames of both directions of each pair, and
 * tells which are far apart, an item a direction. Then a work-group takes a pair: world_count
 * counts, world_fill writes in the order of features, a tile of GROUP at a time; the sums between
 * them are those of scan.cl. What is found is what contact.c finds, by the same functions.
 */
#include "device/group_cl.h"
#include "world/world_shared.h"

#if ABUTI_REAL_BITS == 64

DEFINE_GROUP_SCAN(uint, group_scan)

static field_view view_of(__global const world_field *at, __global const float *floats,
                          __global const short *shorts, __global const uint *indices) {
    field_view view;
    world_field field = *at;
    view.floats = field.floats == ABUT_NONE ? 0 : floats + 8 * (size_t)field.floats;
    view.shorts = field.shorts == ABUT_NONE ? 0 : shorts + 8 * (size_t)field.shorts;
    view.index = field.index == ABUT_NONE ? 0 : indices + 8 * (size_t)field.index;
    view.coarse = field.coarse == ABUT_NONE ? 0 : floats + 8 * (size_t)field.coarse;
    for (int axis = 0; axis < 3; axis++) {
        view.count[axis] = field.count[axis];
        view.bricks[axis] = field.bricks[axis];
    }
    view.cell = field.cell;
    view.scale = field.scale;
    return view;
}

/* As is_far() of contact.c: one value in the middle tells that all samples are too far away. This
 * one is a float, and off by far less than the thousandth. */
static bool is_far(const field_view *view, const contact_frame *frame, real reach, real cell) {
    const float at[3] = {frame->shift[0], frame->shift[1], frame->shift[2]};
    float value = contact_value(view, at).distance;
    return value >
           (float)(1.001 * (reach + FIELD_DIAGONAL * cell * (view->index ? FIELD_BRICK : 1)));
}

__kernel void world_frames(__global const world_field *fields, __global const float *floats,
                           __global const short *shorts, __global const uint *indices,
                           __global const world_samples *samples, __global const world_parts *parts,
                           __global const contact_motion *motions, __global const world_two *pairs,
                           __global world_direction *directions, uint count, real margin,
                           int any_normal, int only_samples) {
    size_t i = get_global_id(0);
    if (i >= count)
        return;
    uint side = (uint)(i & 1);
    world_two pair = pairs[i / 2];
    uint at = side ? pair.a : pair.b, of = side ? pair.b : pair.a;
    world_direction told;
    told.field = parts[at].field;
    told.first = told.count = told.edges = 0;
    if (told.field != ABUT_NONE && parts[of].samples != ABUT_NONE) {
        world_samples s = samples[parts[of].samples];
        contact_motion motion_at = motions[at], motion_of = motions[of];
        contact_grid grid = fields[told.field].grid;
        field_view view = view_of(fields + told.field, floats, shorts, indices);
        vec3 middle = contact_to_local(&motion_at, contact_to_world(&motion_of, s.centre));
        real reach = (s.radius + margin) * (1 + 1e-6);
        told.frame = contact_frame_make(&grid, &motion_at, &motion_of, s.centre,
                                        fields[told.field].band, (float)margin);
        told.frame.any_normal = any_normal;
        told.frame.edge_ends = (int)s.edge_ends;
        if (!contact_ball_is_far(&grid, middle, reach) &&
            !is_far(&view, &told.frame, reach, grid.cell)) {
            told.first = s.first;
            told.count = s.count;
            told.edges = only_samples ? 0 : s.edges;
        }
    }
    directions[i] = told;
}

static contact_found find(const field_view *view, const world_direction *d,
                          __global const contact_point *points, uint feature) {
    __global const contact_point *at = points + d->first;
    if (feature < d->count)
        return contact_find(view, &d->frame, at[feature]);
    at += d->count + 2 * (feature - d->count);
    return contact_find_edge(view, &d->frame, at[0], at[1]);
}

/* counts[pair] = contacts; one_way[pair]: whether only the second try found them, see
 * abuti_contact_pair(). */
__kernel void world_count(__global const world_field *fields, __global const float *floats,
                          __global const short *shorts, __global const uint *indices,
                          __global const contact_point *points,
                          __global const world_direction *directions, __global uint *counts,
                          __global uint *one_way, __local uint *room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint all = 0, all_wrong = 0, way;
    for (way = 0; way < 2; way++) {
        uint count = 0, wrong = 0;
        for (uint side = 0; side < 2; side++) {
            world_direction d = directions[2 * pair + side];
            if (d.count + d.edges == 0)
                continue;
            field_view view = view_of(fields + d.field, floats, shorts, indices);
            if (way)
                contact_go_one_way(&view, &d.frame);
            for (uint i = item; i < d.count + d.edges; i += GROUP) {
                float depth = find(&view, &d, points, i).depth;
                count += depth > CONTACT_WRONG;
                wrong += depth == CONTACT_WRONG;
            }
        }
        group_scan(count, room, &all);
        group_scan(wrong, room, &all_wrong);
        if (all || !all_wrong)
            break;
    }
    if (item == 0) {
        counts[pair] = all;
        one_way[pair] = way == 1;
    }
}

__kernel void world_fill(__global const world_field *fields, __global const float *floats,
                         __global const short *shorts, __global const uint *indices,
                         __global const contact_point *points,
                         __global const world_direction *directions, __global const uint *begin,
                         __global const uint *one_way, __global world_record *records,
                         __local uint *room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0), at = begin[pair];
    if (begin[pair + 1] == at) /* for all items of the group */
        return;
    for (uint side = 0; side < 2; side++) {
        world_direction d = directions[2 * pair + side];
        uint all = d.count + d.edges;
        if (all == 0)
            continue;
        field_view view = view_of(fields + d.field, floats, shorts, indices);
        if (one_way[pair])
            contact_go_one_way(&view, &d.frame);
        for (uint first = 0; first < all; first += GROUP) {
            contact_found found;
            uint i = first + item, told = 0, total;
            if (i < all) {
                found = find(&view, &d, points, i);
                told = found.depth > CONTACT_WRONG;
            }
            uint place = at + group_scan(told, room, &total);
            if (told) {
                records[place].feature = i | side << WORLD_SIDE_SHIFT;
                records[place].found = found;
            }
            at += total;
        }
    }
}

#endif
