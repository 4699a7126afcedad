/* Declarations that the contact methods with signed distance fields share: validation, frames from
 * one body to the field of another, and the list of results. */
#ifndef ABUTI_CONTACT_H
#define ABUTI_CONTACT_H

#include "contact/contact_frame_shared.h"
#include "contact/samples.h"
#include "field/field.h"
#include "pair/contact_list.h"

#include <abut/contact.h>

#include <float.h>

_Static_assert(ABUT_SAMPLE_DEEPEST <= CONTACT_ID_PART_MAX,
               "every part of a sample fits into an id");

/* A field and samples of a mesh at a pose. */
typedef struct abuti_field_body {
    const abut_field *field;
    const abut_samples *samples;
    abut_pose pose;
} abuti_field_body;

/* Converts a collider, which must be a body. Its field may be null. */
abut_status abuti_field_body_read(const char *function, const char *what,
                                  const abut_collider *collider, abuti_field_body *body);

/* One call of a public function: its arguments and results so far. */
typedef struct contact_call {
    const char *function;
    abut_contact_options options;
    abut_contacts *out;
    abut_reliability reliability;
    abut_context *context;
    size_t count;        /* contacts found so far; those within the capacity are stored */
    abuti_vector stored; /* of abut_contact; copied to out->list if all of them fit */
    abut_status status;  /* ABUT_ERROR_MEMORY if that memory could not be allocated */
} contact_call;

/* Reads the options and validates the list; error messages begin with `function`. After success,
 * abuti_contact_end() must be called with the status so far. */
abut_status abuti_contact_begin(contact_call *call, const char *function, const abuti_field_body *a,
                                bool needs_field, const abut_contact_options *options,
                                abut_contacts *out);
abut_status abuti_contact_pose(const char *function, const char *what, const abut_pose *pose,
                               contact_motion *motion);
/* The lower reliability of the two fields. Null fields are ignored. */
abut_reliability abuti_contact_reliability(const abut_field *a, const abut_field *b);
abut_status abuti_contact_end(contact_call *call, abut_status status);

static inline vec3 contact_rotate_back(const contact_motion *m, vec3 v) {
    mat3 back = m3_transpose(&m->turn);
    return m3_apply(&back, v);
}

static inline float contact_band(const abut_field *field) {
    return field->band < (double)FLT_MAX ? (float)field->band : FLT_MAX;
}

static inline contact_grid contact_grid_of(const abut_field *field) {
    return (contact_grid){field->grid.origin, field->grid.cell, field_bounds(field)};
}

/* The frame from points relative to `centre`, in the coordinates of `of`, to the grid of a field at
 * `at`. */
contact_frame abuti_contact_frame(const abut_field *field, const contact_motion *at,
                                  const contact_motion *of, vec3 centre, double margin);

/* Adds a contact, which is stored if it is within the capacity. */
void abuti_contact_add(contact_call *call, const abut_contact *contact);

/* ---- two bodies ---- */

/* One direction: the samples of `of` in the field of `at`. */
typedef struct contact_direction {
    const abuti_field_body *at, *of; /* their poses are not used */
    const contact_motion *motion_at, *motion_of;
    uint32_t side; /* that the samples belong to: 0 is a, 1 is b */
} contact_direction;

contact_frame abuti_contact_frame_of(const contact_direction *d,
                                     const abut_contact_options *options);
/* Tests both directions: first the samples of a in the field of b. */
abut_status abuti_contact_pair(contact_call *call, const contact_direction both[2]);

/* ---- patch.c ---- */

/* A checksum of the vertices and triangles of the mesh, cached in the BVH. Thread-safe. */
uint64_t abuti_contact_shape_digest(const abut_bvh *bvh);
/* Computes it in advance; a BVH keeps it. Thread-safe. */
abut_status abuti_contact_keep_digest(const abut_bvh *bvh);

#endif
