/* Private types of the built-in characters: a figure of bones and rounded cones. */
#ifndef ABUTI_MANNEQUIN_H
#define ABUTI_MANNEQUIN_H

#include "character/character.h"

#include <math.h>

enum { FIGURE_PARTS = 160 };

/* Bones. Clips use them by name; finger bones follow JOINT_THUMB. */
typedef enum figure_joint {
    JOINT_ROOT = 0,
    JOINT_HIPS,
    JOINT_SPINE,
    JOINT_SPINE1,
    JOINT_SPINE2,
    JOINT_NECK,
    JOINT_NECK1,
    JOINT_HEAD,
    JOINT_SHOULDER, /* left; the right one is SIDE_JOINTS further */
    JOINT_ARM,
    JOINT_FOREARM,
    JOINT_HAND,
    JOINT_THUMB, /* five fingers of three bones each */
    JOINT_THIGH = JOINT_THUMB + 15,
    JOINT_LEG,
    JOINT_FOOT,
    JOINT_TOES,
    JOINT_LEFT_END,
    SIDE_JOINTS = JOINT_LEFT_END - JOINT_SHOULDER,
    JOINT_COUNT = JOINT_LEFT_END + SIDE_JOINTS
} figure_joint;

/* The hull of two balls, and the range of the smooth union with the parts before it. */
typedef struct figure_part {
    uint32_t bone;
    vec3 a, along; /* from a to b = a + along */
    double ra, rb, blend;
    double length_sq;
} figure_part;

/* y is up, z is forward, +x is the left side of the figure. */
typedef struct figure {
    const char *names[JOINT_COUNT];
    uint32_t parents[JOINT_COUNT];
    vec3 joints[JOINT_COUNT];
    uint32_t part_count;
    figure_part parts[FIGURE_PARTS];
    double height;
    double radius_max; /* radius of the parts with the largest triangles */
    double blend_max;
} figure;

void abuti_figure_fill(figure *f, abut_character_figure kind);

/* The surface where a function of space is 0; the function is negative inside, and is called on
 * several threads. */
typedef struct figure_level {
    double (*level)(const struct figure_level *surface, vec3 p);
    vec3 origin; /* of the grid that samples it */
    double cell;
    uint32_t count[3]; /* points of the grid */
} figure_level;

/* Extracts the surface from the grid. */
abut_status abuti_level_extract(abut_context *context, const char *who, const figure_level *surface,
                                abut_mesh **mesh);
/* Projects a point near a surface, which is a figure_level, onto it: for abuti_remesh. */
vec3 abuti_level_project(void *surface, vec3 p);

/* Creates the closed surface of a figure. */
abut_status abuti_figure_surface(abut_context *context, const char *who, const figure *f,
                                 uint32_t triangles, abut_mesh **mesh);

/* Smooth minimum of two distances: if they differ by less than h, up to h/4 below the smaller one.
 */
static inline double figure_smooth_min(double d, double e, double h) {
    double apart = h - fabs(d - e);
    return real_min(d, e) - (apart > 0 ? apart * apart / (4 * h) : 0);
}

/* Signed distance from a part, negative inside. */
double abuti_part_distance(const figure_part *part, vec3 p);

enum { FIGURE_WEIGHTS = 4 };

/* Computes FIGURE_WEIGHTS bones and weights per vertex. */
abut_status abuti_figure_weights(const figure *f, const abut_mesh *mesh, uint32_t *bones,
                                 double *weights);

enum { FIGURE_CLIPS = 3 };

/* Creates the clips of a figure; the pool owns their arrays. */
abut_status abuti_figure_clips(const figure *f, character_pool *pool,
                               abut_character_clip clips[FIGURE_CLIPS]);

#endif
