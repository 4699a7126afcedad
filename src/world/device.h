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
_Static_assert(sizeof(abut_pose) == 56, "the layout that world_pairs.cl reads");
_Static_assert(sizeof(world_body) == 64, "the layout that world_pairs.cl reads");
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
    /* of world_pairs.cl */
    WORLD_CHECK,
    WORLD_TURN,
    WORLD_MAKE_BOXES,
    WORLD_CURVES,
    WORLD_LEAVES,
    WORLD_PARENTS,
    WORLD_VISIT,
    WORLD_MEET,
    WORLD_PLACE,
    WORLD_KERNELS
};

typedef enum world_memory {
    /* of all fields and samples that items have */
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
    /* of each item: which of them it has, and what else is known of it; pairs to ignore */
    WORLD_PARTS = WORLD_SHARED,
    WORLD_BODIES,
    WORLD_IGNORED,
    /* of each item, each time; pairs that are found, and counters */
    WORLD_POSES,
    WORLD_POSES_NEXT,
    WORLD_LAST,
    WORLD_BAD,
    WORLD_MOTIONS,
    WORLD_BOXES,
    WORLD_CURVE,
    WORLD_ORDER,
    WORLD_NODES,
    WORLD_PARTNERS,
    WORLD_PARTNERS_FIRST,
    WORLD_MEETS,
    WORLD_MET_LIST,
    WORLD_VISIT_LIST, /* two of them */
    /* of pairs, each time; lists of a search, and contacts in the order of these */
    WORLD_DIRECTIONS = WORLD_VISIT_LIST + 2,
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
    bool only_bodies;           /* are among all items then, and none is free */
    bool has_poses;             /* those of all items are there */
    bool is_ahead;              /* and the host has older ones */
    bool has_order;             /* of bodies along a curve */
    uint64_t visit_count;       /* nodes that were looked at when it was new */
    bool has_contacts;
    abuti_vector host_parts, host_bodies; /* world_parts, world_body: of each item */
    abuti_vector host_poses, last;        /* abut_pose, uint32_t: of each item */
    abuti_kit_list met, visits[2];        /* world_met, world_visit */
    uint64_t pair_count;
    abuti_kit_list lists[WORLD_LISTS];
    /* abut_world_pair; of contacts that are left: uint32_t, one more than pairs; abut_contact */
    abut_buffer *pairs, *begin, *contacts;
    uint64_t contact_count;
    abuti_vector host_pairs, host_begin, host_contacts; /* the same */
};

/* Elements of a list, so that their children can be counted. */
#define WORLD_LIST_LIMIT ((uint64_t)1 << 27)
/* Groups of kernels that go through lists. */
static inline size_t world_groups(const world_device *d) {
    return (size_t)d->queue.device->info.compute_units * 32;
}
/* Local memory of kernels that append to lists. */
#define PLACES ABUTI_LOCAL_MEMORY(2 * sizeof(uint32_t))

/* ---- device_pairs.c ---- */

/* Brings poses to the host, if it has older ones. */
abut_status abuti_world_device_bring(abut_world *world);
abut_status abuti_world_device_move(abut_world *world, const uint32_t *ids,
                                    const abut_buffer *poses, size_t count);
/* Finds pairs, motions of items, and the number of pairs. What is known of items is there. */
abut_status abuti_world_device_pairs(abut_world *world);

#endif
