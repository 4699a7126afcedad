/* What the files of a world share. */
#ifndef ABUTI_WORLD_H
#define ABUTI_WORLD_H

#include "contact/contact.h"
#include "world/world_shared.h"

#include <abut/layers.h>
#include <abut/map.h>
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

/* What the world made of a mesh, for all items that share it; mesh.c. */
typedef struct world_asset {
    uint32_t uses;
    abut_mesh *given, *mesh; /* held; the second is as it is now */
    abut_world_method asked;
    uint32_t resolution;
    bool deforms;
    bool sheet;          /* it has no inside */
    bool has_sheets;     /* some of its parts have none */
    double longest_edge; /* of a sheet, or of a mesh that deforms */
    abut_world_item_info choice;
    bool has_health; /* reliability and holes of the choice are those of the mesh as it is now */
    abut_topology *topology;
    abut_bvh *bvh;
    abut_field *field; /* those that follow may be null */
    abut_samples *samples;
    abut_map *map;
} world_asset;

typedef struct world_item {
    bool used;
    uint32_t next; /* free one, where not used */
    abut_world_kind kind;
    world_filter filter;
    uint32_t ignored;        /* pairs of it that are ignored */
    uint64_t born;           /* which of all that were ever added */
    abut_world_item is;      /* of a mesh: the body that was made of it */
    world_asset *asset;      /* of a mesh; else null */
    uint32_t layer;          /* its number in the layers; ABUT_NONE: it is not there */
    bool layer_is_old;       /* its positions are others by now */
    abut_topology *topology; /* of `bvh` or `core`, for characters; owned, or null */
    abut_body body;          /* of bodies; without the pose */
    const abut_bvh *bvh;     /* of a body or hull; may be null */
    abut_bvh *core;          /* of a solid that was swept or met a character, sweep.c; owned */
    double core_radius;
    box3 local; /* what there is of it in its own coordinates; not of planes and characters */
    world_place at;
    uint64_t state; /* the number of the change that gave it its shape and pose; 1 or more */
    uint64_t field_updates; /* of its field, in that state */
    bool was_seen;          /* when contacts were last found, with its middle there */
    vec3 seen;
    bool is_there; /* its field and samples are on the device, under these numbers */
    world_parts there;
} world_item;

/* An item over a step. */
typedef struct world_sweep {
    bool moves;
    world_place end;
    box3 box; /* of all of the way */
} world_sweep;

/* Work is cut into at most so many chunks, each with a list of its own. */
enum { WORLD_CHUNKS = 256 };
static inline size_t world_grain(size_t count, size_t least) {
    size_t grain = count / WORLD_CHUNKS + (count % WORLD_CHUNKS != 0);
    return grain < least ? least : grain;
}

typedef struct world_chunk {
    abuti_vector list;
    abut_status status;
} world_chunk;

/* A pair that has contacts. */
typedef struct world_touch {
    uint64_t born[2]; /* of a and b */
    abut_world_event event;
} world_touch;

/* What the contacts of a pair were computed from. They are valid as long as this is. */
typedef struct world_tried {
    abut_world_pair pair;
    uint64_t state[2]; /* of a and b; zeros: the contacts depend on other items too */
    size_t touch;      /* its place in the touches; SIZE_MAX: it has no contacts */
    vec3 hint;         /* of exact patches: with it the same contacts come again, state.c */
    abut_reliability reliability;
} world_tried;

/* The answers for consecutive pairs. */
typedef struct world_answers {
    abuti_vector contacts; /* abut_contact */
    abuti_vector touches;  /* world_touch; `first` counts within these contacts */
    abuti_vector tried;    /* world_tried: of each pair */
    abuti_vector patches;  /* abut_patch: of one pair, for a moment */
    abut_reliability reliability;
    abut_status status;
} world_answers;

/* A pair that was tried before the tasks began, serial_methods.c. */
typedef struct world_special {
    size_t pair;
    size_t first, count; /* of its contacts */
    abut_reliability reliability;
} world_special;

typedef struct world_device world_device;
typedef struct world_backend world_backend;

struct abut_world {
    abut_context *context; /* held */
    abut_world_options options;
    abut_contact_options contact; /* what of them is for colliders */
    abuti_vector items;           /* world_item */
    uint32_t first_free;          /* ABUT_NONE: none */
    uint64_t births;              /* items that were ever added */
    uint64_t changes;             /* of shapes and poses of items so far */
    uint32_t resting_sensors;     /* that are not dynamic */
    uint32_t characters;
    abuti_vector assets;  /* world_asset *: of all meshes; owned */
    abut_layers *layers;  /* of all meshes that go by them; null: none yet */
    abuti_vector ignored; /* uint64_t: a hash table of pairs, filter.c */
    abuti_vector places;  /* world_place: of a move, before it is known to be sound */
    const world_backend *backend;
    world_device *device; /* null: the CPU */
    bool is_in_call;      /* from abuti_world_enter() to abuti_world_leave() */

    /* Of the broad phase. */
    abuti_vector keys, spare, order, boxes, nodes, begin;
    world_chunk pair_chunks[WORLD_CHUNKS];
    abuti_vector pairs; /* abut_world_pair */
    bool has_pairs;     /* they are those of the items as they are now */

    /* Of contacts. */
    world_answers answers[WORLD_CHUNKS]; /* chunk by chunk of pairs */
    size_t grain;                        /* pairs a chunk */
    /* When contacts were last found: abut_contact; world_touch and world_tried, by a and b. */
    abuti_vector contacts, touches, tried;
    abuti_vector special;                           /* world_special, by pair */
    abuti_vector special_contacts, special_patches; /* abut_contact; abut_patch, for a moment */
    abuti_vector layer_pairs;                       /* abut_layers_pair, of a step */
    abuti_vector told;                              /* world_touch: when events were last told */
    bool has_told;                                  /* these are the touches as they are now */
    abut_reliability reliability;
    bool has_contacts;
    abuti_vector hints;   /* vec3: of each pair, from a saved state */
    const vec3 *repeated; /* the same while contacts are computed with them; else null */

    /* Of a step. */
    abuti_vector sweeps;      /* world_sweep: of each item */
    abuti_vector sweep_pairs; /* abut_world_pair */
    abuti_vector swept;       /* world_swept: of each of these, sweep.c */
};

/* Whether the field of an item was updated after the item got its state. */
static inline bool world_is_updated(const world_item *item) {
    return item->body.field && item->body.field->updates != item->field_updates;
}

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
    abut_status (*records)(abut_world *world, abut_world_device_contacts *records);
    /* Moves items to poses in a buffer. */
    abut_status (*move)(abut_world *world, const uint32_t *ids, const abut_buffer *poses,
                        size_t count);
    /* Brings poses to the host that were given in a buffer: before they are read, or items
     * change. */
    abut_status (*bring)(abut_world *world);
    bool reduces; /* `pair` tells only the contacts that stay of a patch */
};
extern const world_backend abuti_world_on_cpu, abuti_world_on_device;

/* ---- broad.c ---- */

/* Finds the candidates unless they are known. */
abut_status abuti_world_find_pairs(abut_world *world);
/* Finds the pairs whose boxes overlap: of now, or with `sweeps`, of a step. Boxes have half the
 * margin already. */
abut_status abuti_world_overlaps(abut_world *world, const world_sweep *sweeps, double margin,
                                 abuti_vector *pairs);

/* ---- events.c ---- */

/* Events were told of the touches as they are; there is room for these. */
void abuti_world_set_told(abut_world *world);

/* ---- filter.c ---- */

world_filter abuti_world_filter(const abut_world *world, const world_item *item);
/* Whether two items, neither of them ABUT_NONE, are tried where their boxes overlap. */
bool abuti_world_tries(const abut_world *world, uint32_t a, uint32_t b);
/* How; AUTO where there is no way. */
abut_world_method abuti_world_method(const abut_world *world, const world_item *a,
                                     const world_item *b);
/* The same with its guarantee; of exact pairs that depends on the holes of their meshes, which the
 * first call finds. Thread-safe. */
abut_status abuti_world_manner(const abut_world *world, const world_item *a, const world_item *b,
                               abut_world_pair_info *manner);
/* Whether a pair by fields is one of vertices of a mesh against a field. */
bool abuti_world_by_vertices(const abut_world *world, const world_item *a, const world_item *b);
/* Forgets that pairs of an item are ignored. */
void abuti_world_forget(abut_world *world, uint32_t id);

/* ---- mesh.c ---- */

/* Gives what the world makes of a mesh: what is there, or something new. What deforms is shared
 * with no other item than that which had `mine`, which may be null. */
abut_status abuti_world_asset_get(abut_world *world, const abut_world_item *item, world_asset *mine,
                                  world_asset **asset);
/* Null is allowed. */
void abuti_world_asset_drop(abut_world *world, world_asset *asset);
/* Gives a mesh that deforms other positions; on failure all is as before. */
abut_status abuti_world_asset_deform(world_asset *asset, const abut_vec3 *positions);
/* Examines a mesh that was deformed, unless that is done: for the choice. */
abut_status abuti_world_asset_examine(world_asset *asset);
/* Makes its hierarchy ready for signs, unless it is or has none. */
abut_status abuti_world_asset_sign(world_asset *asset);

/* ---- serial_methods.c ---- */

/* Tries pairs by maps, layers, and vertices of meshes, each on all threads. */
abut_status abuti_world_find_special(abut_world *world);
/* Adds a mesh to the layers of the world, and sets its number there. */
abut_status abuti_world_add_layer(abut_world *world, world_item *item);
/* What was found of a pair; null: it was not tried. */
const world_special *abuti_world_special(const abut_world *world, size_t pair);
/* A contact of b with a as one of a with b. */
static inline void world_swap_contact(abut_contact *c) {
    c->side = !c->side;
    c->normal = contact_back(c->normal);
    c->id ^= contact_id(1, 0, 0, 0);
}

/* ---- sweep.c ---- */

/* Makes the core of a solid unless it has one. */
abut_status abuti_world_core(abut_context *context, world_item *item);

/* ---- character.c ---- */

/* Makes what pairs with characters need of others, before tasks begin. */
abut_status abuti_world_prepare_characters(const abut_world *world);
/* Brings the samples of all characters to the host, before tasks read them. */
abut_status abuti_world_bring_characters(const abut_world *world);
/* Sets the box of a character from its fields; the motion is known. */
abut_status abuti_world_place_character(const char *function, const world_item *item, double margin,
                                        world_place *to);
/* Tries a, a character, against b. What does not fit is counted. */
abut_status abuti_world_try_character(const abut_world *world, size_t pair, const world_item *a,
                                      const world_item *b, abut_contacts *to);
/* How much there is to try of it, about. */
size_t abuti_world_character_size(const world_item *item);

/* ---- collide.c ---- */

/* Finds the contacts of all pairs unless they are known, between abuti_world_enter() for a public
 * function and abuti_world_leave(). */
abut_status abuti_world_find_contacts(const char *function, abut_world *world);
/* Computes the contacts of all pairs anew, each with its hint. Fails, and leaves the world as it
 * was, if they are not those of the digest. The pairs must be known. */
abut_status abuti_world_repeat_contacts(abut_world *world, const vec3 *hints, uint64_t digest);
/* A digest of the contacts and touches as they are known. */
uint64_t abuti_world_contacts_digest(const abut_world *world);
/* What the last contacts of a pair were computed from, if they are still valid; else null. */
const world_tried *abuti_world_kept(const abut_world *world, size_t pair);

/* Finds the exact contact patches of two items where they are, neither of them a character and
 * every body with a hierarchy. */
abut_status abuti_world_patches(const world_item *a, const world_item *b,
                                const abut_patch_options *options, abut_patches *found);

/* ---- world.c ---- */

/* Fails if the world is in a call of its own, whose progress callback calls it again. */
abut_status abuti_world_check_idle(const char *function, const abut_world *world);
/* The same; from here on work uses the context of the world, and the world refuses other calls. */
abut_status abuti_world_enter(const char *function, abut_world *world, abut_context **before);
void abuti_world_leave(abut_world *world, abut_context *before);
abut_status abuti_world_check_id(const char *function, const abut_world *world, uint32_t id);
/* An item that is no body, at a pose. */
abut_solid abuti_world_solid(const abut_world_item *is, const abut_pose *at);
/* Checks what an item would be at a pose, and makes it ready. */
abut_status abuti_world_place(const char *function, const world_item *item, const abut_pose *there,
                              double margin, world_place *to);
/* Moves items to poses on the host. */
abut_status abuti_world_move(abut_world *world, const uint32_t *ids, const abut_pose *poses,
                             size_t count);
/* Sets the place of an item. Its contacts stay valid if the pose has the same bits. Returns whether
 * they do not. */
bool abuti_world_set_place(abut_world *world, world_item *item, const world_place *to);
/* Contacts of an item are not valid any more. */
void abuti_world_new_state(abut_world *world, world_item *item);
/* After something changed: items came or went, or they moved only. */
void abuti_world_changed(abut_world *world, bool items);

#endif
