/* All pairs of a world at once.
 *
 * world_frames    the frames of both directions of each pair, and which are far apart: an item each
 * world_find      a work-group a pair: its contacts, in any order, to a place that it takes of a
 *                 list; by the same functions as contact.c, so they are the same
 * world_sort      brings the contacts of each pair into the order of features; or
 * world_reduce    chooses some of each patch, by the rule of reduce.c
 * world_gather    copies what is left to its place, pair by pair
 *
 * The last three only work with the places of contacts in the list. Sums between them are those of
 * scan.cl. Where the list is too short, contacts are counted, and nothing else is done.
 */
#include "device/tools_shared.h"
#include "world/world_shared.h"

#if ABUTI_REAL_BITS == 64

/* ---- frames ---- */

static field_view view_of(__global const world_field *at, __global const float *floats,
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

/* As is_far() of contact.c: one value in the middle tells that all samples are too far away. This
 * one is a float, and off by far less than the thousandth. */
static bool is_far(const field_view *view, const contact_frame *frame, real reach, real cell) {
    const float at[3] = {frame->shift[0], frame->shift[1], frame->shift[2]};
    float value = contact_value(view, at).distance;
    return frame->culls &&
           value >
               (float)(1.001 * (reach + FIELD_DIAGONAL * cell * (view->index ? FIELD_BRICK : 1)));
}

__kernel void world_frames(__global const world_field *fields, __global const float *floats,
                           __global const short *shorts, __global const uint *indices,
                           __global const world_samples *samples, __global const world_parts *parts,
                           __global const contact_motion *motions, __global const world_two *pairs,
                           __global world_direction *directions, __global uint *totals, uint count,
                           real margin, int any_normal) {
    size_t i = get_global_id(0);
    if (i < WORLD_TOTALS)
        totals[i] = 0;
    if (i >= count)
        return;
    uint side = (uint)(i & 1);
    world_two pair = pairs[i / 2];
    uint at = side ? pair.a : pair.b, of = side ? pair.b : pair.a;
    world_direction told;
    told.field = parts[at].field;
    told.samples = ABUT_NONE;
    if (told.field != ABUT_NONE && parts[of].samples != ABUT_NONE) {
        __global const world_samples *s = samples + parts[of].samples;
        contact_motion motion_at = motions[at], motion_of = motions[of];
        contact_grid grid = fields[told.field].grid;
        field_view view = view_of(fields + told.field, floats, shorts, indices);
        vec3 centre = s->centre;
        vec3 middle = contact_to_local(&motion_at, contact_to_world(&motion_of, centre));
        real reach = (s->radius + margin) * (1 + 1e-6);
        told.frame = contact_frame_make(&grid, &motion_at, &motion_of, centre,
                                        fields[told.field].band, (float)margin);
        told.frame.any_normal = any_normal;
        told.frame.edge_ends = (int)s->edge_ends;
        told.frame.culls = (int)fields[told.field].culls;
        if (!contact_ball_is_far(&grid, middle, reach) &&
            !is_far(&view, &told.frame, reach, grid.cell))
            told.samples = parts[of].samples;
    }
    directions[i] = told;
}

/* ---- what touches ---- */

/* Counters in local memory. */
enum { FOUND, WRONG, NEAR_GROUPS, NEAR_BALLS, EDGES, PLACE };

/* What world_find knows, and where it writes. */
typedef struct search {
    __global const world_field *fields;
    __global const float *floats;
    __global const short *shorts;
    __global const uint *indices;
    __global const world_samples *samples;
    __global const contact_ball *groups, *balls;
    __global const contact_point *points;
    __global const vec3 *ends; /* the same points in doubles */
    __global const world_feature *features;
    __global const world_direction *directions; /* of this pair */
    __global const contact_motion *motions;
    __global world_contact *contacts;
    __global ulong *keys;
    world_two pair;
    uint number; /* of the pair */
    int one_way;
    bool writes; /* contacts, as they are found; else features are kept in local memory */
    __local uint *room;
} search;

/* One direction, ready for use. */
typedef struct direction {
    field_view view;
    contact_frame frame;
    __global const world_samples *samples;
    __global const contact_point *points;
} direction;

static direction direction_of(const search *s, uint side) {
    direction d;
    __global const world_direction *from = s->directions + side;
    d.view = view_of(s->fields + from->field, s->floats, s->shorts, s->indices);
    d.frame = from->frame;
    d.samples = s->samples + from->samples;
    d.points = s->points + d.samples->first_point;
    if (s->one_way)
        contact_go_one_way(&d.view, &d.frame);
    return d;
}

/* The first point of a feature. */
static size_t point_of(const direction *d, uint feature) {
    uint count = d->samples->count;
    return feature < count ? feature : count + 2 * (size_t)(feature - count);
}

/* Writes a contact as feature_contact() of contact.c makes it. */
static void write_contact(const search *s, const direction *d, uint side, uint feature,
                          const contact_found *found, uint place) {
    contact_motion at = s->motions[side ? s->pair.a : s->pair.b];
    contact_motion of = s->motions[side ? s->pair.b : s->pair.a];
    world_feature name = s->features[d->samples->first_feature + feature];
    __global const vec3 *end = s->ends + d->samples->first_point + point_of(d, feature);
    vec3 outward = m3_apply(&at.turn, v3(found->x, found->y, found->z));
    vec3 point = feature < d->samples->count ? end[0] : v3_lerp(end[0], end[1], found->along);
    world_contact to;
    to.point = contact_to_world(&of, point);
    to.normal = side ? contact_back(outward) : outward;
    to.depth = found->depth;
    to.id = (ulong)side << 63 | (ulong)name.kind << 58 | (ulong)name.part << 32 | name.element;
    to.pair = s->number;
    to.side = side;
    to.kind = name.kind;
    to.element = name.element;
    to.part = name.part;
    to.unused = 0;
    s->contacts[place] = to;
    s->keys[place] = (ulong)(name.number | side << WORLD_SIDE_SHIFT) << 32 | place;
}

/* Notes what was found for a feature, of an edge at `along`. */
static void note(const search *s, const direction *d, uint side, uint feature,
                 const contact_found *found) {
    __local uint *kept = s->room + WORLD_FIND_FOUND;
    if (found->depth == CONTACT_WRONG)
        atomic_or(&s->room[WRONG], 1u);
    if (!(found->depth > CONTACT_WRONG))
        return;
    uint place = atomic_inc(&s->room[FOUND]);
    if (s->writes) {
        write_contact(s, d, side, feature, found, s->room[PLACE] + place);
    } else if (place < WORLD_FEW) {
        kept[2 * place] = feature | side << WORLD_SIDE_SHIFT;
        kept[2 * place + 1] = as_uint(found->along);
    }
}

/* Searches edges that were put off: whole rounds of them, or all. For all items of the group. */
static void search_edges(const search *s, bool all) {
    uint item = (uint)get_local_id(0);
    __local uint *edges = s->room + WORLD_FIND_EDGES;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint left = s->room[EDGES], rounds = (left + (all ? WORLD_ITEMS - 1 : 0)) / WORLD_ITEMS;
    for (uint round = 0; round < rounds; round++) {
        uint here = min(left, (uint)WORLD_ITEMS);
        if (item < here) {
            uint entry = edges[left - 1 - item], side = entry >> WORLD_SIDE_SHIFT;
            uint feature = entry & ~(1u << WORLD_SIDE_SHIFT);
            direction d = direction_of(s, side);
            __global const contact_point *end = d.points + point_of(&d, feature);
            float along = contact_search_edge(&d.view, &d.frame, end[0], end[1]);
            contact_found found = contact_at_edge(&d.view, &d.frame, end[0], end[1], along);
            note(s, &d, side, feature, &found);
        }
        left -= here;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        s->room[EDGES] = left;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Tries the features of near balls. */
static void try_balls(const search *s, const direction *d, uint side, bool edges, uint count) {
    uint item = (uint)get_local_id(0);
    __local const uint *near = s->room + WORLD_FIND_BALLS;
    for (uint first = 0; first < count * CONTACT_BALL; first += WORLD_ITEMS) {
        uint k = first + item;
        if (k < count * CONTACT_BALL) {
            __global const contact_ball *ball = s->balls + near[k / CONTACT_BALL];
            uint feature = ball->begin + k % CONTACT_BALL;
            if (feature < ball->end && !edges) {
                contact_found found = contact_find(&d->view, &d->frame, d->points[feature]);
                note(s, d, side, feature, &found);
            } else if (feature < ball->end) {
                __global const contact_point *end = d->points + point_of(d, feature);
                if (!contact_edge_is_far(&d->view, &d->frame, end[0], end[1]))
                    s->room[WORLD_FIND_EDGES + atomic_inc(&s->room[EDGES])] =
                        feature | side << WORLD_SIDE_SHIFT;
            }
        }
        if (edges)
            search_edges(s, false);
    }
}

/* Tries samples or edges of one body: groups, then balls, then features. */
static void try_features(const search *s, const direction *d, uint side, bool edges) {
    uint item = (uint)get_local_id(0);
    __local uint *near_groups = s->room + WORLD_FIND_GROUPS, *near = s->room + WORLD_FIND_BALLS;
    contact_part part = d->samples->parts[edges];
    __global const contact_ball *groups = s->groups + d->samples->first_group + part.first_group;
    uint first_ball = d->samples->first_ball;
    for (uint first = 0; first < part.groups; first += WORLD_ITEMS) {
        if (item == 0)
            s->room[NEAR_GROUPS] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (first + item < part.groups &&
            !contact_is_far(&d->view, &d->frame, groups[first + item]))
            near_groups[atomic_inc(&s->room[NEAR_GROUPS])] = first + item;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint children = s->room[NEAR_GROUPS] * CONTACT_BALL;
        for (uint child = 0; child < children; child += WORLD_ITEMS) {
            uint k = child + item;
            if (item == 0)
                s->room[NEAR_BALLS] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k < children) {
                __global const contact_ball *group = groups + near_groups[k / CONTACT_BALL];
                uint ball = group->begin + k % CONTACT_BALL;
                if (ball < group->end &&
                    !contact_is_far(&d->view, &d->frame, s->balls[first_ball + ball]))
                    near[atomic_inc(&s->room[NEAR_BALLS])] = first_ball + ball;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            try_balls(s, d, side, edges, s->room[NEAR_BALLS]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

/* Tries both directions; returns how many contacts there are. For all items of the group. */
static uint try_pair(const search *s, int only_samples) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        s->room[FOUND] = s->room[WRONG] = s->room[EDGES] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 0; step < 4; step++) {
        uint side = step / 2, edges = step % 2;
        if (s->directions[side].samples != ABUT_NONE && !(edges && only_samples)) {
            direction d = direction_of(s, side);
            try_features(s, &d, side, edges != 0);
        }
    }
    search_edges(s, true);
    barrier(CLK_LOCAL_MEM_FENCE);
    return s->room[FOUND];
}

/* Writes contacts whose features were kept. */
static void write_kept(const search *s, uint count) {
    __local const uint *kept = s->room + WORLD_FIND_FOUND;
    for (uint i = (uint)get_local_id(0); i < count; i += WORLD_ITEMS) {
        uint side = kept[2 * i] >> WORLD_SIDE_SHIFT;
        uint feature = kept[2 * i] & ~(1u << WORLD_SIDE_SHIFT);
        direction d = direction_of(s, side);
        __global const contact_point *point = d.points + point_of(&d, feature);
        contact_found found =
            feature < d.samples->count
                ? contact_find(&d.view, &d.frame, point[0])
                : contact_at_edge(&d.view, &d.frame, point[0], point[1], as_float(kept[2 * i + 1]));
        write_contact(s, &d, side, feature, &found, s->room[PLACE] + i);
    }
}

/* first[pair]: where its contacts begin in the list, counts[pair]: how many they are. */
__kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void
world_find(__global const world_field *fields, __global const float *floats,
           __global const short *shorts, __global const uint *indices,
           __global const world_samples *samples, __global const contact_ball *groups,
           __global const contact_ball *balls, __global const contact_point *points,
           __global const vec3 *ends, __global const world_feature *features,
           __global const world_direction *directions, __global const contact_motion *motions,
           __global const world_two *pairs, __global uint *first, __global uint *counts,
           __global uint *totals, __global world_contact *contacts, __global ulong *keys,
           uint list_room, int only_samples, __local uint *room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0), count = 0;
    search s;
    s.fields = fields;
    s.floats = floats;
    s.shorts = shorts;
    s.indices = indices;
    s.samples = samples;
    s.groups = groups;
    s.balls = balls;
    s.points = points;
    s.ends = ends;
    s.features = features;
    s.directions = directions + 2 * (size_t)pair;
    s.motions = motions;
    s.contacts = contacts;
    s.keys = keys;
    s.pair = pairs[pair];
    s.number = pair;
    s.writes = false;
    s.room = room;
    s.one_way = 0;
    bool wrong = false, fits = false;
    /* Again, where nothing but wrong ways was found, see abuti_contact_pair(); and where there are
     * too many to keep. */
    for (uint pass = 0; pass < 3; pass++) {
        if (pass == 0 || (pass == 1 && !count && wrong) ||
            (pass == 2 && fits && count > WORLD_FEW)) {
            s.one_way = s.one_way || pass == 1;
            s.writes = pass == 2;
            count = try_pair(&s, only_samples);
            wrong = room[WRONG] != 0;
        }
        if (pass == 1) {
            if (item == 0) {
                uint at = count ? atomic_add(&totals[WORLD_FOUND], count) : 0;
                if (at + count < at)
                    atomic_inc(&totals[WORLD_CARRY]);
                room[PLACE] = at;
                first[pair] = at;
                counts[pair] = count;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            uint at = room[PLACE];
            fits = at + count >= at && at + count <= list_room;
        }
    }
    if (fits && count <= WORLD_FEW)
        write_kept(&s, count);
}

/* ---- order, and reduction ---- */

/* Whether the list had room for all. */
static bool is_whole(__global const uint *totals, uint list_room) {
    return !totals[WORLD_CARRY] && totals[WORLD_FOUND] <= list_room;
}

/* Batcher's bitonic sort, with all comparisons one way, so that any number will do. */
__kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void
world_sort(__global const uint *first, __global const uint *counts, __global const uint *totals,
           __global ulong *keys, uint list_room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0), count = counts[pair];
    __global ulong *own = keys + first[pair];
    if (!is_whole(totals, list_room) || count < 2)
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

/* One of a list: the best so far by a number, then by the lower id; ABUT_NONE: none. */
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
    b.id = room[WORLD_ITEMS + i];
    b.which = (uint)room[2 * WORLD_ITEMS + i];
    return b;
}

static void store_best(__local ulong *room, uint i, best b) {
    room[i] = as_ulong(b.number);
    room[WORLD_ITEMS + i] = b.id;
    room[2 * WORLD_ITEMS + i] = b.which;
}

/* The best of all items of the group. */
static best best_of_group(best own, __local ulong *room) {
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
    for (uint i = row; i < WORLD_ITEMS; i += row)
        all = better(all, load_best(room, i));
    return all;
}

/* How far a contact is from those that were chosen of its patch, squared; or: */
#define IN_NO_PATCH (-2.0)
#define IS_DONE (-1.0)

/* As abut_contact_reduce(). Places of those that stay become the first keys of the pair; left[pair]
 * is their number. `far` has room for a number a contact. */
__kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void
world_reduce(__global const world_contact *contacts, __global const uint *first,
             __global const uint *counts, __global const uint *totals, __global ulong *keys,
             __global real *far, __global uint *left, uint list_room, uint keep, real cosine,
             __local ulong *room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0), count = counts[pair];
    uint begin = first[pair], end = begin + count, kept = 0;
    if (!is_whole(totals, list_room))
        return;
    for (uint i = begin + item; i < end; i += WORLD_ITEMS)
        far[i] = IN_NO_PATCH;
    for (;;) {
        best own = {0, 0, ABUT_NONE};
        for (uint i = begin + item; i < end; i += WORLD_ITEMS)
            if (far[i] == IN_NO_PATCH) {
                best b = {contacts[i].depth, contacts[i].id, i};
                own = better(own, b);
            }
        best last = best_of_group(own, room); /* which leads a patch */
        if (last.which == ABUT_NONE)
            break;
        vec3 normal = contacts[last.which].normal;
        for (uint taken = 1;; taken++) {
            /* What is as it was measured from the last one; and who is furthest. */
            vec3 from = contacts[last.which].point;
            if (item == 0)
                keys[begin + kept] = last.which;
            kept++;
            own.which = ABUT_NONE;
            for (uint i = begin + item; i < end; i += WORLD_ITEMS) {
                real now = far[i];
                if (taken == 1 && now == IN_NO_PATCH &&
                    v3_dot(contacts[i].normal, normal) >= cosine)
                    now = INFINITY;
                if (i == last.which)
                    now = IS_DONE;
                if (now >= 0 && taken < keep) {
                    now = real_min(now, v3_length_sq(v3_sub(contacts[i].point, from)));
                    best b = {now, contacts[i].id, i};
                    own = better(own, b);
                } else if (now >= 0) {
                    now = IS_DONE;
                }
                far[i] = now;
            }
            if (taken >= keep)
                break;
            last = best_of_group(own, room);
            if (last.which == ABUT_NONE)
                break;
        }
    }
    if (item == 0)
        left[pair] = kept;
}

/* Copies what is left of each pair to where it begins. */
__kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void
world_gather(__global const uint *contacts, __global const uint *first, __global const ulong *keys,
             __global const uint *begin, __global uint *totals, __global uint *to, uint list_room) {
    uint pair = (uint)get_group_id(0), item = (uint)get_local_id(0);
    if (!is_whole(totals, list_room))
        return;
    uint words = (begin[pair + 1] - begin[pair]) * WORLD_CONTACT_WORDS;
    __global uint *own = to + (size_t)begin[pair] * WORLD_CONTACT_WORDS;
    for (uint i = item; i < words; i += WORLD_ITEMS) {
        size_t from = (uint)keys[first[pair] + i / WORLD_CONTACT_WORDS];
        own[i] = contacts[from * WORLD_CONTACT_WORDS + i % WORLD_CONTACT_WORDS];
    }
    if (item == 0 && pair + 1 == get_num_groups(0))
        totals[WORLD_LEFT] = begin[pair + 1];
}

#endif
