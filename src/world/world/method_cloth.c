/* Contacts of cloth: the gaps of its vertices.
 *
 * Cloth keeps a distance from everything, so that its contacts are gaps: every vertex within the
 * margin has one, with its exact closest point on the other item. If surfaces intersect, because
 * the caller has moved an item or cloth had to stop, exact patches are computed instead. So no
 * overlap is missed. A mesh around cloth, such as a room, does not count as an overlap.
 *
 * Exact patches of gaps would compare all pairs of features within the margin, which takes 20 times
 * as long for a dress on a body.
 */
#include "world/world.h"

#include "pair/contact_list.h"

#include <abut/nearest.h>

static bool is_cloth(const world_item *item) {
    return (item->filter.traits & WORLD_IS_CLOTH) != 0;
}

/* Adds a contact after the others; those beyond the capacity are only counted. */
static void add_gap(abut_contacts *found, const abut_contact *gap) {
    if (found->count < found->capacity)
        found->list[found->count] = *gap;
    found->count++;
}

/* The gaps of the vertices of a sheet, which is item `side` of the pair. Cloth is in world
 * coordinates. */
static abut_status find_gaps(const world_call *call, uint32_t side, abut_contacts *found) {
    const world_item *sheet = side ? call->b : call->a, *other = side ? call->a : call->b;
    const abut_mesh *mesh = sheet->asset->mesh;
    const uint32_t count = mesh->vertex_count;
    vec3 *points;
    abut_nearest *nearest;
    abut_status status = ABUTI_ALLOCATE(call->world->context, ABUTI_ARRAY(points, count),
                                        ABUTI_ARRAY(nearest, count));
    for (uint32_t v = 0; v < count && !status; v++)
        points[v] = contact_to_local(&other->at.motion, abuti_mesh_position(mesh, v));
    if (!status)
        status = abut_nearest_point_batch(other->bvh, abut_array_host(points), count,
                                          call->options.margin, abut_array_host(nearest));
    for (uint32_t v = 0; v < count && !status; v++) {
        if (nearest[v].triangle == ABUT_NONE)
            continue;
        const vec3 at = abuti_mesh_position(mesh, v),
                   on = contact_to_world(&other->at.motion, nearest[v].point),
                   away = v3_sub(at, on); /* not 0: the surfaces do not intersect */
        const abut_contact gap = {.point = v3_scale(v3_add(at, on), 0.5),
                                  .normal = v3_normalise(side ? v3_scale(away, -1) : away),
                                  .depth = -nearest[v].distance,
                                  .id = contact_id(side, ABUT_CONTACT_VERTEX, v, 0),
                                  .side = side,
                                  .kind = ABUT_CONTACT_VERTEX,
                                  .element = v};
        add_gap(found, &gap);
    }
    ABUTI_RELEASE(call->world->context, points, nearest);
    return status;
}

static abut_status collide_cloth(const world_call *call, abut_patches *to) {
    const abut_collider a = abuti_world_collider(call->a, &call->a->at.pose),
                        b = abuti_world_collider(call->b, &call->b->at.pose);
    abut_pair_options surfaces = abut_pair_options_default();
    abut_overlap overlap = {.relation = ABUT_PAIR_APART};
    abut_contacts found = world_contacts_of(to);
    surfaces.surface_only = true;
    abut_status status = abut_pair_overlap(&a, &b, &surfaces, NULL, &overlap);
    if (status)
        return status;
    if (overlap.relation == ABUT_PAIR_INTERSECTING)
        return abut_contact_find(&a, &b, &call->options, to);
    found.reliability = abuti_guaranteed("Cloth does not intersect the other item.");
    if (is_cloth(call->a))
        status = find_gaps(call, 0, &found);
    if (!status && is_cloth(call->b))
        status = find_gaps(call, 1, &found);
    to->patches.count = 0;
    return abuti_world_set_contacts(call, status, false, true, &found, to);
}

static abut_status guarantee_cloth(const world_item *a, const world_item *b,
                                   abut_world_pair_info *info) {
    info->guarantee = ABUT_WORLD_GUARANTEE_COMPLETE;
    info->error = world_pair_margin(a, b);
    info->reason = "Cloth: every intersection has exact contacts. Otherwise contacts are the gaps "
                   "of its vertices.";
    return ABUT_OK;
}

const world_method abuti_world_cloth = {.method = ABUT_WORLD_EXACT,
                                        .is_serial = true, /* its batches use all threads */
                                        .room = 256,
                                        .collide = collide_cloth,
                                        .guarantee = guarantee_cloth};
