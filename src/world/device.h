/* Pairs of bodies on a device, among the files of a world. */
#ifndef ABUTI_WORLD_DEVICE_H
#define ABUTI_WORLD_DEVICE_H

#include "device/tools.h"
#include "world/world.h"
#include "world/world_shared.h"

_Static_assert(sizeof(world_field) == 136, "the layout that world.cl reads");
_Static_assert(sizeof(world_samples) == 48, "the layout that world.cl reads");
_Static_assert(sizeof(contact_motion) == 96, "the layout that world.cl reads");
_Static_assert(sizeof(world_two) == sizeof(abut_world_pair), "the same thing");
_Static_assert(sizeof(world_direction) == 100, "the layout that world.cl reads");
_Static_assert(sizeof(world_record) == 24, "the layout that world.cl writes");
_Static_assert(sizeof(world_record) == sizeof(abut_world_record), "the same thing");

enum { WORLD_SIDE_SHIFT = 31 };

struct world_device {
    abuti_queue queue;
    abuti_tools *tools;
    abuti_kernel frames, count, fill;
    /* Of all fields and samples, once; and which of them items have. */
    abuti_buffer fields, floats, shorts, indices, samples, points, parts;
    bool has_data;
    world_list host_parts; /* world_parts */
    /* Each time. */
    abuti_buffer motions, pairs, directions, one_way;
    world_list host_motions;      /* contact_motion: of each item */
    abut_buffer *begin, *records; /* uint32_t, one more than pairs; world_record */
    uint64_t record_count;
    bool has_records;
    world_list host_begin, host_records; /* uint32_t; world_record */
};

abut_status abuti_world_device_create(abut_world *world, abut_device *device);
void abuti_world_device_destroy(abut_world *world);
/* Tries all pairs of bodies unless that is done; what is found stays on the device. */
abut_status abuti_world_device_find(abut_world *world);
/* Brings it to the host. */
abut_status abuti_world_device_fetch(abut_world *world);

#endif
