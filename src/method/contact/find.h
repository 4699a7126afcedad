/* Contacts by the kinds of two colliders, for this module and for worlds. */
#ifndef ABUTI_CONTACT_FIND_H
#define ABUTI_CONTACT_FIND_H

#include "contact/patch.h"

/* ---- exact geometry ---- */

abut_status abuti_contact_bvhs(const abuti_posed *a, const abuti_posed *b,
                               const abut_patch_options *options, abut_patches *patches);
abut_status abuti_contact_bvh_primitive(const abuti_posed *a, const abut_collider *b,
                                        const abut_patch_options *options, abut_patches *patches);
abut_status abuti_contact_primitives(const abut_collider *a, const abut_collider *b,
                                     const abut_patch_options *options, abut_patches *patches);

/* ---- fields ---- */

/* A primitive in world coordinates, by kind. Planes have unit normals. */
typedef union contact_primitive {
    abut_plane plane;
    abut_sphere sphere;
    abut_capsule capsule; /* or cylinder */
} contact_primitive;

/* Validates a primitive and places it in world coordinates. Boxes and hulls are not stored. */
abut_status abuti_contact_place(const char *function, const abut_collider *collider,
                                const contact_motion *m, contact_primitive *to);
abut_status abuti_contact_bodies(const abuti_field_body *a, const abuti_field_body *b,
                                 const abut_contact_options *options, abut_contacts *contacts);
/* Converts a contact of b with a to one of a with b. */
static inline void contact_swap(abut_contact *c) {
    c->side = !c->side;
    c->normal = contact_negate(c->normal);
    c->id ^= contact_id(1, 0, 0, 0);
}
/* Does so for a list in which features of a come first, and then sorts it in this way again. */
void abuti_contact_swap_sides(abut_contact *list, size_t count);

#endif
