/* What the host tells world.cl: fields, samples, and which items have them; and what is tried of a
 * pair. The same layout on both sides. On a device ABUTI_REAL_BITS is 64. */
#ifndef ABUTI_WORLD_WORLD_SHARED_H
#define ABUTI_WORLD_WORLD_SHARED_H

#include "contact/contact_frame_shared.h"

/* A pair has a work-group of so many items, and local memory for so many contacts of it; where
 * there are more, they are looked for twice. */
#define WORLD_ITEMS 64
#define WORLD_FEW 512
/* Local memory of world_find, in words: counters, near groups, near balls, edges that are searched,
 * and what was found. */
#define WORLD_FIND_GROUPS 8
#define WORLD_FIND_BALLS (WORLD_FIND_GROUPS + WORLD_ITEMS)
#define WORLD_FIND_EDGES (WORLD_FIND_BALLS + WORLD_ITEMS)
#define WORLD_FIND_FOUND (WORLD_FIND_EDGES + 2 * WORLD_ITEMS)
#define WORLD_FIND_ROOM (WORLD_FIND_FOUND + 2 * WORLD_FEW)
/* And of world_reduce, in words of 64 bits. */
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

/* The samples of one body against the field of the other; no samples: nothing is tried. */
typedef struct world_direction {
    contact_frame frame;
    word32 field, samples;
} world_direction;

/* What is counted in the buffer of totals: contacts that were found, with the carry, and those that
 * are left. */
#define WORLD_FOUND 0
#define WORLD_CARRY 1
#define WORLD_LEFT 2
#define WORLD_TOTALS 3

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
