/* What the host tells world.cl: fields, samples, and which items have them; and what is tried of a
 * pair. The same layout on both sides. On a device ABUTI_REAL_BITS is 64. */
#ifndef ABUTI_WORLD_WORLD_SHARED_H
#define ABUTI_WORLD_WORLD_SHARED_H

#include "contact/contact_frame_shared.h"

/* The bit of a feature that says which side it is of. */
#define WORLD_SIDE_SHIFT 31

/* The parts of a field begin at these elements of the buffers of all fields, in groups of eight;
 * ABUT_NONE: it has no such part. */
typedef struct world_field {
    contact_grid grid;
    word32 floats, shorts, index, coarse;
    word32 count[3], bricks[3];
    float cell, scale, band;
    word32 unused;
} world_field;

typedef struct world_samples {
    vec3 centre;
    real radius;
    word32 first; /* of the points: samples, then both ends of each edge */
    word32 count, edges, edge_ends;
} world_samples;

/* Of an item: which field and which samples; or ABUT_NONE. */
typedef struct world_parts {
    word32 field, samples;
} world_parts;

typedef struct world_two {
    word32 a, b;
} world_two;

/* The samples of one body against the field of the other. */
typedef struct world_direction {
    contact_frame frame;
    word32 field;
    word32 first, count, edges; /* as in samples; no count and no edges: nothing is tried */
} world_direction;

/* A contact as devices leave it; as abut_world_record. */
typedef struct world_record {
    word32 feature; /* the top bit: side */
    contact_found found;
} world_record;

#endif
