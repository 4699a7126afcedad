/* What the files of a world share. */
#ifndef ABUTI_WORLD_H
#define ABUTI_WORLD_H

#include "contact/contact.h"
#include "world/world_shared.h"

#include <abut/world.h>

/* Where an item is, ready for use. */
typedef struct world_place {
    abut_pose pose;
    contact_motion motion;
    box3 box;             /* with half the margin, rounded outwards; not of planes */
    union {               /* in the world, by kind */
        abut_plane plane; /* of unit normal */
        abut_sphere sphere;
        abut_capsule capsule;
        abut_oriented_box box;
    } solid;
} world_place;

typedef struct world_item {
    bool used;
    uint32_t next; /* free one, where not used */
    abut_world_kind kind;
    bool fixed;
    abut_world_item is;
    abut_body body; /* of bodies; without the pose */
    box3 local;     /* what there is of it in its own coordinates; not of planes */
    world_place at;
    bool is_there; /* its field and samples are on the device, under these numbers */
    world_parts there;
} world_item;

/* A list that grows and is kept. */
typedef struct world_list {
    void *data;
    size_t count, room;
} world_list;

/* Makes room for `room` elements in all, and keeps those that are there. */
abut_status abuti_world_reserve(abut_context *context, world_list *list, size_t room,
                                size_t element_bytes);

/* Work is cut into at most so many chunks, each with a list of its own. */
enum { WORLD_CHUNKS = 256 };
static inline size_t world_grain(size_t count, size_t least) {
    size_t grain = count / WORLD_CHUNKS + (count % WORLD_CHUNKS != 0);
    return grain < least ? least : grain;
}

typedef struct world_chunk {
    world_list list;
    abut_status status;
} world_chunk;

typedef struct world_device world_device;
typedef struct world_backend world_backend;

struct abut_world {
    abut_context *context; /* held */
    abut_world_options options;
    abut_contact_options contact; /* what of them is for colliders */
    world_list items;             /* world_item */
    uint32_t first_free;          /* ABUT_NONE: none */
    world_list places;            /* world_place: of a move, before it is known to be sound */
    const world_backend *backend;
    world_device *device; /* null: the CPU */

    /* Of the broad phase. */
    world_list keys, spare, order, boxes, nodes, begin;
    world_chunk pair_chunks[WORLD_CHUNKS];
    world_list pairs; /* abut_world_pair */
    bool has_pairs;   /* they are those of the items as they are now */

    /* Of contacts. */
    world_chunk contact_chunks[WORLD_CHUNKS]; /* abut_contact, chunk by chunk of pairs */
    size_t contact_count;
    bool has_contacts;
};

static inline world_item *world_items(const abut_world *world) {
    return world->items.data;
}

/* Where pairs of bodies are tried: on the CPU (collide.c) or on a device (device.c). */
struct world_backend {
    abut_status (*create)(abut_world *world);
    void (*destroy)(abut_world *world); /* also where creating failed */
    /* Items came or went, or they moved only. */
    void (*changed)(abut_world *world, bool items);
    /* Before pairs are tried. */
    abut_status (*prepare)(abut_world *world);
    /* Tells the contacts of a pair. On any thread. */
    abut_status (*pair)(const abut_world *world, size_t pair, contact_call *call,
                        const contact_direction both[2]);
    abut_status (*records)(abut_world *world, abut_world_records *records);
};
extern const world_backend abuti_world_on_cpu, abuti_world_on_device;

/* ---- broad.c ---- */

/* Finds the candidates unless they are known. */
abut_status abuti_world_find_pairs(abut_world *world);

/* ---- collide.c ---- */

/* Whether the table has anything for two items. */
bool abuti_world_collides(const world_item *a, const world_item *b);

#endif
