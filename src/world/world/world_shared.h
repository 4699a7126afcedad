/* Data that the host and world.cl share, with the same layout on both sides: fields, samples,
 * items, and the filter of pairs. On a device ABUTI_REAL_BITS is 64. */
#ifndef ABUTI_WORLD_WORLD_SHARED_H
#define ABUTI_WORLD_WORLD_SHARED_H

#include "contact/contact_frame_shared.h"
#include "pair/contact_reduction_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef ulong word64;
#else
typedef uint64_t word64;
#endif

#define WORLD_ITEMS 64        /* of most work-groups */
#define WORLD_REDUCE_ITEMS 32 /* of world_reduce, which has many barriers */
/* Its local memory, in 64-bit words. */
#define WORLD_REDUCE_ROOM (3 * WORLD_REDUCE_ITEMS)

/* The bit of a feature index that is the side. */
#define WORLD_SIDE_SHIFT 31

/* ---- filter of pairs ---- */

/* Determines whether two items are tested, and how. */
typedef struct world_filter {
    word32 group, mask; /* neither is 0 */
    word32 traits;      /* a sum of WORLD_IS_... and WORLD_HAS_... */
    word32 family;      /* 0: none */
} world_filter;

enum {
    WORLD_IS_DYNAMIC = 1,
    WORLD_IS_STATIC = 2,
    WORLD_IS_SENSOR = 4,
    WORLD_IS_SOLID = 8, /* a primitive, including planes */
    WORLD_IS_PLANE = 16,
    WORLD_HAS_BVH = 32,
    WORLD_HAS_FIELD = 64,
    WORLD_HAS_SAMPLES = 128,
    WORLD_IS_CLOTH = 256,
    WORLD_IS_CHARACTER = 512,
    WORLD_HAS_MAP = 1024,
    WORLD_HAS_LAYERS = 2048,
    WORLD_PREFERS_FIELD = 4096,
    WORLD_HAS_VERTICES = 8192, /* a mesh whose vertices and edges are tested against fields */
    WORLD_IS_ASLEEP = 16384
};

/* By motion, sleep, groups and masks, and families. */
static inline bool world_may_collide(const world_filter *f, const world_filter *g) {
    const word32 either = f->traits | g->traits, both = f->traits & g->traits;
    if ((f->traits & (WORLD_IS_STATIC | WORLD_IS_ASLEEP)) &&
        (g->traits & (WORLD_IS_STATIC | WORLD_IS_ASLEEP)))
        return false;
    if (!(either & WORLD_IS_DYNAMIC) && (!(either & WORLD_IS_SENSOR) || (both & WORLD_IS_STATIC)))
        return false;
    return (f->group & g->mask) && (g->group & f->mask) && (!f->family || f->family != g->family);
}

/* Whether two bodies can be tested by fields. */
static inline bool world_has_fields(word32 a, word32 b) {
    return ((a & WORLD_HAS_FIELD) && (b & WORLD_HAS_SAMPLES)) ||
           ((b & WORLD_HAS_FIELD) && (a & WORLD_HAS_SAMPLES));
}

/* Ignored pairs are in a hash table, see filter.c. */
static inline word64 world_ignored_key(word32 a, word32 b) {
    return a < b ? (word64)a << 32 | b : (word64)b << 32 | a;
}
/* The first slot of a key among `slots`, a power of two. */
static inline size_t world_ignored_slot(word64 key, size_t slots) {
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (slots - 1);
}

/* ---- boxes ---- */

/* Error bound of floats relative to the sizes of two bodies (contact_shared.h), with a safety
 * factor; and of doubles relative to coordinates. */
#define WORLD_FLOAT_SLACK 1e-6
#define WORLD_REAL_SLACK 1e-14

/* The bounding box of a rotated box, with half the margin and the rounding error. */
static inline box3 world_box(box3 local_box, const contact_motion *m, real margin) {
    vec3 centre = box_centre(local_box), half_size = v3_sub(local_box.hi, centre);
    vec3 middle = contact_to_world(m, centre);
    real slack = 0.5 * margin * (1 + WORLD_FLOAT_SLACK) + WORLD_FLOAT_SLACK * v3_length(half_size) +
                 WORLD_REAL_SLACK * (v3_max_abs(m->shift) + v3_max_abs(centre));
    vec3 h = v3(v3_dot(v3_abs(m->turn.row[0]), half_size) + slack,
                v3_dot(v3_abs(m->turn.row[1]), half_size) + slack,
                v3_dot(v3_abs(m->turn.row[2]), half_size) + slack);
    box3 box;
    box.lo = v3_sub(middle, h);
    box.hi = v3_add(middle, h);
    return box;
}

/* ---- pairs on a device ---- */

/* Data of an item on a device. Items with group 0 are not tested there. */
typedef struct world_body {
    box3 box;    /* in local coordinates */
    real margin; /* of the item, as in world_item */
    world_filter filter;
    word32 ignored; /* number of ignored pairs with it */
    word32 id;
} world_body;

/* Two items that overlap, and the index among the pairs of a. */
typedef struct world_found_pair {
    word32 a, b, rank;
} world_found_pair;

/* The number of pairs, with carry, and the axis along which items are sorted. */
#define WORLD_PAIR_COUNT 0
#define WORLD_PAIR_AXIS 2
#define WORLD_PAIR_TOTALS 3

/* ---- fields and samples ---- */

/* The parts of a field begin at these elements of the buffers of all fields, in groups of eight;
 * ABUT_NONE: it has no such part. */
typedef struct world_field {
    contact_grid grid;
    word32 floats, shorts, index, coarse;
    word32 count[3], bricks[3];
    float cell, scale, band;
    word32 can_cull; /* as in contact_frame */
} world_field;

/* Where the parts of samples begin in the buffers of all samples. Features are in the order of
 * balls: first samples, then edges, which have two points each. */
typedef struct world_samples {
    vec3 centre;
    real radius;
    contact_part parts[2];
    word32 first_point, first_feature, first_ball, first_group;
    word32 count, edges, edge_ends, unused;
} world_samples;

/* The data of a feature in a contact, and its index in the order of samples. */
typedef struct world_feature {
    word32 kind, element, part, number;
} world_feature;

/* Of an item: its field and samples, or ABUT_NONE, and its margin as in world_item. */
typedef struct world_parts {
    word32 field, samples;
    real margin;
} world_parts;

typedef struct world_two {
    word32 a, b;
} world_two;

/* The samples of one body against the field of the other. Direction 2 i has the features of a of
 * pair i, 2 i + 1 those of b. */
typedef struct world_direction {
    contact_frame frame;
    word32 field, samples;
    word32 is_active; /* otherwise they are far apart, or done */
} world_direction;

/* Lists that kernels append to. In the buffer of totals each has a counter with carry. Then follow
 * whether a pair has to be tested again, and the number of remaining contacts. */
#define WORLD_NEAR_GROUPS 0 /* world_near */
#define WORLD_NEAR_BALLS 1  /* world_near */
#define WORLD_NEAR_EDGES 2  /* world_near */
#define WORLD_FOUND 3       /* world_found */
#define WORLD_LISTS 4
#define WORLD_AGAIN (2 * WORLD_LISTS)
#define WORLD_LEFT (WORLD_AGAIN + 1)
#define WORLD_TOTALS (WORLD_AGAIN + 2)

/* An element of a direction: a group, a ball, or a feature. */
typedef struct world_near {
    word32 direction, which;
} world_near;

/* A feature that touches, and its index among the contacts of its pair. */
typedef struct world_found {
    word32 direction, feature, rank;
    float along;
} world_found;

/* A contact; abut_contact on the host. */
#ifdef __OPENCL_C_VERSION__
typedef struct world_contact {
    vec3 point, normal;
    real depth;
    ulong id;
    uint a, b, side, kind, element, part;
} world_contact;
#endif
#define WORLD_CONTACT_WORDS 22

#endif
