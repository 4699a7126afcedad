/* Pairs of bodies on a device, among the files of a world. */
#ifndef ABUTI_WORLD_DEVICE_H
#define ABUTI_WORLD_DEVICE_H

#include "device/kit.h"
#include "device/tools.h"
#include "world/world.h"
#include "world/world_shared.h"

_Static_assert(sizeof(world_field) == 136, "the layout that world.cl reads");
_Static_assert(sizeof(world_samples) == 48, "the layout that world.cl reads");
_Static_assert(sizeof(contact_motion) == 96, "the layout that world.cl reads");
_Static_assert(sizeof(world_two) == sizeof(abut_world_pair), "the same thing");
_Static_assert(sizeof(world_direction) == 104, "the layout that world.cl reads");
_Static_assert(sizeof(world_record) == 24, "the layout that world.cl writes");
_Static_assert(sizeof(world_record) == sizeof(abut_world_record), "the same thing");

enum { WORLD_FRAMES, WORLD_COUNT, WORLD_FILL, WORLD_KERNELS };

typedef enum world_memory {
    /* of all fields and samples that items have; and which of them an item has */
    WORLD_FIELDS,
    WORLD_FLOATS,
    WORLD_SHORTS,
    WORLD_INDICES,
    WORLD_SAMPLES,
    WORLD_POINTS,
    WORLD_SHARED, /* the number of those above */
    WORLD_PARTS = WORLD_SHARED,
    /* each time */
    WORLD_MOTIONS,
    WORLD_PAIRS,
    WORLD_DIRECTIONS,
    WORLD_ONE_WAY,
    WORLD_MEMORIES
} world_memory;

struct world_device {
    abuti_queue queue;
    abuti_tools *tools;
    abuti_kit kit;
    size_t sizes[WORLD_SHARED]; /* elements that are there */
    bool has_data;              /* fields and samples of all items are there */
    bool has_records;
    world_list host_parts;        /* world_parts */
    world_list host_motions;      /* contact_motion: of each item */
    abut_buffer *begin, *records; /* uint32_t, one more than pairs; world_record */
    uint64_t record_count;
    world_list host_begin, host_records; /* uint32_t; world_record */
};

#endif
