/* What the host tells world.cl: fields, and what is tried of a pair. The same layout on both sides:
 * words only. */
#ifndef ABUTI_WORLD_SHARED_H
#define ABUTI_WORLD_SHARED_H

#include "field/contact_shared.h"

#define WORLD_NO_VALUES 0xffffffffu

/* Where the parts of a field begin in the buffers of all fields, in groups of eight elements;
 * WORLD_NO_VALUES for what it does not have. */
typedef struct world_field {
    field_uint floats, shorts, index, coarse;
    field_uint count[3], bricks[3];
    float cell, scale;
} world_field;

/* The samples of one body against the field of the other. */
typedef struct world_direction {
    contact_frame frame;
    field_uint field;        /* which */
    field_uint first;        /* of the points: samples, then both ends of each edge */
    field_uint count, edges; /* 0: nothing is tried */
} world_direction;

/* A contact as devices leave it; as abut_world_record. */
typedef struct world_record {
    field_uint feature; /* the top bit: side */
    contact_found found;
} world_record;

#endif
