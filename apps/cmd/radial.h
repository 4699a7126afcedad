/* Declarations of `abut radial`. */
#ifndef ABUT_TOOL_RADIAL_H
#define ABUT_TOOL_RADIAL_H

#include "tool.h"

/* A posed character and its fields. */
typedef struct radial_subject {
    const char *path;
    abut_character *character;
    abut_character_info of_character;
    abut_character_pose_options pose;
    abut_character_skinning skinning;
    abut_character_matrix *bones;
    abut_vec3 *positions;
    abut_mesh *mesh; /* posed */
    double extent;   /* its longest side */
    abut_radial_options options;
    abut_radial *radial; /* up to date with the pose */
    abut_radial_info info;
    double seconds; /* duration of an update */
} radial_subject;

/* Makes the fields for s->options, and updates them. */
void radial_build(radial_subject *s);

/* ---- radial_measure.c ---- */

/* Evaluation points on the posed surface, each for the same area, and points near it, with exact
 * distances. Surface that is inside the body on both sides is excluded: nothing can touch it. */
typedef struct radial_truth {
    size_t count;
    abut_vec3 *on, *near;
    double *exact;                /* signed distances of `near` */
    uint32_t *triangle;           /* of `on` */
    double limit;                 /* allowed error of fields: a cell of the subject */
    double hidden;                /* fraction of the surface that was excluded */
    abut_reliability reliability; /* reliability of the signs */
} radial_truth;

/* `reach`: largest distance of `near` from the surface. */
void radial_truth_make(tool_run *tool, const radial_subject *s, size_t count, double reach,
                       radial_truth *truth);

/* Errors of the fields at these points: their values minus exact distances. */
typedef struct radial_error {
    double mean, median, p95, p99; /* of absolute errors near the surface */
    double most;                   /* the largest error, and its position */
    abut_vec3 worst;
    double unanswered;   /* fraction of `near` without a value of any field */
    double bare, buried; /* fractions of `on`: fields are below the surface by more than the limit;
                            above it */
    double *on, *near;   /* errors at each point */
} radial_error;

void radial_error_make(const radial_subject *s, const radial_truth *truth, radial_error *error);

/* Errors by bone: the bone with the largest weight of a point. */
typedef struct radial_bone_error {
    uint32_t bone;
    double area;         /* its fraction of the surface */
    double bare, buried; /* fractions of that */
    double p95;          /* of absolute errors on the surface */
} radial_bone_error;

/* Sorted by bare and buried surface, the largest first. Freed by the caller. */
void radial_bone_errors_make(const radial_subject *s, const radial_truth *truth,
                             const radial_error *error, radial_bone_error **blames,
                             uint32_t *count);

/* ---- radial_draw.c ---- */

enum {
    RADIAL_LEVELS = 5
}; /* cell sizes of a report: from a quarter of the cell to four times it */

/* One row of the report. */
typedef struct radial_level {
    double cell, seconds;
    uint64_t bytes;
    radial_error error;
} radial_level;

/* Plots the errors of a report over the cell size. */
void radial_plot_levels(tool_run *tool, const radial_level *levels, double limit, const char *path);

/* Draws the interpolated surface, one colour for each field, in the translucent body. */
void radial_draw_surface(tool_run *tool, const radial_subject *s,
                         const abut_picture_options *camera, const char *path);
/* Draws the distance of the surface of the fields from the body, as colours on the body. */
void radial_draw_error(tool_run *tool, const radial_subject *s, const abut_picture_options *camera,
                       const char *path);
/* Draws all fields unrolled: angle to the right, axis upwards, radii as colours. */
void radial_draw_unrolled(tool_run *tool, const radial_subject *s, const char *path);

#endif
