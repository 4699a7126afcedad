/* The method exact: contact patches of meshes and primitives by their geometry. */
#include "world/world.h"

#include <math.h>

#define CAPSULE_ERROR 0.003  /* of the radius, with a mesh: abut_contact_find() */
#define CYLINDER_ERROR 0.001 /* likewise */

static abut_status collide_exact(const world_call *call, abut_patches *to) {
    const abut_collider a = abuti_world_collider(call->a, &call->a->at.pose),
                        b = abuti_world_collider(call->b, &call->b->at.pose);
    return abut_contact_find(&a, &b, &call->options, to);
}

/* The triangles of a mesh, hull or box; null for other shapes, and for boxes that are no sensors.
 */
static const abut_bvh *triangles_of(const world_item *item) {
    return item->bvh ? item->bvh : item->kind == ABUT_COLLIDER_BOX ? item->core : NULL;
}

abut_status abuti_world_test_sensor(const world_call *call, abuti_vector *contacts,
                                    abuti_vector *patches, bool *touches,
                                    abut_reliability *reliability) {
    const world_item *a = call->a, *b = call->b;
    if ((a->bvh || b->bvh) && triangles_of(a) && triangles_of(b)) {
        const abut_collider x = abut_collider_from_bvh(triangles_of(a), a->at.pose),
                            y = abut_collider_from_bvh(triangles_of(b), b->at.pose);
        return abut_pair_within(&x, &y, call->options.margin, NULL, NULL, touches, reliability);
    }
    abut_patches found;
    abut_status status = abuti_world_collide(&abuti_world_exact, call, contacts, patches, &found);
    if (!status) {
        *touches = found.contacts.count > 0;
        *reliability = found.reliability;
    }
    return status;
}

abut_status abuti_world_point_in_primitive(vec3 point, const abut_collider *primitive,
                                           double margin, double *depth, vec3 *normal) {
    abut_collider dot = abut_collider_make(ABUT_COLLIDER_SPHERE, abut_pose_identity());
    dot.shape.sphere.centre = point;
    abut_patch_options options = abut_patch_options_default();
    abut_patch patch;
    abut_contact contacts[8];
    abut_patches found = {.size = sizeof found,
                          .patches.list = &patch,
                          .patches.capacity = 1,
                          .contacts.list = contacts,
                          .contacts.capacity = 8};
    options.margin = margin;
    abut_status status = abuti_contact_primitives(&dot, primitive, &options, &found);
    if (status)
        return status;
    *depth = found.patches.count ? patch.depth : -HUGE_VAL;
    *normal = found.patches.count ? patch.normal : v3(0, 0, 1);
    return ABUT_OK;
}

static double exact_error(const world_item *solid, const world_item *other) {
    if (other->kind != ABUT_COLLIDER_BODY)
        return 0;
    return solid->kind == ABUT_COLLIDER_CAPSULE
               ? CAPSULE_ERROR * solid->is.collider.shape.capsule.radius
           : solid->kind == ABUT_COLLIDER_CYLINDER
               ? CYLINDER_ERROR * solid->is.collider.shape.cylinder.radius
               : 0;
}

/* Exact depths of sheets have no bound. A plane is inside nothing, and depths below it are those of
 * vertices. */
abut_status abuti_world_limit_guarantee(const world_item *a, const world_item *b,
                                        abut_world_pair_info *info) {
    const world_item *both[2] = {a, b};
    bool is_approximate = false, has_sheets = false;
    for (int i = 0; i < 2; i++) {
        const abut_bvh *tree;
        const bvh_interior *interior;
        abut_status status;
        if (both[!i]->kind == ABUT_COLLIDER_PLANE || both[i]->kind != ABUT_COLLIDER_BODY ||
            !both[i]->bvh)
            continue;
        if ((status = abuti_bvh_cpu_tree(both[i]->bvh, &tree)) ||
            (status = abuti_bvh_interior(tree, &interior)))
            return status;
        is_approximate |= interior->border_count > 0;
        has_sheets |= interior->has_sheets;
    }
    if (has_sheets && info->method == ABUT_WORLD_EXACT) {
        info->error = HUGE_VAL;
        info->reason = "Complete: every overlap has a contact, no matter how thin the bodies are. "
                       "A mesh has boundary edges, where depths have no bound.";
    }
    if (is_approximate) {
        info->guarantee = ABUT_WORLD_GUARANTEE_LIMITED;
        info->error = HUGE_VAL;
        info->reason =
            "Every intersection of surfaces has a contact. A mesh has small holes or flipped "
            "neighbours, so that containment in it is approximate, and the depth of a contained "
            "item has no bound.";
    }
    return ABUT_OK;
}

static abut_status guarantee_exact(const world_item *a, const world_item *b,
                                   abut_world_pair_info *info) {
    info->guarantee = ABUT_WORLD_GUARANTEE_COMPLETE;
    info->error = exact_error(a, b) + exact_error(b, a);
    info->reason = "Complete: every overlap has a contact, no matter how thin the bodies are.";
    return abuti_world_limit_guarantee(a, b, info);
}

const world_method abuti_world_exact = {.method = ABUT_WORLD_EXACT,
                                        .room = 32,
                                        .collide = collide_exact,
                                        .guarantee = guarantee_exact};
