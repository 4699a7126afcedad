/* What the colliders share: checked bodies, frames from one to the other, and the way contacts are
 * told. */
#ifndef ABUTI_CONTACT_H
#define ABUTI_CONTACT_H

#include "contact/contact_frame_shared.h"
#include "contact/samples.h"
#include "field/field.h"

#include <abut/contact.h>
#include <assert.h>

#include <float.h>

/* What a question is about. */
typedef struct contact_call {
    const char *function;
    abut_contact_options options;
    abut_contacts *out;
    abut_reliability reliability;
    size_t count; /* found so far; those within the capacity are kept */
    bool serial;  /* on this thread alone, and without memory */
    /* Where they are kept until all fit: `few`, then memory of the context. Without `few` they go
     * into out->list at once. */
    abut_context *context;
    abut_contact *few, *kept;
    size_t room;
    abut_status status; /* of that memory */
} contact_call;

enum { CONTACT_FEW = 48 }; /* some 4 KiB of stack */

/* Reads options and checks the list; error sentences begin with `function`. What was begun without
 * failure must be ended, with the status so far. */
abut_status abuti_contact_begin(contact_call *call, const char *function, const abut_body *a,
                                bool needs_field, const abut_contact_options *options,
                                abut_contact few[CONTACT_FEW], abut_contacts *out);
abut_status abuti_contact_pose(const char *function, const char *what, const abut_pose *pose,
                               contact_motion *motion);
/* Fails where a number is not finite or too large. */
abut_status abuti_contact_check(const char *function, const char *what, const double *numbers,
                                size_t count);
/* What contacts with these fields are worth; null ones are not asked. */
abut_reliability abuti_contact_reliability(const abut_field *a, const abut_field *b);
abut_status abuti_contact_end(contact_call *call, abut_status status);

static inline vec3 contact_turn_back(const contact_motion *m, vec3 v) {
    mat3 back = m3_transpose(&m->turn);
    return m3_apply(&back, v);
}

static inline float contact_band(const abut_field *field) {
    return field->band < (double)FLT_MAX ? (float)field->band : FLT_MAX;
}

static inline contact_grid contact_grid_of(const abut_field *field) {
    return (contact_grid){field->grid.origin, field->grid.cell, field_bounds(field)};
}

/* The frame that takes points about `centre`, a place in the coordinates of `of`, to the grid of a
 * field at `at`. */
contact_frame abuti_contact_frame(const abut_field *field, const contact_motion *at,
                                  const contact_motion *of, vec3 centre, double margin);

/* The value and gradient of a field, in doubles of the world. */
abut_field_value abuti_contact_value(const abut_field *field, const contact_motion *at, vec3 point);

/* Tells a contact: writes it if there is room. */
void abuti_contact_put(contact_call *call, const abut_contact *contact);
/* The bits of an id, from the lowest: 32 of the element, 26 of the part, 3 of the kind, 2 spare
 * ones that no feature uses, 1 of the side. The kernels in world.cl do the same. */
enum {
    CONTACT_ID_PART = 32,
    CONTACT_ID_PART_BITS = 26,
    CONTACT_ID_KIND = CONTACT_ID_PART + CONTACT_ID_PART_BITS,
    CONTACT_ID_KIND_BITS = 3,
    CONTACT_ID_SPARE = CONTACT_ID_KIND + CONTACT_ID_KIND_BITS,
    CONTACT_ID_SPARE_BITS = 2,
    CONTACT_ID_SIDE = CONTACT_ID_SPARE + CONTACT_ID_SPARE_BITS
};
_Static_assert(CONTACT_ID_SIDE == 63, "an id has 64 bits");
_Static_assert(ABUT_CONTACT_OVERLAP < 1 << CONTACT_ID_KIND_BITS, "every kind fits into an id");
_Static_assert(ABUT_SAMPLE_DEEPEST < UINT32_C(1) << CONTACT_ID_PART_BITS, "every part fits");
_Static_assert(sizeof((abut_contact){0}.id) == 8, "an id has 64 bits");

static inline uint64_t contact_id(uint32_t side, uint32_t kind, uint32_t element, uint32_t part) {
    assert(side < 2 && kind < 1 << CONTACT_ID_KIND_BITS && part >> CONTACT_ID_PART_BITS == 0);
    return (uint64_t)side << CONTACT_ID_SIDE | (uint64_t)kind << CONTACT_ID_KIND |
           (uint64_t)part << CONTACT_ID_PART | element;
}

/* Points against a field, `count` of them and then `edges` pairs of ends; found[i] for each. */
void abuti_contact_try(const abut_field *field, const contact_frame *frame,
                       const contact_point *points, size_t count, size_t edges,
                       contact_found *found);

/* The cosine of an angle of abut_contact_reduce(), and how many it keeps of each patch. */
double abuti_contact_reduction(double angle, uint32_t *keep);

/* ---- two bodies ---- */

/* One direction: the samples of `of` against the field of `at`. */
typedef struct contact_direction {
    const abut_body *at, *of; /* their poses are not read */
    const contact_motion *motion_at, *motion_of;
    uint32_t side; /* of the samples */
} contact_direction;

contact_frame abuti_contact_frame_of(const contact_direction *d,
                                     const abut_contact_options *options);
/* Both directions: the samples of a against b first. */
abut_status abuti_contact_pair(contact_call *call, const contact_direction both[2]);

/* ---- order.c ---- */

/* A checksum of the vertices and triangles of the mesh, which the hierarchy keeps. Thread-safe. */
uint64_t abuti_contact_shape_digest(const abut_bvh *bvh);

#endif
