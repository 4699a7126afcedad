/* What the files of `abut radial` share. */
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
    abut_character_matrix *bones; /* from malloc, as all */
    abut_vec3 *positions;
    abut_mesh *mesh; /* posed */
    double extent;   /* its longest side */
    abut_radial_options options;
    abut_radial *radial; /* up to date with the pose */
    abut_radial_info info;
    double seconds; /* that an update takes */
} radial_subject;

/* Makes the fields for s->options, and updates them. */
abut_status radial_build(radial_subject *s);

/* ---- radial_measure.c ---- */

/* Places on the posed surface, each for as much area, and places near it, with exact distances.
 * Surface that is inside the body on both sides is left out: no one can touch it. */
typedef struct radial_truth {
    size_t count;
    abut_vec3 *on, *near;
    double *exact;                /* signed distances of `near` */
    uint32_t *triangle;           /* of `on` */
    double limit;                 /* how far fields may be off: a cell of the subject */
    double hidden;                /* the share of the surface that was left out */
    abut_reliability reliability; /* what signs are worth */
} radial_truth;

/* `reach`: how far `near` is from the surface at most. */
abut_status radial_truth_make(tool_run *tool, const radial_subject *s, size_t count, double reach,
                              radial_truth *truth);
void radial_truth_free(radial_truth *truth);

/* What fields say of these places. Errors are estimates minus exact distances. */
typedef struct radial_error {
    double mean, median, p95, p99; /* of absolute errors near the surface */
    double most;                   /* error of the largest, and where it is */
    abut_vec3 worst;
    double unanswered;   /* shares of `near`: no field tells anything, */
    double bare, buried; /* of `on`: fields are below the surface by more than the limit; above */
    double *on, *near;   /* errors one by one; from malloc */
} radial_error;

abut_status radial_error_make(const radial_subject *s, const radial_truth *truth,
                              radial_error *error);
void radial_error_free(radial_error *error);

/* What fields cannot see, by bones: those that weigh most for a place. */
typedef struct radial_blame {
    uint32_t bone;
    double area;         /* its share of the surface */
    double bare, buried; /* of that */
    double p95;          /* of absolute errors on the surface */
} radial_blame;

/* Those bones with the most bare and buried surface first. To be freed. */
abut_status radial_blame_make(const radial_subject *s, const radial_truth *truth,
                              const radial_error *error, radial_blame **blames, uint32_t *count);

/* ---- radial_draw.c ---- */

/* The surface between samples, a colour a field, under the body as glass. */
int radial_draw_surface(tool_run *tool, const radial_subject *s, const abut_picture_options *camera,
                        const char *path);
/* How far the surface of the fields is from the body, in colours on the body. */
int radial_draw_error(tool_run *tool, const radial_subject *s, const abut_picture_options *camera,
                      const char *path);
/* All fields unrolled: angles to the right, along the axis upwards, radii in colours. */
int radial_draw_unrolled(tool_run *tool, const radial_subject *s, const char *path);

#endif
