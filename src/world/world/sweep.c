/* Continuous collision detection of a step: bounding boxes of whole paths, and a sweep of each pair
 * of boxes that overlaps.
 *
 * The box of a path contains the boxes at both ends, extended by the deviation of an arc from its
 * chord: at most w^2 r / 8, with the angle w and the largest distance r from the origin
 * (sweep/rigid.c).
 *
 * Planes and primitives are swept as abut_sweep_rigid() does (sweep/rigid_plane.c, rigid_core.c).
 * An item keeps its core.
 *
 * A pair that touches at the start limits the step only if its penetration increases. A second
 * sweep determines the safe part of the step: a is moved out along the contact normals n_i at the
 * start, by the shortest shift v with v . n_i >= depth_i + slack, which rotates with b. The shifted
 * body does not touch b before the time T of that sweep. So a shift by |v| separates the pair at
 * every time before T: its depth never exceeds that at the start by more than the slack, and it
 * cannot tunnel. This holds for any v, so that inexact normals can only make T early. For a plane,
 * the limit of the same sweep is the height of the lowest point at the start, minus the slack.
 *
 * With an allowed depth d, v . n_i >= max(depth_i, d) + slack. A pair that is separate at the start
 * and touches later is shifted by d along the normal of the impact.
 *
 * Safe times of single items: if one of two moving items whose paths are near each other stops, the
 * sweep of their pair does not hold for the other one. So both get the earlier of their times.
 */
#include "world/world.h"

#include "device/array.h"
#include "sweep/rigid.h"

#include <math.h>

enum { ITEMS_PER_TASK = 256, FEW_PAIRS = 8, SHIFT_ROUNDS = 64 };

#define SLACK 1e-4        /* of the smaller item */
#define ROUND_SLACK 0.004 /* of a radius: cores exceed primitives by up to 0.003 of it */
#define SHIFT_MAX 0.5     /* of the smaller item: a larger shift might pass through the other one */
#define ALLOWED_MAX 0.25  /* of the smaller item, likewise */

typedef struct step_sweep {
    abut_world *world;
    abut_world_sweep_options options;
    double reach; /* extension of boxes, on each side */
    bool is_past; /* safe times are not needed */
} step_sweep;

/* ---- paths ---- */

static abut_sweep_rigid_options rigid_options(const step_sweep *s) {
    return (abut_sweep_rigid_options){.size = sizeof(abut_sweep_rigid_options),
                                      .separation = s->options.separation,
                                      .tolerance = s->options.tolerance};
}

static abuti_step step_of(const abut_world *world, uint32_t id) {
    const world_sweep *sweep = (const world_sweep *)world->sweeps.data + id;
    return (abuti_step){sweep->from->pose, sweep->to->pose};
}

static const abut_bvh *core_of(const world_item *item) {
    return item->bvh ? item->bvh : item->core;
}

/* Bounding box in local coordinates. Characters have no other coordinates. */
static box3 local_box(const world_item *item) {
    return item->kind != ABUT_COLLIDER_CHARACTER ? item->local
           : item->core                          ? item->core->mesh->bounds
                                                 : item->at.box;
}

static sweep_shape shape_of(const world_item *item) {
    return (sweep_shape){.collider = &item->is.collider,
                         .bvh = core_of(item),
                         .is_core = !item->bvh,
                         .radius = item->core_radius,
                         .bounds = local_box(item)};
}

/* Upper bound of the distance of an item's points from its origin. */
static double radius_of(const world_item *item) {
    const box3 box = local_box(item);
    return v3_length(v3_max(v3_abs(box.lo), v3_abs(box.hi)));
}

static double item_size(const world_item *item) {
    const box3 box = local_box(item);
    return v3_max_abs(v3_sub(box.hi, box.lo));
}

static double smaller_size(const world_item *a, const world_item *b) {
    return a->kind == ABUT_COLLIDER_PLANE   ? item_size(b)
           : b->kind == ABUT_COLLIDER_PLANE ? item_size(a)
                                            : real_min(item_size(a), item_size(b));
}

static double round_radius(const world_item *item) {
    return item->kind == ABUT_COLLIDER_SPHERE     ? item->is.collider.shape.sphere.radius
           : item->kind == ABUT_COLLIDER_CAPSULE  ? item->is.collider.shape.capsule.radius
           : item->kind == ABUT_COLLIDER_CYLINDER ? item->is.collider.shape.cylinder.radius
                                                  : 0;
}

/* The allowed increase of the depth of a pair that touches. */
static double slack_of(const step_sweep *s, const world_item *a, const world_item *b) {
    const double slack =
        SLACK * smaller_size(a, b) + ROUND_SLACK * (round_radius(a) + round_radius(b));
    return real_max(slack, 4 * s->options.tolerance);
}

/* The depth up to which a pair may overlap. */
static double allowed_depth(const step_sweep *s, const world_item *a, const world_item *b) {
    return real_min(s->options.allowed_depth, ALLOWED_MAX * smaller_size(a, b));
}

/* The safe part of a step whose depth increases at `deeper`: 0 if no point of one item moves by
 * more than twice the slack relative to the other until then. */
static double safe_time(const step_sweep *s, const abut_world_pair *pair, double slack,
                        const abut_sweep_rigid_result *deeper) {
    const abuti_step p = step_of(s->world, pair->a), q = step_of(s->world, pair->b);
    const abuti_path a = abuti_path_of(&p), b = abuti_path_of(&q);
    const world_item *items = world_items(s->world);
    const vec3 apart = v3_sub(a.start, b.start), way = v3_sub(a.shift, b.shift);
    /* For a plane: the distance of the other item from its origin. */
    const double far = real_max(v3_length(apart), v3_length(v3_add(apart, way)));
    const double r_a = items[pair->a].kind == ABUT_COLLIDER_PLANE ? far + radius_of(&items[pair->b])
                                                                  : radius_of(&items[pair->a]);
    const double r_b = items[pair->b].kind == ABUT_COLLIDER_PLANE ? far + radius_of(&items[pair->a])
                                                                  : radius_of(&items[pair->b]);
    const double speed = v3_length(way) + a.angle * r_a + b.angle * r_b;
    return !deeper->hit ? 1 : deeper->time * speed <= 2 * slack ? 0 : deeper->time;
}

static void compute_path_boxes(void *data, size_t chunk, size_t begin, size_t end) {
    const step_sweep *s = data;
    world_sweep *sweeps = s->world->sweeps.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const world_item *item = &world_items(s->world)[i];
        if (!item->used || item->kind == ABUT_COLLIDER_PLANE)
            continue;
        box3 box = sweeps[i].from->box;
        double more = s->reach;
        if (sweeps[i].moves)
            box = box_join(box, sweeps[i].to->box);
        if (sweeps[i].moves && !sweeps[i].deforms) {
            abuti_step path = step_of(s->world, (uint32_t)i);
            double angle = abuti_path_of(&path).angle;
            more += angle * angle * radius_of(item) / 8 * (1 + 1e-12);
        }
        const vec3 all = v3(more, more, more);
        sweeps[i].box = (box3){v3_sub(box.lo, all), v3_add(box.hi, all)};
    }
}

/* ---- planes ---- */

static bool sweep_plane_pair(const step_sweep *s, const abut_world_pair *pair, bool plane_is_a,
                             abut_sweep_rigid_result *touch, double *safe) {
    const world_item *items = world_items(s->world);
    const uint32_t item = plane_is_a ? pair->b : pair->a, plane = plane_is_a ? pair->a : pair->b;
    const abuti_step step = step_of(s->world, item), plane_step = step_of(s->world, plane);
    const sweep_shape shape = shape_of(&items[item]);
    const abut_sweep_rigid_options options = rigid_options(s);
    const double allowed = allowed_depth(s, &items[item], &items[plane]);
    sweep_plane f;
    if (!abuti_sweep_plane_init(&f, &shape, &step, &items[plane].is.collider.shape.plane,
                                &plane_step, &options))
        return false;
    abuti_sweep_plane_search(&f, touch);
    if (plane_is_a)
        touch->normal = contact_negate(touch->normal);
    *safe = touch->hit ? touch->time : 1;
    if (s->is_past || !touch->hit || (touch->time > 0 && !(allowed > 0)))
        return true;
    abut_sweep_rigid_result deeper = {.time = 1};
    if (touch->time > 0) {
        f.separation -= allowed;
        abuti_sweep_plane_search(&f, &deeper);
        *safe = real_max(*safe, deeper.time);
    } else { /* the lowest point may descend by the slack */
        const double slack = slack_of(s, &items[item], &items[plane]);
        size_t which = 0;
        f.separation =
            real_min(abuti_sweep_plane_height(&f, 0, &which), f.separation - allowed) - slack;
        abuti_sweep_plane_search(&f, &deeper);
        *safe = safe_time(s, pair, slack, &deeper);
    }
    return true;
}

/* ---- cores ---- */

abut_status abuti_world_core(abut_context *context, world_item *item) {
    const abut_collider_kind kind = item->is.collider.kind;
    if (item->core || item->bvh || kind == ABUT_COLLIDER_BODY || kind == ABUT_COLLIDER_PLANE ||
        kind == ABUT_COLLIDER_CHARACTER)
        return ABUT_OK;
    return abuti_sweep_create_core("abut_world_sweep", context, &item->is.collider, &item->core,
                                   &item->core_radius);
}

/* The surface of a character at its current positions, until it gets others. */
static abut_status create_character_core(abut_context *context, world_item *item) {
    abut_mesh *mesh = NULL;
    if (item->core || !abuti_world_has_surface(item))
        return ABUT_OK;
    const abut_mesh *from = abuti_world_triangles(item);
    const abut_mesh_input input = abut_mesh_input_doubles(item->track->given, from->vertex_count,
                                                          from->indices, from->triangle_count);
    abut_status status = abut_mesh_create(context, &input, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &item->core);
    abut_mesh_destroy(mesh);
    return status;
}

/* ---- pairs that may overlap ---- */

/* A shift of a that exceeds the depth of every contact, or `depth`, by `more`, nearly the shortest
 * one: projections onto one half-space after the other. It need not separate the pair, because a
 * sweep from there verifies it. */
static vec3 separating_shift(const abut_contact *contacts, uint64_t count, double depth,
                             double more) {
    vec3 shift = v3(0, 0, 0);
    for (int round = 0; round < SHIFT_ROUNDS; round++)
        for (uint64_t i = 0; i < count; i++) {
            const abut_contact *c = &contacts[i];
            const double lacks = real_max(c->depth, depth) + more - v3_dot(shift, c->normal);
            if (lacks > 0)
                shift = v3_along(shift, lacks, c->normal);
        }
    return shift;
}

static int compare_touch(const void *key, const void *element) {
    const world_touch *touch = element;
    const abut_world_pair pair = {touch->event.a, touch->event.b};
    return world_compare_pairs(key, &pair);
}

/* The contacts of a pair at the current poses, if the world has them and they are exact. */
static const abut_contact *known_contacts(const abut_world *world, const abut_world_pair *pair,
                                          uint64_t *count) {
    const world_touch *touch = world->has_contacts
                                   ? world_find(&world->touches, pair, sizeof *touch, compare_touch)
                                   : NULL;
    *count = touch && touch->event.method == ABUT_WORLD_EXACT ? touch->event.count : 0;
    return *count ? (const abut_contact *)world->contacts.data + touch->event.first : NULL;
}

/* An item for contacts of surfaces: a character is the body of its surface. */
static world_item contact_item(const world_item *item) {
    world_item body = *item;
    if (item->kind == ABUT_COLLIDER_CHARACTER) {
        body.kind = ABUT_COLLIDER_BODY;
        body.is.collider = abut_collider_from_bvh(item->core, item->at.pose);
    }
    return body;
}

/* A shift that separates a pair which touches at the start, by the slack; 0 if there is none. */
static abut_status find_shift(const step_sweep *s, const abut_world_pair *pair, double slack,
                              vec3 *shift) {
    const world_item *a = &world_items(s->world)[pair->a], *b = &world_items(s->world)[pair->b];
    const double separation = s->options.separation, depth = allowed_depth(s, a, b) - separation;
    uint64_t count;
    const abut_contact *known = known_contacts(s->world, pair, &count);
    if (known && !(separation > world_pair_margin(a, b))) {
        *shift = separating_shift(known, count, depth, separation + slack);
        return ABUT_OK;
    }
    const world_item both[2] = {contact_item(a), contact_item(b)};
    abuti_vector list = {0}, contacts = {0};
    abut_patches found = abut_patches_default();
    world_call call = {.world = s->world,
                       .a = &both[0],
                       .b = &both[1],
                       .options = abut_patch_options_default()};
    call.options.margin = separation > 0 ? separation + slack : 0;
    abut_status status = abuti_world_collide(&abuti_world_exact, &call, &contacts, &list, &found);
    if (!status && !found.patches.count && !(separation > 0)) {
        call.options.margin = slack;
        status = abuti_world_collide(&abuti_world_exact, &call, &contacts, &list, &found);
    }
    *shift = v3(0, 0, 0);
    if (!status)
        *shift = separating_shift(contacts.data, found.contacts.count, depth, separation + slack);
    ABUTI_RELEASE(s->world->context, list.data, contacts.data);
    return status;
}

/* A shift by the allowed depth along the normal of an impact, which rotates with b. */
static vec3 shift_along_normal(const step_sweep *s, const world_item *a, const world_item *b,
                               const abuti_path *turn, const abut_sweep_rigid_result *touch) {
    const quat from = abuti_path_pose(turn, 0).rotation,
               to = abuti_path_pose(turn, touch->time).rotation;
    const mat3 on = quat_matrix(from), back = quat_matrix((quat){-to.x, -to.y, -to.z, to.w});
    const vec3 normal = m3_apply(&on, m3_apply(&back, touch->normal));
    return v3_scale(normal, allowed_depth(s, a, b));
}

/* The safe part of a step for two items with cores that touch at the start, or touch later and may
 * overlap. */
static abut_status sweep_shifted(const step_sweep *s, const abut_world_pair *pair,
                                 const abut_sweep_rigid_result *touch, double *safe) {
    const world_item *a = &world_items(s->world)[pair->a], *b = &world_items(s->world)[pair->b];
    const bool is_start = !(touch->time > 0);
    const double slack = slack_of(s, a, b), separation = s->options.separation;
    abuti_step p = step_of(s->world, pair->a), q = step_of(s->world, pair->b);
    const abuti_path turn = abuti_path_of(&q);
    vec3 shift = v3(0, 0, 0);
    abut_status status = ABUT_OK;
    if (is_start)
        status = find_shift(s, pair, slack, &shift);
    else
        shift = shift_along_normal(s, a, b, &turn, touch);
    const double length = v3_length(shift);
    if (status || !(length > 0) || length > SHIFT_MAX * smaller_size(a, b) + separation + slack)
        return status;
    const quat from = abuti_path_pose(&turn, 0).rotation, to = abuti_path_pose(&turn, 1).rotation;
    const mat3 back = quat_matrix((quat){-from.x, -from.y, -from.z, from.w}), on = quat_matrix(to);
    p.from.translation = v3_add(p.from.translation, shift);
    p.to.translation = v3_add(p.to.translation, m3_apply(&on, m3_apply(&back, shift)));
    abut_sweep_rigid_result deeper = {.time = 1};
    /* A quarter of the slack is reserved for the tolerance, which needs fewer pieces. */
    abut_sweep_rigid_options coarse = rigid_options(s);
    coarse.tolerance = real_max(s->options.tolerance, 0.25 * slack);
    const sweep_shape shapes[2] = {shape_of(a), shape_of(b)};
    status = abuti_sweep_shapes(&shapes[0], &p, &shapes[1], &q, &coarse, &deeper);
    if (!status)
        *safe = is_start ? safe_time(s, pair, slack, &deeper) : real_max(*safe, deeper.time);
    return status;
}

/* ---- pairs ---- */

/* Creates the cores of all items that are swept. */
static abut_status create_cores(const abut_world *world) {
    const abut_world_pair *pairs = world->sweep_pairs.data;
    world_item *items = world_items(world);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < world->sweep_pairs.count && !status; i++) {
        world_item *both[2] = {&items[pairs[i].a], &items[pairs[i].b]};
        for (int k = 0; k < 2 && !status; k++) /* planes need only those of cylinders */
            if (both[k]->kind == ABUT_COLLIDER_CHARACTER)
                status = create_character_core(world->context, both[k]);
            else if (both[!k]->kind != ABUT_COLLIDER_PLANE ||
                     both[k]->kind == ABUT_COLLIDER_CYLINDER)
                status = abuti_world_core(world->context, both[k]);
    }
    return status;
}

static bool has_sensor(const world_item *a, const world_item *b) {
    return ((a->filter.traits | b->filter.traits) & WORLD_IS_SENSOR) != 0;
}

static void sweep_pairs(void *data, size_t chunk, size_t begin, size_t end) {
    const step_sweep *s = data;
    const world_item *items = world_items(s->world);
    const world_sweep *sweeps = s->world->sweeps.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abuti_set_fraction((double)i / (double)s->world->sweep_pairs.count);
        const abut_world_pair *pair = (const abut_world_pair *)s->world->sweep_pairs.data + i;
        const world_item *a = &items[pair->a], *b = &items[pair->b];
        world_swept *to = (world_swept *)s->world->swept.data + i;
        *to = (world_swept){.touch = {.time = 1, .triangle = {ABUT_NONE, ABUT_NONE}}, .safe = 1};
        if ((!sweeps[pair->a].moves && !sweeps[pair->b].moves) || sweeps[pair->a].deforms ||
            sweeps[pair->b].deforms)
            continue;
        if (a->kind == ABUT_COLLIDER_PLANE || b->kind == ABUT_COLLIDER_PLANE) {
            to->unknown =
                !sweep_plane_pair(s, pair, a->kind == ABUT_COLLIDER_PLANE, &to->touch, &to->safe);
        } else if (core_of(a) && core_of(b)) {
            const abuti_step p = step_of(s->world, pair->a), q = step_of(s->world, pair->b);
            const sweep_shape shapes[2] = {shape_of(a), shape_of(b)};
            const abut_sweep_rigid_options options = rigid_options(s);
            to->status = abuti_sweep_shapes(&shapes[0], &p, &shapes[1], &q, &options, &to->touch);
            to->safe = to->touch.hit ? to->touch.time : 1;
            if (!to->status && to->touch.hit && !s->is_past && !has_sensor(a, b) &&
                (!(to->touch.time > 0) || s->options.allowed_depth > 0))
                to->status = sweep_shifted(s, pair, &to->touch, &to->safe);
        } else {
            to->unknown = true;
        }
    }
}

/* Sets the safe times of all items; 1 for those that end where they are. */
static void set_safe_times(const abut_world *world) {
    const world_swept *swept = world->swept.data;
    const abut_world_pair *pairs = world->sweep_pairs.data;
    world_sweep *sweeps = world->sweeps.data;
    bool changed = true;
    for (size_t i = 0; i < world->items.count; i++) {
        sweeps[i].time = 1;
        sweeps[i].moves &=
            memcmp(&sweeps[i].from->pose, &sweeps[i].to->pose, sizeof sweeps[i].to->pose) != 0;
    }
    for (bool backward = false; changed; backward = !backward) {
        changed = false;
        for (size_t i = 0; i < world->sweep_pairs.count; i++) {
            const size_t which = backward ? world->sweep_pairs.count - 1 - i : i;
            const abut_world_pair *pair = &pairs[which];
            world_sweep *a = &sweeps[pair->a], *b = &sweeps[pair->b];
            if (has_sensor(&world_items(world)[pair->a], &world_items(world)[pair->b]))
                continue;
            const double time = real_min(swept[which].safe, real_min(a->time, b->time));
            changed |= (a->moves && time < a->time) || (b->moves && time < b->time);
            a->time = a->moves ? time : 1;
            b->time = b->moves ? time : 1;
        }
    }
}

static abut_status write_impacts(const abut_world *world, const uint32_t *ids, size_t ends,
                                 abut_world_impacts *impacts) {
    const world_swept *swept = world->swept.data;
    const abut_world_pair *pairs = world->sweep_pairs.data;
    uint64_t count = 0, unknown = 0;
    double time = 1;
    abut_reliability reliability =
        abuti_guaranteed("No containment was decided, or all were decided exactly.");
    for (size_t i = 0; i < world->sweep_pairs.count; i++)
        count += swept[i].touch.hit;
    abut_status status = ABUTI_LIST_COUNT("abut_world_sweep", "impacts", impacts, count);
    if (status)
        return status;
    count = 0;
    for (size_t i = 0; i < world->sweep_pairs.count; i++) {
        const abut_sweep_rigid_result *touch = &swept[i].touch;
        unknown += swept[i].unknown;
        reliability =
            touch->reliability.level > reliability.level ? touch->reliability : reliability;
        const world_item *a = &world_items(world)[pairs[i].a], *b = &world_items(world)[pairs[i].b];
        const bool sensor = has_sensor(a, b);
        if (touch->hit)
            impacts->list[count++] = (abut_world_impact){a->id, b->id, sensor, *touch};
        if (!sensor)
            time = real_min(time, swept[i].safe);
    }
    if (impacts->times) {
        set_safe_times(world);
        for (size_t i = 0; i < ends; i++)
            impacts->times[i] = ((const world_sweep *)world->sweeps.data)[ids ? ids[i] : i].time;
    }
    impacts->time = time;
    impacts->unswept_count = unknown;
    impacts->reliability = reliability;
    return ABUT_OK;
}

/* ---- public function ---- */

/* Validates and stores the end poses. */
static abut_status set_ends(abut_world *world, const uint32_t *ids, const abut_pose *ends,
                            size_t count) {
    static const char function[] = "abut_world_sweep";
    abut_status status = abuti_vector_reserve(world->context, &world->sweeps, world->items.count,
                                              sizeof(world_sweep));
    if (status)
        return status;
    world_sweep *sweeps = world->sweeps.data;
    for (size_t i = 0; i < world->items.count; i++) {
        const world_place *at = &world_items(world)[i].at;
        sweeps[i] = (world_sweep){.from = at, .to = at};
    }
    status = abuti_world_download_characters(world);
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t id;
        status = abuti_world_find_index(function, world, ids, i, &id);
        if (!status && (world_items(world)[id].filter.traits & WORLD_IS_ASLEEP))
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: item %u is asleep; wake it before you sweep it", function,
                                world_items(world)[id].id);
        if (!status)
            status =
                abuti_world_place(function, &world_items(world)[id], &ends[i], &sweeps[id].end);
        if (!status) {
            sweeps[id].moves = true;
            sweeps[id].to = &sweeps[id].end;
        }
    }
    return status;
}

/* Sweeps all pairs of a step whose ends are set. */
static abut_status sweep_step(step_sweep *s) {
    abut_world *world = s->world;
    if (world->items.count)
        abuti_parallel_for(world->context, world->items.count, ITEMS_PER_TASK, compute_path_boxes,
                           s);
    abut_status status =
        abuti_world_overlaps(world, world->sweeps.data, s->reach, &world->sweep_pairs);
    const size_t pairs = world->sweep_pairs.count;
    if (!status)
        status = create_cores(world);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->swept, pairs, sizeof(world_swept));
    if (!status && pairs)
        status = abuti_parallel_try(world->context, "world", pairs, pairs < FEW_PAIRS ? pairs : 1,
                                    sweep_pairs, s);
    const world_swept *swept = world->swept.data;
    for (size_t i = 0; i < pairs && !status; i++) {
        if (swept[i].status == ABUT_ERROR_MEMORY)
            return abuti_fail(ABUT_ERROR_MEMORY, "abut_world_sweep: out of memory for a pair");
        if (swept[i].status) { /* repeated on this thread for the error message */
            sweep_pairs(s, 0, i, i + 1);
            status = swept[i].status;
        }
    }
    return status;
}

abut_status abuti_world_sweep_paths(abut_world *world, const abut_world_sweep_options *options,
                                    bool is_past) {
    step_sweep s = {.world = world, .options = *options, .is_past = is_past};
    s.reach = 0.5 * (options->separation + options->tolerance);
    return sweep_step(&s);
}

/* Downloads end poses that are in a buffer; the caller releases `list`. */
static abut_status download_ends(const abut_world *world, const abut_buffer *ends, size_t count,
                                 abut_pose **list) {
    static const char function[] = "abut_world_sweep";
    abut_device *device = world->options.device;
    if (!device)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: ends is a device buffer, but the world has no device; set "
                          "options->device of abut_world_create(), or pass ends in host memory",
                          function);
    abut_status status =
        abuti_buffer_check(ends, function, "ends", device, count, sizeof(abut_pose));
    if (status)
        return status;
    *list = abuti_allocate(world->context, count, sizeof **list);
    return *list ? abut_buffer_read(ends, 0, *list, count * sizeof **list) : ABUT_ERROR_MEMORY;
}

abut_status abut_world_sweep(abut_world *world, const uint32_t *ids, abut_array ends, size_t count,
                             const abut_world_sweep_options *options, abut_world_impacts *impacts) {
    abut_world_sweep_options o = abut_world_sweep_options_default();
    abut_world_impacts ours = abut_world_impacts_default();
    const bool has_ends = ends.host || ends.buffer || !count;
    if (!world || !has_ends)
        return abuti_null(__func__, world ? "ends" : "world");
    abut_status status = abuti_result_read(&ours, sizeof ours, impacts, __func__, "impacts");
    if (status || (status = ABUTI_LIST_CHECK_MEMBERS(__func__, "impacts", &ours)))
        return status;
    if (!ids && count > world->items.count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_sweep: there are %zu poses, but the world has only %zu items",
                          count, world->items.count);
    abut_context *before;
    status = abuti_options_read(&o, sizeof o, options, "abut_world_sweep: options");
    if (status || (status = abuti_check_length(__func__, "options->separation", o.separation)) ||
        (status = abuti_check_length(__func__, "options->tolerance", o.tolerance)) ||
        (status = abuti_check_length(__func__, "options->allowed_depth", o.allowed_depth)) ||
        (status = abuti_world_enter(__func__, world, &before)))
        return status;
    status = world->backend->download_poses(world);
    abut_pose *downloaded = NULL;
    void *copy = NULL;
    if (!status)
        status = abuti_array_convert("abut_world_sweep", "ends", world->context, &ends, count,
                                     POSE_NUMBERS, &copy);
    if (!status && ends.buffer)
        status = download_ends(world, ends.buffer, count, &downloaded);
    if (!status)
        status = set_ends(world, ids, ends.buffer ? downloaded : ends.host, count);
    if (!status)
        status = abuti_world_sweep_paths(world, &o, false);
    abuti_release(world->context, downloaded);
    abuti_release(world->context, copy);
    abuti_set_fraction(0);
    abuti_world_leave(world, before);
    if (!status)
        status = write_impacts(world, ids, count, &ours);
    return abuti_result_write(impacts, &ours, status);
}
