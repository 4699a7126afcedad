/* Private types of the garment module. */
#ifndef ABUTI_GARMENT_H
#define ABUTI_GARMENT_H

#include "mannequin/mannequin.h"

#include <abut/field.h>
#include <abut/garment.h>

/* The part of the body that a vertex belongs to; objects in a hand belong to the hand. */
typedef enum garment_part {
    PART_TRUNK = 0,
    PART_LEGS, /* including the hips */
    PART_ARM,
    PART_FOREARM,
    PART_HAND
} garment_part;

/* Positions of the joints of a body in the rest pose; pairs are left and right. */
typedef struct garment_body {
    abut_context *context;
    const char *who;
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT];
    unsigned char *parts; /* by vertex */
    vec3 hips, neck;
    vec3 arm[2], forearm[2], hand[2], thigh[2], leg[2], foot[2];
    vec3 up, left, forward;
    double scale; /* 1 for a human of 1.6 m */
    double girth; /* largest distance of hips and thighs from the axis of the body */
} garment_body;

/* Finds the bones of all joints, or ABUT_NONE; `bones` is the rest pose. */
abut_status abuti_garment_joints(const abut_character *character,
                                 const abut_character_matrix *bones, uint32_t *joints);
/* Measures a body. `joints` as in the options of a garment. */
abut_status abuti_garment_measure(const abut_character *character, const uint32_t *joints,
                                  garment_body *body);
void abuti_garment_release(garment_body *body);

/* A piece of cloth: an isosurface of the distance, clipped by a second function. */
typedef struct garment_piece {
    double ease;
    bool has_skirt;
    figure_part skirt;
    double skirt_blend;
    double top, bottom; /* range of heights along `up` */
    double sleeve;      /* end of the sleeves: 0 shoulder, 1 elbow, 2 wrist; negative = no arms */
    double slit;        /* half the width of an opening in front; 0 = closed */
    bool back;          /* only behind the axis */
    uint32_t particles;
    double share; /* fraction of the particles of the garment */
} garment_piece;

/* Creates a piece. Does not test for contact. */
abut_status abuti_garment_create_piece(const garment_body *body, const garment_piece *piece,
                                       abut_mesh **mesh);

static inline double garment_height(const garment_body *body, vec3 p) {
    return v3_dot(body->up, v3_sub(p, body->hips));
}

/* Distance of a point from the bones of an arm and its hand. */
double abuti_garment_arm_distance(const garment_body *body, vec3 p, int side);
/* The same for spine and thighs. */
double abuti_garment_trunk_distance(const garment_body *body, vec3 p);

#endif
