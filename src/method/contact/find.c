/* Contacts of two colliders: selects the function for their kinds.
 *
 * Exact geometry has one function for two BVHs, one for a BVH and a primitive, and one for two
 * primitives. If the first collider is a primitive and the second one is not, they are exchanged,
 * and the sides of all contacts afterwards. Fields have contacts with bodies only.
 */
#include "contact/find.h"

#include "collider/collider.h"
#include "contact/solid.h"

/* ---- exchanged sides ---- */

static void reverse_contacts(abut_contact *list, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        abut_contact other = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = other;
    }
}

void abuti_contact_swap_sides(abut_contact *list, size_t count) {
    size_t of_first = 0;
    for (size_t i = 0; i < count; i++) {
        of_first += !list[i].side;
        contact_swap(&list[i]);
    }
    reverse_contacts(list, of_first);
    reverse_contacts(list + of_first, count - of_first);
    reverse_contacts(list, count);
}

/* ---- exact geometry ---- */

/* Validates a collider for exact contacts; the BVH of a body is stored in `posed`. */
static abut_status read_exact(const char *function, const char *what, const abut_collider *collider,
                              abut_collider *ours, abuti_posed *posed) {
    abut_status status = abuti_collider_read(function, what, collider, ours);
    if (status)
        return status;
    if (ours->kind != ABUT_COLLIDER_BODY && !collider_is_primitive(ours))
        return abuti_collider_refuse(function, what, ours, "a body with a BVH, or a primitive");
    *posed = (abuti_posed){NULL, ours->pose};
    return ours->kind == ABUT_COLLIDER_BODY ? abuti_posed_read(function, what, ours, posed)
                                            : ABUT_OK;
}

/* Computes the patches of a primitive a and a mesh b. */
static abut_status find_swapped(const abut_collider *a, const abuti_posed *b,
                                const abut_patch_options *options, abut_patches *patches) {
    static const char function[] = "abut_contact_find";
    abut_patch_options ours;
    abut_status status = abuti_patch_options(function, options, patches, &ours);
    if (!status)
        status = abuti_solid_check(function, "a", a);
    if (!status)
        status = abuti_pair_check_pose(function, "b", b->bvh, &b->pose);
    if (status)
        return status;
    ours.hint = contact_negate(ours.hint);
    status = abuti_contact_bvh_primitive(b, a, &ours, patches);
    if (status)
        return status;
    for (uint64_t i = 0; i < patches->contacts.count; i++)
        contact_swap(&patches->contacts.list[i]);
    for (uint64_t i = 0; i < patches->patches.count; i++)
        patches->patches.list[i].normal = contact_negate(patches->patches.list[i].normal);
    return ABUT_OK;
}

abut_status abut_contact_find(const abut_collider *a, const abut_collider *b,
                              const abut_patch_options *options, abut_patches *patches) {
    abut_collider x, y;
    abuti_posed p, q;
    abut_patches ours = abut_patches_default();
    abut_status status = read_exact(__func__, "a", a, &x, &p);
    if (!status)
        status = read_exact(__func__, "b", b, &y, &q);
    if (!status)
        status = abuti_result_read(&ours, sizeof ours, patches, __func__, "patches");
    if (status)
        return status;
    if (p.bvh)
        status = q.bvh ? abuti_contact_bvhs(&p, &q, options, &ours)
                       : abuti_contact_bvh_primitive(&p, &y, options, &ours);
    else
        status = q.bvh ? find_swapped(&x, &q, options, &ours)
                       : abuti_contact_primitives(&x, &y, options, &ours);
    return abuti_result_write(patches, &ours, status);
}

/* ---- fields ---- */

abut_status abuti_contact_place(const char *function, const abut_collider *collider,
                                const contact_motion *m, contact_primitive *to) {
    if (!collider_is_primitive(collider) || collider->kind == ABUT_COLLIDER_HULL)
        return ABUT_OK;
    abut_status status = abuti_collider_check_primitive(function, "the primitive", collider);
    if (status || collider->kind == ABUT_COLLIDER_BOX)
        return status;
    if (collider->kind == ABUT_COLLIDER_PLANE) {
        const abut_plane *plane = &collider->shape.plane;
        double length = v3_length(plane->normal);
        to->plane.normal = m3_apply(&m->turn, v3_scale(plane->normal, 1 / length));
        to->plane.offset = plane->offset / length + v3_dot(to->plane.normal, m->shift);
        return abuti_check_numbers(function, "the plane at its pose", (const double *)to, 4);
    }
    if (collider->kind == ABUT_COLLIDER_SPHERE) {
        to->sphere = collider->shape.sphere;
        to->sphere.centre = contact_to_world(m, to->sphere.centre);
        return abuti_check_numbers(function, "the sphere at its pose", (const double *)to, 4);
    }
    const abut_capsule *capsule = &collider->shape.capsule; /* a cylinder has the same layout */
    to->capsule =
        (abut_capsule){{contact_to_world(m, capsule->end[0]), contact_to_world(m, capsule->end[1])},
                       capsule->radius};
    return abuti_check_numbers(function, "the primitive at its pose", (const double *)to, 7);
}

abut_status abuti_field_body_read(const char *function, const char *what,
                                  const abut_collider *collider, abuti_field_body *body) {
    abut_collider ours;
    abut_status status = abuti_collider_read(function, what, collider, &ours);
    if (!status && ours.kind != ABUT_COLLIDER_BODY)
        status = abuti_collider_refuse(function, what, &ours, "a body with a field or samples");
    if (!status)
        *body = (abuti_field_body){ours.shape.body.field, ours.shape.body.samples, ours.pose};
    return status;
}

abut_status abut_contact_find_sampled(const abut_collider *a, const abut_collider *b,
                                      const abut_contact_options *options,
                                      abut_contacts *contacts) {
    abuti_field_body body, other;
    abut_contacts ours = abut_contacts_default();
    abut_status status = abuti_field_body_read(__func__, "a", a, &body);
    if (!status)
        status = abuti_field_body_read(__func__, "b", b, &other);
    if (!status)
        status = abuti_result_read(&ours, sizeof ours, contacts, __func__, "contacts");
    if (status)
        return status;
    if (!(body.field && other.samples) && !(other.field && body.samples))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: neither body has samples for a field of the other", __func__);
    return abuti_result_write(contacts, &ours, abuti_contact_bodies(&body, &other, options, &ours));
}
