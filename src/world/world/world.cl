/* All pairs of bodies of a world at once.
 *
 * world_frames    frames of both directions of a pair, and which are far apart: one work-item each
 * world_groups    groups of balls that are near: one work-group per pair
 * world_balls     balls of these that are near: one work-item per ball
 * world_features  samples of these that touch, edges that are near: one work-item per feature
 * world_edges     edges that touch: one work-item per edge
 * world_write     writes contacts to the range of their pair: one work-item per contact
 * world_sort      sorts the contacts of each pair by feature; or
 * world_reduce    selects contacts of each patch, like reduce.c: one work-group per pair
 * world_gather    copies the remaining contacts to their final place, pair by pair
 *
 * If all contacts of a pair are backfacing (see abuti_contact_pair()), world_retry_frames prepares
 * a second search of these pairs. Geometry is computed by the functions of contact.c, so that
 * contacts are the same; prefix sums are those of scan.cl.
 *
 * From world_groups to world_edges, each kernel appends to a list that the next one processes. The
 * order of these lists is not defined: results are sorted in the end. Entries beyond the capacity
 * of a list are counted, and the host enlarges it and repeats the search.
 */
#include "world/world_cl.h"

#if ABUTI_REAL_BITS == 64

/* ---- frames ---- */

static field_view make_view(__global const world_field *at, __global const float *floats,
                            __global const short *shorts, __global const uint *indices) {
    field_view view;
    view.floats = at->floats == ABUT_NONE ? 0 : floats + 8 * (size_t)at->floats;
    view.shorts = at->shorts == ABUT_NONE ? 0 : shorts + 8 * (size_t)at->shorts;
    view.index = at->index == ABUT_NONE ? 0 : indices + 8 * (size_t)at->index;
    view.coarse = at->coarse == ABUT_NONE ? 0 : floats + 8 * (size_t)at->coarse;
    for (int axis = 0; axis < 3; axis++) {
        view.count[axis] = at->count[axis];
        view.bricks[axis] = at->bricks[axis];
    }
    view.cell = at->cell;
    view.scale = at->scale;
    return view;
}

/* Like is_far() in contact.c: one value in the middle shows that all samples are too far away. It
 * is a float, with an error far below the factor 1.001. */
static bool is_far(const field_view *view, const contact_frame *frame, real reach, real cell) {
    const float at[3] = {frame->shift[0], frame->shift[1], frame->shift[2]};
    float value = contact_value(view, at).distance;
    return frame->can_cull &&
           value >
               (float)(1.001 * (reach + FIELD_DIAGONAL * cell * (view->index ? FIELD_BRICK : 1)));
}

__kernel void world_frames(__global const world_field *fields, __global const float *floats,
                           __global const short *shorts, __global const uint *indices,
                           __global const world_samples *samples, __global const world_parts *parts,
                           __global const contact_motion *motions, __global const world_two *pairs,
                           __global world_direction *directions, __global uint *counts,
                           __global uint *backfacing, __global uint *totals, uint count,
                           int keep_backfacing) {
    size_t i = get_global_id(0);
    if (i < WORLD_TOTALS)
        totals[i] = 0;
    if (i >= count)
        return;
    uint side = (uint)(i & 1);
    world_two pair = pairs[i / 2];
    uint at = side ? pair.a : pair.b, of = side ? pair.b : pair.a;
    world_direction entry;
    entry.field = parts[at].field;
    entry.samples = parts[of].samples;
    entry.is_active = 0;
    if (entry.field != ABUT_NONE && entry.samples != ABUT_NONE) {
        __global const world_samples *s = samples + entry.samples;
        contact_motion motion_at = motions[at], motion_of = motions[of];
        contact_grid grid = fields[entry.field].grid;
        field_view view = make_view(fields + entry.field, floats, shorts, indices);
        vec3 centre = s->centre;
        vec3 middle = contact_to_local(&motion_at, contact_to_world(&motion_of, centre));
        real margin = 0.5 * (parts[at].margin + parts[of].margin);
        real reach = (s->radius + margin) * (1 + 1e-6);
        entry.frame = contact_frame_make(&grid, &motion_at, &motion_of, centre,
                                         fields[entry.field].band, (float)margin);
        entry.frame.keep_backfacing = keep_backfacing;
        entry.frame.edge_ends = (int)s->edge_ends;
        entry.frame.can_cull = (int)fields[entry.field].can_cull;
        entry.is_active = !contact_ball_is_far(&grid, middle, reach) &&
                          !is_far(&view, &entry.frame, reach, grid.cell);
    }
    directions[i] = entry;
    if (!side)
        counts[i / 2] = backfacing[i / 2] = 0;
}

/* A direction is searched again, with a common normal, if all contacts of its pair are backfacing.
 * Empties all lists except that of found features. */
__kernel void world_retry_frames(__global const world_field *fields, __global const float *floats,
                                 __global const short *shorts, __global const uint *indices,
                                 __global const uint *counts, __global const uint *backfacing,
                                 __global world_direction *directions, __global uint *totals,
                                 uint count) {
    size_t i = get_global_id(0);
    if (i < 2 * WORLD_FOUND)
        totals[i] = 0;
    if (i >= count || !directions[i].is_active)
        return;
    if (counts[i / 2] || !backfacing[i / 2]) {
        directions[i].is_active = 0;
        return;
    }
    contact_frame frame = directions[i].frame;
    field_view view = make_view(fields + directions[i].field, floats, shorts, indices);
    contact_use_common_normal(&view, &frame);
    directions[i].frame = frame;
}

/* ---- features that touch ---- */

/* Data of all bodies. */
typedef struct bodies {
    __global const world_field *fields;
    __global const float *floats;
    __global const short *shorts;
    __global const uint *indices;
    __global const world_samples *samples;
} bodies;

/* One direction, with its field and samples. */
typedef struct direction {
    field_view view;
    contact_frame frame;
    __global const world_samples *samples;
} direction;

static direction direction_of(__global const world_direction *from, const bodies *b) {
    direction d;
    d.view = make_view(b->fields + from->field, b->floats, b->shorts, b->indices);
    d.frame = from->frame;
    d.samples = b->samples + from->samples;
    return d;
}

/* The index of the first point of a feature. */
static size_t point_of(__global const world_samples *s, uint feature) {
    return s->first_point +
           (feature < s->count ? feature : s->count + 2 * (size_t)(feature - s->count));
}

#define BODIES                                                                             \
    __global const world_field *fields, __global const float *floats,                      \
        __global const short *shorts, __global const uint *indices,                        \
        __global const world_samples *samples, __global const world_direction *directions, \
        __global uint *totals

/* Half of the work-items process the groups of a, the others those of b. */
GROUP_OF_ITEMS world_groups(BODIES, __global const contact_ball *groups, __global world_near *near,
                            uint near_room, int only_samples, __local uint *room) {
    const bodies b = {fields, floats, shorts, indices, samples};
    const uint half_items = WORLD_ITEMS / 2, item = (uint)get_local_id(0);
    uint number = 2 * (uint)get_group_id(0), counts[2], rounds = 0;
    for (uint side = 0; side < 2; side++) {
        __global const world_direction *d = directions + number + side;
        counts[side] = d->is_active ? samples[d->samples].parts[0].groups : 0;
        if (d->is_active && !only_samples)
            counts[side] += samples[d->samples].parts[1].groups;
        rounds = max(rounds, (counts[side] + half_items - 1) / half_items);
    }
    uint side = item / half_items, count = counts[side];
    number += side;
    for (uint round = 0; round < rounds; round++) {
        uint i = round * half_items + item % half_items, which = 0;
        bool wants = false;
        if (i < count) {
            direction d = direction_of(directions + number, &b);
            which = d.samples->first_group + i;
            wants = !contact_is_far(&d.view, &d.frame, groups[which]);
        }
        uint place = reserve_entry(wants, totals, WORLD_NEAR_GROUPS, near_room, room);
        if (place != ABUT_NONE) {
            near[place].direction = number;
            near[place].which = which;
        }
    }
}

GROUP_OF_ITEMS world_balls(BODIES, __global const contact_ball *groups,
                           __global const contact_ball *balls, __global const world_near *near,
                           uint near_room, __global world_near *to, uint to_room,
                           __local uint *room) {
    const bodies b = {fields, floats, shorts, indices, samples};
    uint all = list_length(totals, WORLD_NEAR_GROUPS, near_room) * CONTACT_BALL_SIZE;
    uint step = (uint)get_num_groups(0) * WORLD_ITEMS;
    for (uint first = (uint)get_group_id(0) * WORLD_ITEMS; first < all; first += step) {
        uint i = first + (uint)get_local_id(0), which = 0;
        world_near from = {0, 0};
        bool wants = false;
        if (i < all) {
            from = near[i / CONTACT_BALL_SIZE];
            contact_ball group = groups[from.which];
            which = group.begin + i % CONTACT_BALL_SIZE;
            if (which < group.end) {
                direction d = direction_of(directions + from.direction, &b);
                which += d.samples->first_ball;
                wants = !contact_is_far(&d.view, &d.frame, balls[which]);
            }
        }
        uint place = reserve_entry(wants, totals, WORLD_NEAR_BALLS, to_room, room);
        if (place != ABUT_NONE) {
            to[place].direction = from.direction;
            to[place].which = which;
        }
    }
}

/* Records what was found for a feature, if anything was tested. All work-items of the group must
 * call it.
 */
static void record_found(const contact_found *found, uint direction_number, uint feature,
                         __global uint *counts, __global uint *backfacing, __global uint *totals,
                         __global world_found *to, uint to_room, __local uint *room) {
    bool touches = found->depth > CONTACT_BACKFACING;
    uint place = reserve_entry(touches, totals, WORLD_FOUND, to_room, room);
    if (found->depth == CONTACT_BACKFACING)
        backfacing[direction_number / 2] = 1;
    if (touches) {
        uint rank = atomic_inc(&counts[direction_number / 2]);
        if (place != ABUT_NONE) {
            to[place].direction = direction_number;
            to[place].feature = feature;
            to[place].rank = rank;
            to[place].along = found->along;
        }
    }
}

GROUP_OF_ITEMS world_features(BODIES, __global const contact_ball *balls,
                              __global const contact_point *points, __global const world_near *near,
                              uint near_room, __global world_near *edges, uint edges_room,
                              __global uint *counts, __global uint *backfacing,
                              __global world_found *to, uint to_room, __local uint *room) {
    const bodies b = {fields, floats, shorts, indices, samples};
    uint all = list_length(totals, WORLD_NEAR_BALLS, near_room) * CONTACT_BALL_SIZE;
    uint step = (uint)get_num_groups(0) * WORLD_ITEMS;
    for (uint first = (uint)get_group_id(0) * WORLD_ITEMS; first < all; first += step) {
        uint i = first + (uint)get_local_id(0), feature = 0;
        world_near from = {0, 0};
        contact_found found;
        bool is_near = false;
        found.depth = CONTACT_NONE;
        found.along = 0.0f;
        if (i < all) {
            from = near[i / CONTACT_BALL_SIZE];
            contact_ball ball = balls[from.which];
            feature = ball.begin + i % CONTACT_BALL_SIZE;
            if (feature < ball.end) {
                direction d = direction_of(directions + from.direction, &b);
                __global const contact_point *point = points + point_of(d.samples, feature);
                if (feature < d.samples->count)
                    found = contact_test_point(&d.view, &d.frame, point[0]);
                else
                    is_near = !contact_edge_is_far(&d.view, &d.frame, point[0], point[1]);
            }
        }
        uint place = reserve_entry(is_near, totals, WORLD_NEAR_EDGES, edges_room, room);
        if (place != ABUT_NONE) {
            edges[place].direction = from.direction;
            edges[place].which = feature;
        }
        record_found(&found, from.direction, feature, counts, backfacing, totals, to, to_room,
                     room);
    }
}

GROUP_OF_ITEMS world_edges(BODIES, __global const contact_point *points,
                           __global const world_near *near, uint near_room, __global uint *counts,
                           __global uint *backfacing, __global world_found *to, uint to_room,
                           __local uint *room) {
    const bodies b = {fields, floats, shorts, indices, samples};
    uint all = list_length(totals, WORLD_NEAR_EDGES, near_room);
    uint step = (uint)get_num_groups(0) * WORLD_ITEMS;
    for (uint first = (uint)get_group_id(0) * WORLD_ITEMS; first < all; first += step) {
        uint i = first + (uint)get_local_id(0);
        world_near from = {0, 0};
        contact_found found;
        found.depth = CONTACT_NONE;
        found.along = 0.0f;
        if (i < all) {
            from = near[i];
            direction d = direction_of(directions + from.direction, &b);
            __global const contact_point *end = points + point_of(d.samples, from.which);
            found = contact_test_edge(&d.view, &d.frame, end[0], end[1]);
        }
        record_found(&found, from.direction, from.which, counts, backfacing, totals, to, to_room,
                     room);
    }
}

/* ---- contacts ---- */

/* Writes contacts like feature_contact() in contact.c. first[pair] is the first contact of a
 * pair. */
GROUP_OF_ITEMS world_write(BODIES, __global const contact_point *points, __global const vec3 *ends,
                           __global const world_feature *features,
                           __global const contact_motion *motions, __global const world_two *pairs,
                           __global const world_found *found, __global const uint *first,
                           __global world_contact *contacts, __global ulong *keys, uint list_room) {
    const bodies b = {fields, floats, shorts, indices, samples};
    uint all = list_length(totals, WORLD_FOUND, list_room);
    for (uint i = (uint)get_global_id(0); i < all; i += (uint)get_global_size(0)) {
        world_found from = found[i];
        uint pair = from.direction / 2, side = from.direction % 2, place = first[pair] + from.rank;
        direction d = direction_of(directions + from.direction, &b);
        size_t point = point_of(d.samples, from.feature);
        bool is_edge = from.feature >= d.samples->count;
        contact_found value = is_edge ? contact_edge_result(&d.view, &d.frame, points[point],
                                                            points[point + 1], from.along)
                                      : contact_test_point(&d.view, &d.frame, points[point]);
        contact_motion at = motions[side ? pairs[pair].a : pairs[pair].b];
        contact_motion of = motions[side ? pairs[pair].b : pairs[pair].a];
        world_feature name = features[d.samples->first_feature + from.feature];
        vec3 outward = m3_apply(&at.turn, v3(value.x, value.y, value.z));
        vec3 local_point = ends[point];
        if (is_edge)
            local_point = v3_lerp(local_point, ends[point + 1], value.along);
        world_contact to;
        to.point = contact_to_world(&of, local_point);
        to.normal = side ? contact_negate(outward) : outward;
        to.depth = value.depth;
        to.id = (ulong)side << 63 | (ulong)name.kind << 58 | (ulong)name.part << 32 | name.element;
        to.a = pairs[pair].a;
        to.b = pairs[pair].b;
        to.side = side;
        to.kind = name.kind;
        to.element = name.element;
        to.part = name.part;
        if (place < list_room) { /* false if the list is too small */
            contacts[place] = to;
            keys[place] = (ulong)(name.number | side << WORLD_SIDE_SHIFT) << 32 | place;
        }
    }
}

/* Whether a list could hold all entries. */
static bool is_complete(__global const uint *totals, uint list, uint list_room) {
    return !totals[2 * list + 1] && totals[2 * list] <= list_room;
}

/* Batcher's bitonic sort with all comparisons in one direction, so that any count is valid. */
GROUP_OF_ITEMS world_sort(__global const uint *first, __global const uint *counts,
                          __global const uint *totals, uint list, __global ulong *keys,
                          uint list_room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0), count = counts[pair];
    __global ulong *own = keys + first[pair];
    if (!is_complete(totals, list, list_room) || count < 2)
        return;
    for (uint width = 2; width / 2 < count && width; width *= 2)
        for (uint step = width / 2; step > 0; step /= 2) {
            barrier(CLK_GLOBAL_MEM_FENCE);
            for (uint i = item; i < count; i += WORLD_ITEMS) {
                uint other = step == width / 2 ? i ^ (width - 1) : i ^ step;
                if (other <= i || other >= count)
                    continue;
                ulong a = own[i], b = own[other];
                if (b < a) {
                    own[i] = b;
                    own[other] = a;
                }
            }
        }
}

/* The best entry so far by a number, then by the lower id; ABUT_NONE: none. */
typedef struct best {
    real number;
    ulong id;
    uint which;
} best;

static best better(best a, best b) {
    bool second = b.which != ABUT_NONE && (a.which == ABUT_NONE || b.number > a.number ||
                                           (b.number == a.number && b.id < a.id));
    return second ? b : a;
}

static best load_best(__local const ulong *room, uint i) {
    best b;
    b.number = as_double(room[i]);
    b.id = room[WORLD_REDUCE_ITEMS + i];
    b.which = (uint)room[2 * WORLD_REDUCE_ITEMS + i];
    return b;
}

static void store_best(__local ulong *room, uint i, best b) {
    room[i] = as_ulong(b.number);
    room[WORLD_REDUCE_ITEMS + i] = b.id;
    room[2 * WORLD_REDUCE_ITEMS + i] = b.which;
}

/* The best entry of all work-items of the group. */
static best reduce_best(best own, __local ulong *room) {
    const uint row = 8, item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    store_best(room, item, own);
    barrier(CLK_LOCAL_MEM_FENCE);
    best all = own;
    if (item % row == 0)
        for (uint i = 1; i < row; i++)
            all = better(all, load_best(room, item + i));
    if (item % row == 0)
        store_best(room, item, all);
    barrier(CLK_LOCAL_MEM_FENCE);
    all = load_best(room, 0);
    for (uint i = row; i < WORLD_REDUCE_ITEMS; i += row)
        all = better(all, load_best(room, i));
    return all;
}

/* Squared distance of a contact from the selected ones of its patch; or: */
#define IN_NO_PATCH (-2.0)
#define IS_DONE (-1.0)

/* Like abut_contact_reduce(). Indices of the remaining contacts become the first keys of the pair;
 * left[pair] is their number. `far` has one number per contact. */
__kernel __attribute__((reqd_work_group_size(WORLD_REDUCE_ITEMS, 1, 1))) void
world_reduce(__global const world_contact *contacts, __global const uint *first,
             __global const uint *counts, __global const uint *totals, __global ulong *keys,
             __global real *far, __global uint *left, uint list_room, uint keep, real cosine,
             __local ulong *room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0), count = counts[pair];
    uint begin = first[pair], end = begin + count, kept = 0;
    if (!is_complete(totals, WORLD_FOUND, list_room))
        return;
    for (uint i = begin + item; i < end; i += WORLD_REDUCE_ITEMS)
        far[i] = IN_NO_PATCH;
    for (;;) {
        best own = {0, 0, ABUT_NONE};
        for (uint i = begin + item; i < end; i += WORLD_REDUCE_ITEMS)
            if (far[i] == IN_NO_PATCH) {
                best b = {contacts[i].depth, contacts[i].id, i};
                own = better(own, b);
            }
        best last = reduce_best(own, room); /* the first contact of a patch */
        if (last.which == ABUT_NONE)
            break;
        vec3 middle = contacts[last.which].point, normal = contacts[last.which].normal;
        best level = {0, 0, ABUT_NONE};
        for (uint i = begin + item; i < end; i += WORLD_REDUCE_ITEMS)
            if (i == last.which ||
                (far[i] == IN_NO_PATCH && v3_dot(contacts[i].normal, normal) >= cosine)) {
                best b = {contact_support_level(middle, last.number, contacts[i].point,
                                                contacts[i].depth),
                          contacts[i].id, i};
                far[i] = INFINITY;
                if (b.number > 0 && keep > 1)
                    level = better(level, b);
            }
        level = reduce_best(level, room);
        if (level.which != ABUT_NONE)
            last = level;
        vec3 corner[CONTACT_SUPPORT_CORNERS];
        for (uint taken = 1;; taken++) {
            /* Updates the distances from the last selected contact; finds the one that adds
             * most. */
            vec3 from = contacts[last.which].point;
            if (taken <= CONTACT_SUPPORT_CORNERS)
                corner[taken - 1] = from;
            if (item == 0)
                keys[begin + kept] = last.which;
            kept++;
            own.which = ABUT_NONE;
            for (uint i = begin + item; i < end; i += WORLD_REDUCE_ITEMS) {
                real now = i == last.which ? IS_DONE : far[i];
                if (now >= 0 && taken < keep) {
                    vec3 point = contacts[i].point;
                    now = real_min(now, v3_length_sq(v3_sub(point, from)));
                    best b = {contact_support_gain(taken, corner, normal, point, now,
                                                   CONTACT_SUPPORT_SPREAD),
                              contacts[i].id, i};
                    own = better(own, b);
                } else if (now >= 0) {
                    now = IS_DONE;
                }
                far[i] = now;
            }
            if (taken >= keep)
                break;
            last = reduce_best(own, room);
            if (last.which == ABUT_NONE)
                break;
        }
    }
    if (item == 0)
        left[pair] = kept;
}

/* Copies the remaining contacts of each pair to their final place. */
GROUP_OF_ITEMS world_gather(__global const uint *contacts, __global const uint *first,
                            __global const uint *counts, __global const uint *backfacing,
                            __global const ulong *keys, __global const uint *begin,
                            __global uint *totals, __global uint *to, uint list_room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0);
    if (!is_complete(totals, WORLD_FOUND, list_room))
        return;
    uint words = (begin[pair + 1] - begin[pair]) * WORLD_CONTACT_WORDS;
    __global uint *own = to + (size_t)begin[pair] * WORLD_CONTACT_WORDS;
    for (uint i = item; i < words; i += WORLD_ITEMS) {
        size_t from = (uint)keys[first[pair] + i / WORLD_CONTACT_WORDS];
        own[i] = contacts[from * WORLD_CONTACT_WORDS + i % WORLD_CONTACT_WORDS];
    }
    if (item == 0 && pair + 1 == get_num_groups(0))
        totals[WORLD_LEFT] = begin[pair + 1];
    if (item == 0 && !counts[pair] && backfacing[pair])
        totals[WORLD_AGAIN] = 1;
}

#endif
