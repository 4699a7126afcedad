/* Pairs of bodies on a device, among the files of a world. */
#ifndef ABUTI_WORLD_DEVICE_H
#define ABUTI_WORLD_DEVICE_H

#include "device/kit.h"
#include "device/tools.h"
#include "world/world.h"
#include "world/world_shared.h"

#include <stddef.h>

_Static_assert(sizeof(world_field) == 136, "the layout that world.cl reads");
_Static_assert(sizeof(world_samples) == 96, "the layout that world.cl reads");
_Static_assert(sizeof(contact_motion) == 96, "the layout that world.cl reads");
_Static_assert(sizeof(world_two) == sizeof(abut_world_pair), "the same thing");
_Static_assert(sizeof(world_direction) == 100, "the layout that world.cl reads");
_Static_assert(sizeof(abut_contact) == 4 * WORLD_CONTACT_WORDS &&
                   offsetof(abut_contact, part) == 4 * (WORLD_CONTACT_WORDS - 2),
               "the layout that world.cl writes");

enum {
    WORLD_FRAMES,
    WORLD_ONE_WAY,
    WORLD_SEARCH_GROUPS,
    WORLD_SEARCH_BALLS,
    WORLD_SEARCH_FEATURES,
    WORLD_SEARCH_EDGES,
    WORLD_WRITE,
    WORLD_SORT,
    WORLD_REDUCE,
    WORLD_GATHER,
    WORLD_KERNELS
};

typedef enum world_memory {
    /* of all fields and samples that items have; and which of them an item has */
    WORLD_FIELDS,
    WORLD_FLOATS,
    WORLD_SHORTS,
    WORLD_INDICES,
    WORLD_SAMPLES,
    WORLD_POINTS,
    WORLD_ENDS,
    WORLD_FEATURES,
    WORLD_BALLS,
    WORLD_GROUPS,
    WORLD_SHARED, /* the number of those above */
    WORLD_PARTS = WORLD_SHARED,
    /* each time: of items, of pairs, lists of a search, and contacts in the order of these */
    WORLD_MOTIONS,
    WORLD_PAIRS,
    WORLD_DIRECTIONS,
    WORLD_COUNTS,
    WORLD_WRONG,
    WORLD_FIRST,
    WORLD_TOTAL,
    WORLD_LIST, /* the first of WORLD_LISTS */
    WORLD_CONTACTS = WORLD_LIST + WORLD_LISTS,
    WORLD_KEYS,
    WORLD_FAR,
    WORLD_MEMORIES
} world_memory;

struct world_device {
    abuti_queue queue;
    abuti_tools *tools;
    abuti_kit kit;
    size_t sizes[WORLD_SHARED]; /* elements that are there */
    bool has_data;              /* fields and samples of all items are there */
    bool has_contacts;
    world_list host_parts;   /* world_parts */
    world_list host_motions; /* contact_motion: of each item */
    abuti_kit_list lists[WORLD_LISTS];
    /* those that are left: uint32_t, one more than pairs; abut_contact */
    abut_buffer *begin, *contacts;
    uint64_t contact_count;
    world_list host_begin, host_contacts; /* the same */
};

#endif
