/* What the files of garments share. */
#ifndef ABUTI_GARMENT_H
#define ABUTI_GARMENT_H

#include "character/mannequin.h"

#include <abut/field.h>
#include <abut/garment.h>

/* What a vertex of a body belongs to; what a hand holds belongs to it. */
typedef enum garment_part {
    PART_TRUNK = 0,
    PART_LEGS, /* and hips */
    PART_ARM,
    PART_FOREARM,
    PART_HAND
} garment_part;

/* Where the bones of a body are at rest; of two, left and right. */
typedef struct garment_body {
    abut_context *context;
    const char *who;
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT];
    unsigned char *parts; /* of vertices */
    vec3 hips, neck;
    vec3 arm[2], forearm[2], hand[2], thigh[2], leg[2], foot[2];
    vec3 up, left, forward;
    double scale; /* 1 for a human of 1.6 m */
    double girth; /* how far hips and thighs are from the axis of the body */
} garment_body;

/* Finds the bones of all joints, ABUT_NONE where none fits; `bones` is the rest pose. */
abut_status abuti_garment_joints(const abut_character *character,
                                 const abut_character_matrix *bones, uint32_t *joints);
/* `joints` as in the options of a garment. */
abut_status abuti_garment_measure(const abut_character *character, const uint32_t *joints,
                                  garment_body *body);
void abuti_garment_forget(garment_body *body);

/* A piece of cloth: the level of a distance, less what a cut takes away. */
typedef struct garment_piece {
    double ease;
    bool has_skirt;
    figure_part skirt;
    double skirt_melt;
    double top, bottom; /* heights along `up` between which it is */
    double sleeve;      /* where arms are cut: 0 shoulder, 1 elbow, 2 wrist; below 0 none */
    double slit;        /* half the width of an opening in front; 0 = closed */
    bool back;          /* behind the axis alone */
    uint32_t particles;
    double share; /* of the particles of the garment */
} garment_piece;

/* Makes a piece; touching is not looked for. */
abut_status abuti_garment_cut(const garment_body *body, const garment_piece *piece,
                              abut_mesh **mesh);

static inline double garment_height(const garment_body *body, vec3 p) {
    return v3_dot(body->up, v3_sub(p, body->hips));
}

/* How far a point is from the bones of an arm and its hand. */
double abuti_garment_from_arm(const garment_body *body, vec3 p, int side);
/* The same for spine and thighs. */
double abuti_garment_from_trunk(const garment_body *body, vec3 p);

#endif
