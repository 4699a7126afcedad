/* Steps of a world: impacts on the paths of all items, cloth, then contacts at the end.
 *
 * A track stores where an item was at the end of the previous step. Impacts are found before cloth
 * moves, so that an error of cloth leaves the world unchanged.
 */
#include "world/world.h"

#include "device/array.h"
#include "pair/contact_list.h"

#include <abut/self.h>

#include <math.h>

/* ---- tracks ---- */

abut_status abuti_world_track(abut_world *world, world_item *item) {
    if (item->track)
        return ABUT_OK;
    world_track *track = abuti_allocate_zeroed(world->context, 1, sizeof *track);
    if (!track)
        return ABUT_ERROR_MEMORY;
    track->sheet = track->body = track->member = ABUT_NONE;
    item->track = track;
    return ABUT_OK;
}

void abuti_world_destroy_track(abut_world *world, world_item *item) {
    world_track *track = item->track;
    if (!track)
        return;
    if (track->member != ABUT_NONE)
        abuti_world_forget_shapes(world);
    abuti_world_remove_from_cloth(world, item);
    abut_self_destroy(track->self);
    abut_bvh_destroy(track->surface);
    ABUTI_RELEASE(world->context, track->given, track->from, track->to, track);
    item->track = NULL;
}

/* Positions in a buffer are downloaded only for worlds with steps. */
abut_status abuti_world_copy_positions(abut_world *world, world_item *item, abut_array positions,
                                       vec3 **copy) {
    const uint32_t count = item->method->mesh(item)->vertex_count;
    const bool is_needed = positions.host || world->has_steps || world->cloth;
    if (!is_needed || (!positions.host && !positions.buffer))
        return ABUT_OK;
    void *converted = NULL;
    abut_status status = abuti_world_track(world, item);
    if (!status)
        status = abuti_array_convert("abut_world_set_positions", "positions", world->context,
                                     &positions, count, 3, &converted);
    if (!status)
        status = ABUTI_ALLOCATE(world->context, ABUTI_ARRAY(*copy, count));
    if (!status && positions.host)
        memcpy(*copy, positions.host, count * sizeof **copy);
    else if (!status)
        status = abut_buffer_read(positions.buffer, 0, *copy, count * sizeof **copy);
    abuti_release(world->context, converted);
    return status;
}

void abuti_world_keep_positions(abut_world *world, world_item *item, vec3 *copy) {
    world_track *track = item->track;
    if (!copy)
        return;
    if (item->kind == ABUT_COLLIDER_CHARACTER) {
        abut_bvh_destroy(item->core);
        item->core = NULL;
    }
    world->has_old_bodies |= !track->given;
    abuti_release(world->context, track->given);
    track->given = copy;
    track->count = item->method->mesh(item)->vertex_count;
}

/* Allocates the positions of a shape that deforms, and fills in the current ones. */
abut_status abuti_world_update_track(abut_world *world, world_item *item) {
    abut_status status = abuti_world_track(world, item);
    world_track *track = item->track;
    if (status || !world_deforms(item) || world_is_sheet(item) || !abuti_world_has_surface(item))
        return status;
    track->count = abuti_world_triangles(item)->vertex_count;
    if (!track->to)
        status = ABUTI_ALLOCATE(world->context, ABUTI_ARRAY(track->to, track->count));
    if (!status)
        abuti_world_positions(item, track->to);
    return status;
}

void abuti_world_finish_track(world_item *item) {
    world_track *track = item->track;
    track->start = item->at;
    track->has_start = true;
    vec3 *from = track->from;
    track->from = track->to;
    track->to = from;
}

/* ---- impacts ---- */

/* Sets the paths of all items. */
static abut_status set_paths(abut_world *world) {
    abut_status status = abuti_vector_reserve(world->context, &world->sweeps, world->items.count,
                                              sizeof(world_sweep));
    world_sweep *sweeps = world->sweeps.data;
    for (size_t i = 0; i < world->items.count && !status; i++) {
        world_item *item = &world_items(world)[i];
        sweeps[i] = (world_sweep){.from = &item->at, .to = &item->at};
        if (!item->used)
            continue;
        status = abuti_world_update_track(world, item);
        if (status)
            break;
        const world_track *track = item->track;
        sweeps[i].is_cloth = world_is_sheet(item);
        sweeps[i].deforms = world_deforms(item);
        if (track->has_start && !sweeps[i].is_cloth) {
            sweeps[i].from = &track->start;
            sweeps[i].moves = sweeps[i].deforms ||
                              memcmp(&track->start.pose, &item->at.pose, sizeof item->at.pose) != 0;
        }
    }
    return status;
}

static abut_status find_impacts(abut_world *world) {
    const abut_world_sweep_options options = abut_world_sweep_options_default();
    abut_status status = set_paths(world);
    if (!status)
        status = abuti_world_sweep_paths(world, &options, true);
    return status ? status : abuti_world_sweep_shapes(world);
}

/* ---- self-contacts ---- */

/* The surface of a character at the end of the step. */
static abut_status create_bvh(abut_world *world, const world_item *item, abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    abut_status status = abuti_world_create_surface(world, item, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh);
    return status;
}

/* `motion` is that of the mesh. */
static abut_contact self_contact(const abut_mesh *mesh, const abuti_motion *motion, uint32_t id,
                                 const abut_pair_self_intersection *from) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)from->triangle[1];
    const uint32_t part = from->triangle[1] & ABUT_SAMPLE_DEEPEST;
    const vec3 middle = v3_scale(v3_add(from->segment.end[0], from->segment.end[1]), 0.5),
               normal = abuti_unit_normal(abuti_mesh_position(mesh, corner[0]),
                                          abuti_mesh_position(mesh, corner[1]),
                                          abuti_mesh_position(mesh, corner[2]));
    return (abut_contact){.point = abuti_motion_apply(motion, middle),
                          .normal = motion->rotates ? m3_apply(&motion->rotation, normal) : normal,
                          .id = contact_id(0, ABUT_CONTACT_CROSSING, from->triangle[0], part),
                          .a = id,
                          .b = id,
                          .kind = ABUT_CONTACT_CROSSING,
                          .element = from->triangle[0],
                          .part = part};
}

/* Appends the intersections of a surface with itself as contacts of an item. */
static abut_status append_self_contacts(abut_world *world, uint32_t id, const abut_bvh *bvh,
                                        const abuti_motion *motion) {
    abut_pair_self_options options = abut_pair_self_options_default();
    abut_pair_self_intersection_list found = {0};
    options.limit = UINT64_MAX;
    abut_status status = abut_pair_self_intersections(bvh, &options, &found);
    if (status == ABUT_ERROR_BUFFER) {
        found.capacity = found.count;
        found.list = abuti_allocate(world->context, (size_t)found.count, sizeof *found.list);
        status =
            found.list ? abut_pair_self_intersections(bvh, &options, &found) : ABUT_ERROR_MEMORY;
    }
    const size_t before = world->self_contacts.count;
    if (!status)
        status = abuti_vector_reserve(world->context, &world->self_contacts,
                                      before + (size_t)found.count, sizeof(abut_contact));
    for (uint64_t i = 0; i < found.count && !status; i++)
        ABUTI_AT(&world->self_contacts, abut_contact, world->self_contacts.count++) =
            self_contact(bvh->mesh, motion, world_items(world)[id].id, &found.list[i]);
    world_items(world)[id].track->is_free = !status && !found.count;
    abuti_release(world->context, found.list);
    return status;
}

/* Appends the contacts of an item with itself. */
static abut_status find_self_contacts(abut_world *world, uint32_t id) {
    const world_item *item = &world_items(world)[id];
    const abut_pose here = abut_pose_identity();
    abuti_motion motion = abuti_motion_of(&here);
    abut_bvh *made = NULL;
    abut_status status = ABUT_OK;
    if (item->kind == ABUT_COLLIDER_CHARACTER)
        status = create_bvh(world, item, &made);
    else
        motion = abuti_motion_of(&item->at.pose);
    if (!status)
        status = append_self_contacts(world, id, made ? made : item->bvh, &motion);
    abut_bvh_destroy(made);
    return status;
}

static bool has_self_impact(const abut_world *world, uint32_t id) {
    const abut_world_step_pair *list = world->self_impacts.data;
    for (size_t i = 0; i < world->self_impacts.count; i++)
        if (abut_world_index(list[i].a) == id)
            return true;
    return false;
}

/* A shape that was free of self-intersections and had no impact is still free. */
static abut_status find_all_self_contacts(abut_world *world) {
    abut_status status = ABUT_OK;
    world->self_contacts.count = 0;
    for (uint32_t i = 0; i < world->items.count && !status; i++) {
        const world_item *item = &world_items(world)[i];
        if (item->used && item->is.self_collides && item->track->from && !world_is_sheet(item) &&
            (!item->track->is_free || has_self_impact(world, i)))
            status = find_self_contacts(world, i);
    }
    return status;
}

/* ---- the result ---- */

static int compare_step_pairs(const void *x, const void *y) {
    return world_compare_pairs(x, y);
}

static abut_world_step_pair *add_pair(abut_world *world, uint32_t a, uint32_t b) {
    abut_world_step_pair *pair =
        ABUTI_PUSH(world->context, &world->step_pairs, abut_world_step_pair);
    if (pair)
        *pair = (abut_world_step_pair){
            .a = a, .b = b, .method = ABUT_WORLD_AUTO, .error = HUGE_VAL, .time = 1};
    return pair;
}

static void set_touch(abut_world_step_pair *pair, const abut_world_event *touch) {
    pair->method = touch->method;
    pair->guarantee = touch->guarantee;
    pair->error = touch->error;
    pair->is_sensor = touch->is_sensor;
    pair->first = touch->first;
    pair->count = touch->count;
}

static void set_impact(abut_world_step_pair *pair, const abut_sweep_rigid_result *touch) {
    pair->has_impact = true;
    pair->time = touch->time;
    pair->point = touch->point;
    pair->normal = touch->normal;
}

/* Merges two sorted lists: touches and swept pairs. */
static abut_status merge_pairs(abut_world *world) {
    const world_touch *touches = world->touches.data;
    const abut_world_pair *swept = world->sweep_pairs.data;
    const world_swept *results = world->swept.data;
    const size_t count = world->sweep_pairs.count;
    for (size_t i = 0, k = 0; i < world->touches.count || k < count;) {
        if (k < count && !results[k].touch.hit) {
            k++;
            continue;
        }
        const abut_world_pair other =
            i < world->touches.count ? (abut_world_pair){touches[i].event.a, touches[i].event.b}
                                     : (abut_world_pair){ABUT_NONE, ABUT_NONE};
        const int order = k == count ? -1 : world_compare_pairs(&other, &swept[k]);
        const world_item *items = world_items(world);
        abut_world_step_pair *pair =
            order > 0 ? add_pair(world, items[swept[k].a].id, items[swept[k].b].id)
                      : add_pair(world, other.a, other.b);
        if (!pair)
            return ABUT_ERROR_MEMORY;
        if (order <= 0)
            set_touch(pair, &touches[i++].event);
        if (order >= 0) {
            pair->is_sensor = ((items[swept[k].a].filter.traits | items[swept[k].b].filter.traits) &
                               WORLD_IS_SENSOR) != 0;
            set_impact(pair, &results[k++].touch);
        }
    }
    return ABUT_OK;
}

static abut_status add_self_pairs(abut_world *world) {
    const abut_contact *contacts = world->self_contacts.data;
    const abut_world_step_pair *impacts = world->self_impacts.data;
    for (size_t i = 0, k = 0; i < world->self_contacts.count || k < world->self_impacts.count;) {
        const uint32_t touching = i < world->self_contacts.count ? contacts[i].a : ABUT_NONE,
                       hit = k < world->self_impacts.count ? impacts[k].a : ABUT_NONE,
                       id = abut_world_index(touching) < abut_world_index(hit) ? touching : hit;
        abut_world_step_pair *pair = add_pair(world, id, id);
        if (!pair)
            return ABUT_ERROR_MEMORY;
        if (hit == id)
            *pair = impacts[k++];
        pair->method = ABUT_WORLD_EXACT;
        pair->guarantee = ABUT_WORLD_GUARANTEE_COMPLETE;
        pair->error = HUGE_VAL;
        pair->first = world->contacts.count + i;
        for (; i < world->self_contacts.count && contacts[i].a == id; i++)
            pair->count++;
    }
    return ABUT_OK;
}

/* Copies all contacts into one list. */
static abut_status join_contacts(abut_world *world) {
    const size_t pairs = world->contacts.count, selves = world->self_contacts.count;
    abut_status status = abuti_vector_reserve(world->context, &world->step_contacts, pairs + selves,
                                              sizeof(abut_contact));
    if (status)
        return status;
    abut_contact *to = world->step_contacts.data;
    if (pairs)
        memcpy(to, world->contacts.data, pairs * sizeof *to);
    if (selves)
        memcpy(to + pairs, world->self_contacts.data, selves * sizeof *to);
    world->step_contacts.count = pairs + selves;
    return ABUT_OK;
}

static abut_status write_result(abut_world *world, abut_world_step_result *result) {
    const world_swept *swept = world->swept.data;
    world->step_pairs.count = 0;
    abut_status status = merge_pairs(world);
    if (!status)
        status = add_self_pairs(world);
    if (!status)
        status = join_contacts(world);
    if (status)
        return status;
    if (world->step_pairs.count)
        qsort(world->step_pairs.data, world->step_pairs.count, sizeof(abut_world_step_pair),
              compare_step_pairs);
    result->reliability = world->reliability;
    for (size_t i = 0; i < world->sweep_pairs.count; i++) {
        result->unswept_count += swept[i].unknown;
        if (swept[i].touch.reliability.level > result->reliability.level)
            result->reliability = swept[i].touch.reliability;
    }
    result->pairs = world->step_pairs.data;
    result->pair_count = world->step_pairs.count;
    result->contacts = world->step_contacts.data;
    result->contact_count = world->step_contacts.count;
    return ABUT_OK;
}

/* ---- the public function ---- */

/* All but the contacts. */
static abut_status move(abut_world *world, double seconds, abut_world_step_result *result) {
    abut_status status = world->backend->download_poses(world);
    const double start = abuti_seconds();
    if (!status)
        status = abuti_world_download_characters(world);
    if (!status)
        status = find_impacts(world);
    result->impact_seconds = abuti_seconds() - start;
    if (!status && world->sheets) {
        world->cloth_report = abut_cloth_report_default();
        status = abuti_world_move_cloth(world, seconds, &world->cloth_report);
        result->cloth = &world->cloth_report;
    }
    for (size_t i = 0; i < world->items.count && !status; i++)
        if (world_items(world)[i].used)
            abuti_world_finish_track(&world_items(world)[i]);
    return status;
}

static abut_status find_contacts(abut_world *world, abut_world_step_result *result) {
    const double start = abuti_seconds();
    abut_context *before;
    abut_status status = abuti_world_find_contacts("abut_world_step", world);
    if (!status)
        status = abuti_world_enter("abut_world_step", world, &before);
    if (status)
        return status;
    status = find_all_self_contacts(world);
    if (!status)
        status = write_result(world, result);
    abuti_world_leave(world, before);
    result->contact_seconds = abuti_seconds() - start;
    return status;
}

abut_status abut_world_step(abut_world *world, double seconds, abut_world_step_result *result) {
    abut_world_step_result made = abut_world_step_result_default();
    abut_context *before;
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = result ? abuti_info_check(result, sizeof made, __func__) : ABUT_OK;
    if (!status && !(seconds > 0 && seconds <= 1e30))
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT,
                       "%s: seconds is %g; it must be above 0 and at most 1e30", __func__, seconds);
    if (!status)
        status = abuti_world_enter(__func__, world, &before);
    if (status)
        return status;
    world->has_steps = true;
    status = move(world, seconds, &made);
    abuti_set_fraction(0);
    abuti_world_leave(world, before);
    if (!status)
        status = find_contacts(world, &made);
    return !status && result ? abuti_info_write(result, &made, sizeof made, __func__) : status;
}
