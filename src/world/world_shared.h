/* What the host tells world.cl: fields, samples, and which items have them; and what is tried of a
 * pair. The same layout on both sides. On a device ABUTI_REAL_BITS is 64. */
#ifndef ABUTI_WORLD_WORLD_SHARED_H
#define ABUTI_WORLD_WORLD_SHARED_H

#include "contact/contact_frame_shared.h"

#define WORLD_ITEMS 64 /* of all work-groups but those of world_frames */
/* Local memory of world_reduce, in words of 64 bits. */
#define WORLD_REDUCE_ROOM (3 * WORLD_ITEMS)

/* The bit of a feature that says which side it is of. */
#define WORLD_SIDE_SHIFT 31

/* The parts of a field begin at these elements of the buffers of all fields, in groups of eight;
 * ABUT_NONE: it has no such part. */
typedef struct world_field {
    contact_grid grid;
    word32 floats, shorts, index, coarse;
    word32 count[3], bricks[3];
    float cell, scale, band;
    word32 culls; /* as in a frame */
} world_field;

/* Where the parts of samples begin in the buffers of all. Features stand in the order of balls:
 * first samples, then edges, which have two points each. */
typedef struct world_samples {
    vec3 centre;
    real radius;
    contact_part parts[2];
    word32 first_point, first_feature, first_ball, first_group;
    word32 count, edges, edge_ends, unused;
} world_samples;

/* What a contact tells of a feature, and its number in the order of samples. */
typedef struct world_feature {
    word32 kind, element, part, number;
} world_feature;

/* Of an item: which field and which samples; or ABUT_NONE. */
typedef struct world_parts {
    word32 field, samples;
} world_parts;

typedef struct world_two {
    word32 a, b;
} world_two;

/* The samples of one body against the field of the other. Direction 2 i has the features of a of
 * pair i, 2 i + 1 those of b. */
typedef struct world_direction {
    contact_frame frame;
    word32 field, samples;
    word32 tried; /* else they are far apart, or done */
} world_direction;

/* Lists that kernels append to. In the buffer of totals each has a counter and its carry; then
 * comes whether a pair is to be tried again, and how many contacts are left. */
#define WORLD_NEAR_GROUPS 0 /* world_near */
#define WORLD_NEAR_BALLS 1  /* world_near */
#define WORLD_NEAR_EDGES 2  /* world_near */
#define WORLD_FOUND 3       /* world_found */
#define WORLD_LISTS 4
#define WORLD_AGAIN (2 * WORLD_LISTS)
#define WORLD_LEFT (WORLD_AGAIN + 1)
#define WORLD_TOTALS (WORLD_AGAIN + 2)

/* What of a direction is to be looked at: a group, a ball, or a feature. */
typedef struct world_near {
    word32 direction, which;
} world_near;

/* A feature that touches, and which contact of its pair it is. */
typedef struct world_found {
    word32 direction, feature, rank;
    float along;
} world_found;

/* A contact; on the host abut_contact. */
#ifdef __OPENCL_C_VERSION__
typedef struct world_contact {
    vec3 point, normal;
    real depth;
    ulong id;
    uint pair, side, kind, element, part, unused;
} world_contact;
#endif
#define WORLD_CONTACT_WORDS 22

#endif
