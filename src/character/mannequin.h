/* What the files of the built-in characters share: a figure of bones and rounded cones. */
#ifndef ABUTI_MANNEQUIN_H
#define ABUTI_MANNEQUIN_H

#include "character/character.h"

#include <math.h>

enum { FIGURE_PARTS = 160 };

/* Bones that the clips name; those of fingers follow. */
typedef enum figure_joint {
    JOINT_ROOT = 0,
    JOINT_HIPS,
    JOINT_SPINE,
    JOINT_SPINE1,
    JOINT_SPINE2,
    JOINT_NECK,
    JOINT_NECK1,
    JOINT_HEAD,
    JOINT_SHOULDER, /* left; its like on the right is SIDE_JOINTS further */
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

/* The hull of two balls, and how far it melts into what came before. */
typedef struct figure_part {
    uint32_t bone;
    vec3 a, along; /* from a to b = a + along */
    double ra, rb, melt;
    double length_sq;
} figure_part;

/* y is up, z is where the figure looks, +x its left. */
typedef struct figure {
    const char *names[JOINT_COUNT];
    uint32_t parents[JOINT_COUNT];
    vec3 joints[JOINT_COUNT];
    uint32_t part_count;
    figure_part parts[FIGURE_PARTS];
    double height;
    double radius_max; /* where triangles are largest */
    double melt_max;
} figure;

void abuti_figure_fill(figure *f, abut_character_figure kind);

/* The closed surface of a figure. */
abut_status abuti_figure_surface(abut_context *context, const char *who, const figure *f,
                                 uint32_t triangles, abut_mesh **mesh);

/* The smaller of two distances, rounded off where they differ by less than h: up to h/4 below it.
 */
static inline double figure_melt(double d, double e, double h) {
    double apart = h - fabs(d - e);
    return real_min(d, e) - (apart > 0 ? apart * apart / (4 * h) : 0);
}

/* The distance from a part, negative inside. */
double abuti_part_distance(const figure_part *part, vec3 p);

enum { FIGURE_WEIGHTS = 4 };

/* FIGURE_WEIGHTS bones and weights a vertex. */
abut_status abuti_figure_weights(const figure *f, const abut_mesh *mesh, uint32_t *bones,
                                 double *weights);

enum { FIGURE_CLIPS = 3 };

/* The clips of a figure; their arrays are in the pool. */
abut_status abuti_figure_clips(const figure *f, character_pool *pool,
                               abut_character_clip clips[FIGURE_CLIPS]);

#endif
