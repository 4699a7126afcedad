/* The triangles of contacts: the nearest ones to the contact point on the surface of each item. */
#include "world/world.h"

#include <abut/nearest.h>
#include <math.h>

enum { CONTACTS_PER_TASK = 64 };

typedef struct triangle_task {
    const abut_world *world;
    const abut_contact *contacts;
    uint32_t *triangles;
    abut_status chunks[WORLD_CHUNKS];
} triangle_task;

/* Points of fields and radial fields are on the surface of one item, all others halfway between
 * both. Returns the part of the depth from the point to the surface of an item. */
static double part_of_depth(const abut_world *world, const abut_contact *contact, bool is_b) {
    const world_item *a = &world_items(world)[abut_world_index(contact->a)],
                     *b = &world_items(world)[abut_world_index(contact->b)];
    const world_method *method = abuti_world_method(world, a, b);
    const bool is_sampled =
        method && (method->method == ABUT_WORLD_FIELD || method->method == ABUT_WORLD_RADIAL);
    return !is_sampled ? 0.5 : contact->side == is_b ? 0 : 1;
}

static abut_status find_triangle(const abut_world *world, const abut_contact *contact, bool is_b,
                                 uint32_t *triangle) {
    const world_item *item = &world_items(world)[abut_world_index(is_b ? contact->b : contact->a)];
    *triangle = ABUT_NONE;
    if (!item->bvh)
        return ABUT_OK;
    /* The surface of a is deeper in b: against the normal. */
    const double way = (is_b ? 1 : -1) * part_of_depth(world, contact, is_b) * contact->depth;
    const vec3 point = v3_along(contact->point, way, contact->normal);
    abut_nearest nearest;
    abut_status status = abut_nearest_point(item->bvh, contact_to_local(&item->at.motion, point),
                                            HUGE_VAL, &nearest);
    if (!status)
        *triangle = nearest.triangle;
    return status;
}

static void find_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    triangle_task *t = data;
    abut_status status = ABUT_OK;
    for (size_t i = begin; i < end && !status; i++) {
        const abut_contact *contact = &t->contacts[i];
        uint32_t *to = t->triangles + 2 * i;
        if (contact->a == contact->b) {
            to[0] = contact->element;
            to[1] = contact->part;
            continue;
        }
        status = find_triangle(t->world, contact, false, &to[0]);
        if (!status)
            status = find_triangle(t->world, contact, true, &to[1]);
    }
    t->chunks[chunk] = status;
}

abut_status abut_world_contact_triangles(abut_world *world, const abut_contact *contacts,
                                         size_t count, uint32_t *triangles) {
    triangle_task t = {.world = world, .contacts = contacts, .triangles = triangles};
    const size_t grain = world_grain(count, CONTACTS_PER_TASK);
    abut_context *before;
    if (!world || (count && (!contacts || !triangles)))
        return abuti_null(__func__, !world ? "world" : !contacts ? "contacts" : "triangles");
    abut_status status = abuti_world_enter(__func__, world, &before);
    if (status)
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        status = abuti_world_check_id(__func__, world, contacts[i].a);
        if (!status)
            status = abuti_world_check_id(__func__, world, contacts[i].b);
    }
    if (!status)
        status = world->backend->download_poses(world);
    if (!status && count)
        abuti_parallel_for(world->context, count, grain, find_triangles, &t);
    for (size_t chunk = 0; chunk < abuti_chunk_count(count, grain) && !status; chunk++)
        if (t.chunks[chunk]) { /* repeated on this thread for the error message */
            find_triangles(&t, chunk, chunk * grain,
                           (chunk + 1) * grain < count ? (chunk + 1) * grain : count);
            status = t.chunks[chunk];
        }
    abuti_world_leave(world, before);
    return status;
}
