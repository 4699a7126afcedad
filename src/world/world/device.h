/* Pairs of bodies on a device: types that the device files of the module share. */
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
_Static_assert(sizeof(world_body) == 80, "the layout that world_pairs.cl reads");
_Static_assert(sizeof(world_two) == sizeof(abut_world_pair), "same layout");
_Static_assert(sizeof(world_direction) == 100, "the layout that world.cl reads");
_Static_assert(sizeof(abut_contact) == 4 * WORLD_CONTACT_WORDS &&
                   offsetof(abut_contact, part) == 4 * (WORLD_CONTACT_WORDS - 1),
               "the layout that world.cl writes");

enum {
    WORLD_FRAMES,
    WORLD_RETRY_FRAMES,
    WORLD_SEARCH_GROUPS,
    WORLD_SEARCH_BALLS,
    WORLD_SEARCH_FEATURES,
    WORLD_SEARCH_EDGES,
    WORLD_WRITE,
    WORLD_SORT,
    WORLD_REDUCE,
    WORLD_GATHER,
    /* world_pairs.cl */
    WORLD_CHECK,
    WORLD_UPDATE_POSES,
    WORLD_MAKE_BOXES,
    WORLD_MAKE_KEYS,
    WORLD_FIND_PAIRS,
    WORLD_PLACE,
    WORLD_NAME_ITEMS,
    WORLD_KERNELS
};

typedef enum world_memory {
    /* fields and samples of all items */
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
    WORLD_SHARED, /* number of the buffers above */
    /* by item: indices of its field and samples, and other data; ignored pairs */
    WORLD_PARTS = WORLD_SHARED,
    WORLD_BODIES,
    WORLD_IGNORED,
    /* by item, for each search; pairs, and counters */
    WORLD_POSES,
    WORLD_POSES_NEXT,
    WORLD_LAST,
    WORLD_BAD,
    WORLD_MOTIONS,
    WORLD_BOXES,
    WORLD_BOX_KEYS,
    WORLD_ORDER,
    WORLD_PARTNERS,
    WORLD_PARTNERS_FIRST,
    WORLD_PAIR_COUNTERS,
    WORLD_PAIR_LIST,
    /* by pair, for each search; lists of a search, and contacts in their order */
    WORLD_DIRECTIONS,
    WORLD_COUNTS,
    WORLD_BACKFACING,
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
    size_t sizes[WORLD_SHARED]; /* elements in use */
    bool has_data;              /* fields and samples of all items are on the device */
    bool only_bodies;           /* all items are bodies, and no id is free */
    bool has_poses;             /* poses of all items are on the device */
    bool is_ahead;              /* and the host has older ones */
    bool has_contacts;
    bool has_reused_indices;              /* some ids differ from their indices */
    abuti_vector host_parts, host_bodies; /* world_parts, world_body: by item */
    abuti_vector host_poses, last;        /* abut_pose, uint32_t: by item */
    abuti_kit_list met;                   /* world_found_pair */
    uint64_t pair_count;
    abuti_kit_list lists[WORLD_LISTS];
    /* abut_world_pair, of ids; first contact of each pair, uint32_t, one more than pairs;
     * abut_contact */
    abut_buffer *pairs, *begin, *contacts;
    uint64_t contact_count;
    abuti_vector host_pairs, host_begin, host_contacts; /* copies on the host */
};

/* Limit of the length of lists, so that children of their elements can be counted. */
#define WORLD_LIST_LIMIT ((uint64_t)1 << 27)
/* Work-groups of kernels that process lists. */
static inline size_t world_groups(const world_device *d) {
    return (size_t)d->queue.device->info.compute_units * 32;
}
/* Local memory of kernels that append to lists. */
#define PLACES ABUTI_LOCAL_MEMORY(2 * sizeof(uint32_t))

/* ---- device_pairs.c ---- */

/* Downloads poses if the host has older ones. */
abut_status abuti_world_device_download_poses(abut_world *world);
abut_status abuti_world_device_move(abut_world *world, const uint32_t *ids,
                                    const abut_buffer *poses, size_t count);
/* Finds pairs, motions of items, and the number of pairs. The data of items must be uploaded. */
abut_status abuti_world_device_pairs(abut_world *world);

#endif
