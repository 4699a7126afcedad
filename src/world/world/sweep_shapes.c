/* Impacts of shapes whose vertices move one by one: with other items, and with themselves.
 *
 * All these shapes and the items near them are the meshes of one sweep (members), which is kept
 * from step to step and created again if another item touches a box. It then gets all items within
 * the size of a shape, so that this is rare. Planes are not members: the
 * height of a vertex above a plane is linear in time. All rigid members have one owner, so that
 * their pairs are not searched.
 */
#include "world/world.h"

#include "geom/pose.h"
#include "sweep/motion.h"

#include <abut/self.h>

#define EARLY (1 - 1e-12) /* rounding errors of a time of impact */

static const world_sweep *path_of(const abut_world *world, uint32_t id) {
    return (const world_sweep *)world->sweeps.data + id;
}

static bool has_path(const world_item *item) {
    return item->track && item->track->has_start && item->track->from;
}

/* ---- planes ---- */

static vec3 in_plane(const world_place *plane, vec3 p) {
    return contact_to_local(&plane->motion, p);
}

/* A shape that deforms and a plane, in the coordinates of the plane. */
static void sweep_plane_shape(const abut_world *world, uint32_t shape, uint32_t plane,
                              bool plane_is_a, abut_sweep_rigid_result *touch) {
    const world_track *track = world_items(world)[shape].track;
    const world_sweep *path = path_of(world, plane);
    const abut_plane *p = &world_items(world)[plane].is.collider.shape.plane;
    for (uint32_t v = 0; v < track->count; v++) {
        const double from = v3_dot(p->normal, in_plane(path->from, track->from[v])) - p->offset,
                     to = v3_dot(p->normal, in_plane(path->to, track->to[v])) - p->offset;
        if (from > 0 && to > 0)
            continue;
        const double time = from > 0 ? EARLY * from / (from - to) : 0;
        if (touch->hit && time >= touch->time)
            continue;
        touch->hit = true;
        touch->time = time;
        touch->point = v3_along(track->from[v], time, v3_sub(track->to[v], track->from[v]));
    }
    const vec3 up = v3_normalise(m3_apply(&path->to->motion.turn, p->normal));
    if (touch->hit)
        touch->normal = plane_is_a ? v3_scale(up, -1) : up;
}

/* ---- members ---- */

/* Chooses the pairs of members and marks them; sweeps those with planes. */
static void prepare_pairs(abut_world *world) {
    const abut_world_pair *pairs = world->sweep_pairs.data;
    world_item *items = world_items(world);
    for (size_t i = 0; i < world->sweep_pairs.count; i++) {
        world_item *a = &items[pairs[i].a], *b = &items[pairs[i].b];
        const world_sweep *p = path_of(world, pairs[i].a), *q = path_of(world, pairs[i].b);
        world_swept *to = (world_swept *)world->swept.data + i;
        if ((!p->deforms && !q->deforms) || p->is_cloth || q->is_cloth || (!p->moves && !q->moves))
            continue;
        if ((p->deforms && !has_path(a)) || (q->deforms && !has_path(b)) ||
            !abuti_world_has_surface(a) || !abuti_world_has_surface(b))
            to->unknown = true;
        else if (a->kind == ABUT_COLLIDER_PLANE || b->kind == ABUT_COLLIDER_PLANE)
            sweep_plane_shape(world, a->kind == ABUT_COLLIDER_PLANE ? pairs[i].b : pairs[i].a,
                              a->kind == ABUT_COLLIDER_PLANE ? pairs[i].a : pairs[i].b,
                              a->kind == ABUT_COLLIDER_PLANE, &to->touch);
        else
            a->track->is_wanted = b->track->is_wanted = true;
    }
}

void abuti_world_forget_shapes(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++)
        if (world_items(world)[i].track)
            world_items(world)[i].track->member = ABUT_NONE;
    for (size_t i = 0; i < world->members.count; i++)
        abut_mesh_destroy(ABUTI_AT(&world->members, world_member, i).mesh);
    abut_sweep_destroy(world->shapes);
    world->shapes = NULL;
    world->members.count = 0;
}

/* Whether an item can be a member. */
static bool has_triangles(const abut_world *world, uint32_t id) {
    const world_item *item = &world_items(world)[id];
    return item->used && item->track && item->kind != ABUT_COLLIDER_PLANE &&
           !world_is_sheet(item) && abuti_world_has_surface(item);
}

/* Marks the items that a wanted shape may soon come near to: within its size. */
static void mark_neighbours(abut_world *world) {
    for (uint32_t i = 0; i < world->items.count; i++)
        if (world_items(world)[i].track)
            world_items(world)[i].track->is_near = false;
    for (uint32_t i = 0; i < world->items.count; i++) {
        if (!has_triangles(world, i) || !path_of(world, i)->deforms ||
            !world_items(world)[i].track->is_wanted)
            continue;
        box3 box = path_of(world, i)->box;
        const vec3 size = v3_sub(box.hi, box.lo);
        box = (box3){v3_sub(box.lo, size), v3_add(box.hi, size)};
        for (uint32_t k = 0; k < world->items.count; k++)
            if (has_triangles(world, k) && box_overlaps(box, path_of(world, k)->box) &&
                abuti_world_should_test(world, i, k))
                world_items(world)[k].track->is_near = true;
    }
}

static abut_status add_members(abut_world *world) {
    size_t vertices = 0;
    for (uint32_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        abut_mesh *mesh = NULL;
        if (!item->used || !item->track || !(item->track->is_wanted || item->track->is_near))
            continue;
        abut_status status = abuti_world_create_surface(world, item, &mesh);
        world_member *member =
            status ? NULL : ABUTI_PUSH(world->context, &world->members, world_member);
        if (!member) {
            abut_mesh_destroy(mesh);
            return status ? status : ABUT_ERROR_MEMORY;
        }
        *member = (world_member){i, vertices, mesh};
        item->track->member = (uint32_t)world->members.count - 1;
        vertices += mesh->vertex_count;
    }
    return ABUT_OK;
}

static abut_status create_sweep(abut_world *world) {
    const size_t count = world->members.count;
    abut_sweep_options options = abut_sweep_options_default();
    options.skip_self = true;
    options.device = world->options.device;
    abut_mesh **meshes = abuti_allocate(world->context, count, sizeof(abut_mesh *));
    uint32_t *owners = abuti_allocate(world->context, count, sizeof *owners), shapes = 0;
    for (size_t i = 0; i < count && meshes && owners; i++) {
        const world_member *member = &ABUTI_AT(&world->members, world_member, i);
        meshes[i] = member->mesh;
        owners[i] = path_of(world, member->id)->deforms ? ++shapes : 0;
    }
    abut_status status = ABUT_ERROR_MEMORY;
    if (meshes && owners)
        status = abuti_motion_create(meshes, owners, count, &options, &world->shapes);
    ABUTI_RELEASE(world->context, meshes, owners);
    return status;
}

/* Creates the sweep of all wanted members, unless it has them. */
static abut_status update_members(abut_world *world) {
    bool is_complete = world->shapes != NULL;
    for (size_t i = 0; i < world->items.count; i++) {
        const world_item *item = &world_items(world)[i];
        is_complete &= !item->used || !item->track || !item->track->is_wanted ||
                       item->track->member != ABUT_NONE;
    }
    if (is_complete)
        return ABUT_OK;
    abuti_world_forget_shapes(world);
    mark_neighbours(world);
    abut_status status = add_members(world);
    if (!status)
        status = create_sweep(world);
    if (status)
        abuti_world_forget_shapes(world);
    return status;
}

/* The vertices of a rigid member at a pose. */
static void place_member(const abut_mesh *mesh, const abut_pose *place, vec3 *to) {
    const abuti_motion motion = abuti_motion_of(place);
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        to[v] = abuti_motion_apply(&motion, abuti_mesh_position(mesh, v));
}

static abut_status set_positions(abut_world *world) {
    const world_member *members = world->members.data, *last = &members[world->members.count - 1];
    const size_t count = last->first + last->mesh->vertex_count;
    abut_status status = abuti_vector_reserve(world->context, &world->starts, count, sizeof(vec3));
    if (!status)
        status = abuti_vector_reserve(world->context, &world->ends, count, sizeof(vec3));
    if (status)
        return status;
    for (size_t i = 0; i < world->members.count; i++) {
        const world_item *item = &world_items(world)[members[i].id];
        const world_sweep *path = path_of(world, members[i].id);
        vec3 *start = &ABUTI_AT(&world->starts, vec3, members[i].first),
             *end = &ABUTI_AT(&world->ends, vec3, members[i].first);
        if (path->deforms && has_path(item)) {
            memcpy(start, item->track->from, item->track->count * sizeof *start);
            memcpy(end, item->track->to, item->track->count * sizeof *end);
        } else if (!path->deforms) {
            place_member(members[i].mesh, &path->from->pose, start);
            place_member(members[i].mesh, &path->to->pose, end);
        } else { /* it is not wanted in this step */
            place_member(members[i].mesh, &(abut_pose){{0, 0, 0, 1}, {0, 0, 0}}, start);
            memcpy(end, start, members[i].mesh->vertex_count * sizeof *end);
        }
    }
    return abut_sweep_set_positions(world->shapes, abut_array_host(world->starts.data),
                                    abut_array_host(world->ends.data));
}

/* ---- impacts ---- */

static abut_sweep_find_options find_options(void) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    options.exact = true; /* surfaces that are close but free do not touch */
    return options;
}

static abut_status find_impacts(abut_world *world) {
    const abut_sweep_find_options options = find_options();
    abut_status status;
    do {
        abut_impact_list found = {.list = world->impacts.data, .capacity = world->impacts.room};
        status = abut_sweep_find(world->shapes, ABUT_SWEEP_ALL, &options, &found, NULL);
        world->impacts.count = status ? 0 : (size_t)found.count;
        if (status == ABUT_ERROR_BUFFER &&
            abuti_vector_reserve(world->context, &world->impacts, (size_t)found.count,
                                 sizeof(abut_impact)))
            return ABUT_ERROR_MEMORY;
    } while (status == ABUT_ERROR_BUFFER);
    return status;
}

/* Each pair gets its first impact. */
static void write_impacts(abut_world *world) {
    const abut_impact *impacts = world->impacts.data;
    for (size_t i = 0; i < world->impacts.count; i++) { /* sorted by time */
        const abut_impact *from = &impacts[i];
        const uint32_t first = ABUTI_AT(&world->members, world_member, from->mesh[0]).id,
                       second = ABUTI_AT(&world->members, world_member, from->mesh[1]).id;
        const abut_world_pair key = {first < second ? first : second,
                                     first < second ? second : first};
        const abut_world_pair *pair =
            world_find(&world->sweep_pairs, &key, sizeof key, world_compare_pairs);
        if (!pair)
            continue;
        world_swept *to = (world_swept *)world->swept.data +
                          (pair - (const abut_world_pair *)world->sweep_pairs.data);
        if (to->touch.hit || to->unknown)
            continue;
        to->touch.hit = true;
        to->touch.time = from->time;
        to->touch.point = from->point;
        to->touch.normal = first < second ? from->normal : v3_scale(from->normal, -1);
    }
}

/* ---- items with themselves ---- */

static abut_status sweep_self(abut_world *world, uint32_t id) {
    const world_item *item = &world_items(world)[id];
    world_track *track = item->track;
    const abut_sweep_find_options options = find_options();
    abut_self_options creation = abut_self_options_default();
    abut_self_step step = abut_self_step_default();
    abut_self_result result = abut_self_result_default();
    abut_mesh *mesh = NULL;
    abut_status status = ABUT_OK;
    creation.device = world->options.device;
    if (!track->self) {
        status = abuti_world_create_surface(world, item, &mesh);
        if (!status)
            status = abut_self_create(mesh, &creation, &track->self);
        abut_mesh_destroy(mesh);
    }
    step.start = abut_array_host(track->from);
    step.end = abut_array_host(track->to);
    step.start_is_free = track->is_free;
    if (!status)
        status = abut_self_find(track->self, &step, &options, &result);
    if (status || !result.hit)
        return status;
    abut_world_step_pair *pair =
        ABUTI_PUSH(world->context, &world->self_impacts, abut_world_step_pair);
    if (!pair)
        return ABUT_ERROR_MEMORY;
    *pair = (abut_world_step_pair){.a = item->id,
                                   .b = item->id,
                                   .has_impact = true,
                                   .time = result.impact.time,
                                   .point = result.impact.point,
                                   .normal = result.impact.normal};
    return ABUT_OK;
}

abut_status abuti_world_sweep_shapes(abut_world *world) {
    abut_status status = ABUT_OK;
    bool is_wanted = false;
    world->self_impacts.count = 0;
    for (size_t i = 0; i < world->items.count; i++)
        if (world_items(world)[i].track)
            world_items(world)[i].track->is_wanted = false;
    prepare_pairs(world);
    for (uint32_t i = 0; i < world->items.count && !status; i++) {
        const world_item *item = &world_items(world)[i];
        if (!item->used || !item->track)
            continue;
        is_wanted |= item->track->is_wanted;
        if (item->is.self_collides && has_path(item) && !world_is_sheet(item))
            status = sweep_self(world, i);
    }
    if (status || !is_wanted)
        return status;
    status = update_members(world);
    if (!status)
        status = set_positions(world);
    if (!status)
        status = find_impacts(world);
    if (!status)
        write_impacts(world);
    return status;
}
